//===- SortText.h - The pieces of a sort's kernel ---------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text of which PrintSort.cpp makes a kernel. `$WORD` stands for what differs. Thread t of a team has
// elements t, t + team, t + 2 team, .. of its row. A key is a whole number whose order is that of the
// elements; with its place in the row it is a word, and no two words of a row are equal. Places behind the
// row have the largest key, so that they come last.
//
// In step (k, j) of the network, element i meets element i ^ j, and the smaller one goes to the place whose
// bits j and k are both set, or both not. If j is a multiple of the team, both are in one thread; if it is
// less than a warp, they are in one warp, and meet by a shuffle; else they meet in shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_SORTS_SORTTEXT_H
#define WEFT_CODEGEN_CUDA_SORTS_SORTTEXT_H

namespace weft::codegen::sorts {

inline constexpr const char *numbersText = R"(
constexpr int extent = $EXTENT, count = $COUNT, padded = $PADDED, team = $TEAM, items = $ITEMS, rows_of_block = $ROWS;
)";

inline constexpr const char *wholeKeyText = R"(
__device__ __forceinline__ $K weft_key($K bits) {
  return ($K)($ORDERED);
}
)";

/// A NaN is the largest element, and zeros of both signs are equal.
inline constexpr const char *realKeyText = R"(
__device__ __forceinline__ $K weft_key($K bits) {
  constexpr $K sign = ($K)1 << $LAST_BIT, infinity = ($K)$INFINITY;
  const $K magnitude = bits & (($K)~sign);
  if (magnitude > infinity)
    return ($K)$NAN_KEY;
  const $K key = magnitude == 0 ? sign : (bits & sign) != 0 ? ($K)~bits : ($K)(bits | sign);
  return ($K)$OF_KEY;
}
)";

/// A word of 32 or 64 bits: the key, and below it the place.
inline constexpr const char *wordText = R"(
typedef $W weft_word;
__device__ __forceinline__ weft_word weft_make($K key, int place) {
  return (weft_word)key << $PLACE_BITS | (weft_word)place;
}
__device__ __forceinline__ int weft_place(weft_word word) {
  return (int)(word & (((weft_word)1 << $PLACE_BITS) - 1));
}
__device__ __forceinline__ bool weft_before(weft_word a, weft_word b) {
  return a < b;
}
__device__ __forceinline__ weft_word weft_exchange(weft_word word, int by) {
  return __shfl_xor_sync(0xffffffffu, word, by);
}
)";
inline constexpr const char *stagedWordText = R"(
struct weft_stage {
  weft_word words[staged * team];
  __device__ __forceinline__ void put(int at, weft_word word) { words[at] = word; }
  __device__ __forceinline__ weft_word get(int at) const { return words[at]; }
};
)";

/// A key of 64 bits, and beside it the place.
inline constexpr const char *wideWordText = R"(
struct weft_word {
  $K key;
  int place;
};
__device__ __forceinline__ weft_word weft_make($K key, int place) {
  return {key, place};
}
__device__ __forceinline__ int weft_place(const weft_word &word) {
  return word.place;
}
__device__ __forceinline__ bool weft_before(const weft_word &a, const weft_word &b) {
  return a.key < b.key || (a.key == b.key && a.place < b.place);
}
__device__ __forceinline__ weft_word weft_exchange(const weft_word &word, int by) {
  return {__shfl_xor_sync(0xffffffffu, word.key, by), __shfl_xor_sync(0xffffffffu, word.place, by)};
}
)";
inline constexpr const char *stagedWideText = R"(
struct weft_stage {
  $K keys[staged * team];
  int places[staged * team];
  __device__ __forceinline__ void put(int at, const weft_word &word) {
    keys[at] = word.key;
    places[at] = word.place;
  }
  __device__ __forceinline__ weft_word get(int at) const { return {keys[at], places[at]}; }
};
)";

inline constexpr const char *kernelText = R"(
extern "C" __global__ void __launch_bounds__($THREADS, 1)
weft_kernel(const $K *source, $K *values, long long *indices, long long rows) {
$SHARED  const int t = (int)threadIdx.x % team;
  const long long row = (long long)blockIdx.x * rows_of_block + (int)threadIdx.x / team;
  const bool sorts = rows_of_block == 1 || row < rows;
  const $K *const own = source + row * extent;
  weft_word x[items];
#pragma unroll
  for (int r = 0; r < items; ++r) {
    const int i = r * team + t;
    x[r] = weft_make(sorts && i < extent ? weft_key(own[i]) : ($K)~($K)0, i);
  }
#pragma unroll 1
  for (int k = 2; k <= padded; k *= 2) {
$OWN$STAGED$WARP  }
  if (!sorts)
    return;
#pragma unroll
  for (int r = 0; r < items; ++r) {
    const int i = r * team + t;
    if (i < count) {
      const int place = weft_place(x[r]);
      values[row * count + i] = own[place];
      indices[row * count + i] = place;
    }
  }
}
)";

/// Elements of one thread.
inline constexpr const char *ownText = R"(#pragma unroll
    for (int d = items / 2; d > 0; d /= 2) {
      if (d * team >= k)
        continue;
#pragma unroll
      for (int r = 0; r < items; ++r) {
        if ((r & d) != 0)
          continue;
        const bool ascends = ((r * team + t) & k) == 0;
        if (weft_before(x[r + d], x[r]) == ascends) {
          const weft_word before = x[r];
          x[r] = x[r + d];
          x[r + d] = before;
        }
      }
    }
)";

/// Elements of two warps.
inline constexpr const char *stagedText = R"(#pragma unroll 1
    for (int j = (k < team ? k : team) / 2; j >= 32; j /= 2) {
      const bool is_first = (t & j) == 0;
#pragma unroll
      for (int first = 0; first < items; first += staged) {
        __syncthreads();
#pragma unroll
        for (int r = 0; r < staged; ++r)
          stage.put(r * team + t, x[first + r]);
        __syncthreads();
#pragma unroll
        for (int r = 0; r < staged; ++r) {
          const weft_word y = stage.get(r * team + (t ^ j));
          const bool ascends = (((first + r) * team + t) & k) == 0;
          if (weft_before(y, x[first + r]) == (is_first == ascends))
            x[first + r] = y;
        }
      }
    }
)";

/// Elements of two lanes.
inline constexpr const char *warpText = R"(#pragma unroll 1
    for (int j = (k < $LANES ? k : $LANES) / 2; j > 0; j /= 2) {
      const bool is_first = (t & j) == 0;
#pragma unroll
      for (int r = 0; r < items; ++r) {
        const weft_word y = weft_exchange(x[r], j);
        const bool ascends = ((r * team + t) & k) == 0;
        if (weft_before(y, x[r]) == (is_first == ascends))
          x[r] = y;
      }
    }
)";

} // namespace weft::codegen::sorts

#endif // WEFT_CODEGEN_CUDA_SORTS_SORTTEXT_H
