//===- Softmax.h - Softmax over rows -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row in the registers of a warp, a block or a cluster, in shared memory, or read twice.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_SOFTMAX_H
#define WEFT_TEST_CUDASIM_SOFTMAX_H

#include "KernelRows.h"

#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>

__device__ inline float maxOf(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ inline float4 expOf(float4 v, float m) {
  return {expf(v.x - m), expf(v.y - m), expf(v.z - m), expf(v.w - m)};
}
__device__ inline float4 times(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }

/// A warp a row, the row in registers: V float4 a lane.
template <int V> __global__ void softmaxWarp(const float4 *x, float4 *y, unsigned rows) {
  unsigned r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows)
    return;
  x += size_t(r) * (V * 32), y += size_t(r) * (V * 32);
  float4 v[V];
  float m = -INFINITY, s = 0;
#pragma unroll
  for (int i = 0; i < V; ++i)
    v[i] = x[i * 32 + lane];
#pragma unroll
  for (int i = 0; i < V; ++i)
    m = fmaxf(m, maxOf(v[i]));
  m = warpMax(m);
#pragma unroll
  for (int i = 0; i < V; ++i)
    s += sumOf(v[i] = expOf(v[i], m));
  s = 1 / warpSum(s);
#pragma unroll
  for (int i = 0; i < V; ++i)
    y[i * 32 + lane] = times(v[i], s);
}
/// A block a row, the row in registers: V float4 a thread.
template <int Block, int V>
__global__ void __launch_bounds__(Block) softmaxBlock(const float4 *x, float4 *y) {
  __shared__ float slots[32];
  x += size_t(blockIdx.x) * (V * Block), y += size_t(blockIdx.x) * (V * Block);
  float4 v[V];
  float m = -INFINITY, s = 0;
#pragma unroll
  for (int i = 0; i < V; ++i)
    v[i] = x[i * Block + threadIdx.x];
#pragma unroll
  for (int i = 0; i < V; ++i)
    m = fmaxf(m, maxOf(v[i]));
  m = blockReduce(m, warpMax, slots, -INFINITY);
#pragma unroll
  for (int i = 0; i < V; ++i)
    s += sumOf(v[i] = expOf(v[i], m));
  s = 1 / blockReduce(s, warpSum, slots, 0);
#pragma unroll
  for (int i = 0; i < V; ++i)
    y[i * Block + threadIdx.x] = times(v[i], s);
}
/// A block a row, the row in shared memory.
__global__ void softmaxShared(const float4 *x, float4 *y, unsigned columns) {
  extern __shared__ float4 kept[];
  __shared__ float slots[32];
  x += size_t(blockIdx.x) * columns, y += size_t(blockIdx.x) * columns;
  float m = -INFINITY, s = 0;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) {
    float4 v = x[i];
    kept[i] = v;
    m = fmaxf(m, maxOf(v));
  }
  m = blockReduce(m, warpMax, slots, -INFINITY);
  for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) {
    float4 v = expOf(kept[i], m);
    kept[i] = v;
    s += sumOf(v);
  }
  s = 1 / blockReduce(s, warpSum, slots, 0);
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < columns; i += blockDim.x)
    y[i] = times(kept[i], s);
}
/// A block a row, read twice: largest value and sum together, then the result.
__global__ void softmaxTwice(const float4 *x, float4 *y, unsigned columns) {
  __shared__ float slots[32];
  x += size_t(blockIdx.x) * columns, y += size_t(blockIdx.x) * columns;
  float m = -INFINITY, s = 0;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) {
    float4 v = x[i];
    float larger = fmaxf(m, maxOf(v));
    s = s * expf(m - larger) + sumOf(expOf(v, larger));
    m = larger;
  }
  float all = blockReduce(m, warpMax, slots, -INFINITY);
  s = 1 / blockReduce(m == -INFINITY ? 0 : s * expf(m - all), warpSum, slots, 0);
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < columns; i += blockDim.x)
    y[i] = times(expOf(x[i], all), s);
}

/// Several blocks a row, which exchange their largest values and sums through distributed shared memory.
template <int V> __global__ void __launch_bounds__(1024) softmaxCluster(const float4 *x, float4 *y) {
  __shared__ float slots[32];
  __shared__ float partial[2];
  auto cluster = cooperative_groups::this_cluster();
  unsigned blocks = cluster.num_blocks(), rank = cluster.block_rank();
  size_t first = (size_t(blockIdx.x / blocks) * blocks + rank) * (V * 1024);
  x += first, y += first;
  float4 v[V];
  float m = -INFINITY, s = 0;
#pragma unroll
  for (int i = 0; i < V; ++i)
    v[i] = x[i * 1024 + threadIdx.x];
#pragma unroll
  for (int i = 0; i < V; ++i)
    m = fmaxf(m, maxOf(v[i]));
  m = blockReduce(m, warpMax, slots, -INFINITY);
  if (threadIdx.x == 0)
    partial[0] = m;
  cluster.sync();
  for (unsigned i = 0; i < blocks; ++i)
    m = fmaxf(m, *cluster.map_shared_rank(&partial[0], i));
#pragma unroll
  for (int i = 0; i < V; ++i)
    s += sumOf(v[i] = expOf(v[i], m));
  s = blockReduce(s, warpSum, slots, 0);
  if (threadIdx.x == 0)
    partial[1] = s;
  cluster.sync();
  s = 0;
  for (unsigned i = 0; i < blocks; ++i)
    s += *cluster.map_shared_rank(&partial[1], i);
  s = 1 / s;
#pragma unroll
  for (int i = 0; i < V; ++i)
    y[i * 1024 + threadIdx.x] = times(v[i], s);
  cluster.sync(); // nobody leaves while another reads its partial results
}

