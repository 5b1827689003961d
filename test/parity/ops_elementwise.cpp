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
  table["where"] = [](const Args &a) { return Tensors{where(a.tensor(0), a.operand(1), a.operand(2))}; };
  table["to"] = [](const Args &a) { return Tensors{a.tensor(0).to(a.dtype(1))}; };
  table["gelu"] = [](const Args &a) { return Tensors{gelu(a.tensor(0), a.word(1, "none"))}; };
}
