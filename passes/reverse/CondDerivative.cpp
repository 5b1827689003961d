//===- CondDerivative.cpp - The derivative of a condition -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/reverse/CondDerivative.h"

#include "passes/reverse/BodyDerivative.h"
#include "passes/reverse/ReverseMode.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace weft::passes {

LogicalResult differentiateCond(ReverseMode &mode, OpBuilder &builder, ir::CondOp cond,
                                ArrayRef<Value> incoming, ArrayRef<bool> needs,
                                SmallVectorImpl<Value> &cotangents) {
  cotangents.assign(cond->getNumOperands(), Value());
  SmallVector<unsigned> wrt, of;
  for (auto [i, input] : llvm::enumerate(cond.getInputs()))
    if (needs[i + 1] && isReal(input)) // operand 0 is the predicate
      wrt.push_back(static_cast<unsigned>(i));
  SmallVector<Value> operands(cond.getInputs());
  for (auto [i, cotangent] : llvm::enumerate(incoming))
    if (cotangent) {
      of.push_back(static_cast<unsigned>(i));
      operands.push_back(cotangent);
    }
  if (wrt.empty() || of.empty())
    return success();
  SmallVector<ir::FuncOp> made, branches;
  for (FlatSymbolRefAttr name : ir::bodiesOf(cond)) {
    branches.push_back(mode.symbols().lookup<ir::FuncOp>(name.getValue()));
    auto derivative = derivativeOf(mode, branches.back(), wrt, of);
    if (failed(derivative))
      return failure();
    made.push_back(*derivative);
  }
  // What neither branch reads is not passed, so that it need not live until then. Sizes are those of
  // arguments.
  llvm::BitVector unread(static_cast<unsigned>(operands.size()));
  for (unsigned i = 0; i < unread.size(); ++i)
    unread[i] = ir::typeOf(operands[i]).hasStaticShape() && llvm::all_of(made, [&](ir::FuncOp branch) {
                  return branch.getBody().front().getArgument(i).use_empty();
                });
  for (auto [branch, derivative] : llvm::zip_equal(branches, made)) {
    derivative.getBody().front().eraseArguments(unread);
    updateType(derivative);
    declareSymbols(derivative, branch);
  }
  SmallVector<Value> passed;
  for (auto [i, operand] : llvm::enumerate(operands))
    if (!unread[static_cast<unsigned>(i)])
      passed.push_back(operand);
  // In the pipeline no branch may fail any more (CarryChecks).
  const bool mayFail = llvm::any_of(made, hasFallibleOps);
  auto backward =
      builder.create<ir::CondOp>(cond.getLoc(), made[0].getFunctionType().getResults(), cond.getPred(),
                                 made[0].getName(), made[1].getName(), passed, mayFail);
  for (auto [i, input] : llvm::enumerate(wrt))
    cotangents[input + 1] = backward->getResult(static_cast<unsigned>(i));
  return success();
}

} // namespace weft::passes
