//===- metric.hpp - Running averages of step results ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_METRIC_HPP
#define WEFT_METRIC_HPP

#include "weft/tensor.hpp"

namespace weft {

/// A running average of numbers that steps compute, such as a loss or an accuracy. `update` returns without
/// waiting for the number. `value` leaves out the last update, whose step may still run, so a loop that shows
/// its loss waits only for the step before. A shared handle.
class WEFT_API Metric {
public:
  Metric();
  /// Takes a tensor of one element, with a weight (the size of the batch, say). Not in compiled functions
  /// (WEFT-C001): return the number and update outside.
  void update(const Tensor &value, double weight = 1, Loc loc = Loc::current());
  /// The weighted mean of all updates but the last; NaN without any.
  double value() const;
  /// The weighted mean of all updates; waits for the last one. NaN without any.
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
