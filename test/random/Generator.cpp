//===- Generator.cpp - Random programs ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Generator.h"
#include "ProgramBuilder.h"
#include "Samplers.h"
#include "WhileLoops.h"
#include "ir/Loops.h"

#include <algorithm>

using namespace mlir;
namespace weft::randomtest {

namespace {

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

/// A random op with a random signature that its verifier accepts, preferably on existing values.
Operation *createElementwise(ProgramBuilder &p, const OpCatalog &catalog) {
  const ElementwiseEntry &entry = catalog.elementwise[p.random.below(catalog.elementwise.size())];
  const Signature *signature = nullptr;
  std::optional<Entry> first; // a copy: making operands moves the values
  for (int attempt = 0; attempt < 8 && !first; ++attempt) {
    signature = &entry.signatures[p.random.below(entry.signatures.size())];
    DType dtype = signature->operands.back();
    if (attempt < 4 && dtype != p.anyDType())
      continue;
    if (const Entry *found = p.find([&](const Entry &e) { return e.dtype() == dtype; }))
      first = *found;
  }
  Shape shape = first && !oneIn(p.random, 8) ? Shape(first->shape()) : p.anyShape();
  // One operand is the value that was found.
  bool fits = first && first->shape() == ArrayRef<int64_t>(shape);
  size_t own = signature->operands.size() == 1 || oneIn(p.random, 2) ? signature->operands.size() - 1
                                                                     : signature->operands.size() / 2;
  SmallVector<Value> operands;
  for (auto [i, dtype] : llvm::enumerate(signature->operands))
    operands.push_back(fits && i == own ? first->value
                                        : p.obtain(dtype, shape, first ? first->value : Value()));
  OperationState state(p.loc, entry.name, operands, {tensorType(p.context, signature->result, shape)},
                       signature->attributes);
  return p.builder.create(state);
}

void sampleElementwise(ProgramBuilder &p, const OpCatalog &catalog) {
  p.commit(createElementwise(p, catalog));
}

/// A new function, without ops.
ir::FuncOp makeFunction(ProgramBuilder &p, TypeRange arguments, TypeRange results) {
  OpBuilder outer(p.context);
  outer.setInsertionPointToStart(p.module->getBody());
  unsigned number = 0;
  std::string name;
  do
    name = "helper" + std::to_string(number++);
  while (p.module->lookupSymbol(name));
  auto made = outer.create<ir::FuncOp>(p.loc, name, outer.getFunctionType(arguments, results));
  made.setSymVisibility("private");
  return made;
}

/// A new function, which computes the op from its last arguments.
ir::FuncOp makeHelper(ProgramBuilder &p, Operation *op, TypeRange arguments) {
  ir::FuncOp helper = makeFunction(p, arguments, op->getResultTypes());
  Block &block = helper.getBody().front();
  OpBuilder outer(p.context);
  outer.setInsertionPointToEnd(&block);
  Operation *inner = outer.clone(*op);
  inner->setOperands(ValueRange(block.getArguments().take_back(op->getNumOperands())));
  outer.create<ir::ReturnOp>(p.loc, inner->getResults());
  return helper;
}

/// A condition that takes the branch `helper`, which computes the op. The other one returns an operand, or
/// zeros.
Operation *makeCondition(ProgramBuilder &p, Operation *op, ir::FuncOp helper) {
  const auto type = cast<RankedTensorType>(op->getResult(0).getType());
  ir::FuncOp other = makeFunction(p, op->getOperandTypes(), op->getResultTypes());
  OpBuilder inOther(p.context);
  inOther.setInsertionPointToEnd(&other.getBody().front());
  Value returned;
  for (Value argument : other.getBody().front().getArguments())
    if (argument.getType() == type)
      returned = argument;
  if (!returned)
    returned = inOther.create<ir::ConstantOp>(p.loc, type,
                                              ir::splatOf(type, inOther.getZeroAttr(type.getElementType())));
  inOther.create<ir::ReturnOp>(p.loc, returned);
  const Entry *known = p.find([&](const Entry &e) {
    return e.literal && e.dtype() == DType::i1 && e.shape().empty() &&
           ir::deviceOf(e.value.getType()) == ir::deviceOf(type);
  });
  Value pred = known ? known->value : p.constant(DType::i1, {});
  const bool taken = p.entryOf(pred).literal->whole[0] != 0;
  return p.builder.create<ir::CondOp>(p.loc, op->getResultTypes(), pred, (taken ? helper : other).getName(),
                                      (taken ? other : helper).getName(), op->getOperands());
}

/// A loop of at least one trip, of which each returns the same.
Operation *makeWhile(ProgramBuilder &p, ir::FuncOp helper, ArrayRef<Value> operands) {
  const auto type = ir::makeTensorType({}, p.builder.getI1Type(), ir::deviceOf(operands[0].getType()));
  ir::FuncOp always = makeFunction(p, ValueRange(operands).getTypes(), {type});
  OpBuilder inside(p.context);
  inside.setInsertionPointToEnd(&always.getBody().front());
  Value goesOn = inside.create<ir::ConstantOp>(p.loc, type, ir::splatOf(type, inside.getBoolAttr(true)));
  inside.create<ir::ReturnOp>(p.loc, goesOn);
  auto loop = p.builder.create<ir::WhileOp>(p.loc, TypeRange{operands[0].getType()}, always.getName(),
                                            helper.getName(), ValueRange(operands).take_front(1),
                                            ValueRange(operands).drop_front(1), false);
  SymbolTable symbols(*p.module);
  Operation *made =
      limitTrips(loop, symbols, 1 + static_cast<int64_t>(p.entries.size() % static_cast<size_t>(mostTrips)));
  always->erase();
  helper->erase();
  return made;
}

/// A call of a new function; or a condition; or a loop: its trips carry an operand of the op, do not read it,
/// and so all return the same.
void sampleCall(ProgramBuilder &p, const OpCatalog &catalog) {
  Operation *op = createElementwise(p, catalog);
  const bool loops = op->getOperand(0).getType() == op->getResult(0).getType() && oneIn(p.random, 2);
  SmallVector<Value> operands(op->getOperands());
  if (loops)
    operands.insert(operands.begin(), op->getOperand(0));
  ir::FuncOp helper = makeHelper(p, op, ValueRange(operands).getTypes());
  Operation *call = nullptr;
  if (loops && p.entries.size() % 2 == 0)
    call = makeWhile(p, helper, operands);
  else if (loops)
    call = p.builder.create<ir::ScanOp>(
        p.loc, op->getResultTypes(), helper.getName(), ValueRange(operands).take_front(1), ValueRange(),
        ValueRange(operands).drop_front(1), 1 + p.random.below(12), oneIn(p.random, 2), false);
  else if (p.entries.size() % 3 == 1)
    call = makeCondition(p, op, helper);
  else
    call = p.builder.create<ir::CallOp>(p.loc, op->getResultTypes(), helper.getName(), operands);
  // The builder executes the op instead of the call, because both have the same value.
  size_t known = p.entries.size();
  if (!p.commit(op)) {
    const SmallVector<FlatSymbolRefAttr> bodies = ir::bodiesOf(call);
    call->erase();
    if (bodies.size() < 2)
      helper->erase();
    else // of a condition or a while loop
      for (FlatSymbolRefAttr body : bodies)
        p.module->lookupSymbol(body.getValue())->erase();
    return;
  }
  Entry made = p.entries[known];
  p.entries.pop_back();
  op->erase();
  p.define(call->getResult(0), made.literal, made.differentiable);
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

/// Some of the dimensions of a value: often the last ones, often the first ones, and otherwise any.
Shape someDims(ProgramBuilder &p, size_t rank) {
  Shape dims;
  auto cut = static_cast<int64_t>(p.random.below(rank + 1));
  size_t how = pick(p.random, {3, 2, 3});
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i)
    if (how == 0 ? i >= cut : how == 1 ? i < cut : oneIn(p.random, 2))
      dims.push_back(i);
  return dims;
}

template <typename Op> void sampleReduction(ProgramBuilder &p) {
  const Entry *e = p.find(isNumber);
  if (!e)
    return;
  Shape dims = someDims(p, e->shape().size());
  p.add<Op>(true, e->value, dims);
}

void sampleAny(ProgramBuilder &p) {
  if (const Entry *e = p.find([](const Entry &entry) { return entry.dtype() == DType::i1; })) {
    Shape dims = someDims(p, e->shape().size());
    p.add<ir::AnyOp>(true, e->value, dims);
  }
}

void sampleWelford(ProgramBuilder &p) {
  if (const Entry *e = p.find(isFloat)) {
    Shape dims = someDims(p, e->shape().size());
    p.add<ir::WelfordOp>(true, e->value, dims);
  }
}

template <typename Op> void sampleScan(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return isNumber(entry) && !entry.shape().empty(); });
  if (e)
    p.add<Op>(true, e->value, static_cast<int64_t>(p.random.below(e->shape().size())), oneIn(p.random, 2),
              oneIn(p.random, 3));
}

