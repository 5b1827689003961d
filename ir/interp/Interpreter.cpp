//===- Interpreter.cpp - Walks functions and fusions -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/interp/Interpreter.h"
#include "ir/FunctionAttributes.h"
#include "ir/Loops.h"
#include "ir/Placement.h"
#include "ir/interp/Rules.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
namespace weft::ir {

namespace {

/// The values of one block that are still needed. A value is dropped when its last use has been executed.
class Scope {
public:
  void define(Value value, Literal literal) {
    int64_t uses = std::distance(value.use_begin(), value.use_end());
    if (uses > 0)
      entries.try_emplace(value, Entry{std::move(literal), uses});
  }

  /// The operands of an op. They stay valid until `define` or `release`.
  FailureOr<SmallVector<const Literal *>> operandsOf(Operation *op) {
    SmallVector<const Literal *> result;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      auto entry = entries.find(operand);
      if (entry == entries.end())
        return op->emitOpError() << "operand " << i
                                 << " has no value here: verify the module before running it";
      result.push_back(&entry->second.literal);
    }
    return result;
  }

  /// Counts the op's uses of its operands as done.
  void release(Operation *op) {
    for (Value operand : op->getOperands()) {
      auto entry = entries.find(operand);
      if (entry != entries.end() && --entry->second.remainingUses == 0)
        entries.erase(entry);
    }
  }

private:
  struct Entry {
    Literal literal;
    int64_t remainingUses;
  };
  llvm::DenseMap<Value, Entry> entries;
};

std::string describe(DType dtype, ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << StringRef(name(dtype)) << '[';
  llvm::interleave(shape, os, "x");
  os << ']';
  return text;
}

/// Zeros of the types of the op's results.
FailureOr<SmallVector<Literal>> makeResults(Operation *op, int64_t maxElements) {
  SmallVector<Literal> results;
  for (Type type : op->getResultTypes()) {
    if (isa<TokenType, EventType>(type)) {
      results.emplace_back(DType::i1, ArrayRef<int64_t>{0}); // tokens and events have no content
      continue;
    }
    if (!isWeftTensor(type) || !cast<RankedTensorType>(type).hasStaticShape())
      return op->emitOpError() << "has a result of type " << type << ", which cannot be interpreted";
    auto tensor = cast<RankedTensorType>(type);
    int64_t count = 1;
    for (int64_t size : tensor.getShape())
      if (llvm::MulOverflow(count, size, count))
        count = std::numeric_limits<int64_t>::max();
    if (count > maxElements)
      return op->emitOpError() << "has a result of " << count << " elements; the interpreter's limit is "
                               << maxElements;
    results.emplace_back(tensor);
  }
  return results;
}

/// A 0-dimensional tensor repeated over a shape.
Literal stretch(const Literal &scalar, ArrayRef<int64_t> shape) {
  Literal literal(scalar.dtype, shape);
  if (scalar.isReal())
    literal.real.assign(literal.count(), scalar.real[0]);
  else
    literal.whole.assign(literal.count(), scalar.whole[0]);
  return literal;
}

/// Runs an op by its own reference rule.
LogicalResult execute(InterpretableOp op, Scope &scope, int64_t maxElements) {
  auto operands = scope.operandsOf(op);
  if (failed(operands))
    return failure();
  auto results = makeResults(op, maxElements);
  if (failed(results))
    return failure();
  // A scalar on the host among operands on another device is repeated for every element.
  SmallVector<Literal, 2> stretched;
  stretched.reserve(operands->size());
  if (isa<ElementwiseOp>(op.getOperation()))
    for (auto [i, operand] : llvm::enumerate(*operands))
      if (isHostOperand(op, static_cast<unsigned>(i)))
        operand = &stretched.emplace_back(stretch(*operand, results->front().shape));
  if (failed(op.interpret(*operands, *results)))
    return failure();
  scope.release(op);
  for (auto [value, literal] : llvm::zip_equal(op->getResults(), *results))
    scope.define(value, std::move(literal));
  return success();
}

Literal scalar(int64_t value) {
  Literal literal(DType::i64, {});
  literal.whole[0] = value;
  return literal;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Runs a function and those that it calls. Active calls are on an explicit stack, so that no depth of calls
/// overflows the process's stack.
class Interpreter {
public:
  explicit Interpreter(InterpreterOptions &options)
      : maxElements(options.maxElements), generators(options.generators) {}
  /// For the body of a loop, which has no generators.
  explicit Interpreter(int64_t maxElements) : maxElements(maxElements) {}

  FailureOr<SmallVector<Literal>> run(FuncOp function, ArrayRef<Literal> arguments) {
    SmallVector<const Literal *> pointers;
    for (const Literal &argument : arguments)
      pointers.push_back(&argument);
    if (failed(enter(function, pointers, nullptr)))
      return failure();
    for (;;) {
      Frame &frame = frames.back();
      Operation *op = &*frame.next++;
      if (auto call = dyn_cast<CallOp>(op)) {
        if (failed(enterCallee(call, frame.scope)))
          return failure();
      } else if (isa<ReturnOp>(op)) {
        auto values = frame.scope.operandsOf(op);
        if (failed(values))
          return failure();
        SmallVector<Literal> results;
        for (const Literal *value : *values)
          results.push_back(*value);
        Operation *caller = frame.caller;
        active.erase(frame.function);
        frames.pop_back();
        if (!caller)
          return results;
        finishCall(caller, frames.back().scope, results);
      } else if (failed(step(op, frame.scope))) {
        return failure();
      }
    }
  }

  llvm::StringMap<GeneratorState> takeGenerators() { return std::move(generators); }

private:
  struct Frame {
    FuncOp function;
    Block::iterator next;
    Scope scope;
    Operation *caller;
  };

  /// Begins a function; `caller` is the call, or null at the outermost.
  LogicalResult enter(FuncOp function, ArrayRef<const Literal *> arguments, Operation *caller) {
    auto error = [&]() {
      return (caller ? caller->emitOpError() : function.emitOpError()) << "'" << function.getName() << "' ";
    };
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
      return error() << "has no body of one block to interpret";
    Block &block = function.getBody().front();
    if (!block.mightHaveTerminator() || !isa<ReturnOp>(block.back()))
      return error() << "does not end in weft.return";
    if (arguments.size() != block.getNumArguments())
      return error() << "takes " << block.getNumArguments() << " arguments, found " << arguments.size();
    Scope scope;
    for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
      if (!isWeftTensor(argument.getType()))
        return error() << "argument " << i << " has type " << argument.getType()
                       << ", which cannot be interpreted";
      auto type = cast<RankedTensorType>(argument.getType());
      const Literal literal = inStorage(function, static_cast<unsigned>(i), *arguments[i]);
      if (literal.dtype != dtypeOf(type) || ArrayRef(literal.shape) != type.getShape())
        return error() << "argument " << i << " is " << describe(literal.dtype, literal.shape)
                       << ", expected " << describe(dtypeOf(type), type.getShape());
      scope.define(argument, literal);
    }
    active.insert(function);
    frames.push_back({function, block.begin(), std::move(scope), caller});
    return success();
  }

  /// An argument that a caller passes with strides, as the row-major memory that `weft-normalize-layouts`
  /// makes of it.
  static Literal inStorage(FuncOp function, unsigned argument, const Literal &given) {
    auto strides = function.getArgAttrOfType<DenseI64ArrayAttr>(argument, attr::strides);
    auto shape = function.getArgAttrOfType<DenseI64ArrayAttr>(argument, attr::callerShape);
    if (!strides || !shape || shape.asArrayRef() != ArrayRef(given.shape))
      return given;
    Literal storage(given.dtype, cast<RankedTensorType>(function.getArgumentTypes()[argument]).getShape());
    forEachIndex(given.shape, [&](ArrayRef<int64_t> position, int64_t linear) {
      int64_t at = 0;
      for (auto [index, stride] : llvm::zip_equal(position, strides.asArrayRef()))
        at += index * stride;
      copyElement(storage, at, given, linear);
    });
    return storage;
  }

  LogicalResult enterCallee(CallOp call, Scope &scope) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<FuncOp>(call, call.getCalleeAttr());
    if (!callee)
      return call.emitOpError() << "'" << call.getCallee() << "' is no function of this module";
    if (active.contains(callee))
      return call.emitOpError() << "'" << call.getCallee() << "' calls itself, so that it would never end";
    auto operands = scope.operandsOf(call);
    // The callee gets copies: `enter` may move the frames, and the caller may still need the values.
    return failed(operands) ? failure() : enter(callee, *operands, call);
  }

