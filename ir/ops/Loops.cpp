//===- Loops.cpp - scan, cond, while -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Loops.h"
#include "ir/FunctionAttributes.h"
#include "ir/ops/Common.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/WeftLoops.cpp.inc"

namespace weft::ir {

RankedTensorType rowType(RankedTensorType stacked) {
  return makeTensorType(sizesOf(stacked).drop_front(), stacked.getElementType(), deviceOf(stacked));
}

RankedTensorType stackedType(RankedTensorType row, int64_t length) {
  SmallVector<Size> sizes{Size(length)};
  llvm::append_range(sizes, sizesOf(row));
  return makeTensorType(sizes, row.getElementType(), deviceOf(row));
}

FuncOp ScanOp::findBody() { return SymbolTable::lookupNearestSymbolFrom<FuncOp>(*this, getBodyAttr()); }

/// Verifies that the body takes a carry, a row or a constant for each operand.
static LogicalResult verifyOperands(ScanOp scan, FuncOp body) {
  const size_t carries = scan.getCarries().size(), rows = carries + scan.getXs().size();
  if (body.getNumArguments() != scan->getNumOperands())
    return scan.emitOpError() << "has " << scan->getNumOperands() << " operands, and its body '"
                              << scan.getBody() << "' has " << body.getNumArguments() << " arguments";
  for (auto [i, operand] : llvm::enumerate(scan->getOperands())) {
    auto given = cast<RankedTensorType>(operand.getType());
    if (i >= carries && i < rows) {
      if (given.getRank() == 0 || sizesOf(given)[0] != Size(scan.getLength()))
        return scan.emitOpError() << "has " << scan.getLength() << " trips, and operand #" << i << " of type "
                                  << given << " has no first dimension of that size";
      given = rowType(given);
    }
    if (body.getArgumentTypes()[i] != given)
      return scan.emitOpError() << "passes its body '" << scan.getBody() << "' " << given << " as argument #"
                                << i << ", which is " << body.getArgumentTypes()[i];
  }
  return success();
}

/// Verifies that the body returns the carries, and one row of each of the ys.
static LogicalResult verifyResults(ScanOp scan, FuncOp body) {
  const size_t carries = scan.getCarries().size();
  if (scan->getNumResults() < carries || body.getNumResults() != scan->getNumResults())
    return scan.emitOpError() << "has " << carries << " carries and " << scan->getNumResults()
                              << " results, and its body '" << scan.getBody() << "' has "
                              << body.getNumResults() << " results";
  for (auto [i, result] : llvm::enumerate(scan->getResults())) {
    auto returned = cast<RankedTensorType>(body.getResultTypes()[i]);
    if (i < carries && returned != scan.getCarries()[i].getType())
      return scan.emitOpError() << "has a body '" << scan.getBody() << "' that returns " << returned
                                << " as carry #" << i << ", which begins as "
                                << scan.getCarries()[i].getType() << " (" << "WEFT-T002" << ")";
    auto expected = i < carries ? returned : stackedType(returned, scan.getLength());
    if (result.getType() != expected)
      return scan.emitOpError() << "has a result #" << i << " of type " << result.getType() << ", expected "
                                << expected;
  }
  return success();
}

/// Verifies that a body only computes values. What it calls is verified once it is part of the body. `each`
/// is what runs it, and `what` what it is of the op: "a body".
static LogicalResult verifyBody(Operation *op, FuncOp body, StringRef each, StringRef what) {
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    if (roleOf(body, i) != ArgumentRole::argument || body.isDonated(i) || body.getArgAttr(i, attr::strides))
      return op->emitOpError() << "has " << what << " '" << body.getName() << "' whose argument #" << i
                               << " has a role, strides or donated storage; " << each
                               << " passes values only";
  if (body.isExternal()) // which is an error of its own
    return success();
  for (Operation &inner : body.getBody().front()) {
    if (isa<CallOp, ReturnOp>(inner) || isMemoryEffectFree(&inner))
      continue;
    auto diag = op->emitOpError() << "has " << what << " '" << body.getName() << "' with the effect of '"
                                  << inner.getName() << "' (" << "WEFT-T001" << "); " << each
                                  << " computes values only, so have the effect after "
                                  << (isa<CondOp>(op) ? "it" : "the loop");
    diag.attachNote(inner.getLoc()) << "the effect is here";
    return diag;
  }
  return success();
}

/// The first op of a body that may fail, or null.
static Operation *findFallible(FuncOp body) {
  if (!body.isExternal())
    for (Operation &op : body.getBody().front())
      if (mayFail(&op))
        return &op;
  return nullptr;
}

/// Verifies that a symbol of the body has a range around that of the caller.
static LogicalResult verifyRanges(Operation *op, FuncOp body, StringRef what) {
  SymbolRanges given = rangesOf(op);
  for (const auto &[name, range] : rangesOf(body)) {
    const SymbolRanges::Range *found = given.find(name);
    if (!found || found->min < range.min || found->max > range.max)
      return op->emitOpError() << "has " << what << " '" << body.getName() << "', where '" << name
                               << "' goes from " << range.min << " to " << range.max << " (" << "WEFT-S001"
                               << "); give the symbol of the caller a range inside of it";
  }
  return success();
}

LogicalResult ScanOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (const int64_t length = getLengthAttr().getInt(); length < 0)
    return emitOpError() << "has " << length << " trips, expected a number that is not negative";
  auto body = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getBodyAttr());
  if (!body)
    return emitOpError() << "has the body '" << getBody() << "', which is not a function of this module";
  if (body == (*this)->getParentOfType<FuncOp>())
    return emitOpError() << "is in its own body '" << getBody() << "'";
  if (failed(verifyOperands(*this, body)) || failed(verifyResults(*this, body)))
    return failure();
  if (failed(verifyRanges(*this, body, "a body")) || failed(verifyBody(*this, body, "a trip", "a body")))
    return failure();
  if (findFallible(body) && !getMayFail())
    return emitOpError() << "has a body '" << getBody() << "' that may fail: it needs the attribute may_fail";
  return success();
}

