//===- DifferentiateTest.cpp - Derivatives against differences ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every differentiable op against central differences in f64, through the reference interpreter; and its
// value at the points where no difference exists, as PyTorch has it.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"

#include "test/unit/TestLevel.h"

#include "mlir/Transforms/Passes.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace weft;
using namespace weft::testing;

namespace {

struct Input {
  std::vector<int64_t> shape;
  double low = -2, high = 2;
};

/// `body` computes %r from the inputs %a, %b and %c.
struct Case {
  std::string body;
  std::vector<Input> inputs;
  std::vector<int64_t> result;
  bool twice = false; ///< whether the gradient is differentiated again, too
};

const std::vector<Case> &cases() {
  auto unary = [](const std::string &op, double low = -2, double high = 2, bool twice = false) {
    return Case{"%r = weft." + op + " %a : @2x3@", {{{2, 3}, low, high}}, {2, 3}, twice};
  };
  auto binary = [](const std::string &op, Input a = {{2, 3}}, Input b = {{2, 3}}, bool twice = false) {
    return Case{"%r = weft." + op + " %a, %b : @2x3@", {a, b}, {2, 3}, twice};
  };
  auto compare = [](const std::string &op) {
    return Case{"%p = weft." + op + " %a, %b : @2x3@ %r = weft.convert %p to f64 : tensor<2x3xi1, #cpu>",
                {{{2, 3}}, {{2, 3}}},
                {2, 3}};
  };
  auto bitwise = [](const std::string &op) {
    return Case{"%i = weft.convert %a to i32 : @2x3@ %j = weft.convert %b to i32 : @2x3@ %k = weft." + op +
                    " %i, %j : tensor<2x3xi32, #cpu> %r = weft.convert %k to f64 : tensor<2x3xi32, #cpu>",
                {{{2, 3}, 1.2, 1.8}, {{2, 3}, 4.2, 4.8}},
                {2, 3}};
  };
  static const std::vector<Case> all = {
      unary("neg"),
      unary("alias", -2, 2, true),
      Case{"%d = weft.exp %a : @2x3@ %s = weft.mul %a, %b : @2x3@ %u = weft.copy_into %d, %s : @2x3@ "
           "%r = weft.sin %u : @2x3@",
           {{{2, 3}}, {{2, 3}}},
           {2, 3},
           true},
      unary("abs", 0.5, 2),
      unary("abs", -2, -0.5),
      unary("sign", 0.5, 2),
      unary("ceil", 0.2, 0.8),
      unary("floor", 0.2, 0.8),
      unary("round", 0.6, 0.9),
      unary("trunc", 0.2, 0.8),
      unary("sqrt", 0.5, 3, true),
      unary("rsqrt", 0.5, 3, true),
      unary("recip", 0.5, 3, true),
      unary("exp", -2, 2, true),
      unary("expm1", -2, 2, true),
      unary("log", 0.5, 3, true),
      unary("log1p", -0.5, 3, true),
      unary("sin", -2, 2, true),
      unary("cos", -2, 2, true),
      unary("tanh", -2, 2, true),
      unary("erf", -2, 2, true),
      unary("sigmoid", -2, 2, true),
      unary("tan", -1, 1, true),
      unary("asin", -0.8, 0.8, true),
      unary("acos", -0.8, 0.8, true),
      unary("atan", -2, 2, true),
      unary("log2", 0.5, 3, true),
      unary("log10", 0.5, 3, true),
      unary("exp2", -2, 2, true),
      unary("sinh", -2, 2, true),
      unary("cosh", -2, 2, true),
      unary("asinh", -2, 2, true),
      unary("acosh", 1.5, 3, true),
      unary("atanh", -0.8, 0.8, true),
      {"%p = weft.isnan %a : @2x3@ %r = weft.convert %p to f64 : tensor<2x3xi1, #cpu>", {{{2, 3}}}, {2, 3}},
      {"%i = weft.convert %a to i32 : @2x3@ %j = weft.bnot %i : tensor<2x3xi32, #cpu> "
       "%r = weft.convert %j to f64 : tensor<2x3xi32, #cpu>",
       {{{2, 3}, 1.2, 1.8}},
       {2, 3}},
      binary("add"),
      binary("sub"),
      binary("after"),
      binary("mul", {{2, 3}}, {{2, 3}}, true),
      binary("div", {{2, 3}}, {{2, 3}, 0.5, 2}, true),
      binary("pow", {{2, 3}, 0.5, 2}, {{2, 3}}, true),
      // Quotients between 1.2 and 1.8: whole numbers, where these jump, are far.
      binary("rem", {{2, 3}, 2.4, 2.7}, {{2, 3}, 1.5, 2}),
      binary("mod", {{2, 3}, 2.4, 2.7}, {{2, 3}, 1.5, 2}),
      binary("mod", {{2, 3}, -2.7, -2.4}, {{2, 3}, 1.5, 2}),
      binary("atan2", {{2, 3}, 0.5, 2}, {{2, 3}, -2, -0.5}, true),
      binary("copysign", {{2, 3}, 0.5, 2}, {{2, 3}, -2, -0.5}),
      binary("copysign", {{2, 3}, -2, -0.5}, {{2, 3}, -2, -0.5}),
      {"%r = weft.fma %a, %b, %c : @2x3@", {{{2, 3}}, {{2, 3}}, {{2, 3}}}, {2, 3}, true},
      binary("max", {{2, 3}, 0, 1}, {{2, 3}, 1.5, 2}),
      binary("max", {{2, 3}, 2, 3}, {{2, 3}, 0, 1}),
      binary("min", {{2, 3}, 0, 1}, {{2, 3}, 1.5, 2}),
      binary("min", {{2, 3}, 2, 3}, {{2, 3}, 0, 1}),
      compare("eq"),
      compare("ne"),
      compare("lt"),
      compare("le"),
      compare("gt"),
      compare("ge"),
      bitwise("and"),
      bitwise("or"),
      bitwise("xor"),
      {"%c = weft.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1, #cpu> "
       "%r = weft.select %c, %a, %b : tensor<2x3xi1, #cpu>, @2x3@",
       {{{2, 3}}, {{2, 3}}},
       {2, 3}},
      // Narrower types lose differences of this size: what they do to a cotangent is tested by itself below.
      // left.
      {"%h = weft.mul %a, %a : @2x3@ %s = weft.convert %h to f64 : @2x3@ %r = weft.exp %s : @2x3@",
       {{{2, 3}}},
       {2, 3}},
      {"%k = weft.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : @2x3@ %r = weft.mul %a, %k : @2x3@",
       {{{2, 3}}},
       {2, 3}},
      {"%r = weft.full %a, shape = [2, 3] : @@", {{{}}}, {2, 3}},
      {"%i = weft.iota dim = 1 : tensor<2x3xi64, #cpu> %f = weft.convert %i to f64 : tensor<2x3xi64, #cpu> "
       "%r = weft.mul %a, %f : @2x3@",
       {{{2, 3}}},
       {2, 3}},
      {"%d = weft.dim 6 : tensor<i64, #cpu> %f = weft.convert %d to f64 : tensor<i64, #cpu> "
       "%s = weft.full %f, shape = [2, 3] : @@ %r = weft.div %a, %s : @2x3@",
       {{{2, 3}}},
       {2, 3}},
      {"%k = weft.constant dense<7> : tensor<i64, #cpu> "
       "%bits, %next = weft.rng_bits_philox %k, %k, shape = [2, 3] : tensor<i64, #cpu> "
       "%f = weft.convert %bits to f64 : tensor<2x3xi32, #cpu> %s = weft.sin %f : @2x3@ %r = weft.mul %a, %s "
       ": @2x3@",
       {{{2, 3}}},
       {2, 3}},
      {"%r = weft.broadcast_in_dim %a, dims = [1] : @3@ -> @2x3@", {{{3}}}, {2, 3}},
      {"%r = weft.broadcast_in_dim %a, dims = [0, 2] : @2x1@ -> @2x3x4@", {{{2, 1}}}, {2, 3, 4}},
      {"%r = weft.reshape %a : @2x3@ -> @3x2@", {{{2, 3}}}, {3, 2}},
      {"%r = weft.transpose %a, perm = [2, 0, 1] : @2x3x4@", {{{2, 3, 4}}}, {4, 2, 3}},
      {"%r = weft.slice %a, start = [0, 1], limit = [2, 7], step = [1, 3] : @2x8@", {{{2, 8}}}, {2, 2}},
      {"%r = weft.pad %a, low = [0, 1], high = [2, 0], interior = [1, 2] : @2x3@", {{{2, 3}}}, {5, 8}},
      {"%r = weft.pad %a, low = [-1, 2], high = [1, -2], interior = [0, 1] : @3x4@", {{{3, 4}}}, {3, 7}},
      {"%r = weft.pad %a value %b, low = [1, -1], high = [0, 2], interior = [1, 0] : @2x3@, @@",
       {{{2, 3}}, {{}}},
       {4, 4}},
      {"%r = weft.concat(%a, %b, %a), dim = 1 : @2x3@, @2x1@, @2x3@", {{{2, 3}}, {{2, 1}}}, {2, 7}},
      {"%r = weft.reverse %a, dims = [0, 2] : @2x3x4@", {{{2, 3, 4}}}, {2, 3, 4}},
      {"%i = weft.constant dense<1> : tensor<i64, #cpu> "
       "%r = weft.dynamic_slice %a, starts(%i, %i), sizes = [2, 3] : @3x4@, tensor<i64, #cpu>, tensor<i64, "
       "#cpu>",
       {{{3, 4}}},
       {2, 3}},
      {"%i = weft.constant dense<1> : tensor<i64, #cpu> "
       "%r = weft.dynamic_update_slice %a, %b, starts(%i, %i) : @3x4@, @2x2@, tensor<i64, #cpu>, "
       "tensor<i64, #cpu>",
       {{{3, 4}}, {{2, 2}}},
       {3, 4}},
      {"%i = weft.bitcast %a to i64 : @2x3@ %f = weft.bitcast %i to f64 : tensor<2x3xi64, #cpu> "
       "%z = weft.sub %f, %f : @2x3@ %r = weft.add %z, %b : @2x3@",
       {{{2, 3}}, {{2, 3}}},
       {2, 3}},
      {"%u = weft.undef : @2x3@ %z = weft.sub %u, %u : @2x3@ %r = weft.add %a, %z : @2x3@",
       {{{2, 3}}},
       {2, 3}},
      {"%i = weft.constant dense<[3, 0, 3]> : tensor<3xi64, #cpu> "
       "%r = weft.gather %a, %i, dim = 1, kind = points : @2x4@, tensor<3xi64, #cpu>",
       {{{2, 4}}},
       {2, 3}},
      {"%i = weft.constant dense<[[3, 0], [1, 1]]> : tensor<2x2xi64, #cpu> "
       "%s = weft.mul %a, %a : @2x4@ "
       "%r = weft.gather %s, %i, dim = 1, kind = along : @2x4@, tensor<2x2xi64, #cpu>",
       {{{2, 4}}},
       {2, 2},
       true},
      {"%i = weft.constant dense<[[1, 1], [0, 1]]> : tensor<2x2xi64, #cpu> "
       "%r = weft.scatter %a, %i, %b, dim = 0, kind = add : @2x3@, tensor<2x2xi64, #cpu>, @2x3@",
       {{{2, 3}}, {{2, 3}}},
       {2, 3}},
      {"%i = weft.constant dense<[[1, 1], [0, 1]]> : tensor<2x2xi64, #cpu> "
       "%r = weft.scatter %a, %i, %b, dim = 0, kind = mul : @2x3@, tensor<2x2xi64, #cpu>, @2x3@",
       {{{2, 3}}, {{2, 3}}},
       {2, 3}},
      {"%i = weft.constant dense<[[1, 1], [0, 1]]> : tensor<2x2xi64, #cpu> "
       "%r = weft.scatter %a, %i, %b, dim = 0, kind = max : @2x3@, tensor<2x2xi64, #cpu>, @2x3@",
       {{{2, 3}}, {{2, 3}}},
       {2, 3}},
      {"%i = weft.constant dense<[[1, 1], [0, 1]]> : tensor<2x2xi64, #cpu> "
       "%r = weft.scatter %a, %i, %b, dim = 0, kind = min : @2x3@, tensor<2x2xi64, #cpu>, @2x3@",
       {{{2, 3}}, {{2, 3}}},
       {2, 3}},
      {"%i = weft.constant dense<[[1, 1], [1, 0]]> : tensor<2x2xi64, #cpu> "
       "%r = weft.scatter %a, %i, %b, dim = 0, kind = set : @2x3@, tensor<2x2xi64, #cpu>, @2x3@",
       {{{2, 3}}, {{2, 3}}},
       {2, 3}},
      {"%i = weft.constant dense<[2, 0, 2]> : tensor<3xi64, #cpu> "
       "%r = weft.index_update %a, %b, %i, dim = 1 : @2x4@, @2x3@, tensor<3xi64, #cpu>",
       {{{2, 4}}, {{2, 3}}},
       {2, 4}},
      {"%i = weft.constant dense<[2, 0, 2]> : tensor<3xi64, #cpu> "
       "%r = weft.index_update %a, %b, %i, dim = 0 accumulate : @4x2@, @3x2@, tensor<3xi64, #cpu>",
       {{{4, 2}}, {{3, 2}}},
       {4, 2}},
      {"%r = weft.sum %a, dims = [1] : @2x3x4@", {{{2, 3, 4}}}, {2, 4}},
      {"%r = weft.sum %a, dims = [0, 1] : @2x3@", {{{2, 3}}}, {}},
      {"%r = weft.rmax %a, dims = [1] : @2x5@", {{{2, 5}}}, {2}},
      {"%r = weft.rmin %a, dims = [0, 1] : @2x5@", {{{2, 5}}}, {}},
      {"%i = weft.argmax %a, dim = 1 : @2x5@ %f = weft.convert %i to f64 : tensor<2xi64, #cpu> "
       "%s = weft.sum %a, dims = [1] : @2x5@ %r = weft.mul %f, %s : @2@",
       {{{2, 5}}},
       {2}},
      {"%r = weft.dot_general %a, %b, contract = [1] x [0] : @2x3@, @3x4@",
       {{{2, 3}}, {{3, 4}}},
       {2, 4},
       true},
      {"%r = weft.dot_general %a, %b, contract = [0] x [1] : @3x2@, @4x3@", {{{3, 2}}, {{4, 3}}}, {2, 4}},
      {"%r = weft.dot_general %a, %b, batch = [1] x [0], contract = [2, 0] x [2, 3] : @3x2x4@, @2x5x4x3@",
       {{{3, 2, 4}}, {{2, 5, 4, 3}}},
       {2, 5}},
      {"%r = weft.dot_general %a, %b, batch = [0, 2] x [0, 2], contract = [3] x [3] : @2x3x2x4@, @2x5x2x4@",
       {{{2, 3, 2, 4}}, {{2, 5, 2, 4}}},
       {2, 2, 3, 5}},
      {"%r = weft.dot_general %a, %a, contract = [0] x [0] : @3x2@, @3x2@", {{{3, 2}}}, {2, 2}},
      {"%s = weft.mul %a, %a : @2x7x6@ %r = weft.windows %s, size = [3, 2], stride = [2, 1], dilation = [1, "
       "2] : "
       "@2x7x6@",
       {{{2, 7, 6}}},
       {2, 3, 2, 3, 4},
       true},
      {"%s = weft.mul %a, %a : @2x3x4@ %r = weft.overlap_add %s, shape = [10], stride = [2], dilation = [1] "
       ": "
       "@2x3x4@",
       {{{2, 3, 4}}},
       {2, 10},
       true},
      {"%r = weft.convolution %a, %b, stride = [2, 1], low = [1, 2], high = [0, 1], base_dilation = [1, 1], "
       "window_dilation = [1, 2], groups = 1 : @2x2x4x3@, @3x2x2x2@",
       {{{2, 2, 4, 3}}, {{3, 2, 2, 2}}},
       {2, 3, 2, 4},
       true},
      {"%r = weft.convolution %a, %b, stride = [2], low = [-1], high = [2], base_dilation = [3], "
       "window_dilation = [1], groups = 2 : @1x4x3@, @2x2x3@",
       {{{1, 4, 3}}, {{2, 2, 3}}},
       {1, 2, 3},
       true},
      {"%r = weft.softmax %a, dim = 1 : @2x4@", {{{2, 4}}}, {2, 4}, true},
      {"%r = weft.softmax %a, dim = 0 : @3x2@", {{{3, 2}}}, {3, 2}},
      {"%r = weft.log_softmax %a, dim = 1 : @2x4@", {{{2, 4}}}, {2, 4}, true},
      {"%t = weft.constant dense<[3, 0, 1]> : tensor<3xi64, #cpu> "
       "%r, %l = weft.cross_entropy %a, %t, reduction = mean : @3x4@, tensor<3xi64, #cpu>",
       {{{3, 4}}},
       {}},
      {"%t = weft.constant dense<[3, 2, 1]> : tensor<3xi64, #cpu> "
       "%r, %l = weft.cross_entropy %a, %t, reduction = sum ignore_index = 2 : @3x4@, tensor<3xi64, #cpu>",
       {{{3, 4}}},
       {}},
      {"%t = weft.constant dense<[3, 2, 1]> : tensor<3xi64, #cpu> "
       "%r, %l = weft.cross_entropy %a, %t, reduction = none : @3x4@, tensor<3xi64, #cpu>",
       {{{3, 4}}},
       {3}},
      {"%r, %l = weft.sdpa %a, %b, %c, scale = 0.5 causal : @2x3x4@, @2x5x4@, @2x5x2@",
       {{{2, 3, 4}}, {{2, 5, 4}}, {{2, 5, 2}}},
       {2, 3, 2},
       true},
      // The mask has a gradient, which is summed over broadcast dimensions; a row that sees no key has none.
      {"%r, %l = weft.sdpa %a, %b, %c mask %d, scale = 0.7 : @3x4@, @5x4@, @5x2@ mask @1x5@",
       {{{3, 4}}, {{5, 4}}, {{5, 2}}, {{1, 5}}},
       {3, 2},
       true},
      {"%mask = weft.constant dense<[[true, false], [false, false]]> : tensor<2x2xi1, #cpu> "
       "%r, %l = weft.sdpa %a, %b, %c mask %mask, scale = 1.0 : @2x4@, @2x4@, @2x3@ mask tensor<2x2xi1, "
       "#cpu>",
       {{{2, 4}}, {{2, 4}}, {{2, 3}}},
       {2, 3},
       true},
      {"%o, %r = weft.sdpa %a, %b, %c, scale = 0.5 : @3x4@, @5x4@, @5x2@",
       {{{3, 4}}, {{5, 4}}, {{5, 2}}},
       {3}},
      // If one path has no derivative, the gradient is that of the other path.
      {"%i = weft.argmin %a, dim = 1 : @2x3@ %c = weft.gt %a, %a : @2x3@ "
       "%y = weft.any %c, dims = [1] : tensor<2x3xi1, #cpu> %x = weft.convert %i to f64 : tensor<2xi64, "
       "#cpu> "
       "%z = weft.convert %y to f64 : tensor<2xi1, #cpu> %v = weft.add %x, %z : @2@ "
       "%u = weft.sum %a, dims = [1] : @2x3@ %r = weft.add %u, %v : @2@",
       {{{2, 3}}},
       {2}},
      {"%r = weft.prod %a, dims = [1] : @2x3@", {{{2, 3}}}, {2}},
      {"%r = weft.cumsum %a, dim = 1 reverse exclusive : @2x3@", {{{2, 3}}}, {2, 3}, true},
      {"%r = weft.cumprod %a, dim = 0 exclusive : @3x2@", {{{3, 2}}}, {3, 2}},
      {"%r = weft.cummax %a, dim = 1 : @2x3@", {{{2, 3}}}, {2, 3}},
      // Without the identity, which is infinite.
      {"%s = weft.cummin %a, dim = 0 reverse exclusive : @3x2@ "
       "%r = weft.slice %s, start = [0, 0], limit = [2, 2], step = [1, 1] : @3x2@",
       {{{3, 2}}},
       {2, 2}},
      {"%r, %i = weft.sort %a, count = 2 descending : @2x3@", {{{2, 3}}}, {2, 2}},
      // Only the padding has windows.
      {"%r = weft.convolution %a, %b, stride = [1], low = [1], high = [1], base_dilation = [1], "
       "window_dilation = [2], groups = 1 : @1x1x0@, @1x1x1@",
       {{{1, 1, 0}}, {{1, 1, 1}}},
       {1, 1, 2}},
      // A matrix times its transpose, plus its diagonal, is positive definite.
      {"%t = weft.transpose %a, perm = [1, 0] : @3x3@ "
       "%p = weft.dot_general %a, %t, contract = [1] x [0] : @3x3@, @3x3@ "
       "%r, %i = weft.factorize %p, kind = cholesky : @3x3@",
       {{{3, 3}}},
       {3, 3}},
      {"%r, %p, %o = weft.factorize %a, kind = lu : @3x3@", {{{3, 3}}}, {3, 3}},
      {"%r, %p, %o = weft.factorize %a, kind = lu : @2x4@", {{{2, 4}}}, {2, 4}},
      {"%r, %p, %o = weft.factorize %a, kind = lu : @4x2@", {{{4, 2}}}, {4, 2}},
      {"%q, %r = weft.factorize %a, kind = qr : @2x4@", {{{2, 4}}}, {2, 4}},
      {"%r, %s = weft.factorize %a, kind = qr : @4x3@", {{{4, 3}}}, {4, 3}},
      {"%q, %r = weft.factorize %a, kind = qr : @4x3@", {{{4, 3}}}, {3, 3}},
      {"%u, %r, %v = weft.factorize %a, kind = svd : @2x3@", {{{2, 3}}}, {2}},
      {"%r, %s, %v = weft.factorize %a, kind = svd : @4x2@", {{{4, 2}}}, {4, 2}},
      {"%u, %s, %r = weft.factorize %a, kind = svd : @2x4@", {{{2, 4}}}, {2, 4}},
      {"%r = weft.triangular_solve %a, %b : @3x3@, @3x2@", {{{3, 3}}, {{3, 2}}}, {3, 2}},
      {"%r = weft.triangular_solve %a, %b upper unit : @2x3x3@, @2x3x1@",
       {{{2, 3, 3}}, {{2, 3, 1}}},
       {2, 3, 1}},
      {"%r = weft.fft %a, kind = c2c dim = 1 length = 3 scale = 0.5 : @2x3x2@", {{{2, 3, 2}}}, {2, 3, 2}},
      {"%r = weft.fft %a, kind = c2c dim = 0 length = 2 scale = 0.5 inverse : @2x3x2@",
       {{{2, 3, 2}}},
       {2, 3, 2}},
      {"%r = weft.fft %a, kind = r2c dim = 1 length = 5 scale = 1.0 : @2x5@", {{{2, 5}}}, {2, 3, 2}},
      {"%r = weft.fft %a, kind = r2c dim = 0 length = 4 scale = 2.0 inverse : @4x3@", {{{4, 3}}}, {3, 3, 2}},
      {"%r = weft.fft %a, kind = r2c dim = 1 length = 4 scale = 1.0 adjoint : @2x4@", {{{2, 4}}}, {2, 3, 2}},
      {"%r = weft.fft %a, kind = c2r dim = 1 length = 4 scale = 1.0 inverse : @2x3x2@",
       {{{2, 3, 2}}},
       {2, 4}},
      {"%r = weft.fft %a, kind = c2r dim = 0 length = 5 scale = 0.2 : @3x2x2@", {{{3, 2, 2}}}, {5, 2}},
      {"%r = weft.fft %a, kind = c2r dim = 0 length = 5 scale = 1.0 adjoint : @3x2x2@",
       {{{3, 2, 2}}},
       {5, 2}},
      {"%mean, %r, %count = weft.welford %a, dims = [1] : @2x3@", {{{2, 3}}}, {2}, true},
      {"%r, %mean, %rstd = weft.layer_norm %a, axis = 1, eps = 0.1 : @2x3@", {{{2, 3}}}, {2, 3}},
      {"%k = weft.constant dense<5> : tensor<i64, #cpu> "
       "%r, %next = weft.dropout %a, %k, %k, p = 0.5 : @2x3@, tensor<i64, #cpu>",
       {{{2, 3}}},
       {2, 3},
       true},
      {"%d = weft.transfer %a to #cuda0 : @2x3@ %e = weft.exp %d : tensor<2x3xf64, #cuda0> "
       "%r = weft.transfer %e to #cpu : tensor<2x3xf64, #cuda0>",
       {{{2, 3}}},
       {2, 3}},
      // Several paths from one value, and one through an op that the gradient does not need.
      {"%s = weft.sin %a : @2x3@ %q0 = weft.mul %s, %a : @2x3@ %e = weft.exp %q0 : @2x3@ %p = weft.mul %e, "
       "%s "
       ": @2x3@ "
       "%u = weft.cos %p : @2x3@ %r = weft.add %p, %b : @2x3@",
       {{{2, 3}}, {{2, 3}}},
       {2, 3},
       true},
  };
  return all;
}

/// `@forward`: the result times weights; `@gradient`: the derivative of its sum by every input; with `twice`
/// also
/// `@second`: that of the sum of the first input's gradient times itself.
std::string programText(const Case &c) {
  std::string parameters, names, types, results;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    std::string name = std::string("%") + static_cast<char>('a' + i), type = typeText(c.inputs[i].shape);
    parameters += name + ": " + type + ", ";
    names += (i ? ", " : "") + name;
    types += (i ? ", " : "") + type;
  }
  for (size_t i = 0; i < c.inputs.size(); ++i)
    results += (i ? ", %g#" : "%g#") + std::to_string(i);
  std::string result = typeText(c.result);
  std::string many = c.inputs.size() > 1 ? ":" + std::to_string(c.inputs.size()) : "";
  if (many.empty())
    results = "%g";
  std::string body = c.body + " %m = weft.mul %r, %w : " + result + "\n";
  std::string text = "weft.func @forward(" + parameters + "%w: " + result + ") -> " + result + " { " + body +
                     " weft.return %m : " + result + " }\n";
  std::string gradient =
      body + " %g" + many + " = weft.gradient %m wrt " + names + " : " + result + ", " + types + "\n";
  text += "weft.func @gradient(" + parameters + "%w: " + result + ") -> (" + types + ") { " + gradient +
          " weft.return " + results + " : " + types + " }\n";
  if (!c.twice)
    return text;
  std::string first = typeText(c.inputs[0].shape), of = many.empty() ? "%g" : "%g#0";
  std::string square = gradient + " %q = weft.mul " + of + ", " + of + " : " + first + "\n";
  text += "weft.func @square(" + parameters + "%w: " + result + ") -> " + first + " { " + square +
          " weft.return %q : " + first + " }\n";
  std::string again = results;
  for (size_t at = again.find("%g"); at != std::string::npos; at = again.find("%g", at + 2))
    again[at + 1] = 'h';
  text += "weft.func @second(" + parameters + "%w: " + result + ") -> (" + types + ") { " + square + " %h" +
          many + " = weft.gradient %q wrt " + names + " : " + first + ", " + types + " weft.return " + again +
          " : " + types + " }\n";
  return text;
}

