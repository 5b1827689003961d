//===- ExpandMath.cpp - Elementary functions as arithmetic -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/math/ExpandMath.h"

#include "codegen/math/MathFunctions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::codegen {

namespace {

/// Replaces f64 functions by calls of the runtime's imports.
class ImportCalls {
public:
  explicit ImportCalls(ModuleOp module) : module(module) {}

  /// name(operands...), lane by lane for vectors.
  Value call(MathEmitter &e, StringRef name, ValueRange operands) {
    FlatSymbolRefAttr callee = declare(name, operands.size());
    Type f64 = e.b.getF64Type();
    auto scalar = [&](ValueRange arguments) -> Value {
      return e.b.create<func::CallOp>(e.loc, callee, TypeRange{f64}, arguments).getResult(0);
    };
    if (!e.vector)
      return scalar(operands);
    int64_t lanes = e.vector.getNumElements();
    auto flat = VectorType::get({lanes}, f64);
    SmallVector<Value> sources(operands);
    if (e.vector.getRank() != 1)
      for (Value &source : sources)
        source = e.b.create<vector::ShapeCastOp>(e.loc, flat, source);
    Value result = e.b.create<arith::ConstantOp>(e.loc, DenseElementsAttr::get(flat, 0.0));
    for (int64_t lane = 0; lane < lanes; ++lane) {
      SmallVector<Value> arguments;
      for (Value source : sources)
        arguments.push_back(e.b.create<vector::ExtractOp>(e.loc, source, lane));
      result = e.b.create<vector::InsertOp>(e.loc, scalar(arguments), result, lane);
    }
    if (e.vector.getRank() != 1)
      result = e.b.create<vector::ShapeCastOp>(e.loc, e.f64(), result);
    return result;
  }

private:
  FlatSymbolRefAttr declare(StringRef name, size_t arity) {
    std::string symbol = (importPrefix + name).str();
    FlatSymbolRefAttr &known = declared[symbol];
    if (known)
      return known;
    if (!module.lookupSymbol(symbol)) {
      OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
      SmallVector<Type> inputs(arity, b.getF64Type());
      auto declaration =
          b.create<func::FuncOp>(module.getLoc(), symbol, b.getFunctionType(inputs, b.getF64Type()));
      declaration.setPrivate();
    }
    return known = FlatSymbolRefAttr::get(module.getContext(), symbol);
  }

  ModuleOp module;
  llvm::StringMap<FlatSymbolRefAttr> declared;
};

/// The f32 form of `op`, or null where LLVM has an instruction for it.
Value expandF32(MathEmitter &e, Operation *op) {
  namespace fn = mathfn;
  Value x = op->getOperand(0);
  auto y = [&] { return op->getOperand(1); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return fn::exp(e, x); })
      .Case([&](math::ExpM1Op) { return fn::expm1(e, x); })
      .Case([&](math::Exp2Op) { return fn::exp2(e, x); })
      .Case([&](math::LogOp) { return fn::log(e, x); })
      .Case([&](math::Log1pOp) { return fn::log1p(e, x); })
      .Case([&](math::Log2Op) { return fn::log2(e, x); })
      .Case([&](math::Log10Op) { return fn::log10(e, x); })
      .Case([&](math::TanhOp) { return fn::tanh(e, x); })
      .Case([&](math::ErfOp) { return fn::erf(e, x); })
      .Case([&](math::RsqrtOp) { return fn::rsqrt(e, x); })
      .Case([&](math::RoundOp) { return fn::round(e, x, /*isF64=*/false); })
      .Case([&](math::SinOp) { return fn::sin(e, x); })
      .Case([&](math::CosOp) { return fn::cos(e, x); })
      .Case([&](math::TanOp) { return fn::tan(e, x); })
      .Case([&](math::AsinOp) { return fn::asin(e, x); })
      .Case([&](math::AcosOp) { return fn::acos(e, x); })
      .Case([&](math::AtanOp) { return fn::atan(e, x); })
      .Case([&](math::Atan2Op) { return fn::atan2(e, x, y()); })
      .Case([&](math::SinhOp) { return fn::sinh(e, x); })
      .Case([&](math::CoshOp) { return fn::cosh(e, x); })
      .Case([&](math::AsinhOp) { return fn::asinh(e, x); })
      .Case([&](math::AcoshOp) { return fn::acosh(e, x); })
      .Case([&](math::AtanhOp) { return fn::atanh(e, x); })
      .Case([&](math::CbrtOp) { return fn::cbrt(e, x); })
      .Case([&](math::PowFOp) { return fn::pow(e, x, e.toF64(y())); })
      .Case([&](math::FPowIOp) { return fn::pow(e, x, e.intToF64(y())); })
      .Case([&](arith::RemFOp) { return fn::remainder(e, x, y()); })
      .Default([](Operation *) { return Value(); });
}

