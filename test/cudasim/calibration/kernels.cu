//===- kernels.cu - What shapes of kernels reach ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hand-written candidates for the skeletons of generated kernels, in f32: how many bytes a second each
// reaches, counting each input and output once, and its share of a copy measured in the same run. Operands
// rotate among sets that together exceed the second-level cache several times.
//
//===----------------------------------------------------------------------===//
#include "Calibration.h"

#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

static cudaStream_t stream;
static cudaEvent_t from, to;
static double copyRate;

static double microseconds(const std::function<void(int)> &run, int inner, int outer = 15) {
  for (int i = 0; i < 3; ++i)
    run(i);
  std::vector<double> values;
  for (int i = 0; i < outer; ++i) {
    CHECK(cudaEventRecord(from, stream));
    for (int j = 0; j < inner; ++j)
      run(j);
    CHECK(cudaEventRecord(to, stream));
    CHECK(cudaEventSynchronize(to));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    values.push_back(ms * 1e3 / inner);
  }
  CHECK(cudaGetLastError());
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

static void row(Json &json, const std::string &name, double bytes, const std::function<void(int)> &run,
                int inner = 10) {
  double time = microseconds(run, inner);
  double rate = bytes / time * 1e-3;
  json.value(name.c_str(), "{\"microseconds\": %.2f, \"gigabytes_a_second\": %.0f, \"of_copy\": %.3f}", time,
             rate, copyRate > 0 ? rate / copyRate : 1.0);
}

constexpr size_t large = size_t(1) << 26; // elements: 256 MiB
static float *memory[8];

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

__device__ inline float4 mulAdd(float4 x, float4 y) {
  auto f = [](float a, float b) { return a * 2 + b * b - a; };
  return {f(x.x, y.x), f(x.y, y.y), f(x.z, y.z), f(x.w, y.w)};
}
__device__ inline float gelu(float x) {
  return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}
__device__ inline float4 geluSigmoid(float4 x, float4 y, float4 z) {
  auto f = [](float a, float b, float c) { return gelu(a * b + c) / (1 + expf(-c)); };
  return {f(x.x, y.x, z.x), f(x.y, y.y, z.y), f(x.z, y.z, z.z), f(x.w, y.w, z.w)};
}

template <int Unroll, bool Streaming>
__global__ void pointwise(const float4 *x, const float4 *y, float4 *z, unsigned count) {
  unsigned first = blockIdx.x * (blockDim.x * Unroll) + threadIdx.x;
  float4 a[Unroll], b[Unroll];
#pragma unroll
  for (int i = 0; i < Unroll; ++i)
    if (unsigned at = first + i * blockDim.x; at < count) {
      a[i] = Streaming ? __ldcs(x + at) : x[at];
      b[i] = Streaming ? __ldcs(y + at) : y[at];
    }
#pragma unroll
  for (int i = 0; i < Unroll; ++i)
    if (unsigned at = first + i * blockDim.x; at < count) {
      if (Streaming)
        __stcs(z + at, mulAdd(a[i], b[i]));
      else
        z[at] = mulAdd(a[i], b[i]);
    }
}
template <int Unroll>
__global__ void pointwiseHeavy(const float4 *x, const float4 *y, const float4 *w, float4 *z, unsigned count) {
  unsigned first = blockIdx.x * (blockDim.x * Unroll) + threadIdx.x;
  float4 a[Unroll], b[Unroll], c[Unroll];
#pragma unroll
  for (int i = 0; i < Unroll; ++i)
    if (unsigned at = first + i * blockDim.x; at < count)
      a[i] = x[at], b[i] = y[at], c[i] = w[at];
#pragma unroll
  for (int i = 0; i < Unroll; ++i)
    if (unsigned at = first + i * blockDim.x; at < count)
      z[at] = geluSigmoid(a[i], b[i], c[i]);
}
__global__ void pointwiseStrided(const float4 *x, const float4 *y, float4 *z, unsigned count) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    z[i] = mulAdd(x[i], y[i]);
}
__global__ void pointwiseScalar(const float *x, const float *y, float *z, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    z[i] = x[i] * 2 + y[i] * y[i] - x[i];
}

