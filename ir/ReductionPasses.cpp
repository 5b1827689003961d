//===- ReductionPasses.cpp - The passes of a reduction kernel -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of kind row and column take one pass over their elements for each level of dependent reductions.
// The functions here compute the pass of each value, and the values that one pass keeps in scratch for later
// ones.
//
//===----------------------------------------------------------------------===//
#include "ir/Schedule.h"

#include "ir/OpFacts.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace weft::ir {

/// The number of dimensions at the end of `dims` that are the last ones of a tensor of `rank`.
static size_t lastDims(ArrayRef<int64_t> dims, size_t rank) {
  size_t count = 0;
  while (count < dims.size() && dims[dims.size() - 1 - count] == static_cast<int64_t>(rank - 1 - count))
    ++count;
  return count;
}

RowShape rowShape(FusionOp fusion) {
  RowShape shape;
  SmallVector<Size> domain = fusion.getDomain();
  for (Operation &op : fusion.getBody().front())
    if (isReductionOp(&op)) {
      llvm::append_range(shape.reduced, reducedDims(&op));
      break;
    }
  for (auto [dim, size] : llvm::enumerate(domain)) {
    const auto number = static_cast<int64_t>(dim);
    if (llvm::is_contained(shape.reduced, number)) {
      shape.length *= size;
    } else {
      shape.kept.push_back(number);
      shape.rows *= size;
    }
  }
  const size_t together = lastDims(shape.reduced, domain.size());
  shape.piece = productOf(ArrayRef(domain).take_back(together));
  for (int64_t dim : ArrayRef(shape.reduced).drop_back(together))
    shape.pieces *= domain[dim];
  return shape;
}

Size rowLength(FusionOp fusion) { return rowShape(fusion).length; }

bool areRowPieces(ArrayRef<Size> shape, ArrayRef<int64_t> dims) {
  const size_t together = lastDims(dims, shape.size());
  if (together == 0 || together == dims.size())
    return false;
  const std::optional<int64_t> piece = productOf(shape.take_back(together)).number();
  return piece && *piece % reductionLanes == 0 && productOf(shape) != 0;
}

ColumnShape columnShape(FusionOp fusion) {
  ColumnShape shape;
  SmallVector<Size> domain = fusion.getDomain();
  for (Operation &op : fusion.getBody().front())
    if (isReductionOp(&op)) {
      SmallVector<int64_t> dims = reducedDims(&op);
      shape.dim = static_cast<unsigned>(dims.front());
      shape.dims = static_cast<unsigned>(dims.size());
      break;
    }
  shape.outer = productOf(ArrayRef(domain).take_front(shape.dim));
  shape.rows = productOf(ArrayRef(domain).slice(shape.dim, shape.dims));
  shape.inner = productOf(ArrayRef(domain).drop_front(shape.dim + shape.dims));
  return shape;
}

/// The length of a pass: the elements of a row, or the rows of a column.
static Size passLength(FusionOp fusion) {
  return fusion.getKind() == FusionKind::column ? columnShape(fusion).rows : rowLength(fusion);
}

llvm::DenseMap<Value, unsigned> reductionPasses(FusionOp fusion) {
  llvm::DenseMap<Value, unsigned> passes;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    unsigned pass = 0;
    for (Value operand : op.getOperands())
      pass = std::max(pass, passes.lookup(operand));
    for (Value result : op.getResults())
      passes[result] = pass + (isReductionOp(&op) ? 1 : 0);
  }
  return passes;
}

unsigned lastReductionPass(FusionOp fusion) {
  Block &body = fusion.getBody().front();
  llvm::DenseMap<Value, unsigned> passes = reductionPasses(fusion);
  unsigned last = 0;
  for (Operation &op : body.without_terminator())
    if (isReductionOp(&op))
      last = std::max(last, passes.lookup(op.getOperand(0)));
  SmallVector<Size> domain = fusion.getDomain();
  for (Value value : body.getTerminator()->getOperands())
    if (sizesOf(typeOf(value)) == ArrayRef(domain))
      last = std::max(last, passes.lookup(value));
  return last;
}

int64_t keptBytes(FusionOp fusion, const Schedule &schedule, Value value) {
  // The limit is more than scratch may have, and keeps sums of the bytes of many values from overflow.
  constexpr int64_t most = int64_t(1) << 40;
  Size bytes = passLength(fusion) * elementBytes(value.getType());
  if (fusion.getKind() == FusionKind::column)
    bytes *= schedule[ScheduleField::block];
  return static_cast<int64_t>(
      llvm::alignTo(static_cast<uint64_t>(std::min(bytes.number().value_or(most), most)), 64));
}

SmallVector<Value> spreadValues(FusionOp fusion) {
  SmallVector<Value> spread;
  llvm::DenseMap<Value, unsigned> passes = reductionPasses(fusion);
  ColumnShape shape = columnShape(fusion);
  SmallVector<Size> left(fusion.getDomain());
  left.erase(left.begin() + shape.dim, left.begin() + shape.dim + shape.dims);
  // Whether an op is computed once for each column. All other ops read its result at every row.
  auto isOfColumns = [&](Operation *op) {
    return isa<ElementwiseOp>(op) && sizesOf(typeOf(op->getResult(0))) == ArrayRef(left);
  };
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    if (!isReductionOp(&op) && !isOfColumns(&op))
      continue;
    for (Value result : op.getResults())
      if (passes.lookup(result) > 0 && llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !isa<YieldOp>(user) && !isOfColumns(user);
          }))
        spread.push_back(result);
  }
  return spread;
}

