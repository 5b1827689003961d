//===- GuardedLoops.cpp - Loops that run only if they should --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/reverse/GuardedLoops.h"

#include "ir/FunctionAttributes.h"
#include "ir/Loops.h"
#include "passes/reverse/BodyDerivative.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::passes {

static Value movedTo(OpBuilder &b, Location loc, Value value, ir::DeviceAttr device) {
  return ir::deviceOf(value.getType()) == device ? value
                                                 : b.create<ir::TransferOp>(loc, value, device, false);
}

/// Where an op that runs functions has the truth value.
static ir::DeviceAttr deviceFor(Operation *op, Value runs) {
  if (auto cond = dyn_cast<ir::CondOp>(op))
    return ir::deviceOf(cond.getPred().getType());
  return ir::deviceOf(op->getNumResults() ? op->getResultTypes().front() : runs.getType());
}

/// A copy of a function with one more argument: whether its loops run.
GuardedLoops::Copy GuardedLoops::copyWith(StringRef name, Type type, Location loc) {
  const ir::FuncOp found = symbols_.lookup<ir::FuncOp>(name);
  ir::FuncOp made = copyOf(symbols_, found, ".guarded");
  const Value argument = made.getBody().front().addArgument(type, loc);
  updateType(made);
  return {made, argument};
}

void GuardedLoops::guardAll(Copy copy) {
  for (Operation &op : llvm::make_early_inc_range(copy.function.getBody().front()))
    guard(&op, copy.argument);
}

Operation *GuardedLoops::guard(Operation *op, Value runs) {
  if (!ir::runsWhile(op))
    return op;
  const Location loc = op->getLoc();
  OpBuilder b(op);
  runs = movedTo(b, loc, runs, deviceFor(op, runs));
  const auto copyOfBody = [&](StringRef name) { return copyWith(name, runs.getType(), loc); };
  const auto withRuns = [&](OperandRange given) {
    SmallVector<Value> operands(given);
    operands.push_back(runs);
    return operands;
  };
  Operation *made = nullptr;
  SmallVector<Copy> copies;
  if (auto loop = dyn_cast<ir::WhileOp>(op)) {
    // The condition is computed once in any case, and the body only after it was true.
    Copy condition = copyOfBody(loop.getCondition()), body = copyOfBody(loop.getBody());
    guardAll(condition);
    Operation *goesOn = condition.function.getBody().front().getTerminator();
    OpBuilder inCondition(goesOn);
    goesOn->setOperand(0, inCondition.create<ir::AndOp>(loc, goesOn->getOperand(0), condition.argument));
    made = b.create<ir::WhileOp>(loc, loop->getResultTypes(), condition.function.getName(),
                                 body.function.getName(), loop.getCarries(), withRuns(loop.getConstants()),
                                 loop.getMayFail());
    copies = {condition, body};
  } else if (auto scan = dyn_cast<ir::ScanOp>(op)) {
    Copy body = copyOfBody(scan.getBody());
    guardAll(body);
    made = b.create<ir::ScanOp>(loc, scan->getResultTypes(), body.function.getName(), scan.getCarries(),
                                scan.getXs(), withRuns(scan.getConstants()), scan.getLength(),
                                scan.getReverse(), scan.getMayFail());
    copies = {body};
  } else {
    auto cond = cast<ir::CondOp>(op);
    Copy then = copyOfBody(cond.getThenBody()), otherwise = copyOfBody(cond.getElseBody());
    guardAll(then);
    guardAll(otherwise);
    made = b.create<ir::CondOp>(loc, cond->getResultTypes(), cond.getPred(), then.function.getName(),
                                otherwise.function.getName(), withRuns(cond.getInputs()), cond.getMayFail());
    copies = {then, otherwise};
  }
  if (Attribute stops = op->getAttr(ir::attr::noGrad))
    made->setAttr(ir::attr::noGrad, stops);
  op->replaceAllUsesWith(made->getResults());
  op->erase();
  for (const Copy &copy : copies)
    copied_(copy.function);
  return made;
}

} // namespace weft::passes
