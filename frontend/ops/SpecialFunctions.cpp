//===- SpecialFunctions.cpp - Gamma, error and Bessel functions ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of them are formulas in f64, rounded to the dtype once. The coefficients of series are those of
// Chebyshev's polynomials, computed with 50 digits.
//
// The side that a select does not choose is computed at a harmless argument, because its gradient there would
// be zero times infinity, which is NaN.
//
//===----------------------------------------------------------------------===//
#include "weft/special.hpp"

#include "frontend/ops/Expr.h"
#include "weft/math.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <span>

namespace weft {

using namespace frontend;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), pi = std::numbers::pi;
const double rootOfTwoPi = std::sqrt(2 * pi);

/// (1 + 2x) erfcx(x) by t = (x - 3.75) / (x + 3.75).
constexpr double erfcxSeries[] = {
    1.177578934567401754,      -0.004590054580646477331,  -0.08424913336651791558,
    0.0592099399981918905,     -0.02665866843530575228,   0.009074997670705265094,
    -0.002413163540417608191,  0.0004907758365258086323,  -0.00006916973302501206367,
    4.139027986073010168e-6,   7.740383066198490669e-7,   -2.188640104923439566e-7,
    1.076499946567091038e-8,   4.521959811218286898e-9,   -7.754400208831351104e-10,
    -6.318088340886684476e-11, 2.868795010930669912e-11,  1.945586854577735619e-13,
    -9.654696748433438598e-13, 3.252548148148736846e-14,  3.347811948286796515e-14,
    -1.86456288041945482e-15,  -1.250795053069050223e-15, 7.418235256602314409e-17,
    5.068148904772610884e-17};

/// sqrt(x) exp(-x) I0(x) by 8 / x on [0, 1].
constexpr double i0Large[] = {0.4022452055070544158,     0.00336911647825569409,    0.00006889758346916823984,
                              2.891370520834756483e-6,   2.048918589469063742e-7,   2.266668990498178065e-8,
                              3.396232025708386345e-9,   4.940602388224969589e-10,  1.188914710784643834e-11,
                              -3.149916527963241365e-11, -1.321581184044771312e-11, -1.794178531506806118e-12,
                              7.180124451383666234e-13,  3.852778382742142701e-13,  1.540086217521409827e-14,
                              -4.150569347287222087e-14, -9.554846698828307649e-15, 3.811680669352622421e-15,
                              1.772560133056526384e-15,  -3.425485619677219135e-16, -2.827623980516583485e-16,
                              3.461222867697461093e-17,  4.465621420296759999e-17,  -4.830504485944182071e-18,
                              -7.233180487874753955e-18};

/// sqrt(x) exp(-x) I1(x) by 8 / x on [0, 1].
constexpr double i1Large[] = {0.3892881175091400602,     -0.009761097491361468408,  -0.0001105889387626237163,
                              -3.882564808877690393e-6,  -2.512236237870208925e-7,  -2.631468846889519507e-8,
                              -3.835380385964237022e-9,  -5.589743462196583807e-10, -1.897495812350541234e-11,
                              3.252603583015488239e-11,  1.412580743661378133e-11,  2.035628544147089507e-12,
                              -7.198551776245908512e-13, -4.083551111092197318e-13, -2.101541842772664313e-14,
                              4.272440016711951354e-14,  1.042027698412880276e-14,  -3.814403072437007805e-15,
                              -1.880354775510782449e-15, 3.308202310920928283e-16,  2.962628997645950139e-16,
                              -3.209525921993423959e-17, -4.650305368489358326e-17, 4.41434832307170795e-18,
                              7.517296310842104805e-18};

/// lgamma(x) / ((x - 1) (x - 2)) on [1.5, 2.5].
constexpr double lgammaNear2[] = {
    0.4270267900797455083,     -0.05136266063271509445,   0.004283865121771959164,  -0.0004086894308778781292,
    0.00004189889214014742088, -4.488416227840899993e-6,  4.950359592304835803e-7,  -5.572882261152328549e-8,
    6.369038926367587655e-9,   -7.363280290999341616e-10, 8.590324630704467867e-11, -1.009563092145250196e-11,
    1.193685901374823682e-12,  -1.418612179447655914e-13, 1.693301639270073893e-14, -2.028851979992293608e-15,
    2.43899034401660992e-16,   -2.940688354710886775e-17};

