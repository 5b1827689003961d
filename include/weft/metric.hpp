//===- metric.hpp - Averages that wait for nothing -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_METRIC_HPP
#define WEFT_METRIC_HPP

#include "weft/tensor.hpp"

namespace weft {

/// A running average of numbers that steps compute: a loss, an accuracy. `update` queues what the number
/// needs and returns; `value` leaves out the last update, whose step may still run, so that a loop that shows
/// its loss waits for nothing but the step before. A shared handle.
class WEFT_API Metric {
public:
  Metric();
  /// Takes a tensor of one element, with a weight (the size of the batch, say). Not in compiled functions
  /// (WEFT-C001): return the number and update outside.
  void update(const Tensor &value, double weight = 1, Loc loc = Loc::current());
  /// The weighted mean of every update but the last; NaN where there is none.
  double value() const;
  /// The weighted mean of every update, which waits for the last; NaN where there is none.
  double result() const;
  /// How many updates there were since the last reset.
  int64_t count() const;
  void reset();

private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

} // namespace weft

#endif // WEFT_METRIC_HPP
