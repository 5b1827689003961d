//===- HandLoops.cpp - What a person would write by hand ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HandLoops.h"
#include "Team.h"
#include "VectorMath.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <sched.h>
#include <sys/mman.h>
#include <utility>

namespace weft::bench {

int thread_count() {
  static const int count = [] {
    if (const char *text = std::getenv("WEFT_NUM_THREADS"))
      if (const int wanted = std::atoi(text); wanted > 0)
        return std::min(wanted, maxThreads);
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
      return std::clamp(CPU_COUNT(&set), 1, maxThreads);
    return 1;
  }();
  return count;
}

static constexpr size_t hugePage = size_t(2) << 20;

Floats::Floats(int64_t count) : count_(count) {
  const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + hugePage - 1) / hugePage * hugePage;
  data_ = static_cast<float *>(std::aligned_alloc(hugePage, bytes));
  if (!data_)
    throw std::bad_alloc();
  (void)::madvise(data_, bytes, MADV_HUGEPAGE);
  std::memset(data_, 0, bytes);
}
Floats::~Floats() { std::free(data_); }

namespace hand {
namespace {

// Elements that a thread takes at a time; whole vectors, few enough for an even split.
constexpr int64_t elementGrain = 16384;
constexpr int64_t maxColumns = 4096;
constexpr int64_t transposeTile = 64;

/// out[i] = compute(i) for whole vectors; n is a multiple of the vector's width.
template <bool streaming, typename Compute> void map(float *out, int64_t n, const Compute &compute) {
  parallel(n, elementGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; i += 2 * lanes) {
      const Vec a = compute(i), b = compute(i + lanes);
      store<streaming>(out + i, a);
      store<streaming>(out + i + lanes, b);
    }
    if constexpr (streaming)
      _mm_sfence();
  });
}

template <typename Compute> void map(float *out, int64_t n, Stores stores, const Compute &compute) {
  if (stores == Stores::streaming)
    map<true>(out, n, compute);
  else
    map<false>(out, n, compute);
}

template <bool streaming>
void bias_relu_rows(const float *x, const float *row, const float *column, float *out, int64_t rows,
                    int64_t columns) {
  parallel(rows, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const Vec scale = splat(column[i]);
      const float *from = x + i * columns;
      float *to = out + i * columns;
      for (int64_t j = 0; j < columns; j += lanes)
        store<streaming>(to + j, max((load(from + j) + load(row + j)) * scale, Vec{}));
    }
    if constexpr (streaming)
      _mm_sfence();
  });
}

template <int half, size_t... K> void exchange(Vec &a, Vec &b, std::index_sequence<K...>) {
  const Vec low = __builtin_shufflevector(a, b, (K & half ? lanes + (K ^ half) : K)...);
  b = __builtin_shufflevector(a, b, (K & half ? lanes + K : K ^ half)...);
  a = low;
}

/// Exchanges a[i][j] and a[j][i] of a square of vectors, by halves.
template <int half = lanes / 2> void transpose(Vec (&a)[lanes]) {
  for (int i = 0; i < lanes; ++i)
    if (!(i & half))
      exchange<half>(a[i], a[i + half], std::make_index_sequence<lanes>());
  if constexpr (half > 1)
    transpose<half / 2>(a);
}

template <bool streaming> void transpose_add_tiles(const float *x, const float *y, float *out, int64_t side) {
  parallel(side, transposeTile, [&](int64_t begin, int64_t end, int) {
    for (int64_t i0 = begin; i0 < end; i0 += transposeTile)
      for (int64_t j = 0; j < side; j += lanes)
        for (int64_t i = i0; i < i0 + transposeTile; i += lanes) {
          Vec tile[lanes];
          for (int k = 0; k < lanes; ++k)
            tile[k] = load(x + (j + k) * side + i);
          transpose(tile);
          for (int k = 0; k < lanes; ++k)
            store<streaming>(out + (i + k) * side + j, tile[k] + load(y + (i + k) * side + j));
        }
    if constexpr (streaming)
      _mm_sfence();
  });
}

