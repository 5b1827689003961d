//===- MembersTest.cpp - Functions as members of tensors --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A member gives what the free function gives, whose values test/parity compares with PyTorch, and a member
// that ends in `_` writes that, in the dtype of the tensor.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

namespace {
Tensor doubles(std::vector<double> values, Shape shape) { return Tensor::from(values, std::move(shape)); }
Tensor sample() { return doubles({0.25, 0.5, 0.75, 0.125, 0.375, 0.625}, {2, 3}); }
Tensor other() { return doubles({0.5, 2.0, 0.25, 1.0, 0.75, 3.0}, {2, 3}); }
Tensor whole() { return Tensor::from({12, 18, 7, 5, 0, 9}, {2, 3}); }
Tensor square() { return doubles({4.0, 1.0, 0.5, 1.0, 3.0, 0.25, 0.5, 0.25, 2.0}, {3, 3}); }

/// Equal in dtype, shape and every bit, but for the payload of NaN.
void expectSame(const Tensor &a, const Tensor &b, const char *what) {
  ASSERT_EQ(a.dtype(), b.dtype()) << what;
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) << what << " " << x[i] << " " << y[i];
}
void expectSame(const std::vector<Tensor> &a, const std::vector<Tensor> &b, const char *what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i)
    expectSame(a[i], b[i], what);
}
} // namespace

#define WEFT_SAME(member, function) expectSame(member, function, #member)

TEST(Members, OfOneTensor) {
  const Tensor a = sample(), wide = sample() + 1;
#define WEFT_CHECK(name) WEFT_SAME(a.name(), weft::name(a));
  WEFT_CHECK(absolute)
  WEFT_CHECK(adjoint)
  WEFT_CHECK(angle)
  WEFT_CHECK(arccos)
  WEFT_CHECK(arcsin)
  WEFT_CHECK(arcsinh)
  WEFT_CHECK(arctan)
  WEFT_CHECK(arctanh)
  WEFT_CHECK(argwhere)
  WEFT_CHECK(conj)
  WEFT_CHECK(conj_physical)
  WEFT_CHECK(deg2rad)
  WEFT_CHECK(fix)
  WEFT_CHECK(fliplr)
  WEFT_CHECK(flipud)
  WEFT_CHECK(frac)
  WEFT_CHECK(i0)
  WEFT_CHECK(isneginf)
  WEFT_CHECK(isposinf)
  WEFT_CHECK(isreal)
  WEFT_CHECK(mH)
  WEFT_CHECK(msort)
  WEFT_CHECK(nanmedian)
  WEFT_CHECK(positive)
  WEFT_CHECK(rad2deg)
  WEFT_CHECK(real)
  WEFT_CHECK(resolve_conj)
  WEFT_CHECK(resolve_neg)
  WEFT_CHECK(sgn)
  WEFT_CHECK(sinc)
#undef WEFT_CHECK
  WEFT_SAME(wide.arccosh(), arccosh(wide));
  WEFT_SAME(a.corrcoef(), corrcoef(a));
  WEFT_SAME(a.H(), weft::H(a));
  WEFT_SAME(a.negative(), -a);
  for (const Tensor &m : {square()}) {
    WEFT_SAME(m.det(), det(m));
    WEFT_SAME(m.inverse(), inverse(m));
    WEFT_SAME(m.logdet(), logdet(m));
    WEFT_SAME(m.trace(), trace(m));
  }
}