  static void finishCall(Operation *call, Scope &scope, MutableArrayRef<Literal> results) {
    scope.release(call);
    for (auto [value, literal] : llvm::zip_equal(call->getResults(), results))
      scope.define(value, std::move(literal));
  }

  /// Runs the body once for each trip.
  LogicalResult runScan(ScanOp scan, Scope &scope) {
    FuncOp body = scan.findBody();
    if (!body)
      return scan.emitOpError() << "'" << scan.getBody() << "' is no function of this module";
    auto operands = scope.operandsOf(scan);
    auto results = makeResults(scan, maxElements);
    if (failed(operands) || failed(results))
      return failure();
    const size_t carries = scan.getCarries().size(), rows = carries + scan.getXs().size();
    SmallVector<Literal> arguments;
    for (auto [i, operand] : llvm::enumerate(*operands))
      arguments.push_back(i < carries || i >= rows
                              ? *operand
                              : Literal(operand->dtype, ArrayRef(operand->shape).drop_front()));
    for (size_t i = 0; i < carries; ++i)
      (*results)[i] = *(*operands)[i];
    const auto length = static_cast<int64_t>(scan.getLength());
    for (int64_t trip = 0; trip < length; ++trip) {
      const int64_t row = scan.getReverse() ? length - 1 - trip : trip;
      for (size_t i = carries; i < rows; ++i)
        for (int64_t j = 0, count = arguments[i].count(); j < count; ++j)
          copyElement(arguments[i], j, *(*operands)[i], row * count + j);
      Interpreter inner(maxElements);
      auto returned = inner.run(body, arguments);
      if (failed(returned))
        return failure();
      for (auto [i, value] : llvm::enumerate(*returned)) {
        if (i < carries)
          arguments[i] = (*results)[i] = value;
        else
          for (int64_t j = 0, count = value.count(); j < count; ++j)
            copyElement((*results)[i], row * count + j, value, j);
      }
    }
    finishCall(scan, scope, *results);
    return success();
  }

