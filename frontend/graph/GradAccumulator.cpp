//===- GradAccumulator.cpp - Collects the gradient of a leaf --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/GradAccumulator.h"

#include "frontend/graph/Slot.h"

namespace weft::frontend {

std::shared_ptr<Slot> GradAccumulator::gradient() const {
  const auto owner = slot.lock();
  return owner ? owner->grad : grad.lock();
}

bool GradAccumulator::isSeen() const {
  const auto owner = slot.lock();
  return owner ? owner->requiresGrad : !grad.expired();
}

} // namespace weft::frontend
