//===- Graph.h - The recorded program ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations become nodes; a node's results are computed at most once and kept. The graph knows nothing of
// MLIR: `Emit.h` turns a part of it into a function. One lock (`graphMutex`) guards all of it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_GRAPH_H
#define WEFT_FRONTEND_GRAPH_GRAPH_H

#include "runtime/Buffer.h"
#include "weft/autograd.hpp"
#include "weft/tensor.hpp"

#include <array>
#include <mutex>
#include <string_view>
#include <variant>

namespace weft::frontend {

struct Node;
struct View;
class Trace;

/// What is known of a value before it is computed.
struct Spec {
  DType dtype = DType::f32;
  Shape shape;
  Device device;

  int64_t count() const;
  /// Bytes in memory as text: an expression where the shape is dynamic.
  std::string bytesText() const;
  size_t bytes() const { return static_cast<size_t>(count()) * itemsize(dtype); }
  /// "tensor<4x8xf32, cpu>".
  std::string str() const;
  friend bool operator==(const Spec &, const Spec &) = default;
};

/// One result of a node.
struct Ref {
  std::shared_ptr<Node> node;
  uint32_t result = 0;

  explicit operator bool() const { return node != nullptr; }
  const Spec &spec() const;
  /// Null until the value is computed.
  std::shared_ptr<runtime::Buffer> &buffer() const;
  bool requiresGrad() const;
  friend bool operator==(const Ref &, const Ref &) = default;
};

/// Which trace something was made in, if any. A number of its own, since the next trace may well lie where
/// the last one did.
class TraceMark {
public:
  TraceMark() = default;
  TraceMark(const Trace *trace);
  explicit operator bool() const { return number_ != 0; }
  friend bool operator==(const TraceMark &, const TraceMark &) = default;

private:
  uint64_t number_ = 0;
};

/// An attribute of an operation. A string is the keyword of an enumeration.
using AttrValue = std::variant<int64_t, double, bool, std::vector<int64_t>, std::string, DType, Device>;
struct Attr {
  const char *name;
  AttrValue value;
  friend bool operator==(const Attr &a, const Attr &b) {
    return std::string_view(a.name) == b.name && a.value == b.value;
  }
};

enum class NodeKind : uint8_t {
  op,       ///< `weft.<name>`
  leaf,     ///< a value that is there, in the buffer of its result
  number,   ///< a number of the user: a run-time scalar when lazy, a constant in a trace
  constant, ///< a splat of `number`
  input,    ///< in a trace: an argument, or the value that a slot had before
};

/// Where the gradients of a slot are collected. The nodes of its values keep it: that a gradient flows to one
/// is settled when it is used, and stays so when the slot is gone or requires a gradient no more.
struct GradAccumulator {
  std::weak_ptr<Slot> slot;
  std::weak_ptr<Slot> grad; ///< of a slot that is gone: the gradient that it had

  /// The gradient that is there, or null.
  std::shared_ptr<Slot> gradient() const;
  /// Whether anybody could see what is added.
  bool isSeen() const;
};

/// What a node gives.
struct NodeResult {
  Spec spec;
  std::shared_ptr<runtime::Buffer> buffer; ///< null until it is computed
  uint32_t liveSlots = 0;                  ///< how many slots hold it
};

struct Node {
  NodeKind kind = NodeKind::op;
  const char *name = ""; ///< mnemonic of an op, without the dialect
  uint64_t serial = 0;   ///< rises with every node: an operand's is smaller than its user's
  std::vector<Ref> operands;
  std::vector<Attr> attrs;
  std::vector<NodeResult> results;
  double number = 0;
  std::array<std::byte, 8> numberBytes{};
  bool requiresGrad = false; ///< a gradient flows back through it to its operands
  bool needsCuda = false;    ///< it, or something that it is computed from, is on a CUDA device
  bool fallible = false;     ///< it, or something that it is computed from and that is not certain, may fail
  bool failed =
      false; ///< it failed, or what it is computed from did; since that does not change, it will again
  mutable bool failureSeen = false; ///< the program was told that computing it fails
  bool followsCall = false;         ///< it follows from what a call on a queue had yet to give
  bool isComputedAlone =
      false;           ///< a flush with others failed, and not on data: only who needs it computes it
  uint32_t thread = 0; ///< that recorded it
  TraceMark trace;
  std::weak_ptr<Node> source; ///< of a leaf that took the place of a computed node: that one
  /// Per result, or empty: where the gradient that flows to it is collected; null for most.
  std::vector<std::shared_ptr<GradAccumulator>> accumulators;
  Loc loc;