template <bool streaming> void softmax_rows(const float *x, float *out, int64_t rows, int64_t columns) {
  parallel(rows, 8, [&](int64_t begin, int64_t end, int) {
    alignas(64) float kept[maxColumns];
    for (int64_t i = begin; i < end; ++i) {
      const float *from = x + i * columns;
      float *to = out + i * columns;
      Vec best0 = load(from), best1 = best0;
      for (int64_t j = 0; j < columns; j += 2 * lanes) {
        best0 = max(load(from + j), best0);
        best1 = max(load(from + j + lanes), best1);
      }
      const Vec shift = splat(max_of(max(best0, best1)));
      Vec total0{}, total1{};
      for (int64_t j = 0; j < columns; j += 2 * lanes) {
        // The next row comes in while this one computes.
        __builtin_prefetch(from + columns + j);
        __builtin_prefetch(from + columns + j + lanes);
        const Vec a = exp(load(from + j) - shift), b = exp(load(from + j + lanes) - shift);
        store<false>(kept + j, a);
        store<false>(kept + j + lanes, b);
        total0 += a;
        total1 += b;
      }
      const Vec scale = splat(1 / sum(total0 + total1));
      for (int64_t j = 0; j < columns; j += lanes)
        store<streaming>(to + j, load(kept + j) * scale);
    }
    if constexpr (streaming)
      _mm_sfence();
  });
}

struct Moments {
  Vec mean, scale; ///< the latter is 1 / sqrt(variance + eps)
};

/// The mean of the values first(j) of a row, then the variance of the values again(j) around it.
template <typename First, typename Again>
Moments moments(int64_t columns, const First &first, const Again &again) {
  constexpr int chains = 4;
  Vec totals[chains] = {}, squares[chains] = {};
  for (int64_t j = 0; j < columns; j += chains * lanes)
    for (int k = 0; k < chains; ++k)
      totals[k] += first(j + k * lanes);
  const auto n = static_cast<float>(columns);
  const Vec mean = splat(sum((totals[0] + totals[1]) + (totals[2] + totals[3])) / n);
  for (int64_t j = 0; j < columns; j += chains * lanes)
    for (int k = 0; k < chains; ++k) {
      const Vec distance = again(j + k * lanes) - mean;
      squares[k] = fma(distance, distance, squares[k]);
    }
  const float variance = sum((squares[0] + squares[1]) + (squares[2] + squares[3])) / n;
  return {mean, splat(1 / std::sqrt(variance + static_cast<float>(normEps)))};
}

template <bool streaming>
void layer_norm_rows(const float *x, const float *weight, const float *bias, float *out, int64_t rows,
                     int64_t columns) {
  parallel(rows, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const float *from = x + i * columns;
      float *to = out + i * columns;
      const Moments m = moments(
          columns, [&](int64_t j) { return load(from + j); },
          [&](int64_t j) {
            __builtin_prefetch(from + columns + j);
            return load(from + j);
          });
      for (int64_t j = 0; j < columns; j += lanes)
        store<streaming>(to + j, (load(from + j) - m.mean) * m.scale * load(weight + j) + load(bias + j));
    }
    if constexpr (streaming)
      _mm_sfence();
  });
}

template <bool streaming>
void residual_norm_gelu_rows(const float *x, const float *residual, const float *weight, const float *bias,
                             float *out, int64_t rows, int64_t columns) {
  parallel(rows, 8, [&](int64_t begin, int64_t end, int) {
    alignas(64) float kept[maxColumns];
    for (int64_t i = begin; i < end; ++i) {
      const float *a = x + i * columns, *b = residual + i * columns;
      float *to = out + i * columns;
      const Moments m = moments(
          columns,
          [&](int64_t j) {
            const Vec v = load(a + j) + load(b + j);
            store<false>(kept + j, v);
            return v;
          },
          [&](int64_t j) {
            __builtin_prefetch(a + columns + j);
            __builtin_prefetch(b + columns + j);
            return load(kept + j);
          });
      for (int64_t j = 0; j < columns; j += 2 * lanes) {
        const auto norm = [&](int64_t j) {
          return (load(kept + j) - m.mean) * m.scale * load(weight + j) + load(bias + j);
        };
        const Vec u = gelu_tanh(norm(j)), v = gelu_tanh(norm(j + lanes));
        store<streaming>(to + j, u);
        store<streaming>(to + j + lanes, v);
      }
    }
    if constexpr (streaming)
      _mm_sfence();
  });
}

} // namespace

