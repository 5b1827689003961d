//===- raw_kernel.cpp - A kernel in CUDA C++ in a compiled function ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Mandelbrot set: each point is iterated as often as it needs, which no operation on whole tensors
// expresses well. The kernel goes on where the call before has stopped, so its tensors are state of the
// compiled function.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

static const RawKernel iterate(R"(
extern "C" __global__ void iterate(float2 *z, int *count, int rows, int columns, int steps) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns)
    return;
  const int i = row * columns + column;
  const float x = -2.2f + 3.2f * column / columns, y = -1.2f + 2.4f * row / rows;
  float2 at = z[i];
  int n = count[i];
  for (int end = n + steps; n < end && at.x * at.x + at.y * at.y < 4; ++n)
    at = make_float2(at.x * at.x - at.y * at.y + x, 2 * at.x * at.y + y);
  z[i] = at;
  count[i] = n;
}
)",
                               "iterate");

int main() {
  if (!cuda::is_available()) {
    std::printf("this example needs a CUDA device: %s\n", cuda::unavailable_reason().c_str());
    return 0;
  }
  constexpr int rows = 24, columns = 72, stepsOfCall = 8, calls = 6;
  Tensor z = zeros({rows, columns, 2}, {.device = "cuda"});
  Tensor count = zeros({rows, columns}, {.dtype = i32, .device = "cuda"});

  // The kernel is one launch of the function, before the one that sums up.
  auto step = compile([&](Tensor limit) {
    iterate({.grid = {(columns + 15) / 16, (rows + 7) / 8}, .block = {16, 8}},
            {raw::in_out(z), raw::in_out(count), rows, columns, stepsOfCall});
    return (count == limit).to(f32).mean(); // how much has not escaped
  });
  float inside = 1;
  for (int call = 1; call <= calls; ++call) {
    inside = step(full({}, call * stepsOfCall, {.dtype = i32, .device = "cuda"})).item<float>();
    std::printf("after %2d steps, %.1f %% are inside\n", call * stepsOfCall, 100 * inside);
  }

  const std::vector<int32_t> counts = count.to_vector<int32_t>();
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const int n = counts[static_cast<size_t>(row * columns + column)];
      std::putchar(n == calls * stepsOfCall ? '#' : n > 8 ? '+' : n > 4 ? '.' : ' ');
    }
    std::putchar('\n');
  }
  return inside > 0.1 && inside < 0.3 ? 0 : 1;
}
