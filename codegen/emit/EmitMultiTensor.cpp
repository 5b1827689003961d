//===- EmitMultiTensor.cpp - Optimiser steps over many tensors ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One launch updates all parameters; a task is a chunk of one tensor. The kernel reads its tensors from a
// table that the runtime passes (runtime/plan/StepTable.h), so one kernel serves any number of tensors of any
// sizes. Steps that differ only in their tensors form a group. Groups with the same op, element type and
// attributes share a function, whose arguments are the tensors, the bounds of the chunk and the numbers of
// the group (learning rate and the like). The numbers are computed in f64 once for each range of tasks, and
// then rounded.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/emit/StepGroups.h"
#include "codegen/kernel/KernelIR.h"

#include "ir/Schedule.h"
#include "runtime/plan/StepTable.h"

using namespace mlir;
namespace weft::codegen {

namespace {

/// Whether the steps have the operand `found_inf`, with which they leave everything unchanged.
bool isGuarded(const StepGroup &group) {
  if (auto adam = dyn_cast<ir::AdamStepOp>(group.first()))
    return static_cast<bool>(adam.getFoundInf());
  return static_cast<bool>(cast<ir::SgdStepOp>(group.first()).getFoundInf());
}

class MultiTensorEmitter {
public:
  explicit MultiTensorEmitter(KernelBuilder &kernel)
      : kernel(kernel), groups(stepGroups(kernel.fusion)), width(kernel.fusion.getSchedule()->getVector()),
        chunk(kernel.fusion.getSchedule()->number(ir::ScheduleField::chunk)) {}
  Status emit();

private:
  using Field = runtime::StepField;

  Value real(double value) { return kernel.create<arith::ConstantOp>(kernel.builder.getF64FloatAttr(value)); }
  Value rounded(Value number, Type type) {
    return type.isF64() ? number : kernel.create<arith::TruncFOp>(type, number).getResult();
  }
  Value isBelow(Value a, Value b) { return kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b); }

  func::FuncOp declare(const std::string &name, FunctionType type);
  Value size(Value position);
  Value field(Value row, Field which);
  Value tensor(const StepGroup &group, Value position);

  SmallVector<Value> numbers(const StepGroup &group, unsigned firstNumber);
  SmallVector<Value> adamNumbers(ir::AdamStepOp op, ValueRange in, Type type);
  SmallVector<Value> sgdNumbers(ValueRange in, Type type);
  Value firstRow(Value low, Value high);
  void emitRows(Value row, Value end, llvm::function_ref<void(Value row, Value firstTask)> body);
  void emitRow(const StepGroup &group, ValueRange numbers, Value row, Value firstTask);
  func::FuncOp functionOf(const StepGroup &group, ValueRange numbers);
  void emitStep(const StepGroup &group, func::FuncOp function);
  SmallVector<Value> adam(ir::AdamStepOp op, ValueRange in, ValueRange numbers);
  SmallVector<Value> sgd(ir::SgdStepOp op, ValueRange in, ValueRange numbers);

  Value add(Value a, Value b) { return kernel.create<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return kernel.create<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return kernel.create<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return kernel.create<arith::DivFOp>(a, b); }