void sampleSort(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return !entry.shape().empty(); });
  if (!e)
    return;
  const int64_t extent = e->shape().back();
  const int64_t count =
      oneIn(p.random, 2) ? extent : static_cast<int64_t>(p.random.below(static_cast<size_t>(extent) + 1));
  p.add<ir::SortOp>(true, e->value, ir::Size(count), oneIn(p.random, 2));
}

/// Matrices of f32 or f64: a value of the program, or an argument with square matrices.
Value someMatrices(ProgramBuilder &p, bool square) {
  const Entry *e = p.find([&](const Entry &entry) {
    ArrayRef<int64_t> shape = entry.shape();
    return (entry.dtype() == DType::f32 || entry.dtype() == DType::f64) && shape.size() >= 2 &&
           (!square || shape.back() == shape[shape.size() - 2]);
  });
  if (e && oneIn(p.random, 2))
    return e->value;
  const auto size = static_cast<int64_t>(1 + p.random.below(5));
  return p.argument(oneIn(p.random, 2) ? DType::f32 : DType::f64, {2, size, size}, "plain");
}

void sampleFactorize(ProgramBuilder &p) {
  Value a = someMatrices(p, false);
  ArrayRef<ir::Size> shape = ir::sizesOf(a.getType());
  using Kind = ir::Factorization;
  const bool isSquare = shape.back() == shape[shape.size() - 2];
  constexpr Kind kinds[] = {Kind::lu, Kind::qr, Kind::svd, Kind::cholesky, Kind::eigh};
  const Kind kind = kinds[p.random.below(isSquare ? 5 : 3)];
  p.add<ir::FactorizeOp>(true, a, kind, (kind == Kind::qr || kind == Kind::svd) && oneIn(p.random, 3));
}

