//===- AccessAlignments.cpp - Which accesses are aligned ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/AccessAlignments.h"

#include "codegen/kernel/KernelIR.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;

namespace weft::codegen {

/// No access is as wide, so a larger power of two says no more.
static constexpr int64_t mostAsked = 4096;

/// The largest power of two that divides a number.
static int64_t powerIn(const APInt &number) {
  return number.isZero() ? mostAsked : int64_t(1) << std::min(number.countTrailingZeros(), 12u);
}

bool AccessAlignments::isAligned(Value buffer, Value index, int64_t itemBytes, int64_t bytes) {
  return ofBuffer(buffer) >= bytes && ofIndex(index) * itemBytes % bytes == 0;
}

/// Of an argument of a helper: the least of all calls.
int64_t AccessAlignments::ofHelperArgument(BlockArgument argument, bool isBuffer) {
  auto helper = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!helper || !helper.isPrivate())
    return 1;
  int64_t least = mostAsked;
  helper->getParentOfType<ModuleOp>().walk([&](func::CallOp call) {
    if (call.getCallee() != helper.getName())
      return;
    Value given = call.getOperand(argument.getArgNumber());
    least = std::min(least, isBuffer ? ofBuffer(given) : ofIndex(given));
  });
  return least;
}

int64_t AccessAlignments::ofBuffer(Value buffer) {
  auto number = [](Attribute given) {
    auto integer = dyn_cast_or_null<IntegerAttr>(given);
    return integer && integer.getInt() > 0 ? powerIn(integer.getValue()) : 1;
  };
  if (auto argument = dyn_cast<BlockArgument>(buffer)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function && !function.isPrivate()
               ? number(function.getArgAttr(argument.getArgNumber(), alignmentAttribute))
               : ofHelperArgument(argument, /*isBuffer=*/true);
  }
  return llvm::TypeSwitch<Operation *, int64_t>(buffer.getDefiningOp())
      .Case([](memref::AllocaOp) { return declaredAlignment; })
      .Case([&](memref::ViewOp view) {
        return std::min(ofBuffer(view.getSource()), ofIndex(view.getByteShift()));
      })
      .Case([&](func::CallOp call) {
        auto callee = call->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(call.getCallee());
        return callee ? number(callee.getResultAttr(0, alignmentAttribute)) : 1;
      })
      .Default([](Operation *) { return int64_t(1); });
}

int64_t AccessAlignments::ofIndex(Value index) {
  if (auto it = known.find(index); it != known.end())
    return it->second;
  known[index] = 1; // what depends on itself may be any number
  const int64_t computed = computeIndex(index);
  known[index] = computed;
  return computed;
}

int64_t AccessAlignments::computeIndex(Value index) {
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return ofHelperArgument(argument, /*isBuffer=*/false);
    return loop.getInductionVar() == argument
               ? std::min(ofIndex(loop.getLowerBound()), ofIndex(loop.getStep()))
               : 1;
  }
  IntegerAttr number;
  if (matchPattern(index, m_Constant(&number)))
    return powerIn(number.getValue());
  Operation *op = index.getDefiningOp();
  auto operand = [&](unsigned i) { return ofIndex(op->getOperand(i)); };
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(
          [&](auto) { return std::min(operand(0), operand(1)); })
      .Case([&](arith::SelectOp) { return std::min(operand(1), operand(2)); })
      .Case([&](arith::MulIOp) { return std::min(operand(0) * operand(1), mostAsked); })
      .Case([&](arith::IndexCastOp) { return operand(0); })
      .Default([](Operation *) { return int64_t(1); });
}

} // namespace weft::codegen
