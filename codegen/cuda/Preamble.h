//===- Preamble.h - Device functions of printed kernels --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text that stands before a kernel, each part only if the kernel, or a later part that is used, uses it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_PREAMBLE_H
#define WEFT_CODEGEN_CUDA_PREAMBLE_H

#include "llvm/ADT/StringRef.h"

namespace weft::codegen {

struct PreamblePart {
  llvm::StringLiteral name; ///< a kernel that has this word needs the part
  llvm::StringLiteral text;
};

/// In the order in which they are printed.
inline constexpr PreamblePart preamble[] = {
    {"weft_wide",
     R"(// The widest access to global memory, of at most 32 bytes.
#if __CUDA_ARCH__ >= 1000
struct __align__(32) weft_wide { unsigned x[8]; };
#else
typedef uint4 weft_wide;
#endif
)"},
    {"weft_reciprocal",
     R"(// What the launch gives of a size d: with s = ceil(log2 d), the factor 2^64 (2^s - d) / d + 1.
struct weft_reciprocal { unsigned long long factor, shift; };
)"},
    {"weft_quotient",
     R"(// a / d for a below 2^63, by a multiplication.
__device__ __forceinline__ long long weft_quotient(long long a, weft_reciprocal d) {
  return (long long)((__umul64hi((unsigned long long)a, d.factor) + (unsigned long long)a) >> d.shift);
}
)"},
    {"weft_load",
     R"(// The elements from p on, which is aligned to the type Unit of the accesses.
template <typename Unit, typename T, int N>
__device__ __forceinline__ void weft_load(T (&v)[N], const T *p) {
#pragma unroll
  for (int l = 0; l < N; l += sizeof(Unit) / sizeof(T)) {
    const Unit unit = *(const Unit *)(p + l);
    memcpy(v + l, &unit, sizeof(Unit));
  }
}
)"},
    {"weft_load_any",
     R"(// The same where p may be unaligned: one by one then.
template <typename Unit, typename T, int N>
__device__ __forceinline__ void weft_load_any(T (&v)[N], const T *p) {
  if ((size_t)p % sizeof(Unit) == 0) {
    weft_load<Unit>(v, p);
  } else {
#pragma unroll
    for (int l = 0; l < N; ++l)
      v[l] = p[l];
  }
}
)"},
    {"weft_store",
     R"(// The elements from p on, which is aligned to the type Unit of the accesses.
template <typename Unit, typename T, int N>
__device__ __forceinline__ void weft_store(T *p, const T (&v)[N]) {
#pragma unroll
  for (int l = 0; l < N; l += sizeof(Unit) / sizeof(T)) {
    Unit unit;
    memcpy(&unit, v + l, sizeof(Unit));
    *(Unit *)(p + l) = unit;
  }
}
)"},
    {"weft_store_any",
     R"(// The same where p may be unaligned: one by one then.
template <typename Unit, typename T, int N>
__device__ __forceinline__ void weft_store_any(T *p, const T (&v)[N]) {
  if ((size_t)p % sizeof(Unit) == 0) {
    weft_store<Unit>(p, v);
  } else {
#pragma unroll
    for (int l = 0; l < N; ++l)
      p[l] = v[l];
  }
}
)"},
    {"weft_store_global",
     R"(// The same for pointers of which NVRTC does not know that they are global: it would divide the accesses.
template <typename Unit, typename T, int N>
__device__ __forceinline__ void weft_store_global(T *p, const T (&v)[N]) {
#pragma unroll
  for (int l = 0; l < N; l += sizeof(Unit) / sizeof(T)) {
    Unit unit;
    memcpy(&unit, v + l, sizeof(Unit));
    __stwb((Unit *)(p + l), unit);
  }
}
)"},
    {"weft_store_global_any",
     R"(// The same where p may be unaligned: one by one then.
template <typename Unit, typename T, int N>
__device__ __forceinline__ void weft_store_global_any(T *p, const T (&v)[N]) {
  if ((size_t)p % sizeof(Unit) == 0) {
    weft_store_global<Unit>(p, v);
  } else {
#pragma unroll
    for (int l = 0; l < N; ++l)
      p[l] = v[l];
  }
}
)"},
    {"weft_from_f16",
     R"(__device__ __forceinline__ float weft_from_f16(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
)"},
    {"weft_to_f16",
     R"(__device__ __forceinline__ unsigned short weft_to_f16(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
)"},
    {"weft_max",
     R"(// NaN if an operand is; the positive one of two zeros.
__device__ __forceinline__ float weft_max(float a, float b) {
  if (a == b)
    return __uint_as_float(__float_as_uint(a) & __float_as_uint(b));
  return a > b || a != a ? a : b;
}
__device__ __forceinline__ double weft_max(double a, double b) {
  if (a == b)
    return __longlong_as_double(__double_as_longlong(a) & __double_as_longlong(b));
  return a > b || a != a ? a : b;
}
)"},
    {"weft_min",
     R"(// NaN if an operand is; the negative one of two zeros.
__device__ __forceinline__ float weft_min(float a, float b) {
  if (a == b)
    return __uint_as_float(__float_as_uint(a) | __float_as_uint(b));
  return a < b || a != a ? a : b;
}
__device__ __forceinline__ double weft_min(double a, double b) {
  if (a == b)
    return __longlong_as_double(__double_as_longlong(a) | __double_as_longlong(b));
  return a < b || a != a ? a : b;
}
)"},
    {"weft_later",
     R"(// The value of the thread `by` places further, in a group of neighbouring threads of a warp, which all call it.
template <typename T> __device__ __forceinline__ T weft_later(T v, unsigned by, unsigned group) {
  const unsigned first = threadIdx.x % 32 / group * group;
  return __shfl_down_sync(0xffffffffu >> (32 - group) << first, v, by, group);
}
)"},
    {"weft_earlier",
     R"(// The value of the thread `by` places before, or the own one where the group has no such thread.
template <typename T> __device__ __forceinline__ T weft_earlier(T v, unsigned by, unsigned group) {
  const unsigned first = threadIdx.x % 32 / group * group;
  return __shfl_up_sync(0xffffffffu >> (32 - group) << first, v, by, group);
}
)"},
    {"weft_of",
     R"(// The value of the group's thread with the number `thread`.
template <typename T> __device__ __forceinline__ T weft_of(T v, unsigned thread, unsigned group) {
  const unsigned first = threadIdx.x % 32 / group * group;
  return __shfl_sync(0xffffffffu >> (32 - group) << first, v, thread, group);
}
)"},
    {"weft_checks",
     R"(// The first violation of a call is the one with the smallest key; its value is in the log.
struct weft_failures {
  unsigned long long key, appended;
  struct {
    unsigned long long key;
    long long value;
  } log[8];
};
struct weft_checks {
  weft_failures *record;
  unsigned long long launch; // in its bits of a key
  long long first;           // the number of the launch's first check
  unsigned check_bits;
};
__device__ __forceinline__ void weft_fail(weft_checks checks, long long check, long long position, long long value) {
  const unsigned long long key = checks.launch | (unsigned long long)position << checks.check_bits |
                                 (unsigned long long)(check - checks.first);
  if (key < atomicMin(&checks.record->key, key)) {
    const unsigned long long entry = atomicAdd(&checks.record->appended, 1ull);
    if (entry < 8) {
      checks.record->log[entry].key = key;
      checks.record->log[entry].value = value;
    }
  }
}
)"},
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_PREAMBLE_H
