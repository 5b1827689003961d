//===- Elementwise.td - Ops that work element by element ---*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op has one definition, from which parser, printer, documentation, type inference, verifier, the kernels of
// every backend, the derivative, the reference interpreter and the random-program generator are derived.
//
//   body   the code of a kernel: C++ that returns a Value from `a`, `b`, `c` with the emitter `k`
//   vjp    the derivative: C++ on symbolic tensors `a`, `b`, `c` (operands), `y` (result), `g` (its cotangent);
//          `d(i, value)` sets the cotangent of operand i. Empty: no gradient flows.
//   real   the reference: C++ that returns a double from doubles `a`, `b`, `c`
//   whole  the reference for integers: C++ on int64_t; the result is then wrapped to the element type
//
// Cost and accuracy follow: `Weft_Exact`, or `Weft_Function<additions, ulps>`.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_ELEMENTWISE_TD
#define WEFT_ELEMENTWISE_TD

include "ir/WeftBase.td"
include "ir/WeftInterfaces.td"

def Weft_ElementwiseTrait : NativeOpTrait<"ElementwiseShape"> { let cppNamespace = "::weft::ir"; }
def Weft_SameDevice : NativeOpTrait<"SameDevice"> { let cppNamespace = "::weft::ir"; }

class Weft_Op<string mnemonic, list<Trait> traits = []> : Op<Weft_Dialect, mnemonic, traits>;

/// An op on tensors of one device, without side effects, whose result types are inferred from operands and attributes.
class Weft_ComputeOp<string mnemonic, list<Trait> traits = []> :
    Weft_Op<mnemonic, [Weft_SameDevice, Pure,
                       DeclareOpInterfaceMethods<InferTypeOpInterface>,
                       DeclareOpInterfaceMethods<Weft_InterpretableOp>] # traits>;

defvar Differentiable = DeclareOpInterfaceMethods<Weft_DifferentiableOp>;

/// The cost and the accuracy of an elementwise op. The defaults for a new op are the cost of an addition and the error
/// bound of the least accurate functions.
class Weft_Facts {
  int additions = 1;
  int ulps = 4;
  bit monotone = 0;
}
/// One or a few instructions whose result is exact, or determined by IEEE 754.
class Weft_Exact { int additions = 1; int ulps = 0; bit monotone = 1; }
/// A function. `additions` is its time for one f32 element in vector code, in units of an addition; `ulps` is its error
/// bound in units in the last place. Both are from docs/numerics.md: `additions` is the rounded mean of ns / 0.0208 for
/// v3 and ns / 0.0104 for v4, where the divisors are the times of an addition with operands in registers. The functions
/// without a time there (pow, atan2, rem, mod, sigmoid, div, sqrt, recip) were compared with exp: sums over 16,384
/// elements on one thread of v3, with eight calls of the function, with eight of exp, and with neither; exp counts 13.
class Weft_Function<int cost, int error, bit isMonotone = 1> {
  int additions = cost;
  int ulps = error;
  bit monotone = isMonotone;
}
defvar notMonotone = 0;

