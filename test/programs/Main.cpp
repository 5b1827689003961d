//===- Main.cpp - Random programs of the C++ interface --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft-interface-programs [--count=N] [--seed=N] [--kind=KIND] [--device=DEVICE] [--print | --describe]: runs
// random programs of matrices, of dtypes and of modules in turn, or of one of these kinds,
// whose tensors are made on that device (cpu, or WEFT_TEST_DEVICE), as they are,
// with everything computed after every step, and as one compiled function, and compares what they show, bit
// for bit. A steady loop in them compiles nothing after its second iteration. One that fails is made small
// and shown. With
// --describe nothing is compared: each program is one line of JSON, with what its instructions did.
//
//===----------------------------------------------------------------------===//
#include "Describe.h"

#include "weft/weft.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace weft::programs;

static int usage(std::string_view what) {
  std::fprintf(stderr,
               "weft-interface-programs: '%.*s'\nusage: weft-interface-programs [--count=N] [--seed=N] "
               "[--kind=matrices | dtypes | modules] [--device=DEVICE] [--print | --describe]\n",
               static_cast<int>(what.size()), what.data());
  return 2;
}

/// The kind of program `number`: the one that was asked for, or each in its turn, the slower ones less often.
static Kind kindOf(std::string_view wanted, uint64_t number) {
  if (const auto found = std::find(std::begin(kinds), std::end(kinds), wanted); found != std::end(kinds))
    return static_cast<Kind>(found - std::begin(kinds));
  constexpr Kind turns[] = {Kind::matrices, Kind::dtypes,   Kind::modules,  Kind::matrices, Kind::matrices,
                            Kind::dtypes,   Kind::matrices, Kind::matrices, Kind::dtypes,   Kind::matrices};
  return turns[number % std::size(turns)];
}

int main(int argc, char **argv) {
  uint64_t count = 300, seed = 1;
  const char *const wanted = std::getenv("WEFT_TEST_DEVICE");
  std::string device = wanted ? wanted : "cpu";
  std::string_view kind;
  bool prints = false, describes = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--count="))
      count = std::strtoull(argv[i] + 8, nullptr, 10);
    else if (argument.starts_with("--seed="))
      seed = std::strtoull(argv[i] + 7, nullptr, 10);
    else if (argument.starts_with("--device="))
      device = argument.substr(9);
    else if (argument.starts_with("--kind=") &&
             std::find(std::begin(kinds), std::end(kinds), argument.substr(7)) != std::end(kinds))
      kind = argument.substr(7);
    else if (argument == "--print")
      prints = true;
    else if (argument == "--describe")
      describes = true;
    else
      return usage(argument);
  }
  try {
    const weft::Device chosen(device.c_str());
    if (chosen.is_cuda())
      weft::cuda::get_device_name(chosen); // throws if it is not there
    weft::set_default_device(chosen);
  } catch (const weft::Error &error) {
    std::fprintf(stderr, "weft-interface-programs: --device=%s: %s\n", device.c_str(), error.what());
    return 2;
  }
  if (describes) {
    for (uint64_t i = 0; i < count; ++i)
      std::printf("%s\n", describe(generate(seed + i, kindOf(kind, i))).c_str());
    return 0;
  }
  uint64_t passed = 0, failed = 0;
  Statistics statistics;
  for (uint64_t i = 0; i < count && failed < 10; ++i) {
    const Program program = generate(seed + i, kindOf(kind, i));
    if (prints)
      std::printf("%s\n", program.str().c_str());
    std::string complaint;
    try {
      complaint = check(program, statistics);
    } catch (const weft::Error &error) {
      complaint = "an error where none may be: " + std::string(error.what()) + "\n";
    }
    if (complaint.empty()) {
      ++passed;
      continue;
    }
    ++failed;
    std::string text = program.str();
    try {
      text = shrink(program).str();
    } catch (const weft::Error &) { // shown as it is
    }
    std::printf("%s%sagain: weft-interface-programs --device=%s --kind=%s --count=1 --seed=%llu\n\n",
                complaint.c_str(), text.c_str(), device.c_str(),
                std::string(kinds[static_cast<size_t>(program.kind)]).c_str(),
                static_cast<unsigned long long>(seed + i));
  }
  std::printf("%llu values and errors shown; %llu programs compiled too; %llu steady loops\n",
              static_cast<unsigned long long>(statistics.shown),
              static_cast<unsigned long long>(statistics.compiled),
              static_cast<unsigned long long>(statistics.steady));
  const bool covers =
      count < 100 || failed > 0 || (statistics.compiled > count / 20 && statistics.steady > count / 100);
  if (!covers)
    std::printf("too few programs were compiled, or had a steady loop\n");
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(passed),
              static_cast<unsigned long long>(failed + (covers ? 0 : 1)));
  return failed || !covers ? 1 : 0;
}