/// K0(x) + log(x / 2) I0(x) by x^2 on [0, 4].
constexpr double k0Small[] = {-0.2676636966169513844,  0.3442898999246284869,     0.03597993651536150163,
                              0.001264615411446925923, 0.00002286212103119451786, 2.534791079026149457e-7,
                              1.904516377220208859e-9, 1.034969525763362459e-11,  4.259816142791082577e-14,
                              1.374465435880750897e-16};
/// x K1(x) - x log(x / 2) I1(x) by x^2 on [0, 4].
constexpr double k1Small[] = {0.7626501136694738853,    -0.3531559607765448757,    -0.1226111808226571482,
                              -0.00697572385963986435,  -0.0001730288957513052063, -2.433406141565968235e-6,
                              -2.213387630734725856e-8, -1.411488392633527761e-10, -6.666901694199329006e-13,
                              -2.427449850519365934e-15};
/// sqrt(x) exp(x) K0(x) by 2 / x on [0, 1].
constexpr double k0Large[] = {
    1.220151541032977727,      -0.03144810131196450054,   0.001569883885730053375,
    -0.0001284954958162780264, 0.00001394981371887649936, -1.831755522719119485e-6,
    2.766813639445015076e-7,   -4.660489897687947666e-8,  8.574034017414226086e-9,
    -1.697534509389061516e-9,  3.577397281400328447e-10,  -7.957489244477397038e-11,
    1.855949114954926555e-11,  -4.514597883374519175e-12, 1.140340588207344235e-12,
    -2.980096923148178355e-13, 8.032890775068374369e-14,  -2.22751332674629636e-14,
    6.340076476276645966e-15,  -1.848593377920907169e-15, 5.512055999404333365e-16,
    -1.678231125754900638e-16, 5.210391777643554113e-17,  -1.647580593984263282e-17};
/// sqrt(x) exp(x) K1(x) by 2 / x on [0, 1].
constexpr double k1Large[] = {
    1.360313095242221335,      0.1039237365768172384,    -0.002857816859622779387,  0.0001952155184713516311,
    -0.0000193619797416608296, 2.406484947837217117e-6,  -3.501960603087812542e-7,  5.741084125450049292e-8,
    -1.034576246567809703e-8,  2.015049755197034616e-9,  -4.190354759341925584e-10, 9.218315187605314126e-11,
    -2.129967838427791022e-11, 5.13963967348234354e-12,  -1.289173960949822935e-12, 3.34841966605224312e-13,
    -8.976705182010146069e-14, 2.477154424219598681e-14, -7.019837089214768851e-15, 2.03870316623986088e-15,
    -6.057047270643017823e-16, 1.838093575243045426e-16, -5.689462849193648374e-17, 1.794051047886357291e-17};
/// Bernoulli's numbers B2, B4, ..
constexpr double bernoulli[] = {1.0 / 6,         -1.0 / 30, 1.0 / 42,        -1.0 / 30,    5.0 / 66,
                                -691.0 / 2730.0, 7.0 / 6,   -3617.0 / 510.0, 43867.0 / 798};

/// A formula of one tensor in f64, rounded to its dtype; integers and bools give f32.
template <typename Formula> Tensor inDouble(const Tensor &a, Loc loc, Formula formula) {
  GraphLock lock(graphMutex());
  Tensor real = asReal(a, loc);
  Expr x{use(real.to(DType::f64, loc), loc), loc};
  return wrap(formula(x).ref, loc).to(real.dtype(loc), loc);
}

Expr exp(const Expr &x) { return apply("exp", x); }
Expr log(const Expr &x) { return apply("log", x); }
Expr sqrt(const Expr &x) { return apply("sqrt", x); }
Expr abs(const Expr &x) { return apply("abs", x); }
Expr select(const Expr &condition, double a, const Expr &b) {
  return frontend::select(condition, b.like(a), b);
}
Expr select(const Expr &condition, const Expr &a, double b) {
  return frontend::select(condition, a, a.like(b));
}

/// `value`, with the gradient of `formula`, which is the same function less accurately.
Expr withGradientOf(const Expr &value, const Expr &formula) {
  if (!wrap(formula.ref, formula.loc).requires_grad(formula.loc))
    return value;
  // A difference of 0 is +0, which leaves even -0 as it is.
  return constantOf(value) - (constantOf(formula) - formula);
}