class Weft_Elementwise<string mnemonic, code body, code vjp, code real, code whole, list<Trait> traits,
                       string resultElement = "element"> :
    Weft_ComputeOp<mnemonic, [Weft_ElementwiseTrait, DeclareOpInterfaceMethods<Weft_ElementwiseOp>,
                              DeclareOpInterfaceMethods<Weft_CostOp>, Differentiable] # traits>, Weft_Facts {
  let extraClassDefinition = [{
    int64_t $cppClass::additionsPerElement() { return }] # !cast<string>(additions) # [{; }
    ::weft::ir::Accuracy $cppClass::accuracy() { return {}] # !cast<string>(ulps) # ", " #
      !if(monotone, "true", "false") # [{}; }
    ::mlir::Value $cppClass::emitScalar(::weft::ir::ScalarEmitter &k, ::mlir::ValueRange in) {
      ::mlir::Value a = in[0], b = in[in.size() > 1 ? 1 : 0], c = in[in.size() > 2 ? 2 : 0];
      (void)a; (void)b; (void)c;
      }] # body # [{
    }
    ::mlir::LogicalResult $cppClass::buildVjp(::weft::ir::VjpBuilder &vjp) {
      using ::weft::ir::Sym;
      auto n = vjp.op->getNumOperands();
      Sym a = vjp.operand(0), b = vjp.operand(n > 1 ? 1 : 0), c = vjp.operand(n > 2 ? 2 : 0);
      Sym y = vjp.result(0), g = vjp.cotangent(0);
      auto d = [&](unsigned i, auto &&value) { if (vjp.needs(i)) vjp.set(i, value()); };
      (void)a; (void)b; (void)c; (void)y; (void)g; (void)d;
      }] # vjp # [{
      return ::mlir::success();
    }
    ::mlir::LogicalResult $cppClass::interpret(::llvm::ArrayRef<const ::weft::ir::Literal *> operands,
                                               ::llvm::MutableArrayRef<::weft::ir::Literal> results) {
      auto real = [](double a, double b, double c) -> double { (void)a; (void)b; (void)c; }] # real # [{ };
      auto whole = [](int64_t a, int64_t b, int64_t c) -> int64_t { (void)a; (void)b; (void)c; }] # whole # [{ };
      return ::weft::ir::interpretElementwise(*this, real, whole, operands, results[0]);
    }
    ::mlir::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location>,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      auto type = ::weft::ir::elementwiseLike(operands);
      auto element = ::mlir::getElementTypeOrSelf(operands[0].getType());
      (void)element;
      types.push_back(type.clone(}] # resultElement # [{));
      return ::mlir::success();
    }
  }];
}

// The `whole` of an op without an integer form. It is never used, because the verifier rejects integer operands.
defvar noWhole = [{ return a; }];

class Weft_Unary<string mnemonic, Type operand, string summaryText, code body, code vjp, code real,
                 code whole = noWhole, list<Trait> traits = [], string resultElement = "element"> :
    Weft_Elementwise<mnemonic, body, vjp, real, whole, traits, resultElement> {
  let summary = summaryText;
  let arguments = (ins operand:$a);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a attr-dict `:` type($a)";
}

