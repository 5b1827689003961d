//===- Activation.cpp - Activations as formulas ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At kinks the gradients are PyTorch's: a select passes the gradient of the side that it chooses. If the
// other side could overflow, its argument is guarded, because the gradient there would be zero times
// infinity, which is NaN.
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Symbols.h"
#include "frontend/ops/Expr.h"
#include "weft/math.hpp"

namespace weft {

using namespace frontend;

/// Applies a formula to a tensor, which must be floating-point unless `least` permits integers.
template <typename Formula>
static Tensor activate(const char *name, const Tensor &a, Loc loc, Formula formula,
                       Category least = Category::real) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  if (category(value.spec().dtype) < least)
    fail(std::string(name) + ": expected a tensor of " +
             (least == Category::real ? "a floating-point type" : "numbers") + ", found " +
             std::string(weft::name(value.spec().dtype)),
         loc, {value});
  return compute({value}, loc, [&](const std::vector<Expr> &x) { return formula(x[0]); });
}

/// `x` limited to [low, high]. At the bounds the result is the bound, and no gradient flows.
static Expr limit(const Expr &x, const Expr &low, const Expr &high) {
  return select((x > low) & (x < high), x, select(x <= low, low, select(x >= high, high, nanOf(x))));
}
static Expr limit(const Expr &x, double low, double high) { return limit(x, x.like(low), x.like(high)); }

Tensor relu(const Tensor &a, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  // The attribute makes the derivative of max 0 where `a` is 0.
  return wrap(record1("max", {value, constant(value.spec(), 0, loc)}, {{"weft.relu", true}}, loc), loc);
}

Tensor gelu(const Tensor &a, const std::string &approximate, Loc loc) {
  if (approximate == "tanh")
    return activate("gelu", a, loc, [](const Expr &x) {
      Expr inner = (x + x * (x * x) * 0.044715) * 0.7978845608028654;
      return x * 0.5 * (apply("tanh", inner) + 1.0);
    });
  if (approximate != "none")
    fail("gelu: 'approximate' must be \"none\" or \"tanh\", found \"" + approximate + "\"", loc);
  return activate("gelu", a, loc,
                  [](const Expr &x) { return x * 0.5 * (apply("erf", x * 0.7071067811865476) + 1.0); });
}

Tensor silu(const Tensor &a, Loc loc) {
  return activate("silu", a, loc, [](const Expr &x) { return x * apply("sigmoid", x); });
}

Tensor softplus(const Tensor &a, double beta, double threshold, Loc loc) {
  return activate("softplus", a, loc, [&](const Expr &x) {
    Expr factor = x.parameter(beta), scaled = x * factor, linear = scaled > x.parameter(threshold);
    Expr guarded = select(linear, x.like(0), scaled);
    return select(linear, x, apply("log1p", apply("exp", guarded)) / factor);
  });
}

Tensor leaky_relu(const Tensor &a, double negative_slope, Loc loc) {
  return activate("leaky_relu", a, loc,
                  [&](const Expr &x) { return select(x > 0.0, x, x * x.parameter(negative_slope)); });
}

/// exp(x) - 1 for x <= 0. The derivative of expm1 is its result plus 1, which cancels far below zero. There
/// exp(x) - 1 is as accurate, and its derivative is exact.
static Expr expMinusOne(const Expr &x) { return select(x < -0.5, apply("exp", x) - 1.0, apply("expm1", x)); }

/// `above` for x > 0, `below` for x < 0, and x * slope at 0, so that the second derivative is 0 there.
static Expr linearAtZero(const Expr &x, const Expr &above, const Expr &below, const Expr &slope) {
  return select(x > 0.0, above, select(apply("eq", x, 0.0), x * slope, below));
}

Tensor elu(const Tensor &a, double alpha, Loc loc) {
  return activate("elu", a, loc, [&](const Expr &x) {
    Expr guarded = select(x > 0.0, x.like(0), x), factor = x.parameter(alpha);
    return linearAtZero(x, x, expMinusOne(guarded) * factor, factor);
  });
}

Tensor celu(const Tensor &a, double alpha, Loc loc) {
  if (alpha == 0)
    fail("celu: 'alpha' is 0, and the formula divides by it", loc);
  return activate("celu", a, loc, [&](const Expr &x) {
    Expr guarded = select(x > 0.0, x.like(0), x);
    return linearAtZero(x, x, expMinusOne(guarded * x.parameter(1 / alpha)) * x.parameter(alpha), x.like(1));
  });
}

Tensor hardtanh(const Tensor &a, double min, double max, Loc loc) {
  if (!(min <= max))
    fail("hardtanh: 'min' must not be above 'max', found " + std::to_string(min) + " and " +
             std::to_string(max),
         loc);
  return activate(
      "hardtanh", a, loc, [&](const Expr &x) { return limit(x, x.parameter(min), x.parameter(max)); },
      Category::integer);
}

Tensor relu6(const Tensor &a, Loc loc) {
  return activate("relu6", a, loc, [](const Expr &x) { return limit(x, 0, 6); }, Category::integer);
}

Tensor hardswish(const Tensor &a, Loc loc) {
  return activate("hardswish", a, loc, [](const Expr &x) { return x * limit(x + 3.0, 0, 6) / 6.0; });
}