double total(const std::vector<ir::Literal> &results) {
  double sum = 0;
  for (double value : results.at(0).real)
    sum += value;
  return sum;
}

/// Compares `derivative` with central differences of the sum of `function`.
void compare(Program &program, const Case &c, std::vector<ir::Literal> arguments, const char *function,
             const char *derivative) {
  std::vector<ir::Literal> found = program.call(derivative, arguments);
  ASSERT_EQ(found.size(), c.inputs.size());
  for (size_t input = 0; input < c.inputs.size(); ++input) {
    for (int64_t i = 0; i < arguments[input].count(); ++i) {
      double x = arguments[input].real[i], step = 1e-5 * std::max(1.0, std::fabs(x));
      arguments[input].real[i] = x + step;
      double above = total(program.call(function, arguments));
      arguments[input].real[i] = x - step;
      double below = total(program.call(function, arguments));
      arguments[input].real[i] = x;
      double expected = (above - below) / (2 * step);
      EXPECT_NEAR(found[input].real[i], expected, 2e-7 * std::max(1.0, std::fabs(expected)))
          << derivative << " by input " << input << ", element " << i;
    }
  }
}

TEST(Differentiate, AgreesWithCentralDifferences) {
  std::mt19937_64 random(20240607);
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.body);
    Program program(programText(c));
    ASSERT_TRUE(program.module) << program.messages;
    ASSERT_TRUE(program.run(passes::createDifferentiate())) << program.messages;
    std::vector<ir::Literal> arguments;
    auto fill = [&](llvm::ArrayRef<int64_t> shape, double low, double high) {
      ir::Literal value(DType::f64, shape);
      std::uniform_real_distribution<double> uniform(low, high);
      for (int64_t i = 0; i < value.count(); ++i)
        value.setReal(i, uniform(random));
      arguments.push_back(value);
    };
    for (const Input &input : c.inputs)
      fill(input.shape, input.low, input.high);
    fill(c.result, 0.5, 1.5);
    compare(program, c, arguments, "forward", "gradient");
    if (c.twice)
      compare(program, c, arguments, "square", "second");
  }
}