/// A sum of Chebyshev's polynomials of t in [-1, 1], by the recurrence of Clenshaw (1955).
Expr series(const Expr &t, std::span<const double> coefficients) {
  Expr twice = t + t, next = t.like(coefficients.back()), after = t.like(0);
  for (size_t i = coefficients.size() - 1; i-- > 1;)
    after = std::exchange(next, twice * next - after + coefficients[i]);
  return t * next - after + coefficients[0];
}

/// A polynomial, from its highest coefficient down.
Expr polynomial(const Expr &x, std::span<const double> coefficients) {
  Expr sum = x.like(coefficients[0]);
  for (double each : coefficients.subspan(1))
    sum = sum * x + each;
  return sum;
}

//===----------------------------------------------------------------------===//
// Gamma functions
//===----------------------------------------------------------------------===//

/// The distance to the nearest integer, with its sign.
Expr fromNearest(const Expr &x) { return x - apply("round", x); }

/// For x >= 0.5.
Expr lgammaOfPositive(const Expr &x) {
  Expr isSmall = x < 8.5;
  // gamma(x) = (x - 1) (x - 2) .. gamma(w), with w in [1.5, 2.5].
  Expr w = select(isSmall, x, 2.0), product = x.like(1);
  for (int i = 0; i < 6; ++i) {
    Expr isAbove = w > 2.5;
    w = frontend::select(isAbove, w - 1.0, w);
    product = product * select(isAbove, w, 1.0);
  }
  Expr isBelow = w < 1.5;
  product = product / select(isBelow, w, 1.0);
  w = frontend::select(isBelow, w + 1.0, w);
  Expr small = series((w - 2.0) * 2.0, lgammaNear2) * (w - 1.0) * (w - 2.0) + log(product);
  // Stirling's series.
  Expr z = select(isSmall, 10.0, x), inverse = z.like(1) / z, square = inverse * inverse, tail = z.like(0);
  for (int k = 8; k > 0; --k)
    tail = tail * square + bernoulli[k - 1] / (2.0 * k * (2.0 * k - 1));
  Expr large = (z - 0.5) * (log(z) - 1.0) + (std::log(2 * pi) - 1) / 2 + tail * inverse;
  return frontend::select(isSmall, small, large);
}

/// Euler's reflection: gamma(x) gamma(1 - x) = pi / sin(pi x).
Expr lgammaOf(const Expr &given) {
  // Infinite at 0 and at infinity, with infinite derivatives.
  Expr isZero = apply("eq", given, 0.0), isInfinite = apply("eq", given, infinity);
  Expr x = select(isZero | isInfinite, 0.75, given), isReflected = x < 0.5;
  Expr positive = lgammaOfPositive(frontend::select(isReflected, x.like(1) - x, x));
  Expr distance = fromNearest(select(isReflected, x, 0.25)), isPole = apply("eq", distance, 0.0);
  Expr sine = abs(apply("sin", select(isPole, 0.25, distance) * pi));
  // A difference, because derivatives of a quotient multiply infinities with 0 where the sine is tiny.
  Expr reflected = x.like(std::log(pi)) - log(sine) - positive;
  // Infinite, too, at the poles below 0. The first derivative jumps there from one infinity to the other and
  // is NaN: that of a line whose slope overflows is added, which has no other derivatives. The second one is
  // infinite, the third one is -infinity as in PyTorch.
  Expr line = select(isPole, x - constantOf(x), 0.0) * 1e200 * 1e200;
  Expr atPole = steep(x, isPole, x.like(-1), x.like(1)) + line + infinity;
  reflected = frontend::select(isPole, atPole, reflected);
  Expr value =
      select(apply("eq", x, -infinity), infinity, frontend::select(isReflected, reflected, positive));
  Expr atZero = steep(given, isZero, -apply("copysign", given.like(1), given), given.like(1)) + infinity;
  return frontend::select(
      isZero, atZero, frontend::select(isInfinite, given * select(isInfinite, infinity, x.like(1)), value));
}

