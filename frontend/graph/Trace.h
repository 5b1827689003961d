//===- Trace.h - Records a function -----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_TRACE_H
#define WEFT_FRONTEND_GRAPH_TRACE_H

#include "frontend/graph/Graph.h"
#include "weft/compile.hpp"
#include "weft/dim.hpp"

#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace weft::frontend {

/// A slot that a trace reads or writes and that is older than the trace, or stands for an argument.
struct TouchedSlot {
  std::shared_ptr<Slot> slot;
  Ref input; ///< the node that stands for that value in the trace; null for a view, whose base is touched too
  std::shared_ptr<Slot> gradBefore; ///< its gradient before the trace, or null
  int argument = -1; ///< the argument of the call that it, or the slot whose gradient it is, stands for
  std::shared_ptr<Slot> gradientOf; ///< the slot whose gradient it is, or null
  bool gradSeen = false;            ///< the function depends on its gradient, or on whether it has one
  bool gradDropped = false;         ///< the function set its gradient before it depended on it
  bool isWatched = false;           ///< it is a view whose gradient is watched outside (`WatchedView.h`)
  Ref watched = {}; ///< of such a view, if it was read before its base was written: what stands for its value
  /// Of a view that retains its gradient: the value with which the trace read it last, after a write.
  Ref reread = {};
  bool isReread = false; ///< the view had that value at the end
};

/// The training mode of a module, in a trace.
struct ModeChange {
  std::shared_ptr<bool> flag;
  bool before = true;
  bool read = false;         ///< it was read before it was written: its value is part of the signature
  std::optional<bool> after; ///< the mode that the function, and thus every call, sets
  bool isChanged = false;    ///< another thread changed it after it was read
};

/// State that a trace makes for the rest of the program, such as that of an optimiser. Until the trace is
/// kept, only its thread sees it. All functions are called with the graph's lock held.
class TraceDraft {
public:
  TraceDraft() = default;
  virtual ~TraceDraft() = default;
  TraceDraft(const TraceDraft &) = delete;
  TraceDraft &operator=(const TraceDraft &) = delete;
  /// Exchanges what the trace sees for what the rest of the program sees, or the other way around.
  virtual void exchange() noexcept = 0;
  /// \name Called while the rest's side is in place
  /// @{
  /// Whether another thread changed what the draft was made from, so that it cannot be published.
  virtual bool isOutdated() const = 0;
  /// Whatever may fail of `publish`, and changes nothing that others see.
  virtual void prepare() = 0;
  /// Makes it state of the program.
  virtual void publish() noexcept = 0;
  /// @}
};

/// Records one run of the user's function: until `finish`, it receives the operations of its thread. A trace
/// is a transaction: the slots that it writes keep their values for the rest of the program, and state that
/// it makes is seen by nobody else before `keep` is called, and never if it is not.
///
/// A trace does not depend on the values of slots, since each call reads them anew, but on their types, on
/// which of them require or have gradients, and on modes. If another thread changes one of these before the
/// end, the trace is outdated.
class Trace final : public TraceScope {
public:
  /// `body`: of a loop, or a branch, in which what is older stands for itself (`capture`).
  enum class Kind : uint8_t { function, body };
  explicit Trace(Kind kind = Kind::function);
  ~Trace() override;
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  /// The innermost trace of this thread, or null.
  static Trace *current() { return static_cast<Trace *>(TraceScope::current()); }

