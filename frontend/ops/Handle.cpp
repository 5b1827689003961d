//===- Handle.cpp - How operations read and write tensors -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Handle.h"

#include "frontend/graph/GradHooks.h"
#include "frontend/graph/History.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/lazy/Pending.h"

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Ref useSlot(const std::shared_ptr<Slot> &slot, Loc loc) {
  GraphLock lock(graphMutex());
  Trace *trace = Trace::current();
  // The body of a loop reads what the function around it made, too.
  const bool isOuter = trace && trace->isBody() && trace->isInside(slot->trace);
  if (slot->trace && slot->trace != trace && !isOuter)
    fail("this tensor was made while a function was being compiled and has no value outside of that; return "
         "it from the function\n  made at " +
             str(slot->loc),
         loc);
  if (slot->isParametrized)
    fail("'" + slot->name +
             "' is parametrized, and computed in each call of its module (WEFT-G007): computed(\"" +
             slot->name.substr(slot->name.rfind('.') + 1) +
             "\") of the module gives its present value; a member of a module is an nn::Parameter, and "
             "optimisers are made after the parametrization",
         loc, {}, "WEFT-G007");
  if (trace && trace->isBody() && slot->trace != trace)
    return trace->capture(slot);
  if (trace && !slot->trace)
    trace->touch(slot);
  return slot->value();
}

/// The last missing gradient that this thread asked for.
static std::pair<std::weak_ptr<Slot>, Loc> &missingGrad() {
  thread_local std::pair<std::weak_ptr<Slot>, Loc> last;
  return last;
}

void noteMissingGrad(const std::shared_ptr<Slot> &slot, Loc loc) { missingGrad() = {slot, loc}; }

void failUndefined(Loc loc) {
  std::string text = "this tensor is undefined: nothing was assigned to it";
  const auto &[weak, asked] = missingGrad();
  if (const auto slot = weak.lock(); slot && !slot->grad)
    text += ", or it is the missing gradient of " + nameOf(*slot) + ", read by grad() at " + str(asked) +
            ": " +
            (slot->requiresGrad ? "no backward() has reached it since it was made or zero_grad() dropped its "
                                  "gradient"
                                : "it does not require one, or is no leaf; see requires_grad_()");
  fail(text, loc);
}

Ref use(const Tensor &tensor, Loc loc) {
  const auto &slot = Access::slot(tensor);
  if (!slot)
    failUndefined(loc);
  return useSlot(slot, loc);
}

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

Tensor wrap(Ref value, Loc loc) {
  auto slot = std::make_shared<Slot>();
  slot->loc = loc;
  slot->trace = Trace::current();
  slot->setValue(std::move(value));
  // Every operation calls this, so that the graph of a program that never reads a value stays bounded.
  flushIfLarge(loc);
  return Access::make(std::move(slot));
}