Expr digammaOf(const Expr &x) {
  Expr isReflected = x < 0.5;
  Expr z = frontend::select(isReflected, x.like(1) - x, x), sum = x.like(0);
  for (int i = 0; i < 10; ++i) {
    Expr isSmall = z < 10.0;
    sum = sum + select(isSmall, z.like(1) / z, 0.0);
    z = frontend::select(isSmall, z + 1.0, z);
  }
  Expr inverse = z.like(1) / z, square = inverse * inverse, tail = z.like(0);
  for (int k = 8; k > 0; --k)
    tail = tail * square + bernoulli[k - 1] / (2.0 * k);
  Expr positive = log(z) - inverse * 0.5 - tail * square - sum;
  // psi(x) = psi(1 - x) - pi / tan(pi x); at 0 infinite, at the poles below it NaN, both with infinite
  // derivatives.
  Expr angle = fromNearest(select(isReflected, x, 0.25)) * pi;
  Expr isPole = apply("eq", angle, 0.0);
  angle = select(isPole, 1.0, angle);
  Expr reflected = positive - apply("cos", angle) * pi / apply("sin", angle);
  Expr atPole = select(apply("eq", x, 0.0), -apply("copysign", x.like(infinity), x),
                       x.like(std::numeric_limits<double>::quiet_NaN()));
  atPole = atPole + steep(x, isPole, x.like(1), x.like(-1));
  return frontend::select(isPole, atPole, frontend::select(isReflected, reflected, positive));
}

/// Hurwitz's zeta function, the sum of (q + k)^-s over k = 0, 1, .., for q > 0 and s > 1, by the summation of
/// Euler and Maclaurin.
Expr zetaOfPositive(const Expr &s, const Expr &given) {
  constexpr int terms = 10;
  Expr isInfinite = apply("eq", given, infinity), q = select(isInfinite, 1.0, given);
  Expr sum = q.like(0);
  for (int k = 0; k < terms; ++k)
    sum = sum + apply("pow", q + static_cast<double>(k), -s);
  Expr z = q + static_cast<double>(terms), power = apply("pow", z, -s);
  sum = sum + power * z / (s - 1.0) + power * 0.5;
  // The terms of the derivatives: B2j / (2j)! s (s + 1) .. (s + 2j - 2) z^(1 - s - 2j).
  Expr factor = s * power / z, square = z * z;
  double factorial = 2;
  for (int j = 1; j <= 8; ++j) {
    sum = sum + factor * (bernoulli[j - 1] / factorial);
    factor = factor * (s + (2.0 * j - 1)) * (s + 2.0 * j) / square;
    factorial *= (2.0 * j + 1) * (2.0 * j + 2);
  }
  return select(isInfinite, 0.0, sum);
}

/// The same for every q and a whole s: below 0.5 the terms of q = r - m, with r in [0, 1), are those of r and
/// the powers of -(1 - r), .., -(m - r).
Expr zetaOf(int64_t order, const Expr &q) {
  Expr s = q.like(static_cast<double>(order)), isLow = q < 0.5;
  Expr r = frontend::select(isLow, q - apply("floor", q), q);
  Expr more = zetaOfPositive(s, select(isLow, r.like(1) - r, 1.0)) -
              zetaOfPositive(s, select(isLow, q.like(1) - q, 1.0));
  return zetaOfPositive(s, r) + (order % 2 ? -more : more);
}

//===----------------------------------------------------------------------===//
// Error functions
//===----------------------------------------------------------------------===//

/// exp(x^2) erfc(x) for x >= 0.
Expr erfcxOfPositive(const Expr &x) {
  // At infinity the argument of the series is 1.
  Expr t = x.like(1) - x.like(7.5) / (x + 3.75);
  return series(t, erfcxSeries) / (x * 2.0 + 1.0);
}

/// exp(-x^2), of x as a multiple of 1/16, whose square is exact, and a rest.
Expr gaussian(const Expr &x) {
  Expr coarse = constantOf(apply("round", x * 16.0) / 16.0);
  return exp(-(coarse * coarse)) * exp(-((x - coarse) * (x + coarse)));
}

Expr erfcOf(const Expr &x) {
  Expr size = abs(x), isSmall = size < 0.5, plain = x.like(1) - apply("erf", x);
  Expr far = apply("min", select(isSmall, 1.0, size), 30.0);
  Expr tail = gaussian(far) * erfcxOfPositive(far);
  Expr value = frontend::select(isSmall, plain, frontend::select(x < 0.0, tail.like(2) - tail, tail));
  return withGradientOf(value, plain);
}

Expr ndtrOf(const Expr &x) { return erfcOf(-(x / std::numbers::sqrt2)) * 0.5; }

