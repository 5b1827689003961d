//===- PrintOps.cpp - Arithmetic of kernel IR as CUDA C++ -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers are unsigned, since those of kernel IR wrap; ops for which the sign matters convert. Arithmetic of
// types below 32 bits is done in `int` and converted back. Indices are signed. f16 has the type of its bits.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaPrinter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

#include <charconv>
#include <cmath>

using namespace mlir;

namespace weft::codegen {

static Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

//===----------------------------------------------------------------------===//
// Types and literals
//===----------------------------------------------------------------------===//

std::string CudaPrinter::typeOf(Type type) const {
  if (type.isIndex())
    return wideIndex ? "long long" : "int";
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isF16())
    return "unsigned short";
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return "bool";
  case 8:
    return "unsigned char";
  case 16:
    return "unsigned short";
  case 32:
    return "unsigned";
  default:
    return "unsigned long long";
  }
}

std::string CudaPrinter::toSigned(Type type, const std::string &text) const {
  if (type.isIndex())
    return text;
  switch (type.getIntOrFloatBitWidth()) {
  case 8:
    return "(signed char)" + text;
  case 16:
    return "(short)" + text;
  case 32:
    return "(int)" + text;
  default:
    return "(long long)" + text;
  }
}

template <typename Real> static std::string shortest(Real value) {
  char buffer[64];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

std::string CudaPrinter::literal(Type element, Attribute value) const {
  if (auto real = dyn_cast<FloatAttr>(value)) {
    const APInt bits = real.getValue().bitcastToAPInt();
    std::string text;
    if (element.isF16())
      return std::to_string(bits.getZExtValue());
    if (!real.getValue().isFinite())
      return element.isF64()
                 ? "__longlong_as_double(" + std::to_string(static_cast<int64_t>(bits.getZExtValue())) + "ll)"
                 : "__uint_as_float(0x" + llvm::utohexstr(bits.getZExtValue(), /*LowerCase=*/true) + "u)";
    text = element.isF64() ? shortest(real.getValue().convertToDouble())
                           : shortest(real.getValue().convertToFloat()) + "f";
    return text.front() == '-' ? "(" + text + ")" : text;
  }
  const APInt whole = cast<IntegerAttr>(value).getValue();
  if (element.isIndex()) {
    std::string text = std::to_string(whole.getSExtValue()) + (wideIndex ? "ll" : "");
    return text.front() == '-' ? "(" + text + ")" : text;
  }
  if (element.isInteger(1))
    return whole.isZero() ? "false" : "true";
  const unsigned width = element.getIntOrFloatBitWidth();
  return std::to_string(whole.getZExtValue()) + (width == 64 ? "ull" : width == 32 ? "u" : "");
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Arithmetic of i1, where addition is exclusive or.
std::string CudaPrinter::logicExpression(Operation *op, const std::string &lane) {
  auto a = [&] { return read(op->getOperand(0), lane); };
  auto b = [&] { return read(op->getOperand(1), lane); };
  if (isa<arith::AndIOp, arith::MulIOp, arith::MinUIOp>(op))
    return "(" + a() + " & " + b() + ")";
  if (isa<arith::OrIOp, arith::MaxUIOp>(op))
    return "(" + a() + " | " + b() + ")";
  if (isa<arith::XOrIOp, arith::AddIOp, arith::SubIOp>(op))
    return b() == "true" ? "!" + a() : "(" + a() + " != " + b() + ")";
  return "";
}

std::optional<ir::Size> CudaPrinter::sizeOf(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (isHelper || !argument.getType().isIndex() || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
      return std::nullopt;
    return ir::Size::symbol(forms.lookup(argument).name);
  }
  if (const std::optional<int64_t> number = getConstantIntValue(value))
    return ir::Size(*number);
  Operation *op = value.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp>(op) || !value.getType().isIndex())
    return std::nullopt;
  const std::optional<ir::Size> a = sizeOf(op->getOperand(0)), b = sizeOf(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  ir::Size made = ir::Size::inexpressible();
  if (isa<arith::AddIOp>(op))
    made = *a + *b;
  else if (isa<arith::SubIOp>(op))
    made = *a - *b;
  else if (isa<arith::MulIOp>(op))
    made = *a * *b;
  else if (const std::optional<int64_t> by = b->number(); by && *by > 0) // rounded down, as (n + 31) / 32
    made = ir::ceilDiv(*a - (*by - 1), *by);
  return made.isExpressible() ? std::optional(made) : std::nullopt;
}

std::string CudaPrinter::divisionBySize(Operation *op, const std::string &lane) {
  const std::optional<ir::Size> size = sizeOf(op->getOperand(1));
  if (!size || !size->isSymbolic())
    return "";
  const auto *found = llvm::find(divisors, *size);
  const std::string number = std::to_string(found - divisors.begin());
  if (found == divisors.end())
    divisors.push_back(*size);
  const std::string a = read(op->getOperand(0), lane), quotient = "weft_quotient(" + a + ", r" + number + ")";
  return isa<arith::DivUIOp>(op) ? quotient
                                 : "(" + a + " - " + quotient + " * " + read(op->getOperand(1), lane) + ")";
}

std::string CudaPrinter::integerExpression(Operation *op, const std::string &lane) {
  Type type = elementOf(op->getResult(0));
  if (type.isInteger(1))
    return logicExpression(op, lane);
  if (type.isIndex() && isa<arith::DivUIOp, arith::RemUIOp>(op))
    if (std::string code = divisionBySize(op, lane); !code.empty())
      return code;
  const bool isIndex = type.isIndex(), isNarrow = !isIndex && type.getIntOrFloatBitWidth() < 32;
  std::string a = read(op->getOperand(0), lane), b = read(op->getOperand(1), lane);
  const std::string name = typeOf(type);
  auto asUnsigned = [&](const std::string &text) {
    return isIndex ? (wideIndex ? "(unsigned long long)" : "(unsigned)") + text : text;
  };
  auto back = [&](const std::string &text) { return "(" + name + ")(" + text + ")"; };
  auto binary = [&](const char *sign) {
    // Products of 16 bits may be too large for the `int` that they would be computed in.
    const std::string code = (isNarrow ? "(unsigned)" : "") + a + " " + sign + " " + b;
    return isNarrow ? back(code) : "(" + code + ")";
  };
  auto withSign = [&](const char *sign) {
    const std::string code = toSigned(type, a) + " " + sign + " " + toSigned(type, b);
    return isIndex ? "(" + code + ")" : back(code);
  };
  auto withoutSign = [&](const char *sign) {
    const std::string code = asUnsigned(a) + " " + sign + " " + asUnsigned(b);
    return isIndex || isNarrow ? back(code) : "(" + code + ")";
  };
  auto choose = [&](const char *function, bool isSigned) {
    auto side = [&](const std::string &text) {
      return isSigned ? (isNarrow ? "(int)" : "") + toSigned(type, text)
                      : (isNarrow ? "(unsigned)" + text : asUnsigned(text));
    };
    const std::string code = std::string(function) + "(" + side(a) + ", " + side(b) + ")";
    return isSigned && isIndex ? code : back(code);
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::AddIOp) { return binary("+"); })
      .Case([&](arith::SubIOp) { return binary("-"); })
      .Case([&](arith::MulIOp) { return binary("*"); })
      .Case([&](arith::AndIOp) { return binary("&"); })
      .Case([&](arith::OrIOp) { return binary("|"); })
      .Case([&](arith::XOrIOp) { return binary("^"); })
      .Case([&](arith::ShLIOp) { return binary("<<"); })
      .Case([&](arith::ShRUIOp) { return withoutSign(">>"); })
      .Case([&](arith::ShRSIOp) { return withSign(">>"); })
      .Case([&](arith::DivSIOp) { return withSign("/"); })
      .Case([&](arith::RemSIOp) { return withSign("%"); })
      .Case([&](arith::DivUIOp) { return withoutSign("/"); })
      .Case([&](arith::RemUIOp) { return withoutSign("%"); })
      .Case([&](arith::MaxSIOp) { return choose("max", true); })
      .Case([&](arith::MinSIOp) { return choose("min", true); })
      .Case([&](arith::MaxUIOp) { return choose("max", false); })
      .Case([&](arith::MinUIOp) { return choose("min", false); })
      .Default([](Operation *) { return std::string(); });
}

//===----------------------------------------------------------------------===//
// Comparisons and conversions
//===----------------------------------------------------------------------===//

std::string CudaPrinter::compare(Operation *op, const std::string &lane) {
  std::string a = read(op->getOperand(0), lane), b = read(op->getOperand(1), lane);
  auto is = [&](const char *sign) { return "(" + a + " " + sign + " " + b + ")"; };
  if (auto whole = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    const P p = whole.getPredicate();
    Type type = elementOf(whole.getLhs());
    if (p == P::slt || p == P::sle || p == P::sgt || p == P::sge) {
      if (type.isInteger(1))
        return "";
      a = toSigned(type, a);
      b = toSigned(type, b);
    } else if (type.isIndex() && p != P::eq && p != P::ne) {
      a = (wideIndex ? "(unsigned long long)" : "(unsigned)") + a;
      b = (wideIndex ? "(unsigned long long)" : "(unsigned)") + b;
    }
    switch (p) {
    case P::eq:
      return is("==");
    case P::ne:
      return is("!=");
    case P::slt:
    case P::ult:
      return is("<");
    case P::sle:
    case P::ule:
      return is("<=");
    case P::sgt:
    case P::ugt:
      return is(">");
    case P::sge:
    case P::uge:
      return is(">=");
    }
  }
  // The comparisons of C++ are ordered but for !=; the others are the negations of these.
  using F = arith::CmpFPredicate;
  switch (cast<arith::CmpFOp>(op).getPredicate()) {
  case F::AlwaysFalse:
    return "false";
  case F::AlwaysTrue:
    return "true";
  case F::OEQ:
    return is("==");
  case F::OGT:
    return is(">");
  case F::OGE:
    return is(">=");
  case F::OLT:
    return is("<");
  case F::OLE:
    return is("<=");
  case F::ONE:
    return "(" + is("<") + " || " + is(">") + ")";
  case F::ORD:
    return "(" + a + " == " + a + " && " + b + " == " + b + ")";
  case F::UNO:
    return a == b ? "(" + a + " != " + a + ")" : "(" + a + " != " + a + " || " + b + " != " + b + ")";
  case F::UEQ:
    return "!(" + is("<") + " || " + is(">") + ")";
  case F::UGT:
    return "!" + is("<=");
  case F::UGE:
    return "!" + is("<");
  case F::ULT:
    return "!" + is(">=");
  case F::ULE:
    return "!" + is(">");
  case F::UNE:
    return is("!=");
  }
  return "";
}

std::string CudaPrinter::convert(Operation *op, const std::string &lane) {
  const std::string x = read(op->getOperand(0), lane);
  Type from = elementOf(op->getOperand(0)), to = elementOf(op->getResult(0));
  const std::string type = "(" + typeOf(to) + ")";
  const bool fromBit = from.isInteger(1);
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::IndexCastOp) {
        if (to.isInteger(1)) // a conversion to bool would compare with 0
          return "((" + x + " & 1) != 0)";
        return fromBit ? type + "(-(int)" + x + ")" : type + toSigned(from, x);
      })
      .Case([&](arith::ExtSIOp) { return fromBit ? type + "(-(int)" + x + ")" : type + toSigned(from, x); })
      .Case<arith::ExtUIOp, arith::UIToFPOp>([&](auto) { return type + x; })
      .Case([&](arith::TruncIOp) { return to.isInteger(1) ? "((" + x + " & 1) != 0)" : type + x; })
      .Case([&](arith::SIToFPOp) { return fromBit ? type + "(-(int)" + x + ")" : type + toSigned(from, x); })
      .Case([&](arith::FPToSIOp) {
        if (to.isInteger(1))
          return std::string();
        return type + toSigned(to, x);
      })
      .Case([&](arith::ExtFOp) {
        if (!from.isF16())
          return type + x;
        const std::string single = "weft_from_f16(" + x + ")";
        return to.isF64() ? type + single : single;
      })
      .Case([&](arith::TruncFOp) {
        if (!to.isF16())
          return type + x;
        return from.isF32() ? "weft_to_f16(" + x + ")" : std::string();
      })
      .Case([&](arith::BitcastOp) {
        if (from == to || (from.isF16() && to.isInteger(16)) || (from.isInteger(16) && to.isF16()))
          return x;
        if (from.isF32() && to.isInteger(32))
          return "__float_as_uint(" + x + ")";
        if (from.isInteger(32) && to.isF32())
          return "__uint_as_float(" + x + ")";
        if (from.isF64() && to.isInteger(64))
          return "(unsigned long long)__double_as_longlong(" + x + ")";
        if (from.isInteger(64) && to.isF64())
          return "__longlong_as_double(" + x + ")";
        return std::string();
      })
      .Default([](Operation *) { return std::string(); });
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

