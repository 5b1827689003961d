//===- ProductRows.cpp - Matrix products of every kind of number ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of other dtypes, compared with the product in f32, which oneDNN computes. Of the others, oneDNN
// 2.6 supports only bf16, on processors with instructions for it; Weft's own kernels compute the rest.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include <weft/weft.hpp>

#include <cmath>
#include <stdexcept>

namespace weft::bench {
namespace {

constexpr int64_t size = 512;

/// Whole numbers from -3 to 3: every product of such matrices is exact in f32.
Tensor small_numbers(uint32_t state) {
  std::vector<float> values(size * size);
  for (float &value : values)
    value = static_cast<float>((state = state * 1664525u + 1013904223u) >> 16) / 9362.3f;
  for (float &value : values)
    value = std::floor(value) - 3;
  return Tensor::from(values, {size, size});
}

RowResult run(DType dtype, double tolerance) {
  const Tensor x = small_numbers(1), y = small_numbers(2);
  const auto product = compile([](Tensor x, Tensor y) { return matmul(x, y); }, {.name = "product"});
  const Tensor a = x.to(dtype), b = y.to(dtype);
  const std::vector<float> expected = product(x, y).to_vector<float>();
  const std::vector<float> found = product(a, b).to(f32).to_vector<float>();
  for (size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(found[i] - expected[i]) <= tolerance * std::abs(expected[i])))
      throw std::runtime_error("element " + std::to_string(i) + " is " + std::to_string(found[i]) +
                               ", but f32 gives " + std::to_string(expected[i]));
  const auto finished = [](Tensor) { synchronize(); };
  RowResult result;
  result.samples =
      alternate({{"weft", [&] { finished(product(a, b)); }}, {"f32", [&] { finished(product(x, y)); }}});
  constexpr double flops = 2.0 * size * size * size;
  result.figures = {{"gflop_per_s", flops / result.samples[0].median() / 1e6},
                    {"f32_gflop_per_s", flops / result.samples[1].median() / 1e6}};
  return result;
}

} // namespace

RowResult run_product_i32() { return run(i32, 0); }
RowResult run_product_bf16() { return run(bf16, 0x1p-8); }
RowResult run_product_f16() { return run(f16, 0x1p-11); }
RowResult run_product_f64() { return run(f64, 0); }

} // namespace weft::bench
