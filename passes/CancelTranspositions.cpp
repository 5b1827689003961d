//===- CancelTranspositions.cpp - Computes channels where they lie --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A norm of channels transposes them to the front, reduces what comes behind, and transposes its result back.
// The ops between could be one kernel with the ops before and after, but these have another domain. On a CPU,
// where a kernel reduces rows in pieces, this pass replaces such a region by the same ops in the order of
// memory:
//
//   transpose(f(transpose(x), reduce(transpose(x)))) = f(x, reduce(x))
//
// A region is replaced as a whole: all values that enter it are transposed alike, or have an order of their
// own at no cost, and all values that leave it are transposed back, or are results of reductions. So no
// transposition is added. The reductions have the order that they had before: that of a row.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "ir/Schedule.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_CANCELTRANSPOSITIONS
#include "passes/Passes.h.inc"

namespace {

/// The transposition of the values of a region: the kept dimensions first, then the reduced ones.
struct Order {
  SmallVector<int64_t> perm, inverse, reduced, trailing;
};

/// The order in which `transpose` brings rows in pieces together; none for other transpositions.
std::optional<Order> orderOf(TransposeOp transpose) {
  Order order;
  llvm::append_range(order.perm, transpose.getPerm());
  const auto rank = static_cast<int64_t>(order.perm.size());
  // The first of the reduced dimensions is the only one that is smaller than its neighbour.
  for (int64_t i = 1; i < rank; ++i) {
    if (!order.reduced.empty() || order.perm[i] < order.perm[i - 1]) {
      if (!order.reduced.empty() && order.perm[i] < order.perm[i - 1])
        return std::nullopt;
      order.reduced.push_back(order.perm[i]);
      order.trailing.push_back(i);
    }
  }
  RankedTensorType from = transpose.getA().getType();
  if (order.reduced.empty() || !deviceOf(from).isCpu() || !areRowPieces(sizesOf(from), order.reduced))
    return std::nullopt;
  order.inverse.resize(static_cast<size_t>(rank));
  for (auto [i, dim] : llvm::enumerate(order.perm))
    order.inverse[dim] = static_cast<int64_t>(i);
  return order;
}

bool isSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// The ops that compute with transposed values.
class Region {
public:
  Region(Order order, RankedTensorType type)
      : order(std::move(order)), shape(llvm::to_vector(sizesOf(type))) {}

  /// Adds what reads `value`, and what that reads besides, until nothing is left. Returns whether all of it
  /// can be replaced.
  bool grow(TransposeOp first);
  void replace();
  /// The transpositions back, which replace() erases.
  ArrayRef<Operation *> getEnds() const { return ends.getArrayRef(); }

private:
  /// More ops would be more than a kernel may hold, and each region is visited from each of its inputs.
  static constexpr size_t mostOps = 512;

  bool hasShape(Value value) const {
    return sizesOf(cast<RankedTensorType>(value.getType())) == ArrayRef(shape);
  }
  void enter(Value value) {
    if (values.insert(value))
      work.push_back(value);
  }
  bool addUser(Operation *user);
  bool addOperand(Value operand);
  /// The value in the order of memory.
  Value restored(Value value, OpBuilder &builder);
  SmallVector<Size> restoredShape() const;