void sampleTriangularSolve(ProgramBuilder &p) {
  Value a = someMatrices(p, true);
  p.add<ir::TriangularSolveOp>(true, a, a, oneIn(p.random, 2), oneIn(p.random, 2));
}

void sampleLayerNorm(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return isFloat(entry) && !entry.shape().empty(); });
  if (!e)
    return;
  Value a = e->value, weight, bias;
  DType dtype = e->dtype();
  size_t axis = p.random.below(e->shape().size());
  Shape inner(e->shape().drop_front(axis));
  if (oneIn(p.random, 2))
    weight = p.obtain(dtype, inner);
  if (oneIn(p.random, 2))
    bias = p.obtain(dtype, inner);
  p.add<ir::LayerNormOp>(true, a, weight, bias, static_cast<int64_t>(axis),
                         APFloat(oneIn(p.random, 3) ? 0.5 : 1e-3));
}

void sampleDropout(ProgramBuilder &p) {
  const Entry *e = p.find(isFloat);
  if (!e)
    return;
  Value a = e->value, key = p.scalar(DType::i64, "bits", "key"),
        counter = p.scalar(DType::i64, "count", "counter");
  double probability = std::array{0.0, 0.1, 0.5, 0.9, 1.0}[p.random.below(5)];
  p.add<ir::DropoutOp>(true, a, key, counter, APFloat(probability), static_cast<int64_t>(p.random.below(3)));
}

