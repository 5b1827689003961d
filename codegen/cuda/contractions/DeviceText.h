//===- DeviceText.h - Device functions of kernels in text -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of contractions and of attention are written as text, in which `$WORD` stands for what differs.
// Here is what both need: conversions, copies to shared memory, and instructions on matrices. `$T` is the
// type of an element in memory, and `$S` the type of a sum.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CONTRACTIONS_DEVICETEXT_H
#define WEFT_CODEGEN_CUDA_CONTRACTIONS_DEVICETEXT_H

#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace weft::codegen {

using Words = std::map<std::string, std::string>;

/// `text` with each `$WORD` replaced. Every word must be known.
std::string fill(llvm::StringRef text, const Words &words);

namespace devicetext {

inline constexpr const char *vectorText = R"(// Elements that are accessed together.
template <typename T, int N> struct __align__(sizeof(T) * N) weft_vector {
  T at[N];
};
)";

inline constexpr const char *sameText = R"(__device__ __forceinline__ $S weft_widen($T x) { return x; }
__device__ __forceinline__ $T weft_narrow($S x) { return x; }
)";

inline constexpr const char *f16Text = R"(__device__ __forceinline__ float weft_widen(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
__device__ __forceinline__ unsigned short weft_narrow(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
)";

inline constexpr const char *bf16Text = R"(__device__ __forceinline__ float weft_widen(unsigned short bits) {
  return __uint_as_float((unsigned)bits << 16);
}
// To nearest, ties to even; a NaN stays one.
__device__ __forceinline__ unsigned short weft_narrow(float x) {
  const unsigned bits = __float_as_uint(x);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
)";

inline constexpr const char *asyncText =
    R"(// N elements to shared memory, behind this thread's back: the first `valid` from global memory, then zeros.
template <int N, typename Index>
__device__ __forceinline__ void weft_copy($T *to, const $T *from, Index valid) {
  constexpr int bytes = N * (int)sizeof($T);
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
  const int count = valid <= 0 ? 0 : valid >= N ? bytes : (int)valid * (int)sizeof($T);
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(count) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(bytes), "r"(count)
                 : "memory");
}
// The copies since the last commit are a group; wait leaves the last `groups` groups under way.
__device__ __forceinline__ void weft_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups> __device__ __forceinline__ void weft_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}
)";

inline constexpr const char *fetchText = R"(// N elements from global memory: the first `valid`, then zeros.
template <int N, typename Index>
__device__ __forceinline__ weft_vector<$T, N> weft_fetch(const $T *from, Index valid) {
  if (valid >= N)
    return *(const weft_vector<$T, N> *)from;
  weft_vector<$T, N> read;
#pragma unroll
  for (int l = 0; l < N; ++l)
    read.at[l] = l < valid ? from[l] : ($T)0;
  return read;
}
)";

inline constexpr const char *loadMatricesText =
    R"(// Four matrices of 8 x 16 bytes; the address of each row is one lane's.
__device__ __forceinline__ void weft_load_matrices(unsigned (&x)[4], const $T *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
}
)";

inline constexpr const char *loadTransposedText = R"(// The same, each matrix transposed.
__device__ __forceinline__ void weft_load_transposed(unsigned (&x)[4], const $T *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
}
)";

inline constexpr const char *multiplyMatricesText = R"(// sum[16][8] += x[16][$DEPTH] y[$DEPTH][8] of a warp.
__device__ __forceinline__ void weft_mma($S (&sum)[4], const unsigned (&x)[4], unsigned y0, unsigned y1) {
  asm("mma.sync.aligned.m16n8k$DEPTH.row.col.$MS.$MT.$MT.$MS "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+$R"(sum[0]), "+$R"(sum[1]), "+$R"(sum[2]), "+$R"(sum[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
}
)";

/// For results of mma, of which a lane has two columns of each eight; the other lanes of its row have the
/// rest.
inline constexpr const char *exchangeText =
    R"(// Of `count` lanes beside each other, lane l has word l of each of `count` groups; then it has group l.
template <int count, typename Word> __device__ __forceinline__ void weft_exchange(Word (&x)[count]) {
#pragma unroll
  for (int by = count / 2; by > 0; by /= 2) {
    const bool upper = ((int)threadIdx.x & by) != 0;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if ((i & by) != 0)
        continue;
      const Word other = __shfl_xor_sync(0xffffffffu, upper ? x[i] : x[i + by], by);
      x[i] = upper ? other : x[i];
      x[i + by] = upper ? x[i + by] : other;
    }
  }
}
)";

} // namespace devicetext
} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_CONTRACTIONS_DEVICETEXT_H
