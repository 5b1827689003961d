//===- GemmVnni.cpp - Integer products by pairs of 16 bits ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AVX-512 VNNI adds two products of signed 16-bit numbers to a 32-bit sum in one operation; a 32-bit product
// and its addition take three. Integers of 8 and 16 bits are used directly. An integer of 32 bits is
// h * 2^16 + l with a signed l, and modulo 2^32
//
//   sum of a b = 2^16 * sum of (ah bl + al bh) + sum of al bl
//
// so the product is computed from two sums of pairs: one pair for each k, and one for every two k.
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/Gemm.h"

namespace weft::runtime {
namespace {
#define GEMM_VECTOR_BYTES 64
#define GEMM_ROWS 8
#include "runtime/gemm/GemmKernels.inc"

using Words = int32_t __attribute__((vector_size(GEMM_VECTOR_BYTES)));
constexpr int64_t lanes = GEMM_VECTOR_BYTES / 4, columns = 2 * lanes;
// Panels of both operands with this many k fit into the first-level cache, although they are larger by half
// than the operands.
constexpr int64_t depth = gemmTileK / 2;
static_assert(gemmTileM % rows == 0 && gemmTileN % columns == 0 && depth % 2 == 0);

// The helpers work on one element or on a register of elements.
using Elements = uint32_t __attribute__((vector_size(GEMM_VECTOR_BYTES)));
template <typename E> E pair(E first, E second) { return (first & 0xffff) | (second << 16); }
/// The h of h * 2^16 + l with a signed l.
template <typename E> E high(E value) { return (value + 0x8000) >> 16; }

template <typename T> Elements load(const T *from) {
  using Narrow = T __attribute__((vector_size(lanes * sizeof(T))));
  Narrow values;
  __builtin_memcpy(&values, from, sizeof values);
  return __builtin_convertvector(values, Elements);
}
void store(uint32_t *to, Elements values) { __builtin_memcpy(to, &values, sizeof values); }

/// sums[rows x 2 registers] += `count` pairs of each row, `stride` pairs apart, times a panel of pairs
/// (count x 2 registers).
template <int64_t stride>
void add_pairs(int64_t count, const char *a, const uint32_t *b, Words (&sums)[rows][2]) {
  for (int64_t p = 0; p < count; ++p) {
    Words b0, b1;
    __builtin_memcpy(&b0, b + p * columns, sizeof b0);
    __builtin_memcpy(&b1, b + p * columns + lanes, sizeof b1);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < rows; ++i) {
      int32_t both;
      __builtin_memcpy(&both, a + (i * stride + p) * 4, sizeof both);
      const Words left = both - Words{};
      sums[i][0] = __builtin_ia32_vpdpwssd512(sums[i][0], left, b0);
      sums[i][1] = __builtin_ia32_vpdpwssd512(sums[i][1], left, b1);
    }
  }
}

// Signed bytes are numbers here, so they are sign-extended.
// NOLINTBEGIN(bugprone-signed-char-misuse)

/// Packs a row of the left operand: l of each element, and the pair (h, l) of each if `cross` is given. The
/// rest of the row is zero.
template <typename T>
void pack_row(const T *from, int64_t stride, int64_t k, uint16_t *low, uint32_t *cross) {
  if (stride == 1) {
#pragma clang loop vectorize(assume_safety)
    for (int64_t p = 0; p < k; ++p)
      low[p] = static_cast<uint16_t>(from[p]);
    if (cross)
#pragma clang loop vectorize(assume_safety)
      for (int64_t p = 0; p < k; ++p)
        cross[p] = pair(high(static_cast<uint32_t>(from[p])), static_cast<uint32_t>(from[p]));
  } else {
    for (int64_t p = 0; p < k; ++p) {
      const auto value = static_cast<uint32_t>(from[p * stride]);
      low[p] = static_cast<uint16_t>(value);
      if (cross)
        cross[p] = pair(high(value), value);
    }
  }
  if (k % 2) {
    low[k] = 0;
    if (cross)
      cross[k] = 0;
  }
}
// NOLINTEND(bugprone-signed-char-misuse)

/// Packs two rows of the right operand: pairs of their elements, and the pair (l, h) of each element. The
/// second row is null after the last one.
template <typename T>
void pack_columns(const T *x, const T *y, int64_t stride, int64_t count, uint32_t *low, uint32_t *cross) {
  const auto put = [=](int64_t j, auto a, auto b, auto write) {
    write(low + j, pair(a, b));
    if constexpr (sizeof(T) == 4) {
      write(cross + j, pair(a, high(a)));
      write(cross + columns + j, pair(b, high(b)));
    }
  };
  if (y && stride == 1 && count == columns) {
    for (int64_t j = 0; j < columns; j += lanes)
      put(j, load(x + j), load(y + j), store);
    return;
  }
  for (int64_t j = 0; j < columns; ++j)
    put(j, j < count ? static_cast<uint32_t>(x[j * stride]) : 0,
        j < count && y ? static_cast<uint32_t>(y[j * stride]) : 0,
        [](uint32_t *to, uint32_t value) { *to = value; });
}

template <typename T> void pair_tile(const GemmTile *tile) {
  constexpr bool wide = sizeof(T) == 4;
  // The left operand is packed by rows, with all pairs of a row together; the right one is packed in panels.
  char *const low_a = static_cast<char *>(tile->scratch), *const cross_a = low_a + gemmTileM * depth * 2;
  uint32_t *const low_b = reinterpret_cast<uint32_t *>(cross_a + gemmTileM * depth * 4);
  uint32_t *const cross_b = low_b + depth * gemmTileN / 2, *const acc = cross_b + depth * gemmTileN;
  const int64_t m_up = (tile->m + rows - 1) / rows * rows, n_up = (tile->n + columns - 1) / columns * columns;
  for (int64_t i = 0; i < m_up * n_up; ++i)
    acc[i] = 0;
  for (int64_t k0 = 0; k0 < tile->k; k0 += depth) {
    const int64_t k = tile->k - k0 < depth ? tile->k - k0 : depth, pairs = (k + 1) / 2;
    const T *a = static_cast<const T *>(tile->a) + k0 * tile->a_k;
    const T *b = static_cast<const T *>(tile->b) + k0 * tile->b_k;
    for (int64_t i = 0; i < m_up; ++i) {
      auto *low = reinterpret_cast<uint16_t *>(low_a + i * depth * 2);
      auto *cross = reinterpret_cast<uint32_t *>(cross_a + i * depth * 4);
      if (i < tile->m) {
        pack_row(a + i * tile->a_m, tile->a_k, k, low, wide ? cross : nullptr);
      } else {
        __builtin_memset(low, 0, depth * 2ul);
        __builtin_memset(cross, 0, depth * 4ul);
      }
    }
    for (int64_t j0 = 0; j0 < n_up; j0 += columns)
      for (int64_t p = 0; p < pairs; ++p) {
        const T *x = b + 2 * p * tile->b_k + j0 * tile->b_n;
        pack_columns(x, 2 * p + 1 < k ? x + tile->b_k : nullptr, tile->b_n,
                     tile->n - j0 < columns ? tile->n - j0 : columns, low_b + j0 * pairs + p * columns,
                     cross_b + j0 * 2 * pairs + 2 * p * columns);
      }
    for (int64_t j0 = 0; j0 < n_up; j0 += columns)
      for (int64_t i0 = 0; i0 < m_up; i0 += rows) {
        Words sums[rows][2] = {};
        if constexpr (wide) {
          add_pairs<depth>(2 * pairs, cross_a + i0 * depth * 4, cross_b + j0 * 2 * pairs, sums);
          for (auto &row : sums)
            for (Words &sum : row)
              sum <<= 16;
        }
        add_pairs<depth / 2>(pairs, low_a + i0 * depth * 2, low_b + j0 * pairs, sums);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t half = 0; half < 2; ++half) {
            Words sum;
            uint32_t *to = acc + (i0 + i) * n_up + j0 + half * lanes;
            __builtin_memcpy(&sum, to, sizeof sum);
            sum += sums[i][half];
            __builtin_memcpy(to, &sum, sizeof sum);
          }
      }
  }
  store_tile<T>(tile, acc, n_up);
}

} // namespace

const GemmTable gemmVnni = {{nullptr, pair_tile<int8_t>, pair_tile<int16_t>, pair_tile<int32_t>, nullptr,
                             pair_tile<uint8_t>, nullptr, nullptr, nullptr, nullptr}};

} // namespace weft::runtime
