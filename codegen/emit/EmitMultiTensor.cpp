//===- EmitMultiTensor.cpp - Optimiser steps over many tensors ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One launch for all parameters: a task is a chunk of one tensor. Steps that differ in nothing but their
// tensors share a function, which gets the chunk's bounds and the step's numbers. Those are computed in f64
// once a call and rounded last.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/Loops.h"

#include "ir/Schedule.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace weft::codegen {

namespace {

/// What a function of one step needs: tensors read, tensors written, numbers.
struct StepCall {
  Operation *op = nullptr;
  SmallVector<Value> reads, writes, numbers;
  bool guarded = false; ///< the last number says whether to leave everything as it is
};

class MultiTensorEmitter {
public:
  explicit MultiTensorEmitter(KernelBuilder &kernel)
      : kernel(kernel), width(kernel.fusion.getSchedule()->getVector()),
        chunk(kernel.fusion.getSchedule()->number(ir::ScheduleField::chunk)) {}
  Status emit();

private:
  Value scalar(Value operand);
  Value skipped(Value foundInf);
  Value real(double value) { return kernel.create<arith::ConstantOp>(kernel.builder.getF64FloatAttr(value)); }
  Value rounded(Value number, Type type) {
    return type.isF64() ? number : kernel.create<arith::TruncFOp>(type, number).getResult();
  }
  SmallVector<Value> adamNumbers(ir::AdamStepOp op, Type type);
  SmallVector<Value> sgdNumbers(ir::SgdStepOp op, Type type);
  func::FuncOp functionOf(const StepCall &call);
  void emitStep(const StepCall &call, func::FuncOp function);
  SmallVector<Value> adam(ir::AdamStepOp op, ValueRange in, ValueRange numbers);
  SmallVector<Value> sgd(ir::SgdStepOp op, ValueRange in, ValueRange numbers);