  /// Runs a function of the module on values.
  FailureOr<SmallVector<Literal>> runBody(Operation *op, FlatSymbolRefAttr name, ArrayRef<Literal> values) {
    auto body = SymbolTable::lookupNearestSymbolFrom<FuncOp>(op, name);
    if (!body)
      return op->emitOpError() << "'" << name.getValue() << "' is no function of this module";
    Interpreter inner(maxElements);
    return inner.run(body, values);
  }

  LogicalResult runCond(CondOp cond, Scope &scope) {
    auto operands = scope.operandsOf(cond);
    if (failed(operands))
      return failure();
    SmallVector<Literal> inputs;
    for (const Literal *operand : ArrayRef(*operands).drop_front())
      inputs.push_back(*operand);
    const bool taken = operands->front()->whole[0] != 0;
    auto returned = runBody(cond, taken ? cond.getThenBodyAttr() : cond.getElseBodyAttr(), inputs);
    if (failed(returned))
      return failure();
    finishCall(cond, scope, *returned);
    return success();
  }

  LogicalResult runWhile(WhileOp loop, Scope &scope) {
    auto operands = scope.operandsOf(loop);
    if (failed(operands))
      return failure();
    SmallVector<Literal> values;
    for (const Literal *operand : *operands)
      values.push_back(*operand);
    const size_t carries = loop.getCarries().size();
    for (;;) {
      auto goesOn = runBody(loop, loop.getConditionAttr(), values);
      if (failed(goesOn))
        return failure();
      if (goesOn->front().whole[0] == 0)
        break;
      auto after = runBody(loop, loop.getBodyAttr(), values);
      if (failed(after))
        return failure();
      std::move(after->begin(), after->end(), values.begin());
    }
    finishCall(loop, scope, MutableArrayRef(values).take_front(carries));
    return success();
  }

