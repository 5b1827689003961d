//===- KernelBuilder.cpp --------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/KernelBuilder.h"

#include "codegen/emit/StepGroups.h"
#include "codegen/kernel/KernelIR.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

using namespace mlir;
namespace weft::codegen {

Type KernelBuilder::memoryType(Type element) {
  Type scalar = ir::toScalarType(element);
  return scalar.isInteger(1) ? IntegerType::get(element.getContext(), 8) : scalar;
}

static MemRefType bufferType(Type element) { return MemRefType::get({ShapedType::kDynamic}, element); }

KernelBuilder::KernelBuilder(ir::FusionOp fusion, StringRef symbol, const Mapping &mapping)
    : fusion(fusion), builder(fusion.getContext()), loc(fusion.getLoc()), mapping(mapping),
      ranges(ir::rangesOf(fusion)) {
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types;
  auto addBuffer = [&](Type tensor) {
    types.push_back(bufferType(memoryType(cast<RankedTensorType>(tensor).getElementType())));
    slots.push_back(static_cast<int64_t>(slots.size()));
  };
  if (fusion.getKind() == ir::FusionKind::multi_tensor) {
    for (const StepGroup &group : stepGroups(fusion))
      llvm::for_each(group.numbers().getTypes(), addBuffer);
  } else {
    llvm::for_each(fusion.getOperandTypes(), addBuffer);
    llvm::for_each(fusion.getResultTypes(), addBuffer);
    symbols = ir::symbolsOf(fusion);
  }
  types.append(symbols.size(), builder.getIndexType());
  types.push_back(bufferType(builder.getI8Type()));
  types.push_back(MemRefType::get({3}, builder.getI64Type()));
  types.append(2, builder.getIndexType());
  function = create<func::FuncOp>(symbol, builder.getFunctionType(types, {}));
  Block *block = function.addEntryBlock();
  size_t count = slots.size();
  llvm::append_range(buffers, block->getArguments().take_front(count));
  llvm::append_range(symbolValues, block->getArguments().slice(count, symbols.size()));
  count += symbols.size();
  scratch = block->getArgument(count);
  check = block->getArgument(count + 1);
  builder.setInsertionPointToStart(block);
  scopes.push_back(nullptr);
  const Mapping::Tasks tasks =
      mapping.tasks(*this, {block->getArgument(count + 2), block->getArgument(count + 3)});
  begin = tasks.begin;
  end = tasks.end;
}

Value KernelBuilder::resultAsVectors(unsigned i, int64_t width) {
  auto type = cast<MemRefType>(result(i).getType());
  auto position = static_cast<unsigned>(slots.size());
  function.insertArgument(position, bufferType(VectorType::get({width}, type.getElementType())), {}, loc);
  slots.push_back(int64_t{fusion.getNumOperands()} + i);
  return function.getArgument(position);
}

void KernelBuilder::finish() {
  create<func::ReturnOp>();
  function->setAttr("weft.buffers", builder.getDenseI64ArrayAttr(slots));
}

void KernelBuilder::recordAlignments(const ir::Alignments &alignments) {
  auto bytesAttr = [&](int64_t bytes) { return builder.getI64IntegerAttr(bytes); };
  if (fusion.getKind() == ir::FusionKind::multi_tensor) {
    int64_t least = ir::widestAccess;
    for (Value value : fusion.getOperands())
      least = std::min(least, alignments.of(value));
    for (Value value : fusion.getResults())
      least = std::min(least, alignments.of(value));
    for (auto each : module->getOps<func::FuncOp>())
      if (each.getName().starts_with(bufferPrefix))
        each.setResultAttr(0, alignmentAttribute, bytesAttr(least));
    return;
  }
  for (auto [i, slot] : llvm::enumerate(slots)) {
    const auto position = static_cast<unsigned>(slot), operands = fusion.getNumOperands();
    Value value = position < operands ? fusion.getOperand(position) : fusion.getResult(position - operands);
    function.setArgAttr(static_cast<unsigned>(i), alignmentAttribute, bytesAttr(alignments.of(value)));
  }
}

int64_t KernelBuilder::checkOf(Operation *gather) const {
  int64_t number = firstCheck;
  for (Operation &op : *gather->getBlock()) {
    if (&op == gather)
      break;
    number += ir::checksIndex(&op);
  }
  return number;
}

Value KernelBuilder::index(ir::Size value) {
  lacksSize |= !value.isExpressible();
  if (!value.isSymbolic())
    return create<arith::ConstantIndexOp>(value.number().value_or(0));
  ir::DimExpr expr = value.expr();
  Value sum;
  for (const ir::DimTerm &term : expr.terms) {
    Value product;
    for (const std::string &symbol : term.symbols) {
      Value factor = symbolValues[llvm::find(symbols, symbol) - symbols.begin()];
      product = product ? create<arith::MulIOp>(product, factor).getResult() : factor;
    }
    product = product ? mul(product, term.coefficient) : index(term.coefficient);
    sum = sum ? add(sum, product) : product;
  }
  if (expr.divisor == 1)
    return sum;
  return create<arith::DivUIOp>(addIndex(sum, expr.divisor - 1), index(expr.divisor));
}

Value KernelBuilder::integer(ir::Size value) {
  if (value.isNumber())
    return create<arith::ConstantIntOp>(value.asNumber(), 64);
  return create<arith::IndexCastOp>(builder.getI64Type(), index(value));
}

Value KernelBuilder::addIndex(Value a, ir::Size b) { return b == 0 ? a : add(a, index(b)); }

Value KernelBuilder::mul(Value a, ir::Size b) {
  return b == 1 ? a : create<arith::MulIOp>(a, index(b)).getResult();
}

//===----------------------------------------------------------------------===//
// Loops and scopes
//===----------------------------------------------------------------------===//

void KernelBuilder::pushScope(Operation *anchor) {
  scopes.back() = anchor;
  scopes.push_back(nullptr);
}

void KernelBuilder::popScope() {
  for (BodyEmitter *emitter : emitters)
    emitter->dropScope(depth());
  scopes.pop_back();
  scopes.back() = nullptr;
}

void KernelBuilder::moveTo(unsigned depth) {
  for (unsigned d = depth; d + 1 < scopes.size(); ++d)
    if (scopes[d])
      return builder.setInsertionPoint(scopes[d]);
}

SmallVector<Value> KernelBuilder::forLoop(Value from, Value to, Value step, ValueRange initial, Body body) {
  auto loop = create<scf::ForOp>(from, to, step, initial);
  pushScope(loop);
  // Without carried values, the builder of scf.for has already made the terminator.
  if (initial.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty())
    create<scf::YieldOp>(next);
  popScope();
  builder.setInsertionPointAfter(loop);
  return llvm::to_vector(ValueRange(loop.getResults()));
}

void KernelBuilder::forLoop(Value from, Value to, Value step, llvm::function_ref<void(Value)> body) {
  forLoop(from, to, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

Value KernelBuilder::endOfVectors(Value low, Value high, int64_t lanes) {
  Value extent = create<arith::SubIOp>(high, low);
  extent = create<arith::MaxSIOp>(extent, index(0));
  Value rest = create<arith::RemUIOp>(extent, index(lanes));
  return add(low, create<arith::SubIOp>(extent, rest));
}

void KernelBuilder::rollLoop() {
  std::prev(builder.getInsertionPoint())->setAttr(rolledAttribute, builder.getUnitAttr());
}

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> body,
                           llvm::function_ref<void()> otherwise) {
  auto branch = create<scf::IfOp>(condition, static_cast<bool>(otherwise));
  auto fill = [&](Block *block, llvm::function_ref<void()> content) {
    pushScope(branch);
    builder.setInsertionPoint(block->getTerminator());
    content();
    popScope();
  };
  fill(branch.thenBlock(), body);
  if (otherwise)
    fill(branch.elseBlock(), otherwise);
  builder.setInsertionPointAfter(branch);
}

} // namespace weft::codegen
