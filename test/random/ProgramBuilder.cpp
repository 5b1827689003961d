//===- ProgramBuilder.cpp - A program that grows --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"

#include "Generator.h"
#include "ir/FunctionAttributes.h"

#include "mlir/IR/Verifier.h"
#include <cmath>
#include <utility>

using namespace mlir;
namespace weft::randomtest {

ProgramBuilder::ProgramBuilder(MLIRContext *context, uint64_t seed)
    : context(context), seed(seed), random(seed, /*stream=*/0), builder(context),
      loc(UnknownLoc::get(context)), module(ModuleOp::create(loc)) {
  builder.setInsertionPointToEnd(module->getBody());
  function = builder.create<ir::FuncOp>(loc, kEntry, builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(&function.getBody().front());
  // A program has few different sizes, so that shapes of values fit each other.
  for (uint64_t i = 0, e = 2 + random.below(3); i < e; ++i) {
    switch (pick(random, {1, 4, 20, 4, 3, 1})) {
    case 0:
      sizes.push_back(0);
      break;
    case 1:
      sizes.push_back(1);
      break;
    case 2:
      sizes.push_back(2 + static_cast<int64_t>(random.below(8)));
      break;
    case 3:
      sizes.push_back(15 + static_cast<int64_t>(random.below(3)));
      break;
    case 4:
      sizes.push_back(63 + static_cast<int64_t>(random.below(3)));
      break;
    default:
      sizes.push_back(1023);
      break;
    }
  }
  // One program in a hundred has rows long enough for reductions to be split.
  if (oneIn(random, 100)) {
    maxElements = 100000;
    sizes.push_back(32768 + static_cast<int64_t>(random.below(8000)));
  }
  favourite = static_cast<unsigned>(pick(random, {1, 1, 1, 2, 2, 1, 3, 3, 12, 5}));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

const Entry *ProgramBuilder::find(llvm::function_ref<bool(const Entry &)> accept) {
  if (Value wanted = std::exchange(next, Value()))
    if (const Entry &entry = entryOf(wanted); accept(entry))
      return &entry;
  SmallVector<size_t> accepted;
  for (size_t i = 0; i < entries.size(); ++i)
    if (accept(entries[i]))
      accepted.push_back(i);
  if (accepted.empty())
    return nullptr;
  // The later of two random values, so that chains become long and early values still have several uses.
  size_t at = std::max(random.below(accepted.size()), random.below(accepted.size()));
  return &entries[accepted[at]];
}

DType ProgramBuilder::anyDType(bool floatOnly) {
  for (;;) {
    DType dtype = oneIn(random, 2) ? static_cast<DType>(favourite) : kAllDTypes[random.below(10)];
    if (is_floating_point(dtype))
      return dtype;
    if (!floatOnly)
      return dtype;
    if (!is_floating_point(static_cast<DType>(favourite)))
      return std::array{DType::f16, DType::bf16, DType::f32, DType::f64}[random.below(4)];
  }
}

int64_t ProgramBuilder::anySize() { return oneIn(random, 12) ? 1 : sizes[random.below(sizes.size())]; }

Shape ProgramBuilder::anyShape(unsigned minRank) {
  for (;;) {
    Shape shape;
    int64_t count = 1;
    for (size_t i = 0, e = std::max<size_t>(pick(random, {1, 4, 8, 4, 2}), minRank); i < e; ++i) {
      shape.push_back(anySize());
      count *= std::max<int64_t>(shape.back(), 1);
    }
    if (count <= maxElements)
      return shape;
    // Reduces sizes of 1023 x 1023 elements, for example, or of 65 x 65 x 2.
    for (int64_t &size : shape)
      if (count > maxElements && size > 1) {
        count = count / size * 2;
        size = 2;
      }
    if (count <= maxElements)
      return shape;
  }
}

void ProgramBuilder::define(Value value, std::shared_ptr<const ir::Literal> literal, bool differentiable) {
  index[value] = entries.size();
  entries.push_back({value, std::move(literal), differentiable});
}

Value ProgramBuilder::argument(DType dtype, ArrayRef<int64_t> shape, StringRef kind, int64_t bound) {
  RankedTensorType type = tensorType(context, dtype, shape);
  Value value = function.getBody().front().addArgument(type, loc);
  std::string name = kind.str() + ":" + std::to_string(argumentNames.size());
  if (bound > 0)
    name += ":" + std::to_string(bound);
  argumentNames.push_back(name);
  define(value, std::make_shared<ir::Literal>(makeInput(type, name, seed)), true);
  return value;
}

Value ProgramBuilder::scalar(DType dtype, StringRef kind, StringRef use) {
  Value &value = scalars[use];
  if (!value)
    value = argument(dtype, {}, kind);
  return value;
}

Value ProgramBuilder::constant(DType dtype, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorType(context, dtype, shape);
  bool splat = type.getNumElements() == 0 || type.getNumElements() > 64 || !oneIn(random, 3);
  ir::Literal literal = makeInput(splat ? tensorType(context, dtype, {}) : type,
                                  oneIn(random, 10) ? "special:constant" : "plain:constant", random.next64());
  Type element = type.getElementType();
  SmallVector<Attribute> values;
  for (int64_t i = 0, e = literal.count(); i < e; ++i)
    if (literal.isReal())
      values.push_back(FloatAttr::get(element, literal.real[i]));
    else
      values.push_back(IntegerAttr::get(
          element, APInt(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(literal.whole[i]), false)));
  auto op = builder.create<ir::ConstantOp>(loc, type, DenseElementsAttr::get(type, values));
  // The constant may have been removed, if all its elements are NaN.
  return commit(op) ? entries.back().value : argument(dtype, shape, "plain");
}

Value ProgramBuilder::obtain(DType dtype, ArrayRef<int64_t> shape, Value beside) {
  // Ops that use one value twice are tested too, but only seldom.
  if (oneIn(random, 10))
    beside = {};
  if (!oneIn(random, 5))
    if (const Entry *entry = find([&](const Entry &e) {
          return e.value != beside && e.dtype() == dtype && e.shape() == ArrayRef<int64_t>(shape);
        }))
      return entry->value;
  if (!oneIn(random, 3))
    if (Value value = derive(dtype, shape))
      return value;
  if (oneIn(random, 4))
    return constant(dtype, shape);
  return argument(dtype, shape, oneIn(random, 12) ? "special" : "plain");
}

Value ProgramBuilder::derive(DType dtype, ArrayRef<int64_t> shape) {
  auto last = [&](bool committed) { return committed ? entries.back().value : Value(); };
  switch (random.below(4)) {
  case 0: // another element type
    if (const Entry *entry =
            find([&](const Entry &e) { return e.dtype() != dtype && e.shape() == ArrayRef<int64_t>(shape); }))
      return last(add<ir::ConvertOp>(true, entry->value, ir::toElementType(context, dtype)));
    return {};
  case 1: { // another shape with as many elements
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    if (const Entry *entry = find([&](const Entry &e) { return e.dtype() == dtype && e.count() == count; }))
      return last(add<ir::ReshapeOp>(true, entry->value, ir::toSizes(shape)));
    return {};
  }
  case 2: { // a permutation
    const Entry *entry = find([&](const Entry &e) {
      return e.dtype() == dtype &&
             std::is_permutation(e.shape().begin(), e.shape().end(), shape.begin(), shape.end());
    });
    if (!entry)
      return {};
    Shape perm;
    SmallVector<bool> used(shape.size(), false);
    for (int64_t size : shape)
      for (size_t i = shape.size(); i-- > 0;)
        if (!used[i] && entry->shape()[i] == size) {
          used[i] = true;
          perm.push_back(static_cast<int64_t>(i));
          break;
        }
    return last(add<ir::TransposeOp>(true, entry->value, perm));
  }
  default: { // a broadcast; the operand's dimensions are assigned from the last one on
    Shape dims;
    auto place = [&](const Entry &e) {
      dims.clear();
      auto at = static_cast<int64_t>(shape.size());
      for (size_t i = e.shape().size(); i-- > 0;) {
        int64_t size = e.shape()[i];
        do
          --at;
        while (at >= 0 && size != shape[at] && size != 1);
        if (at < 0)
          return false;
        dims.insert(dims.begin(), at);
      }
      return true;
    };
    const Entry *entry = find([&](const Entry &e) {
      return e.dtype() == dtype && e.shape() != ArrayRef<int64_t>(shape) && place(e);
    });
    if (!entry)
      return {};
    place(*entry);
    return last(add<ir::BroadcastInDimOp>(true, entry->value, dims, ir::toSizes(shape)));
  }
  }
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

static bool isMostlyFinite(const ir::Literal &literal) {
  int64_t finite = 0;
  for (double value : literal.real)
    finite += std::isfinite(value);
  return 2 * finite >= static_cast<int64_t>(literal.real.size());
}

bool ProgramBuilder::commit(Operation *op, bool hasDerivative) {
  auto takeBack = [&] {
    op->erase();
    return false;
  };
  for (Type type : op->getResultTypes())
    if (cast<RankedTensorType>(type).getNumElements() > maxElements)
      return takeBack();
  if (failed(op->getName().verifyInvariants(op)) || failed(op->getName().verifyRegionInvariants(op)))
    return takeBack();

  bool differentiable = hasDerivative, known = isa<ir::InterpretableOp>(op);
  SmallVector<const ir::Literal *> operands;
  for (Value operand : op->getOperands()) {
    const Entry &entry = entryOf(operand);
    if (is_floating_point(entry.dtype()))
      differentiable &= entry.differentiable;
    known &= entry.literal != nullptr;
    operands.push_back(entry.literal.get());
  }
  SmallVector<std::shared_ptr<ir::Literal>> results(op->getNumResults());
  if (known) {
    SmallVector<ir::Literal> literals;
    for (Type type : op->getResultTypes())
      literals.emplace_back(cast<RankedTensorType>(type));
    if (failed(cast<ir::InterpretableOp>(op).interpret(operands, literals)))
      return takeBack();
    if (!llvm::all_of(literals, isMostlyFinite) && !oneIn(random, 6))
      return takeBack();
    for (auto [result, literal] : llvm::zip_equal(results, literals))
      result = std::make_shared<ir::Literal>(std::move(literal));
  }
  for (auto [value, literal] : llvm::zip_equal(op->getResults(), results))
    define(value, literal, differentiable);
  return true;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> ProgramBuilder::finish() {
  if (generatorCounter && !oneIn(random, 4))
    builder.create<ir::RngStateStoreOp>(loc, generatorCounter, kGenerator);

  // Unused values are results or stay dead, and some used values are results too.
  SmallVector<Value> results;
  for (const Entry &entry : entries) {
    bool unused = entry.value.use_empty(), made = entry.value.getDefiningOp() != nullptr;
    if (made ? (unused ? !oneIn(random, 12) : oneIn(random, 6)) : oneIn(random, 30))
      results.push_back(entry.value);
  }
  if (results.empty())
    results.push_back(entries.back().value);
  if (failing)
    results.push_back(failing);
  if (oneIn(random, 20))
    results.push_back(results.front());
  builder.create<ir::ReturnOp>(loc, results);

  Block &body = function.getBody().front();
  SmallVector<Type> resultTypes(ValueRange(results).getTypes());
  function.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), resultTypes));
  for (auto [i, name] : llvm::enumerate(argumentNames))
    function.setArgAttr(static_cast<unsigned>(i), ir::attr::name, builder.getStringAttr(name));
  tieResults(results);
  chooseStrides();
  return std::move(module);
}

void ProgramBuilder::tieResults(ArrayRef<Value> results) {
  if (!oneIn(random, 3))
    return;
  Block &body = function.getBody().front();
  SmallVector<bool> donated(body.getNumArguments(), false);
  for (unsigned i = 0; i < results.size(); ++i) {
    if (oneIn(random, 3))
      continue;
    for (unsigned argument = 0; argument < body.getNumArguments(); ++argument)
      if (!donated[argument] && body.getArgument(argument).getType() == results[i].getType()) {
        donated[argument] = true;
        function.setArgAttr(argument, ir::attr::donated, builder.getUnitAttr());
        function.setResultAttr(i, ir::attr::tied, builder.getI64IntegerAttr(argument));
        break;
      }
  }
}

void ProgramBuilder::chooseStrides() {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(function.getArgumentTypes()[i]).getShape();
    if (function.isDonated(i) || shape.empty() || !oneIn(random, 8))
      continue;
    // Strides of a random order of dimensions, with gaps between elements and between rows.
    SmallVector<size_t> order;
    for (size_t d = 0; d < shape.size(); ++d)
      order.insert(order.begin() + static_cast<int64_t>(random.below(order.size() + 1)), d);
    SmallVector<int64_t> strides(shape.size());
    int64_t step = oneIn(random, 4) ? 1 + static_cast<int64_t>(random.below(3)) : 1;
    for (size_t d : order) {
      strides[d] = step;
      step *= std::max<int64_t>(shape[d], 1) + static_cast<int64_t>(oneIn(random, 3) ? random.below(3) : 0);
    }
    function.setArgAttr(i, ir::attr::strides, builder.getDenseI64ArrayAttr(strides));
  }
}

} // namespace weft::randomtest
