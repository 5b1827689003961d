//===- State.cpp - Values of state, set from outside ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/State.h"

#include "frontend/graph/Devices.h"
#include "frontend/graph/Trace.h"
#include "frontend/graph/Undo.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/lazy/Upload.h"
#include "frontend/ops/HostConvert.h"
#include "frontend/ops/Ops.h"
#include "weft/random.hpp"

namespace weft::frontend {

/// A copy of a value on `device`, in `dtype`, for which nothing is compiled.
static Ref copyTo(const Ref &value, Device device, DType dtype, Loc loc) {
  flush({value});
  await(*value.buffer(), loc);
  Spec spec = value.spec();
  spec.dtype = dtype;
  spec.device = device;
  auto buffer = allocateOn(device, spec.bytes(), loc);
  if (value.spec().dtype == dtype) {
    throwAt(runtime::copy_between(buffer->device(), buffer->data(), value.buffer()->device(),
                                  value.buffer()->data(), spec.bytes()),
            loc);
    return leaf(spec, std::move(buffer), loc);
  }
  const auto source = inHostMemory(value.buffer(), loc);
  std::vector<std::byte> converted;
  if (!buffer->device().is_host())
    converted.resize(spec.bytes());
  convertElements(value.spec().dtype, source->data(), dtype,
                  buffer->device().is_host() ? buffer->data() : converted.data(),
                  static_cast<size_t>(spec.count()));
  if (!buffer->device().is_host())
    fillBuffer(*buffer, converted.data(), converted.size(), loc);
  return leaf(spec, std::move(buffer), loc);
}

void overwrite(const Tensor &target, const Tensor &source, Loc loc) {
  GraphLock lock(graphMutex());
  refuseInTrace("setting state", loc);
  const auto &slot = Access::slot(target);
  Ref own = use(target, slot->loc), value = use(source, slot->loc);
  if (isThere(own.spec().device) && !value.node->lacksDevice) {
    assign(slot, copyTo(value, own.spec().device, own.spec().dtype, slot->loc));
    return;
  }
  NoGradGuard guard;
  value = convertTo(transferTo(value, own.spec().device, slot->loc), own.spec().dtype, slot->loc);
  assign(slot, value);
}

void uploadSlots(const std::vector<std::shared_ptr<Slot>> &slots, Device device, Loc loc) {
  if (device.is_cpu() || Trace::current() || !isThere(device))
    return;
  std::vector<std::shared_ptr<Slot>> moving;
  std::vector<Ref> values;
  for (const std::shared_ptr<Slot> &slot : slots)
    if (slot && !slot->view() && slot->spec().device.is_cpu() && !slot->value().node->lacksDevice) {
      moving.push_back(slot);
      values.push_back(slot->value());
    }
  if (values.empty())
    return;
  const std::vector<Ref> moved = uploadTogether(values, device, loc);
  for (size_t i = 0; i < moving.size(); ++i)
    assign(moving[i], moved[i]);
}

void relocate(const std::shared_ptr<Slot> &slot, Device device, Loc loc) {
  const Ref value = slot->value();
  if (value.spec().device != device)
    assign(slot, copyTo(value, device, value.spec().dtype, loc));
}

DrawState stateFor(const Generator &generator, Device device, Loc loc) {
  device = resolve(device);
  const std::shared_ptr<Slot> slot = Access::slot(generator.counter());
  if (isThere(device)) {
    if (Trace *trace = Trace::current())
      trace->touchOn(slot, device);
    else if (const Ref &value = slot->value(); value.node->computed(value.result))
      relocate(slot, device, loc); // what is not computed yet is copied by the program that computes it
  }
  return {transferTo(use(generator.key(), loc), device, loc),
          transferTo(use(generator.counter(), loc), device, loc)};
}

void advance(const Generator &generator, Ref counter, Loc loc) {
  const std::shared_ptr<Slot> slot = Access::slot(generator.counter());
  // In a trace, the counter ends where each call finds it.
  if (Trace::current() || !isThere(counter.spec().device))
    counter = transferTo(std::move(counter), slot->value().spec().device, loc);
  assign(slot, std::move(counter));
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
  Tensor copy =
      wrap(value.node->lacksDevice ? sameValue(value, slot->loc)
                                   : copyTo(value, value.spec().device, value.spec().dtype, slot->loc),
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
