//===- Alignment.cpp - Addresses of values on a GPU -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Alignment.h"

#include "ir/FunctionAttributes.h"
#include "ir/Updates.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::ir {

/// The attribute, read directly: MLIR's function interface is slow for thousands of arguments.
static Attribute givenAlignment(FuncOp function, unsigned argument) {
  const std::optional<ArrayAttr> all = function.getArgAttrs();
  return all ? cast<DictionaryAttr>((*all)[argument]).get(attr::alignment) : Attribute();
}

int64_t alignmentOfArgument(FuncOp function, unsigned argument) {
  auto given = dyn_cast_or_null<IntegerAttr>(givenAlignment(function, argument));
  return given ? given.getInt() : widestAccess;
}

/// Whether `op` leaves its first operand's memory in place, as a view or an update of it.
static bool keepsStorage(Operation *op) { return isStorageView(op) || updateIn(op); }

/// The least alignment of the arguments whose memory results with this storage are written to.
static int64_t alignmentOfResults(Value storage, FuncOp function) {
  int64_t least = widestAccess;
  for (OpOperand &use : storage.getUses()) {
    Operation *user = use.getOwner();
    if (isa<ReturnOp>(user)) {
      const int64_t tied = function.getTiedArgument(use.getOperandNumber());
      if (tied >= 0)
        least = std::min(least, alignmentOfArgument(function, static_cast<unsigned>(tied)));
    } else if (use.getOperandNumber() == 0 && keepsStorage(user)) {
      least = std::min(least, alignmentOfResults(user->getResult(0), function));
    }
  }
  return least;
}

int64_t alignmentOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!keepsStorage(op))
      break;
    value = op->getOperand(0);
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<FuncOp>(argument.getOwner()->getParentOp());
    return function ? alignmentOfArgument(function, argument.getArgNumber()) : 1;
  }
  return alignmentOfResults(value, value.getDefiningOp()->getParentOfType<FuncOp>());
}

LogicalResult verifyAlignments(FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const Attribute given = givenAlignment(function, i);
    if (!given)
      continue;
    const auto bytes = static_cast<int64_t>(itemsize(dtypeOf(function.getArgumentTypes()[i])));
    auto number = dyn_cast<IntegerAttr>(given);
    if (!number || !number.getType().isSignlessInteger(64) || number.getInt() < bytes ||
        number.getInt() > widestAccess || !llvm::isPowerOf2_64(static_cast<uint64_t>(number.getInt())))
      return function.emitOpError() << "gives argument " << i << " the attribute " << attr::alignment << " = "
                                    << given << ", expected a power of two from " << bytes
                                    << ", the bytes of an element, to " << widestAccess;
  }
  return success();
}

} // namespace weft::ir