/// Loops whose body counts its trips, which are %n. `@square` and `@second` are as in `programText`.
std::string loopText(const char *device) {
  std::string text = R"(
weft.func private @less(%x: V, %i: I, %w: V, %n: I) -> B {
  %r = weft.lt %i, %n : I
  weft.return %r : B
}
weft.func private @wave(%x: V, %i: I, %w: V, %n: I) -> (V, I) {
  %m = weft.mul %x, %w : V
  %s = weft.sin %m : V
  %r = weft.add %s, %w : V
  %one = weft.constant dense<1> : I
  %j = weft.add %i, %one : I
  weft.return %r, %j : V, I
}
weft.func @forward(%a: V, %b: V, %n: I) -> V {
  LOOP
  weft.return %r#0 : V
}
weft.func @gradient(%a: V, %b: V, %n: I) -> (V, V) {
  LOOP
  %g:2 = weft.gradient %r#0 wrt %a, %b : V, V, V
  weft.return %g#0, %g#1 : V, V
}
weft.func @square(%a: V, %b: V, %n: I) -> V {
  LOOP
  %g = weft.gradient %r#0 wrt %b : V, V
  %q = weft.mul %g, %g : V
  weft.return %q : V
}
weft.func @second(%a: V, %b: V, %n: I) -> (V, V) {
  LOOP
  %g = weft.gradient %r#0 wrt %b : V, V
  %q = weft.mul %g, %g : V
  %h:2 = weft.gradient %q wrt %a, %b : V, V, V
  weft.return %h#0, %h#1 : V, V
}
weft.func @squares(%a: V, %b: V, %n: I) -> V {
  LOOP
  %g = weft.gradient %r#0 wrt %b : V, V
  %h = weft.gradient %g wrt %b : V, V
  %q = weft.mul %h, %h : V
  weft.return %q : V
}
weft.func @third(%a: V, %b: V, %n: I) -> (V, V) {
  LOOP
  %g = weft.gradient %r#0 wrt %b : V, V
  %h = weft.gradient %g wrt %b : V, V
  %q = weft.mul %h, %h : V
  %k:2 = weft.gradient %q wrt %a, %b : V, V, V
  weft.return %k#0, %k#1 : V, V
})";
  const auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("LOOP", "%z = weft.constant dense<0> : I\n"
                  "  %r:2 = weft.while @less do @wave(%a, %z) with(%b, %n) : (V, I, V, I) -> (V, I)");
  for (const auto &[name, type] :
       {std::pair("V", "tensor<3xf64, "), {"I", "tensor<i64, "}, {"B", "tensor<i1, "}})
    for (const char *before : {": ", ", ", "(", "-> "})
      replace(std::string(before) + name, std::string(before) + type + device + ">");
  return text;
}