TEST(Members, OfOneTensorInPlace) {
#define WEFT_CHECK(name)                                                                                     \
  {                                                                                                          \
    Tensor a = sample() + (#name[0] == 'a' && std::string(#name).find("cosh") != std::string::npos),         \
           b = a.clone();                                                                                    \
    Tensor expected = a.name().to(f64);                                                                      \
    Tensor &result = b.name##_();                                                                            \
    EXPECT_EQ(&result, &b);                                                                                  \
    WEFT_SAME(b, expected);                                                                                  \
  }
  WEFT_CHECK(absolute)
  WEFT_CHECK(acos)
  WEFT_CHECK(acosh)
  WEFT_CHECK(arccos)
  WEFT_CHECK(arccosh)
  WEFT_CHECK(arcsin)
  WEFT_CHECK(arcsinh)
  WEFT_CHECK(arctan)
  WEFT_CHECK(arctanh)
  WEFT_CHECK(asin)
  WEFT_CHECK(asinh)
  WEFT_CHECK(atan)
  WEFT_CHECK(atanh)
  WEFT_CHECK(conj_physical)
  WEFT_CHECK(cosh)
  WEFT_CHECK(deg2rad)
  WEFT_CHECK(digamma)
  WEFT_CHECK(erfc)
  WEFT_CHECK(erfinv)
  WEFT_CHECK(exp2)
  WEFT_CHECK(fix)
  WEFT_CHECK(frac)
  WEFT_CHECK(i0)
  WEFT_CHECK(lgamma)
  WEFT_CHECK(log10)
  WEFT_CHECK(log2)
  WEFT_CHECK(logical_not)
  WEFT_CHECK(negative)
  WEFT_CHECK(rad2deg)
  WEFT_CHECK(sgn)
  WEFT_CHECK(sign)
  WEFT_CHECK(sinc)
  WEFT_CHECK(sinh)
  WEFT_CHECK(tan)
#undef WEFT_CHECK
  Tensor bits = whole(), inverted = bits.bitwise_not();
  WEFT_SAME(bits.bitwise_not_(), inverted);
}

TEST(Members, OfTwoTensors) {
  const Tensor a = sample(), b = other();
#define WEFT_CHECK(name)                                                                                     \
  WEFT_SAME(a.name(b), weft::name(a, b));                                                                    \
  WEFT_SAME(a.name(2), weft::name(a, 2));
  WEFT_CHECK(divide)
  WEFT_CHECK(multiply)
  WEFT_CHECK(subtract)
  WEFT_CHECK(true_divide)
  WEFT_CHECK(greater)
  WEFT_CHECK(greater_equal)
  WEFT_CHECK(less)
  WEFT_CHECK(less_equal)
  WEFT_CHECK(not_equal)
  WEFT_CHECK(arctan2)
  WEFT_CHECK(float_power)
  WEFT_CHECK(hypot)
  WEFT_CHECK(logaddexp)
  WEFT_CHECK(logaddexp2)
  WEFT_CHECK(xlogy)
#undef WEFT_CHECK
  const Tensor n = whole(), m = Tensor::from({1, 2, 3, 0, 1, 2}, {2, 3});
  WEFT_SAME(n.bitwise_left_shift(m), bitwise_left_shift(n, m));
  WEFT_SAME(n.bitwise_right_shift(m), bitwise_right_shift(n, m));
  WEFT_SAME(n.gcd(m), gcd(n, m));
  WEFT_SAME(n.lcm(m), lcm(n, m));
  WEFT_SAME(a.ldexp(b), ldexp(a, b));
  WEFT_SAME(a.heaviside(b), heaviside(a, b));
  WEFT_SAME(a.inner(b), inner(a, b));
  WEFT_SAME(a.kron(b), kron(a, b));
  WEFT_SAME(a[0].ger(b[1]), outer(a[0], b[1]));
  WEFT_SAME(a[0].vdot(b[1]), dot(a[0], b[1]));
}

TEST(Members, OfTwoTensorsInPlace) {
#define WEFT_CHECK(name)                                                                                     \
  {                                                                                                          \
    Tensor a = sample(), expected = a.name(other()).to(f64);                                                 \
    Tensor &result = a.name##_(other());                                                                     \
    EXPECT_EQ(&result, &a);                                                                                  \
    WEFT_SAME(a, expected);                                                                                  \
  }
  WEFT_CHECK(atan2)
  WEFT_CHECK(arctan2)
  WEFT_CHECK(copysign)
  WEFT_CHECK(divide)
  WEFT_CHECK(multiply)
  WEFT_CHECK(subtract)
  WEFT_CHECK(true_divide)
  WEFT_CHECK(eq)
  WEFT_CHECK(ne)
  WEFT_CHECK(lt)
  WEFT_CHECK(le)
  WEFT_CHECK(gt)
  WEFT_CHECK(ge)
  WEFT_CHECK(greater)
  WEFT_CHECK(greater_equal)
  WEFT_CHECK(less)
  WEFT_CHECK(less_equal)
  WEFT_CHECK(not_equal)
  WEFT_CHECK(float_power)
  WEFT_CHECK(hypot)
  WEFT_CHECK(ldexp)
  WEFT_CHECK(logical_and)
  WEFT_CHECK(logical_or)
  WEFT_CHECK(logical_xor)
  WEFT_CHECK(xlogy)
  WEFT_CHECK(heaviside)
#undef WEFT_CHECK
#define WEFT_CHECK(name)                                                                                     \
  {                                                                                                          \
    const Tensor b = Tensor::from({1, 2, 3, 0, 1, 2}, {2, 3});                                               \
    Tensor a = whole(), expected = a.name(b);                                                                \
    WEFT_SAME(a.name##_(b), expected);                                                                       \
  }
  WEFT_CHECK(bitwise_and)
  WEFT_CHECK(bitwise_or)
  WEFT_CHECK(bitwise_xor)
  WEFT_CHECK(bitwise_left_shift)
  WEFT_CHECK(bitwise_right_shift)
  WEFT_CHECK(gcd)
  WEFT_CHECK(lcm)
#undef WEFT_CHECK
  Tensor n = whole();
  EXPECT_ERROR(n.true_divide_(2), "result type f32 can't be cast");
}

TEST(Members, OfMatrices) {
  const Tensor m = square(), a = sample(), b = other(), v = b[0], w = a[0];
  WEFT_SAME(square().addbmm(stack({m, m}), stack({m, m})), addbmm(m, stack({m, m}), stack({m, m})));
  WEFT_SAME(w.addmv(m, v, 2, 3), addmv(w, m, v, 2, 3));
  WEFT_SAME(m.addr(v, w), addr(m, v, w));
  WEFT_SAME(a.cross(b), cross(a, b));
  WEFT_SAME(m.cholesky(), cholesky(m));
  const Tensor factor = m.cholesky();
  WEFT_SAME(factor.cholesky_inverse(), cholesky_inverse(factor));
  WEFT_SAME(m.cholesky_solve(factor), cholesky_solve(m, factor));
  const auto lu = linalg::lu_factor(m);
  WEFT_SAME(m.lu_solve(lu.LU, lu.pivots), lu_solve(m, lu.LU, lu.pivots));
  WEFT_SAME(m.matrix_power(3), linalg::matrix_power(m, 3));
  WEFT_SAME(weft::matrix_power(m, -1), linalg::matrix_power(m, -1));
  WEFT_SAME(m.pinverse(), pinverse(m));
  WEFT_SAME(m.triangular_solve(m, false), triangular_solve(m, m, false));
  WEFT_SAME(m.diag(1), diag(m, 1));
  WEFT_SAME(a.dist(b), dist(a, b));
  WEFT_SAME(a.renorm(2, 0, 0.5), renorm(a, 2, 0, 0.5));
  WEFT_SAME(m.qr().R, qr(m).R);
  WEFT_SAME(m.svd().S, svd(m).S);
  WEFT_SAME(m.slogdet().logabsdet, linalg::slogdet(m).logabsdet);
  WEFT_SAME(weft::slogdet(m).sign, linalg::slogdet(m).sign);
  WEFT_SAME(chain_matmul({m, m, m}), linalg::multi_dot({m, m, m}));
  WEFT_SAME(nuclear_norm(m), linalg::matrix_norm(m, "nuc"));
  WEFT_SAME(frobenius_norm(m), m.norm());
  Tensor x = square(), expected = m.addmm(m, m, 0.5, 2);
  WEFT_SAME(x.addmm_(m, m, 0.5, 2), expected);
  x = square().unsqueeze(0).contiguous();
  expected = x.baddbmm(x, x);
  WEFT_SAME(x.baddbmm_(x, x), expected);
  x = square();
  expected = x.addbmm(stack({m}), stack({m}));
  WEFT_SAME(x.addbmm_(stack({m}), stack({m})), expected);
  x = square();
  expected = x.addr(v, w);
  WEFT_SAME(x.addr_(v, w), expected);
  x = w.clone();
  expected = x.addmv(m, v);
  WEFT_SAME(x.addmv_(m, v), expected);
  x = sample();
  expected = x.renorm(2, 0, 0.5);
  WEFT_SAME(x.renorm_(2, 0, 0.5), expected);
}

TEST(Members, OfShapes) {
  const Tensor a = sample(), m = square(), long_ = arange(6, f32);
  WEFT_SAME(a.as_strided({2, 2}, {1, 2}, 1), as_strided(a, {2, 2}, {1, 2}, 1));
  WEFT_SAME(a.as_strided_scatter(zeros({2}, f64), {2}, {3}),
            as_strided_scatter(a, zeros({2}, f64), {2}, {3}));
  WEFT_SAME(a.broadcast_to({4, 2, 3}), broadcast_to(a, {4, 2, 3}));
  WEFT_SAME(a.swapdims(0, 1), a.transpose(0, 1));
  WEFT_SAME(weft::swapdims(a, 0, 1), a.transpose(0, 1));
  WEFT_SAME(a.diag_embed(), diag_embed(a));
  WEFT_SAME(a.diagflat(1), diagflat(a, 1));
  WEFT_SAME(a.diagonal_scatter(zeros({2}, f64)), diagonal_scatter(a, zeros({2}, f64)));
  WEFT_SAME(a.select_scatter(zeros({3}, f64), 0, 1), select_scatter(a, zeros({3}, f64), 0, 1));
  WEFT_SAME(a.slice_scatter(zeros({1, 3}, f64), 0, 1), slice_scatter(a, zeros({1, 3}, f64), 0, 1));
  WEFT_SAME(a.narrow_copy(1, 1, 2), a.narrow(1, 1, 2));
  WEFT_SAME(a.rot90(), rot90(a));
  WEFT_SAME(a.sum_to_size({1, 3}), sum_to_size(a, {1, 3}));
  WEFT_SAME(a.unfold(1, 2, 1), unfold(a, 1, 2, 1));
  WEFT_SAME(select_copy(a, 1, 2), a.select(1, 2));
  WEFT_SAME(slice_copy(a, 1, 0, 3, 2), a.slice(1, 0, 3, 2));
  WEFT_SAME(detach_copy(a), a);
  WEFT_SAME(constant_pad_nd(a, {1, 1}, 3), pad(a, {1, 1}, 3));
  WEFT_SAME(long_.tensor_split(4), tensor_split(long_, 4));
  WEFT_SAME(long_.tensor_split({1, 3}), tensor_split(long_, std::vector<int64_t>{1, 3}));
  WEFT_SAME(long_.hsplit(2), hsplit(long_, 2));
  WEFT_SAME(long_.hsplit({1, 3}), hsplit(long_, std::vector<int64_t>{1, 3}));
  WEFT_SAME(a.vsplit(2), vsplit(a, 2));
  WEFT_SAME(a.vsplit(std::vector<int64_t>{1}), vsplit(a, std::vector<int64_t>{1}));
  const Tensor cube = arange(8, f32).view({2, 2, 2});
  WEFT_SAME(cube.dsplit(2), dsplit(cube, 2));
  WEFT_SAME(cube.dsplit(std::vector<int64_t>{1}), dsplit(cube, std::vector<int64_t>{1}));
  WEFT_SAME(long_.split_with_sizes({2, 4}), split(long_, std::vector<int64_t>{2, 4}));
  WEFT_SAME(split_with_sizes(long_, {2, 4}), split(long_, std::vector<int64_t>{2, 4}));
  WEFT_SAME(long_.unsafe_chunk(3), chunk(long_, 3));
  WEFT_SAME(long_.unsafe_split(4), split(long_, 4));
  WEFT_SAME(long_.unsafe_split_with_sizes({2, 4}), split(long_, std::vector<int64_t>{2, 4}));
  WEFT_SAME(concatenate({a, a}, 1), cat({a, a}, 1));
  WEFT_SAME(row_stack({a, a}), vstack({a, a}));
  for (Tensor x : {square()}) {
    Tensor lower = x.tril(), upper = x.triu();
    WEFT_SAME(x.clone().tril_(), lower);
    WEFT_SAME(x.clone().triu_(), upper);
    WEFT_SAME(x.clone().cumsum_(0), x.cumsum(0));
    WEFT_SAME(x.clone().cumprod_(1), x.cumprod(1));
  }
}

TEST(Members, StatisticsAndIndices) {
  const Tensor a = sample(), b = other(), index = Tensor::from({1, 0}, {2}), q = doubles({0.25, 0.5}, {2});
  WEFT_SAME(a.nansum({0}), nansum(a, {0}));
  WEFT_SAME(a.nanmean({1}, true), nanmean(a, {1}, true));
  WEFT_SAME(a.nanmedian(1).values, nanmedian(a, 1).values);
  WEFT_SAME(a.quantile(0.25, 1), quantile(a, 0.25, 1));
  WEFT_SAME(a.quantile(q), quantile(a, q));
  WEFT_SAME(a.nanquantile(0.25, 1), nanquantile(a, 0.25, 1));
  WEFT_SAME(a.nanquantile(q), nanquantile(a, q));
  WEFT_SAME(a.aminmax(1).second, aminmax(a, 1).second);
  WEFT_SAME(a.cov(), cov(a));
  WEFT_SAME(a.diff(), diff(a));
  WEFT_SAME(a.diff(1, 0, a, b), diff(a, 1, 0, a, b));
  WEFT_SAME(a.histc(4, 0, 1), histc(a, 4, 0, 1));
  WEFT_SAME(trapz(a, 2), trapezoid(a, 2));
  WEFT_SAME(trapz(a, b), trapezoid(a, b));
  WEFT_SAME(index.bincount(), bincount(index));
  WEFT_SAME(index.bincount(q, 4), bincount(index, q, 4));
  WEFT_SAME(whole().nonzero_static(4), nonzero_static(whole(), 4));
  WEFT_SAME(whole().unique().values, unique(whole()).values);
  WEFT_SAME(whole().unique_consecutive(false, true).counts, unique_consecutive(whole(), false, true).counts);
  const Tensor places = Tensor::from({1, 0, 0, 1, 0, 1}, {2, 3});
  WEFT_SAME(a.take_along_dim(places, 0), take_along_dim(a, places, 0));
  WEFT_SAME(a.index_fill(1, index, 7), index_fill(a, 1, index, 7));
  WEFT_SAME(a.index_reduce(0, index, b, "amax"), index_reduce(a, 0, index, b, "amax"));
  WEFT_SAME(a.scatter_reduce(0, places, b, "sum"), scatter_reduce(a, 0, places, b, "sum"));
  WEFT_SAME(a.put(index, q), put(a, index, q));
  WEFT_SAME(a.where(a > 0.3, 0), where(a > 0.3, a, 0));
  WEFT_SAME(a.clone().clip_(0.3, 0.6), clamp(a, 0.3, 0.6));
  WEFT_SAME(a.clone().index_fill_(1, index, 7), index_fill(a, 1, index, 7));
  WEFT_SAME(a.clone().index_reduce_(0, index, b, "amax"), index_reduce(a, 0, index, b, "amax"));
  WEFT_SAME(a.clone().scatter_reduce_(0, places, b, "sum"), scatter_reduce(a, 0, places, b, "sum"));
  WEFT_SAME(a.clone().put_(index, q), put(a, index, q));
  const Tensor mask = a > 0.3;
  WEFT_SAME(a.clone().masked_scatter_(mask, b), masked_scatter(a, mask, b));
  EXPECT_TRUE(a.equal(sample()));
  EXPECT_TRUE(a.allclose(a + 1e-12));
  WEFT_SAME(a.isclose(b), isclose(a, b));
  WEFT_SAME(a.addcmul(a, b, 2), addcmul(a, a, b, 2));
  WEFT_SAME(a.addcdiv(a, b, 2), addcdiv(a, a, b, 2));
  WEFT_SAME(a.logit(0.2), logit(a, 0.2));
  WEFT_SAME(a.clone().logit_(0.2), logit(a, 0.2));
  WEFT_SAME((a + 1).mvlgamma(2), mvlgamma(a + 1, 2));
  WEFT_SAME((a + 1).mvlgamma_(2), mvlgamma(a + 1, 2));
  WEFT_SAME(a.polygamma(1), polygamma(1, a));
  WEFT_SAME(a.clone().polygamma_(1), polygamma(1, a));
  WEFT_SAME(a.hardshrink(0.3), hardshrink(a, 0.3));
  WEFT_SAME(a.prelu(q.slice(0, 0, 1)), prelu(a, q.slice(0, 0, 1)));
  WEFT_SAME(a.clone().nan_to_num_(), a);
}

// The expected numbers are PyTorch's.
TEST(Members, DiagonalsAreFilled) {
  Tensor tall = zeros({5, 2});
  tall.fill_diagonal_(3, true);
  EXPECT_EQ(floats(tall), (Floats{3, 0, 0, 3, 0, 0, 3, 0, 0, 3}));
  EXPECT_EQ(floats(zeros({3, 2}).fill_diagonal_(1)), (Floats{1, 0, 0, 1, 0, 0}));
  Tensor cube = zeros({2, 2, 2});
  EXPECT_EQ(floats(cube.fill_diagonal_(5)), (Floats{5, 0, 0, 0, 0, 0, 0, 5}));
  EXPECT_ERROR(zeros({3}).fill_diagonal_(1), "two dimensions or more");
  EXPECT_ERROR(zeros({2, 2, 3}).fill_diagonal_(1), "equal sizes");
}

TEST(Members, Facts) {
  const Tensor a = sample();
  EXPECT_TRUE(a.is_cpu());
  EXPECT_FALSE(a.is_cuda());
  EXPECT_FALSE(a.is_complex());
  EXPECT_TRUE(a.is_signed());
  EXPECT_FALSE((a > 0).is_signed());
  EXPECT_TRUE(a.is_same_size(other()));
  EXPECT_TRUE(a[0][1].is_nonzero());
  EXPECT_ERROR(a.is_nonzero(), "one element");
  EXPECT_EQ(a.ndimension(), 2);
  EXPECT_EQ(a.nelement(), 6);
  EXPECT_EQ(a.get_device(), -1);
  EXPECT_EQ(a.stride(), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(a.t().stride(-1), 3);
  EXPECT_ERROR(a.stride(2), "dimension 2 is out of range");
  EXPECT_EQ(promote_types(i64, f16), f16);
  EXPECT_EQ(promote_types(DType::ui8, DType::i8), i16);
  EXPECT_EQ(result_type(a.to(f16), 2.5), f16);
  EXPECT_EQ(result_type(whole(), 2.5), f32);
  EXPECT_TRUE(can_cast(i64, f32));
  EXPECT_FALSE(can_cast(f32, i64));
  EXPECT_FALSE(can_cast(i64, i1));
  EXPECT_TRUE(can_cast(f64, f16));
}

// Means and deviations of 40,000 draws, which are off by more than four standard errors once in 16,000 seeds;
// this seed is fixed.
TEST(Members, DrawsHaveTheirDistributions) {
  manual_seed(5);
  const int64_t n = 40000;
  auto mean = [](const Tensor &t) { return t.to(f64).mean().item<double>(); };
  Tensor x = zeros({n});
  EXPECT_NEAR(mean(x.exponential_(2)), 0.5, 4 * 0.5 / 200);
  EXPECT_TRUE((x >= 0).all().item<bool>() && x.isfinite().all().item<bool>());
  EXPECT_NEAR(mean(x.geometric_(0.25)), 4, 4 * std::sqrt(12.0) / 200);
  EXPECT_EQ(x.amin().item<float>(), 1);
  EXPECT_NEAR(mean(x.log_normal_(0.5, 0.25).log()), 0.5, 4 * 0.25 / 200);
  // Half of a Cauchy distribution is within sigma of its median.
  EXPECT_NEAR(mean((x.cauchy_(1, 2) - 1).abs() < 2), 0.5, 4 * 0.5 / 200);
  Tensor whole = zeros({n}, i32);
  whole.random_(3, 7);
  EXPECT_EQ(whole.amin().item<int>(), 3);
  EXPECT_EQ(whole.amax().item<int>(), 6);
  EXPECT_NEAR(mean(whole), 4.5, 4 * 1.118 / 200);
  EXPECT_NEAR(mean(full({n}, 0.25).bernoulli()), 0.25, 4 * 0.433 / 200);
  EXPECT_ERROR(x.exponential_(0), "expects lambd > 0");
  EXPECT_ERROR(x.cauchy_(0, -1), "expects sigma > 0");
  EXPECT_ERROR(x.log_normal_(0, 0), "expects std > 0");
  EXPECT_ERROR(x.geometric_(1), "expects p to be in (0, 1)");
  EXPECT_ERROR(whole.exponential_(), "takes a floating-point tensor, found i32");
}

TEST(Members, FunctionsInPlace) {
  Tensor a = sample() - 0.4, b = a.clone();
  WEFT_SAME(weft::relu_(b), relu(a));
  b = a.clone();
  WEFT_SAME(elu_(b, 2), elu(a, 2));
  b = a.clone();
  WEFT_SAME(weft::celu_(b), celu(a));
  b = a.clone();
  WEFT_SAME(weft::selu_(b), selu(a));
  b = a.clone();
  WEFT_SAME(weft::hardtanh_(b, -0.1, 0.1), hardtanh(a, -0.1, 0.1));
  b = a.clone();
  WEFT_SAME(weft::leaky_relu_(b, 0.2), leaky_relu(a, 0.2));
  b = a.clone();
  WEFT_SAME(weft::threshold_(b, 0.1, 5), threshold(a, 0.1, 5));
  b = a.clone();
  WEFT_SAME(weft::clamp_(b, 0, 0.1), clamp(a, 0, 0.1));
  b = a.clone();
  WEFT_SAME(weft::fill_(b, 3), full({2, 3}, 3, f64));
}

TEST(Members, MatrixFunctions) {
  Tensor x = doubles({1.0, 2.0, 3.0}, {3});
  EXPECT_EQ(vander(x, 3).to_vector<double>(), (std::vector<double>{1, 1, 1, 4, 2, 1, 9, 3, 1}));
  EXPECT_EQ(vander(x, 2, true).to_vector<double>(), (std::vector<double>{1, 1, 1, 2, 1, 3}));
  EXPECT_EQ(vander(x, 0).sizes(), (Shape{3, 0}));
  EXPECT_ERROR(vander(square()), "takes a vector");
  EXPECT_ERROR(vander(x, -1), "must be non-negative");
  // A rotation by 100 has a norm that is halved seven times.
  Tensor turn = doubles({0.0, -100.0, 100.0, 0.0}, {2, 2}), rotation = matrix_exp(turn);
  EXPECT_NEAR(rotation[0][0].item<double>(), std::cos(100.0), 1e-12);
  EXPECT_NEAR(rotation[1][0].item<double>(), std::sin(100.0), 1e-12);
  EXPECT_EQ(matrix_exp(zeros({2, 0, 0})).sizes(), (Shape{2, 0, 0}));
  EXPECT_ERROR(matrix_exp(zeros({2, 3})), "square matrices");
  EXPECT_ERROR(matrix_exp(whole().slice(1, 0, 2)), "floating-point");
}
