//===- BatchOrder.cpp - The examples of each batch ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/BatchOrder.h"

#include "frontend/io/Message.h"
#include "weft/philox.hpp"

#include <algorithm>
#include <cassert>
#include <exception>
#include <numeric>
#include <utility>

namespace weft::io {

namespace {
/// Separates these random streams from others with the same seed.
constexpr uint64_t streamTag = uint64_t{0x10ad} << 48;
} // namespace

std::vector<int64_t> epoch_permutation(int64_t count, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  PhiloxSequence random(seed, streamTag ^ epoch);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

Expected<BatchOrder> BatchOrder::create(int64_t examples, BatchOrderOptions options) {
  if (examples < 0)
    return failure("DataLoader: expected a data set of 0 or more examples, found ", examples);
  if (options.batch_size < 1)
    return failure("DataLoader: batch_size should be a positive integer value, but got batch_size=",
                   options.batch_size);
  BatchOrder order(examples, options);
  try {
    order.order_.resize(static_cast<size_t>(examples));
  } catch (const std::exception &) { // bad_alloc or length_error
    return failure("DataLoader: out of host memory for the order of ", examples, " examples; use fewer");
  }
  order.start_epoch(0);
  return order;
}

void BatchOrder::start_epoch(uint64_t epoch) {
  epoch_ = epoch;
  if (options_.shuffle)
    order_ = epoch_permutation(examples_, options_.seed, epoch);
  else
    std::iota(order_.begin(), order_.end(), int64_t{0});
}

int64_t BatchOrder::batches() const {
  const bool short_batch = examples_ % options_.batch_size != 0 && !options_.drop_last;
  return examples_ / options_.batch_size + short_batch;
}

std::span<const int64_t> BatchOrder::batch(int64_t number) const {
  assert(number >= 0 && number < batches());
  const int64_t begin = number * options_.batch_size;
  return std::span(order_).subspan(static_cast<size_t>(begin),
                                   static_cast<size_t>(std::min(options_.batch_size, examples_ - begin)));
}

} // namespace weft::io