  KernelBuilder &kernel;
  int64_t width, chunk;
  std::map<std::string, func::FuncOp> functions;
  std::map<std::vector<const void *>, SmallVector<Value>> numbersOf;
  llvm::DenseMap<Value, Value> scalars;
};

unsigned argumentOf(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

/// A number of the step, from memory.
Value MultiTensorEmitter::scalar(Value operand) {
  Value &known = scalars[operand];
  if (!known)
    known = kernel.create<memref::LoadOp>(kernel.operand(argumentOf(operand)), ValueRange{kernel.index(0)});
  return known;
}

/// decay, or 1 - lr decay; 1 - beta1; beta2; 1 - beta2; lr / (1 - beta1^t); sqrt(1 - beta2^t); eps
SmallVector<Value> MultiTensorEmitter::adamNumbers(ir::AdamStepOp op, Type type) {
  auto sub = [&](Value a, Value b) -> Value { return kernel.create<arith::SubFOp>(a, b); };
  auto mul = [&](Value a, Value b) -> Value { return kernel.create<arith::MulFOp>(a, b); };
  auto div = [&](Value a, Value b) -> Value { return kernel.create<arith::DivFOp>(a, b); };
  auto power = [&](Value a, Value b) -> Value { return kernel.create<math::PowFOp>(a, b); };
  Value one = real(1), lr = scalar(op.getLr()), beta1 = scalar(op.getBeta1()), beta2 = scalar(op.getBeta2());
  Value t = kernel.create<arith::SIToFPOp>(kernel.builder.getF64Type(), scalar(op.getStep()));
  t = kernel.create<arith::AddFOp>(t, one);
  Value decay = scalar(op.getDecay());
  Value correction = kernel.create<math::SqrtOp>(sub(one, power(beta2, t)));
  SmallVector<Value> numbers{op.getDecoupled() ? sub(one, mul(lr, decay)) : decay,
                             sub(one, beta1),
                             beta2,
                             sub(one, beta2),
                             div(lr, sub(one, power(beta1, t))),
                             correction,
                             scalar(op.getEps())};
  for (Value &number : numbers)
    number = rounded(number, type);
  return numbers;
}

/// Whether the step is not to be done; null where nothing can say so.
Value MultiTensorEmitter::skipped(Value foundInf) {
  if (!foundInf)
    return {};
  Value byte = scalar(foundInf);
  Value zero = kernel.create<arith::ConstantIntOp>(0, 8);
  return kernel.create<arith::CmpIOp>(arith::CmpIPredicate::ne, byte, zero);
}

/// lr, decay, momentum, 1 - dampening, and whether it is the first step
SmallVector<Value> MultiTensorEmitter::sgdNumbers(ir::SgdStepOp op, Type type) {
  Value keep = kernel.create<arith::SubFOp>(real(1), scalar(op.getDampening()));
  SmallVector<Value> numbers{scalar(op.getLr()), scalar(op.getDecay()), scalar(op.getMomentum()), keep};
  for (Value &number : numbers)
    number = rounded(number, type);
  Value zero = kernel.create<arith::ConstantIntOp>(0, 64);
  numbers.push_back(kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, scalar(op.getStep()), zero));
  return numbers;
}

/// p, g, m, v[, vmax] to p', m', v'[, vmax']
SmallVector<Value> MultiTensorEmitter::adam(ir::AdamStepOp op, ValueRange in, ValueRange n) {
  auto add = [&](Value a, Value b) -> Value { return kernel.create<arith::AddFOp>(a, b); };
  auto sub = [&](Value a, Value b) -> Value { return kernel.create<arith::SubFOp>(a, b); };
  auto mul = [&](Value a, Value b) -> Value { return kernel.create<arith::MulFOp>(a, b); };
  auto div = [&](Value a, Value b) -> Value { return kernel.create<arith::DivFOp>(a, b); };
  Value p = in[0], g = in[1], m = in[2], v = in[3];
  if (op.getMaximize())
    g = kernel.create<arith::NegFOp>(g);
  if (op.getDecoupled())
    p = mul(p, n[0]);
  else
    g = add(g, mul(n[0], p));
  Value first = add(m, mul(n[1], sub(g, m)));
  Value second = add(mul(n[2], v), mul(mul(n[3], g), g));
  SmallVector<Value> results{Value(), first, second};
  if (op.getVmax()) {
    second = kernel.create<arith::MaximumFOp>(in[4], second);
    results.push_back(second);
  }
  Value scale = add(div(kernel.create<math::SqrtOp>(second), n[5]), n[6]);
  results[0] = sub(p, div(mul(n[4], first), scale));
  return results;
}

/// p, g[, buf] to p'[, buf']
SmallVector<Value> MultiTensorEmitter::sgd(ir::SgdStepOp op, ValueRange in, ValueRange n) {
  auto add = [&](Value a, Value b) -> Value { return kernel.create<arith::AddFOp>(a, b); };
  auto mul = [&](Value a, Value b) -> Value { return kernel.create<arith::MulFOp>(a, b); };
  Value p = in[0], g = in[1];
  if (op.getMaximize())
    g = kernel.create<arith::NegFOp>(g);
  Value d = add(g, mul(n[1], p));
  SmallVector<Value> results{Value()};
  if (op.getBuf()) {
    Value next = add(mul(n[2], in[2]), mul(n[3], d));
    next = kernel.create<arith::SelectOp>(n[4], d, next);
    results.push_back(next);
    d = op.getNesterov() ? add(d, mul(n[2], next)) : next;
  }
  results[0] = kernel.create<arith::SubFOp>(p, mul(n[0], d));
  return results;
}

void MultiTensorEmitter::emitStep(const StepCall &call, func::FuncOp function) {
  Block *block = function.addEntryBlock();
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.builder.setInsertionPointToStart(block);
  size_t reads = call.reads.size(), writes = call.writes.size();
  ValueRange arguments = block->getArguments();
  ValueRange sources = arguments.take_front(reads), targets = arguments.slice(reads, writes),
             numbers = arguments.drop_front(reads + writes + 2);
  Value low = arguments[reads + writes], high = arguments[reads + writes + 1];
  Type element = getElementTypeOrSelf(call.op->getOperand(0).getType()), wide = ir::accumulatorType(element);
  // The schedule counts elements of four bytes: steps in f64 take registers of the same size.
  int64_t lanes = wide.isF64() ? std::max<int64_t>(width / 2, 1) : width;
  strip(kernel, low, high, lanes, /*exact=*/false, [&](Value at, bool vector) {
    Type type = vector ? Type(VectorType::get({lanes}, element)) : element;
    Type wideType = ir::withElement(type, wide);
    auto widen = [&](Value value) -> Value {
      return element == wide ? value : kernel.create<arith::ExtFOp>(wideType, value).getResult();
    };
    SmallVector<Value> in, n;
    for (Value source : sources)
      in.push_back(widen(vector
                             ? kernel.create<vector::LoadOp>(cast<VectorType>(type), source, at).getResult()
                             : kernel.create<memref::LoadOp>(source, at).getResult()));
    for (Value number : numbers)
      n.push_back(vector && !number.getType().isInteger(1)
                      ? kernel.create<vector::BroadcastOp>(cast<VectorType>(wideType), number).getResult()
                      : number);
    auto adamStep = dyn_cast<ir::AdamStepOp>(call.op);
    SmallVector<Value> out = adamStep ? adam(adamStep, in, n) : sgd(cast<ir::SgdStepOp>(call.op), in, n);
    if (call.guarded) {
      SmallVector<Value> before(in);
      before.erase(before.begin() + 1); // the gradient, which has no new value
      for (auto [value, old] : llvm::zip(out, before))
        value = kernel.create<arith::SelectOp>(n.back(), old, value);
    }
    for (auto [value, target] : llvm::zip(out, targets)) {
      if (element != wide)
        value = kernel.create<arith::TruncFOp>(type, value);
      if (vector)
        kernel.create<vector::StoreOp>(value, target, at);
      else
        kernel.create<memref::StoreOp>(value, target, at);
    }
  });
  kernel.create<func::ReturnOp>();
}

/// The function of all steps that are like this one but for their tensors.
func::FuncOp MultiTensorEmitter::functionOf(const StepCall &call) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << call.op->getName() << ' ' << getElementTypeOrSelf(call.op->getOperand(0).getType()) << ' '
     << call.reads.size() << call.guarded;
  if (auto adam = dyn_cast<ir::AdamStepOp>(call.op))
    os << adam.getDecoupled() << adam.getMaximize();
  else if (auto sgd = dyn_cast<ir::SgdStepOp>(call.op))
    os << sgd.getNesterov() << sgd.getMaximize();
  func::FuncOp &function = functions[os.str()];
  if (function)
    return function;
  SmallVector<Type> types;
  for (ValueRange values : {ValueRange(call.reads), ValueRange(call.writes)})
    llvm::append_range(types, values.getTypes());
  types.append(2, kernel.builder.getIndexType());
  llvm::append_range(types, ValueRange(call.numbers).getTypes());
  {
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPoint(kernel.function);
    std::string name =
        (isa<ir::AdamStepOp>(call.op) ? "adam_step" : "sgd_step") + std::to_string(functions.size());
    function = kernel.create<func::FuncOp>(name, kernel.builder.getFunctionType(types, {}));
    function.setPrivate();
    function->setAttr("passthrough", kernel.builder.getStrArrayAttr({"noinline"}));
  }
  emitStep(call, function);
  return function;
}