/// The inverse of the normal distribution: algorithm AS 241 (Wichura, 1988). `low` is the probability p, of
/// which `centre` is p - 0.5; each is exact where the other is not.
Expr normalQuantile(const Expr &low, const Expr &centre) {
  constexpr double a[] = {2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
                          4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
                          1.3314166789178437745e2, 3.3871328727963666080},
                   b[] = {5.2264952788528545610e3, 2.8729085735721942674e4,
                          3.9307895800092710610e4, 2.1213794301586595867e4,
                          5.3941960214247511077e3, 6.8718700749205790830e2,
                          4.2313330701600911252e1, 1},
                   c[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                          1.27045825245236838258,    3.64784832476320460504,    5.76949722146069140550,
                          4.63033784615654529590,    1.42343711074968357734},
                   d[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                          1.51986665636164571966e-2, 1.48103976427480074590e-1,
                          6.89767334985100004550e-1, 1.67638483018380384940,
                          2.05319162663775882187,    1},
                   e[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                          2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
                          5.46378491116411436990,    6.65790464350110377720},
                   f[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                          1.84631831751005468180e-5,  7.86869131145613259100e-4,
                          1.48753612908506148525e-2,  1.36929880922735805310e-1,
                          5.99832206555887937690e-1,  1};
  Expr isCentral = abs(centre) <= 0.425;
  Expr q = select(isCentral, centre, 0.0), r = q.like(0.180625) - q * q;
  Expr central = q * polynomial(r, a) / polynomial(r, b);
  Expr tail = frontend::select(centre < 0.0, low, low.like(1) - low);
  // At the ends, where the quantile is infinite, and beyond them.
  Expr isInside = tail > 0.0;
  Expr root = sqrt(-log(frontend::select(isInside & apply("bnot", isCentral), tail, tail.like(0.01))));
  Expr isNear = root <= 5.0;
  Expr n = select(isNear, root - 1.6, 0.0), m = select(isNear, 0.0, root - 5.0);
  Expr outer =
      frontend::select(isNear, polynomial(n, c) / polynomial(n, d), polynomial(m, e) / polynomial(m, f));
  outer = frontend::select(
      isInside, outer,
      select(apply("eq", tail, 0.0), infinity, tail.like(std::numeric_limits<double>::quiet_NaN())));
  outer = frontend::select(centre < 0.0, -outer, outer);
  return frontend::select(isCentral, central, outer);
}

/// A step of Newton's method, whose derivative is that of the inverse function: y - (F(y) - p) / F'(y).
Expr inverseStep(const Expr &y, const Expr &difference, const Expr &reciprocalSlope) {
  return withGradientOf(y, y - difference * reciprocalSlope);
}

/// `value` inside of an interval around 0; infinite at its ends, with an infinite derivative, and NaN beyond.
Expr withEnds(const Expr &value, const Expr &isInside, const Expr &x, double end) {
  Expr isEnd = apply("eq", abs(x), end);
  Expr factor =
      select(isInside, 1.0, select(isEnd, infinity, x.like(std::numeric_limits<double>::quiet_NaN())));
  return frontend::select(isInside, value, x * x * x * factor);
}

//===----------------------------------------------------------------------===//
// Bessel functions
//===----------------------------------------------------------------------===//

/// The sum of q^k / (k! (k + order)!): a modified Bessel function by q = x^2 / 4, divided by (x / 2)^order.
/// All terms are positive, and for q up to 16 those that are left out are below a unit of the last place.
template <int order> Expr powerSeries(const Expr &q) {
  std::array<double, 25> coefficients;
  double coefficient = 1;
  for (size_t k = 0; k < coefficients.size(); ++k) {
    coefficients[coefficients.size() - 1 - k] = coefficient;
    coefficient /= static_cast<double>((k + 1) * (k + 1 + order));
  }
  return polynomial(q, coefficients);
}

/// exp(-|x|) times a modified Bessel function.
Expr i0eOf(const Expr &x) {
  Expr size = abs(x), isSmall = size <= 8.0;
  Expr near = select(isSmall, x, 4.0), far = select(isSmall, 16.0, size);
  return frontend::select(isSmall, powerSeries<0>(near * near * 0.25) * exp(-abs(near)),
                          series(x.like(16) / far - 1.0, i0Large) / sqrt(far));
}
Expr i1eOf(const Expr &x) {
  Expr size = abs(x), isSmall = size <= 8.0;
  Expr near = select(isSmall, x, 4.0), far = select(isSmall, 16.0, size);
  Expr large = series(x.like(16) / far - 1.0, i1Large) / sqrt(far);
  return frontend::select(isSmall, powerSeries<1>(near * near * 0.25) * (near * 0.5) * exp(-abs(near)),
                          frontend::select(x < 0.0, -large, large));
}

