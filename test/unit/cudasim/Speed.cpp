//===- Speed.cpp - How fast the engine is --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints what docs/cudasim.md says about speed: medians of nine runs.
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/engine/Engine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace weft::cudasim;

namespace {

std::string file(const char *name) {
  std::ifstream stream(std::string(WEFT_CUDASIM_DIR) + "/fixtures/" + name);
  if (!stream) {
    std::fprintf(stderr, "weft-cudasim-speed: cannot read %s in %s/fixtures\n", name, WEFT_CUDASIM_DIR);
    std::exit(1);
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

template <class F> double medianMicroseconds(F run) {
  std::vector<double> times;
  for (int k = 0; k < 9; ++k) {
    auto from = std::chrono::steady_clock::now();
    run();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count());
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}

std::vector<std::byte> parameters(std::initializer_list<uint64_t> addresses, int last) {
  std::vector<std::byte> bytes(addresses.size() * 8 + 4);
  std::memcpy(bytes.data(), addresses.begin(), addresses.size() * 8);
  std::memcpy(bytes.data() + addresses.size() * 8, &last, 4);
  return bytes;
}

uint64_t filled(Memory &memory, size_t count) {
  uint64_t address = memory.allocate(count * 4);
  std::vector<float> values(count, 1.5f);
  std::memcpy(memory.host(address, count * 4), values.data(), count * 4);
  return address;
}

void elementwise(bool race) {
  constexpr int fours = 1 << 18;
  ParseResult parsed = Module::parse(file("textbook.nvrtc.sm_90.ptx"));
  Memory memory;
  uint64_t x = filled(memory, 4 * fours), y = filled(memory, 4 * fours), z = filled(memory, 4 * fours);
  LaunchOptions options{.grid = {fours / 256}, .block = {256}, .race = race};
  uint64_t steps = 0;
  double time = medianMicroseconds([&] {
    steps = launch(*parsed.module, "elementwise", memory, options, parameters({x, y, z}, fours)).steps;
  });
  std::printf("elementwise, 1M floats in fours%s: %.2f ns an element, %.1f ns a step\n",
              race ? ", race mode" : "", time * 1e3 / (4.0 * fours), time * 1e3 / double(steps));
}

void softmax(bool race) {
  constexpr int rows = 64, columns = 1024;
  ParseResult parsed = Module::parse(file("softmax.0.ptx"));
  Memory memory;
  uint64_t x = filled(memory, rows * columns), y = filled(memory, rows * columns);
  LaunchOptions options{.grid = {rows}, .block = {256}, .race = race};
  uint64_t steps = 0;
  double time = medianMicroseconds(
      [&] { steps = launch(*parsed.module, "softmax", memory, options, parameters({x, y}, columns)).steps; });
  std::printf("softmax of 1,024 columns%s: %.1f us a row, %.1f ns a step\n", race ? ", race mode" : "",
              time / rows, time * 1e3 / double(steps));
}

} // namespace

int main() {
  if (!processorSuffices()) {
    std::fprintf(stderr,
                 "weft-cudasim-speed: the engine is compiled for x86-64-v3, which this processor is not\n");
    return 1;
  }
  std::string text = file("textbook.nvrtc.sm_90.ptx");
  std::printf("reading %zu lines: %.0f us\n", size_t(std::count(text.begin(), text.end(), '\n')),
              medianMicroseconds([&] { Module::parse(text); }));
  elementwise(false);
  elementwise(true);
  softmax(false);
  softmax(true);
}
