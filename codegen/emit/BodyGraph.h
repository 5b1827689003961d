//===- BodyGraph.h - Values of a fusion's body at indices -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of the values of a fusion's body at given indices. A node is one tensor value at one index. It is
// computed once, however often it is used. Views (broadcasts, slices, reshapes, transpositions, ..) have no
// nodes; they map an index of the result to an index of the operand. An operand that cannot be loaded as a
// vector is loaded lane by lane. Only leaves are split into lanes, and not the arithmetic that uses them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_BODYGRAPH_H
#define WEFT_CODEGEN_EMIT_BODYGRAPH_H

#include "codegen/emit/IndexExpr.h"
#include "ir/Dialect.h"
#include "weft/status.hpp"

namespace weft::codegen {

/// The largest distance of neighbouring lanes in memory at which a load reads whole vectors, of which it
/// keeps some elements.
inline constexpr int64_t maxLaneStride = 4;

/// Whether the schedule is a CPU's, whose vectors are registers.
bool mayCrossLanes(ir::FusionOp fusion);

struct BodyNode {
  enum Kind {
    load,         ///< operand `argument` at linear index `expr`
    elementwise,  ///< `op` on `deps`
    constant,     ///< the splat of the `weft.constant` `op`
    zero,         ///< a zero of the type of `value`; `deps` are computed because they check indices
    iota,         ///< the number `expr`, of a `weft.iota` or a `weft.dim`
    philox,       ///< random bits of element `expr`; deps are key and counter
    philoxNext,   ///< the counter after the op's random bits
    padded,       ///< deps[0] where `bounds` hold, else deps[1] if `otherwise`, else zero
    checkedIndex, ///< deps[0], an element of the index tensor of `op`, as an index in range
    windowStart,  ///< deps[0], a start of the window of `op`, clamped to [0, limit]
    reduction,    ///< the result of the reduction or scan `op`, which the schedule provides
    lanes,        ///< a vector with one of `deps` in each lane
  } kind = load;
  mlir::Operation *op = nullptr;
  mlir::Value value;
  llvm::SmallVector<int, 4> deps;
  IndexExpr expr;
  unsigned argument = 0;  ///< load: number of an operand of the fusion; padded, windowStart: of `op`
  ir::Size limit = 0;     ///< windowStart: the largest start
  int other = -1;         ///< padded: the node for elements outside of `bounds`, if it exists already
  bool otherwise = false; ///< padded: whether elements outside of `bounds` have a node, or are zero
  /// padded: holds if `expr` is one of the `extent` multiples of `stride` from 0 on. If `expr` is not affine
  /// in the lane, `perLane` has the expression of each lane. load: only lanes where it holds are read from
  /// memory; the value is of no meaning in the others.
  struct Bound {
    IndexExpr expr;
    ir::Size extent = 0;
    int64_t stride = 1;
    llvm::SmallVector<IndexExpr, 0> perLane;
  };
  llvm::SmallVector<Bound, 1> bounds;
  TensorIndex index;   ///< checkedIndex: in the index tensor; padded: in the operand
  bool vector = false; ///< whether the value differs between lanes; set by `expand`
};

class BodyGraph {
public:
  /// `keptIndex`: the linear index at which reductions and scans may be read.
  BodyGraph(ir::FusionOp fusion, IndexSpace &space, IndexExpr keptIndex = {})
      : fusion(fusion), space(space), crosses(mayCrossLanes(fusion)), keptIndex(std::move(keptIndex)) {}

  void setKeptIndex(IndexExpr index) { keptIndex = std::move(index); }

  /// The node of `value` at `index`.
  int request(mlir::Value value, TensorIndex index);
  /// The checked element of the index tensor of a gather or an update.
  int chosenIndex(mlir::Operation *op, TensorIndex index);
  /// Maps `index` in a window of shape `window` to the index in the tensor of shape `from`. The starts of the
  /// window are the operands of `op` from number `firstStart` on.
  TensorIndex windowIndex(mlir::Operation *op, llvm::ArrayRef<ir::Size> from, llvm::ArrayRef<ir::Size> window,
                          unsigned firstStart, const TensorIndex &index);
  /// Requests the dependencies of all nodes, down to the leaves, and sets `vector`. Call it before reading
  /// nodes. An error names the op that a kernel cannot contain.
  Status expand();

  const BodyNode &node(int id) const { return nodes[id]; }
  /// The nodes that compute a value, at any index.
  llvm::SmallVector<int> nodesOf(mlir::Value value) const;
  size_t size() const { return nodes.size(); }
  /// The nodes that `roots` depend on, and themselves, dependencies first.
  std::vector<int> ordered(llvm::ArrayRef<int> roots) const;
  /// Whether some values are selected by bounds. Such a value is read even if it is not selected.
  bool hasBounds() const {
    return llvm::any_of(nodes, [](const BodyNode &node) { return !node.bounds.empty(); });
  }
  /// Whether the lanes of a load that are not neighbours in memory are taken from several vectors, and a load
  /// may leave out lanes.
  bool crossesLanes() const { return crosses; }
  /// How many of the loads and bounds that `roots` need are computed lane by lane.
  int64_t countLaneReads(llvm::ArrayRef<int> roots) const;
  /// How many of the divisions that `roots` need depend on `var`.
  int64_t countDivisions(llvm::ArrayRef<int> roots, VarId var) const;

  ir::FusionOp fusion;
  IndexSpace &space;

private:
  /// The part of a node's key that identifies `value`.
  static int64_t keyOf(mlir::Value value) { return reinterpret_cast<int64_t>(value.getAsOpaquePointer()); }
  int intern(BodyNode node, std::vector<int64_t> key);
  int leaf(BodyNode node);
  /// The load of a clamped address without the clamp, where bounds say which lanes are read; nothing if that
  /// is not possible.
  std::optional<BodyNode> boundedLoad(const BodyNode &node) const;
  IndexExpr atLane(const IndexExpr &e, int64_t lane);
  TensorIndex atLane(const TensorIndex &index, int64_t lane);
  /// Maps `index` in the result of a view to the index in its operand; false for other ops.
  bool mapView(mlir::Operation *op, const TensorIndex &index, TensorIndex &mapped);
  /// The same for the table of a gather. Returns a node instead if the table's size in the indexed dimension
  /// is 0, or is 1 and the index is checked.
  std::optional<int> mapGather(ir::GatherOp gather, const TensorIndex &index, TensorIndex &mapped);
  /// The node of a value that is computed, which arguments and views are not.
  int requestComputed(mlir::Operation *op, mlir::Value value, const TensorIndex &index);
  int requestPad(ir::PadOp op, const TensorIndex &index);
  bool mapConcat(ir::ConcatOp op, const TensorIndex &index, mlir::Value &part, TensorIndex &mapped);
  int requestConcat(ir::ConcatOp op, const TensorIndex &index);
  void splitLanes(BodyNode::Bound &bound);
  int internIndex(const TensorIndex &index);
  void expandNode(int id);
  void addExprDeps(const IndexExpr &e, llvm::SmallVectorImpl<int> &deps) const;

  bool crosses;
  IndexExpr keptIndex;
  std::vector<BodyNode> nodes;
  std::vector<int> nodeIndex; ///< the index of an elementwise node
  std::vector<TensorIndex> indices;
  std::map<std::vector<int64_t>, int> indexIds, nodeIds;
  size_t expanded = 0;
  Status status;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_BODYGRAPH_H
