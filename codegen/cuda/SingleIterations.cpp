//===- SingleIterations.cpp - Loops that run at most once -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/SingleIterations.h"

#include "codegen/cuda/IndexRanges.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

#include <algorithm>

using namespace mlir;

namespace weft::codegen {

namespace {

/// A constant plus a multiple of each of some values.
class LinearSum {
public:
  void add(Value value, __int128 factor);
  /// The least and the largest value; none if one is not known.
  struct Bounds {
    __int128 low, high;
  };
  std::optional<Bounds> bounds(IndexRanges &ranges) const;

private:
  __int128 constant = 0;
  SmallVector<std::pair<Value, __int128>> terms;
};

void LinearSum::add(Value value, __int128 factor) {
  IntegerAttr number;
  Operation *op = value.getDefiningOp();
  if (matchPattern(value, m_Constant(&number))) {
    constant += factor * number.getValue().getSExtValue();
  } else if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    add(op->getOperand(0), factor);
    add(op->getOperand(1), isa<arith::SubIOp>(op) ? -factor : factor);
  } else if (isa_and_nonnull<arith::MulIOp>(op) && matchPattern(op->getOperand(1), m_Constant(&number))) {
    add(op->getOperand(0), factor * number.getValue().getSExtValue());
  } else {
    auto *known = llvm::find_if(terms, [&](const auto &term) { return term.first == value; });
    if (known == terms.end())
      terms.emplace_back(value, factor);
    else
      known->second += factor;
  }
}

std::optional<LinearSum::Bounds> LinearSum::bounds(IndexRanges &ranges) const {
  Bounds all{constant, constant};
  for (const auto &[value, factor] : terms) {
    if (factor == 0)
      continue;
    const std::optional<IndexRange> range = ranges.of(value);
    if (!range)
      return std::nullopt;
    const __int128 a = factor * range->low, b = factor * range->high;
    all.low += std::min(a, b);
    all.high += std::max(a, b);
  }
  return all;
}

/// A loop ends at the least of these.
void endsOf(Value bound, SmallVectorImpl<Value> &ends) {
  if (auto least = bound.getDefiningOp<arith::MinSIOp>()) {
    endsOf(least.getLhs(), ends);
    endsOf(least.getRhs(), ends);
    return;
  }
  ends.push_back(bound);
}

/// The ends that a start has to lie before so that the only iteration runs; none if there may be another
/// iteration.
std::optional<SmallVector<Value>> conditionsOf(scf::ForOp loop, IndexRanges &ranges) {
  SmallVector<Value> ends, open;
  endsOf(loop.getUpperBound(), ends);
  bool isSingle = false;
  for (Value end : ends) {
    LinearSum length;
    length.add(end, 1);
    length.add(loop.getLowerBound(), -1);
    const auto iterated = length.bounds(ranges);
    LinearSum after = length;
    after.add(loop.getStep(), -1);
    const auto rest = after.bounds(ranges);
    isSingle |= rest && rest->high <= 0;
    if (!iterated || iterated->low <= 0)
      open.push_back(end);
  }
  if (!isSingle)
    return std::nullopt;
  return open;
}

void replace(scf::ForOp loop, ArrayRef<Value> ends) {
  OpBuilder builder(loop);
  Block &body = *loop.getBody();
  auto *terminator = body.getTerminator();
  SmallVector<Value> arguments{loop.getLowerBound()};
  llvm::append_range(arguments, loop.getInitArgs());
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    argument.replaceAllUsesWith(value);
  SmallVector<Value> results(terminator->getOperands());
  if (ends.empty()) {
    terminator->erase();
    loop->getBlock()->getOperations().splice(loop->getIterator(), body.getOperations());
    loop.replaceAllUsesWith(results);
    loop.erase();
    return;
  }
  Value condition;
  for (Value end : ends) {
    Value before =
        builder.create<arith::CmpIOp>(loop.getLoc(), arith::CmpIPredicate::slt, loop.getLowerBound(), end);
    condition = condition ? builder.create<arith::AndIOp>(loop.getLoc(), condition, before) : before;
  }
  auto branch = builder.create<scf::IfOp>(loop.getLoc(), loop.getResultTypes(), condition,
                                          /*withElseRegion=*/loop.getNumResults() != 0);
  Block &then = branch.getThenRegion().front();
  if (!then.empty())
    then.clear();
  then.getOperations().splice(then.end(), body.getOperations());
  if (loop.getNumResults() != 0) {
    builder.setInsertionPointToEnd(&branch.getElseRegion().front());
    builder.create<scf::YieldOp>(loop.getLoc(), loop.getInitArgs());
  }
  loop.replaceAllUsesWith(branch.getResults());
  loop.erase();
}

} // namespace

void replaceSingleIterations(ModuleOp kernel) {
  // From the inside to the outside: what is known of an inner loop depends on the variable of an outer one.
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops) {
    IndexRanges ranges;
    if (const auto ends = conditionsOf(loop, ranges))
      replace(loop, *ends);
  }
  // Bounds that no condition needs.
  IRRewriter rewriter(kernel.getContext());
  (void)runRegionDCE(rewriter, kernel->getRegions());
}

} // namespace weft::codegen
