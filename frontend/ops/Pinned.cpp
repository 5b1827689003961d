//===- Pinned.cpp - Tensors in pinned memory ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Devices.h"
#include "frontend/graph/Trace.h"
#include "frontend/graph/Undo.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"

namespace weft {

using namespace frontend;

/// The storage of a tensor of the host.
static const std::shared_ptr<runtime::Buffer> &computedBuffer(const Ref &value) {
  flush({value});
  return value.buffer();
}

Tensor Tensor::pin_memory(Loc loc) const {
  GraphLock lock(graphMutex());
  refuseInTrace("pin_memory()", loc);
  const Ref value = use(*this, loc);
  if (!value.spec().device.is_cpu())
    fail("cannot pin a tensor on '" + value.spec().device.str() + "': only tensors of the host can be pinned",
         loc, {value});
  const std::shared_ptr<runtime::Buffer> from = computedBuffer(value);
  if (from->is_pinned())
    return *this;
  auto pinned = runtime::Buffer::allocate_pinned(from->bytes(), backendOf(Device(DeviceType::cuda), loc));
  throwAt(pinned.status(), loc);
  await(*from, loc);
  fillBuffer(**pinned, from->data(), from->bytes(), loc);
  const Ref copy = sameValue(value, loc);
  copy.buffer() = *std::move(pinned);
  return wrap(copy, loc);
}

bool Tensor::is_pinned(Loc loc) const {
  GraphLock lock(graphMutex());
  refuseInTrace("is_pinned()", loc);
  const Ref value = use(*this, loc);
  return value.spec().device.is_cpu() && computedBuffer(value)->is_pinned();
}

} // namespace weft
