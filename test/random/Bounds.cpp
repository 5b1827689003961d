//===- Bounds.cpp - Error analysis along a program ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Bounds.h"
#include "BoundRules.h"
#include "BoundedReal.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Format.h"

using namespace mlir;
namespace weft::randomtest {

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

namespace {
struct Format {
  int precision, minExponent;
};
Format formatOf(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return {11, -14};
  case DType::bf16:
    return {8, -126};
  case DType::f32:
    return {24, -126};
  default:
    return {53, -1022};
  }
}
} // namespace

double ulp(DType dtype, double value) {
  if (!std::isfinite(value))
    return value;
  Format format = formatOf(dtype);
  int exponent = value == 0 ? format.minExponent : std::max(std::ilogb(value), format.minExponent);
  return std::ldexp(1.0, exponent - format.precision + 1);
}

double unitRoundoff(DType dtype) { return dtype == DType::f64 ? std::ldexp(1.0, -53) : std::ldexp(1.0, -24); }

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

namespace {

/// A GPU multiplies halves by two numbers of tf32 for each probability, and the least of these is 2^-136
/// (docs/numerics.md).
constexpr double kFactorError = 0x1p-136;

class Analysis {
public:
  Analysis(ir::InterpreterOptions &options, Reference reference) : options(options), reference(reference) {}

  FailureOr<SmallVector<Bounded>> run(Block &block, ArrayRef<Bounded> arguments) {
    for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
      values.try_emplace(argument, value);
    for (Operation &op : block) {
      if (isa<ir::ReturnOp, ir::YieldOp>(op)) {
        SmallVector<Bounded> results;
        for (Value value : op.getOperands())
          results.push_back(values.find(value)->second);
        return results;
      }
      // Tokens and events have no elements.
      auto isOrder = [](Type type) { return isa<ir::TokenType, ir::EventType>(type); };
      if (llvm::any_of(op.getResultTypes(), isOrder) || llvm::any_of(op.getOperandTypes(), isOrder))
        continue;
      SmallVector<const Bounded *> operands;
      for (Value operand : op.getOperands())
        operands.push_back(&values.find(operand)->second);
      auto results = step(&op, operands);
      if (failed(results))
        return failure();
      for (auto [value, result] : llvm::zip_equal(op.getResults(), *results))
        values.try_emplace(value, std::move(result));
    }
    return failure();
  }

private:
  FailureOr<SmallVector<Bounded>> step(Operation *op, ArrayRef<const Bounded *> operands) {
    if (auto load = dyn_cast<ir::RngStateLoadOp>(op)) {
      ir::GeneratorState state = options.generators[load.getGenerator()];
      SmallVector<Bounded> results;
      for (int64_t number : {state.key, state.counter}) {
        ir::Literal literal(DType::i64, {});
        literal.whole[0] = number;
        results.emplace_back(std::move(literal));
      }
      return results;
    }
    if (auto store = dyn_cast<ir::RngStateStoreOp>(op)) {
      options.generators[store.getGenerator()].counter = operands[0]->value.whole[0];
      return SmallVector<Bounded>();
    }
    auto rule = dyn_cast<ir::InterpretableOp>(op);
    if (!rule)
      return op->emitOpError("has no value that could be bounded");
    SmallVector<const ir::Literal *> literals;
    for (const Bounded *operand : operands)
      literals.push_back(&operand->value);
    SmallVector<ir::Literal> outputs;
    for (Type type : op->getResultTypes())
      outputs.emplace_back(cast<RankedTensorType>(type));
    if (failed(rule.interpret(literals, outputs)))
      return failure();
    SmallVector<Bounded> results;
    for (ir::Literal &output : outputs)
      results.emplace_back(std::move(output));
    if (failed(bound(op, operands, results)))
      return failure();
    for (Bounded &result : results)
      for (int64_t i = 0, e = result.value.count(); result.value.isReal() && i < e; ++i)
        result.error[i] = settle(result.value.real[i], result.error[i]);
    return results;
  }

  LogicalResult bound(Operation *op, ArrayRef<const Bounded *> operands, MutableArrayRef<Bounded> results) {
    if (isa<ir::ConstantOp, ir::DimOp, ir::IotaOp>(op))
      return success();
    if (auto elementwise = dyn_cast<ir::ElementwiseOp>(op))
      return boundElementwise(elementwise, operands, results[0], reference);
    // What the runtime computes as one launch has rules of its own.
    if (isa<ir::DecomposableOp>(op) &&
        !isa<ir::SortOp, ir::FactorizeOp, ir::TriangularSolveOp, ir::FftOp>(op))
      return boundComposite(op, operands, results);
    return boundOp(op, operands, results, reference);
  }