/// exp(x) times a modified Bessel function of the second kind, of order 0 or 1: infinite at 0, NaN below.
Expr scaledSecondKind(const Expr &x, bool isFirst) {
  Expr isPositive = x > 0.0, isSmall = x <= 2.0;
  Expr near = select(isPositive & isSmall, x, 1.0), far = select(isSmall, 4.0, x);
  Expr t = near * near * 0.5 - 1.0, logarithm = log(near * 0.5);
  Expr small = isFirst ? (series(t, k1Small) + near * logarithm * i1eOf(near) * exp(near)) / near
                       : series(t, k0Small) - logarithm * i0eOf(near) * exp(near);
  Expr large = series(x.like(4) / far - 1.0, isFirst ? std::span(k1Large) : std::span(k0Large)) / sqrt(far);
  Expr value = frontend::select(isSmall, small * exp(near), large);
  return frontend::select(isPositive, value, select(apply("eq", x, 0.0), infinity, nanOf(x)));
}

} // namespace

//===----------------------------------------------------------------------===//
// Public functions
//===----------------------------------------------------------------------===//

Tensor lgamma(const Tensor &a, Loc loc) { return inDouble(a, loc, lgammaOf); }
Tensor digamma(const Tensor &a, Loc loc) { return inDouble(a, loc, digammaOf); }

Tensor polygamma(int64_t n, const Tensor &a, Loc loc) {
  if (n < 0)
    fail("polygamma(n, x) does not support negative n, found " + std::to_string(n), loc);
  if (n == 0)
    return digamma(a, loc);
  const double factor = std::tgamma(static_cast<double>(n) + 1) * (n % 2 ? 1 : -1);
  return inDouble(a, loc, [&](const Expr &x) { return zetaOf(n + 1, x) * factor; });
}

Tensor mvlgamma(const Tensor &a, int64_t p, Loc loc) {
  if (p < 1)
    fail("p has to be greater than or equal to 1, found " + std::to_string(p), loc);
  return inDouble(a, loc, [&](const Expr &x) {
    Expr sum = x.like(static_cast<double>(p * (p - 1)) / 4 * std::log(pi));
    for (int64_t i = 0; i < p; ++i)
      sum = sum + lgammaOf(x - static_cast<double>(i) / 2);
    return sum;
  });
}

Tensor erfc(const Tensor &a, Loc loc) { return inDouble(a, loc, erfcOf); }

Tensor erfinv(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) {
    Expr isInside = abs(x) < 1.0, z = select(isInside, x, 0.0);
    Expr y = normalQuantile((z + 1.0) * 0.5, z * 0.5) / std::numbers::sqrt2;
    return withEnds(inverseStep(y, apply("erf", y) - z, exp(y * y) * (std::sqrt(pi) / 2)), isInside, x, 1);
  });
}

Tensor i0(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) { return i0eOf(x) * exp(abs(x)); });
}

namespace special {

Tensor i0e(const Tensor &a, Loc loc) { return inDouble(a, loc, i0eOf); }
Tensor i1(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) { return i1eOf(x) * exp(abs(x)); });
}
Tensor i1e(const Tensor &a, Loc loc) { return inDouble(a, loc, i1eOf); }

Tensor modified_bessel_i0(const Tensor &a, Loc loc) { return i0(a, loc); }
Tensor modified_bessel_i1(const Tensor &a, Loc loc) { return special::i1(a, loc); }
Tensor scaled_modified_bessel_k0(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) { return scaledSecondKind(x, false); });
}
Tensor scaled_modified_bessel_k1(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) { return scaledSecondKind(x, true); });
}
Tensor modified_bessel_k0(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) { return scaledSecondKind(x, false) * exp(-x); });
}
Tensor modified_bessel_k1(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) { return scaledSecondKind(x, true) * exp(-x); });
}

Tensor spherical_bessel_j0(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) {
    Expr isZero = apply("eq", x, 0.0), isInfinite = apply("eq", abs(x), infinity);
    Expr at = select(isZero | isInfinite, 1.0, x);
    return select(isZero, 1.0, select(isInfinite, 0.0, apply("sin", at) / at));
  });
}