template <int Unroll> static void pointwiseRows(Json &json) {
  for (int block : {128, 256, 512, 1024})
    for (unsigned count : {unsigned(large / 4), unsigned(1 << 20)}) {
      auto grid = (count + block * Unroll - 1) / (block * Unroll);
      double bytes = 48.0 * count;
      std::string tail = ", unroll " + std::to_string(Unroll) + ", block " + std::to_string(block) + ", " +
                         std::to_string(count >> 18) + " Mi";
      auto in = [=](int i, int k) {
        return reinterpret_cast<float4 *>(memory[k]) + (count < large / 4 ? size_t(i % 16) * count : 0);
      };
      row(
          json, "mul_add" + tail, bytes,
          [=](int i) {
            pointwise<Unroll, false><<<grid, block, 0, stream>>>(in(i, 0), in(i, 1), in(i, 2), count);
          },
          16);
      row(
          json, "mul_add, streaming" + tail, bytes,
          [=](int i) {
            pointwise<Unroll, true><<<grid, block, 0, stream>>>(in(i, 0), in(i, 1), in(i, 2), count);
          },
          16);
      row(
          json, "gelu_sigmoid" + tail, bytes * 4 / 3,
          [=](int i) {
            pointwiseHeavy<Unroll><<<grid, block, 0, stream>>>(in(i, 0), in(i, 1), in(i, 3), in(i, 2), count);
          },
          16);
    }
}

//===----------------------------------------------------------------------===//
// Softmax over rows
//===----------------------------------------------------------------------===//

