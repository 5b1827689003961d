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
#include "KernelRows.h"
#include "Softmax.h"
#include "Sums.h"

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
  double time = timeOnDevice(
      stream,
      [](int) { CHECK(cudaMemcpyAsync(memory[1], memory[0], large * 4, cudaMemcpyDeviceToDevice, stream)); },
      10, 15);
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
