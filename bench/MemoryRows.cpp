//===- MemoryRows.cpp - Rows that memory bandwidth bounds -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole tensors that do not fit into a cache.
//
//===----------------------------------------------------------------------===//

#include "LoopRows.h"

namespace weft::bench {
namespace {

constexpr int64_t side = 4096, tableRows = 8192, tableColumns = 1024;
constexpr hand::Middle middleShape = {64, 197, 768};

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
  return beside_loop(
      3 * vectorSize * 4, [&] { return f(x.tensor, y.tensor); },
      [&](Stores stores) { hand::mul_add(x.data(), y.data(), out.data(), vectorSize, stores); }, out, true,
      1e-6);
}

RowResult run_gelu_sigmoid() {
  const Input x(vectorSize, {vectorSize}, 1), y(vectorSize, {vectorSize}, 2), z(vectorSize, {vectorSize}, 3);
  Floats out(vectorSize);
  const auto f = compile([](Tensor x, Tensor y, Tensor z) { return gelu(x * y + z, "tanh") * sigmoid(z); },
                         {.name = "gelu_sigmoid"});
  return beside_loop(
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
  return beside_loop(
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
  return beside_loop(
      3 * side * side * 4, [&] { return f(x.tensor, y.tensor); },
      [&](Stores stores) { hand::transpose_add(x.data(), y.data(), out.data(), side, stores); }, out, true,
      1e-6);
}

RowResult run_softmax() {
  const Input x(tableRows * tableColumns, {tableRows, tableColumns}, 1);
  Floats out(tableRows * tableColumns);
  const auto f = compile([](Tensor x) { return softmax(x, 1); }, {.name = "softmax"});
  return beside_loop(
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
  return beside_loop(
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
  return beside_loop(
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
  return beside_loop(
      tableRows * tableColumns * 4, [&] { return f(x.tensor); },
      [&](Stores) { hand::column_sum(x.data(), out.data(), tableRows, tableColumns); }, out, false, 1e-4);
}

RowResult run_full_sum() {
  const Input x(vectorSize, {vectorSize}, 1);
  Floats out(1);
  const auto f = compile([](Tensor x) { return (x * x).sum(); }, {.name = "full_sum"});
  return beside_loop(
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
  return beside_loop(
      2 * middleCount * 4, [&] { return f(x.tensor); },
      [&](Stores stores) { loop(x.data(), out.data(), middleShape, stores); }, out, true, 1e-5);
}

/// A row with one number for each column.
RowResult run_middle(const std::function<Tensor(Tensor)> &body,
                     void (*loop)(const float *, float *, const hand::Middle &)) {
  const Input x(middleCount, {middleShape.outer, middleShape.middle, middleShape.inner}, 1);
  Floats out(middleShape.outer * middleShape.inner);
  const auto f = compile(body, {.name = "middle"});
  return beside_loop(
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