template <typename Op> void sampleArg(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return isNumber(entry) && !entry.shape().empty(); });
  if (!e)
    return;
  size_t dim = p.random.below(e->shape().size());
  if (e->shape()[dim] > 0)
    p.add<Op>(true, e->value, dim);
}

void sampleDotGeneral(ProgramBuilder &p) {
  const Entry *e = p.find(isNumber);
  if (!e)
    return;
  Value a = e->value;
  DType dtype = e->dtype();
  Shape aShape(e->shape()), bShape, batchA, batchB, contractA, contractB, free;
  // The dimensions of b, in random order: those paired with dimensions of a, and free ones.
  struct Dim {
    int64_t size, a;
    bool batch;
  };
  SmallVector<Dim> dims;
  for (auto [i, size] : llvm::enumerate(aShape)) {
    size_t role = pick(p.random, {3, 5, 2}); // free, contracted, batch
    if (role != 0)
      dims.push_back({size, static_cast<int64_t>(i), role == 2});
  }
  for (uint64_t i = 0, n = p.random.below(3); i < n && dims.size() < 4; ++i)
    dims.push_back({p.anySize(), -1, false});
  for (size_t i = dims.size(); i > 1; --i)
    std::swap(dims[i - 1], dims[p.random.below(i)]);
  int64_t work = 1;
  for (int64_t size : aShape)
    work *= size;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    bShape.push_back(dim.size);
    if (dim.a < 0) {
      work *= dim.size;
      continue;
    }
    (dim.batch ? batchA : contractA).push_back(dim.a);
    (dim.batch ? batchB : contractB).push_back(static_cast<int64_t>(i));
  }
  int64_t count = 1;
  for (int64_t size : bShape)
    count *= size;
  if (work > 500000 || count > p.maxElements)
    return;
  Value b = p.obtain(dtype, bShape);
  auto probe =
      p.builder.create<ir::DotGeneralOp>(p.loc, a, b, Value(), batchA, batchB, contractA, contractB, false);
  Shape shape(probe.getType().getShape());
  probe->erase();
  Value bias;
  if (!shape.empty() && oneIn(p.random, 6))
    bias = p.obtain(dtype, ArrayRef<int64_t>(shape).take_back());
  Value residual;
  if (oneIn(p.random, 6))
    residual = p.obtain(dtype, shape);
  bool relu = oneIn(p.random, 8);
  SmallVector<Value> more;
  if (!bias && !relu && (dtype == DType::f32 || dtype == DType::f64) && oneIn(p.random, 6))
    for (uint64_t i = 0, n = 1 + p.random.below(3); i < n; ++i)
      llvm::append_values(more, p.obtain(dtype, aShape), p.obtain(dtype, bShape));
  p.add<ir::DotGeneralOp>(!bias && !residual && !relu && more.empty(), a, b, bias, batchA, batchB, contractA,
                          contractB, relu, residual, ir::LibraryAttr(), more);
}

template <typename Op> void sampleSoftmax(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return isFloat(entry) && !entry.shape().empty(); });
  if (e)
    p.add<Op>(true, e->value, p.random.below(e->shape().size()));
}

