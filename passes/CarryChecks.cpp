//===- CarryChecks.cpp - Checks move out of branches ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch that runs a function of the package cannot report what fails in it. So a branch, or the body of a
// while loop, returns the index that a check would refuse, as a number, and goes on with an index that is in
// range. The check itself stands behind the launch. A number that is in range is returned as 0, as by the
// branch that is not taken, so that dimensions have to have an element.
//
//===----------------------------------------------------------------------===//
#include "ir/FunctionAttributes.h"
#include "ir/Loops.h"
#include "ir/Placement.h"
#include "ir/Updates.h"
#include "ir/Vjp.h"
#include "passes/Passes.h"
#include "passes/reverse/BodyDerivative.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_CARRYCHECKS
#include "passes/Passes.h.inc"

namespace {

/// A check of a body, which is made behind what runs it.
struct Check {
  Location loc;
  ir::Size size;
  std::string name;
  int64_t dim;
};

ir::VjpBuilder symbolicFor(OpBuilder &builder, Operation *op) {
  return {builder, op, SmallVector<Value>(op->getNumResults()),
          SmallVector<bool>(op->getNumOperands(), false)};
}

struct CarryChecks : impl::CarryChecksBase<CarryChecks> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    symbols = &table;
    bool changed = false;
    llvm::DenseSet<Operation *> bodies;
    getOperation().walk([&](Operation *op) {
      changed |= isa<ir::CondOp, ir::WhileOp>(op) && ir::mayFail(op);
      for (FlatSymbolRefAttr name : ir::bodiesOf(op))
        bodies.insert(table.lookup(name.getValue()));
    });
    if (!changed)
      return markAllAnalysesPreserved();
    // Bodies are copied by what runs them, so that those of other ops stay as they are.
    SmallVector<ir::FuncOp> functions(getOperation().getOps<ir::FuncOp>());
    for (ir::FuncOp function : functions)
      if (!function.isExternal() && !bodies.contains(function) && failed(carryIn(function, /*isBody=*/false)))
        return signalPassFailure();
    eraseUnused();
  }