//===----------------------------------------------------------------------===//
// cond, while
//===----------------------------------------------------------------------===//

SmallVector<FlatSymbolRefAttr> bodiesOf(Operation *op) {
  if (auto scan = dyn_cast<ScanOp>(op))
    return {scan.getBodyAttr()};
  if (auto cond = dyn_cast<CondOp>(op))
    return {cond.getThenBodyAttr(), cond.getElseBodyAttr()};
  if (auto loop = dyn_cast<WhileOp>(op))
    return {loop.getConditionAttr(), loop.getBodyAttr()};
  return {};
}

/// Whether a value is one truth value, without dimensions.
static bool isPredicate(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() == 0 && tensor.getElementType().isInteger(1);
}

/// Verifies that a function takes these operands and only computes values. Null if it does not.
static FuncOp verifyPart(Operation *op, FlatSymbolRefAttr name, StringRef what, ValueRange operands,
                         SymbolTableCollection &symbols) {
  auto body = symbols.lookupNearestSymbolFrom<FuncOp>(op, name);
  if (!body) {
    op->emitOpError() << "has " << what << " '" << name.getValue()
                      << "', which is not a function of this module";
    return nullptr;
  }
  if (body == op->getParentOfType<FuncOp>()) {
    op->emitOpError() << "is in " << what << " '" << name.getValue() << "' of its own";
    return nullptr;
  }
  if (TypeRange(body.getArgumentTypes()) != TypeRange(operands)) {
    op->emitOpError() << "has " << what << " '" << name.getValue() << "' of type " << body.getFunctionType()
                      << ", and passes it " << operands.getTypes();
    return nullptr;
  }
  StringRef each = isa<CondOp>(op) ? "a branch" : "a trip";
  if (failed(verifyRanges(op, body, what)) || failed(verifyBody(op, body, each, what)))
    return nullptr;
  // A condition of a while loop cannot fail at all.
  if (findFallible(body) && !mayFail(op) && what != "a condition") {
    op->emitOpError() << "has " << what << " '" << name.getValue()
                      << "' that may fail: it needs the attribute may_fail";
    return nullptr;
  }
  return body;
}