void sampleCrossEntropy(ProgramBuilder &p) {
  const Entry *e = p.find(
      [](const Entry &entry) { return isFloat(entry) && entry.shape().size() == 2 && entry.shape()[1] > 0; });
  Value logits = e && !oneIn(p.random, 4) ? e->value : Value();
  if (!logits) {
    int64_t classes = std::max<int64_t>(p.anySize(), 1), rows = p.anySize();
    if (rows * classes > p.maxElements)
      return;
    logits = p.obtain(p.anyDType(/*floatOnly=*/true), {rows, classes});
  }
  ArrayRef<int64_t> shape = cast<RankedTensorType>(logits.getType()).getShape();
  Value target =
      p.argument(DType::i64, shape.take_front(), oneIn(p.random, 3) ? "target" : "index", shape[1]);
  auto reduction = static_cast<ir::ReductionKind>(p.random.below(3));
  Value weight;
  if (oneIn(p.random, 3))
    weight = p.argument(ir::dtypeOf(logits.getType()), shape.drop_front(), "nonnegative");
  double smoothing = oneIn(p.random, 3) ? 0.25 : 0;
  auto op = p.builder.create<ir::CrossEntropyOp>(p.loc, logits, target, weight, reduction, -100,
                                                 APFloat(smoothing));
  if (oneIn(p.random, 4) && p.entryOf(target).literal->count() > 0 &&
      llvm::all_of(p.entryOf(target).literal->whole, [](int64_t value) { return value >= 0; }))
    op.setIgnoreIndex(0);
  Value lse = op.getLse();
  // No gradient flows to class weights.
  if (p.commit(op, /*hasDerivative=*/!weight) && p.entries.back().value == lse)
    p.entries.back().differentiable = false;
}

/// Operands of an attention, often with an existing value. `q` is null if they would be too large.
struct AttentionOperands {
  Value q, k, v, mask;
  APFloat scale;
  bool causal;

  explicit AttentionOperands(ProgramBuilder &p) : scale(0.5), causal(oneIn(p.random, 3)) {
    const Entry *e = p.find([](const Entry &entry) {
      return isFloat(entry) && entry.shape().size() >= 2 && entry.shape().size() <= 4;
    });
    DType dtype = e ? e->dtype() : p.anyDType(/*floatOnly=*/true);
    Shape shape(e ? e->shape() : ArrayRef<int64_t>());
    for (uint64_t i = 0, rank = 2 + p.random.below(2); !e && i < rank; ++i)
      shape.push_back(p.anySize());
    int64_t keys = p.anySize(), values = p.anySize(), work = keys * std::max(shape.back(), values);
    for (int64_t size : ArrayRef(shape).drop_back())
      work *= size;
    Shape k2 = shape, v2 = shape, scores = shape;
    k2[shape.size() - 2] = v2[shape.size() - 2] = scores.back() = keys;
    v2.back() = values;
    for (const Shape &each : {shape, k2, v2, scores}) {
      int64_t count = 1;
      for (int64_t size : each)
        count *= size;
      if (count > p.maxElements || work > 200000)
        return;
    }
    q = e ? e->value : p.obtain(dtype, shape);
    k = p.obtain(dtype, k2);
    v = p.obtain(dtype, v2);
    if (!oneIn(p.random, 3))
      return;
    for (int64_t &size : scores)
      size = oneIn(p.random, 3) ? 1 : size;
    mask = p.obtain(oneIn(p.random, 2) ? DType::i1 : dtype, scores);
  }
};

void sampleSdpa(ProgramBuilder &p) {
  AttentionOperands o(p);
  if (o.q)
    p.add<ir::SdpaOp>(true, o.q, o.k, o.v, o.mask, o.scale, o.causal);
}

/// With random `out` and `lse`, not those of an attention.
void sampleSdpaBackward(ProgramBuilder &p) {
  AttentionOperands o(p);
  if (!o.q)
    return;
  auto probe = p.builder.create<ir::SdpaOp>(p.loc, o.q, o.k, o.v, o.mask, o.scale, o.causal);
  RankedTensorType out = cast<RankedTensorType>(probe.getOut().getType());
  RankedTensorType lse = cast<RankedTensorType>(probe.getLse().getType());
  probe->erase();
  Value result = p.obtain(ir::dtypeOf(out), out.getShape());
  Value logs = p.obtain(ir::dtypeOf(lse), lse.getShape());
  Value grad = p.obtain(ir::dtypeOf(out), out.getShape());
  p.add<ir::SdpaBackwardOp>(true, o.q, o.k, o.v, result, logs, grad, o.mask, o.scale, o.causal);
}

/// The operand found_inf of an optimiser step, which two steps in three do not have.
Value sampleFoundInf(ProgramBuilder &p) {
  return oneIn(p.random, 3) ? p.scalar(DType::i1, "plain", "found_inf") : Value();
}