  Order order;
  SmallVector<Size> shape;                ///< of the transposed values
  llvm::SetVector<Value> values;          ///< transposed values
  llvm::SetVector<Operation *> ops, ends; ///< elementwise ops and reductions; transpositions back
  SmallVector<Value> work;
  llvm::DenseMap<Value, Value> now;
};

bool Region::addOperand(Value operand) {
  if (values.contains(operand))
    return true;
  Operation *op = operand.getDefiningOp();
  if (!op || !hasShape(operand))
    return false;
  if (isSplat(operand) || isa<BroadcastInDimOp, FullOp>(op))
    return true;
  if (auto transpose = dyn_cast<TransposeOp>(op); transpose && transpose.getPerm() == ArrayRef(order.perm)) {
    enter(operand);
    return true;
  }
  return isa<ElementwiseOp>(op) && addUser(op);
}

bool Region::addUser(Operation *user) {
  if (ops.contains(user) || ends.contains(user))
    return true;
  if (ops.size() + ends.size() >= mostOps)
    return false;
  if (auto transpose = dyn_cast<TransposeOp>(user)) {
    ends.insert(user);
    return transpose.getPerm() == ArrayRef(order.inverse);
  }
  if (isReductionOp(user)) {
    ops.insert(user);
    return reducedDims(user) == order.trailing;
  }
  if (!isa<ElementwiseOp>(user) || !hasShape(user->getResult(0)))
    return false;
  ops.insert(user);
  enter(user->getResult(0));
  return llvm::all_of(user->getOperands(), [&](Value operand) { return addOperand(operand); });
}

bool Region::grow(TransposeOp first) {
  enter(first);
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers())
      if (user->getBlock() != first->getBlock() || !addUser(user))
        return false;
  return !ops.empty();
}

SmallVector<Size> Region::restoredShape() const {
  SmallVector<Size> restored;
  for (int64_t dim : order.inverse)
    restored.push_back(shape[dim]);
  return restored;
}

Value Region::restored(Value value, OpBuilder &builder) {
  Value &made = now[value];
  if (made)
    return made;
  const SmallVector<Size> to = restoredShape();
  auto type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  Location loc = value.getLoc();
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return made = transpose.getA();
  if (auto full = dyn_cast<FullOp>(op))
    return made = builder.create<FullOp>(loc, full.getValue(), to);
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue()).getSplatValue<Attribute>();
    auto wanted = withShape(type, to);
    return made = builder.create<ConstantOp>(loc, wanted, splatOf(wanted, splat));
  }
  // A broadcast. Its dimensions keep their order in the operand, or the operand is transposed.
  auto broadcast = cast<BroadcastInDimOp>(op);
  SmallVector<int64_t> dims, from;
  for (int64_t dim : broadcast.getDims())
    dims.push_back(order.perm[dim]);
  from = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(dims.size())));
  llvm::sort(from, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  Value operand = broadcast.getA();
  if (!llvm::is_sorted(from)) {
    operand = builder.create<TransposeOp>(loc, operand, from);
    llvm::sort(dims);
  }
  return made = builder.create<BroadcastInDimOp>(loc, operand, dims, to);
}

void Region::replace() {
  // In the order of the text, so that operands come first.
  SmallVector<Operation *> ordered(ops.begin(), ops.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered) {
    OpBuilder builder(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(restored(operand, builder));
    if (isReductionOp(op)) {
      op->setOperands(operands);
      op->setAttr("dims", builder.getDenseI64ArrayAttr(order.reduced));
      continue;
    }
    OperationState state(op->getLoc(), op->getName(), operands,
                         {withShape(cast<RankedTensorType>(op->getResult(0).getType()), restoredShape())},
                         op->getAttrs());
    now[op->getResult(0)] = builder.create(state)->getResult(0);
  }
  for (Operation *end : ends) {
    OpBuilder builder(end);
    end->getResult(0).replaceAllUsesWith(restored(end->getOperand(0), builder));
    end->erase();
  }
  for (Operation *op : llvm::reverse(ordered))
    if (!isReductionOp(op))
      op->erase();
}

struct CancelTranspositions : impl::CancelTranspositionsBase<CancelTranspositions> {
  using CancelTranspositionsBase::CancelTranspositionsBase;

  void runOnOperation() override {
    SmallVector<TransposeOp> transpositions(getOperation().getBody().front().getOps<TransposeOp>());
    bool changed = false;
    llvm::DenseSet<Operation *> gone;
    for (TransposeOp transpose : transpositions) {
      if (gone.contains(transpose))
        continue;
      std::optional<Order> order = orderOf(transpose);
      if (!order)
        continue;
      Region region(*order, transpose.getType());
      if (!region.grow(transpose))
        continue;
      gone.insert(region.getEnds().begin(), region.getEnds().end());
      region.replace();
      changed = true;
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::passes