Tensor makeView(const Tensor &tensor, ViewStep step, std::vector<int64_t> strides, Loc loc, bool detached) {
  GraphLock lock(graphMutex());
  Ref value = use(tensor, loc);
  const auto &parent = Access::slot(tensor);
  auto view = std::make_shared<View>();
  view->base = parent->storage();
  view->spec = Spec{value.spec().dtype, step.to, value.spec().device};
  view->strides = std::move(strides);
  view->source = parent;
  view->detached = detached;
  view->madeWithoutGrad = !gradEnabled();
  view->madeOfLeaf = parent->requiresGrad;
  if (const View *own = parent->view()) {
    view->steps = own->steps;
    // A leaf collects gradients itself, even if it is a view.
    if (!parent->requiresGrad) {
      view->source = own->source;
      view->sourceSteps = own->sourceSteps;
      view->detached |= own->detached;
      view->madeWithoutGrad |= own->madeWithoutGrad;
      view->madeOfLeaf = own->madeOfLeaf;
    }
  }
  Ref derived;
  {
    GradMode mode(!view->stopsGrad());
    // A view of all elements has a value of its own: its hooks are not those of the tensor, nor the other way
    // round.
    derived = !step.isIdentity()                      ? step.apply(value, loc)
              : value.requiresGrad() && gradEnabled() ? sameValue(value, loc)
                                                      : value;
    if (view->stopsGrad())
      derived = withoutHistory(std::move(derived), loc);
  }
  append(view->sourceSteps, step);
  append(view->steps, std::move(step));
  auto slot = std::make_shared<Slot>();
  slot->loc = loc;
  slot->trace = Trace::current();
  slot->makeView(std::move(view), std::move(derived));
  return Access::make(std::move(slot));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Tensor markedCopy(Tensor copy, const char *function, Loc loc) {
  GraphLock lock(graphMutex());
  if (anySymbolic(copy.sizes(loc)) || copy.numel(loc) > 0)
    Access::slot(copy)->storage()->copiedBy = function;
  return copy;
}

void checkWritable(const std::shared_ptr<Slot> &slot, Loc loc) {
  const View *view = slot->view();
  if (view && view->overlaps())
    fail("unsupported operation: more than one element of the written-to tensor refers to a single memory "
         "location. Please clone() the tensor before performing the operation.",
         loc);
  if (const char *function = slot->storage()->copiedBy)
    fail("unsupported operation: the result of " + std::string(function) +
             " is written, which is a copy here, so that the tensor that it was made of would not change. "
             "Write "
             "to that tensor, or clone() the result to write to the copy.",
         loc);
  if (!gradEnabled())
    return;
  if (slot->requiresGrad)
    fail("a leaf Variable that requires grad is being used in an in-place operation: wrap it in a "
         "NoGradGuard",
         loc);
  if (view && !view->stopsGrad() && view->source->requiresGrad)
    fail("a view of a leaf Variable that requires grad is being used in an in-place operation: wrap it in a "
         "NoGradGuard",
         loc);
  if (view && view->madeWithoutGrad && !view->detached && view->source->needsGrad())
    fail("A view was created in no_grad mode and is being modified inplace with grad mode enabled: make the "
         "view and write to it on the same side of the NoGradGuard",
         loc);
}

void checkViewWrite(const std::shared_ptr<Slot> &slot, bool needsGrad, Loc loc,
                    const std::vector<Ref> &operands) {
  const View *view = slot->view();
  if (!view)
    return;
  if (view->overlaps())
    checkWritable(slot, loc);
  if (needsGrad && gradEnabled() && !view->reachesBase())
    fail("a value that requires a gradient is written through a view that stops gradients (WEFT-G004), and "
         "neither the view nor its base could pass them on: write it to the tensor itself, or .detach() the "
         "value",
         loc, operands, "WEFT-G004");
}

/// Writes a value of the view's own type to its place in the base.
static void writeView(const std::shared_ptr<Slot> &slot, Ref value) {
  const View &view = *slot->view();
  Loc loc = value.node->loc;
  const bool needsGrad = value.requiresGrad();
  checkViewWrite(slot, needsGrad, loc, {value});
  if (Trace *trace = Trace::current(); trace && slot->trace != trace)
    trace->touch(slot);
  const Ref before = useSlot(view.base, loc);
  const bool flows = gradEnabled() && view.reachesBase();
  Ref updated;
  {
    GradMode mode(flows);
    updated = view.update(before, value, loc);
  }
  if (!flows)
    updated = keepHistory(before, std::move(updated), loc);
  const bool keepsHistory = updated.requiresGrad() && !view.stopsGrad() && (!flows || !needsGrad);
  assign(view.base, std::move(updated));
  // The view may keep `value` as its cache, unless the view has other gradients than `value`. For example, a
  // part of a tensor that requires a gradient requires one too, whatever was written to it.
  bool isRead = slot->requiresGrad || value.node->isGradLeaf(value.result) ||
                (!view.stopsGrad() && view.source->requiresGrad);
  // The gradient that one of both keeps is that of the base's new value, and of what the view reads there.
  isRead |= slot->retained || view.base->retained;
  if (!isRead && !keepsHistory && (!needsGrad || gradEnabled()))
    slot->setValue(std::move(value));
}

static void assignValue(const std::shared_ptr<Slot> &slot, Ref value);

void assign(const std::shared_ptr<Slot> &slot, Ref value) {
  GraphLock lock(graphMutex());
  assignValue(slot, std::move(value));
  retainAfterWrite(*slot);
}

static void assignValue(const std::shared_ptr<Slot> &slot, Ref value) {
  const auto touch = [&slot] {
    if (Trace *trace = Trace::current(); trace && slot->trace != trace)
      trace->touch(slot);
  };
  if (slot->view() && value.spec() != slot->spec()) {
    touch(); // in a trace, the view is cut off for the trace only
    slot->cut();
  }
  if (slot->view()) {
    writeView(slot, std::move(value));
    return;
  }
  touch();
  // Gradients are collected by node, so the node of a leaf must not belong to another slot.
  const GradAccumulator *owner = value.node->accumulator(value.result);
  if ((owner && owner->slot.lock() != slot) ||
      (slot->requiresGrad && value.node->results[value.result].liveSlots > 0 && slot->value() != value))
    value = sameValue(value, value.node->loc);
  if (Trace::current()) { // a trace restores the slots that it wrote
    slot->setValue(std::move(value));
    return;
  }
  if (slot->shouldComputeBefore(value))
    tryFlush({slot->value()});
  slot->write(std::move(value));
}

} // namespace weft::frontend
