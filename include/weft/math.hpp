//===- math.hpp - Elementwise functions ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, results, dtypes and gradients of PyTorch. Unless said otherwise a function of one tensor gives its
// shape; one of several broadcasts them and promotes their dtypes; a mathematical function of integers or
// bools computes in f32; f16 and bf16 compute in f32 and round once. Operands on two devices, and shapes that
// do not broadcast, are errors that name the line.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MATH_HPP
#define WEFT_MATH_HPP

#include "weft/operators.hpp"

namespace weft {

//===----------------------------------------------------------------------===//
// Functions of one tensor; angles are in radians, and docs/numerics.md has the error bounds
//===----------------------------------------------------------------------===//

#define WEFT_UNARY(name) WEFT_API Tensor name(const Tensor &a, Loc loc = Loc::current());
/// e^a, and e^a - 1 without cancellation near 0.
WEFT_UNARY(exp)
WEFT_UNARY(expm1)
/// The natural logarithm of `a`, and of 1 + a; NaN for a negative number.
WEFT_UNARY(log)
WEFT_UNARY(log1p)
WEFT_UNARY(sin)
WEFT_UNARY(cos)
/// The root, and 1 divided by it; NaN below 0.
WEFT_UNARY(sqrt)
WEFT_UNARY(rsqrt)
WEFT_UNARY(reciprocal)
WEFT_UNARY(tanh)
WEFT_UNARY(sigmoid)
WEFT_UNARY(erf)
/// An integer keeps its dtype; bools are an error.
WEFT_UNARY(abs)
WEFT_UNARY(sign)
WEFT_UNARY(ceil)
WEFT_UNARY(floor)
/// To the nearest integer, ties to even.
WEFT_UNARY(round)
WEFT_UNARY(trunc)
/// As bool.
WEFT_UNARY(isnan)
WEFT_UNARY(tan)
/// NaN outside of [-1, 1].
WEFT_UNARY(asin)
/// NaN outside of [-1, 1].
WEFT_UNARY(acos)
WEFT_UNARY(atan)
WEFT_UNARY(sinh)
WEFT_UNARY(cosh)
WEFT_UNARY(asinh)
/// NaN below 1.
WEFT_UNARY(acosh)
/// NaN outside of [-1, 1].
WEFT_UNARY(atanh)
/// Exact at powers of two.
WEFT_UNARY(log2)
WEFT_UNARY(log10)
/// Exact at integers.
WEFT_UNARY(exp2)
/// a * a; of bools as i64.
WEFT_UNARY(square)
/// As bool; no integer is infinite.
WEFT_UNARY(isinf)
/// As bool; every integer is finite.
WEFT_UNARY(isfinite)
/// As bool: whether the sign is set, that of -0 and NaN too.
WEFT_UNARY(signbit)
/// As bool: whether it is +inf (-inf).
WEFT_UNARY(isposinf)
WEFT_UNARY(isneginf)
/// -1, 0 or 1, as `sign`.
WEFT_UNARY(sgn)
/// The tensor itself; bools are an error.
WEFT_UNARY(positive)
/// a - trunc(a), of floating-point tensors.
WEFT_UNARY(frac)
/// From degrees to radians, and back.
WEFT_UNARY(deg2rad)
WEFT_UNARY(rad2deg)
/// sin(pi a) / (pi a), and 1 at 0.
WEFT_UNARY(sinc)
#undef WEFT_UNARY

/// log(a / (1 - a)); with `eps`, of `a` limited to [eps, 1 - eps].
WEFT_API Tensor logit(const Tensor &a, std::optional<double> eps = {}, Loc loc = Loc::current());

/// Replaces NaN and the infinities by numbers; without a number, infinities by the largest and the lowest
/// number of the dtype. No gradient flows through replaced elements.
WEFT_API Tensor nan_to_num(const Tensor &a, double nan = 0, std::optional<double> posinf = {},
                           std::optional<double> neginf = {}, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Functions of two and three tensors
//===----------------------------------------------------------------------===//

/// The remainder of the division a / b rounded toward zero: exact, with the sign of `a`. An integer by 0
/// gives `a`.
WEFT_API Tensor fmod(const Arg &a, const Arg &b);
/// a / b rounded down, in the promoted dtype. No gradient flows. An integer by 0 gives -1.
WEFT_API Tensor floor_divide(const Arg &a, const Arg &b);
/// a / b, rounded as `rounding_mode` says: "" not at all, "trunc" toward zero, "floor" down. With rounding
/// integers keep their dtype, and no gradient flows. Another mode is an error.
WEFT_API Tensor div(const Arg &a, const Arg &b, const std::string &rounding_mode);
/// a + alpha * b, of floats with one rounding. Integers need a whole `alpha`.
WEFT_API Tensor add(const Arg &a, const Arg &b, double alpha);
/// a - alpha * b, as `add`.
WEFT_API Tensor sub(const Arg &a, const Arg &b, double alpha);
/// The angle of the point (b, a), in (-pi, pi].
WEFT_API Tensor atan2(const Arg &a, const Arg &b);
/// The magnitude of `a` with the sign of `b`, that of -0 too.
WEFT_API Tensor copysign(const Arg &a, const Arg &b);
/// The larger one; if one is NaN, the other. If they are equal, the gradient goes to `a`.
WEFT_API Tensor fmax(const Arg &a, const Arg &b);
/// The smaller one; if one is NaN, the other. If they are equal, the gradient goes to `a`.
WEFT_API Tensor fmin(const Arg &a, const Arg &b);
/// log(e^a + e^b), without overflow.
WEFT_API Tensor logaddexp(const Arg &a, const Arg &b);
/// log2(2^a + 2^b), without overflow.
WEFT_API Tensor logaddexp2(const Arg &a, const Arg &b);
/// a log(b), but 0 where `a` is 0 and `b` is not NaN.
WEFT_API Tensor xlogy(const Arg &a, const Arg &b);
/// sqrt(a^2 + b^2), without overflow between.
WEFT_API Tensor hypot(const Arg &a, const Arg &b);
/// a 2^b.
WEFT_API Tensor ldexp(const Arg &a, const Arg &b);
/// 0 below 0, 1 above, and `values` at 0; NaN gives 0. The dtypes must be equal, and no gradient flows.
WEFT_API Tensor heaviside(const Tensor &a, const Tensor &values, Loc loc = Loc::current());
/// a^b, computed in f64.
WEFT_API Tensor float_power(const Arg &a, const Arg &b);
/// b - alpha a.
WEFT_API Tensor rsub(const Arg &a, const Arg &b, double alpha = 1);
/// a / b, by its other name.
inline Tensor true_divide(const Arg &a, const Arg &b) { return div(a, b); }
/// Integers times 2^b, wrapped, and divided by 2^b, rounded down. All bits are shifted out by a `b` below 0,
/// or not below the number of bits.
WEFT_API Tensor bitwise_left_shift(const Arg &a, const Arg &b);
WEFT_API Tensor bitwise_right_shift(const Arg &a, const Arg &b);
/// The greatest common divisor of integers, and their least common multiple, neither negative.
WEFT_API Tensor gcd(const Tensor &a, const Tensor &b, Loc loc = Loc::current());
WEFT_API Tensor lcm(const Tensor &a, const Tensor &b, Loc loc = Loc::current());
/// Whether one, but not the other, differs from 0.
WEFT_API Tensor logical_xor(const Arg &a, const Arg &b);
/// a * b + c with one rounding. Floating-point tensors only.
WEFT_API Tensor fma(const Tensor &a, const Tensor &b, const Tensor &c, Loc loc = Loc::current());
/// a + value * b * c.
WEFT_API Tensor addcmul(const Tensor &a, const Tensor &b, const Tensor &c, double value = 1,
                        Loc loc = Loc::current());
/// a + value * b / c. Floating-point tensors only.
WEFT_API Tensor addcdiv(const Tensor &a, const Tensor &b, const Tensor &c, double value = 1,
                        Loc loc = Loc::current());
/// start + weight * (end - start), by the formula that is exact at the nearer end. Floating-point tensors
/// only.
WEFT_API Tensor lerp(const Tensor &start, const Tensor &end, const Arg &weight);

/// min(max(a, min), max): the gradient passes inside of the bounds and at them. NaN stays; `max` wins where
/// the bounds cross.
WEFT_API Tensor clamp(const Tensor &a, const Arg &min, const Arg &max);
WEFT_API Tensor clamp_min(const Tensor &a, const Arg &min);
WEFT_API Tensor clamp_max(const Tensor &a, const Arg &max);
/// `clamp` by its other name.
inline Tensor clip(const Tensor &a, const Arg &min, const Arg &max) { return clamp(a, min, max); }

/// As bool: |a - b| <= atol + rtol * |b|. Infinities are close to themselves, NaN to nothing, unless
/// `equal_nan` makes it close to itself.
WEFT_API Tensor isclose(const Tensor &a, const Tensor &b, double rtol = 1e-5, double atol = 1e-8,
                        bool equal_nan = false, Loc loc = Loc::current());
/// Whether that holds of every element. Reads the values.
WEFT_API bool allclose(const Tensor &a, const Tensor &b, double rtol = 1e-5, double atol = 1e-8,
                       bool equal_nan = false, Loc loc = Loc::current());
/// Whether shapes and all elements are the same. Reads the values.
WEFT_API bool equal(const Tensor &a, const Tensor &b, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Activations: of floating-point tensors, others are an error; hardtanh, relu6 and threshold take integers
// too, and tanhshrink, softsign and softmin compute with them in f32
//===----------------------------------------------------------------------===//

/// max(a, 0); its gradient at 0 is 0.
WEFT_API Tensor relu(const Tensor &a, Loc loc = Loc::current());
/// "none": a Phi(a) by erf; "tanh": the approximation of Hendrycks and Gimpel (2016), by tanh. Another name
/// is an error.
WEFT_API Tensor gelu(const Tensor &a, const std::string &approximate = "none", Loc loc = Loc::current());
/// a * sigmoid(a).
WEFT_API Tensor silu(const Tensor &a, Loc loc = Loc::current());
/// log(1 + exp(beta a)) / beta; `a` itself where beta a is above the threshold.
WEFT_API Tensor softplus(const Tensor &a, double beta = 1, double threshold = 20, Loc loc = Loc::current());
/// `a` above 0, elsewhere, and for its gradient at 0, negative_slope * a.
WEFT_API Tensor leaky_relu(const Tensor &a, double negative_slope = 0.01, Loc loc = Loc::current());
/// `a` above 0, elsewhere alpha * (exp(a) - 1).
WEFT_API Tensor elu(const Tensor &a, double alpha = 1, Loc loc = Loc::current());
/// `a` above 0, elsewhere alpha * (exp(a / alpha) - 1); an `alpha` of 0 is an error.
WEFT_API Tensor celu(const Tensor &a, double alpha = 1, Loc loc = Loc::current());
/// `a` limited to [min, max]; no gradient at the bounds. min > max is an error.
WEFT_API Tensor hardtanh(const Tensor &a, double min = -1, double max = 1, Loc loc = Loc::current());
/// hardtanh with the bounds 0 and 6.
WEFT_API Tensor relu6(const Tensor &a, Loc loc = Loc::current());
/// a * relu6(a + 3) / 6.
WEFT_API Tensor hardswish(const Tensor &a, Loc loc = Loc::current());
/// relu6(a + 3) / 6.
WEFT_API Tensor hardsigmoid(const Tensor &a, Loc loc = Loc::current());
/// `a` moved toward 0 by `lambda`, which is not negative, and 0 where it would cross.
WEFT_API Tensor softshrink(const Tensor &a, double lambda = 0.5, Loc loc = Loc::current());
/// `a` above the threshold, elsewhere `value`.
WEFT_API Tensor threshold(const Tensor &a, double threshold, double value, Loc loc = Loc::current());
/// `a`, and 0 in [-lambda, lambda].
WEFT_API Tensor hardshrink(const Tensor &a, double lambda = 0.5, Loc loc = Loc::current());
/// a - tanh(a).
WEFT_API Tensor tanhshrink(const Tensor &a, Loc loc = Loc::current());
/// a / (1 + |a|).
WEFT_API Tensor softsign(const Tensor &a, Loc loc = Loc::current());
/// log(sigmoid(a)), without overflow.
WEFT_API Tensor logsigmoid(const Tensor &a, Loc loc = Loc::current());
/// a tanh(softplus(a)).
WEFT_API Tensor mish(const Tensor &a, Loc loc = Loc::current());
/// 1.0507009873554805 elu(a, 1.6732632423543773), the constants of Klambauer et al. (2017).
WEFT_API Tensor selu(const Tensor &a, Loc loc = Loc::current());
/// The first half of dimension `dim` times the sigmoid of the second; its size must be even.
WEFT_API Tensor glu(const Tensor &a, int64_t dim = -1, Loc loc = Loc::current());
/// `a` above 0, elsewhere weight * a. `weight` has one element, or one per channel, which is dimension 1; a
/// vector has one channel.
WEFT_API Tensor prelu(const Tensor &a, const Tensor &weight, Loc loc = Loc::current());
/// softmax(-a).
WEFT_API Tensor softmin(const Tensor &a, int64_t dim, Loc loc = Loc::current());
/// In a floating-point dtype, to which elements are converted before.
WEFT_API Tensor softmin(const Tensor &a, int64_t dim, DType dtype, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_MATH_HPP