  KernelBuilder &kernel;
  SmallVector<StepGroup> groups;
  int64_t width, chunk;
  std::map<std::string, func::FuncOp> functions;
};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

func::FuncOp MultiTensorEmitter::declare(const std::string &name, FunctionType type) {
  if (auto known = kernel.module->lookupSymbol<func::FuncOp>(name))
    return known;
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.builder.setInsertionPointToStart(kernel.module->getBody());
  auto function = kernel.create<func::FuncOp>(name, type);
  function.setPrivate();
  return function;
}

/// The integer at `position` in the table.
Value MultiTensorEmitter::size(Value position) {
  Type index = kernel.builder.getIndexType();
  func::FuncOp function = declare(sizeFunction.str(), kernel.builder.getFunctionType(index, index));
  return kernel.create<func::CallOp>(function, position).getResult(0);
}

Value MultiTensorEmitter::field(Value row, Field which) {
  Value position = kernel.mul(row, static_cast<int64_t>(Field::count));
  return size(kernel.addIndex(position, static_cast<int64_t>(groups.size()) + static_cast<int64_t>(which)));
}

/// The tensor at `position` among the launch's buffers, of the group's element type.
Value MultiTensorEmitter::tensor(const StepGroup &group, Value position) {
  Type element = group.elementType();
  std::string name = bufferPrefix.str();
  llvm::raw_string_ostream(name) << element;
  auto type = MemRefType::get({ShapedType::kDynamic}, KernelBuilder::memoryType(element));
  func::FuncOp function = declare(name, kernel.builder.getFunctionType(position.getType(), type));
  return kernel.create<func::CallOp>(function, position).getResult(0);
}

//===----------------------------------------------------------------------===//
// The numbers of a step
//===----------------------------------------------------------------------===//

/// The arguments of the group's function after tensors and bounds. If the group is guarded, the last one
/// tells whether to leave everything unchanged. `firstNumber`: the kernel's operand with the first number of
/// the group.
SmallVector<Value> MultiTensorEmitter::numbers(const StepGroup &group, unsigned firstNumber) {
  SmallVector<Value> in;
  for (unsigned i = 0; i < group.numbers().size(); ++i)
    in.push_back(kernel.create<memref::LoadOp>(kernel.operand(firstNumber + i), ValueRange{kernel.index(0)}));
  Type type = ir::accumulatorType(group.elementType());
  auto adam = dyn_cast<ir::AdamStepOp>(group.first());
  SmallVector<Value> numbers = adam ? adamNumbers(adam, in, type) : sgdNumbers(in, type);
  if (isGuarded(group)) {
    Value zero = kernel.create<arith::ConstantIntOp>(0, 8);
    numbers.push_back(kernel.create<arith::CmpIOp>(arith::CmpIPredicate::ne, in.back(), zero));
  }
  return numbers;
}

/// decay, or 1 - lr decay; 1 - beta1; beta2; 1 - beta2; lr / (1 - beta1^t); sqrt(1 - beta2^t); eps
SmallVector<Value> MultiTensorEmitter::adamNumbers(ir::AdamStepOp op, ValueRange in, Type type) {
  auto power = [&](Value a, Value b) -> Value { return kernel.create<math::PowFOp>(a, b); };
  Value one = real(1), step = in[0], lr = in[1], beta1 = in[2], beta2 = in[3], eps = in[4], decay = in[5];
  Value t = kernel.create<arith::SIToFPOp>(kernel.builder.getF64Type(), step);
  t = add(t, one);
  Value correction = kernel.create<math::SqrtOp>(sub(one, power(beta2, t)));
  SmallVector<Value> numbers{op.getDecoupled() ? sub(one, mul(lr, decay)) : decay,
                             sub(one, beta1),
                             beta2,
                             sub(one, beta2),
                             div(lr, sub(one, power(beta1, t))),
                             correction,
                             eps};
  for (Value &number : numbers)
    number = rounded(number, type);
  return numbers;
}

/// lr, decay, momentum, 1 - dampening, and whether this is the first step
SmallVector<Value> MultiTensorEmitter::sgdNumbers(ValueRange in, Type type) {
  Value step = in[0], lr = in[1], momentum = in[2], dampening = in[3], decay = in[4];
  Value keep = sub(real(1), dampening);
  SmallVector<Value> numbers{lr, decay, momentum, keep};
  for (Value &number : numbers)
    number = rounded(number, type);
  Value zero = kernel.create<arith::ConstantIntOp>(0, 64);
  numbers.push_back(kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, step, zero));
  return numbers;
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

/// p, g, m, v[, vmax] to p', m', v'[, vmax']
SmallVector<Value> MultiTensorEmitter::adam(ir::AdamStepOp op, ValueRange in, ValueRange n) {
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
  results[0] = sub(p, mul(n[0], d));
  return results;
}

void MultiTensorEmitter::emitStep(const StepGroup &group, func::FuncOp function) {
  Block *block = function.addEntryBlock();
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.builder.setInsertionPointToStart(block);
  ValueRange arguments = block->getArguments();
  ValueRange sources = arguments.take_front(group.reads),
             targets = arguments.slice(group.reads, group.writes),
             numbers = arguments.drop_front(group.reads + group.writes + 2);
  Value low = arguments[group.reads + group.writes], high = arguments[group.reads + group.writes + 1];
  Type element = group.elementType(), wide = ir::accumulatorType(element);
  // The schedule's `vector` counts elements of four bytes, so a register holds half as many f64.
  int64_t lanes = wide.isF64() ? std::max<int64_t>(width / 2, 1) : width;
  kernel.parallelFor(low, high, lanes, /*exact=*/false, [&](Value at, bool vector) {
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
    auto adamStep = dyn_cast<ir::AdamStepOp>(group.first());
    SmallVector<Value> out =
        adamStep ? adam(adamStep, in, n) : sgd(cast<ir::SgdStepOp>(group.first()), in, n);
    if (isGuarded(group)) {
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

/// The function of all groups with the op, element type and attributes of this one.
func::FuncOp MultiTensorEmitter::functionOf(const StepGroup &group, ValueRange numbers) {
  std::string key;
  llvm::raw_string_ostream(key) << group.first()->getName() << ' ' << group.elementType() << ' '
                                << group.first()->getAttrDictionary();
  func::FuncOp &function = functions[key];
  if (function)
    return function;
  SmallVector<Type> types(group.reads + group.writes,
                          MemRefType::get({ShapedType::kDynamic}, group.elementType()));
  types.append(2, kernel.builder.getIndexType());
  llvm::append_range(types, numbers.getTypes());
  {
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPoint(kernel.function);
    std::string name =
        (isa<ir::AdamStepOp>(group.first()) ? "adam_step" : "sgd_step") + std::to_string(functions.size());
    function = kernel.create<func::FuncOp>(name, kernel.builder.getFunctionType(types, {}));
    function.setPrivate();
    function->setAttr("passthrough", kernel.builder.getStrArrayAttr({"noinline"}));
  }
  emitStep(group, function);
  return function;
}

//===----------------------------------------------------------------------===//
// The steps of a range of tasks
//===----------------------------------------------------------------------===//

/// Searches for the first row in [low, high) whose tasks end after `begin`; `high` if there is none.
Value MultiTensorEmitter::firstRow(Value low, Value high) {
  OpBuilder::InsertionGuard guard(kernel.builder);
  Type index = kernel.builder.getIndexType();
  auto search = kernel.create<scf::WhileOp>(
      TypeRange{index, index}, ValueRange{low, high},
      [&](OpBuilder &b, Location loc, ValueRange range) {
        Value open = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, range[0], range[1]);
        b.create<scf::ConditionOp>(loc, open, range);
      },
      [&](OpBuilder &b, Location loc, ValueRange range) {
        kernel.builder.setInsertionPointToEnd(b.getInsertionBlock());
        Value sum = kernel.add(range[0], range[1]);
        Value middle = kernel.create<arith::DivUIOp>(sum, kernel.index(2)), next = kernel.addIndex(middle, 1);
        Value before = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sle, field(next, Field::firstTask),
                                                    kernel.begin);
        Value from = kernel.create<arith::SelectOp>(before, next, range[0]);
        Value to = kernel.create<arith::SelectOp>(before, range[1], middle);
        kernel.create<scf::YieldOp>(ValueRange{from, to});
      });
  return search.getResult(0);
}

/// Emits a loop over the rows from `row` to `end` whose first task is below the kernel's `end`.
void MultiTensorEmitter::emitRows(Value row, Value end,
                                  llvm::function_ref<void(Value row, Value firstTask)> body) {
  OpBuilder::InsertionGuard guard(kernel.builder);
  Type index = kernel.builder.getIndexType();
  kernel.create<scf::WhileOp>(
      TypeRange{index, index}, ValueRange{row},
      [&](OpBuilder &b, Location, ValueRange at) {
        kernel.builder.setInsertionPointToEnd(b.getInsertionBlock());
        // The table has one row after the last step, of which only the first task is set.
        Value firstTask = field(at[0], Field::firstTask);
        Value more = kernel.create<arith::AndIOp>(isBelow(at[0], end), isBelow(firstTask, kernel.end));
        kernel.create<scf::ConditionOp>(more, ValueRange{at[0], firstTask});
      },
      [&](OpBuilder &b, Location, ValueRange at) {
        kernel.builder.setInsertionPointToEnd(b.getInsertionBlock());
        body(at[0], at[1]);
        kernel.create<scf::YieldOp>(kernel.addIndex(at[0], 1));
      });
}

/// Emits the part of one step that lies in the kernel's range of tasks.
void MultiTensorEmitter::emitRow(const StepGroup &group, ValueRange numbers, Value row, Value firstTask) {
  Value nextTask = field(kernel.addIndex(row, 1), Field::firstTask);
  Value from = kernel.create<arith::MaxSIOp>(kernel.begin, firstTask),
        to = kernel.minimum(kernel.end, nextTask);
  Value low = kernel.mul(kernel.create<arith::SubIOp>(from, firstTask), chunk);
  Value high = kernel.minimum(kernel.mul(kernel.create<arith::SubIOp>(to, firstTask), chunk),
                              field(row, Field::elements));
  SmallVector<Value> arguments;
  for (auto [begin, count] : {std::pair(Field::reads, group.reads), std::pair(Field::writes, group.writes)}) {
    Value position = field(row, begin);
    for (unsigned i = 0; i < count; ++i)
      arguments.push_back(tensor(group, kernel.addIndex(position, i)));
  }
  arguments.append({low, high});
  llvm::append_range(arguments, numbers);
  kernel.create<func::CallOp>(functionOf(group, numbers), arguments);
}

Status MultiTensorEmitter::emit() {
  unsigned firstNumber = 0;
  Value low = kernel.index(0);
  for (auto [i, group] : llvm::enumerate(groups)) {
    Value high = size(kernel.index(static_cast<int64_t>(i)));
    Value row = firstRow(low, high);
    Value some =
        kernel.create<arith::AndIOp>(isBelow(row, high), isBelow(field(row, Field::firstTask), kernel.end));
    kernel.ifThen(some, [&] {
      const Mapping::State values =
          kernel.mapping.once(kernel, [&] { return Mapping::State(numbers(group, firstNumber)); });
      emitRows(row, high, [&](Value at, Value firstTask) { emitRow(group, values, at, firstTask); });
    });
    firstNumber += group.numbers().size();
    low = high;
  }
  return {};
}

} // namespace

Status detail::emitMultiTensor(KernelBuilder &kernel) { return MultiTensorEmitter(kernel).emit(); }

} // namespace weft::codegen