void copy(const float *from, float *to, int64_t n, Stores stores) {
  map(to, n, stores, [=](int64_t i) { return load(from + i); });
}

void mul_add(const float *x, const float *y, float *out, int64_t n, Stores stores) {
  map(out, n, stores, [=](int64_t i) {
    const Vec a = load(x + i), b = load(y + i);
    return a * 2.0f + b * b - a;
  });
}

void gelu_sigmoid(const float *x, const float *y, const float *z, float *out, int64_t n, Stores stores) {
  map(out, n, stores, [=](int64_t i) {
    const Vec c = load(z + i);
    return gelu_tanh(load(x + i) * load(y + i) + c) * sigmoid(c);
  });
}

void bias_relu(const float *x, const float *row, const float *column, float *out, int64_t rows,
               int64_t columns, Stores stores) {
  if (stores == Stores::streaming)
    bias_relu_rows<true>(x, row, column, out, rows, columns);
  else
    bias_relu_rows<false>(x, row, column, out, rows, columns);
}

void transpose_add(const float *x, const float *y, float *out, int64_t side, Stores stores) {
  if (stores == Stores::streaming)
    transpose_add_tiles<true>(x, y, out, side);
  else
    transpose_add_tiles<false>(x, y, out, side);
}

void softmax(const float *x, float *out, int64_t rows, int64_t columns, Stores stores) {
  if (stores == Stores::streaming)
    softmax_rows<true>(x, out, rows, columns);
  else
    softmax_rows<false>(x, out, rows, columns);
}

void layer_norm(const float *x, const float *weight, const float *bias, float *out, int64_t rows,
                int64_t columns, Stores stores) {
  if (stores == Stores::streaming)
    layer_norm_rows<true>(x, weight, bias, out, rows, columns);
  else
    layer_norm_rows<false>(x, weight, bias, out, rows, columns);
}

void residual_norm_gelu(const float *x, const float *residual, const float *weight, const float *bias,
                        float *out, int64_t rows, int64_t columns, Stores stores) {
  if (stores == Stores::streaming)
    residual_norm_gelu_rows<true>(x, residual, weight, bias, out, rows, columns);
  else
    residual_norm_gelu_rows<false>(x, residual, weight, bias, out, rows, columns);
}

void column_sum(const float *x, float *out, int64_t rows, int64_t columns) {
  // One partial row for each thread, which stays in L1. The hardware fetches too little ahead of a loop that
  // does so little with a line.
  constexpr int64_t grain = 64, ahead = 8;
  static Floats partial(int64_t(maxThreads) * maxColumns);
  std::memset(partial.data(), 0, sizeof(float) * static_cast<size_t>(thread_count() * maxColumns));
  parallel(rows, grain, [&](int64_t begin, int64_t end, int worker) {
    float *mine = partial.data() + worker * maxColumns;
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < columns; j += lanes) {
        const float *at = x + i * columns + j;
        __builtin_prefetch(at + ahead * columns);
        const Vec v = load(at);
        store<false>(mine + j, fma(v, v, load(mine + j)));
      }
  });
  for (int64_t j = 0; j < columns; j += lanes) {
    Vec total{};
    for (int worker = 0; worker < thread_count(); ++worker)
      total += load(partial.data() + worker * maxColumns + j);
    store<false>(out + j, total);
  }
}

void full_sum(const float *x, float *out, int64_t n) {
  struct alignas(64) Partial {
    double value = 0;
  } partial[maxThreads];
  parallel(n, elementGrain, [&](int64_t begin, int64_t end, int worker) {
    constexpr int chains = 8;
    constexpr int64_t ahead = 4096;
    Vec totals[chains] = {};
    for (int64_t i = begin; i < end; i += chains * lanes)
      for (int k = 0; k < chains; ++k) {
        __builtin_prefetch(x + i + k * lanes + ahead);
        const Vec v = load(x + i + k * lanes);
        totals[k] = fma(v, v, totals[k]);
      }
    for (const Vec &total : totals)
      partial[worker].value += sum(total);
  });
  double total = 0;
  for (const Partial &part : partial)
    total += part.value;
  *out = static_cast<float>(total);
}

} // namespace hand
} // namespace weft::bench