class Weft_Binary<string mnemonic, Type operand, string summaryText, code body, code vjp, code real,
                  code whole = noWhole, list<Trait> traits = [], string resultElement = "element"> :
    Weft_Elementwise<mnemonic, body, vjp, real, whole, traits, resultElement> {
  let summary = summaryText;
  let arguments = (ins operand:$a, operand:$b);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` custom<OperandTypes>(type($a), type($b))";
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

def Weft_NegOp : Weft_Unary<"neg", Weft_NumberTensor, "minus a; the integer minimum stays",
  [{ return k.isFloat(a) ? k.make<::mlir::arith::NegFOp>(a) : k.make<::mlir::arith::SubIOp>(k.zeroLike(a), a); }],
  [{ d(0, [&] { return -g; }); }],
  [{ return -a; }], [{ return ::weft::ir::wrapSub(0, a); }]>, Weft_Exact;

def Weft_AbsOp : Weft_Unary<"abs", Weft_NumberTensor, "magnitude; the integer minimum stays",
  [{ if (k.isFloat(a)) return k.make<::mlir::math::AbsFOp>(a);
     return k.isUnsigned(0) ? a : k.make<::mlir::math::AbsIOp>(a); }],
  [{ d(0, [&] { return g * vjp.unary<SignOp>(a); }); }],
  [{ return std::fabs(a); }], [{ return a < 0 ? ::weft::ir::wrapSub(0, a) : a; }]>, Weft_Exact;

def Weft_SignOp : Weft_Unary<"sign", Weft_NumberTensor, "-1, 0 or 1; NaN gives 0",
  [{ auto zero = k.zeroLike(a), one = k.constantLike(a, 1);
     auto positive = k.select(k.gt(a, zero), one, zero);
     return k.isUnsigned(0) ? positive : k.select(k.lt(a, zero), k.constantLike(a, -1), positive); }],
  [{ }],
  [{ return a > 0 ? 1 : a < 0 ? -1 : 0; }], [{ return a > 0 ? 1 : a < 0 ? -1 : 0; }]>, Weft_Exact;

def Weft_CeilOp : Weft_Unary<"ceil", Weft_FloatTensor, "smallest integer that is not below a",
  [{ return k.make<::mlir::math::CeilOp>(a); }], [{ }], [{ return std::ceil(a); }]>, Weft_Exact;

def Weft_FloorOp : Weft_Unary<"floor", Weft_FloatTensor, "largest integer that is not above a",
  [{ return k.make<::mlir::math::FloorOp>(a); }], [{ }], [{ return std::floor(a); }]>, Weft_Exact;

def Weft_RoundOp : Weft_Unary<"round", Weft_FloatTensor, "nearest integer, halves to even",
  [{ return k.make<::mlir::math::RoundEvenOp>(a); }], [{ }],
  [{ return std::nearbyint(a); }]>, Weft_Exact;

def Weft_TruncOp : Weft_Unary<"trunc", Weft_FloatTensor, "integer part, toward zero",
  [{ return k.make<::mlir::math::TruncOp>(a); }], [{ }], [{ return std::trunc(a); }]>, Weft_Exact;

def Weft_SqrtOp : Weft_Unary<"sqrt", Weft_FloatTensor, "square root, correctly rounded; NaN below zero",
  [{ return k.make<::mlir::math::SqrtOp>(a); }],
  [{ d(0, [&] { return g / (y * 2.0); }); }], [{ return std::sqrt(a); }]>, Weft_Function<8, 0>;

def Weft_RsqrtOp : Weft_Unary<"rsqrt", Weft_FloatTensor, "1/sqrt(a); zero gives infinity",
  [{ return k.make<::mlir::arith::DivFOp>(k.constantLike(a, 1), k.make<::mlir::math::SqrtOp>(a)); }],
  [{ d(0, [&] { return g * (y * y * y) * -0.5; }); }], [{ return 1 / std::sqrt(a); }]>, Weft_Function<10, 2>;

def Weft_RecipOp : Weft_Unary<"recip", Weft_FloatTensor, "1/a, correctly rounded",
  [{ return k.make<::mlir::arith::DivFOp>(k.constantLike(a, 1), a); }],
  [{ d(0, [&] { return -g * (y * y); }); }], [{ return 1 / a; }]>, Weft_Function<4, 0>;

def Weft_ExpOp : Weft_Unary<"exp", Weft_FloatTensor, "e to the power a",
  [{ return k.make<::mlir::math::ExpOp>(a); }],
  [{ d(0, [&] { return g * y; }); }], [{ return std::exp(a); }]>, Weft_Function<13, 2>;

def Weft_Expm1Op : Weft_Unary<"expm1", Weft_FloatTensor, "exp(a) - 1, accurate near zero",
  [{ return k.make<::mlir::math::ExpM1Op>(a); }],
  [{ d(0, [&] { return g * (y + 1.0); }); }], [{ return std::expm1(a); }]>, Weft_Function<13, 3>;

def Weft_LogOp : Weft_Unary<"log", Weft_FloatTensor, "natural logarithm; zero gives -inf, below zero NaN",
  [{ return k.make<::mlir::math::LogOp>(a); }],
  [{ d(0, [&] { return g / a; }); }], [{ return std::log(a); }]>, Weft_Function<24, 1>;

def Weft_Log1pOp : Weft_Unary<"log1p", Weft_FloatTensor, "log(1 + a), accurate near zero",
  [{ return k.make<::mlir::math::Log1pOp>(a); }],
  [{ d(0, [&] { return g / (a + 1.0); }); }], [{ return std::log1p(a); }]>, Weft_Function<30, 3>;

def Weft_SinOp : Weft_Unary<"sin", Weft_FloatTensor, "sine of an angle in radians",
  [{ return k.make<::mlir::math::SinOp>(a); }],
  [{ d(0, [&] { return g * vjp.unary<CosOp>(a); }); }], [{ return std::sin(a); }]>, Weft_Function<25, 2, notMonotone>;

def Weft_CosOp : Weft_Unary<"cos", Weft_FloatTensor, "cosine of an angle in radians",
  [{ return k.make<::mlir::math::CosOp>(a); }],
  [{ d(0, [&] { return -g * vjp.unary<SinOp>(a); }); }], [{ return std::cos(a); }]>, Weft_Function<26, 2, notMonotone>;

def Weft_TanOp : Weft_Unary<"tan", Weft_FloatTensor, "tangent of an angle in radians",
  [{ return k.make<::mlir::math::TanOp>(a); }],
  [{ d(0, [&] { return g * (y * y + 1.0); }); }], [{ return std::tan(a); }]>, Weft_Function<42, 4, notMonotone>;

def Weft_AsinOp : Weft_Unary<"asin", Weft_FloatTensor, "angle whose sine is a, in radians; NaN outside of [-1, 1]",
  [{ return k.make<::mlir::math::AsinOp>(a); }],
  [{ d(0, [&] { return g * vjp.unary<RsqrtOp>(1.0 - a * a); }); }], [{ return std::asin(a); }]>, Weft_Function<29, 2>;

def Weft_AcosOp : Weft_Unary<"acos", Weft_FloatTensor, "angle whose cosine is a, in radians; NaN outside of [-1, 1]",
  [{ return k.make<::mlir::math::AcosOp>(a); }],
  [{ d(0, [&] { return -g * vjp.unary<RsqrtOp>(1.0 - a * a); }); }], [{ return std::acos(a); }]>, Weft_Function<32, 2>;

def Weft_AtanOp : Weft_Unary<"atan", Weft_FloatTensor, "angle whose tangent is a, in radians",
  [{ return k.make<::mlir::math::AtanOp>(a); }],
  [{ d(0, [&] { return g / (a * a + 1.0); }); }], [{ return std::atan(a); }]>, Weft_Function<18, 2>;

def Weft_Log2Op : Weft_Unary<"log2", Weft_FloatTensor, "logarithm to base 2, exact at powers of two",
  [{ return k.make<::mlir::math::Log2Op>(a); }],
  [{ d(0, [&] { return g / (a * 0.693147180559945309417); }); }], [{ return std::log2(a); }]>, Weft_Function<31, 2>;

def Weft_Log10Op : Weft_Unary<"log10", Weft_FloatTensor, "logarithm to base 10",
  [{ return k.make<::mlir::math::Log10Op>(a); }],
  [{ d(0, [&] { return g / (a * 2.30258509299404568402); }); }], [{ return std::log10(a); }]>, Weft_Function<34, 2>;

def Weft_Exp2Op : Weft_Unary<"exp2", Weft_FloatTensor, "2 to the power a, exact at integers",
  [{ return k.make<::mlir::math::Exp2Op>(a); }],
  [{ d(0, [&] { return g * (y * 0.693147180559945309417); }); }], [{ return std::exp2(a); }]>, Weft_Function<23, 2>;

def Weft_SinhOp : Weft_Unary<"sinh", Weft_FloatTensor, "hyperbolic sine",
  [{ return k.make<::mlir::math::SinhOp>(a); }],
  [{ d(0, [&] { return g * vjp.unary<CoshOp>(a); }); }], [{ return std::sinh(a); }]>, Weft_Function<49, 2>;

def Weft_CoshOp : Weft_Unary<"cosh", Weft_FloatTensor, "hyperbolic cosine",
  [{ return k.make<::mlir::math::CoshOp>(a); }],
  [{ d(0, [&] { return g * vjp.unary<SinhOp>(a); }); }], [{ return std::cosh(a); }]>, Weft_Function<37, 2>;

def Weft_TanhOp : Weft_Unary<"tanh", Weft_FloatTensor, "hyperbolic tangent",
  [{ return k.make<::mlir::math::TanhOp>(a); }],
  [{ d(0, [&] { return g * (1.0 - y * y); }); }], [{ return std::tanh(a); }]>, Weft_Function<15, 5>;

def Weft_AsinhOp : Weft_Unary<"asinh", Weft_FloatTensor, "inverse hyperbolic sine",
  [{ return k.make<::mlir::math::AsinhOp>(a); }],
  [{ d(0, [&] { return g * vjp.unary<RsqrtOp>(a * a + 1.0); }); }], [{ return std::asinh(a); }]>, Weft_Function<69, 2>;

def Weft_AcoshOp : Weft_Unary<"acosh", Weft_FloatTensor, "inverse hyperbolic cosine, not negative; NaN below 1",
  [{ return k.make<::mlir::math::AcoshOp>(a); }],
  [{ d(0, [&] { return g * vjp.unary<RsqrtOp>(a * a - 1.0); }); }], [{ return std::acosh(a); }]>, Weft_Function<59, 2>;

def Weft_AtanhOp : Weft_Unary<"atanh", Weft_FloatTensor, "inverse hyperbolic tangent; NaN outside of [-1, 1]",
  [{ return k.make<::mlir::math::AtanhOp>(a); }],
  [{ d(0, [&] { return g / (1.0 - a * a); }); }], [{ return std::atanh(a); }]>, Weft_Function<59, 2>;

def Weft_ErfOp : Weft_Unary<"erf", Weft_FloatTensor, "error function",
  [{ return k.make<::mlir::math::ErfOp>(a); }],
  [{ d(0, [&] { return g * (vjp.unary<ExpOp>(-(a * a)) * 1.12837916709551257390); }); }], [{ return std::erf(a); }]>, Weft_Function<35, 5>;

def Weft_SigmoidOp : Weft_Unary<"sigmoid", Weft_FloatTensor, "1/(1 + exp(-a))",
  [{ return k.sigmoid(a); }],
  [{ d(0, [&] { return g * (y * (1.0 - y)); }); }], [{ return 1 / (1 + std::exp(-a)); }]>, Weft_Function<14, 4>;

def Weft_IsNanOp : Weft_Unary<"isnan", Weft_FloatTensor, "true where a is not a number",
  [{ return k.make<::mlir::arith::CmpFOp>(::mlir::arith::CmpFPredicate::UNO, a, a); }], [{ }],
  [{ return std::isnan(a); }], noWhole, [], "::mlir::IntegerType::get(type.getContext(), 1)">, Weft_Exact;

def Weft_BnotOp : Weft_Unary<"bnot", Weft_IntTensor, "all bits inverted; logical not on i1",
  [{ return k.make<::mlir::arith::XOrIOp>(a, k.constantLike(a, -1)); }], [{ }],
  [{ return a; }], [{ return ~a; }]>, Weft_Exact;

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

def Weft_AddOp : Weft_Binary<"add", Weft_NumberTensor, "a + b; integers wrap",
  [{ return k.isFloat(a) ? k.make<::mlir::arith::AddFOp>(a, b) : k.make<::mlir::arith::AddIOp>(a, b); }],
  [{ d(0, [&] { return g; }); d(1, [&] { return g; }); }],
  [{ return a + b; }], [{ return ::weft::ir::wrapAdd(a, b); }], [Commutative]>, Weft_Exact;

def Weft_SubOp : Weft_Binary<"sub", Weft_NumberTensor, "a - b; integers wrap",
  [{ return k.isFloat(a) ? k.make<::mlir::arith::SubFOp>(a, b) : k.make<::mlir::arith::SubIOp>(a, b); }],
  [{ d(0, [&] { return g; }); d(1, [&] { return -g; }); }],
  [{ return a - b; }], [{ return ::weft::ir::wrapSub(a, b); }]>, Weft_Exact;

def Weft_MulOp : Weft_Binary<"mul", Weft_NumberTensor, "a * b; integers wrap",
  [{ return k.isFloat(a) ? k.make<::mlir::arith::MulFOp>(a, b) : k.make<::mlir::arith::MulIOp>(a, b); }],
  [{ d(0, [&] { return g * b; }); d(1, [&] { return g * a; }); }],
  [{ return a * b; }], [{ return ::weft::ir::wrapMul(a, b); }], [Commutative]>, Weft_Exact;

def Weft_DivOp : Weft_Binary<"div", Weft_NumberTensor,
  "a / b; IEEE for floats, toward zero for integers, where x/0 = -1 and min/-1 = min",
  [{ return k.isFloat(a) ? k.make<::mlir::arith::DivFOp>(a, b) : k.divideIntegers(a, b); }],
  [{ d(0, [&] { return g / b; }); d(1, [&] { return -g * y / b; }); }],
  [{ return a / b; }], [{ return b == 0 ? -1 : b == -1 ? ::weft::ir::wrapSub(0, a) : a / b; }]>, Weft_Function<5, 0>;

def Weft_RemOp : Weft_Binary<"rem", Weft_NumberTensor,
  "remainder with the sign of a, exact (fmod of C); x rem 0 is NaN for floats, x for integers",
  [{ return k.isFloat(a) ? k.make<::mlir::arith::RemFOp>(a, b) : k.remainderIntegers(a, b); }],
  [{ d(0, [&] { return g; }); d(1, [&] { return -g * vjp.unary<TruncOp>(a / b); }); }],
  [{ return std::fmod(a, b); }], [{ return b == 0 ? a : b == -1 ? 0 : a % b; }]>, Weft_Function<28, 0, notMonotone>;

def Weft_ModOp : Weft_Binary<"mod", Weft_NumberTensor,
  "remainder with the sign of b (% of Python, torch.remainder); x mod 0 is NaN for floats, x for integers",
  [{ auto r = k.isFloat(a) ? k.make<::mlir::arith::RemFOp>(a, b) : k.remainderIntegers(a, b);
     if (k.isUnsigned(0)) return r;
     auto zero = k.zeroLike(a);
     auto differ = k.make<::mlir::arith::XOrIOp>(k.lt(r, zero), k.lt(b, zero));
     auto inexact = k.compare(::mlir::arith::CmpFPredicate::UNE, ::mlir::arith::CmpIPredicate::ne, r, zero);
     auto nonzero = k.compare(::mlir::arith::CmpFPredicate::UNE, ::mlir::arith::CmpIPredicate::ne, b, zero);
     auto shifted = k.isFloat(a) ? k.make<::mlir::arith::AddFOp>(r, b) : k.make<::mlir::arith::AddIOp>(r, b);
     auto move = k.make<::mlir::arith::AndIOp>(k.make<::mlir::arith::AndIOp>(differ, inexact), nonzero);
     return k.select(move, shifted, r); }],
  [{ d(0, [&] { return g; });
     d(1, [&] { // -floor(a / b), computed exactly, because a / b may be rounded across a whole number
       auto r = vjp.binary<RemOp>(a, b), toZero = vjp.unary<RoundOp>((a - r) / b);
       auto down = vjp.select(vjp.compare<EqOp>(r, y), toZero, toZero - 1.0);
       return -g * vjp.select(vjp.compare<EqOp>(b, vjp.like(b, 0.0)), a / b, down); // infinite where b is 0
     }); }],
  [{ double r = std::fmod(a, b); return r != 0 && (r < 0) != (b < 0) && b != 0 ? r + b : r; }],
  [{ if (b == 0) return a;
     int64_t r = b == -1 ? 0 : a % b;
     return r != 0 && (r < 0) != (b < 0) ? r + b : r; }]>, Weft_Function<27, 0, notMonotone>;

def Weft_PowOp : Weft_Binary<"pow", Weft_NumberTensor,
  "a to the power b: pow of C for floats; for integers a negative power is 0 unless a is 1 or -1",
  [{ return k.isFloat(a) ? k.make<::mlir::math::PowFOp>(a, b) : k.powIntegers(a, b); }],
  [{ auto zero = vjp.like(a, 0.0);
     d(0, [&] { // in f32 for f16 and bf16, because the power may overflow f16 even if its product with b does not
       auto element = a.type().getElementType();
       auto w = [&](Sym x) { return element.isF16() || element.isBF16() ? vjp.convert(x, vjp.builder.getF32Type()) : x; };
       auto slope = vjp.convert(w(g) * w(b) * vjp.binary<PowOp>(w(a), w(b) - 1.0), element);
       return vjp.select(vjp.compare<EqOp>(b, zero), zero, slope);
     });
     d(1, [&] {
       auto edge = vjp.binary<AndOp>(vjp.compare<EqOp>(a, zero), vjp.compare<GeOp>(b, zero));
       return vjp.select(edge, zero, g * y * vjp.unary<LogOp>(a));
     }); }],
  [{ return std::pow(a, b); }], [{ return ::weft::ir::wrapPow(a, b); }]>, Weft_Function<80, 4>;

def Weft_Atan2Op : Weft_Binary<"atan2", Weft_FloatTensor, "angle of the point (b, a), in radians, in (-pi, pi]",
  [{ return k.make<::mlir::math::Atan2Op>(a, b); }],
  [{ auto square = a * a + b * b, zero = vjp.like(a, 0.0); // no gradient at (0, 0)
     auto scaled = vjp.select(vjp.compare<EqOp>(square, zero), zero, g / square);
     d(0, [&] { return scaled * b; });
     d(1, [&] { return -(scaled * a); }); }],
  [{ return std::atan2(a, b); }]>, Weft_Function<50, 3, notMonotone>;

def Weft_CopysignOp : Weft_Binary<"copysign", Weft_FloatTensor, "magnitude of a with the sign bit of b",
  [{ return k.make<::mlir::math::CopySignOp>(a, b); }],
  [{ d(0, [&] { auto zero = vjp.like(a, 0.0); return vjp.select(vjp.compare<EqOp>(a, zero), zero, g * (y / a)); }); }],
  [{ return std::copysign(a, b); }]>, Weft_Exact;

def Weft_MaxOp : Weft_Binary<"max", Weft_NumberTensor, "the larger; NaN propagates, max(-0, +0) = +0",
  [{ if (k.isFloat(a)) return k.make<::mlir::arith::MaximumFOp>(a, b);
     return k.isUnsigned(0) ? k.make<::mlir::arith::MaxUIOp>(a, b) : k.make<::mlir::arith::MaxSIOp>(a, b); }],
  [{ if (vjp.op->hasAttr(::weft::ir::attr::relu)) { // max(a, 0) whose derivative at 0 is 0, from the result alone
       d(0, [&] { return vjp.select(vjp.compare<LeOp>(y, vjp.like(y, 0.0)), vjp.like(g, 0.0), g); });
       return ::mlir::success();
     }
     auto shared = vjp.select(vjp.compare<EqOp>(a, b), g * 0.5, g), none = vjp.like(g, 0.0); // NaN: to both
     d(0, [&] { return vjp.select(vjp.compare<LtOp>(a, b), none, shared); });
     d(1, [&] { return vjp.select(vjp.compare<LtOp>(b, a), none, shared); }); }],
  [{ return std::isnan(a) ? a : std::isnan(b) ? b : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b; }],
  [{ return a > b ? a : b; }], [Commutative]>, Weft_Exact;

def Weft_MinOp : Weft_Binary<"min", Weft_NumberTensor, "the smaller; NaN propagates, min(-0, +0) = -0",
  [{ if (k.isFloat(a)) return k.make<::mlir::arith::MinimumFOp>(a, b);
     return k.isUnsigned(0) ? k.make<::mlir::arith::MinUIOp>(a, b) : k.make<::mlir::arith::MinSIOp>(a, b); }],
  [{ auto shared = vjp.select(vjp.compare<EqOp>(a, b), g * 0.5, g), none = vjp.like(g, 0.0); // NaN: to both
     d(0, [&] { return vjp.select(vjp.compare<GtOp>(a, b), none, shared); });
     d(1, [&] { return vjp.select(vjp.compare<GtOp>(b, a), none, shared); }); }],
  [{ return std::isnan(a) ? a : std::isnan(b) ? b : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b; }],
  [{ return a < b ? a : b; }], [Commutative]>, Weft_Exact;

def Weft_AfterOp : Weft_Binary<"after", Weft_Tensor,
  "a, but not computed before b: keeps what is computed from it apart from what is computed from a",
  [{ return a; }], [{ d(0, [&] { return g; }); }], [{ return a; }], [{ return a; }]>, Weft_Exact;

class Weft_Compare<string mnemonic, string floatPredicate, string intPredicate, string op, string summaryText,
                   list<Trait> traits = []> :
    Weft_Binary<mnemonic, Weft_Tensor, summaryText,
      "return k.compare(::mlir::arith::CmpFPredicate::" # floatPredicate # ", ::mlir::arith::CmpIPredicate::" #
          intPredicate # ", a, b);",
      [{ }], "return a " # op # " b;", "return a " # op # " b;", traits,
      "::mlir::IntegerType::get(type.getContext(), 1)">, Weft_Exact;
def Weft_EqOp : Weft_Compare<"eq", "OEQ", "eq", "==", "a equals b; false for NaN", [Commutative]>;
def Weft_NeOp : Weft_Compare<"ne", "UNE", "ne", "!=", "a differs from b; true for NaN", [Commutative]>;
def Weft_LtOp : Weft_Compare<"lt", "OLT", "slt", "<", "a is below b; false for NaN">;
def Weft_LeOp : Weft_Compare<"le", "OLE", "sle", "<=", "a is not above b; false for NaN">;
def Weft_GtOp : Weft_Compare<"gt", "OGT", "sgt", ">", "a is above b; false for NaN">;
def Weft_GeOp : Weft_Compare<"ge", "OGE", "sge", ">=", "a is not below b; false for NaN">;

class Weft_Bitwise<string mnemonic, string arithOp, string op, string summaryText> :
    Weft_Binary<mnemonic, Weft_IntTensor, summaryText, "return k.make<::mlir::arith::" # arithOp # ">(a, b);",
      [{ }], [{ return a; }], "return a " # op # " b;", [Commutative]>, Weft_Exact;
def Weft_AndOp : Weft_Bitwise<"and", "AndIOp", "&", "bitwise and; logical on i1">;
def Weft_OrOp : Weft_Bitwise<"or", "OrIOp", "|", "bitwise or; logical on i1">;
def Weft_XorOp : Weft_Bitwise<"xor", "XOrIOp", "^", "bitwise exclusive or; logical on i1">;

//===----------------------------------------------------------------------===//
// Ternary and conversion
//===----------------------------------------------------------------------===//

def Weft_FmaOp : Weft_Elementwise<"fma",
  [{ return k.make<::mlir::math::FmaOp>(a, b, c); }],
  [{ d(0, [&] { return g * b; }); d(1, [&] { return g * a; }); d(2, [&] { return g; }); }],
  [{ return std::fma(a, b, c); }], noWhole, []>, Weft_Exact {
  let summary = "a * b + c with one rounding";
  let arguments = (ins Weft_FloatTensor:$a, Weft_FloatTensor:$b, Weft_FloatTensor:$c);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` custom<OperandTypes>(type($a), type($b), type($c))";
}