__device__ inline float warpMax(float x) {
  for (int i = 16; i; i >>= 1)
    x = fmaxf(x, __shfl_xor_sync(~0u, x, i));
  return x;
}
__device__ inline float warpSum(float x) {
  for (int i = 16; i; i >>= 1)
    x += __shfl_xor_sync(~0u, x, i);
  return x;
}
template <typename F> __device__ inline float blockReduce(float x, F reduce, float *slots, float neutral) {
  x = reduce(x);
  if (threadIdx.x % 32 == 0)
    slots[threadIdx.x / 32] = x;
  __syncthreads();
  x = threadIdx.x % 32 < blockDim.x / 32 ? slots[threadIdx.x % 32] : neutral;
  x = reduce(x);
  __syncthreads();
  return x;
}
__device__ inline float maxOf(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ inline float4 expOf(float4 v, float m) {
  return {expf(v.x - m), expf(v.y - m), expf(v.z - m), expf(v.w - m)};
}
__device__ inline float sumOf(float4 v) { return (v.x + v.y) + (v.z + v.w); }
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

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

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
          row(json,
              "column sum, " + std::to_string(rows) + " x " + std::to_string(columns) + ", block " +
                  std::to_string(bx) + " x " + std::to_string(by) + ", grid " + std::to_string(gx) + " x " +
                  std::to_string(gy),
              4.0 * rows * columns, [=](int i) {
                size_t offset = size_t(rows) * columns <= large / 8 ? size_t(i % 8) * rows * columns : 0;
                columnPartials<4><<<dim3(gx, gy), dim3(bx, by), 0, stream>>>(
                    reinterpret_cast<float4 *>(memory[0] + offset), reinterpret_cast<float4 *>(partial), rows,
                    columns / 4);
                columnFinish<<<(columns + 255) / 256, 256, 0, stream>>>(partial, memory[5], gy, columns);
              });
          row(json,
              "column sum at once, " + std::to_string(rows) + " x " + std::to_string(columns) + ", block " +
                  std::to_string(bx) + " x " + std::to_string(by) + ", grid " + std::to_string(gx) + " x " +
                  std::to_string(gy),
              4.0 * rows * columns, [=](int i) {
                size_t offset = size_t(rows) * columns <= large / 8 ? size_t(i % 8) * rows * columns : 0;
                columnsAtOnce<4><<<dim3(gx, gy), dim3(bx, by), 0, stream>>>(
                    reinterpret_cast<float4 *>(memory[0] + offset), reinterpret_cast<float4 *>(partial),
                    counters, reinterpret_cast<float4 *>(memory[5]), rows, columns / 4);
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

//===----------------------------------------------------------------------===//
// Transposition
//===----------------------------------------------------------------------===//

/// 32 x 32 tiles, an element an access, rows padded by one.
__global__ void transposeAdd32(const float *x, const float *y, float *z, unsigned side) {
  __shared__ float tile[32][33];
  unsigned c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    tile[threadIdx.y + i][threadIdx.x] = x[size_t(r + i) * side + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    z[size_t(r + i) * side + c] = tile[threadIdx.x][threadIdx.y + i] + y[size_t(r + i) * side + c];
}
/// 64 x 64 tiles, 16 bytes an access on both sides.
__global__ void transposeAdd64(const float4 *x, const float4 *y, float4 *z, unsigned side) {
  __shared__ float tile[64][65];
  unsigned tx = threadIdx.x % 16, ty = threadIdx.x / 16; // 16 x 16 threads
  unsigned width = side / 4;
#pragma unroll
  for (int i = 0; i < 64; i += 16) {
    float4 v = x[size_t(blockIdx.y * 64 + ty + i) * width + blockIdx.x * 16 + tx];
    float *target = &tile[ty + i][tx * 4];
    target[0] = v.x, target[1] = v.y, target[2] = v.z, target[3] = v.w;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; i += 16) {
    size_t at = size_t(blockIdx.x * 64 + ty + i) * width + blockIdx.y * 16 + tx;
    float4 v = y[at];
    v.x += tile[tx * 4][ty + i], v.y += tile[tx * 4 + 1][ty + i];
    v.z += tile[tx * 4 + 2][ty + i], v.w += tile[tx * 4 + 3][ty + i];
    z[at] = v;
  }
}

static void transpositions(Json &json) {
  for (unsigned side : {4096u, 8192u}) {
    row(json, "x.T + y, " + std::to_string(side) + ", tiles of 32, 32 x 8 threads", 12.0 * side * side,
        [=](int) {
          transposeAdd32<<<dim3(side / 32, side / 32), dim3(32, 8), 0, stream>>>(memory[0], memory[1],
                                                                                 memory[2], side);
        });
    row(json, "x.T + y, " + std::to_string(side) + ", tiles of 64, 256 threads", 12.0 * side * side,
        [=](int) {
          transposeAdd64<<<dim3(side / 64, side / 64), 256, 0, stream>>>(
              reinterpret_cast<float4 *>(memory[0]), reinterpret_cast<float4 *>(memory[1]),
              reinterpret_cast<float4 *>(memory[2]), side);
        });
  }
}

//===----------------------------------------------------------------------===//
// Adam over many tensors
//===----------------------------------------------------------------------===//

constexpr int maxTensors = 320;
struct Tensor {
  float *p, *g, *m, *v;
  unsigned count, firstBlock;
};
struct Table {
  Tensor tensors[maxTensors];
};
static_assert(sizeof(Table) <= 32764 - 64, "fits the parameters of a kernel");

template <typename Get>
__device__ inline void adam(Get get, int tensors, unsigned chunk, float lr, float c1, float c2) {
  int low = 0, high = tensors; // the last tensor that begins at this block or before
  while (high - low > 1) {
    int middle = (low + high) / 2;
    (get(middle).firstBlock <= blockIdx.x ? low : high) = middle;
  }
  const Tensor &t = get(low);
  unsigned first = (blockIdx.x - t.firstBlock) * chunk, last = min(first + chunk, t.count);
  for (unsigned i = first / 4 + threadIdx.x; i < last / 4; i += blockDim.x) {
    auto *ps = reinterpret_cast<float4 *>(t.p), *ms = reinterpret_cast<float4 *>(t.m),
         *vs = reinterpret_cast<float4 *>(t.v);
    float4 p = ps[i], g = reinterpret_cast<float4 *>(t.g)[i], m = ms[i], v = vs[i];
    auto update = [&](float &p, float g, float &m, float &v) {
      m = 0.9f * m + 0.1f * g;
      v = 0.999f * v + 0.001f * g * g;
      p -= lr * (m * c1) / (sqrtf(v * c2) + 1e-8f);
    };
    update(p.x, g.x, m.x, v.x), update(p.y, g.y, m.y, v.y), update(p.z, g.z, m.z, v.z),
        update(p.w, g.w, m.w, v.w);
    ps[i] = p, ms[i] = m, vs[i] = v;
  }
}
__global__ void adamByValue(const __grid_constant__ Table table, int tensors, unsigned chunk, float lr,
                            float c1, float c2) {
  adam([&](int i) -> const Tensor & { return table.tensors[i]; }, tensors, chunk, lr, c1, c2);
}
__global__ void adamByPointer(const Table *table, int tensors, unsigned chunk, float lr, float c1, float c2) {
  adam([&](int i) -> const Tensor & { return table->tensors[i]; }, tensors, chunk, lr, c1, c2);
}

static void multiTensor(Json &json) {
  static Table table;
  Table *onDevice;
  CHECK(cudaMalloc(&onDevice, sizeof table));
  const std::pair<int, unsigned> cases[] = {{300, 4096}, {100, 1024}, {100, 1 << 20}, {8, 1 << 23}};
  for (auto [tensors, count] : cases)
    for (unsigned chunk : {1024u, 2048u, 4096u, 8192u, 65536u})
      for (unsigned block : {256u, 512u}) {
        unsigned blocks = 0;
        for (int i = 0; i < tensors; ++i) {
          size_t offset = size_t(i) * count;
          table.tensors[i] = {
              memory[0] + offset, memory[1] + offset, memory[2] + offset, memory[3] + offset, count, blocks};
          blocks += (count + chunk - 1) / chunk;
        }
        CHECK(cudaMemcpy(onDevice, &table, sizeof table, cudaMemcpyHostToDevice));
        std::string name = "adam, " + std::to_string(tensors) + " tensors of " + std::to_string(count) +
                           ", chunk " + std::to_string(chunk) + ", block " + std::to_string(block);
        double bytes = 28.0 * tensors * count;
        row(
            json, name + ", table by value", bytes,
            [&, tensors = tensors](int) {
              adamByValue<<<blocks, block, 0, stream>>>(table, tensors, chunk, 1e-3f, 1, 1);
            },
            20);
        row(
            json, name + ", table in memory", bytes,
            [&, tensors = tensors](int) {
              adamByPointer<<<blocks, block, 0, stream>>>(onDevice, tensors, chunk, 1e-3f, 1, 1);
            },
            20);
      }
}

__global__ void fillNormal(float *x, size_t count, unsigned seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    unsigned h = static_cast<unsigned>(i) * 2654435761u + seed;
    h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
    x[i] = (static_cast<float>(h >> 8) / (1 << 24) - 0.5f) * 4;
  }
}

int main() {
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  for (int i = 0; i < 6; ++i) {
    CHECK(cudaMalloc(&memory[i], large * 4));
    fillNormal<<<1056, 256, 0, stream>>>(memory[i], large, i);
  }
  // Second moments are not negative.
  CHECK(cudaMemsetAsync(memory[3], 0, large * 4, stream));
  Json json;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  json.value("device", "\"%s\"", properties.name);
  double time = microseconds(
      [](int) { CHECK(cudaMemcpyAsync(memory[1], memory[0], large * 4, cudaMemcpyDeviceToDevice, stream)); },
      10);
  copyRate = 8.0 * large / time * 1e-3;
  json.value("copy_gigabytes_a_second", "%.0f", copyRate);
  fillNormal<<<1056, 256, 0, stream>>>(memory[1], large, 1);
  json.open("kernels");
  pointwiseRows<1>(json), pointwiseRows<2>(json), pointwiseRows<4>(json);
  for (unsigned grid : {132u, 264u, 528u, 1056u, 2112u})
    row(json, "mul_add, 64 Mi, grid of " + std::to_string(grid) + " with strides, block 512", 12.0 * large,
        [=](int) {
          pointwiseStrided<<<grid, 512, 0, stream>>>(reinterpret_cast<float4 *>(memory[0]),
                                                     reinterpret_cast<float4 *>(memory[1]),
                                                     reinterpret_cast<float4 *>(memory[2]), large / 4);
        });
  row(json, "mul_add, 64 Mi, 4 bytes an access, block 256", 12.0 * large,
      [](int) { pointwiseScalar<<<large / 256, 256, 0, stream>>>(memory[0], memory[1], memory[2], large); });
  softmaxRows(json);
  sums(json);
  transpositions(json);
  CHECK(cudaMemsetAsync(memory[3], 0, large * 4, stream));
  multiTensor(json);
  json.close();
  return 0;
}
