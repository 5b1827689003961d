//===- MemoryRows.cpp - Rows that memory bandwidth bounds -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every row first compares Weft's values with those of the hand-written loop, then times Weft, the loop with
// streaming and with plain stores, and a copy, in turn.
//
//===----------------------------------------------------------------------===//

#include "HandLoops.h"
#include "Rows.h"

#include <weft/weft.hpp>

#include <cmath>
#include <stdexcept>

namespace weft::bench {
namespace {

constexpr int64_t vectorSize = int64_t(1) << 24, side = 4096, tableRows = 8192, tableColumns = 1024;
constexpr hand::Middle middleShape = {64, 197, 768};

/// Normal-looking numbers without a random generator's time: a sum of four uniform ones.
void fill(Floats &values, uint64_t seed) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < values.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto part = [&](int shift) {
      return static_cast<float>((state >> shift) & 0x3fff) * 0x1p-13f - 1.0f;
    };
    values.data()[i] = part(8) + part(22) + part(36) + part(50);
  }
}

/// One input: the loop's copy and Weft's, with the same values.
struct Input {
  Input(int64_t count, Shape shape, uint64_t seed) : floats(count) {
    fill(floats, seed);
    tensor = Tensor::from(floats.data(), std::move(shape));
  }
  const float *data() const { return floats.data(); }
  Floats floats;
  Tensor tensor;
};

void compare(const Tensor &ours, const float *theirs, double tolerance) {
  const std::vector<float> values = ours.to_vector<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = theirs[i], found = values[i];
    if (!(std::abs(found - expected) <= tolerance * (1 + std::abs(expected))))
      throw std::runtime_error("element " + std::to_string(i) + " is " + std::to_string(found) +
                               ", but the hand-written loop gives " + std::to_string(expected));
  }
}

using Loop = std::function<void(Stores)>;

/// `ours` launches and returns its result; `loop` fills `out`.
RowResult run(int64_t bytes, const std::function<Tensor()> &ours, const Loop &loop, const Floats &out,
              bool writesMuch, double tolerance) {
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

} // namespace

RowResult run_copy() {
  Floats from(vectorSize), to(vectorSize);
  RowResult result;
  result.bytes = 2 * vectorSize * 4;
  const std::vector<Samples> samples =
      alternate({{"hand", [&] { hand::copy(from.data(), to.data(), vectorSize, Stores::streaming); }},
                 {"hand", [&] { hand::copy(from.data(), to.data(), vectorSize, Stores::plain); }}});
  const bool plain = samples[1].median() < samples[0].median();
  Samples copy = samples[plain];
  result.samples.push_back(copy);
  copy.name = "copy";
  result.samples.push_back(copy);
  result.figures = {{"streaming_gb_per_s", 2 * vectorSize * 4 / samples[0].median() / 1e6},
                    {"plain_gb_per_s", 2 * vectorSize * 4 / samples[1].median() / 1e6}};
  result.note = plain ? "plain stores were faster" : "streaming stores were faster";
  return result;
}

RowResult run_mul_add() {
  const Input x(vectorSize, {vectorSize}, 1), y(vectorSize, {vectorSize}, 2);
  Floats out(vectorSize);
  const auto f = compile([](Tensor x, Tensor y) { return x * 2 + y * y - x; }, {.name = "mul_add"});
  return run(
      3 * vectorSize * 4, [&] { return f(x.tensor, y.tensor); },
      [&](Stores stores) { hand::mul_add(x.data(), y.data(), out.data(), vectorSize, stores); }, out, true,
      1e-6);
}

RowResult run_gelu_sigmoid() {
  const Input x(vectorSize, {vectorSize}, 1), y(vectorSize, {vectorSize}, 2), z(vectorSize, {vectorSize}, 3);
  Floats out(vectorSize);
  const auto f = compile([](Tensor x, Tensor y, Tensor z) { return gelu(x * y + z, "tanh") * sigmoid(z); },
                         {.name = "gelu_sigmoid"});
  return run(
      4 * vectorSize * 4, [&] { return f(x.tensor, y.tensor, z.tensor); },
      [&](Stores stores) {
        hand::gelu_sigmoid(x.data(), y.data(), z.data(), out.data(), vectorSize, stores);
      },
      out, true, 1e-5);
}

RowResult run_bias_relu() {
  const Input x(side * side, {side, side}, 1), row(side, {side}, 2), column(side, {side, 1}, 3);
  Floats out(side * side);
  const auto f = compile([](Tensor x, Tensor row, Tensor column) { return relu((x + row) * column); },
                         {.name = "bias_relu"});
  return run(
      2 * side * side * 4, [&] { return f(x.tensor, row.tensor, column.tensor); },
      [&](Stores stores) {
        hand::bias_relu(x.data(), row.data(), column.data(), out.data(), side, side, stores);
      },
      out, true, 1e-6);
}

RowResult run_transpose_add() {
  const Input x(side * side, {side, side}, 1), y(side * side, {side, side}, 2);
  Floats out(side * side);
  const auto f = compile([](Tensor x, Tensor y) { return x.t() + y; }, {.name = "transpose_add"});
  return run(
      3 * side * side * 4, [&] { return f(x.tensor, y.tensor); },
      [&](Stores stores) { hand::transpose_add(x.data(), y.data(), out.data(), side, stores); }, out, true,
      1e-6);
}