// The trips around the rows of a stack, and around as many stacks, once, twice and three times.
TEST(Differentiate, WhileLoopsAgreeWithCentralDifferences) {
  for (const char *device : {"#cpu", "#cuda0"}) {
    Program program(loopText(device));
    ASSERT_TRUE(program.module) << program.messages;
    ASSERT_TRUE(program.run(passes::createDifferentiate())) << program.messages;
    const Case loop{"", {{{3}}, {{3}}}, {3}};
    for (const int64_t trips : {0, 1, 2, 15, 16, 17, 31, 255, 256, 257, 259}) {
      if (trips > 20 && testLevel() == "quick") // the interpreter takes minutes under a sanitizer
        continue;
      SCOPED_TRACE(std::string(device) + ", " + std::to_string(trips) + " trips");
      ir::Literal count(DType::i64, {});
      count.whole[0] = trips;
      const std::vector<ir::Literal> arguments{literal({3}, {0.4, -1.2, 0.9}), literal({3}, {0.7, -0.5, 0.9}),
                                               count};
      compare(program, loop, arguments, "forward", "gradient");
      if (trips < 20 || trips == 257)
        compare(program, loop, arguments, "square", "second");
      if (trips == 2)
        compare(program, loop, arguments, "squares", "third");
    }
  }
}

