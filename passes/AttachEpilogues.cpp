//===- AttachEpilogues.cpp - Contractions with bias and relu --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/FunctionAttributes.h"
#include "passes/Passes.h"

#include "ir/Contraction.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_ATTACHEPILOGUES
#include "passes/Passes.h.inc"

namespace {

/// Whether every element is +0 or -0 (max with either is the same but for the sign of a zero, so -0 does not
/// count).
bool isPositiveZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  return splat && isa<FloatType>(splat.getElementType()) && splat.getSplatValue<APFloat>().isPosZero();
}

/// The vector that `value` repeats along the last dimension, or null.
Value repeatedVector(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  if (!broadcast)
    return {};
  auto from = broadcast.getA().getType();
  auto last = static_cast<int64_t>(broadcast.getShape().size()) - 1;
  if (from.getRank() != 1 || broadcast.getDims()[0] != last || sizesOf(from)[0] != broadcast.getShape()[last])
    return {};
  return broadcast.getA();
}

/// What is done to a value: the operand beside it, where `op` is an `Op` of it and something else.
template <typename Op> Value besideIn(Operation *op, Value value) {
  auto binary = dyn_cast<Op>(op);
  if (!binary || binary.getA() == binary.getB())
    return {};
  return binary.getA() == value ? binary.getB() : binary.getB() == value ? binary.getA() : Value();
}

/// `op` compares `value` with zero, and gives the same for max(value, 0), NaN included.
bool comparesAlike(Operation *op, Value value) {
  if (isa<GtOp, LeOp>(op))
    return op->getOperand(0) == value && isPositiveZero(op->getOperand(1));
  if (isa<LtOp, GeOp>(op))
    return op->getOperand(1) == value && isPositiveZero(op->getOperand(0));
  return false;
}

struct AttachEpilogues : impl::AttachEpiloguesBase<AttachEpilogues> {
  using AttachEpiloguesBase::AttachEpiloguesBase;
  std::vector<Decision> decisions;

  void refuse(Operation *dot, Operation *consumer, StringRef code, const Twine &message) {
    if (report)
      decisions.push_back({code.str(), locationText(consumer->getLoc()), dot->getName().getStringRef().str(),
                           consumer->getName().getStringRef().str(), 0, message.str()});
  }

  /// The relu that reads `value`; comparisons beside it are collected. Null if something else reads it too.
  Operation *findRelu(DotGeneralOp dot, Value value, SmallVectorImpl<Operation *> &comparisons) {
    Operation *relu = nullptr, *other = nullptr;
    for (Operation *user : value.getUsers()) {
      Value zero = besideIn<MaxOp>(user, value);
      if (zero && isPositiveZero(zero) && !relu)
        relu = user;
      else if (comparesAlike(user, value))
        comparisons.push_back(user);
      else
        other = user;
    }
    if (relu && other) {
      refuse(dot, relu, "WEFT-N002",
             "relu stays an op of its own: the value before it has another reader, " +
                 other->getName().getStringRef());
      return nullptr;
    }
    return relu;
  }

  void attach(DotGeneralOp dot) {
    if (dot.getBias() || dot.getRelu())
      return;
    Value value = dot.getResult(), bias;
    Operation *last = nullptr;
    SmallVector<Operation *> dead;
    if (value.hasOneUse()) {
      Operation *user = *value.getUsers().begin();
      if (Value beside = besideIn<AddOp>(user, value))
        if (Value vector = repeatedVector(beside); vector && takesBias(dot)) {
          bias = vector;
          last = user;
          value = user->getResult(0);
        }
    }
    SmallVector<Operation *> comparisons;
    Operation *relu = findRelu(dot, value, comparisons);
    if (relu)
      last = relu;
    if (!last)
      return;
    Type element = dot.getType().getElementType();
    bool isHalf = isa<FloatType>(element) && !element.isF32() && !element.isF64();
    if (isHalf && hasFastNumerics(dot))
      refuse(dot, last, "WEFT-N004",
             "the contraction adds the bias and applies relu before it rounds to the half type, once");
    else if (isHalf)
      refuse(dot, last, "WEFT-N001",
             "the contraction would add the bias or apply relu before it rounds to the half "
             "type; they stay ops of their own");
    if (!isa<FloatType>(element) || (isHalf && !hasFastNumerics(dot)))
      return;
    OpBuilder builder(last);
    Location loc = FusedLoc::get(builder.getContext(), {dot.getLoc(), last->getLoc()});
    auto whole =
        builder.create<DotGeneralOp>(loc, dot.getA(), dot.getB(), bias, dot.getBatchA(), dot.getBatchB(),
                                     dot.getContractA(), dot.getContractB(), relu != nullptr);
    for (Operation *comparison : comparisons) {
      comparison->replaceUsesOfWith(value, whole.getResult());
      // It may stand before the result now.
      if (comparison->isBeforeInBlock(whole))
        moveBehind(comparison, whole);
    }
    Operation *add = bias ? value.getDefiningOp() : nullptr;
    last->getResult(0).replaceAllUsesWith(whole.getResult());
    last->erase();
    if (add && add != last)
      add->erase();
    dot.erase();
  }

  /// Moves `op`, and what depends on it before `anchor`, behind `anchor`.
  static void moveBehind(Operation *op, Operation *anchor) {
    llvm::SmallDenseSet<Operation *> moved{op};
    SmallVector<Operation *> order{op};
    for (Operation *next = op->getNextNode(); next && next != anchor; next = next->getNextNode())
      if (llvm::any_of(next->getOperands(), [&](Value v) { return moved.count(v.getDefiningOp()); })) {
        moved.insert(next);
        order.push_back(next);
      }
    for (Operation *each : order) {
      each->moveAfter(anchor);
      anchor = each;
    }
  }

  void runOnOperation() override {
    decisions.clear();
    SmallVector<DotGeneralOp> dots;
    for (DotGeneralOp dot : getOperation().getOps<DotGeneralOp>())
      dots.push_back(dot);
    for (DotGeneralOp dot : dots)
      attach(dot);
    recordDecisions(getOperation(), decisions);
  }
};

} // namespace
} // namespace weft::passes
