//===- LoopRows.cpp - Rows beside a loop written by hand ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopRows.h"

#include <cmath>
#include <stdexcept>

namespace weft::bench {

/// Normal-looking numbers without a random generator's time: a sum of four uniform ones.
static void fill(Floats &values, uint64_t seed) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < values.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto part = [&](int shift) {
      return static_cast<float>((state >> shift) & 0x3fff) * 0x1p-13f - 1.0f;
    };
    values.data()[i] = part(8) + part(22) + part(36) + part(50);
  }
}

Input::Input(int64_t count, Shape shape, uint64_t seed) : floats(count) {
  fill(floats, seed);
  tensor = Tensor::from(floats.data(), std::move(shape));
}

void compare(const Tensor &ours, const float *theirs, double tolerance) {
  const std::vector<float> values = ours.to_vector<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = theirs[i], found = values[i];
    if (!(std::abs(found - expected) <= tolerance * (1 + std::abs(expected))))
      throw std::runtime_error("element " + std::to_string(i) + " is " + std::to_string(found) +
                               ", but the hand-written loop gives " + std::to_string(expected));
  }
}

RowResult beside_loop(int64_t bytes, const std::function<Tensor()> &ours,
                      const std::function<void(Stores)> &loop, const Floats &out, bool writesMuch,
                      double tolerance) {
  loop(Stores::plain);
  compare(ours(), out.data(), tolerance);

  Floats from(vectorSize), to(vectorSize);
  std::vector<Contender> contenders = {
      {"weft",
       [&] {
         const Tensor result = ours();
         synchronize();
       }},
      {"hand, plain stores", [&] { loop(Stores::plain); }},
      {"copy", [&] { hand::copy(from.data(), to.data(), vectorSize, Stores::streaming); }},
      {"copy, plain stores", [&] { hand::copy(from.data(), to.data(), vectorSize, Stores::plain); }},
  };
  if (writesMuch)
    contenders.push_back({"hand, streaming stores", [&] { loop(Stores::streaming); }});
  std::vector<Samples> samples = alternate(contenders);

  RowResult result;
  result.bytes = bytes;
  Samples hand = samples[1];
  if (writesMuch && samples[4].median() < hand.median())
    hand = samples[4];
  Samples copy = samples[3].median() < samples[2].median() ? samples[3] : samples[2];
  result.note = hand.name + " was the faster loop";
  hand.name = "hand";
  copy.name = "copy";
  result.figures = {{"copy_gb_per_s", 2 * vectorSize * 4 / copy.median() / 1e6}};
  result.samples = {samples[0], std::move(hand), std::move(copy)};
  return result;
}

} // namespace weft::bench
