//===- Functions.cpp - The functions that programs name ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Functions.h"

#include <utility>

namespace weft::programs {

/// A number of the instruction's kind.
static Arg numberOf(const Instruction &in) {
  if (in.c == 2)
    return in.number != 0;
  if (in.c == 1)
    return static_cast<int64_t>(in.number);
  return in.number;
}

static DType dtypeOf(const Instruction &in) { return *parse_dtype(dtypes[in.type]); }

static Tensor function(int64_t i, const Tensor &a) {
  static constexpr Tensor (*all[])(const Tensor &) = {
      [](const Tensor &x) { return tanh(x); },       [](const Tensor &x) { return sin(x); },
      [](const Tensor &x) { return cos(x); },        [](const Tensor &x) { return exp(x); },
      [](const Tensor &x) { return expm1(x); },      [](const Tensor &x) { return log1p(x); },
      [](const Tensor &x) { return sqrt(x); },       [](const Tensor &x) { return rsqrt(x); },
      [](const Tensor &x) { return reciprocal(x); }, [](const Tensor &x) { return abs(x); },
      [](const Tensor &x) { return neg(x); },        [](const Tensor &x) { return sign(x); },
      [](const Tensor &x) { return square(x); },     [](const Tensor &x) { return sigmoid(x); },
      [](const Tensor &x) { return relu(x); },       [](const Tensor &x) { return floor(x); },
      [](const Tensor &x) { return ceil(x); },       [](const Tensor &x) { return round(x); },
      [](const Tensor &x) { return trunc(x); },      [](const Tensor &x) { return isnan(x); },
      [](const Tensor &x) { return isfinite(x); },   [](const Tensor &x) { return logical_not(x); },
      [](const Tensor &x) { return bitwise_not(x); }};
  static_assert(std::size(all) == std::size(functions));
  return all[i](a);
}

static Tensor binary(int64_t i, const Arg &a, const Arg &b) {
  static constexpr Tensor (*all[])(const Arg &, const Arg &) = {
      [](const Arg &x, const Arg &y) { return add(x, y); },
      [](const Arg &x, const Arg &y) { return sub(x, y); },
      [](const Arg &x, const Arg &y) { return mul(x, y); },
      [](const Arg &x, const Arg &y) { return div(x, y); },
      [](const Arg &x, const Arg &y) { return remainder(x, y); },
      [](const Arg &x, const Arg &y) { return floor_divide(x, y); },
      [](const Arg &x, const Arg &y) { return pow(x, y); },
      [](const Arg &x, const Arg &y) { return eq(x, y); },
      [](const Arg &x, const Arg &y) { return ne(x, y); },
      [](const Arg &x, const Arg &y) { return lt(x, y); },
      [](const Arg &x, const Arg &y) { return le(x, y); },
      [](const Arg &x, const Arg &y) { return gt(x, y); },
      [](const Arg &x, const Arg &y) { return ge(x, y); },
      [](const Arg &x, const Arg &y) { return bitwise_and(x, y); },
      [](const Arg &x, const Arg &y) { return bitwise_or(x, y); },
      [](const Arg &x, const Arg &y) { return bitwise_xor(x, y); },
      [](const Arg &x, const Arg &y) { return maximum(x, y); },
      [](const Arg &x, const Arg &y) { return minimum(x, y); },
      [](const Arg &x, const Arg &y) { return fmod(x, y); },
      [](const Arg &x, const Arg &y) { return atan2(x, y); },
      [](const Arg &x, const Arg &y) { return logical_and(x, y); },
      [](const Arg &x, const Arg &y) { return logical_or(x, y); },
      [](const Arg &x, const Arg &y) { return logical_xor(x, y); }};
  static_assert(std::size(all) == std::size(binaries));
  return all[i](a, b);
}

static Tensor reduce(const Instruction &in, const Tensor &a) {
  const int along = in.b % 3;
  const IntList dims = along == 0 ? IntList() : along == 1 ? IntList{0} : IntList{-1};
  const bool keepdim = along == 2;
  const int64_t dim = along == 1 ? 0 : -1;
  const bool isIn = in.type >= 0;
  switch (in.i) {
  case 0:
    return isIn ? a.sum(dims, keepdim, dtypeOf(in)) : a.sum(dims, keepdim);
  case 1:
    return isIn ? a.mean(dims, keepdim, dtypeOf(in)) : a.mean(dims, keepdim);
  case 2:
    return isIn ? a.prod(dims, keepdim, dtypeOf(in)) : a.prod(dims, keepdim);
  case 3:
    return isIn ? a.cumsum(dim, dtypeOf(in)) : a.cumsum(dim);
  case 4:
    return a.amax(dims, keepdim);
  case 5:
    return a.amin(dims, keepdim);
  case 6:
    return a.any(dims, keepdim);
  case 7:
    return a.all(dims, keepdim);
  case 8:
    return a.var(dims, 1, keepdim);
  case 9:
    return along == 0 ? a.argmax() : a.argmax(dim, keepdim);
  default:
    return a.logsumexp(along == 0 ? IntList{0} : dims, keepdim);
  }
}

Tensor compute(const Instruction &in, const Tensor &a, const Tensor &b, const Tensor &c) {
  switch (in.op) {
  case Op::cast:
    return a.to(dtypeOf(in));
  case Op::constant:
    return in.type < 0 ? full({size, size}, numberOf(in)) : full({size, size}, numberOf(in), dtypeOf(in));
  case Op::function:
    return function(in.i, a);
  case Op::binary:
    return binary(in.i, a, b);
  case Op::withNumber:
    return in.b % 2 ? binary(in.i, numberOf(in), a) : binary(in.i, a, numberOf(in));
  case Op::select:
    return where(c.to(i1), a, b);
  case Op::selectNumber:
    return where(b.to(i1), a, numberOf(in));
  case Op::reduce:
    return reduce(in, a);
  default: // join
    return cat({a, b}).narrow(0, in.i, size);
  }
}

void write(const Instruction &in, Tensor &a, const Tensor &b) {
  if (in.op == Op::maskedFill) {
    a.masked_fill_(b.to(i1), numberOf(in));
    return;
  }
  static constexpr void (*all[])(Tensor &, const Arg &) = {
      [](Tensor &x, const Arg &y) { x.add_(y); },       [](Tensor &x, const Arg &y) { x.sub_(y); },
      [](Tensor &x, const Arg &y) { x.mul_(y); },       [](Tensor &x, const Arg &y) { x.div_(y); },
      [](Tensor &x, const Arg &y) { x.remainder_(y); }, [](Tensor &x, const Arg &y) { x.floor_divide_(y); },
      [](Tensor &x, const Arg &y) { x.pow_(y); }};
  static_assert(std::size(all) == binariesInPlace);
  all[in.i](a, in.op == Op::binaryInPlace ? Arg(b) : numberOf(in));
}

} // namespace weft::programs