/// Walks from the results back to their operands, and calls `keep` for each value of the domain's shape that
/// several passes need. If it returns true, later passes read the value from scratch, and its operands are
/// needed only by the first of these passes. Returns the kept values with that first pass, in op order.
static SmallVector<std::pair<Value, unsigned>> chooseKept(FusionOp fusion,
                                                          llvm::function_ref<bool(Operation *, Value)> keep) {
  SmallVector<std::pair<Value, unsigned>> kept;
  Block &body = fusion.getBody().front();
  SmallVector<Size> domain = fusion.getDomain();
  // The size of scratch must be static, and the passes that need a value are the bits of a 64-bit number.
  unsigned last = lastReductionPass(fusion);
  if (!passLength(fusion).isNumber() || last >= 64)
    return kept;
  llvm::DenseMap<Value, unsigned> passes = reductionPasses(fusion);
  auto ofDomain = [&](Value value) { return sizesOf(typeOf(value)) == ArrayRef(domain); };
  llvm::DenseMap<Value, uint64_t> needs;
  for (Value value : body.getTerminator()->getOperands())
    if (ofDomain(value))
      needs[value] |= uint64_t(1) << last;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (isReductionOp(&op)) {
      Value operand = op.getOperand(0);
      needs[operand] |= uint64_t(1) << passes.lookup(operand);
      continue;
    }
    uint64_t need = 0;
    for (Value result : op.getResults())
      need |= needs.lookup(result);
    if (!need)
      continue;
    bool several = need & (need - 1);
    if (several && isa<ElementwiseOp>(op) && ofDomain(op.getResult(0)) && keep(&op, op.getResult(0))) {
      auto first = static_cast<unsigned>(llvm::countr_zero(need));
      kept.push_back({op.getResult(0), first});
      need = uint64_t(1) << first;
    }
    for (Value operand : op.getOperands())
      needs[operand] |= need;
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

static llvm::DenseMap<Operation *, int64_t> opNumbers(FusionOp fusion) {
  llvm::DenseMap<Operation *, int64_t> numbers;
  for (Operation &op : fusion.getBody().front().without_terminator())
    numbers.try_emplace(&op, static_cast<int64_t>(numbers.size()));
  return numbers;
}

SmallVector<std::pair<Value, unsigned>> keptValues(FusionOp fusion, ArrayRef<int64_t> keep) {
  if (keep.empty())
    return {};
  llvm::DenseMap<Operation *, int64_t> numbers = opNumbers(fusion);
  return chooseKept(fusion,
                    [&](Operation *op, Value) { return llvm::is_contained(keep, numbers.lookup(op)); });
}

/// row: the shape of what a row has once.
static SmallVector<Size> keptSizes(FusionOp fusion) {
  SmallVector<Size> domain = fusion.getDomain(), sizes;
  for (int64_t dim : rowShape(fusion).kept)
    sizes.push_back(domain[dim]);
  return sizes;
}

SmallVector<int64_t> worthKeeping(FusionOp fusion, const Schedule &schedule, int64_t scratchBytes) {
  // A store and a load of a line of the first-level cache take about as long as a dozen vector additions, so
  // it is worth keeping one elementary function, but not a few products. `most` keeps sums of costs from
  // overflow.
  constexpr int64_t storeAndLoad = 12, most = 1 << 20;
  SmallVector<Size> kept = fusion.getKind() == FusionKind::row ? keptSizes(fusion) : SmallVector<Size>();
  llvm::DenseMap<Value, int64_t> cost; // the cost of computing a value from values in memory
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    int64_t sum = additionsPerElement(&op);
    if (!isReductionOp(&op))
      for (Value operand : op.getOperands())
        sum += cost.lookup(operand);
    // What a row has once is computed once, before the loop over its elements.
    const bool isOfRow = fusion.getKind() == FusionKind::row && op.getNumResults() > 0 &&
                         sizesOf(typeOf(op.getResult(0))) == ArrayRef(kept);
    for (Value result : op.getResults())
      cost[result] = isReductionOp(&op) || isOfRow ? 0 : std::min(sum, most);
  }
  int64_t used = 0;
  auto chosen = chooseKept(fusion, [&](Operation *, Value value) {
    if (cost.lookup(value) < storeAndLoad || used + keptBytes(fusion, schedule, value) > scratchBytes)
      return false;
    used += keptBytes(fusion, schedule, value);
    return true;
  });
  llvm::DenseMap<Operation *, int64_t> numbers = opNumbers(fusion);
  SmallVector<int64_t> keep;
  for (auto [value, pass] : chosen)
    keep.push_back(numbers.lookup(value.getDefiningOp()));
  return keep;
}

} // namespace weft::ir
