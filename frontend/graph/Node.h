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
#include <variant>

namespace weft::frontend {

struct Node;

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

/// Whether a value is recorded outside of a trace and not computed.
bool isPending(const Ref &value);
/// Whether a value may turn out to be an error: what data decides, or what a call on a queue is to give.
bool mayBeLost(const Ref &value);
/// Whether a value is, or follows from, what a call on a queue is to give.
bool followsCall(const Ref &value);
/// Whether it could not be computed when it was tried, or follows from what could not.
bool isKnownToFail(const Ref &value);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_NODE_H