bool isElementary(Operation *op) {
  return isa<arith::RemFOp>(op) ||
         (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
          !isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp,
               math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op));
}

std::string elementaryName(Operation *op) {
  std::string name = "weft_" + op->getName().stripDialect().str();
  std::string types;
  for (Value operand : op->getOperands()) {
    std::string type;
    llvm::raw_string_ostream(type) << elementOf(operand);
    if (types != "_" + type)
      types += "_" + type;
  }
  return name + types;
}

std::string CudaPrinter::mathExpression(Operation *op, const std::string &lane) {
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands())
    operands.push_back(read(operand, lane));
  const std::string given = "(" + llvm::join(operands, ", ") + ")";
  if (isElementary(op)) {
    if (!elementOf(op->getOperand(0)).isF32() && !elementOf(op->getOperand(0)).isF64())
      return "";
    const std::string name = elementaryName(op);
    elementary.try_emplace(name, op);
    return name + given;
  }
  if (isa<math::AbsIOp>(op)) {
    Type type = elementOf(op->getResult(0));
    return "(" + typeOf(type) + ")(" + toSigned(type, operands[0]) + " < 0 ? -" + operands[0] + " : " +
           operands[0] + ")";
  }
  const bool isDouble = elementOf(op->getResult(0)).isF64();
  if (!isDouble && !elementOf(op->getResult(0)).isF32())
    return "";
  const char *name = llvm::StringSwitch<const char *>(op->getName().stripDialect())
                         .Case("absf", "fabs")
                         .Case("ceil", "ceil")
                         .Case("copysign", "copysign")
                         .Case("floor", "floor")
                         .Case("fma", "fma")
                         .Case("roundeven", "rint")
                         .Case("sqrt", "sqrt")
                         .Case("trunc", "trunc")
                         .Default("");
  return *name ? name + std::string(isDouble ? "" : "f") + given : "";
}

