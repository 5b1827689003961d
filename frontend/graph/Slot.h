//===- Slot.h - What a handle refers to ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_SLOT_H
#define WEFT_FRONTEND_GRAPH_SLOT_H

#include "frontend/graph/Node.h"

#include <functional>

namespace weft::frontend {

struct View;

/// What a Tensor refers to: a value of its own, or an index map into another slot, its base (`View.h`).
struct Slot : std::enable_shared_from_this<Slot> {
  Slot() = default;
  ~Slot();
  Slot(const Slot &) = delete;
  Slot &operator=(const Slot &) = delete;

  /// The current value; in a trace, what the trace sees of it. A view's is made from its base's where that
  /// was written since.
  const Ref &value();
  /// Its type, which needs no value.
  const Spec &spec() const { return spec_; }
  /// Replaces the value; views of the slot see the new one, except where its type is another: they then keep
  /// the old value to themselves. For a view this is what is remembered until the base is written.
  void setValue(Ref value);
  /// The same for a write of the program. Where the value may turn out to be an error, what the slot held
  /// before is kept until that is known.
  void write(Ref value);
  /// Whether what the slot holds should be computed before this is written: kept for nothing else than to
  /// undo the write, it would keep alive all that it is computed from.
  bool shouldComputeBefore(const Ref &value) const;
  /// Whether the slot went back to the last value that `isLost` does not hold for.
  bool undoWrites(const std::function<bool(const Ref &)> &isLost);
  /// The value is there, or a call on a queue is to give it. In its place the slot may get a leaf of the same
  /// elements; what was computed from the value through views of it stays connected to them.
  void settle(Ref leaf);
  /// Forgets what it held before where the present value is certain, and is among the `uncertainSlots` where
  /// it is not.
  void forgetBefore();
  /// What `undoWrites` may go back to, the oldest first.
  const std::vector<Ref> &before() const { return before_; }
  /// Makes this fresh slot a view; `value` is what the map gives now.
  void makeView(std::shared_ptr<const View> view, Ref value);
  const View *view() const { return view_.get(); }
  /// The slot that holds the elements: itself, or its base.
  std::shared_ptr<Slot> storage();
  /// Forgets what views made of the value, which is about to change or to be written in place.
  void forgetViews();
  /// Makes a view a slot of its own.
  void cut();
  /// Whether operations on the slot record a gradient.
  bool needsGrad() { return requiresGrad || value().requiresGrad(); }

  bool requiresGrad = false;           ///< a leaf of gradients, by the user's wish
  bool optimized = false;              ///< an optimiser has it, or had it
  std::weak_ptr<const void> optimizer; ///< the last optimiser that was given it
  uint32_t unseenGrads = 0; ///< how often `backward` reached it since the program last looked at its gradient
  std::shared_ptr<Slot> grad;
  std::weak_ptr<GradAccumulator> gradOf; ///< `backward` made it as the gradient of a slot that had none
  std::string name;
  /// Made in a trace, or state whose owner outlives it.
  TraceMark trace;
  Loc loc;

private:
  Ref value_; ///< null in a view whose base was written
  Spec spec_;
  std::vector<Ref> before_; ///< what writes replaced that may be undone, the oldest first
  std::shared_ptr<GradAccumulator> accumulator_; ///< made when it first requires a gradient
  std::shared_ptr<const View> view_;
  std::vector<Slot *> views_; ///< of this slot, which they keep alive
  size_t viewIndex_ = 0;      ///< where a view stands in its base's list
};

/// Slots whose value is recorded but not computed.
std::vector<std::shared_ptr<Slot>> pendingSlots();
/// And those whose value is computed and may turn out to be an error, where there is something to go back to.
std::vector<std::shared_ptr<Slot>> uncertainSlots();
/// Lets slots whose value was computed forget how, unless a gradient needs that.
void settleSlots();
/// Lets slots whose value is certain by now forget what they held before.
void forgetCertain();
/// How many slots `pendingSlots` has.
size_t pendingCount();

/// How the public interface reaches the slots of its tensors.
struct Access {
  static const std::shared_ptr<Slot> &slot(const Tensor &tensor) { return tensor.slot_; }
  static Tensor make(std::shared_ptr<Slot> slot) {
    Tensor tensor;
    tensor.slot_ = std::move(slot);
    return tensor;
  }
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_SLOT_H