Tensor erfcx(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) {
    Expr isNegative = x < 0.0, positive = erfcxOfPositive(oneSidedAbs(x));
    Expr low = select(isNegative, x, 0.0);
    return frontend::select(isNegative, exp(low * low) * 2.0 - positive, positive);
  });
}

Tensor ndtr(const Tensor &a, Loc loc) { return inDouble(a, loc, ndtrOf); }

Tensor ndtri(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &p) {
    Expr centre = p - 0.5, isInside = (p > 0.0) & (p < 1.0);
    Expr q = select(isInside, p, 0.5), y = normalQuantile(q, q - 0.5);
    return withEnds(inverseStep(y, ndtrOf(y) - q, exp(y * y * 0.5) * rootOfTwoPi), isInside, centre, 0.5);
  });
}

Tensor log_ndtr(const Tensor &a, Loc loc) {
  return inDouble(a, loc, [](const Expr &x) {
    Expr isLow = x < -1.0, low = select(isLow, x, -1.0), high = select(isLow, 0.0, x);
    Expr tail = log(erfcxOfPositive(-(low / std::numbers::sqrt2)) * 0.5) - low * low * 0.5;
    return frontend::select(isLow, tail, apply("log1p", erfcOf(high / std::numbers::sqrt2) * -0.5));
  });
}

Tensor entr(const Tensor &a, Loc loc) {
  GraphLock lock(graphMutex());
  return compute({use(asReal(a, loc), loc)}, loc, [](const std::vector<Expr> &v) {
    const Expr &x = v[0];
    Expr isInfinite = apply("eq", x, infinity), isPositive = x > 0.0;
    Expr inside = select(isPositive & apply("bnot", isInfinite), x, 1.0);
    Expr value =
        frontend::select(isInfinite, x * select(isInfinite, -infinity, x.like(1)), -(inside * log(inside)));
    // The derivative -1 - log(x) is infinite at 0, and NaN below. Of -inf the reciprocal is taken, which is
    // 0.
    Expr isZero = apply("eq", x, 0.0), other = select(isZero, 0.0, select(x < 0.0, -infinity, nanOf(x)));
    Expr isLowest = apply("eq", x, -infinity),
         finite = frontend::select(isLowest, x.like(1) / select(isLowest, x, 1.0), x);
    other = other + steep(finite, apply("bnot", isPositive), select(isZero, 1.0, x.like(0)),
                          -apply("copysign", x.like(1), x));
    return frontend::select(isPositive, value, other);
  });
}

Tensor xlog1py(const Arg &a, const Arg &b) {
  GraphLock lock(graphMutex());
  return compute(promote("add", {a, b}, b.loc, /*toReal=*/true), b.loc, [](const std::vector<Expr> &v) {
    const Expr &x = v[0], &y = v[1];
    Expr limit = apply("eq", x, 0.0) & ((y <= -1.0) | apply("eq", y, infinity));
    return select(limit, 0.0, x * apply("log1p", select(limit, 0.0, y)));
  });
}

Tensor zeta(const Arg &x, const Arg &q) {
  GraphLock lock(graphMutex());
  std::vector<Ref> values = promote("add", {x, q}, q.loc, /*toReal=*/true);
  const DType dtype = values[0].spec().dtype;
  for (Ref &value : values)
    value = convertTo(value, DType::f64, q.loc);
  Tensor result = compute(values, q.loc, [](const std::vector<Expr> &v) {
    const Expr &s = v[0], &z = v[1];
    // Below 0 the terms with a base below 0 are added one by one, as far as there are not too many.
    Expr isLow = z < 0.5, isPole = isLow & apply("eq", z, apply("floor", z));
    Expr isValid = s > 1.0, safe = select(isValid, s, 2.0), start = select(isPole, 1.0, z), sum = s.like(0);
    for (int k = 0; k < 32; ++k) {
      Expr isNegative = start < 0.5;
      sum = sum + select(isNegative, apply("pow", select(isNegative, start, 1.0), -safe), 0.0);
      start = frontend::select(isNegative, start + 1.0, start);
    }
    Expr value = select(isPole, infinity, sum + zetaOfPositive(safe, start));
    Expr other = select(apply("eq", s, 1.0), infinity, nanOf(s));
    return frontend::select(isValid, value, other);
  });
  return result.to(dtype, q.loc);
}

} // namespace special
} // namespace weft
