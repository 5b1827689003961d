//===- ExactResults.cpp - Which results have the bits of the CPU ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ExactResults.h"

#include "ir/Loops.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
namespace weft::cudasim {

namespace {

bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

/// Elementary functions, which are the vendor's for f64.
bool isElementary(Operation *op) {
  static const llvm::StringSet<> names = {"exp",   "expm1", "log",     "log1p", "sin",   "cos",
                                          "tan",   "asin",  "acos",    "atan",  "log2",  "log10",
                                          "exp2",  "sinh",  "cosh",    "tanh",  "asinh", "acosh",
                                          "atanh", "erf",   "sigmoid", "pow",   "atan2", "rsqrt"};
  return names.contains(op->getName().stripDialect());
}

bool isInexact(Operation *op) {
  if (isa<ir::UndefOp, ir::AttentionOp>(op))
    return true;
  auto reads = [&](auto test) { return llvm::any_of(op->getOperands(), test); };
  if (isa<ir::CopysignOp, ir::BitcastOp>(op)) // the sign and the payload of a NaN
    return reads(isFloat);
  if (isa<ir::SumOp, ir::ProdOp, ir::WelfordOp, ir::CumsumOp, ir::CumprodOp, ir::DotGeneralOp,
          ir::ImplicitGemmOp>(op))
    return reads(isFloat);
  // Its corrections are powers of f64, which f32 rounds to the same numbers.
  if (auto step = dyn_cast<ir::AdamStepOp>(op))
    return getElementTypeOrSelf(step->getResult(0).getType()).isF64();
  return isElementary(op) && reads([](Value value) { return getElementTypeOrSelf(value.getType()).isF64(); });
}

class Marker {
public:
  void visit(Block &block) {
    for (Operation &op : block) {
      if (auto fusion = dyn_cast<ir::FusionOp>(op)) {
        Block &body = fusion.getBody().front();
        for (auto [argument, operand] : llvm::zip(body.getArguments(), fusion->getOperands()))
          copy(operand, argument);
        visit(body);
        for (auto [result, yielded] : llvm::zip(fusion->getResults(), body.getTerminator()->getOperands()))
          copy(yielded, result);
        continue;
      }
      if (isInexact(&op) || hasInexactBody(&op) ||
          llvm::any_of(op.getOperands(), [&](Value value) { return inexact.contains(value); }))
        inexact.insert(op.result_begin(), op.result_end());
    }
  }
  bool isExact(Value value) const { return !inexact.contains(value); }

private:
  /// Whether a function that the op carries out, as the body of a loop, computes anything inexact.
  static bool hasInexactBody(Operation *op) {
    return llvm::any_of(ir::bodiesOf(op), [&](FlatSymbolRefAttr name) {
      auto function = SymbolTable::lookupNearestSymbolFrom<ir::FuncOp>(op, name);
      Marker marker;
      marker.visit(function.getBody().front());
      return !marker.inexact.empty();
    });
  }

  void copy(Value from, Value to) {
    if (inexact.contains(from))
      inexact.insert(to);
  }
  llvm::DenseSet<Value> inexact;
};

} // namespace

std::vector<bool> exactResults(ir::FuncOp function) {
  Marker marker;
  Block &body = function.getBody().front();
  marker.visit(body);
  std::vector<bool> exact;
  for (Value value : body.getTerminator()->getOperands())
    exact.push_back(marker.isExact(value));
  return exact;
}

} // namespace weft::cudasim