// Which loops have three levels of stacks. A GPU has launches for each loop around them, so there a loop in a
// function that another op runs has two, also in one whose gradient is written in it, and so has a large
// loop.
TEST(Differentiate, WhileLoopsOfAGpuHaveFewerLevelsWhereLaunchesAreMany) {
  const auto groupsOf = [](const char *device, const std::string &functions) {
    std::string loop = loopText(device);
    const size_t main = loop.find("weft.func @forward");
    const std::string vector = std::string("tensor<3xf64, ") + device + ">";
    std::string text = functions;
    const auto replace = [&](const std::string &from, const std::string &to) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    };
    replace("LOOP", loop.substr(loop.find("%z ="), loop.find("weft.return %r#0") - loop.find("%z =")));
    replace("VECTOR", vector);
    replace("NUMBER", std::string("tensor<i64, ") + device + ">");
    replace("FLAG", std::string("tensor<i1, ") + device + ">");
    Program program(loop.substr(0, main) + text);
    EXPECT_TRUE(program.module) << program.messages;
    EXPECT_TRUE(program.run(passes::createDifferentiate())) << program.messages;
    return llvm::count_if(program.module->getOps<ir::FuncOp>(),
                          [](ir::FuncOp function) { return function.getName().ends_with(".groups"); });
  };
  const std::string alone = R"(
