//===- Slot.h - The object that a Tensor refers to ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_SLOT_H
#define WEFT_FRONTEND_GRAPH_SLOT_H

#include "frontend/graph/Node.h"

#include <forward_list>
#include <functional>

namespace weft::frontend {

struct Slot;
struct View;

/// What a slot has for one side, a trace or the rest of the program, while it has the other side's.
struct SlotState {
  uint64_t side = 0; ///< under which views keep their values, see `Slot::open`; 0 if it is not open
  Ref value;
  const Spec *spec = nullptr; ///< of the value; the slot has it
  std::vector<Ref> before;    ///< earlier values that an undo may restore
  bool isRevocable = false;   ///< the slot is one of the `uncertainSlots`
  std::shared_ptr<Slot> grad;
  bool requiresGrad = false; ///< as the slot's
};

/// The place of a slot in a `SlotList`.
struct SlotLink {
  Slot *previous = nullptr, *next = nullptr;
  bool isLinked = false;
};

/// Slots in the order in which they were added. The slots have the links, so that nothing is allocated.
class SlotList {
public:
  explicit SlotList(SlotLink Slot::*link) : link_(link) {}
  /// A slot that is in the list stays where it is.
  void add(Slot &slot) noexcept;
  /// Returns whether it was in the list.
  bool remove(Slot &slot) noexcept;
  Slot *first() const { return first_; }
  Slot *next(const Slot &slot) const;
  size_t size() const { return size_; }

private:
  SlotLink Slot::*link_;
  Slot *first_ = nullptr, *last_ = nullptr;
  size_t size_ = 0;
};

/// The object that a Tensor refers to: a value of its own, or an index map into another slot, its base
/// (`View.h`).
struct Slot : std::enable_shared_from_this<Slot> {
  Slot() = default;
  ~Slot();
  Slot(const Slot &) = delete;
  Slot &operator=(const Slot &) = delete;

  /// The current value; during a trace, the value that the trace sees. If its base was written since, a
  /// view's value is computed again.
  const Ref &value();
  /// Whether it has this value, and a view need not compute it again.
  bool hasValue(const Ref &value) const { return value_ == value; }
  /// Its type, which needs no value. The reference is valid as long as the slot, and what it refers to never
  /// changes: a slot whose type changes refers to another one.
  const Spec &spec() const { return *spec_; }
  /// Replaces the value. Views of the slot show the new value; if its type differs from the old one's, they
  /// are cut off instead and keep the old value. The value of a view is a cache, which lasts until the base
  /// is written.
  void setValue(Ref value);
  /// Replaces the value in a write of the program. If computing the new value may fail, the slot keeps the
  /// old value until the outcome is known.
  void write(Ref value);
  /// Whether the present value, which is pending, should be computed before `value` is written. Otherwise the
  /// slot would keep it only to undo the write, and with it everything that it is computed from.
  bool shouldComputeBefore(const Ref &value) const;
  /// Goes back to the latest earlier value that is not lost. Returns whether there was one.
  bool undoWrites(const std::function<bool(const Ref &)> &isLost);
  /// Called when the value is computed, or a queued call is going to compute it. If `leaf` is given, the slot
  /// holds it from now on: a node with the same elements and no operands. Views with a gradient keep their
  /// own values, so that gradients still flow through them.
  void settle(Ref leaf);
  /// Drops the earlier values if the present one can no longer fail. If it still may, the slot becomes one of
  /// the `uncertainSlots`.
  void forgetBefore();
  /// The earlier values that `undoWrites` may go back to, oldest first.
  const std::vector<Ref> &before() const { return before_; }
  /// Makes `other` the state of a second side, for which the slot has this value.
  void open(SlotState &other, Ref value);
  /// Exchanges the value of a slot that is no view, its gradient, and what depends on the value. Types may
  /// differ; views remain views. This allocates nothing, so that no exchange of several slots ends half-way.
  void exchange(SlotState &other) noexcept;
  /// The value of a view for the side of its base that is not there, which `open` made; null if it has none.
  Ref otherValue(const SlotState &ofBase) const;
  /// Drops what `open` made.
  void close(SlotState &other) noexcept;
  /// Makes this new slot a view, whose present value is `value`.
  void makeView(std::shared_ptr<const View> view, Ref value);
  /// Makes this slot `view`, a view of its storage. A slot that holds its elements gives them, and its views,
  /// to a new slot first.
  void reshape(const View &given);
  /// Whether a trace has, or had, a value of its own for the storage.
  bool isShared() { return !storage()->sides_.empty(); }
  const View *view() const { return view_.get(); }
  const std::shared_ptr<const View> &sharedView() const { return view_; }
  /// The slot that holds the elements: itself, or its base.
  std::shared_ptr<Slot> storage();
  /// Drops the cached values of all views, because the slot's value is about to change or to be written in
  /// place.
  void forgetViews();
  /// Turns a view into a slot of its own with the same value.
  void cut();
  /// Does that to all views of this slot.
  void cutViews();
  /// Makes a slot that was cut off the view again that it was, with its type, and exchanges that for the type
  /// that it had of its own. Returns the value that it had.
  Ref rejoin(std::shared_ptr<const View> view, const Spec *&spec) noexcept;
  /// Cuts that view off again and gives it back this value and type. Returns false if the slot is another
  /// view by now, or none.
  bool cutAgain(const std::shared_ptr<const View> &view, Ref value, const Spec *&spec) noexcept;
  /// Whether operations on the slot record a gradient.
  bool needsGrad() { return requiresGrad || value().requiresGrad(); }
  /// The same without computing anything. Of a view it says only whether the view itself is a leaf.
  bool hasHistory() const { return requiresGrad || (!view_ && value_.requiresGrad()); }