  ~Node();
  bool computed(uint32_t result) const { return results[result].buffer != nullptr; }
  /// Of a value that a leaf of gradients held, or holds; null for every other.
  GradAccumulator *accumulator(uint32_t result) const {
    return accumulators.empty() ? nullptr : accumulators[result].get();
  }
  /// The slot whose gradient collects what flows to this result; null for most, and where it is gone.
  std::shared_ptr<Slot> leafSlot(uint32_t result) const {
    const GradAccumulator *found = accumulator(result);
    return found ? found->slot.lock() : nullptr;
  }
  /// Forgets how the value, which is there, was computed.
  void becomeLeaf();
};

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
  /// Whether the slot went back to the last value that `isLost` does not hold for.
  template <typename Predicate> bool undoWrites(Predicate isLost);
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

/// The one lock of everything recorded. Recursive: tracing calls user code that calls the interface again.
std::recursive_mutex &graphMutex();
using GraphLock = std::lock_guard<std::recursive_mutex>;

/// \name Building
/// @{
/// Records `weft.<name>`; the result types follow from the op's own definition. Throws Error where the op's
/// verifier refuses, with the source lines of the operation and of its operands.
std::shared_ptr<Node> record(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs, Loc loc);
/// The same where the result type does not follow from the operands (`iota`).
Ref recordTyped(const char *name, std::vector<Attr> attrs, Spec result, Loc loc);
Ref record1(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs, Loc loc);
/// A splat known when the program is compiled.
Ref constant(Spec spec, double value, Loc loc);
/// A 0-dimensional number of the user.
Ref number(DType dtype, Device device, double real, int64_t whole, Loc loc);
/// The number of an operand, as the dtype has it: towards zero, and the smallest i64 where none is near.
Ref number(DType dtype, Device device, const Arg &value, Loc loc);
/// A real number without its fraction; the smallest i64 for NaN and what is out of range.
int64_t truncated(double number);
Ref leaf(Spec spec, std::shared_ptr<runtime::Buffer> buffer, Loc loc);
/// The same value as a node of its own.
Ref sameValue(Ref value, Loc loc);
/// The same value, through which no gradient flows.
Ref withoutHistory(Ref value, Loc loc);
/// The same value for a tensor that held `before` and is written while gradients are off: as in PyTorch its
/// gradient still flows to what `before` was computed from, as if it were that value. An element of `before`
/// that is not finite passes none. A leaf has no history.
Ref keepHistory(const Ref &before, Ref value, Loc loc);
uint64_t nextSerial();
/// @}

/// Whether operations on this thread record gradients.
bool &gradEnabled();

/// While one lives, operations on this thread record gradients, or do not.
class GradMode {
public:
  explicit GradMode(bool enabled) : previous_(gradEnabled()) { gradEnabled() = enabled; }
  ~GradMode() { gradEnabled() = previous_; }
  GradMode(const GradMode &) = delete;
  GradMode &operator=(const GradMode &) = delete;

private:
  bool previous_;
};

/// Slots whose value is recorded but not computed.
std::vector<std::shared_ptr<Slot>> pendingSlots();
/// And those whose value is computed and may turn out to be an error, where there is something to go back to.
std::vector<std::shared_ptr<Slot>> uncertainSlots();
/// Lets slots whose value was computed forget how, unless a gradient needs that.
void settleSlots();
/// Lets slots whose value is certain by now forget what they held before.
void forgetCertain();
/// Undoes what writes made of a value that cannot be computed: every slot that holds what follows from it
/// goes back to what it held before, and a gradient that was none is none again. A tensor that never held
/// anything else stays without a value.
void undoWritesOf(const Node &failed);
/// The same for the results of calls on queues that failed, as far as the program was told.
void undoLostWrites();
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

/// The value of a tensor at this point of the program; in a trace a slot from outside becomes a hidden input.
/// Throws Error on an undefined tensor, and on one that was made in a trace that is over.
Ref use(const Tensor &tensor, Loc loc);
[[noreturn]] void failUndefined(Loc loc);
/// The program asked this slot for its gradient, and there is none: what it got is undefined, and an error
/// that follows from that can say so.
void noteMissingGrad(const std::shared_ptr<Slot> &slot, Loc loc);
/// The same of a slot.
Ref useSlot(const std::shared_ptr<Slot> &slot, Loc loc);
/// A tensor with a slot of its own.
Tensor wrap(Ref value, Loc loc);
/// Writes a slot, which then belongs to the trace under way, if any, until that ends. What a view is given
/// goes to its place in the base.
void assign(const std::shared_ptr<Slot> &slot, Ref value);

/// "file.cpp:12:3".
std::string str(const Loc &loc);
/// How messages call a tensor: "'fc1.weight'", or "the tensor made at file.cpp:3:5".
std::string nameOf(const Slot &slot);
/// Throws Error: the message, then the source lines of the operation and of its operands.
[[noreturn]] void fail(const std::string &message, Loc loc, const std::vector<Ref> &operands = {},
                       const std::string &code = {});
/// The same of a failure, of which nothing is lost. Its line is `loc` where it has none.
[[noreturn]] void fail(const Status &status, Loc loc, const std::vector<Ref> &operands = {});

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_GRAPH_H