private:
  /// Erases the bodies of which there are copies, and that nothing else runs.
  void eraseUnused() {
    SmallVector<ir::FuncOp> left(copied.begin(), copied.end());
    for (size_t before = left.size() + 1; left.size() < before;) {
      before = left.size();
      llvm::erase_if(left, [&](ir::FuncOp body) {
        const bool unused = body.isPrivate() && SymbolTable::symbolKnownUseEmpty(body, getOperation());
        if (unused)
          symbols->erase(body);
        return unused;
      });
    }
    copied.clear();
  }

  /// A copy of a body.
  ir::FuncOp copyBody(StringRef name) {
    auto body = symbols->lookup<ir::FuncOp>(name);
    copied.insert(body);
    return copyOf(*symbols, body, ".checked");
  }

  /// Replaces what may fail in a function by the same with its checks behind it.
  LogicalResult carryIn(ir::FuncOp function, bool isBody) {
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
      if (!isa<ir::CondOp, ir::WhileOp>(op) || !ir::mayFail(&op))
        continue;
      auto cond = dyn_cast<ir::CondOp>(op);
      if (failed(cond ? carry(cond, isBody) : carry(cast<ir::WhileOp>(op), isBody)))
        return failure();
    }
    return success();
  }

  /// A copy of a body in which nothing fails. `checks` and `indices` get what its ops checked.
  FailureOr<ir::FuncOp> withoutChecks(StringRef name, SmallVectorImpl<Check> &checks,
                                      SmallVectorImpl<Value> &indices) {
    ir::FuncOp made = copyBody(name);
    if (failed(carryIn(made, /*isBody=*/true)))
      return failure();
    Block &block = made.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block))
      if (auto loss = dyn_cast<ir::CrossEntropyOp>(op)) {
        OpBuilder at(loss);
        loss->replaceAllUsesWith(loss.decompose(at));
        loss->erase();
      }
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!ir::mayFail(&op))
        continue;
      if (!ir::checksIndex(&op) || ir::indexedSize(&op) == ir::Size(0))
        return op.emitOpError()
               << "may fail in a branch or a while loop in a way that cannot be checked behind it";
      op.setAttr("mode", ir::IndexModeAttr::get(op.getContext(), ir::IndexMode::clip));
      if (llvm::is_contained(ir::sizesOf(ir::indexOperandOf(&op).get()), ir::Size(0))) // of no index
        continue;
      checks.push_back({op.getLoc(), ir::indexedSize(&op), ir::indexNameOf(&op).str(), ir::reportedDim(&op)});
      indices.push_back(refusedIndex(&op));
    }
    return made;
  }

  /// An index that the op refuses, as a number, or 0.
  static Value refusedIndex(Operation *op) {
    OpBuilder b(op);
    ir::VjpBuilder symbolic = symbolicFor(b, op);
    ir::Sym index = symbolic.operand(ir::indexOperandOf(op).getOperandNumber());
    index = symbolic.convert(index, b.getI64Type());
    ir::Sym high = index, low = index;
    if (const int64_t rank = index.type().getRank()) {
      const auto all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
      high = symbolic.make<ir::RmaxOp>(index.value, all);
      low = symbolic.make<ir::RminOp>(index.value, all);
    }
    const ir::Size count = ir::indexedSize(op);
    const ir::Sym none = symbolic.like(low, 0);
    // A size that each call chooses is a number of the host.
    ir::Sym size = none;
    if (count.isNumber())
      size = symbolic.like(high, static_cast<double>(count.asNumber()));
    else
      size.value = b.create<ir::DimOp>(
          op->getLoc(),
          ir::makeTensorType({}, b.getI64Type(), ir::DeviceAttr::get(b.getContext(), ir::DeviceKind::cpu)),
          count);
    const ir::Sym below = symbolic.select(symbolic.compare<ir::LtOp>(low, none), low, none);
    return symbolic.select(symbolic.compare<ir::GeOp>(high, size), high, below).value;
  }

  /// Makes the checks of numbers behind the op that returns them.
  static void check(Operation *op, ArrayRef<Check> checks, ValueRange numbers, bool isBody) {
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    for (const auto &[check, number] : llvm::zip_equal(checks, numbers)) {
      ir::VjpBuilder symbolic = symbolicFor(b, op);
      const ir::Sym checked = symbolic.checkedIndex({number, &symbolic}, check.size, check.name, check.dim);
      const Location loc = CallSiteLoc::get(check.loc, op->getLoc());
      checked.value.getDefiningOp()->setLoc(loc);
      if (isBody) // whose own checks are moved next
        continue;
      const ir::Sym inside = symbolic.compare<ir::GeOp>(checked, symbolic.like(checked, 0));
      auto assertion = b.create<ir::AssertOp>(loc, inside.value, "an index is out of bounds");
      assertion->setAttr(ir::attr::recordedCheck, b.getUnitAttr());
    }
  }

  static RankedTensorType numberType(Operation *op) {
    return ir::makeTensorType({}, IntegerType::get(op->getContext(), 64), ir::computeDevice(op));
  }

  static Value zero(OpBuilder &b, Location loc, RankedTensorType type) {
    return b.create<ir::ConstantOp>(loc, type, ir::splatOf(type, b.getI64IntegerAttr(0)));
  }

  LogicalResult carry(ir::CondOp cond, bool isBody) {
    SmallVector<Check> checks;
    SmallVector<ir::FuncOp> branches;
    SmallVector<SmallVector<Value>> indices(2);
    const RankedTensorType type = numberType(cond);
    for (auto [i, name] : llvm::enumerate(ir::bodiesOf(cond))) {
      auto made = withoutChecks(name.getValue(), checks, indices[i]);
      if (failed(made))
        return failure();
      branches.push_back(*made);
    }
    // The second branch returns zeros for the checks of the first, and the other way round.
    for (auto [i, branch] : llvm::enumerate(branches)) {
      Operation *end = branch.getBody().front().getTerminator();
      OpBuilder b(end);
      SmallVector<Value> returned(end->getOperands());
      for (unsigned of = 0; of < 2; ++of)
        for (Value index : indices[of])
          returned.push_back(of == i ? index : zero(b, cond.getLoc(), type));
      end->setOperands(returned);
      updateType(branch);
    }
    SmallVector<Type> types(cond->getResultTypes());
    types.append(checks.size(), type);
    OpBuilder b(cond);
    auto made = b.create<ir::CondOp>(cond.getLoc(), types, cond.getPred(), branches[0].getName(),
                                     branches[1].getName(), cond.getInputs(), /*may_fail=*/false);
    replace(cond, made, checks, isBody);
    return success();
  }

  LogicalResult carry(ir::WhileOp loop, bool isBody) {
    SmallVector<Check> checks;
    SmallVector<Value> indices;
    auto body = withoutChecks(loop.getBody(), checks, indices);
    if (failed(body))
      return failure();
    ir::FuncOp condition = copyBody(loop.getCondition());
    const auto carries = static_cast<unsigned>(loop.getCarries().size());
    const RankedTensorType type = numberType(loop);
    const Location loc = loop.getLoc();
    OpBuilder inBody(body->getBody().front().getTerminator());
    OpBuilder inCondition(condition.getBody().front().getTerminator());
    Operation *next = inBody.getInsertionPoint()->getBlock()->getTerminator();
    Operation *goesOn = inCondition.getInsertionPoint()->getBlock()->getTerminator();
    SmallVector<Value> begins(loop.getCarries());
    for (auto [i, index] : llvm::enumerate(indices)) {
      const auto at = carries + static_cast<unsigned>(i);
      // The first index that is refused stays, and ends the loop.
      Value before = body->getBody().front().insertArgument(at, type, loc);
      Value refused = inBody.create<ir::NeOp>(loc, before, zero(inBody, loc, type));
      next->insertOperands(at, inBody.create<ir::SelectOp>(loc, refused, before, index).getResult());
      before = condition.getBody().front().insertArgument(at, type, loc);
      Value fine = inCondition.create<ir::EqOp>(loc, before, zero(inCondition, loc, type));
      goesOn->setOperand(0, inCondition.create<ir::AndOp>(loc, goesOn->getOperand(0), fine));
      OpBuilder b(loop);
      begins.push_back(zero(b, loc, type));
    }
    updateType(*body);
    updateType(condition);
    OpBuilder b(loop);
    auto made = b.create<ir::WhileOp>(loc, ValueRange(begins).getTypes(), condition.getName(),
                                      body->getName(), begins, loop.getConstants(), /*may_fail=*/false);
    replace(loop, made, checks, isBody);
    return success();
  }

  static void replace(Operation *op, Operation *made, ArrayRef<Check> checks, bool isBody) {
    const unsigned results = op->getNumResults();
    op->replaceAllUsesWith(made->getResults().take_front(results));
    if (Attribute stops = op->getAttr(ir::attr::noGrad))
      made->setAttr(ir::attr::noGrad, stops);
    op->erase();
    check(made, checks, made->getResults().drop_front(results), isBody);
  }

  SymbolTable *symbols = nullptr;
  llvm::SetVector<ir::FuncOp> copied;
};

} // namespace
} // namespace weft::passes
