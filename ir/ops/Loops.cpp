//===- Loops.cpp - scan ----------------------------------------------------===//
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

/// Verifies that the body only computes values. What it calls is verified once it is part of the body.
static LogicalResult verifyBody(ScanOp scan, FuncOp body) {
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    if (roleOf(body, i) != ArgumentRole::argument || body.isDonated(i) || body.getArgAttr(i, attr::strides))
      return scan.emitOpError() << "has a body '" << scan.getBody() << "' whose argument #" << i
                                << " has a role, strides or donated storage; a trip passes values only";
  if (body.isExternal()) // which is an error of its own
    return success();
  bool fallible = false;
  for (Operation &op : body.getBody().front()) {
    fallible |= mayFail(&op);
    if (isa<CallOp, ReturnOp>(op) || isMemoryEffectFree(&op))
      continue;
    auto diag = scan.emitOpError() << "has a body '" << scan.getBody() << "' with the effect of '"
                                   << op.getName() << "' (" << "WEFT-T001"
                                   << "); a trip computes values only, so have the effect after the loop";
    diag.attachNote(op.getLoc()) << "the effect is here";
    return diag;
  }
  if (fallible && !scan.getMayFail())
    return scan.emitOpError() << "has a body '" << scan.getBody()
                              << "' that may fail: it needs the attribute may_fail";
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
  SymbolRanges given = rangesOf(*this);
  for (const auto &[name, range] : rangesOf(body)) {
    const SymbolRanges::Range *found = given.find(name);
    if (!found || found->min < range.min || found->max > range.max)
      return emitOpError() << "has a body '" << getBody() << "', where '" << name << "' goes from "
                           << range.min << " to " << range.max << " (" << "WEFT-S001"
                           << "); give the symbol of the caller a range inside of it";
  }
  return verifyBody(*this, body);
}

} // namespace weft::ir
