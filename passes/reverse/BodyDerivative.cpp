//===- BodyDerivative.cpp - Derivatives behind the ops of a body ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/reverse/BodyDerivative.h"

#include "ir/FunctionAttributes.h"
#include "passes/reverse/ReverseMode.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace weft::passes {

bool isReal(Value value) { return isa<FloatType>(ir::typeOf(value).getElementType()); }

Value filled(OpBuilder &builder, Location loc, RankedTensorType type, double value) {
  auto element = builder.getFloatAttr(type.getElementType(), value);
  return builder.create<ir::ConstantOp>(loc, type, ir::splatOf(type, element));
}

void removeDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

bool hasFallibleOps(ir::FuncOp function) {
  return llvm::any_of(function.getBody().front(), [](Operation &op) { return ir::mayFail(&op); });
}

void updateType(ir::FuncOp function) {
  Block &block = function.getBody().front();
  function.setFunctionType(FunctionType::get(function.getContext(), block.getArgumentTypes(),
                                             block.getTerminator()->getOperandTypes()));
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
}

void declareSymbols(ir::FuncOp made, ir::FuncOp from) {
  auto known = from->getAttrOfType<ArrayAttr>(ir::attr::symbols);
  if (!known)
    return;
  SmallVector<Attribute> kept;
  for (auto symbol : known.getAsRange<ir::SymbolAttr>())
    if (llvm::any_of(made.getArgumentTypes(), [&](Type type) {
          return llvm::is_contained(ir::sizesOf(type), ir::Size::symbol(symbol.getName()));
        }))
      kept.push_back(symbol);
  if (kept.empty())
    made->removeAttr(ir::attr::symbols);
  else
    made->setAttr(ir::attr::symbols, ArrayAttr::get(made.getContext(), kept));
}

ir::FuncOp copyOf(SymbolTable &symbols, ir::FuncOp function, StringRef suffix) {
  auto copy = cast<ir::FuncOp>(function->clone());
  copy.setName((function.getName() + suffix).str());
  symbols.insert(copy);
  copy.setPrivate();
  return copy;
}

SmallVector<unsigned> findActiveCarries(ir::FuncOp body, unsigned carries, ArrayRef<bool> needs) {
  Block &block = body.getBody().front();
  SmallVector<bool> active(carries, false);
  for (unsigned i = 0; i < carries; ++i)
    active[i] = needs[i] && isReal(block.getArgument(i));
  for (bool changed = true; changed;) {
    changed = false;
    llvm::DenseSet<Value> reached;
    for (unsigned i = 0; i < block.getNumArguments(); ++i)
      if (i < carries ? active[i] : needs[i] && isReal(block.getArgument(i)))
        reached.insert(block.getArgument(i));
    for (Operation &op : block)
      if (!op.hasAttr(ir::attr::noGrad) &&
          llvm::any_of(op.getOperands(), [&](Value operand) { return reached.contains(operand); }))
        for (Value result : op.getResults())
          if (isReal(result))
            reached.insert(result);
    for (unsigned i = 0; i < carries; ++i)
      if (!active[i] && reached.contains(block.getTerminator()->getOperand(i)))
        active[i] = changed = true;
  }
  SmallVector<unsigned> list;
  for (unsigned i = 0; i < carries; ++i)
    if (active[i])
      list.push_back(i);
  return list;
}

FailureOr<BodyDerivative> appendDerivative(ReverseMode &mode, ir::FuncOp body, ArrayRef<unsigned> wrt,
                                           ArrayRef<unsigned> of) {
  Block &block = body.getBody().front();
  Operation *end = block.getTerminator();
  const Location loc = body.getLoc();
  OpBuilder at(end);
  BodyDerivative made;
  SmallVector<Value> arguments;
  for (unsigned i : wrt)
    arguments.push_back(block.getArgument(i));
  // The gradient of the sum of all products of a result and its cotangent has the cotangents as its seeds.
  made.marker = at.create<ir::TokenOp>(loc, ir::TokenType::get(at.getContext()));
  Value total;
  for (unsigned i : of) {
    Value value = end->getOperand(i);
    made.cotangents.push_back(block.addArgument(value.getType(), loc));
    Value product = at.create<ir::MulOp>(loc, value, made.cotangents.back());
    if (const auto rank = ir::typeOf(product).getRank())
      product = at.create<ir::SumOp>(loc, product, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    if (total && total.getType() != product.getType())
      product = at.create<ir::ConvertOp>(loc, product, ir::typeOf(total).getElementType());
    total = total ? at.create<ir::AddOp>(loc, total, product).getResult() : product;
  }
  auto gradient = at.create<ir::GradientOp>(loc, total, arguments);
  const unsigned returned = end->getNumOperands();
  end->insertOperands(returned, gradient.getResults());
  updateType(body);
  if (failed(mode.differentiateBody(body)))
    return failure();
  llvm::append_range(made.gradients, end->getOperands().drop_front(returned));
  return made;
}

FailureOr<ir::FuncOp> derivativeOf(ReverseMode &mode, ir::FuncOp body, ArrayRef<unsigned> wrt,
                                   ArrayRef<unsigned> of) {
  ir::FuncOp made = copyOf(mode.symbols(), body, ".derivative");
  auto derivative = appendDerivative(mode, made, wrt, of);
  if (failed(derivative))
    return failure();
  derivative->marker->erase();
  Block &block = made.getBody().front();
  block.getTerminator()->setOperands(derivative->gradients);
  removeDeadOps(block);
  updateType(made);
  return made;
}

} // namespace weft::passes
