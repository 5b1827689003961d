//===- KernelRows.h - Rows of the kernels program ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory that kernels work on, a row of the program's output, and sums across warps and blocks.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELROWS_H
#define WEFT_TEST_CUDASIM_KERNELROWS_H

#include "Calibration.h"

static cudaStream_t stream;
static double copyRate;

static void row(Json &json, const std::string &name, double bytes, const std::function<void(int)> &run,
                int inner = 10) {
  double time = timeOnDevice(stream, run, inner, 15);
  double rate = bytes / time * 1e-3;
  json.value(name.c_str(), "{\"microseconds\": %.2f, \"gigabytes_a_second\": %.0f, \"of_copy\": %.3f}", time,
             rate, copyRate > 0 ? rate / copyRate : 1.0);
}

constexpr size_t large = size_t(1) << 26; // elements: 256 MiB
static float *memory[8];

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
__device__ inline float sumOf(float4 v) { return (v.x + v.y) + (v.z + v.w); }

#endif // WEFT_TEST_CUDASIM_KERNELROWS_H
