//===- IndexExpr.h - Indices of elements as affine expressions -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel computes whole tensors element by element. Until it is used, the index of an element is symbolic:
// an affine expression over loop variables and the number of the vector lane. So a view only changes the
// expression, loop invariants can be recognised, and a load whose lane coefficient is 1 is a vector load. A
// quotient or remainder that is not affine becomes a variable; if a linear index contains both of a pair,
// they cancel.
//
// The index of a tensor has one linear expression for each group of consecutive dimensions. A group is split
// only if an op needs one of its dimensions alone.
//
// Coefficients, constants and extents are sizes: if a tensor has dynamic dimensions, they are expressions
// over the symbols of the function, and the kernel computes them from its size arguments.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_INDEXEXPR_H
#define WEFT_CODEGEN_EMIT_INDEXEXPR_H

#include "ir/Size.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <vector>

namespace weft::codegen {

using VarId = int32_t;

/// constant + lane * (number of the lane) + the sum of coefficient * variable. Terms are ordered by variable.
struct IndexExpr {
  llvm::SmallVector<std::pair<VarId, ir::Size>, 4> terms;
  ir::Size lane = 0, constant = 0;

  IndexExpr() = default;
  explicit IndexExpr(ir::Size value) : constant(value) {}
  bool operator==(const IndexExpr &o) const {
    return terms == o.terms && lane == o.lane && constant == o.constant;
  }
  bool isConstant() const { return terms.empty() && lane == 0; }
  void append(std::vector<int64_t> &key) const;
};

IndexExpr add(const IndexExpr &a, const IndexExpr &b);
IndexExpr scale(const IndexExpr &a, ir::Size factor);
/// The coefficient of a variable; 0 if it does not occur.
ir::Size coefficientOf(const IndexExpr &e, VarId var);

struct IndexVar {
  enum Kind {
    loop,      ///< set by the emitter of a schedule
    quotient,  ///< of / by
    remainder, ///< of % by
    clamped,   ///< of, clamped to [0, by)
    gathered,  ///< the checked element of an index tensor: node `node`
  } kind = loop;
  IndexExpr of;
  ir::Size by = 0;
  ir::Size maximum = ir::Size::inexpressible(); ///< the largest value, if known; the smallest is 0
  int64_t multipleOf = 1;                       ///< a number that divides all values
  int node = -1;
  int64_t lane = -1;    ///< gathered: the lane of the node's vector; -1 if the node has one element
  bool perLane = false; ///< the value differs between lanes and is not affine in the lane
  bool ofLanes = false; ///< loop: the sum of the value and the number of any lane is at most `maximum`
};

/// The variables of one kernel body.
class IndexSpace {
public:
  explicit IndexSpace(const ir::SymbolRanges &ranges) : ranges(ranges) {}
  VarId addLoop(ir::Size maximum, int64_t multipleOf = 1, bool ofLanes = false);
  VarId addGathered(int node, ir::Size size, bool perLane, int64_t lane = -1);
  const IndexVar &var(VarId id) const { return vars[id]; }
  size_t numVars() const { return vars.size(); }
  IndexExpr expr(VarId id, ir::Size coefficient = 1) const;

  IndexExpr divide(const IndexExpr &e, ir::Size by);
  IndexExpr modulo(const IndexExpr &e, ir::Size by);
  IndexExpr clamp(const IndexExpr &e, ir::Size size);
  /// a * factor + b, with matching pairs of quotient and remainder cancelled.
  IndexExpr linear(const IndexExpr &a, ir::Size factor, const IndexExpr &b);
  /// Whether the value differs between lanes; and whether it does, and is not affine in the lane.
  bool dependsOnLane(const IndexExpr &e) const;
  bool isPerLane(const IndexExpr &e) const;
  /// Bounds of the value over all lanes, from the maxima of variables and the ranges of symbols; false if
  /// there are none.
  bool rangeOf(const IndexExpr &e, ir::Size &low, ir::Size &high) const;
  /// Whether the bounds prove that the value is in [0, size) in all lanes.
  bool isWithin(const IndexExpr &e, ir::Size size) const;
  /// The number of lanes of a vector in this body; 1 for scalars.
  int64_t lanes = 1;
  /// Whether terms that `by` divides leave a quotient or remainder that is not affine, so that what is
  /// divided depends on fewer variables: (480 row + column) / 96 = 5 row + column / 96, which a loop over
  /// rows does not compute anew.
  bool splitsSums = false;
  const ir::SymbolRanges ranges;

private:
  enum class Split {
    none,   ///< a term may be negative
    partly, ///< e = by * quotient + remainder, neither of which is negative
    wholly  ///< and the remainder is below `by`
  };
  VarId intern(IndexVar var);
  Split split(const IndexExpr &e, ir::Size by, IndexExpr &quotient, IndexExpr &remainder) const;
  std::vector<IndexVar> vars;
  std::map<std::vector<int64_t>, VarId> derived;
};

/// The index of one element of a tensor: the groups cover its dimensions in order.
struct TensorIndex {
  struct Group {
    unsigned dims = 1;
    ir::Size size = 1;
    IndexExpr expr;
  };
  llvm::SmallVector<Group, 4> groups;
  void append(std::vector<int64_t> &key) const;
};

/// The linear index within dimensions [begin, end) of a tensor of `shape`.
IndexExpr rangeIndex(IndexSpace &space, const TensorIndex &index, llvm::ArrayRef<ir::Size> shape,
                     unsigned begin, unsigned end);
/// The row-major linear index.
IndexExpr linearIndex(IndexSpace &space, const TensorIndex &index);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_INDEXEXPR_H
