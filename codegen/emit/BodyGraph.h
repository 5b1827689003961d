//===- BodyGraph.h - What one element of a fusion depends on ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of a fusion's body at given indices, as a graph. A node is one tensor value at one index, and is
// computed once however often it is used. Views (broadcasts, slices, reshapes, transpositions, ..) are no
// nodes: they map an index to another one. Operands that cannot be read as a vector are read lane by lane, at
// the leaves only.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_BODYGRAPH_H
#define WEFT_CODEGEN_EMIT_BODYGRAPH_H

#include "codegen/emit/IndexExpr.h"
#include "ir/Dialect.h"
#include "weft/status.hpp"

namespace weft::codegen {

struct BodyNode {
  enum Kind {
    load,         ///< operand `argument` at linear index `expr`
    elementwise,  ///< `op` on `deps`
    constant,     ///< the splat `value`
    zero,         ///< of the type of `value`; `deps` are computed for their checks
    iota,         ///< `expr`, also of a `weft.dim`
    philox,       ///< random bits of element `expr`; deps are key and counter
    philoxNext,   ///< the counter afterwards
    padded,       ///< deps[0] where `bounds` hold, else deps[1] if `otherwise`, else zero
    checkedIndex, ///< deps[0], an element of the index tensor of `op`, as an index in range
    windowStart,  ///< deps[0], the start of the window of `op`, clamped to [0, limit], which is a size
    reduction,    ///< the result of the reduction or scan `op`, which the schedule provides
    lanes,        ///< one of `deps` per lane
  } kind = load;
  mlir::Operation *op = nullptr;
  mlir::Value value;
  llvm::SmallVector<int, 4> deps;
  IndexExpr expr;
  unsigned argument = 0; ///< load: of the fusion; padded, windowStart: of `op`
  ir::Size limit = 0;
  int other = -1;         ///< padded: the node to use where `bounds` do not hold, if there is one
  bool otherwise = false; ///< padded: whether there is such a node
  /// padded: `expr` must lie in [0, extent * stride) and be a multiple of stride. If it is not affine in the
  /// lane, `perLane` has the expression of each lane.
  struct Bound {
    IndexExpr expr;
    ir::Size extent = 0;
    int64_t stride = 1;
    llvm::SmallVector<IndexExpr, 0> perLane;
  };
  llvm::SmallVector<Bound, 1> bounds;
  TensorIndex index;   ///< checkedIndex: in the index tensor; padded: in the operand
  bool vector = false; ///< lanes differ; known after `expand`
};

class BodyGraph {
public:
  /// `keptIndex`: the linear index at which reductions and scans may be read.
  BodyGraph(ir::FusionOp fusion, IndexSpace &space, IndexExpr keptIndex = {})
      : fusion(fusion), space(space), keptIndex(std::move(keptIndex)) {}

  void setKeptIndex(IndexExpr index) { keptIndex = std::move(index); }

  /// The node of `value` at `index`.
  int request(mlir::Value value, TensorIndex index);
  /// The checked element of the index tensor of a gather or an update.
  int chosenIndex(mlir::Operation *op, TensorIndex index);
  /// The index in a tensor of shape `from` of an element of a window, whose starts are the operands of `op`
  /// from number `firstStart` on.
  TensorIndex windowIndex(mlir::Operation *op, llvm::ArrayRef<ir::Size> from, llvm::ArrayRef<ir::Size> window,
                          unsigned firstStart, const TensorIndex &index);
  /// Follows all requests down to their leaves. To be called before the fields of nodes are read.
  Status expand();

  const BodyNode &node(int id) const { return nodes[id]; }
  /// The nodes that compute a value, whatever index each has.
  llvm::SmallVector<int> nodesOf(mlir::Value value) const;
  size_t size() const { return nodes.size(); }
  /// The nodes that `roots` depend on, and themselves, dependencies first.
  std::vector<int> ordered(llvm::ArrayRef<int> roots) const;
  /// Whether some values are selected by bounds; these are read whether they are selected or not.
  bool hasBounds() const {
    return llvm::any_of(nodes, [](const BodyNode &node) { return !node.bounds.empty(); });
  }
  /// How many reads that `roots` need are lane by lane.
  int64_t countLaneReads(llvm::ArrayRef<int> roots) const;
  /// How many divisions that `roots` need depend on `var`.
  int64_t countDivisions(llvm::ArrayRef<int> roots, VarId var) const;

  ir::FusionOp fusion;
  IndexSpace &space;

private:
  int intern(BodyNode node, std::vector<int64_t> key);
  int leaf(BodyNode node);
  int requestAt(mlir::Value value, int indexId);
  IndexExpr atLane(const IndexExpr &e, int64_t lane);
  TensorIndex atLane(const TensorIndex &index, int64_t lane);
  /// Maps `index` in the result of a view to the index in its operand; false for other ops.
  bool mapView(mlir::Operation *op, const TensorIndex &index, TensorIndex &mapped);
  /// The same for the table of a gather; returns a node instead if the element is not read at a single index.
  std::optional<int> mapGather(ir::GatherOp gather, const TensorIndex &index, TensorIndex &mapped);
  /// The node of a value that is neither an argument nor a view.
  int requestComputed(mlir::Operation *op, mlir::Value value, const TensorIndex &index);
  int requestPad(ir::PadOp op, const TensorIndex &index);
  bool mapConcat(ir::ConcatOp op, const TensorIndex &index, mlir::Value &part, TensorIndex &mapped);
  int requestConcat(ir::ConcatOp op, const TensorIndex &index);
  void splitLanes(BodyNode::Bound &bound);
  int internIndex(const TensorIndex &index);
  void expandNode(int id);
  void addExprDeps(const IndexExpr &e, llvm::SmallVectorImpl<int> &deps) const;

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