Status MultiTensorEmitter::emit() {
  ir::FusionOp fusion = kernel.fusion;
  Operation *yield = fusion.getBody().front().getTerminator();
  // Where each result of a step goes.
  llvm::DenseMap<Value, unsigned> targets;
  for (auto [i, value] : llvm::enumerate(yield->getOperands()))
    targets[value] = static_cast<unsigned>(i);
  int64_t firstTask = 0;
  Value tasksBefore; // and firstTask more, where tensors before have dynamic sizes
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    StepCall call;
    call.op = &op;
    auto adam = dyn_cast<ir::AdamStepOp>(op);
    unsigned tensors = adam ? (adam.getVmax() ? 5 : 4) : (cast<ir::SgdStepOp>(op).getBuf() ? 3 : 2);
    for (unsigned i = 0; i < tensors; ++i)
      call.reads.push_back(kernel.operand(argumentOf(op.getOperand(i))));
    for (Value result : op.getResults())
      call.writes.push_back(kernel.result(targets.lookup(result)));
    auto type = cast<RankedTensorType>(op.getOperand(0).getType());
    Type wide = ir::accumulatorType(type.getElementType());
    std::vector<const void *> key{wide.getAsOpaquePointer(), op.getName().getAsOpaquePointer(),
                                  op.getAttr("decoupled").getAsOpaquePointer()};
    for (Value operand : op.getOperands().drop_front(tensors))
      key.push_back(operand.getAsOpaquePointer());
    auto [numbers, isNew] = numbersOf.try_emplace(std::move(key));
    Value foundInf = adam ? adam.getFoundInf() : cast<ir::SgdStepOp>(op).getFoundInf();
    call.guarded = static_cast<bool>(foundInf);
    if (isNew) {
      numbers->second = adam ? adamNumbers(adam, wide) : sgdNumbers(cast<ir::SgdStepOp>(op), wide);
      if (foundInf)
        numbers->second.push_back(skipped(foundInf));
    }
    call.numbers = numbers->second;

    ir::Size count = ir::elementsOf(type), tasks = ir::ceilDiv(count, chunk);
    if (tasks == 0)
      continue;
    Value first = kernel.index(firstTask), last;
    if (tasksBefore)
      first = kernel.addIndex(tasksBefore, firstTask);
    if (!tasks.isNumber()) {
      last = tasksBefore = kernel.addIndex(first, tasks);
      firstTask = 0;
    } else {
      firstTask += tasks.asNumber();
      last = tasksBefore ? kernel.addIndex(tasksBefore, firstTask) : kernel.index(firstTask);
    }
    Value from = kernel.create<arith::MaxSIOp>(kernel.begin, first), to = kernel.minimum(kernel.end, last);
    Value some = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, from, to);
    func::FuncOp function = functionOf(call);
    kernel.ifThen(some, [&] {
      Value low = kernel.mul(kernel.create<arith::SubIOp>(from, first), chunk);
      Value high =
          kernel.minimum(kernel.mul(kernel.create<arith::SubIOp>(to, first), chunk), kernel.index(count));
      SmallVector<Value> arguments(call.reads);
      llvm::append_range(arguments, call.writes);
      arguments.append({low, high});
      llvm::append_range(arguments, call.numbers);
      kernel.create<func::CallOp>(function, arguments);
    });
  }
  return {};
}

} // namespace

Status detail::emitMultiTensor(KernelBuilder &kernel) { return MultiTensorEmitter(kernel).emit(); }

} // namespace weft::codegen
