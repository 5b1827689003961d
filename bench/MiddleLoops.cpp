//===- MiddleLoops.cpp - Loops over a dimension that is not the last -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes are neighbouring columns. A thread works on a block of columns of one matrix. It reads the block from
// memory once, and the later passes find it in the cache. Accumulators are in registers.
//
//===----------------------------------------------------------------------===//

#include "HandLoops.h"
#include "Team.h"
#include "VectorMath.h"

#include <cmath>

namespace weft::bench::hand {
namespace {

// Vectors of a block's row. More would spill their accumulators; fewer would use less of each page.
constexpr int width = 8;
constexpr int64_t blockColumns = width * lanes, maxMiddle = 256;
// How many rows ahead a pass over memory prefetches: the hardware prefetcher does not follow pieces that are
// so far apart.
constexpr int64_t ahead = 8;

/// Calls body(first element of a block) for all blocks of columns of all matrices.
template <typename Body> void blocks(const Middle &shape, const Body &body) {
  const int64_t across = shape.inner / blockColumns;
  parallel(shape.outer * across, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      body(i / across, i % across * blockColumns);
  });
}

/// A block's pass over memory: use(vector number, value) for each row.
template <typename Use> void first_pass(const float *from, const Middle &shape, const Use &use) {
  for (int64_t m = 0; m < shape.middle; ++m, from += shape.inner) {
    for (int64_t line = 0; line < blockColumns; line += 16)
      __builtin_prefetch(from + ahead * shape.inner + line);
    for (int k = 0; k < width; ++k)
      use(k, load(from + k * lanes));
  }
}

struct Sums {
  Vec of[width] = {};
};

Sums means(const float *from, const Middle &shape) {
  Sums totals;
  first_pass(from, shape, [&](int k, Vec v) { totals.of[k] += v; });
  for (Vec &total : totals.of)
    total /= static_cast<float>(shape.middle);
  return totals;
}

Sums squared_distances(const float *from, const Middle &shape, const Sums &mean) {
  Sums squares;
  for (int64_t m = 0; m < shape.middle; ++m, from += shape.inner)
    for (int k = 0; k < width; ++k) {
      const Vec distance = load(from + k * lanes) - mean.of[k];
      squares.of[k] = fma(distance, distance, squares.of[k]);
    }
  return squares;
}

template <bool streaming> void softmax_blocks(const float *x, float *out, const Middle &shape) {
  blocks(shape, [&](int64_t matrix, int64_t column) {
    alignas(64) float kept[maxMiddle * blockColumns];
    const int64_t start = matrix * shape.middle * shape.inner + column;
    const float *from = x + start;
    Vec best[width];
    for (int k = 0; k < width; ++k)
      best[k] = load(from + k * lanes);
    first_pass(from, shape, [&](int k, Vec v) { best[k] = max(v, best[k]); });
    Sums totals;
    for (int64_t m = 0; m < shape.middle; ++m, from += shape.inner)
      for (int k = 0; k < width; ++k) {
        const Vec v = exp(load(from + k * lanes) - best[k]);
        store<false>(kept + m * blockColumns + k * lanes, v);
        totals.of[k] += v;
      }
    for (Vec &total : totals.of)
      total = 1.0f / total;
    float *to = out + start;
    for (int64_t m = 0; m < shape.middle; ++m, to += shape.inner)
      for (int k = 0; k < width; ++k)
        store<streaming>(to + k * lanes, load(kept + m * blockColumns + k * lanes) * totals.of[k]);
    if constexpr (streaming)
      _mm_sfence();
  });
}

template <bool streaming> void norm_blocks(const float *x, float *out, const Middle &shape) {
  blocks(shape, [&](int64_t matrix, int64_t column) {
    const int64_t start = matrix * shape.middle * shape.inner + column;
    const float *from = x + start;
    const Sums mean = means(from, shape);
    Sums scale = squared_distances(from, shape, mean);
    for (Vec &s : scale.of)
      for (int lane = 0; lane < lanes; ++lane)
        s[lane] = 1 / std::sqrt(s[lane] / static_cast<float>(shape.middle) + static_cast<float>(normEps));
    float *to = out + start;
    for (int64_t m = 0; m < shape.middle; ++m, from += shape.inner, to += shape.inner)
      for (int k = 0; k < width; ++k)
        store<streaming>(to + k * lanes, (load(from + k * lanes) - mean.of[k]) * scale.of[k]);
    if constexpr (streaming)
      _mm_sfence();
  });
}

} // namespace

void softmax_middle(const float *x, float *out, const Middle &shape, Stores stores) {
  if (stores == Stores::streaming)
    softmax_blocks<true>(x, out, shape);
  else
    softmax_blocks<false>(x, out, shape);
}

void norm_middle(const float *x, float *out, const Middle &shape, Stores stores) {
  if (stores == Stores::streaming)
    norm_blocks<true>(x, out, shape);
  else
    norm_blocks<false>(x, out, shape);
}

void mean_middle(const float *x, float *out, const Middle &shape) {
  blocks(shape, [&](int64_t matrix, int64_t column) {
    const Sums mean = means(x + matrix * shape.middle * shape.inner + column, shape);
    for (int k = 0; k < width; ++k)
      store<false>(out + matrix * shape.inner + column + k * lanes, mean.of[k]);
  });
}

void var_middle(const float *x, float *out, const Middle &shape) {
  blocks(shape, [&](int64_t matrix, int64_t column) {
    const float *from = x + matrix * shape.middle * shape.inner + column;
    const Sums squares = squared_distances(from, shape, means(from, shape));
    for (int k = 0; k < width; ++k)
      store<false>(out + matrix * shape.inner + column + k * lanes,
                   squares.of[k] / static_cast<float>(shape.middle - 1));
  });
}

} // namespace weft::bench::hand
