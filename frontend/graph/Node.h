//===- Node.h - Operations and their values ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_NODE_H
#define WEFT_FRONTEND_GRAPH_NODE_H

#include "frontend/graph/GradAccumulator.h"
#include "frontend/graph/Spec.h"
#include "frontend/graph/TraceScope.h"
#include "runtime/queue/Buffer.h"

#include <array>
#include <string_view>
#include <unordered_set>
#include <variant>

namespace weft::frontend {

struct GradWatch;
struct Node;

/// A reference to one result of a node.
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

struct RefHash {
  size_t operator()(const Ref &ref) const {
    return std::hash<const Node *>()(ref.node.get()) * 31 + ref.result;
  }
};
using RefSet = std::unordered_set<Ref, RefHash>;

/// An attribute of an operation. A string is the keyword of an enumeration, or text.
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
  leaf,     ///< a computed value, in the buffer of its result
  number,   ///< a number of the user: a run-time scalar when lazy, a constant in a trace
  constant, ///< a splat of `number`
  input,    ///< in a trace: an argument, or the value of a slot from before the trace
};

/// The type of a result, and its storage.
struct NodeResult {
  Spec spec;
  std::shared_ptr<runtime::Buffer> buffer; ///< null until it is computed
  uint32_t liveSlots = 0;                  ///< the number of slots that hold it
};

struct Node {
  NodeKind kind = NodeKind::op;
  const char *name = ""; ///< mnemonic of an op, without the dialect
  uint64_t serial = 0;   ///< increases with every node: an operand's is smaller than its user's
  std::vector<Ref> operands;
  std::vector<Attr> attrs;
  std::vector<NodeResult> results;
  double number = 0;
  std::array<std::byte, 8> numberBytes{};
  bool requiresGrad = false;   ///< a gradient flows back through it to its operands
  bool lacksDevice = false;    ///< it, or a value that it is computed from, is on a device without a backend
  bool fallible = false;       ///< it may fail, or it depends on an operation that may still fail
  bool statesResults = false;  ///< the types of its results do not follow from operands and attributes
  bool resultIsPinned = false; ///< a transfer to the host, whose result is made in pinned memory
  bool failed = false;         ///< it failed, or a value that it is computed from did: it would fail again
  mutable bool failureSeen = false; ///< the failure was reported to the program
  bool beginsAnew = false;      ///< reverse mode begins anew at it, with the gradient of its first operand
  bool followsCall = false;     ///< it depends on a result that a queued call had not computed yet
  bool isComputedAlone = false; ///< a flush of several values failed for another reason than data: this one
                                ///< is computed when it is read, and by itself
  uint32_t thread = 0;          ///< the thread that recorded it
  TraceMark trace;
  std::weak_ptr<Node> source; ///< of a leaf that replaced a computed node: that node
  /// The gradient accumulator of each result, null for results that no leaf held. Empty if there is none at
  /// all.
  std::vector<std::shared_ptr<GradAccumulator>> accumulators;
  /// What the program asked about the gradient of each result; empty if nothing of any.
  std::vector<std::shared_ptr<GradWatch>> watches;
  Loc loc;

  ~Node();
  bool computed(uint32_t result) const { return results[result].buffer != nullptr; }
  /// The accumulator of a result that a gradient leaf holds or held; null for every other result.
  GradAccumulator *accumulator(uint32_t result) const {
    return accumulators.empty() ? nullptr : accumulators[result].get();
  }
  /// Whether a gradient leaf holds or held this result.
  bool isGradLeaf(uint32_t result) const {
    const GradAccumulator *found = accumulator(result);
    return found && found->isLeaf();
  }
  const GradWatch *watch(uint32_t result) const { return watches.empty() ? nullptr : watches[result].get(); }
  /// The leaf that holds or held this result; null if there is none or it is gone.
  std::shared_ptr<Slot> leafSlot(uint32_t result) const {
    const GradAccumulator *found = accumulator(result);
    return found ? found->slot.lock() : nullptr;
  }
  /// Turns a computed node into a leaf: drops its operands and attributes.
  void becomeLeaf();
};

/// Whether a value is recorded outside of a trace and not computed.
bool isPending(const Ref &value);
/// Whether a value may still turn out to be an error, because an operation may fail on its data or a queued
/// call has not finished.
bool mayBeLost(const Ref &value);
/// Whether a value is, or depends on, the result of a queued call that has not finished.
bool followsCall(const Ref &value);
/// Whether computing the value, or a value that it depends on, was tried and failed.
bool isKnownToFail(const Ref &value);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_NODE_H
