//===- Metric.cpp - Running averages of step results ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/metric.hpp"

#include "frontend/graph/Devices.h"
#include "frontend/graph/Trace.h"
#include "frontend/graph/Undo.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/ops/HostConvert.h"
#include "frontend/ops/Ops.h"

#include <deque>
#include <limits>

namespace weft {

using namespace frontend;

struct Metric::Impl {
  struct Pending {
    Ref value; ///< held, so that no call writes its storage
    double weight;
  };
  std::deque<Pending> pending; ///< updates that are not added to the sum yet, newest last
  double sum = 0, weight = 0;
  int64_t count = 0;

  /// Reads all but the newest `keep` updates.
  void absorb(size_t keep) {
    while (pending.size() > keep) {
      Pending next = std::move(pending.front());
      pending.pop_front(); // before the read, so that an error is reported once
      const auto &buffer = next.value.buffer();
      await(*buffer, next.value.node->loc);
      double number = 0;
      convertElements(next.value.spec().dtype, inHostMemory(buffer, next.value.node->loc)->data(), DType::f64,
                      &number, 1);
      sum += next.weight * number;
      weight += next.weight;
    }
  }
  double mean() const { return weight != 0 ? sum / weight : std::numeric_limits<double>::quiet_NaN(); }
};

/// How many updates may be pending before `update` waits for the oldest.
static constexpr size_t deepest = 64;

Metric::Metric() : impl_(std::make_shared<Impl>()) {}

void Metric::update(const Tensor &value, double weight, Loc loc) {
  GraphLock lock(graphMutex());
  Ref number = use(value, loc);
  if (Trace::current())
    fail("a metric reads its numbers, which a compiled function cannot (WEFT-C001): return the number and "
         "update the metric outside",
         loc, {number}, "WEFT-C001");
  if (number.spec().count() != 1)
    fail("a metric takes a tensor of one element, found shape " + shapeText(number.spec().shape), loc,
         {number});
  flush({number});
  impl_->pending.push_back({number, weight});
  ++impl_->count;
  impl_->absorb(deepest);
}

double Metric::value() const {
  GraphLock lock(graphMutex());
  impl_->absorb(1);
  return impl_->mean();
}

double Metric::result() const {
  GraphLock lock(graphMutex());
  impl_->absorb(0);
  return impl_->mean();
}

int64_t Metric::count() const { return impl_->count; }

void Metric::reset() {
  GraphLock lock(graphMutex());
  *impl_ = Impl();
}

} // namespace weft
