//===- ImageLoops.cpp - Loops over images ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread works on one channel of the batch, or on one image of one channel, which it reads from memory
// once; what is read again is in the cache.
//
//===----------------------------------------------------------------------===//

#include "HandLoops.h"
#include "Team.h"
#include "VectorMath.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace weft::bench::hand {
namespace {

float total(Vec v) {
  float sum = 0;
  for (int lane = 0; lane < lanes; ++lane)
    sum += v[lane];
  return sum;
}

/// The sum of use(vector offset) over one channel of all images, in four accumulators.
template <typename Use> float channel_sum(const Images &s, int64_t channel, const Use &use) {
  Vec sums[4] = {};
  for (int64_t n = 0; n < s.batch; ++n) {
    const int64_t at = (n * s.channels + channel) * s.pixels();
    for (int64_t i = 0; i < s.pixels(); i += 4 * lanes)
      for (int k = 0; k < 4; ++k)
        sums[k] += use(at + i + k * lanes);
  }
  return total((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <typename Use> void channel_loop(const Images &s, int64_t channel, const Use &use) {
  for (int64_t n = 0; n < s.batch; ++n) {
    const int64_t at = (n * s.channels + channel) * s.pixels();
    for (int64_t i = 0; i < s.pixels(); i += lanes)
      use(at + i);
  }
}

template <bool streaming> void norm_channels(const NormOperands &o, const NormResults &r, const Images &s) {
  const auto count = static_cast<float>(s.batch * s.pixels());
  parallel(s.channels, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t c = begin; c < end; ++c) {
      const float mean = channel_sum(s, c, [&](int64_t i) { return load(o.x + i); }) / count;
      const float variance = channel_sum(s, c,
                                         [&](int64_t i) {
                                           const Vec distance = load(o.x + i) - mean;
                                           return distance * distance;
                                         }) /
                             count;
      const float scale = 1 / std::sqrt(variance + static_cast<float>(normEps));
      const float weight = o.weight[c], bias = o.bias[c];
      channel_loop(s, c, [&](int64_t i) {
        store<streaming>(r.y + i, (load(o.x + i) - mean) * scale * weight + bias);
      });
      const float sum = channel_sum(s, c, [&](int64_t i) { return load(o.grad + i); });
      const float product =
          channel_sum(s, c, [&](int64_t i) { return load(o.grad + i) * ((load(o.x + i) - mean) * scale); });
      r.dbias[c] = sum;
      r.dweight[c] = product;
      const float mean_grad = sum / count, mean_product = product / count, factor = weight * scale;
      channel_loop(s, c, [&](int64_t i) {
        const Vec normalised = (load(o.x + i) - mean) * scale;
        store<streaming>(r.dx + i, (load(o.grad + i) - mean_grad - normalised * mean_product) * factor);
      });
    }
    if constexpr (streaming)
      _mm_sfence();
  });
}

} // namespace

void batch_norm(const NormOperands &operands, const NormResults &results, const Images &shape,
                Stores stores) {
  if (stores == Stores::streaming)
    norm_channels<true>(operands, results, shape);
  else
    norm_channels<false>(operands, results, shape);
}

void max_pool(const float *__restrict x, float *__restrict out, const Images &s) {
  const int64_t rows = s.rows / 2, columns = s.columns / 2;
  parallel(s.batch * s.channels, 1, [&](int64_t begin, int64_t end, int) {
    // The largest of three rows, with a column beside each end.
    std::vector<float> padded(static_cast<size_t>(s.columns + 2), -std::numeric_limits<float>::infinity());
    float *__restrict best = padded.data() + 1;
    for (int64_t image = begin; image < end; ++image)
      for (int64_t row = 0; row < rows; ++row) {
        const float *middle = x + image * s.pixels() + 2 * row * s.columns;
        const float *above = row ? middle - s.columns : middle, *below = middle + s.columns;
        for (int64_t j = 0; j < s.columns; ++j)
          best[j] = std::max(std::max(above[j], middle[j]), below[j]);
        float *__restrict to = out + (image * rows + row) * columns;
        for (int64_t j = 0; j < columns; ++j)
          to[j] = std::max(std::max(best[2 * j - 1], best[2 * j]), best[2 * j + 1]);
      }
  });
}

void bilinear(const float *__restrict x, float *__restrict out, const Images &s) {
  struct Place {
    int64_t low, high;
    float weight; // of high
  };
  const auto places = [](int64_t extent) {
    std::vector<Place> made;
    for (int64_t i = 0; i < 2 * extent; ++i) {
      const float at = std::max(0.5f * (static_cast<float>(i) + 0.5f) - 0.5f, 0.0f);
      const auto low = static_cast<int64_t>(at);
      made.push_back({low, std::min(low + 1, extent - 1), at - static_cast<float>(low)});
    }
    return made;
  };
  const std::vector<Place> rows = places(s.rows), columns = places(s.columns);
  std::vector<int> low, high;
  std::vector<float> weight;
  for (const Place &place : columns) {
    low.push_back(static_cast<int>(place.low));
    high.push_back(static_cast<int>(place.high));
    weight.push_back(place.weight);
  }
  parallel(s.batch * s.channels, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<float> mixed(static_cast<size_t>(s.columns));
    for (int64_t image = begin; image < end; ++image)
      for (int64_t row = 0; row < 2 * s.rows; ++row) {
        const Place &place = rows[static_cast<size_t>(row)];
        const float *above = x + image * s.pixels() + place.low * s.columns;
        const float *below = x + image * s.pixels() + place.high * s.columns;
        for (int64_t j = 0; j < s.columns; ++j)
          mixed[static_cast<size_t>(j)] = above[j] * (1 - place.weight) + below[j] * place.weight;
        float *to = out + (image * 2 * s.rows + row) * 2 * s.columns;
        const float *from = mixed.data(), *parts = weight.data();
        const int *lows = low.data(), *highs = high.data();
        for (int64_t j = 0; j < 2 * s.columns; ++j)
          to[j] = from[lows[j]] * (1 - parts[j]) + from[highs[j]] * parts[j];
      }
  });
}

} // namespace weft::bench::hand