LogicalResult CondOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!isPredicate(getPred().getType()))
    return emitOpError() << "has a predicate of type " << getPred().getType()
                         << ", expected a truth value without dimensions (" << "WEFT-T006" << ")";
  for (FlatSymbolRefAttr name : bodiesOf(*this)) {
    FuncOp body = verifyPart(*this, name, "a branch", getInputs(), symbols);
    if (!body)
      return failure();
    if (TypeRange(body.getResultTypes()) != TypeRange(getResults()))
      return emitOpError() << "has results " << getResultTypes() << ", and a branch '" << name.getValue()
                           << "' that returns " << body.getResultTypes() << " (" << "WEFT-T007" << ")";
  }
  return success();
}

LogicalResult WhileOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FuncOp condition = verifyPart(*this, getConditionAttr(), "a condition", getOperands(), symbols);
  FuncOp body = condition ? verifyPart(*this, getBodyAttr(), "a body", getOperands(), symbols) : nullptr;
  if (!body)
    return failure();
  if (Operation *fallible = findFallible(condition)) {
    auto diag = emitOpError() << "has a condition '" << getCondition() << "' that may fail (" << "WEFT-T008"
                              << "); read by index in the body, and carry the values";
    diag.attachNote(fallible->getLoc()) << "this may fail";
    return diag;
  }
  if (condition.getNumResults() != 1 || !isPredicate(condition.getResultTypes()[0]))
    return emitOpError() << "has a condition '" << getCondition() << "' that returns "
                         << condition.getResultTypes() << ", expected a truth value without dimensions ("
                         << "WEFT-T006" << ")";
  const TypeRange carried(getCarries());
  if (TypeRange(body.getResultTypes()) != carried || TypeRange(getResults()) != carried)
    return emitOpError() << "has the carries " << getCarries().getTypes() << ", results " << getResultTypes()
                         << ", and a body '" << getBody() << "' that returns " << body.getResultTypes()
                         << " (" << "WEFT-T002" << ")";
  return success();
}

bool runsWhile(Operation *op) {
  if (isa<WhileOp>(op))
    return true;
  return llvm::any_of(bodiesOf(op), [&](FlatSymbolRefAttr name) {
    auto body = SymbolTable::lookupNearestSymbolFrom<FuncOp>(op, name);
    return body && llvm::any_of(body.getBody().front(), [](Operation &inner) { return runsWhile(&inner); });
  });
}

DeviceAttr otherDeviceIn(Operation *op, DeviceAttr device) {
  DeviceAttr other;
  // Of a GPU's values these are computed by the host (WEFT-C003).
  if (!device.isCpu() && isa<FactorizeOp, TriangularSolveOp, FftOp>(op))
    return DeviceAttr::get(op->getContext(), DeviceKind::cpu, 0);
  const auto isElsewhere = [&](Type type) {
    if (isa<RankedTensorType>(type) && deviceOf(type) != device)
      other = deviceOf(type);
    return static_cast<bool>(other);
  };
  if (llvm::any_of(op->getOperandTypes(), isElsewhere) || llvm::any_of(op->getResultTypes(), isElsewhere))
    return other;
  for (FlatSymbolRefAttr name : bodiesOf(op))
    if (auto body = SymbolTable::lookupNearestSymbolFrom<FuncOp>(op, name))
      for (Operation &inner : body.getBody().front())
        if (DeviceAttr found = otherDeviceIn(&inner, device))
          return found;
  return {};
}

} // namespace weft::ir