std::string CudaPrinter::floatExpression(Operation *op, const std::string &lane) {
  Type type = elementOf(op->getResult(0));
  if (!type.isF32() && !type.isF64())
    return ""; // f16 is converted only
  if (std::string fused = contracted(op, lane); !fused.empty())
    return fused;
  auto a = [&] { return read(op->getOperand(0), lane); };
  auto b = [&] { return read(op->getOperand(1), lane); };
  auto choose = [&](bool largest) {
    auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue();
    if (!bitEnumContainsAll(flags, arith::FastMathFlags::nsz))
      return (largest ? "weft_max(" : "weft_min(") + a() + ", " + b() + ")";
    return "(" + a() + (largest ? " > " : " < ") + b() + " || " + a() + " != " + a() + " ? " + a() + " : " +
           b() + ")";
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::AddFOp) { return "(" + a() + " + " + b() + ")"; })
      .Case([&](arith::SubFOp) { return "(" + a() + " - " + b() + ")"; })
      .Case([&](arith::MulFOp) { return "(" + a() + " * " + b() + ")"; })
      .Case([&](arith::DivFOp) { return "(" + a() + " / " + b() + ")"; })
      .Case([&](arith::NegFOp) { return "-" + a(); })
      .Case([&](arith::MaximumFOp) { return choose(true); })
      .Case([&](arith::MinimumFOp) { return choose(false); })
      .Default([](Operation *) { return std::string(); });
}