void sampleSgdStep(ProgramBuilder &p) {
  const Entry *e = p.find(isFloat);
  if (!e)
    return;
  Value parameter = e->value;
  DType dtype = e->dtype();
  Shape shape(e->shape());
  Value g = p.obtain(dtype, shape), buf;
  if (oneIn(p.random, 2))
    buf = p.obtain(dtype, shape);
  auto hyper = [&](StringRef use) { return p.scalar(DType::f64, "fraction", use); };
  Value step = p.scalar(DType::i64, "count", "step");
  Value lr = hyper("lr"), momentum = hyper("momentum"), dampening = hyper("dampening"),
        decay = hyper("decay"), foundInf = sampleFoundInf(p);
  p.add<ir::SgdStepOp>(
      false,
      TypeRange(buf ? SmallVector<Type>(2, parameter.getType()) : SmallVector<Type>(1, parameter.getType())),
      parameter, g, buf, step, lr, momentum, dampening, decay, foundInf, buf && oneIn(p.random, 2),
      oneIn(p.random, 4));
}

void sampleAdamStep(ProgramBuilder &p) {
  const Entry *e = p.find(isFloat);
  if (!e)
    return;
  Value parameter = e->value;
  DType dtype = e->dtype();
  Shape shape(e->shape());
  Value g = p.obtain(dtype, shape), m = p.obtain(dtype, shape), v = p.argument(dtype, shape, "nonnegative"),
        vmax;
  if (oneIn(p.random, 3))
    vmax = p.argument(dtype, shape, "nonnegative");
  auto hyper = [&](StringRef use) { return p.scalar(DType::f64, "fraction", use); };
  Value step = p.scalar(DType::i64, "count", "step");
  Value lr = hyper("lr"), beta1 = hyper("beta1"), beta2 = hyper("beta2"), eps = hyper("eps"),
        decay = hyper("decay"), foundInf = sampleFoundInf(p);
  p.add<ir::AdamStepOp>(false, TypeRange(SmallVector<Type>(vmax ? 4 : 3, parameter.getType())), parameter, g,
                        m, v, vmax, step, lr, beta1, beta2, eps, decay, foundInf, oneIn(p.random, 2),
                        oneIn(p.random, 4));
}

/// The gradient of a value, reduced to a 0-dimensional one, with respect to some values that it depends on.
void sampleGradient(ProgramBuilder &p) {
  auto smooth = [](const Entry &entry) { return isFloat(entry) && entry.differentiable; };
  const Entry *e = p.find([&](const Entry &entry) { return smooth(entry) && entry.value.getDefiningOp(); });
  if (!e)
    return;
  Value of = e->value;
  if (!oneIn(p.random, 4)) {
    Shape dims;
    for (size_t i = 0; i < e->shape().size(); ++i)
      dims.push_back(static_cast<int64_t>(i));
    if (!dims.empty() && p.add<ir::SumOp>(true, of, dims))
      of = p.entries.back().value;
  }
  SmallVector<Value> wrt;
  for (uint64_t i = 0, n = 1 + p.random.below(3); i < n; ++i)
    if (const Entry *other = p.find(smooth); other && !llvm::is_contained(wrt, other->value))
      wrt.push_back(other->value);
  if (wrt.empty())
    return;
  // The gradient of a cross_entropy uses its statistics, which have no derivative.
  bool again = true;
  for (Operation &op : p.function.getBody().front())
    again &= !isa<ir::CrossEntropyOp>(op);
  p.add<ir::GradientOp>(again, of, wrt);
}

struct Sampler {
  StringLiteral name;
  unsigned weight;
  void (*sample)(ProgramBuilder &);
};