/// The f64 form of hyperbolic functions, their inverses and cube roots, by formulas over imports.
Value expandHyperbolicF64(MathEmitter &e, Operation *op, ImportCalls &imports) {
  Value x = op->getOperand(0);
  auto call1 = [&](StringRef name, Value v) { return imports.call(e, name, v); };
  Value one = nullptr;
  auto unit = [&] { return one ? one : one = e.d(1.0); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::SinhOp) {
        // t + t / (t + 1) with t = expm1(|x|), halved first because t may overflow before the result.
        Value t = call1("expm1", e.abs(x));
        Value ratio = e.select(e.lt(t, e.d(0x1p60)), e.div(t, e.add(t, unit())), unit());
        Value y = e.add(e.mul(t, e.d(0.5)), e.mul(ratio, e.d(0.5)));
        Value root = call1("exp", e.mul(e.abs(x), e.d(0.5)));
        Value far = e.mul(e.mul(root, e.d(0.5)), root);
        return e.copysign(e.select(e.gt(e.abs(x), e.d(700.0)), far, y), x);
      })
      .Case([&](math::CoshOp) {
        Value a = e.abs(x);
        Value p = call1("exp", a);
        Value near = e.mul(e.add(p, e.div(unit(), p)), e.d(0.5));
        Value root = call1("exp", e.mul(a, e.d(0.5)));
        Value far = e.mul(e.mul(root, e.d(0.5)), root);
        return e.select(e.gt(a, e.d(700.0)), far, near);
      })
      .Case([&](math::AsinhOp) {
        // log1p(a + a^2 / (1 + sqrt(a^2 + 1))); beyond 2^28 log(a) + ln 2.
        Value a = e.abs(x), u = e.mul(a, a);
        Value near = call1("log1p", e.add(a, e.div(u, e.add(unit(), e.sqrt(e.add(u, unit()))))));
        Value far = e.add(call1("log", a), e.d(0x1.62e42fefa39efp-1));
        return e.copysign(e.select(e.gt(a, e.d(0x1p28)), far, near), x);
      })
      .Case([&](math::AcoshOp) {
        Value t = e.sub(x, unit());
        Value near = call1("log1p", e.add(t, e.sqrt(e.mul(t, e.add(x, unit())))));
        Value far = e.add(call1("log", x), e.d(0x1.62e42fefa39efp-1));
        Value y = e.select(e.gt(x, e.d(0x1p28)), far, near);
        return e.select(e.lt(x, unit()), e.d(std::numeric_limits<double>::quiet_NaN()), y);
      })
      .Case([&](math::AtanhOp) {
        Value a = e.abs(x);
        Value t = e.div(e.add(a, a), e.sub(unit(), a));
        return e.copysign(e.mul(call1("log1p", t), e.d(0.5)), x);
      })
      .Case([&](math::CbrtOp) {
        // One Newton step corrects the error of the exponent 1/3, which f64 cannot represent.
        Value a = e.abs(x);
        Value y = imports.call(e, "pow", {a, e.d(1.0 / 3)});
        Value y2 = e.mul(y, y);
        Value step = e.div(e.fma(e.neg(y2), y, a), e.mul(y2, e.d(3.0)));
        Value usable = e.band(e.gt(a, e.d(0.0)), e.lt(a, e.d(std::numeric_limits<double>::infinity())));
        return e.copysign(e.select(usable, e.add(y, step), a), x);
      })
      .Default([](Operation *) { return Value(); });
}