weft.func @f(%a: VECTOR, %b: VECTOR, %n: NUMBER) -> VECTOR {
  LOOP
  %g = weft.gradient %r#0 wrt %b : VECTOR, VECTOR
  weft.return %g : VECTOR
})",
                    // The branch has the gradient, and stands before the function that runs it and behind it.
      branch = R"(
weft.func private @branch(%a: VECTOR, %b: VECTOR, %n: NUMBER) -> VECTOR {
  LOOP
  %g = weft.gradient %r#0 wrt %b : VECTOR, VECTOR
  weft.return %g : VECTOR
})",
                    caller = R"(
weft.func @f(%p: FLAG, %a: VECTOR, %b: VECTOR, %n: NUMBER) -> VECTOR {
  %r = weft.cond %p then @branch else @branch(%a, %b, %n) : (FLAG, VECTOR, VECTOR, NUMBER) -> VECTOR
  weft.return %r : VECTOR
})";
  for (const auto &[device, inBody] : {std::pair("#cpu", 1), std::pair("#cuda0", 0)}) {
    SCOPED_TRACE(device);
    EXPECT_EQ(groupsOf(device, alone), 1);
    EXPECT_EQ(groupsOf(device, branch + caller), inBody);
    EXPECT_EQ(groupsOf(device, caller + branch), inBody);
    std::string large = R"(
weft.func private @large(%x: VECTOR, %i: NUMBER, %w: VECTOR, %n: NUMBER) -> (VECTOR, NUMBER) {
  %x0 = weft.add %x, %w : VECTOR)";
    for (int i = 0; i < 300; ++i)
      large += "\n  %x" + std::to_string(i + 1) + " = weft.sin %x" + std::to_string(i) + " : VECTOR";
    large += R"(
  %one = weft.constant dense<1> : NUMBER
  %j = weft.add %i, %one : NUMBER
  weft.return %x300, %j : VECTOR, NUMBER
})";
    std::string ofLarge = alone;
    ofLarge.replace(ofLarge.find("LOOP"), 4, R"(%z = weft.constant dense<0> : NUMBER
  %r:2 = weft.while @less do @large(%a, %z) with(%b, %n) : (VECTOR, NUMBER, VECTOR, NUMBER) -> (VECTOR, NUMBER))");
    EXPECT_EQ(groupsOf(device, large + ofLarge), inBody);
  }
}