  /// The counter of a generator: it lies where the generator drew last, and no guard compares its device.
  bool followsDraws = false;
  bool requiresGrad = false;   ///< the program wants its gradient: it is a leaf
  bool isParametrized = false; ///< each call of its module computes it: it has no value of its own
  /// The function that copied elements which its counterpart in PyTorch shares: a write would not reach them.
  const char *copiedBy = nullptr;
  bool optimized = false;              ///< an optimiser has or had it
  std::weak_ptr<const void> optimizer; ///< the last optimiser that was given it
  uint32_t unseenGrads = 0; ///< how often `backward` reached it since the program last read its gradient
  std::shared_ptr<Slot> grad;
  std::shared_ptr<GradAccumulator>
      retained; ///< of `retain_grad`: collects the gradient of one value; null if none is kept
  std::weak_ptr<GradAccumulator>
      gradOf;            ///< set if `backward` made this slot as the gradient of a slot that had none
  uint32_t bindings = 0; ///< how many bindings of variants of compiled functions hold it
  std::string name;
  /// The trace that made it, if any.
  TraceMark trace;
  Loc loc;

private:
  friend struct SlotSets;
  /// Makes the node of a leaf's value collect the gradient.
  void collectGradient(const Ref &value);
  /// This type, as one that is kept as long as the slot.
  const Spec *kept(const Spec &spec);
  /// Replaces the value of a slot that is no view, and nothing else.
  void hold(Ref value) noexcept;
  void link(std::shared_ptr<const View> view) noexcept;
  void unlink() noexcept;
  Ref value_; ///< null in a view whose base was written since
  const Spec *spec_ = &firstSpec_;
  Spec firstSpec_;
  bool hasSpec_ = false;                         ///< it had a value
  std::forward_list<Spec> otherSpecs_;           ///< of the values of other types that it had since
  std::vector<Ref> before_;                      ///< earlier values that an undo may restore, oldest first
  std::shared_ptr<GradAccumulator> accumulator_; ///< made when it first requires a gradient
  std::shared_ptr<const View> view_;
  SlotList views_{&Slot::viewLink_}; ///< the views of this slot; each keeps it alive
  std::vector<uint64_t> sides_;      ///< that are open
  /// The values of a view for the sides of its base that do not have the base at present.
  std::vector<std::pair<uint64_t, Ref>> shelf_;
  SlotLink viewLink_, pendingLink_, revocableLink_;
};

/// Slots whose value is recorded but not computed.
std::vector<std::shared_ptr<Slot>> pendingSlots();
/// Slots whose value is computed or queued, may still fail, and can be undone.
std::vector<std::shared_ptr<Slot>> uncertainSlots();
/// Drops the operations that computed the values of slots, unless a gradient needs them.
void settleSlots();
/// Drops the earlier values of slots whose present value can no longer fail.
void forgetCertain();
/// How many slots `pendingSlots` has.
size_t pendingCount();

/// How the public interface reaches the slots of its tensors.
struct Access {
  static const std::shared_ptr<Slot> &slot(const Tensor &tensor) { return tensor.slot_; }
  static Tensor make(std::shared_ptr<Slot> slot) {
    Tensor tensor;
    tensor.slot_ = weft::detail::SlotPointer(std::move(slot));
    return tensor;
  }
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_SLOT_H