  LogicalResult step(Operation *op, Scope &scope) {
    if (auto scan = dyn_cast<ScanOp>(op))
      return runScan(scan, scope);
    if (auto cond = dyn_cast<CondOp>(op))
      return runCond(cond, scope);
    if (auto loop = dyn_cast<WhileOp>(op))
      return runWhile(loop, scope);
    if (auto interpretable = dyn_cast<InterpretableOp>(op))
      return execute(interpretable, scope, maxElements);
    if (auto load = dyn_cast<RngStateLoadOp>(op)) {
      auto state = generators.find(load.getGenerator());
      if (state == generators.end())
        return load.emitOpError() << "generator '" << load.getGenerator()
                                  << "' has no state: give the interpreter its key and counter";
      scope.define(load.getKey(), scalar(state->second.key));
      scope.define(load.getCounter(), scalar(state->second.counter));
      return success();
    }
    if (auto store = dyn_cast<RngStateStoreOp>(op)) {
      auto operands = scope.operandsOf(op);
      if (failed(operands))
        return failure();
      auto state = generators.find(store.getGenerator());
      if (state == generators.end())
        return store.emitOpError() << "generator '" << store.getGenerator()
                                   << "' has no state: give the interpreter its key and counter";
      state->second.counter = operands->front()->whole[0];
      scope.release(op);
      return success();
    }
    if (isa<GradientOp>(op))
      return op->emitOpError("has no value of its own: run --weft-differentiate first");
    if (auto raw = dyn_cast<RawKernelOp>(op))
      return raw.emitOpError() << "'" << raw.getEntry()
                               << "' is CUDA C++ of the user, for which the interpreter has no rule";
    return op->emitOpError("cannot be interpreted");
  }

  int64_t maxElements;
  llvm::StringMap<GeneratorState> generators;
  std::vector<Frame> frames;
  llvm::DenseSet<Operation *> active;
};

} // namespace

FailureOr<SmallVector<Literal>> interpretFunction(FuncOp function, ArrayRef<Literal> arguments,
                                                  InterpreterOptions &options) {
  Interpreter interpreter(options);
  auto results = interpreter.run(function, arguments);
  if (succeeded(results))
    options.generators = interpreter.takeGenerators();
  return results;
}

FailureOr<SmallVector<Literal>> interpretFunction(FuncOp function, ArrayRef<Literal> arguments) {
  InterpreterOptions options;
  return interpretFunction(function, arguments, options);
}

//===----------------------------------------------------------------------===//
// fusion
//===----------------------------------------------------------------------===//

LogicalResult FusionOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  Block &block = getBody().front();
  Scope scope;
  for (auto [argument, literal] : llvm::zip_equal(block.getArguments(), operands))
    scope.define(argument, *literal);
  for (Operation &op : block) {
    if (isa<YieldOp>(op)) {
      auto values = scope.operandsOf(&op);
      if (failed(values))
        return failure();
      for (auto [result, value] : llvm::zip_equal(results, *values))
        result = *value;
      return success();
    }
    auto interpretable = dyn_cast<InterpretableOp>(op);
    if (!interpretable)
      return op.emitOpError("cannot be interpreted inside a fusion");
    if (failed(execute(interpretable, scope, InterpreterOptions().maxElements)))
      return failure();
  }
  return emitOpError("does not end in weft.yield");
}

} // namespace weft::ir
