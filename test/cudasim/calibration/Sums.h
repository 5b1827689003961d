//===- Sums.h - Sums of columns, and of everything -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In two kernels, or in one whose last block adds what the others left.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_SUMS_H
#define WEFT_TEST_CUDASIM_SUMS_H

#include "KernelRows.h"

/// Columns: a thread has four columns and every (blockDim.y * gridDim.y)-th row; partial sums of the blocks
/// are added by a second kernel.
template <int Unroll>
__global__ void columnPartials(const float4 *x, float4 *partial, unsigned rows, unsigned columns) {
  __shared__ float4 slots[1024];
  unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned step = gridDim.y * blockDim.y;
  float4 sums[Unroll] = {};
  for (unsigned r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += step * Unroll)
#pragma unroll
    for (int i = 0; i < Unroll; ++i)
      if (r + i * step < rows) {
        float4 v = x[size_t(r + i * step) * columns + c];
        sums[i].x += v.x, sums[i].y += v.y, sums[i].z += v.z, sums[i].w += v.w;
      }
  float4 sum = sums[0];
#pragma unroll
  for (int i = 1; i < Unroll; ++i)
    sum.x += sums[i].x, sum.y += sums[i].y, sum.z += sums[i].z, sum.w += sums[i].w;
  slots[threadIdx.y * blockDim.x + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0) {
    for (unsigned i = 1; i < blockDim.y; ++i) {
      float4 v = slots[i * blockDim.x + threadIdx.x];
      sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    partial[blockIdx.y * columns + c] = sum;
  }
}
/// The same, whose last block of a column range adds the partial sums, in their order.
template <int Unroll>
__global__ void columnsAtOnce(const float4 *x, float4 *partial, unsigned *arrived, float4 *out, unsigned rows,
                              unsigned columns) {
  __shared__ float4 slots[1024];
  __shared__ bool last;
  unsigned c = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.y * blockDim.y;
  float4 sums[Unroll] = {};
  auto add = [](float4 &a, float4 v) { a.x += v.x, a.y += v.y, a.z += v.z, a.w += v.w; };
  for (unsigned r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += step * Unroll)
#pragma unroll
    for (int i = 0; i < Unroll; ++i)
      if (r + i * step < rows)
        add(sums[i], x[size_t(r + i * step) * columns + c]);
#pragma unroll
  for (int i = 1; i < Unroll; ++i)
    add(sums[0], sums[i]);
  auto acrossBlock = [&](float4 sum) {
    slots[threadIdx.y * blockDim.x + threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.y / 2; half; half /= 2) {
      if (threadIdx.y < half)
        add(slots[threadIdx.y * blockDim.x + threadIdx.x],
            slots[(threadIdx.y + half) * blockDim.x + threadIdx.x]);
      __syncthreads();
    }
    return slots[threadIdx.x];
  };
  float4 sum = acrossBlock(sums[0]);
  if (threadIdx.y == 0) {
    partial[blockIdx.y * columns + c] = sum;
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0)
    last = atomicAdd(arrived + blockIdx.x, 1) == gridDim.y - 1;
  __syncthreads();
  if (!last)
    return;
  float4 all = {};
  for (unsigned i = threadIdx.y; i < gridDim.y; i += blockDim.y)
    add(all, __ldcg(partial + i * columns + c));
  all = acrossBlock(all);
  if (threadIdx.y == 0)
    out[c] = all;
  if (threadIdx.x == 0 && threadIdx.y == 0)
    arrived[blockIdx.x] = 0;
}
__global__ void columnFinish(const float *partial, float *out, unsigned parts, unsigned columns) {
  unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns)
    return;
  float sum = 0;
  for (unsigned i = 0; i < parts; ++i)
    sum += partial[i * columns + c];
  out[c] = sum;
}
/// Everything: partial sums of blocks, and the last block adds them in their order.
template <int Unroll>
__global__ void fullSum(const float4 *x, float *partial, unsigned *arrived, float *out, unsigned count) {
  __shared__ float slots[32];
  __shared__ bool last;
  float sums[Unroll] = {};
  unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride * Unroll)
#pragma unroll
    for (int k = 0; k < Unroll; ++k)
      if (i + k * stride < count)
        sums[k] += sumOf(x[i + k * stride]);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < Unroll; ++k)
    sum += sums[k];
  sum = blockReduce(sum, warpSum, slots, 0);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(arrived, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last)
    return;
  sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
    sum += *const_cast<volatile float *>(partial + i);
  sum = blockReduce(sum, warpSum, slots, 0);
  if (threadIdx.x == 0) {
    *out = sum;
    *arrived = 0;
  }
}

static void sums(Json &json) {
  auto *partial = memory[4];
  unsigned *counters;
  CHECK(cudaMalloc(&counters, 65536));
  CHECK(cudaMemset(counters, 0, 65536));
  const std::pair<unsigned, unsigned> shapes[] = {{8192, 1024}, {65536, 1024}, {1u << 20, 64}, {1024, 65536}};
  for (auto [rows, columns] : shapes)
    for (unsigned bx : {16u, 32u, 64u})
      for (unsigned threads : {256u, 512u, 1024u})
        for (unsigned blocks : {264u, 528u, 1056u, 2112u}) {
          if (bx * 4 > columns)
            continue;
          unsigned by = threads / bx, gx = columns / 4 / bx, gy = std::max(1u, blocks / gx);
          if (gy * by > rows)
            continue;
          auto column = [&](const char *kernel, auto launch) {
            row(json,
                kernel + (", " + std::to_string(rows)) + " x " + std::to_string(columns) + ", block " +
                    std::to_string(bx) + " x " + std::to_string(by) + ", grid " + std::to_string(gx) + " x " +
                    std::to_string(gy),
                4.0 * rows * columns, [=, rows = rows, columns = columns](int i) {
                  size_t offset = size_t(rows) * columns <= large / 8 ? size_t(i % 8) * rows * columns : 0;
                  launch(reinterpret_cast<float4 *>(memory[0] + offset));
                });
          };
          column("column sum", [=, rows = rows, columns = columns](const float4 *x) {
            columnPartials<4><<<dim3(gx, gy), dim3(bx, by), 0, stream>>>(
                x, reinterpret_cast<float4 *>(partial), rows, columns / 4);
            columnFinish<<<(columns + 255) / 256, 256, 0, stream>>>(partial, memory[5], gy, columns);
          });
          column("column sum at once", [=, rows = rows, columns = columns](const float4 *x) {
            columnsAtOnce<4><<<dim3(gx, gy), dim3(bx, by), 0, stream>>>(
                x, reinterpret_cast<float4 *>(partial), counters, reinterpret_cast<float4 *>(memory[5]), rows,
                columns / 4);
          });
        }
  unsigned *arrived;
  CHECK(cudaMalloc(&arrived, 4));
  CHECK(cudaMemset(arrived, 0, 4));
  for (unsigned block : {256u, 512u, 1024u})
    for (unsigned grid : {132u, 264u, 528u, 1056u, 2112u}) {
      row(json, "full sum, 64 Mi, grid " + std::to_string(grid) + ", block " + std::to_string(block),
          4.0 * large, [=](int) {
            fullSum<4><<<grid, block, 0, stream>>>(reinterpret_cast<float4 *>(memory[0]), partial, arrived,
                                                   memory[5], large / 4);
          });
    }
}

#endif // WEFT_TEST_CUDASIM_SUMS_H