/// The f64 form of `op`: calls of imports where the C library has the function, formulas elsewhere.
Value expandF64(MathEmitter &e, Operation *op, ImportCalls &imports) {
  Value x = op->getOperand(0);
  auto call = [&](StringRef name) { return imports.call(e, name, op->getOperands()); };
  auto call1 = [&](StringRef name, Value v) { return imports.call(e, name, v); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return call("exp"); })
      .Case([&](math::ExpM1Op) { return call("expm1"); })
      .Case([&](math::LogOp) { return call("log"); })
      .Case([&](math::Log1pOp) { return call("log1p"); })
      .Case([&](math::Log2Op) { return call("log2"); })
      .Case([&](math::SinOp) { return call("sin"); })
      .Case([&](math::CosOp) { return call("cos"); })
      .Case([&](math::TanOp) { return call("tan"); })
      .Case([&](math::TanhOp) { return call("tanh"); })
      .Case([&](math::AsinOp) { return call("asin"); })
      .Case([&](math::AcosOp) { return call("acos"); })
      .Case([&](math::AtanOp) { return call("atan"); })
      .Case([&](math::ErfOp) { return call("erf"); })
      .Case([&](math::PowFOp) { return call("pow"); })
      .Case([&](math::Atan2Op) { return call("atan2"); })
      .Case([&](arith::RemFOp) { return call("fmod"); })
      .Case([&](math::FPowIOp) {
        Value exponent = e.intToF64(op->getOperand(1));
        return imports.call(e, "pow", {x, exponent});
      })
      .Case([&](math::Exp2Op) { return imports.call(e, "pow", {e.d(2.0), x}); })
      .Case([&](math::Log10Op) {
        // log(x) / log(10) has an error of one or two ulp. The logarithm of a power of ten may differ from
        // the whole number by one.
        return e.mul(call1("log", x), e.d(0x1.bcb7b1526e50ep-2));
      })
      .Case([&](math::RsqrtOp) { return e.div(e.d(1.0), e.sqrt(x)); })
      .Case([&](math::RoundOp) { return mathfn::round(e, x, /*isF64=*/true); })
      .Default([&](Operation *) { return expandHyperbolicF64(e, op, imports); });
}

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)

  StringRef getArgument() const final { return "weft-expand-math"; }
  StringRef getDescription() const final {
    return "Rewrite elementary functions and 16-bit floats as arithmetic that needs no library";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                    func::FuncDialect>();
  }

  void runOnOperation() final {
    ModuleOp module = getOperation();
    widenHalfArithmetic(module);
    ImportCalls imports(module);
    SmallVector<Operation *> work;
    module.walk([&](Operation *op) {
      if (op->getNumResults() == 1 &&
          (isa_and_nonnull<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op)))
        work.push_back(op);
    });
    for (Operation *op : work) {
      Type element = getElementTypeOrSelf(op->getResult(0).getType());
      OpBuilder b(op);
      MathEmitter e(b, op->getLoc(), op->getResult(0).getType());
      Value expanded;
      if (element.isF32())
        expanded = expandF32(e, op);
      else if (element.isF64())
        expanded = expandF64(e, op, imports);
      if (!expanded)
        continue;
      op->getResult(0).replaceAllUsesWith(expanded);
      op->erase();
    }
    expandHalfConversions(module);
    storeBf16AsBits(module);
  }
};

} // namespace

std::unique_ptr<Pass> createExpandMathPass() { return std::make_unique<ExpandMathPass>(); }

} // namespace weft::codegen