constexpr Sampler kSamplers[] = {
    {"weft.adam_step", 2, sampleAdamStep},
    {"weft.alias", 1, sampleAlias},
    {"weft.any", 1, sampleAny},
    {"weft.argmax", 2, sampleArg<ir::ArgmaxOp>},
    {"weft.argmin", 1, sampleArg<ir::ArgminOp>},
    {"weft.assert", 2, sampleAssert},
    {"weft.barrier", 1, sampleOrder},
    {"weft.bitcast", 1, sampleBitcast},
    {"weft.broadcast_in_dim", 5, sampleBroadcast},
    {"weft.concat", 4, sampleConcat},
    {"weft.constant", 3, sampleConstant},
    {"weft.convolution", 4, sampleConvolution},
    {"weft.copy_into", 2, sampleCopyInto},
    {"weft.cross_entropy", 3, sampleCrossEntropy},
    {"weft.dim", 1, sampleDim},
    {"weft.cummax", 1, sampleScan<ir::CummaxOp>},
    {"weft.cummin", 1, sampleScan<ir::CumminOp>},
    {"weft.cumprod", 1, sampleScan<ir::CumprodOp>},
    {"weft.cumsum", 2, sampleScan<ir::CumsumOp>},
    {"weft.dot_general", 6, sampleDotGeneral},
    {"weft.dropout", 2, sampleDropout},
    {"weft.dynamic_slice", 3, sampleDynamicSlice},
    {"weft.dynamic_update_slice", 3, sampleDynamicUpdateSlice},
    {"weft.event_record", 0, sampleOrder},
    {"weft.event_wait", 0, sampleOrder},
    {"weft.factorize", 2, sampleFactorize},
    {"weft.fft", 3, sampleFft},
    {"weft.full", 2, sampleFull},
    {"weft.gather", 4, sampleGather},
    {"weft.gradient", 4, sampleGradient},
    {"weft.index_update", 4, sampleIndexUpdate},
    {"weft.iota", 2, sampleIota},
    {"weft.layer_norm", 3, sampleLayerNorm},
    {"weft.log_softmax", 2, sampleSoftmax<ir::LogSoftmaxOp>},
    {"weft.overlap_add", 3, sampleOverlapAdd},
    {"weft.pad", 3, samplePad},
    {"weft.prod", 2, sampleReduction<ir::ProdOp>},
    {"weft.reshape", 5, sampleReshape},
    {"weft.reverse", 3, sampleReverse},
    {"weft.rmax", 3, sampleReduction<ir::RmaxOp>},
    {"weft.rmin", 2, sampleReduction<ir::RminOp>},
    {"weft.rng_bits_philox", 2, sampleRngBits},
    {"weft.scatter", 4, sampleScatter},
    {"weft.sdpa", 3, sampleSdpa},
    {"weft.sdpa_backward", 1, sampleSdpaBackward},
    {"weft.sgd_step", 2, sampleSgdStep},
    {"weft.slice", 4, sampleSlice},
    {"weft.softmax", 3, sampleSoftmax<ir::SoftmaxOp>},
    {"weft.sort", 3, sampleSort},
    {"weft.stream_fork", 0, sampleOrder},
    {"weft.stream_join", 0, sampleOrder},
    {"weft.sum", 6, sampleReduction<ir::SumOp>},
    {"weft.to_host_scalar", 1, sampleToHostScalar},
    {"weft.token", 0, sampleOrder},
    {"weft.transfer", 1, sampleTransfer},
    {"weft.transpose", 5, sampleTranspose},
    {"weft.triangular_solve", 2, sampleTriangularSolve},
    {"weft.undef", 1, sampleUndef},
    {"weft.welford", 2, sampleWelford},
    {"weft.windows", 4, sampleWindows},
};

} // namespace

std::optional<std::string> findMissingSampler(const OpCatalog &catalog) {
  for (const std::string &name : catalog.others)
    if (llvm::none_of(kSamplers, [&](const Sampler &sampler) { return sampler.name == name; }))
      return name;
  return std::nullopt;
}

