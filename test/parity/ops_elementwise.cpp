//===- ops_elementwise.cpp - Functions of single elements -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

#define UNARY(name) table[#name] = [](const Args &a) { return Tensors{weft::name(a.tensor(0))}; }
#define BINARY(name)                                                                                         \
  table[#name] = [](const Args &a) { return Tensors{weft::name(a.operand(0), a.operand(1))}; }

void parity::addElementwise(Table &table) {
  UNARY(abs);
  UNARY(ceil);
  UNARY(cos);
  UNARY(erf);
  UNARY(exp);
  UNARY(expm1);
  UNARY(floor);
  UNARY(isnan);
  UNARY(log);
  UNARY(log1p);
  UNARY(logical_not);
  UNARY(neg);
  UNARY(reciprocal);
  UNARY(relu);
  UNARY(round);
  UNARY(rsqrt);
  UNARY(sigmoid);
  UNARY(sign);
  UNARY(sin);
  UNARY(sqrt);
  UNARY(tanh);
  UNARY(trunc);
  BINARY(add);
  BINARY(sub);
  BINARY(mul);
  BINARY(div);
  BINARY(eq);
  BINARY(ne);
  BINARY(lt);
  BINARY(le);
  BINARY(gt);
  BINARY(ge);
  BINARY(maximum);
  BINARY(minimum);
  BINARY(pow);
  UNARY(acos);
  UNARY(acosh);
  UNARY(asin);
  UNARY(asinh);
  UNARY(atan);
  UNARY(atanh);
  UNARY(bitwise_not);
  UNARY(cosh);
  UNARY(exp2);
  UNARY(hardsigmoid);
  UNARY(hardswish);
  UNARY(isfinite);
  UNARY(isinf);
  UNARY(log10);
  UNARY(log2);
  UNARY(relu6);
  UNARY(signbit);
  UNARY(silu);
  UNARY(sinh);
  UNARY(square);
  UNARY(tan);
  UNARY(deg2rad);
  UNARY(frac);
  UNARY(isneginf);
  UNARY(isposinf);
  UNARY(logsigmoid);
  UNARY(mish);
  UNARY(positive);
  UNARY(rad2deg);
  UNARY(selu);
  UNARY(sgn);
  UNARY(sinc);
  UNARY(softsign);
  UNARY(tanhshrink);
  BINARY(atan2);
  BINARY(bitwise_and);
  BINARY(bitwise_or);
  BINARY(bitwise_xor);
  BINARY(copysign);
  BINARY(floor_divide);
  BINARY(fmax);
  BINARY(fmin);
  BINARY(fmod);
  BINARY(logical_and);
  BINARY(logical_or);
  BINARY(logical_xor);
  BINARY(remainder);
  BINARY(float_power);
  BINARY(hypot);
  BINARY(ldexp);
  BINARY(logaddexp);
  BINARY(logaddexp2);
  BINARY(true_divide);
  BINARY(xlogy);
  table["heaviside"] = [](const Args &a) { return Tensors{heaviside(a.tensor(0), a.tensor(1))}; };
  table["rsub"] = [](const Args &a) { return Tensors{rsub(a.operand(0), a.operand(1), a.real(2, 1))}; };
  table["logit"] = [](const Args &a) {
    return Tensors{logit(a.tensor(0), a.has(1) ? std::optional(a.real(1)) : std::nullopt)};
  };
  table["clamp_min"] = [](const Args &a) { return Tensors{clamp_min(a.tensor(0), a.operand(1))}; };
  table["clamp_max"] = [](const Args &a) { return Tensors{clamp_max(a.tensor(0), a.operand(1))}; };
  table["hardshrink"] = [](const Args &a) { return Tensors{hardshrink(a.tensor(0), a.real(1, 0.5))}; };
  table["glu"] = [](const Args &a) { return Tensors{glu(a.tensor(0), a.whole(1, -1))}; };
  table["prelu"] = [](const Args &a) { return Tensors{prelu(a.tensor(0), a.tensor(1))}; };
  table["softmin"] = [](const Args &a) {
    return Tensors{a.has(2) ? softmin(a.tensor(0), a.whole(1), a.dtype(2))
                            : softmin(a.tensor(0), a.whole(1))};
  };
  table["div_rounding"] = [](const Args &a) {
    return Tensors{div(a.operand(0), a.operand(1), a.word(2, ""))};
  };
  table["addcmul"] = [](const Args &a) {
    return Tensors{addcmul(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3, 1))};
  };
  table["addcdiv"] = [](const Args &a) {
    return Tensors{addcdiv(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3, 1))};
  };
  table["lerp"] = [](const Args &a) { return Tensors{lerp(a.tensor(0), a.tensor(1), a.operand(2))}; };
  table["clamp"] = [](const Args &a) {
    if (!a.has(1))
      return Tensors{clamp_max(a.tensor(0), a.operand(2))};
    return Tensors{a.has(2) ? clamp(a.tensor(0), a.operand(1), a.operand(2))
                            : clamp_min(a.tensor(0), a.operand(1))};
  };
  table["nan_to_num"] = [](const Args &a) {
    auto bound = [&](size_t i) { return a.has(i) ? std::optional<double>(a.real(i)) : std::nullopt; };
    return Tensors{nan_to_num(a.tensor(0), a.real(1, 0), bound(2), bound(3))};
  };
  table["softplus"] = [](const Args &a) {
    return Tensors{softplus(a.tensor(0), a.real(1, 1), a.real(2, 20))};
  };
  table["leaky_relu"] = [](const Args &a) { return Tensors{leaky_relu(a.tensor(0), a.real(1, 0.01))}; };
  table["elu"] = [](const Args &a) { return Tensors{elu(a.tensor(0), a.real(1, 1))}; };
  table["celu"] = [](const Args &a) { return Tensors{celu(a.tensor(0), a.real(1, 1))}; };
  table["hardtanh"] = [](const Args &a) {
    return Tensors{hardtanh(a.tensor(0), a.real(1, -1), a.real(2, 1))};
  };
  table["softshrink"] = [](const Args &a) { return Tensors{softshrink(a.tensor(0), a.real(1, 0.5))}; };
  table["threshold"] = [](const Args &a) { return Tensors{threshold(a.tensor(0), a.real(1), a.real(2))}; };
  table["isclose"] = [](const Args &a) {
    return Tensors{isclose(a.tensor(0), a.tensor(1), a.real(2, 1e-5), a.real(3, 1e-8), a.flag(4))};
  };
  table["where"] = [](const Args &a) { return Tensors{where(a.tensor(0), a.operand(1), a.operand(2))}; };
  table["to"] = [](const Args &a) { return Tensors{a.tensor(0).to(a.dtype(1))}; };
  table["gelu"] = [](const Args &a) { return Tensors{gelu(a.tensor(0), a.word(1, "none"))}; };
}
