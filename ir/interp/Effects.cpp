//===- Effects.cpp - The meaning of effects and of order -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interpreter runs ops one after the other, which satisfies every order across queues. Tokens and events
// are values without content.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace weft::ir {

LogicalResult CopyIntoOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  results[0] = *operands[1];
  return success();
}

LogicalResult AliasOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  results[0] = *operands[0];
  return success();
}

LogicalResult ToHostScalarOp::interpret(ArrayRef<const Literal *> operands,
                                        MutableArrayRef<Literal> results) {
  results[0] = *operands[0];
  return success();
}

/// All elements on one line: the interpreter shows values only; the runtime formats them.
LogicalResult PrintOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal>) {
  const Literal &a = *operands[0];
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!getLabel().empty())
    os << getLabel() << ": ";
  os << StringRef(name(a.dtype)) << '[';
  llvm::interleave(a.shape, os, "x");
  os << ']';
  for (int64_t i = 0, e = a.count(); i < e; ++i)
    if (a.isReal())
      os << ' ' << llvm::format("%.17g", a.real[i]);
    else
      os << ' ' << a.whole[i];
  llvm::outs() << text << '\n';
  return success();
}

LogicalResult AssertOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal>) {
  const Literal &condition = *operands[0];
  for (int64_t i = 0, e = condition.count(); i < e; ++i)
    if (condition.whole[i] == 0)
      return emitOpError() << "failed: " << getMessage() << " (the condition is false at position " << i
                           << ")";
  return success();
}

LogicalResult TokenOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return success(); }
LogicalResult BarrierOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return success(); }
LogicalResult EventRecordOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return success();
}
LogicalResult EventWaitOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return success();
}
LogicalResult StreamForkOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return success();
}
LogicalResult StreamJoinOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return success();
}

} // namespace weft::ir