// Loops of a derivative that run the same functions share the functions of their derivatives, and have few
// trips, for which one level of stacks is enough. Otherwise each order has eight times the functions.
TEST(Differentiate, EachOrderOfAWhileLoopHasFewFunctions) {
  const std::string loop = loopText("#cpu"), type = " : tensor<3xf64, #cpu>";
  size_t before = 0;
  for (int order = 1; order <= 4; ++order) {
    std::string text =
        loop.substr(0, loop.find("weft.return %r#0")) + "%q0 = weft.mul %r#0, %r#0" + type + "\n";
    for (int i = 0; i < order; ++i) {
      const std::string now = std::to_string(i), next = std::to_string(i + 1);
      text += "%g" + now + " = weft.gradient %q" + now + " wrt %b" + type + ", " + type.substr(3) + "\n";
      text += "%q" + next + " = weft.mul %g" + now + ", %q" + now + type + "\n";
    }
    text += "weft.return %q" + std::to_string(order) + type + "\n}\n";
    Program program(text);
    ASSERT_TRUE(program.module) << program.messages;
    mlir::PassManager manager(&program.context);
    manager.addPass(passes::createDifferentiate());
    manager.addPass(mlir::createSymbolDCEPass());
    ASSERT_TRUE(mlir::succeeded(manager.run(*program.module)));
    const auto functions = program.module->getOps<ir::FuncOp>();
    const auto count = static_cast<size_t>(std::distance(functions.begin(), functions.end()));
    EXPECT_TRUE(!before || count <= 4 * before) << "order " << order << " has " << count << " functions";
    before = count;
  }
}

