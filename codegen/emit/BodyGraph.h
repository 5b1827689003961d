//===- BodyGraph.h - What one element of a fusion depends on ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of a fusion's body at given indices, as a graph: a node is one tensor value at one index,
// computed once however often it is used. Views (broadcasts, slices, reshapes, transpositions, ..) are no
// nodes: they map an index to another. What cannot be read as a vector is read lane by lane, at the leaves
// only.
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
    padded,       ///< deps[0] where `bounds` hold, else zero
    checkedIndex, ///< deps[0], an element of the index tensor of the gather `op`, as an index in range
    reduction,    ///< the result of `op`, which the schedule provides
    lanes,        ///< one of `deps` per lane
  } kind = load;
  mlir::Operation *op = nullptr;
  mlir::Value value;
  llvm::SmallVector<int, 4> deps;
  IndexExpr expr;
  unsigned argument = 0;
  /// padded: `expr` must lie in [0, extent * stride) and be a multiple of stride; where lanes differ in no
  /// affine way, `perLane` has the expression of each lane.
  struct Bound {
    IndexExpr expr;
    int64_t extent = 0, stride = 1;
    llvm::SmallVector<IndexExpr, 0> perLane;
  };
  llvm::SmallVector<Bound, 1> bounds;
  TensorIndex index;   ///< checkedIndex: of the index tensor; padded: of the operand
  bool vector = false; ///< lanes differ; known after `expand`
};

class BodyGraph {
public:
  /// `keptIndex`: the linear index at which reductions may be read.
  BodyGraph(ir::FusionOp fusion, IndexSpace &space, IndexExpr keptIndex = {})
      : fusion(fusion), space(space), keptIndex(std::move(keptIndex)) {}

  void setKeptIndex(IndexExpr index) { keptIndex = std::move(index); }

  /// The node of `value` at `index`.
  int request(mlir::Value value, TensorIndex index);
  /// Follows all requests down to their leaves. To be called before the fields of nodes are read.
  Status expand();

  const BodyNode &node(int id) const { return nodes[id]; }
  size_t size() const { return nodes.size(); }
  /// The nodes that `roots` depend on, and themselves, dependencies first.
  std::vector<int> ordered(llvm::ArrayRef<int> roots) const;
  /// How many reads, among what `roots` need, go lane by lane.
  int64_t countLaneReads(llvm::ArrayRef<int> roots) const;
  /// How many divisions, among what `roots` need, change with `var`.
  int64_t countDivisions(llvm::ArrayRef<int> roots, VarId var) const;

  ir::FusionOp fusion;
  IndexSpace &space;

private:
  int intern(BodyNode node, std::vector<int64_t> key);
  int leaf(BodyNode node);
  int requestAt(mlir::Value value, int indexId);
  int gatherIndex(ir::GatherOp op, TensorIndex index);
  IndexExpr atLane(const IndexExpr &e, int64_t lane);
  TensorIndex atLane(const TensorIndex &index, int64_t lane);
  bool mapView(mlir::Operation *op, const TensorIndex &index, TensorIndex &mapped);
  int requestPad(ir::PadOp op, const TensorIndex &index);
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