/// Moves an op that checks an index to the body of a loop, or to the branch of a condition that is taken. All
/// trips compute it from the same operands, and the results of the last one replace it.
static void hideCheck(ModuleOp module, uint64_t number) {
  auto function = module.lookupSymbol<ir::FuncOp>(kEntry);
  SmallVector<Operation *> found;
  for (Operation &op : function.getBody().front())
    if (ir::mayFail(&op) && isMemoryEffectFree(&op) && ir::bodiesOf(&op).empty())
      found.push_back(&op);
  if (found.empty())
    return;
  Operation *op = found[number % found.size()];
  OpBuilder b(op);
  const Location loc = op->getLoc();
  SmallVector<Value> begins;
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    begins.push_back(
        b.create<ir::ConstantOp>(loc, type, ir::splatOf(type, b.getZeroAttr(type.getElementType()))));
  }
  const auto makeBody = [&](StringRef name, bool computes) {
    SmallVector<Value> inputs(begins);
    llvm::append_range(inputs, op->getOperands());
    OpBuilder outer = OpBuilder::atBlockBegin(module.getBody());
    auto made = outer.create<ir::FuncOp>(
        loc, name, outer.getFunctionType(ValueRange(inputs).getTypes(), op->getResultTypes()));
    made.setPrivate();
    Block &block = made.getBody().front();
    outer.setInsertionPointToEnd(&block);
    SmallVector<Value> results(block.getArguments().take_front(begins.size()));
    if (computes) {
      Operation *inner = outer.clone(*op);
      inner->setOperands(ValueRange(block.getArguments().drop_front(begins.size())));
      results.assign(inner->result_begin(), inner->result_end());
    }
    outer.create<ir::ReturnOp>(loc, results);
  };
  makeBody("checked", /*computes=*/true);
  Operation *made = nullptr;
  if (number % 3 == 0) {
    makeBody("unchecked", /*computes=*/false);
    auto type = ir::makeTensorType({}, b.getI1Type(), ir::deviceOf(op->getResult(0).getType()));
    const bool isFirst = number % 2;
    Value pred = b.create<ir::ConstantOp>(loc, type, ir::splatOf(type, b.getBoolAttr(isFirst)));
    SmallVector<Value> inputs(begins);
    llvm::append_range(inputs, op->getOperands());
    made = b.create<ir::CondOp>(loc, op->getResultTypes(), pred, isFirst ? "checked" : "unchecked",
                                isFirst ? "unchecked" : "checked", inputs, /*may_fail=*/true);
  } else {
    made = b.create<ir::ScanOp>(loc, op->getResultTypes(), "checked", begins, ValueRange(), op->getOperands(),
                                /*length=*/1 + number % 7, /*reverse=*/number % 2 == 0, /*may_fail=*/true);
  }
  op->replaceAllUsesWith(made);
  op->erase();
}

OwningOpRef<ModuleOp> generateProgram(MLIRContext &context, const OpCatalog &catalog, uint64_t seed,
                                      std::optional<uint64_t> length) {
  ProgramBuilder p(&context, seed);
  // Ops are tried until the verifier accepts them, so its diagnostics are dropped.
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  unsigned total = 0;
  for (const Sampler &sampler : kSamplers)
    total += sampler.weight;
  // The first arguments.
  for (uint64_t i = 0, n = 1 + p.random.below(3); i < n; ++i)
    p.argument(p.anyDType(), p.anyShape(), oneIn(p.random, 12) ? "special" : "plain");
  if (!length)
    length = 1 + p.random.below(std::array{3, 6, 12, 24}[pick(p.random, {2, 4, 4, 2})]);
  for (uint64_t i = 0; i < *length; ++i) {
    if (oneIn(p.random, 40)) {
      sampleCall(p, catalog);
      continue;
    }
    if (oneIn(p.random, 10)) {
      sampleViewChain(p);
      continue;
    }
    if (oneIn(p.random, 2)) {
      sampleElementwise(p, catalog);
      continue;
    }
    uint64_t at = p.random.below(total);
    for (const Sampler &sampler : kSamplers) {
      if (at < sampler.weight) {
        sampler.sample(p);
        break;
      }
      at -= sampler.weight;
    }
  }
  if (oneIn(p.random, 30))
    sampleOutOfRange(p);
  OwningOpRef<ModuleOp> made = p.finish();
  if (seed % 4 == 0)
    hideCheck(*made, seed / 4);
  return made;
}

} // namespace weft::randomtest
