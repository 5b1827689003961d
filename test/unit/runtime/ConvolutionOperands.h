//===- ConvolutionOperands.h - What tests of convolutions give them --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_RUNTIME_CONVOLUTIONOPERANDS_H
#define WEFT_TEST_UNIT_RUNTIME_CONVOLUTIONOPERANDS_H

#include "runtime/gemm/Convolution.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace weft::runtime::test {

using Extents = std::array<int64_t, 6>;

inline int64_t count_of(const Extents &extents) {
  int64_t count = 1;
  for (const int64_t extent : extents)
    count *= extent;
  return count;
}

/// Memory that has the dimensions of a tensor in this order, outermost first.
inline ConvolutionPlace ordered(const Extents &extents, const std::array<size_t, 6> &order) {
  ConvolutionPlace place;
  int64_t step = 1;
  for (size_t i = 6; i-- > 0; step *= extents[order[i]])
    place.strides[order[i]] = step;
  return place;
}

/// Memory whose lines begin where the runtime's scratch does, with a number behind it that must stay.
class Scratch {
public:
  explicit Scratch(size_t bytes) : bytes_((bytes + 63) / 64 * 64), memory_(bytes_ / sizeof(Line) + 1) {
    std::memset(memory_.data(), 0xff, bytes_); // every float is NaN
    std::memset(memory_.data() + bytes_ / sizeof(Line), 0x5a, sizeof(Line));
  }
  void *data() { return memory_.data(); }
  bool is_intact() const {
    const auto *last = reinterpret_cast<const unsigned char *>(memory_.data()) + bytes_;
    return std::all_of(last, last + sizeof(Line), [](unsigned char byte) { return byte == 0x5a; });
  }

private:
  struct alignas(64) Line {
    char bytes[64];
  };
  size_t bytes_;
  std::vector<Line> memory_;
};

/// Random numbers for a convolution.
struct ConvolutionOperands {
  ConvolutionShape shape;
  std::vector<float> a, w;
  std::vector<std::vector<float>> beside; ///< what each step but relu reads

  explicit ConvolutionOperands(const ConvolutionShape &of, uint32_t seed = 1) : shape(of) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    a.resize(static_cast<size_t>(count_of(of.a_extents())));
    w.resize(static_cast<size_t>(count_of(of.w_extents())));
    for (std::vector<float> *values : {&a, &w})
      for (float &value : *values)
        value = normal(random);
    for (const ConvolutionStep step : of.steps) {
      if (step == ConvolutionStep::relu)
        continue;
      const bool residual = step == ConvolutionStep::residual;
      beside.emplace_back(residual ? count_of(of.y_extents()) : of.groups * of.outputs);
      for (float &value : beside.back())
        value = normal(random);
    }
  }

  std::vector<float> run(bool serial, CpuLevel level = cpu_level()) const {
    const Convolution convolution(shape, level);
    Scratch scratch(convolution.scratch_bytes(executor().width()));
    std::vector<float> y(static_cast<size_t>(count_of(shape.y_extents())), -7);
    std::vector<const void *> read;
    for (const std::vector<float> &each : beside)
      read.push_back(each.data());
    convolution.run(a.data(), w.data(), y.data(), read.data(), scratch.data(), serial);
    EXPECT_TRUE(scratch.is_intact());
    return y;
  }
};

} // namespace weft::runtime::test

#endif // WEFT_TEST_UNIT_RUNTIME_CONVOLUTIONOPERANDS_H
