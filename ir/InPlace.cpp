//===- InPlace.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/InPlace.h"

using namespace mlir;
namespace weft::ir {

bool usedElementwise(SmallVector<Value> values, Operation *last) {
  llvm::SmallDenseSet<Operation *> seen;
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (user == last || isa<YieldOp>(user) || !seen.insert(user).second)
        continue;
      if (!isa<ElementwiseOp>(user))
        return false;
      values.push_back(user->getResult(0));
    }
  return true;
}

bool haveOneLayout(FusionOp fusion, unsigned operand, unsigned result) {
  auto read = cast<RankedTensorType>(fusion.getInputs()[operand].getType()),
       made = cast<RankedTensorType>(fusion.getResultTypes()[result]);
  return itemsize(dtypeOf(read)) == itemsize(dtypeOf(made)) && sizesOf(read) == sizesOf(made);
}

bool mayReplace(FusionOp loop, unsigned operand, unsigned result) {
  return loop.getKind() == FusionKind::loop && haveOneLayout(loop, operand, result) &&
         usedElementwise({loop.getBody().front().getArgument(operand)}, nullptr);
}

bool mayReplaceAny(FusionOp loop) {
  for (unsigned operand = 0; operand < loop.getInputs().size(); ++operand)
    for (unsigned result = 0; result < loop.getNumResults(); ++result)
      if (mayReplace(loop, operand, result))
        return true;
  return false;
}

} // namespace weft::ir