  /// Analyses the decomposition of a composite in a function of its own, with errors relative to real
  /// numbers, because the composite is rounded once and its parts are rounded many times.
  LogicalResult boundComposite(Operation *op, ArrayRef<const Bounded *> operands,
                               MutableArrayRef<Bounded> results) {
    OpBuilder builder(op->getContext());
    OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
    builder.setInsertionPointToEnd(module->getBody());
    auto function = builder.create<ir::FuncOp>(
        op->getLoc(), "decomposed", builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
    builder.setInsertionPointToEnd(&function.getBody().front());
    Operation *copy = builder.clone(*op);
    copy->setOperands(function.getBody().front().getArguments());
    builder.setInsertionPoint(copy);
    SmallVector<Value> parts = cast<ir::DecomposableOp>(copy).decompose(builder);
    copy->erase();
    builder.setInsertionPointToEnd(&function.getBody().front());
    builder.create<ir::ReturnOp>(op->getLoc(), parts);
    SmallVector<Bounded> arguments;
    for (const Bounded *operand : operands)
      arguments.push_back(*operand);
    auto bounds = Analysis(options, Reference::realNumbers).run(function.getBody().front(), arguments);
    if (failed(bounds))
      return failure();
    for (auto [result, bound] : llvm::zip_equal(results, *bounds))
      for (size_t i = 0; i < result.error.size(); ++i) {
        double value = result.value.isReal() ? result.value.real[i] : 0;
        // A part may overflow in its type where the composite, which is computed in doubles, does not, or
        // does only at its end: the sum of products beyond the largest number is infinite, or NaN.
        const double part = result.value.isReal() ? bound.value.real[i] : 0;
        if (result.value.isReal() && !std::isfinite(part) &&
            !(value == part || (value != value && part != part))) {
          result.error[i] = kUnknown;
          continue;
        }
        // Twice: the analysis stands at the values of the parts, which are off by their own roundings.
        result.error[i] = bound.error[i] == 0 || !std::isfinite(value)
                              ? bound.error[i]
                              : 2 * bound.error[i] + ulp(result.value.dtype, value);
      }
    if (isa<ir::SdpaOp>(op))
      addErrorOfFactors(*operands[2], results[0]);
    else if (isa<ir::SdpaBackwardOp>(op))
      for (auto [factor, result] : {std::pair(1, 0), {0, 1}, {5, 2}}) // dq from k, dk from q, dv from grad
        addErrorOfFactors(*operands[factor], results[result]);
    return success();
  }

  /// A probability, or the gradient of a score, is off by up to `kFactorError` before it is multiplied with
  /// the rows of `factors` [.., n, columns] and added to `result` [.., m, columns].
  static void addErrorOfFactors(const Bounded &factors, Bounded &result) {
    if (factors.value.dtype != DType::f16 && factors.value.dtype != DType::bf16)
      return;
    ArrayRef<int64_t> from = factors.value.shape, to = result.value.shape;
    const int64_t columns = from.back(), n = from[from.size() - 2], m = to[to.size() - 2];
    for (int64_t i = 0, e = result.value.count(); i < e; ++i) {
      double sum = 0;
      const int64_t batch = i / columns / m;
      for (int64_t row = 0; row < n; ++row)
        if (double factor = factors.value.real[(batch * n + row) * columns + i % columns];
            std::isfinite(factor))
          sum += std::abs(factor);
      result.error[i] += kFactorError * sum;
    }
  }

  ir::InterpreterOptions &options;
  Reference reference;
  llvm::DenseMap<Value, Bounded> values;
};

} // namespace

FailureOr<SmallVector<Bounded>> interpretWithBounds(ir::FuncOp function, ArrayRef<Bounded> arguments,
                                                    ir::InterpreterOptions &options, Reference reference) {
  return Analysis(options, reference).run(function.getBody().front(), arguments);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static std::string describe(const ir::Literal &expected, const ir::Literal &actual, int64_t i, double error) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto number = [&](const ir::Literal &literal) {
    if (literal.isReal())
      os << llvm::format("%.17g", literal.real[i]);
    else
      os << literal.whole[i];
  };
  os << "element " << i << " of " << expected.count() << " (" << StringRef(name(expected.dtype))
     << "): expected ";
  number(expected);
  if (error > 0)
    os << " within " << llvm::format("%.3g", error);
  os << ", found ";
  number(actual);
  return text;
}

static std::optional<std::string> compareShapes(const ir::Literal &expected, const ir::Literal &actual) {
  if (expected.dtype == actual.dtype && expected.shape == actual.shape)
    return std::nullopt;
  return std::string("the type of the result differs");
}

std::optional<std::string> findMismatch(const Bounded &expected, const ir::Literal &actual) {
  if (auto difference = compareShapes(expected.value, actual))
    return difference;
  for (int64_t i = 0, e = actual.count(); i < e; ++i) {
    double error = expected.error[i];
    if (!isKnown(error))
      continue;
    bool inside = false;
    if (!actual.isReal()) {
      inside = expected.value.whole[i] == actual.whole[i];
    } else {
      double a = expected.value.real[i], b = actual.real[i];
      inside = std::isnan(a) ? std::isnan(b) : a == b || std::fabs(a - b) <= error;
    }
    if (!inside)
      return describe(expected.value, actual, i, error);
  }
  return std::nullopt;
}

std::optional<std::string> findDifference(const ir::Literal &expected, const ir::Literal &actual) {
  if (auto difference = compareShapes(expected, actual))
    return difference;
  for (int64_t i = 0, e = actual.count(); i < e; ++i) {
    bool same = false;
    if (!actual.isReal()) {
      same = expected.whole[i] == actual.whole[i];
    } else {
      double a = expected.real[i], b = actual.real[i];
      same = std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
    }
    if (!same)
      return describe(expected, actual, i, 0);
  }
  return std::nullopt;
}

} // namespace weft::randomtest