  /// A tensor that stands for an argument of the call. It has the type of the caller's tensor, or the
  /// declared one, and requires a gradient if that does.
  Tensor addArgument(int number, const std::shared_ptr<Slot> &caller, Loc loc,
                     const Spec *declared = nullptr);
  /// \name In the trace of the body of a loop
  /// @{
  bool isBody() const { return kind_ == Kind::body; }
  /// A tensor that stands for a value of each trip.
  Tensor addInput(const Spec &spec, Loc loc);
  /// What stands for the value of a slot from outside, which every trip reads.
  struct Capture {
    std::shared_ptr<Slot> slot;
    Ref input;
  };
  Ref capture(const std::shared_ptr<Slot> &slot);
  const std::vector<Capture> &captures() const { return captures_; }
  /// What a body asks of gradients that its derivative, which is made of its operations, does not know; or
  /// what a function asks of the gradient of an argument.
  struct UnknownRule {
    std::string what; ///< "register_hook() is called"
    const char *remedy;
    Loc loc;
    /// The values from which gradients get to the rule, and those to which they go on by it.
    std::vector<Ref> above, below;
  };
  void noteUnknownRule(UnknownRule rule) { unknownRules_.push_back(std::move(rule)); }
  const std::vector<UnknownRule> &unknownRules() const { return unknownRules_; }
  /// Whether another thread changed what was captured. For a trace that is finished.
  bool isCaptureOutdated() const;
  /// @}
  /// The symbols of declared types.
  std::vector<Dim> symbols;
  /// The compiled function that is traced, and its numerics.
  std::string function;
  Numerics numerics = Numerics::eager;
  /// Adds a slot from outside to the trace. The caller holds the graph's lock, as for all that follows.
  TouchedSlot &touch(const std::shared_ptr<Slot> &slot) { return touch(slot, {}); }
  /// The same for a slot that follows draws: unless it is in the trace already, it is on `device` there, and
  /// each call moves it there.
  TouchedSlot &touchOn(const std::shared_ptr<Slot> &slot, const Device &device) {
    return touch(slot, device);
  }
  /// Called when a slot from outside that retains its gradient has another value in the trace.
  void noteReread(Slot &slot);
  /// Notes that the function depends on the gradient of this slot, or on whether it has one. That is part of
  /// the signature, unless the function set the gradient before.
  void seeGrad(const std::shared_ptr<Slot> &slot);
  /// Notes that the function sets the gradient of this slot, whatever it was.
  void dropGrad(const std::shared_ptr<Slot> &slot);
  void readMode(const std::shared_ptr<bool> &flag);
  void writeMode(const std::shared_ptr<bool> &flag, bool value);
  /// Adds an operation that has an effect, such as printing. Calls run effects in the order of the trace.
  void addEffect(Ref effect) { effects_.push_back(std::move(effect)); }
  const std::vector<Ref> &effects() const { return effects_; }
  /// The draft of this owner's state; null if there is none yet.
  TraceDraft *draftOf(const void *owner) const;
  void addDraft(const void *owner, std::unique_ptr<TraceDraft> draft) {
    drafts_.emplace_back(owner, std::move(draft));
  }
  /// Called when the trace is finished and compiled: publishes its drafts. Returns false if another thread
  /// changed what one was made from: then none is, and the trace was in vain.
  bool keep();
  /// Notes that a gradient without a graph of its own went through an operation. That uses its history up, as
  /// PyTorch frees it.
  void noteSpent(const Node &node, bool byBackward) { spent_[node.serial] |= byBackward; }
  /// Notes that a gradient that keeps its graph went through an operation.
  void notePassed(const Node &node) { passed_.insert(node.serial); }
  bool isPassed(const Node &node) const { return passed_.contains(node.serial); }
  bool isSpent(const Node &node) const { return spent_.contains(node.serial); }
  /// Whether one of those gradients was that of a `backward()`.
  bool isSpentByBackward(const Node &node) const {
    const auto found = spent_.find(node.serial);
    return found != spent_.end() && found->second;
  }
  /// Something beside tensors and modes that the function depends on, as the hooks of a tensor.
  struct Guard {
    std::shared_ptr<const bool> unchanged; ///< false when it has changed, and the function is traced again
    const char *change;                    ///< what has happened then
  };
  void guard(std::shared_ptr<const bool> unchanged, const char *change);
  const std::vector<Guard> &guards() const { return guards_; }

