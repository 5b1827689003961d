//===- RandomProgram.cpp - Functions to try passes on ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RandomProgram.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::test {

namespace {

class Generator {
public:
  Generator(MLIRContext &context, unsigned seed) : builder(&context), random(seed) {
    device = DeviceAttr::get(&context, DeviceKind::cpu, 0);
  }
  OwningOpRef<ModuleOp> run(unsigned count);

private:
  unsigned below(size_t limit) { return static_cast<unsigned>(random() % std::max<size_t>(limit, 1)); }
  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type(), device);
  }
  Value any() { return values[values.size() - 1 - std::min<size_t>(below(values.size()), below(24))]; }
  ArrayRef<int64_t> shapeOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }
  /// `value` brought to `shape`, or null.
  Value fit(Value value, ArrayRef<int64_t> shape);
  void keep(Value value) {
    if (cast<RankedTensorType>(value.getType()).getNumElements() <= 4096)
      values.push_back(value);
  }
  void step();

  OpBuilder builder;
  std::mt19937 random;
  DeviceAttr device;
  std::vector<Value> values; // f32
  Value index;               // i64, 6 elements below 3
};

} // namespace

Value Generator::fit(Value value, ArrayRef<int64_t> shape) {
  Location loc = builder.getUnknownLoc();
  ArrayRef<int64_t> from = shapeOf(value);
  if (from == shape)
    return value;
  // Trailing or leading dimensions that agree, or unit dimensions.
  for (size_t skip : {shape.size() - std::min(shape.size(), from.size()), size_t(0)}) {
    if (from.size() > shape.size())
      break;
    bool agrees = true;
    SmallVector<int64_t> dims;
    for (size_t i = 0; i < from.size(); ++i) {
      agrees &= from[i] == shape[i + skip] || from[i] == 1;
      dims.push_back(static_cast<int64_t>(i + skip));
    }
    if (agrees)
      return builder.create<BroadcastInDimOp>(loc, value, dims, toSizes(shape));
  }
  int64_t wanted = 1;
  for (int64_t size : shape)
    wanted *= size;
  if (wanted == cast<RankedTensorType>(value.getType()).getNumElements())
    return builder.create<ReshapeOp>(loc, value, toSizes(shape));
  return {};
}

void Generator::step() {
  Location loc = builder.getUnknownLoc();
  Value a = any();
  SmallVector<int64_t> shape(shapeOf(a));
  auto rank = static_cast<int64_t>(shape.size());
  switch (below(16)) {
  case 0:
    return keep(builder.create<TanhOp>(loc, a));
  case 1:
    return keep(builder.create<NegOp>(loc, a));
  case 2: {
    auto element = builder.getF32FloatAttr(0.5f);
    Value c = builder.create<ConstantOp>(loc, type(shape), DenseElementsAttr::get(type(shape), element));
    return keep(builder.create<MulOp>(loc, a, c));
  }
  case 3:
  case 4:
  case 5:
  case 6:
    if (Value b = fit(any(), shape)) {
      if (below(2))
        return keep(builder.create<AddOp>(loc, a, b));
      Value condition = builder.create<GtOp>(loc, a, b);
      return keep(builder.create<SelectOp>(loc, condition, a, b));
    }
    return;
  case 7: {
    SmallVector<int64_t> perm;
    for (int64_t i = 0; i < rank; ++i)
      perm.push_back(i);
    std::shuffle(perm.begin(), perm.end(), random);
    return keep(builder.create<TransposeOp>(loc, a, perm));
  }
  case 8: {
    SmallVector<Size> flat{cast<RankedTensorType>(a.getType()).getNumElements()};
    return keep(builder.create<ReshapeOp>(loc, a, flat));
  }
  case 9:
    if (rank) {
      SmallVector<Size> start(rank, 0), limit = toSizes(shape), low(rank, 0), high(rank, 0);
      SmallVector<int64_t> stride(rank, 1), inner(rank, 0);
      unsigned dim = below(rank);
      if (below(2)) {
        stride[dim] = 2;
        return keep(builder.create<SliceOp>(loc, a, start, limit, stride));
      }
      low[dim] = 1;
      return keep(builder.create<PadOp>(loc, a, low, high, inner));
    }
    return;
  case 10:
  case 11:
  case 12: {
    SmallVector<int64_t> dims;
    for (int64_t i = 0; i < rank; ++i)
      if (below(2))
        dims.push_back(i);
    Value reduced = below(2) ? builder.create<SumOp>(loc, a, dims).getResult()
                             : builder.create<RmaxOp>(loc, a, dims).getResult();
    keep(reduced);
    // Usually what is left meets what it came from again.
    if (below(3)) {
      SmallVector<int64_t> kept;
      for (int64_t i = 0; i < rank; ++i)
        if (!llvm::is_contained(dims, i))
          kept.push_back(i);
      Value back = builder.create<BroadcastInDimOp>(loc, reduced, kept, toSizes(shape));
      keep(builder.create<SubOp>(loc, a, back));
    }
    return;
  }
  case 13:
    if (rank == 2) {
      int64_t contract[] = {1};
      Value product = builder.create<DotGeneralOp>(loc, a, a, Value(), ArrayRef<int64_t>(),
                                                   ArrayRef<int64_t>(), contract, contract, false);
      keep(builder.create<TanhOp>(loc, product));
    }
    return;
  case 14:
    if (rank && shape[0] >= 3)
      return keep(builder.create<GatherOp>(loc, a, index, 0, GatherKind::points));
    return;
  default:
    if (rank && shape[rank - 1] >= 3 && shape[0] == 6 && rank == 2) {
      Value column = builder.create<ReshapeOp>(loc, index, ArrayRef<Size>{6, 1});
      Value top = builder.create<RmaxOp>(loc, a, ArrayRef<int64_t>{1});
      Value picked = builder.create<GatherOp>(loc, a, column, 1, GatherKind::along);
      Value flat = builder.create<ReshapeOp>(loc, picked, ArrayRef<Size>{6});
      return keep(builder.create<SubOp>(loc, top, flat));
    }
    return;
  }
}