def Weft_SelectOp : Weft_ComputeOp<"select", [Weft_ElementwiseTrait, Differentiable,
                                              DeclareOpInterfaceMethods<Weft_ElementwiseOp>,
                                              DeclareOpInterfaceMethods<Weft_CostOp>]> {
  let summary = "b where the condition is true, otherwise c";
  let arguments = (ins Weft_BoolTensor:$condition, Weft_Tensor:$b, Weft_Tensor:$c);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $condition `,` $b `,` $c attr-dict `:` type($condition) `,` custom<OperandTypes>(type($b), type($c))
  }];
}

def Weft_ConvertOp : Weft_ComputeOp<"convert", [Weft_ElementwiseTrait, Differentiable,
                                                DeclareOpInterfaceMethods<Weft_ElementwiseOp>,
                                                DeclareOpInterfaceMethods<Weft_CostOp>]> {
  let summary = "conversion to another element type";
  let description = [{
    Float to float rounds to nearest even. Float to integer rounds toward zero, saturates, and maps NaN to 0. Integer to
    integer wraps. To i1 is `a != 0`.
  }];
  let arguments = (ins Weft_Tensor:$a, TypeAttr:$to);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `to` $to attr-dict `:` type($a)";
}

#endif // WEFT_ELEMENTWISE_TD