  /// A touched slot, and what the trace left in it. `finish` ends recording, restores every slot and returns
  /// these.
  struct Change {
    TouchedSlot touched;
    Ref after;                       ///< the value that the trace left; null for a view
    std::shared_ptr<Slot> gradAfter; ///< the gradient that the trace left, null for none
    Ref gradValue;                   ///< the value of that gradient, if the trace made it
  };
  std::vector<Change> finish();
  /// A slot from outside that requires a gradient in the trace, and none outside, or the other way round;
  /// null if there is none. A call could not repeat that.
  const Slot *changedFlag() const;
  /// Whether the trace touched a slot from outside directly, and not through the tensor of an argument.
  bool touched(const Slot &slot) const { return index_.contains(&slot); }
  /// Whether another thread changed something that the trace depends on.
  bool isOutdated() const;
  /// How many calls of each compiled function are under way inside of the trace.
  std::unordered_map<const void *, int> depths;
  const std::vector<ModeChange> &modes() const { return modes_; }
  /// Whether state for the rest of the program was made.
  bool madeState() const { return !drafts_.empty(); }

private:
  TouchedSlot &touch(const std::shared_ptr<Slot> &slot, const std::optional<Device> &device);
  /// What of a slot the trace depends on.
  struct Guards {
    const Spec *spec; ///< of the slot, which has each type once
    bool requiresGrad, needsGrad, hasGrad;
    std::shared_ptr<const View> view;
  };
  /// The other side of a touched slot.
  struct Hidden {
    /// While the trace is installed, what the slot is for the rest of the program; otherwise, for the trace.
    SlotState state;
    std::shared_ptr<Slot> guarded; ///< the slot itself, or that which an argument stands for
    Guards guards;                 ///< when the trace was last withdrawn
    bool isChanged =
        false; ///< another thread changed its type, how it is a view, or whether it requires a gradient
    bool isGradChanged = false; ///< another thread removed its gradient, or gave it one
  };
  /// A view from outside that is none in the trace, because the type of its base changed there.
  struct CutView {
    std::shared_ptr<Slot> slot;
    std::shared_ptr<const View> view;
    Ref value;        ///< while the trace is withdrawn: the value in it
    const Spec *spec; ///< the type in the trace while it is withdrawn, otherwise that of the view
    size_t touched;   ///< how many slots were touched before
    bool isCut = true;
  };
  static Guards guardsOf(const Slot &slot) noexcept;
  bool noteCut(Slot &view) override;
  void install() noexcept override;
  void withdraw() noexcept override;
  void exchange(size_t index) noexcept;
  void cutAgain(CutView &cut) noexcept;
  void rejoin(CutView &cut) noexcept;
  /// Gives a view that was just touched the hooks and retained gradients that lie between it and its source.
  void watch(size_t index);
  /// Changes nothing if it throws.
  void add(TouchedSlot touched, std::shared_ptr<Slot> guarded, SlotState state = {});
  void restore() noexcept;
  /// The entry of a slot; a slot from outside gets one. Null for a slot that the trace made.
  TouchedSlot *known(const std::shared_ptr<Slot> &slot);
  ModeChange &mode(const std::shared_ptr<bool> &flag);
  const Kind kind_;
  std::vector<Capture> captures_;
  std::vector<UnknownRule> unknownRules_;
  bool active_ = true;
  std::unordered_map<uint64_t, bool> spent_;     ///< by the serial number of the operation: by `backward()`
  std::unordered_set<uint64_t> passed_;          ///< the same, for others
  std::vector<Guard> guards_;                    ///< each once
  std::unordered_set<const bool *> knownGuards_; ///< the same, to find one
  std::vector<Ref> effects_;
  std::vector<TouchedSlot> touched_;
  std::vector<Hidden> hidden_; ///< of each touched slot
  std::vector<CutView> cuts_;
  std::unordered_map<const Slot *, size_t> index_;
  std::vector<std::pair<Ref, Ref>> watchedValues_; ///< of views outside, each with its copy
  std::vector<ModeChange> modes_;
  std::vector<std::pair<const void *, std::unique_ptr<TraceDraft>>> drafts_; ///< with their owners
  bool isDraftOutdated_ = false;
};

/// Throws Error inside a traced function, where `what` would happen only once, when the function is compiled.
void refuseInTrace(const std::string &what, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_TRACE_H