RowResult run_softmax() {
  const Input x(tableRows * tableColumns, {tableRows, tableColumns}, 1);
  Floats out(tableRows * tableColumns);
  const auto f = compile([](Tensor x) { return softmax(x, 1); }, {.name = "softmax"});
  return run(
      2 * tableRows * tableColumns * 4, [&] { return f(x.tensor); },
      [&](Stores stores) { hand::softmax(x.data(), out.data(), tableRows, tableColumns, stores); }, out, true,
      1e-6);
}

RowResult run_layer_norm() {
  const Input x(tableRows * tableColumns, {tableRows, tableColumns}, 1),
      weight(tableColumns, {tableColumns}, 2), bias(tableColumns, {tableColumns}, 3);
  Floats out(tableRows * tableColumns);
  const auto f = compile([](Tensor x, Tensor weight,
                            Tensor bias) { return layer_norm(x, {tableColumns}, weight, bias, normEps); },
                         {.name = "layer_norm"});
  return run(
      2 * tableRows * tableColumns * 4, [&] { return f(x.tensor, weight.tensor, bias.tensor); },
      [&](Stores stores) {
        hand::layer_norm(x.data(), weight.data(), bias.data(), out.data(), tableRows, tableColumns, stores);
      },
      out, true, 1e-5);
}

RowResult run_residual_norm_gelu() {
  const int64_t count = tableRows * tableColumns;
  const Input x(count, {tableRows, tableColumns}, 1), residual(count, {tableRows, tableColumns}, 2),
      weight(tableColumns, {tableColumns}, 3), bias(tableColumns, {tableColumns}, 4);
  Floats out(count);
  const auto f = compile(
      [](Tensor x, Tensor residual, Tensor weight, Tensor bias) {
        return gelu(layer_norm(x + residual, {tableColumns}, weight, bias, normEps), "tanh");
      },
      {.name = "residual_norm_gelu"});
  return run(
      3 * count * 4, [&] { return f(x.tensor, residual.tensor, weight.tensor, bias.tensor); },
      [&](Stores stores) {
        hand::residual_norm_gelu(x.data(), residual.data(), weight.data(), bias.data(), out.data(), tableRows,
                                 tableColumns, stores);
      },
      out, true, 1e-5);
}

RowResult run_column_sum() {
  const Input x(tableRows * tableColumns, {tableRows, tableColumns}, 1);
  Floats out(tableColumns);
  const auto f = compile([](Tensor x) { return (x * x).sum({0}); }, {.name = "column_sum"});
  return run(
      tableRows * tableColumns * 4, [&] { return f(x.tensor); },
      [&](Stores) { hand::column_sum(x.data(), out.data(), tableRows, tableColumns); }, out, false, 1e-4);
}

RowResult run_full_sum() {
  const Input x(vectorSize, {vectorSize}, 1);
  Floats out(1);
  const auto f = compile([](Tensor x) { return (x * x).sum(); }, {.name = "full_sum"});
  return run(
      vectorSize * 4, [&] { return f(x.tensor); },
      [&](Stores) { hand::full_sum(x.data(), out.data(), vectorSize); }, out, false, 1e-4);
}

namespace {

constexpr int64_t middleCount = middleShape.outer * middleShape.middle * middleShape.inner;

/// A row whose result is as large as its input, over the dimension in the middle.
RowResult run_middle(const std::function<Tensor(Tensor)> &body,
                     void (*loop)(const float *, float *, const hand::Middle &, Stores)) {
  const Input x(middleCount, {middleShape.outer, middleShape.middle, middleShape.inner}, 1);
  Floats out(middleCount);
  const auto f = compile(body, {.name = "middle"});
  return run(
      2 * middleCount * 4, [&] { return f(x.tensor); },
      [&](Stores stores) { loop(x.data(), out.data(), middleShape, stores); }, out, true, 1e-5);
}

/// A row with one number for each column.
RowResult run_middle(const std::function<Tensor(Tensor)> &body,
                     void (*loop)(const float *, float *, const hand::Middle &)) {
  const Input x(middleCount, {middleShape.outer, middleShape.middle, middleShape.inner}, 1);
  Floats out(middleShape.outer * middleShape.inner);
  const auto f = compile(body, {.name = "middle"});
  return run(
      middleCount * 4, [&] { return f(x.tensor); }, [&](Stores) { loop(x.data(), out.data(), middleShape); },
      out, false, 1e-5);
}

} // namespace

RowResult run_softmax_middle() {
  return run_middle([](Tensor x) { return softmax(x, 1); }, hand::softmax_middle);
}
RowResult run_norm_middle() {
  return run_middle(
      [](Tensor x) {
        auto [variance, mean] = var_mean(x, {1}, 0, true);
        return (x - mean) * rsqrt(variance + normEps);
      },
      hand::norm_middle);
}
RowResult run_mean_middle() {
  return run_middle([](Tensor x) { return x.mean({1}); }, hand::mean_middle);
}
RowResult run_var_middle() {
  return run_middle([](Tensor x) { return x.var({1}); }, hand::var_middle);
}

} // namespace weft::bench
