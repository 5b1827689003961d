//===- special.hpp - Gamma, error and Bessel functions ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's functions of the same names, those of torch.special in a namespace. They take every dtype but
// compute in f64, and round once: integers and bools give f32. All of them have derivatives of every order.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_SPECIAL_HPP
#define WEFT_SPECIAL_HPP

#include "weft/operators.hpp"

namespace weft {

/// log(|gamma(a)|); infinite at 0 and the negative integers.
WEFT_API Tensor lgamma(const Tensor &a, Loc loc = Loc::current());
/// The derivative of lgamma; NaN at the negative integers.
WEFT_API Tensor digamma(const Tensor &a, Loc loc = Loc::current());
/// The n-th derivative of digamma; an error for a negative `n`.
WEFT_API Tensor polygamma(int64_t n, const Tensor &a, Loc loc = Loc::current());
/// The logarithm of the gamma function of p x p matrices; an error for a `p` below 1.
WEFT_API Tensor mvlgamma(const Tensor &a, int64_t p, Loc loc = Loc::current());
/// 1 - erf(a), without cancellation.
WEFT_API Tensor erfc(const Tensor &a, Loc loc = Loc::current());
/// The inverse of erf; infinite at -1 and 1, NaN beyond.
WEFT_API Tensor erfinv(const Tensor &a, Loc loc = Loc::current());
/// The modified Bessel function of the first kind of order 0.
WEFT_API Tensor i0(const Tensor &a, Loc loc = Loc::current());

namespace special {

/// exp(-|a|) i0(a); the function of order 1; exp(-|a|) i1(a).
WEFT_API Tensor i0e(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor i1(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor i1e(const Tensor &a, Loc loc = Loc::current());
/// `i0` and `i1` by their other names.
WEFT_API Tensor modified_bessel_i0(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor modified_bessel_i1(const Tensor &a, Loc loc = Loc::current());
/// The modified Bessel functions of the second kind of orders 0 and 1, and exp(a) times them: infinite at 0,
/// NaN below.
WEFT_API Tensor modified_bessel_k0(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor modified_bessel_k1(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor scaled_modified_bessel_k0(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor scaled_modified_bessel_k1(const Tensor &a, Loc loc = Loc::current());
/// sin(a) / a, and 1 at 0.
WEFT_API Tensor spherical_bessel_j0(const Tensor &a, Loc loc = Loc::current());
/// exp(a^2) erfc(a).
WEFT_API Tensor erfcx(const Tensor &a, Loc loc = Loc::current());
/// The distribution function of the standard normal distribution, its inverse, and its logarithm.
WEFT_API Tensor ndtr(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor ndtri(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor log_ndtr(const Tensor &a, Loc loc = Loc::current());
/// -a log(a), and 0 at 0; -inf below 0.
WEFT_API Tensor entr(const Tensor &a, Loc loc = Loc::current());
/// a log(1 + b), but 0 where `a` is 0 and `b` is not NaN.
WEFT_API Tensor xlog1py(const Arg &a, const Arg &b);
/// The zeta function of Hurwitz, the sum of (q + k)^-x over k = 0, 1, ..; infinite at x = 1, NaN below.
WEFT_API Tensor zeta(const Arg &x, const Arg &q);

} // namespace special
} // namespace weft

#endif // WEFT_SPECIAL_HPP