Tensor hardsigmoid(const Tensor &a, Loc loc) {
  return activate("hardsigmoid", a, loc, [](const Expr &x) { return limit(x + 3.0, 0, 6) / 6.0; });
}

Tensor softshrink(const Tensor &a, double lambda, Loc loc) {
  if (!(lambda >= 0))
    fail("softshrink: 'lambda' must not be below 0, found " + std::to_string(lambda), loc);
  return activate("softshrink", a, loc, [&](const Expr &x) {
    Expr bound = x.parameter(lambda);
    // The product with 0 keeps NaN; the sum turns -0 into +0.
    return select(x > bound, x - bound, select(x < -bound, x + bound, x * 0.0 + 0.0));
  });
}

Tensor threshold(const Tensor &a, double threshold, double value, Loc loc) {
  return activate(
      "threshold", a, loc,
      [&](const Expr &x) { return select(x <= x.parameter(threshold), x.parameter(value), x); },
      Category::integer);
}

Tensor hardshrink(const Tensor &a, double lambda, Loc loc) {
  return activate("hardshrink", a, loc, [&](const Expr &x) {
    Expr bound = x.parameter(lambda);
    return select((x >= -bound) & (x <= bound), x.like(0), x);
  });
}

Tensor tanhshrink(const Tensor &a, Loc loc) {
  return activate("tanhshrink", asReal(a, loc), loc, [](const Expr &x) { return x - apply("tanh", x); });
}

Tensor softsign(const Tensor &a, Loc loc) {
  return activate("softsign", asReal(a, loc), loc, [](const Expr &x) { return x / (apply("abs", x) + 1.0); });
}

Tensor logsigmoid(const Tensor &a, Loc loc) {
  return activate("logsigmoid", a, loc, [](const Expr &x) {
    return select(x < 0.0, x, x.like(0)) - apply("log1p", apply("exp", -oneSidedAbs(x)));
  });
}

Tensor mish(const Tensor &a, Loc loc) {
  return activate("mish", a, loc, [](const Expr &x) {
    // Above 20 log(1 + exp(x)) is x in f32, and tanh of it is 1.
    Expr large = x > 20.0, guarded = select(large, x.like(0), x);
    return x * apply("tanh", select(large, x, apply("log1p", apply("exp", guarded))));
  });
}

Tensor selu(const Tensor &a, Loc loc) {
  constexpr double scale = 1.0507009873554804934193349852946, alpha = 1.6732632423543772848170429916717;
  return activate("selu", a, loc, [](const Expr &x) {
    Expr guarded = select(x > 0.0, x.like(0), x);
    return linearAtZero(x, x * scale, expMinusOne(guarded) * (scale * alpha), x.like(scale * alpha));
  });
}

Tensor glu(const Tensor &a, int64_t dim, Loc loc) {
  checkFloat(use(a, loc), "glu()", loc);
  if (a.dim(loc) == 0)
    fail("glu does not support 0-dimensional tensors", loc, {use(a, loc)});
  int64_t along = wrapDim(dim, a.dim(loc), loc), size = a.size(along, loc);
  if (size % 2 != 0)
    fail("glu: halving dimension must be even, but dimension " + std::to_string(along) + " is size " +
             std::to_string(size),
         loc, {use(a, loc)});
  Tensor values = a.narrow(along, 0, size / 2, loc), gates = a.narrow(along, size / 2, size / 2, loc);
  GraphLock lock(graphMutex());
  return compute({use(values, loc), use(gates, loc)}, loc,
                 [](const std::vector<Expr> &x) { return x[0] * apply("sigmoid", x[1]); });
}

Tensor prelu(const Tensor &a, const Tensor &weight, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc), slope = use(weight, loc);
  checkFloat(value, "prelu()", loc);
  const Shape &shape = value.spec().shape;
  if (slope.spec().dtype != value.spec().dtype)
    fail("prelu: Type promoting not supported. Got " + std::string(name(value.spec().dtype)) + " and " +
             std::string(name(slope.spec().dtype)),
         loc, {value, slope});
  if (rankOf(slope) > 1)
    fail("prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = " +
             std::to_string(rankOf(slope)),
         loc, {slope});
  if (slope.spec().count() != 1) {
    if (shape.empty())
      fail("prelu: Not allow zero-dim input tensor.", loc, {value, slope});
    // A vector is a batch, of one channel.
    int64_t channels = shape.size() < 2 ? 1 : shape[1];
    if (slope.spec().count() != channels)
      fail("Mismatch of parameter numbers and input channel size. Found parameter numbers = " +
               sizeText(slope.spec().count()) + " and channel size = " + sizeText(channels) + ".",
           loc, {value, slope});
    Shape along(shape.size(), 1);
    along[1] = channels;
    slope = reshapeTo(slope, along, loc);
  } else {
    slope = reshapeTo(slope, {}, loc);
  }
  return compute({value, broadcastTo(slope, shape, loc)}, loc, [](const std::vector<Expr> &x) {
    return linearAtZero(x[0], x[0], x[1] * x[0], constantOf(x[1]));
  });
}

Tensor softmin(const Tensor &a, int64_t dim, Loc loc) { return neg({a, loc}).softmax(dim, loc); }
Tensor softmin(const Tensor &a, int64_t dim, DType dtype, Loc loc) {
  return neg({a.to(dtype, loc), loc}).softmax(dim, dtype, loc);
}

} // namespace weft
