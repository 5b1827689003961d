//===- Trace.cpp ---------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/Trace.h"

namespace weft::frontend {

static Trace *&currentTrace() {
  thread_local Trace *trace = nullptr;
  return trace;
}

Trace *Trace::current() { return currentTrace(); }

Trace::Trace() : previous_(currentTrace()) { currentTrace() = this; }

Trace::~Trace() {
  if (!active_)
    return;
  restore();
  for (auto it = undo_.rbegin(); it != undo_.rend(); ++it)
    (*it)();
}

/// A node that stands for a value from outside of the trace.
static std::shared_ptr<Node> makeInput(const Trace *trace, Spec spec, Loc loc) {
  auto node = std::make_shared<Node>();
  node->kind = NodeKind::input;
  node->name = "input";
  node->serial = nextSerial();
  node->buffers.resize(1);
  node->liveSlots.resize(1);
  node->needsCuda = spec.device.is_cuda();
  node->results = {std::move(spec)};
  node->trace = trace;
  node->loc = loc;
  return node;
}

Ref Trace::addArgument(Spec spec, bool requiresGrad, Loc loc) {
  auto node = makeInput(this, std::move(spec), loc);
  node->requiresGrad = requiresGrad;
  arguments_.push_back({node, 0});
  return arguments_.back();
}

TouchedSlot &Trace::touch(const std::shared_ptr<Slot> &slot) {
  auto [it, inserted] = index_.try_emplace(slot.get(), touched_.size());
  if (!inserted)
    return touched_[it->second];
  Ref before = slot->value();
  auto node = makeInput(this, before.spec(), slot->loc);
  node->needsCuda = before.node->needsCuda;
  // A leaf collects its gradient (setValue sees to that); a value with a history outside would lose its own,
  // which `backward` reports.
  node->requiresGrad = !slot->requiresGrad && before.requiresGrad();
  Ref input{node, 0};
  touched_.push_back({slot, before, input, slot->grad});
  slot->setValue(input);
  // What the trace does to a gradient that is there happens to a handle of its own.
  if (slot->grad)
    touch(slot->grad);
  return touched_[index_[slot.get()]];
}

void Trace::guardMode(std::shared_ptr<const bool> flag) {
  for (const ModeGuard &mode : modes_)
    if (mode.flag == flag)
      return;
  modes_.push_back({flag, *flag});
}

void Trace::restore() {
  active_ = false;
  currentTrace() = previous_;
  for (auto it = touched_.rbegin(); it != touched_.rend(); ++it) {
    it->slot->setValue(it->before);
    it->slot->grad = it->gradBefore;
  }
}

std::vector<Trace::Change> Trace::finish() {
  GraphLock lock(graphMutex());
  std::vector<Change> changes;
  for (TouchedSlot &touched : touched_)
    changes.push_back({touched, touched.slot->value(), touched.slot->grad});
  restore();
  return changes;
}

SuspendTrace::SuspendTrace() : suspended_(currentTrace()) { currentTrace() = nullptr; }
SuspendTrace::~SuspendTrace() { currentTrace() = suspended_; }

} // namespace weft::frontend
