//===- State.cpp - Values of state, set from outside ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/State.h"

#include "frontend/graph/Trace.h"
#include "frontend/graph/Undo.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/ops/HostConvert.h"
#include "frontend/ops/Ops.h"

#include <cstring>

namespace weft::frontend {

void refuseInTrace(const std::string &what, Loc loc) {
  if (Trace::current())
    fail(what +
             " inside a compiled function would happen once, while it is compiled: call it between the calls",
         loc, {}, "WEFT-C001");
}

/// A copy of a value on the host, in `dtype`.
static Ref hostCopy(const Ref &value, DType dtype, Loc loc) {
  flush({value});
  const auto &source = value.buffer();
  await(*source, loc);
  Spec spec = value.spec();
  spec.dtype = dtype;
  auto buffer = runtime::Buffer::allocate(spec.bytes()).value_or_throw();
  if (value.spec().dtype == dtype)
    std::memcpy(buffer->data(), source->data(), spec.bytes());
  else
    convertElements(value.spec().dtype, source->data(), dtype, buffer->data(),
                    static_cast<size_t>(spec.count()));
  return leaf(spec, std::move(buffer), loc);
}

void overwrite(const Tensor &target, const Tensor &source, Loc loc) {
  GraphLock lock(graphMutex());
  refuseInTrace("setting state", loc);
  const auto &slot = Access::slot(target);
  Ref own = use(target, slot->loc), value = use(source, slot->loc);
  if (own.spec().device.is_cpu() && value.spec().device.is_cpu()) {
    assign(slot, hostCopy(value, own.spec().dtype, slot->loc));
    return;
  }
  NoGradGuard guard;
  value = convertTo(transferTo(value, own.spec().device, slot->loc), own.spec().dtype, slot->loc);
  assign(slot, value);
}

Ref movedTo(const Tensor &state, Device device, Loc loc) {
  const Ref value = use(state, loc);
  // A transfer changes no bit, so the value before it can be used, if its gradient goes to the same leaf.
  for (Ref source = value; source.node->kind == NodeKind::op && !source.node->operands.empty() &&
                           std::string_view(source.node->name) == "transfer";) {
    source = source.node->operands[0];
    if (source.spec().device == device &&
        (!source.requiresGrad() || source.node->leafSlot(source.result) == Access::slot(state)))
      return source;
  }
  return transferTo(value, device, loc);
}

Tensor copyOf(const Tensor &original) {
  GraphLock lock(graphMutex());
  const auto &slot = Access::slot(original);
  Ref value = use(original, slot->loc);
  NoGradGuard guard;
  Tensor copy = wrap(value.spec().device.is_cpu() ? hostCopy(value, value.spec().dtype, slot->loc)
                                                  : sameValue(value, slot->loc),
                     slot->loc);
  Access::slot(copy)->name = slot->name;
  if (slot->requiresGrad)
    copy.requires_grad_(true, slot->loc);
  return copy;
}

void clearGradients(const std::vector<Tensor> &parameters, bool toNone) {
  GraphLock lock(graphMutex());
  NoGradGuard guard;
  for (Tensor parameter : parameters)
    if (toNone)
      parameter.set_grad({});
    else if (Tensor gradient = parameter.grad(); gradient.defined())
      gradient.zero_();
}

std::string shapeComplaint(const std::string &name, const Shape &own, const Shape &loaded) {
  return own == loaded ? ""
                       : "size mismatch: " + name + " has shape " + shapeText(own) + ", the state has " +
                             shapeText(loaded);
}

void throwComplaints(const std::string &what, const std::vector<std::string> &complaints, Loc loc) {
  if (complaints.empty())
    return;
  std::string text = "Error(s) in loading " + what + ":";
  for (const std::string &complaint : complaints)
    text += "\n  " + complaint;
  fail(text, loc);
}

} // namespace weft::frontend