/// The largest relative difference from sums in double precision, of the first and last row.
static double softmaxError(unsigned columns) {
  std::vector<float> x(columns), y(columns);
  double worst = 0;
  for (size_t at : {size_t(0), (large / columns - 1) * columns}) {
    CHECK(cudaMemcpy(x.data(), memory[0] + at, columns * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(y.data(), memory[2] + at, columns * 4, cudaMemcpyDeviceToHost));
    double most = *std::max_element(x.begin(), x.end()), sum = 0;
    for (float v : x)
      sum += std::exp(v - most);
    for (unsigned i = 0; i < columns; ++i) {
      double wanted = std::exp(x[i] - most) / sum, difference = std::fabs(y[i] - wanted) / wanted;
      worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    }
  }
  return worst;
}

static void softmaxRow(Json &json, unsigned columns, const std::string &name,
                       const std::function<void(int)> &run) {
  CHECK(cudaMemset(memory[2], 0xff, large * 4));
  std::string whole = "softmax, " + std::to_string(columns) + " columns, " + name;
  row(json, whole, 8.0 * (large / columns * columns), run);
  if (double error = softmaxError(columns); !(error < 1e-5))
    json.value((whole + ", WRONG").c_str(), "\"%g\"", error);
}
template <int V> static void softmaxWarpRow(Json &json) {
  unsigned columns = V * 128, rows = large / columns;
  for (int warps : {4, 8})
    softmaxRow(json, columns, "warp a row, " + std::to_string(warps) + " rows a block", [=](int) {
      softmaxWarp<V><<<(rows + warps - 1) / warps, warps * 32, 0, stream>>>(
          reinterpret_cast<float4 *>(memory[0]), reinterpret_cast<float4 *>(memory[2]), rows);
    });
}
template <int Block, int V> static void softmaxBlockRow(Json &json) {
  unsigned columns = V * Block * 4, rows = large / columns;
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, softmaxBlock<Block, V>));
  softmaxRow(json, columns,
             "registers, block " + std::to_string(Block) + ", " + std::to_string(attributes.numRegs) +
                 " registers, " + std::to_string(attributes.localSizeBytes) + " bytes of stack",
             [=](int) {
               softmaxBlock<Block, V><<<rows, Block, 0, stream>>>(reinterpret_cast<float4 *>(memory[0]),
                                                                  reinterpret_cast<float4 *>(memory[2]));
             });
}
template <int V> static void softmaxClusterRow(Json &json, int blocks) {
  unsigned columns = V * 4096 * blocks, rows = large / columns;
  CHECK(cudaFuncSetAttribute(softmaxCluster<V>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  softmaxRow(json, columns, "cluster of " + std::to_string(blocks) + ", " + std::to_string(V) + " a thread",
             [=](int) {
               cudaLaunchAttribute attribute;
               attribute.id = cudaLaunchAttributeClusterDimension;
               attribute.val.clusterDim = {unsigned(blocks), 1, 1};
               cudaLaunchConfig_t configuration = {};
               configuration.gridDim = rows * blocks, configuration.blockDim = 1024,
               configuration.stream = stream;
               configuration.attrs = &attribute, configuration.numAttrs = 1;
               CHECK(cudaLaunchKernelEx(&configuration, softmaxCluster<V>, (const float4 *)memory[0],
                                        (float4 *)memory[2]));
             });
}
static void softmaxRows(Json &json) {
  for (int blocks : {2, 4, 8, 16})
    softmaxClusterRow<2>(json, blocks), softmaxClusterRow<4>(json, blocks),
        softmaxClusterRow<8>(json, blocks);
  softmaxWarpRow<1>(json), softmaxWarpRow<2>(json), softmaxWarpRow<4>(json), softmaxWarpRow<8>(json),
      softmaxWarpRow<16>(json);
  softmaxBlockRow<64, 2>(json), softmaxBlockRow<64, 4>(json), softmaxBlockRow<128, 2>(json),
      softmaxBlockRow<128, 4>(json), softmaxBlockRow<256, 1>(json), softmaxBlockRow<256, 2>(json),
      softmaxBlockRow<256, 4>(json), softmaxBlockRow<512, 2>(json), softmaxBlockRow<512, 4>(json),
      softmaxBlockRow<512, 8>(json), softmaxBlockRow<1024, 4>(json), softmaxBlockRow<1024, 8>(json),
      softmaxBlockRow<1024, 12>(json), softmaxBlockRow<1024, 16>(json);
  for (unsigned columns : {1024u, 4096u, 8192u, 16384u, 32768u, 49152u, 65536u, 131072u})
    for (unsigned block : {256u, 512u, 1024u}) {
      unsigned rows = large / columns;
      if (columns * 4 <= 200 << 10 && large % columns == 0) {
        CHECK(cudaFuncSetAttribute(softmaxShared, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
        softmaxRow(json, columns, "shared memory, block " + std::to_string(block), [=](int) {
          softmaxShared<<<rows, block, columns * 4, stream>>>(
              reinterpret_cast<float4 *>(memory[0]), reinterpret_cast<float4 *>(memory[2]), columns / 4);
        });
      }
      if (large % columns == 0)
        softmaxRow(json, columns, "read twice, block " + std::to_string(block), [=](int) {
          softmaxTwice<<<rows, block, 0, stream>>>(reinterpret_cast<float4 *>(memory[0]),
                                                   reinterpret_cast<float4 *>(memory[2]), columns / 4);
        });
    }
}

#endif // WEFT_TEST_CUDASIM_SOFTMAX_H
