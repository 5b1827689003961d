//===- BatchOrder.h - The examples of each batch --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_BATCHORDER_H
#define WEFT_FRONTEND_IO_BATCHORDER_H

#include "weft/status.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft::io {

struct BatchOrderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false; ///< leave out a last batch that is short
  uint64_t seed = 0;
};

/// The order of a loader. It is a function of seed and epoch alone: workers take batches by number, so their
/// count and speed change nothing, no other user of random numbers disturbs it, and a resumed run needs
/// the numbers of the epoch and the next batch only.
class BatchOrder {
public:
  static Expected<BatchOrder> create(int64_t examples, BatchOrderOptions options);

  /// Makes the order of another epoch; `create` makes that of epoch 0. Spans from `batch` become invalid.
  void start_epoch(uint64_t epoch);
  uint64_t epoch() const { return epoch_; }
  int64_t examples() const { return examples_; }
  const BatchOrderOptions &options() const { return options_; }
  int64_t batches() const;
  /// The examples of batch `number`, which must be from 0 to `batches() - 1`.
  std::span<const int64_t> batch(int64_t number) const;

private:
  BatchOrder(int64_t examples, BatchOrderOptions options) : examples_(examples), options_(options) {}
  int64_t examples_;
  BatchOrderOptions options_;
  uint64_t epoch_ = 0;
  std::vector<int64_t> order_;
};

/// A uniformly random permutation of 0 to `count - 1` for this seed and epoch.
std::vector<int64_t> epoch_permutation(int64_t count, uint64_t seed, uint64_t epoch);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_BATCHORDER_H