// A new op with a derivative needs a case above, or the reason why it has none.
TEST(Differentiate, EveryDifferentiableOpHasACase) {
  Program program("");
  std::string all;
  for (const Case &c : cases())
    all += c.body + " ";
  for (mlir::RegisteredOperationName name : program.context.getRegisteredOperations())
    if (name.hasInterface<ir::DifferentiableOp>())
      EXPECT_NE(all.find(name.getStringRef().str() + (name.getStringRef() == "weft.concat" ? "(" : " ")),
                std::string::npos)
          << name.getStringRef().str();
}

// Converting to a narrower type rounds the cotangent to that type on its way back, exactly once.
TEST(Differentiate, ConvertRoundsTheCotangent) {
  Program program("weft.func @f(%a: @2@, %w: @2@) -> @2@ { %h = weft.convert %a to f32 : @2@ "
                  "%d = weft.convert %h to f64 : tensor<2xf32, #cpu> %m = weft.mul %d, %w : @2@ "
                  "%g = weft.gradient %m wrt %a : @2@, @2@ weft.return %g : @2@ }");
  ASSERT_TRUE(program.run(passes::createDifferentiate())) << program.messages;
  auto g = program.call("f", {literal({2}, {1, 2}), literal({2}, {0.1, 1.0 / 3})});
  EXPECT_EQ(g.at(0).real[0], static_cast<double>(0.1f));
  EXPECT_EQ(g.at(0).real[1], static_cast<double>(static_cast<float>(1.0 / 3)));
}

// The direct rules of composites agree with the derivative of what they stand for.
TEST(Differentiate, CompositesAgreeWithTheirDecomposition) {
  for (const char *op : {"softmax", "log_softmax"}) {
    std::string text = std::string("weft.func @f(%a: @2x4@, %w: @2x4@) -> @2x4@ { %r = weft.") + op +
                       " %a, dim = 1 : @2x4@ %m = weft.mul %r, %w : @2x4@ "
                       "%g = weft.gradient %m wrt %a : @2x4@, @2x4@ weft.return %g : @2x4@ }";
    Program direct(text), decomposed(text);
    ASSERT_TRUE(direct.run(passes::createDifferentiate())) << direct.messages;
    ASSERT_TRUE(decomposed.run(passes::createDecomposeComposites()));
    ASSERT_TRUE(decomposed.run(passes::createDifferentiate())) << decomposed.messages;
    std::vector<ir::Literal> arguments{literal({2, 4}, {0.1, -3, 2, 1, 5, 5, -1, 0}),
                                       literal({2, 4}, {1, 2, -1, 0.5, 3, 0.25, 1, 1})};
    auto a = direct.call("f", arguments), b = decomposed.call("f", arguments);
    ASSERT_EQ(a.size(), 1u);
    ASSERT_EQ(b.size(), 1u);
    for (size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(a[0].real[i], b[0].real[i], 1e-14) << op << " " << i;
  }
}

TEST(Differentiate, RefusesWhatHasNoRuleWithTheOpAndTheCode) {
  Program step("weft.func @f(%p: @4@, %n: tensor<i64, #cpu>, %s: @@) -> @4@ { "
               "%q = weft.sgd_step (%p, %p, step %n, lr %s, momentum %s, dampening %s, decay %s) : "
               "@4@, @4@, tensor<i64, #cpu>, @@ "
               "%g = weft.gradient %q wrt %p : @4@, @4@ weft.return %g : @4@ }");
  ASSERT_TRUE(step.module) << step.messages;
  EXPECT_FALSE(step.run(passes::createDifferentiate()));
  EXPECT_NE(step.messages.find("'weft.sgd_step' op has no derivative"), std::string::npos) << step.messages;
  EXPECT_NE(step.messages.find("WEFT-G001"), std::string::npos) << step.messages;
}

} // namespace