OwningOpRef<ModuleOp> Generator::run(unsigned count) {
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> inputs{type({6, 8}), type({8}),    type({4, 6, 8}), type({6, 1}),
                           type({}),     type({6, 8}), type({4, 6, 8})};
  size_t donatedFrom = 4;
  inputs.push_back(RankedTensorType::get({6}, builder.getI64Type(), device));
  auto func = builder.create<FuncOp>(loc, "f", builder.getFunctionType(inputs, {}));
  Block &body = func.getBody().front();
  builder.setInsertionPointToEnd(&body);
  for (BlockArgument argument : body.getArguments())
    if (cast<RankedTensorType>(argument.getType()).getElementType().isF32())
      values.push_back(argument);
    else
      index = argument;
  for (unsigned i = 0; i < count; ++i)
    step();
  // Some values are results; some of those replace an argument of their type.
  SmallVector<Value> results;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  SmallVector<Attribute> argumentAttributes(inputs.size(), builder.getDictionaryAttr({}));
  for (size_t argument = donatedFrom; argument + 1 < inputs.size(); ++argument) {
    argumentAttributes[argument] =
        builder.getDictionaryAttr(builder.getNamedAttr(attr::donated, builder.getUnitAttr()));
    for (int attempt = 0; attempt < 200; ++attempt) {
      Value value = values[below(values.size())];
      if (value.getType() != inputs[argument])
        continue;
      results.push_back(value);
      attributes.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(attr::tied, builder.getI64IntegerAttr(static_cast<int64_t>(argument)))));
      break;
    }
  }
  for (unsigned i = 0; i < 3 + count / 16; ++i) {
    results.push_back(any());
    attributes.push_back(builder.getDictionaryAttr({}));
  }
  for (Value result : results)
    types.push_back(result.getType());
  builder.create<ReturnOp>(loc, results);
  func.setFunctionTypeAttr(TypeAttr::get(builder.getFunctionType(inputs, types)));
  func.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
  func.setResAttrsAttr(builder.getArrayAttr(attributes));
  return module;
}

OwningOpRef<ModuleOp> randomProgram(MLIRContext &context, unsigned seed, unsigned count) {
  return Generator(context, seed).run(count);
}

std::vector<Literal> randomArguments(FuncOp func, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Literal> arguments;
  for (Type type : func.getArgumentTypes()) {
    Literal literal(cast<RankedTensorType>(type));
    for (int64_t i = 0, e = literal.count(); i < e; ++i) {
      if (literal.isReal())
        literal.setReal(i, static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 700);
      else
        literal.setWhole(i, static_cast<int64_t>(random() % 3));
    }
    arguments.push_back(std::move(literal));
  }
  return arguments;
}

} // namespace weft::test