std::string CudaPrinter::expression(Operation *op, const std::string &lane) {
  if (isa<gpu::BlockIdOp, gpu::ThreadIdOp>(op)) {
    const bool isX = isa<gpu::BlockIdOp>(op) ? cast<gpu::BlockIdOp>(op).getDimension() == gpu::Dimension::x
                                             : cast<gpu::ThreadIdOp>(op).getDimension() == gpu::Dimension::x;
    if (!isX)
      return "";
    return "(" + typeOf(op->getResult(0).getType()) + ")" +
           (isa<gpu::BlockIdOp>(op) ? "blockIdx.x" : "threadIdx.x");
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return "(" + read(select.getCondition(), lane) + " ? " + read(select.getTrueValue(), lane) + " : " +
           read(select.getFalseValue(), lane) + ")";
  if (isa<arith::CmpIOp, arith::CmpFOp>(op))
    return compare(op, lane);
  if (isElementary(op) || isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return mathExpression(op, lane);
  if (!isa_and_nonnull<arith::ArithDialect>(op->getDialect()))
    return "";
  if (op->getNumOperands() == 1 && !isa<arith::NegFOp>(op))
    return convert(op, lane);
  return isa<FloatType>(elementOf(op->getResult(0))) ? floatExpression(op, lane)
                                                     : integerExpression(op, lane);
}

} // namespace weft::codegen
