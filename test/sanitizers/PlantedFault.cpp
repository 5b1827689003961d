//===- PlantedFault.cpp - Faults that a sanitizer must find ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft-planted-fault KIND commits one fault and then says that nobody stopped it. Each is what its sanitizer
// alone sees: the program would run on without it.
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>

/// Reads one element past the end of an array on the heap.
static int readPastTheEnd() {
  const auto values = std::make_unique<int[]>(4);
  volatile size_t index = 4;
  return values.get()[index];
}

static int useAfterFree() {
  auto value = std::make_unique<int>(1);
  int *volatile kept = value.get();
  value.reset();
  return *kept;
}

/// Memory whose last pointer is overwritten: found when the program ends.
static int leak() {
  int *volatile kept = new int(1);
  const int value = *kept;
  kept = nullptr;
  return value;
}

static int overflowASignedInteger() {
  volatile int value = std::numeric_limits<int>::max();
  return value + 1;
}

/// Two threads write one integer without a lock.
static int race() {
  int value = 0;
  std::thread other([&] { ++value; });
  ++value;
  other.join();
  return value;
}

int main(int argc, char **argv) {
  const struct {
    const char *name;
    int (*commit)();
  } faults[] = {{"heap-buffer-overflow", readPastTheEnd},
                {"heap-use-after-free", useAfterFree},
                {"leak", leak},
                {"signed-integer-overflow", overflowASignedInteger},
                {"data-race", race}};
  for (const auto &fault : faults)
    if (argc == 2 && std::strcmp(argv[1], fault.name) == 0) {
      const int result = fault.commit();
      std::printf("nothing stopped %s (%d)\n", fault.name, result);
      return 0;
    }
  std::fprintf(stderr, "usage: weft-planted-fault KIND\nkinds:");
  for (const auto &fault : faults)
    std::fprintf(stderr, " %s", fault.name);
  std::fprintf(stderr, "\n");
  return 2;
}
