//===- TensorMembers.cpp - Functions as members of Tensor -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"
#include "weft/weft.hpp"

namespace weft {

using namespace frontend;

static const Tensor &self(const TensorMembers *members) { return *static_cast<const Tensor *>(members); }
static Tensor &self(TensorMembers *members) { return *static_cast<Tensor *>(members); }

//===----------------------------------------------------------------------===//
// Free functions by another spelling
//===----------------------------------------------------------------------===//

#define WEFT_MEMBER(name)                                                                                    \
  Tensor TensorMembers::name(Loc loc) const { return weft::name(self(this), loc); }
WEFT_MEMBER(absolute)
WEFT_MEMBER(adjoint)
WEFT_MEMBER(angle)
WEFT_MEMBER(arccos)
WEFT_MEMBER(arccosh)
WEFT_MEMBER(arcsin)
WEFT_MEMBER(arcsinh)
WEFT_MEMBER(arctan)
WEFT_MEMBER(arctanh)
WEFT_MEMBER(argwhere)
WEFT_MEMBER(conj)
WEFT_MEMBER(conj_physical)
WEFT_MEMBER(corrcoef)
WEFT_MEMBER(deg2rad)
WEFT_MEMBER(det)
WEFT_MEMBER(fix)
WEFT_MEMBER(fliplr)
WEFT_MEMBER(flipud)
WEFT_MEMBER(frac)
WEFT_MEMBER(i0)
WEFT_MEMBER(inverse)
WEFT_MEMBER(isneginf)
WEFT_MEMBER(isposinf)
WEFT_MEMBER(isreal)
WEFT_MEMBER(logdet)
WEFT_MEMBER(mH)
WEFT_MEMBER(H)
WEFT_MEMBER(msort)
WEFT_MEMBER(nanmedian)
WEFT_MEMBER(positive)
WEFT_MEMBER(rad2deg)
WEFT_MEMBER(real)
WEFT_MEMBER(resolve_conj)
WEFT_MEMBER(resolve_neg)
WEFT_MEMBER(sgn)
WEFT_MEMBER(sinc)
WEFT_MEMBER(trace)
#undef WEFT_MEMBER

#define WEFT_MEMBER(name)                                                                                    \
  Tensor TensorMembers::name(const Arg &other) const { return weft::name(Arg(self(this), other.loc), other); }
WEFT_MEMBER(divide)
WEFT_MEMBER(multiply)
WEFT_MEMBER(subtract)
WEFT_MEMBER(true_divide)
WEFT_MEMBER(greater)
WEFT_MEMBER(greater_equal)
WEFT_MEMBER(less)
WEFT_MEMBER(less_equal)
WEFT_MEMBER(not_equal)
WEFT_MEMBER(arctan2)
WEFT_MEMBER(bitwise_left_shift)
WEFT_MEMBER(bitwise_right_shift)
WEFT_MEMBER(float_power)
WEFT_MEMBER(hypot)
WEFT_MEMBER(ldexp)
WEFT_MEMBER(logaddexp)
WEFT_MEMBER(logaddexp2)
WEFT_MEMBER(xlogy)
#undef WEFT_MEMBER

#define WEFT_MEMBER(name)                                                                                    \
  Tensor TensorMembers::name(const Tensor &other, Loc loc) const {                                           \
    return weft::name(self(this), other, loc);                                                               \
  }
WEFT_MEMBER(gcd)
WEFT_MEMBER(heaviside)
WEFT_MEMBER(lcm)
WEFT_MEMBER(inner)
WEFT_MEMBER(ger)
WEFT_MEMBER(kron)
WEFT_MEMBER(vdot)
#undef WEFT_MEMBER

Tensor TensorMembers::addbmm(const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) const {
  return weft::addbmm(self(this), a, b, beta, alpha, loc);
}
Tensor TensorMembers::addmv(const Tensor &matrix, const Tensor &vector, double beta, double alpha,
                            Loc loc) const {
  return weft::addmv(self(this), matrix, vector, beta, alpha, loc);
}
Tensor TensorMembers::addr(const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) const {
  return weft::addr(self(this), a, b, beta, alpha, loc);
}
Tensor TensorMembers::cross(const Tensor &other, std::optional<int64_t> dim, Loc loc) const {
  return weft::cross(self(this), other, dim, loc);
}
Tensor TensorMembers::cholesky(bool upper, Loc loc) const { return weft::cholesky(self(this), upper, loc); }
Tensor TensorMembers::cholesky_inverse(bool upper, Loc loc) const {
  return weft::cholesky_inverse(self(this), upper, loc);
}
Tensor TensorMembers::cholesky_solve(const Tensor &factor, bool upper, Loc loc) const {
  return weft::cholesky_solve(self(this), factor, upper, loc);
}
Tensor TensorMembers::lu_solve(const Tensor &lu, const Tensor &pivots, Loc loc) const {
  return weft::lu_solve(self(this), lu, pivots, loc);
}
Tensor TensorMembers::matrix_power(int64_t n, Loc loc) const {
  return weft::matrix_power(self(this), n, loc);
}
Tensor TensorMembers::pinverse(double rcond, Loc loc) const { return weft::pinverse(self(this), rcond, loc); }
Tensor TensorMembers::triangular_solve(const Tensor &a, bool upper, bool transpose, bool unitriangular,
                                       Loc loc) const {
  return weft::triangular_solve(self(this), a, upper, transpose, unitriangular, loc);
}
Tensor TensorMembers::diag(int64_t diagonal, Loc loc) const { return weft::diag(self(this), diagonal, loc); }
Tensor TensorMembers::dist(const Tensor &other, double p, Loc loc) const {
  return weft::dist(self(this), other, p, loc);
}
Tensor TensorMembers::renorm(double p, int64_t dim, double maxnorm, Loc loc) const {
  return weft::renorm(self(this), p, dim, maxnorm, loc);
}
Tensor TensorMembers::addcmul(const Tensor &a, const Tensor &b, double value, Loc loc) const {
  return weft::addcmul(self(this), a, b, value, loc);
}
Tensor TensorMembers::addcdiv(const Tensor &a, const Tensor &b, double value, Loc loc) const {
  return weft::addcdiv(self(this), a, b, value, loc);
}
Tensor TensorMembers::logit(std::optional<double> eps, Loc loc) const {
  return weft::logit(self(this), eps, loc);
}
Tensor TensorMembers::mvlgamma(int64_t p, Loc loc) const { return weft::mvlgamma(self(this), p, loc); }
Tensor TensorMembers::hardshrink(double lambda, Loc loc) const {
  return weft::hardshrink(self(this), lambda, loc);
}
Tensor TensorMembers::prelu(const Tensor &weight, Loc loc) const {
  return weft::prelu(self(this), weight, loc);
}
Tensor TensorMembers::isclose(const Tensor &other, double rtol, double atol, bool equal_nan, Loc loc) const {
  return weft::isclose(self(this), other, rtol, atol, equal_nan, loc);
}
bool TensorMembers::allclose(const Tensor &other, double rtol, double atol, bool equal_nan, Loc loc) const {
  return weft::allclose(self(this), other, rtol, atol, equal_nan, loc);
}
bool TensorMembers::equal(const Tensor &other, Loc loc) const { return weft::equal(self(this), other, loc); }
Tensor TensorMembers::as_strided(IntList shape, IntList strides, int64_t offset, Loc loc) const {
  return weft::as_strided(self(this), std::move(shape), std::move(strides), offset, loc);
}
Tensor TensorMembers::as_strided_scatter(const Tensor &source, IntList shape, IntList strides, int64_t offset,
                                         Loc loc) const {
  return weft::as_strided_scatter(self(this), source, std::move(shape), std::move(strides), offset, loc);
}
Tensor TensorMembers::broadcast_to(IntList shape, Loc loc) const {
  return weft::broadcast_to(self(this), std::move(shape), loc);
}
Tensor TensorMembers::swapdims(int64_t dim0, int64_t dim1, Loc loc) const {
  return weft::swapdims(self(this), dim0, dim1, loc);
}
Tensor TensorMembers::diag_embed(int64_t offset, int64_t dim1, int64_t dim2, Loc loc) const {
  return weft::diag_embed(self(this), offset, dim1, dim2, loc);
}
Tensor TensorMembers::diagflat(int64_t offset, Loc loc) const {
  return weft::diagflat(self(this), offset, loc);
}
Tensor TensorMembers::diagonal_scatter(const Tensor &source, int64_t offset, int64_t dim1, int64_t dim2,
                                       Loc loc) const {
  return weft::diagonal_scatter(self(this), source, offset, dim1, dim2, loc);
}
Tensor TensorMembers::select_scatter(const Tensor &source, int64_t dim, int64_t index, Loc loc) const {
  return weft::select_scatter(self(this), source, dim, index, loc);
}
Tensor TensorMembers::slice_scatter(const Tensor &source, int64_t dim, int64_t start, int64_t end,
                                    int64_t step, Loc loc) const {
  return weft::slice_scatter(self(this), source, dim, start, end, step, loc);
}
Tensor TensorMembers::narrow_copy(int64_t dim, int64_t start, int64_t length, Loc loc) const {
  return weft::narrow_copy(self(this), dim, start, length, loc);
}
Tensor TensorMembers::rot90(int64_t k, IntList dims, Loc loc) const {
  return weft::rot90(self(this), k, std::move(dims), loc);
}
Tensor TensorMembers::sum_to_size(const std::vector<int64_t> &shape, Loc loc) const {
  return weft::sum_to_size(self(this), shape, loc);
}
Tensor TensorMembers::unfold(int64_t dim, int64_t size, int64_t step, Loc loc) const {
  return weft::unfold(self(this), dim, size, step, loc);
}
std::vector<Tensor> TensorMembers::tensor_split(int64_t sections, int64_t dim, Loc loc) const {
  return weft::tensor_split(self(this), sections, dim, loc);
}
std::vector<Tensor> TensorMembers::tensor_split(const std::vector<int64_t> &indices, int64_t dim,
                                                Loc loc) const {
  return weft::tensor_split(self(this), indices, dim, loc);
}
std::vector<Tensor> TensorMembers::hsplit(int64_t sections, Loc loc) const {
  return weft::hsplit(self(this), sections, loc);
}
std::vector<Tensor> TensorMembers::hsplit(const std::vector<int64_t> &indices, Loc loc) const {
  return weft::hsplit(self(this), indices, loc);
}
std::vector<Tensor> TensorMembers::vsplit(int64_t sections, Loc loc) const {
  return weft::vsplit(self(this), sections, loc);
}
std::vector<Tensor> TensorMembers::vsplit(const std::vector<int64_t> &indices, Loc loc) const {
  return weft::vsplit(self(this), indices, loc);
}
std::vector<Tensor> TensorMembers::dsplit(int64_t sections, Loc loc) const {
  return weft::dsplit(self(this), sections, loc);
}
std::vector<Tensor> TensorMembers::dsplit(const std::vector<int64_t> &indices, Loc loc) const {
  return weft::dsplit(self(this), indices, loc);
}
std::vector<Tensor> TensorMembers::split_with_sizes(const std::vector<int64_t> &sizes, int64_t dim,
                                                    Loc loc) const {
  return weft::split_with_sizes(self(this), sizes, dim, loc);
}
std::vector<Tensor> TensorMembers::unsafe_chunk(int64_t chunks, int64_t dim, Loc loc) const {
  return weft::unsafe_chunk(self(this), chunks, dim, loc);
}
std::vector<Tensor> TensorMembers::unsafe_split(int64_t size, int64_t dim, Loc loc) const {
  return weft::unsafe_split(self(this), size, dim, loc);
}
std::vector<Tensor> TensorMembers::unsafe_split_with_sizes(const std::vector<int64_t> &sizes, int64_t dim,
                                                           Loc loc) const {
  return weft::unsafe_split_with_sizes(self(this), sizes, dim, loc);
}
Tensor TensorMembers::nansum(IntList dims, bool keepdim, Loc loc) const {
  return weft::nansum(self(this), std::move(dims), keepdim, loc);
}
Tensor TensorMembers::nanmean(IntList dims, bool keepdim, Loc loc) const {
  return weft::nanmean(self(this), std::move(dims), keepdim, loc);
}
ValuesIndices TensorMembers::nanmedian(int64_t dim, bool keepdim, Loc loc) const {
  return weft::nanmedian(self(this), dim, keepdim, loc);
}
Tensor TensorMembers::quantile(double q, std::optional<int64_t> dim, bool keepdim,
                               const std::string &interpolation, Loc loc) const {
  return weft::quantile(self(this), q, dim, keepdim, interpolation, loc);
}
Tensor TensorMembers::quantile(const Tensor &q, std::optional<int64_t> dim, bool keepdim,
                               const std::string &interpolation, Loc loc) const {
  return weft::quantile(self(this), q, dim, keepdim, interpolation, loc);
}
Tensor TensorMembers::nanquantile(double q, std::optional<int64_t> dim, bool keepdim,
                                  const std::string &interpolation, Loc loc) const {
  return weft::nanquantile(self(this), q, dim, keepdim, interpolation, loc);
}
Tensor TensorMembers::nanquantile(const Tensor &q, std::optional<int64_t> dim, bool keepdim,
                                  const std::string &interpolation, Loc loc) const {
  return weft::nanquantile(self(this), q, dim, keepdim, interpolation, loc);
}
std::pair<Tensor, Tensor> TensorMembers::aminmax(std::optional<int64_t> dim, bool keepdim, Loc loc) const {
  return weft::aminmax(self(this), dim, keepdim, loc);
}
Tensor TensorMembers::cov(double correction, Loc loc) const { return weft::cov(self(this), correction, loc); }
Tensor TensorMembers::histc(int64_t bins, double min, double max, Loc loc) const {
  return weft::histc(self(this), bins, min, max, loc);
}
Tensor TensorMembers::multinomial(int64_t num_samples, bool replacement, Loc loc) const {
  return weft::multinomial(self(this), num_samples, replacement, loc);
}
Tensor TensorMembers::nonzero_static(int64_t size, int64_t fill, Loc loc) const {
  return weft::nonzero_static(self(this), size, fill, loc);
}
Tensor TensorMembers::take_along_dim(const Tensor &index, std::optional<int64_t> dim, Loc loc) const {
  return weft::take_along_dim(self(this), index, dim, loc);
}
Tensor TensorMembers::index_fill(int64_t dim, const Tensor &index, const Arg &value, Loc loc) const {
  return weft::index_fill(self(this), dim, index, value, loc);
}
Tensor TensorMembers::index_reduce(int64_t dim, const Tensor &index, const Tensor &source,
                                   const std::string &reduce, bool include_self, Loc loc) const {
  return weft::index_reduce(self(this), dim, index, source, reduce, include_self, loc);
}
Tensor TensorMembers::scatter_reduce(int64_t dim, const Tensor &index, const Tensor &source,
                                     const std::string &reduce, bool include_self, Loc loc) const {
  return weft::scatter_reduce(self(this), dim, index, source, reduce, include_self, loc);
}
Tensor TensorMembers::put(const Tensor &places, const Tensor &source, bool accumulate, Loc loc) const {
  return weft::put(self(this), places, source, accumulate, loc);
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//
//
// The graph stays locked from the read of the old value to the write of the new one.

#define WEFT_MEMBER(name)                                                                                    \
  Tensor &TensorMembers::name##_(Loc loc) {                                                                  \
    GraphLock lock(graphMutex());                                                                            \
    return updateInPlace(self(this), self(this).name(loc), loc);                                             \
  }
WEFT_MEMBER(absolute)
WEFT_MEMBER(acos)
WEFT_MEMBER(acosh)
WEFT_MEMBER(arccos)
WEFT_MEMBER(arccosh)
WEFT_MEMBER(arcsin)
WEFT_MEMBER(arcsinh)
WEFT_MEMBER(arctan)
WEFT_MEMBER(arctanh)
WEFT_MEMBER(asin)
WEFT_MEMBER(asinh)
WEFT_MEMBER(atan)
WEFT_MEMBER(atanh)
WEFT_MEMBER(conj_physical)
WEFT_MEMBER(cosh)
WEFT_MEMBER(deg2rad)
WEFT_MEMBER(digamma)
WEFT_MEMBER(erfc)
WEFT_MEMBER(erfinv)
WEFT_MEMBER(exp2)
WEFT_MEMBER(fix)
WEFT_MEMBER(frac)
WEFT_MEMBER(i0)
WEFT_MEMBER(lgamma)
WEFT_MEMBER(log10)
WEFT_MEMBER(log2)
WEFT_MEMBER(logical_not)
WEFT_MEMBER(bitwise_not)
WEFT_MEMBER(negative)
WEFT_MEMBER(rad2deg)
WEFT_MEMBER(sgn)
WEFT_MEMBER(sign)
WEFT_MEMBER(sinc)
WEFT_MEMBER(sinh)
WEFT_MEMBER(tan)
#undef WEFT_MEMBER

#define WEFT_MEMBER(name)                                                                                    \
  Tensor &TensorMembers::name##_(const Arg &other) {                                                         \
    GraphLock lock(graphMutex());                                                                            \
    return updateInPlace(self(this), self(this).name(other), other.loc);                                     \
  }
WEFT_MEMBER(atan2)
WEFT_MEMBER(arctan2)
WEFT_MEMBER(bitwise_and)
WEFT_MEMBER(bitwise_or)
WEFT_MEMBER(bitwise_xor)
WEFT_MEMBER(bitwise_left_shift)
WEFT_MEMBER(bitwise_right_shift)
WEFT_MEMBER(copysign)
WEFT_MEMBER(divide)
WEFT_MEMBER(multiply)
WEFT_MEMBER(subtract)
WEFT_MEMBER(true_divide)
WEFT_MEMBER(eq)
WEFT_MEMBER(ne)
WEFT_MEMBER(lt)
WEFT_MEMBER(le)
WEFT_MEMBER(gt)
WEFT_MEMBER(ge)
WEFT_MEMBER(greater)
WEFT_MEMBER(greater_equal)
WEFT_MEMBER(less)
WEFT_MEMBER(less_equal)
WEFT_MEMBER(not_equal)
WEFT_MEMBER(float_power)
WEFT_MEMBER(hypot)
WEFT_MEMBER(ldexp)
WEFT_MEMBER(logical_and)
WEFT_MEMBER(logical_or)
WEFT_MEMBER(logical_xor)
WEFT_MEMBER(xlogy)
#undef WEFT_MEMBER

#define WEFT_MEMBER(name)                                                                                    \
  Tensor &TensorMembers::name##_(const Tensor &other, Loc loc) {                                             \
    GraphLock lock(graphMutex());                                                                            \
    return updateInPlace(self(this), name(other, loc), loc);                                                 \
  }
WEFT_MEMBER(gcd)
WEFT_MEMBER(heaviside)
WEFT_MEMBER(lcm)
#undef WEFT_MEMBER

Tensor &TensorMembers::addbmm_(const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).addbmm(a, b, beta, alpha, loc), loc);
}
Tensor &TensorMembers::addmm_(const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).addmm(a, b, beta, alpha, loc), loc);
}
Tensor &TensorMembers::addmv_(const Tensor &matrix, const Tensor &vector, double beta, double alpha,
                              Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).addmv(matrix, vector, beta, alpha, loc), loc);
}
Tensor &TensorMembers::addr_(const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).addr(a, b, beta, alpha, loc), loc);
}
Tensor &TensorMembers::baddbmm_(const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).baddbmm(a, b, beta, alpha, loc), loc);
}
Tensor &TensorMembers::renorm_(double p, int64_t dim, double maxnorm, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).renorm(p, dim, maxnorm, loc), loc);
}
Tensor &TensorMembers::logit_(std::optional<double> eps, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).logit(eps, loc), loc);
}
Tensor &TensorMembers::mvlgamma_(int64_t p, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).mvlgamma(p, loc), loc);
}
Tensor &TensorMembers::nan_to_num_(double nan, std::optional<double> posinf, std::optional<double> neginf,
                                   Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).nan_to_num(nan, posinf, neginf, loc), loc);
}
Tensor &TensorMembers::tril_(int64_t diagonal, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).tril(diagonal, loc), loc);
}
Tensor &TensorMembers::triu_(int64_t diagonal, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).triu(diagonal, loc), loc);
}
Tensor &TensorMembers::cumsum_(int64_t dim, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).cumsum(dim, loc), loc);
}
Tensor &TensorMembers::cumprod_(int64_t dim, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).cumprod(dim, loc), loc);
}
Tensor &TensorMembers::index_fill_(int64_t dim, const Tensor &index, const Arg &value, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).index_fill(dim, index, value, loc), loc);
}
Tensor &TensorMembers::index_reduce_(int64_t dim, const Tensor &index, const Tensor &source,
                                     const std::string &reduce, bool include_self, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).index_reduce(dim, index, source, reduce, include_self, loc),
                       loc);
}
Tensor &TensorMembers::scatter_reduce_(int64_t dim, const Tensor &index, const Tensor &source,
                                       const std::string &reduce, bool include_self, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).scatter_reduce(dim, index, source, reduce, include_self, loc),
                       loc);
}
Tensor &TensorMembers::put_(const Tensor &places, const Tensor &source, bool accumulate, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).put(places, source, accumulate, loc), loc);
}
Tensor &TensorMembers::masked_scatter_(const Tensor &mask, const Tensor &source, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), self(this).masked_scatter(mask, source, loc), loc);
}

//===----------------------------------------------------------------------===//
// With arguments in another order, or of other types
//===----------------------------------------------------------------------===//

Tensor TensorMembers::polygamma(int64_t n, Loc loc) const { return weft::polygamma(n, self(this), loc); }
Tensor &TensorMembers::polygamma_(int64_t n, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(self(this), polygamma(n, loc), loc);
}
Tensor TensorMembers::diff(int64_t n, int64_t dim, Loc loc) const {
  return weft::diff(self(this), n, dim, {}, {}, loc);
}
Tensor TensorMembers::diff(int64_t n, int64_t dim, const Tensor &prepend, const Tensor &append,
                           Loc loc) const {
  return weft::diff(self(this), n, dim, prepend, append, loc);
}
Tensor TensorMembers::bincount(int64_t minlength, Loc loc) const {
  return weft::bincount(self(this), {}, minlength, loc);
}
Tensor TensorMembers::bincount(const Tensor &weights, int64_t minlength, Loc loc) const {
  return weft::bincount(self(this), weights, minlength, loc);
}
Tensor TensorMembers::bernoulli(Loc loc) const { return weft::bernoulli(self(this), loc); }
linalg::QrResult TensorMembers::qr(bool some, Loc loc) const { return weft::qr(self(this), some, loc); }
linalg::SvdResult TensorMembers::svd(bool some, Loc loc) const { return weft::svd(self(this), some, loc); }
linalg::SlogdetResult TensorMembers::slogdet(Loc loc) const { return linalg::slogdet(self(this), loc); }
UniqueResult TensorMembers::unique(bool sorted, bool return_inverse, bool return_counts,
                                   std::optional<int64_t> dim, Loc loc) const {
  return weft::unique(self(this), sorted, return_inverse, return_counts, dim, loc);
}
UniqueResult TensorMembers::unique_consecutive(bool return_inverse, bool return_counts,
                                               std::optional<int64_t> dim, Loc loc) const {
  return weft::unique_consecutive(self(this), return_inverse, return_counts, dim, loc);
}
Tensor TensorMembers::where(const Tensor &condition, const Arg &other) const {
  return weft::where(condition, {self(this), other.loc}, other, other.loc);
}
Tensor TensorMembers::negative(Loc loc) const { return weft::neg({self(this), loc}); }
Tensor &TensorMembers::clip_(const Arg &min, const Arg &max) { return self(this).clamp_(min, max); }

Tensor &TensorMembers::fill_diagonal_(const Arg &value, bool wrap) {
  GraphLock lock(graphMutex());
  Loc loc = value.loc;
  const Shape sizes = self(this).sizes(loc);
  if (sizes.size() < 2)
    fail("fill_diagonal_ takes a tensor of two dimensions or more, found shape " + shapeText(sizes), loc,
         {use(self(this), loc)});
  for (int64_t size : sizes)
    if (sizes.size() > 2 && size != sizes[0])
      fail("fill_diagonal_ of a tensor of more than two dimensions takes equal sizes, found shape " +
               shapeText(sizes),
           loc, {use(self(this), loc)});
  // Whether the position in every dimension is the same; of rows, `wrap` counts modulo the columns and one.
  Tensor rows = arange(sizes[0], {.dtype = DType::i64, .device = self(this).device(loc)}, loc);
  if (wrap && sizes.size() == 2)
    rows = weft::remainder({rows, loc}, {sizes[1] + 1, loc});
  Shape shape(sizes.size(), 1);
  shape[0] = sizes[0];
  Tensor first = rows.view(shape, loc), mask;
  for (size_t i = 1; i < sizes.size(); ++i) {
    Shape along(sizes.size(), 1);
    along[i] = sizes[i];
    Tensor place =
        arange(sizes[i], {.dtype = DType::i64, .device = self(this).device(loc)}, loc).view(along, loc);
    Tensor same = weft::eq({first, loc}, {place, loc});
    mask = mask.defined() ? weft::logical_and({mask, loc}, {same, loc}) : same;
  }
  return self(this).masked_fill_(mask.expand(sizes, loc), value, loc);
}

//===----------------------------------------------------------------------===//
// Draws
//===----------------------------------------------------------------------===//

/// Uniform in [0, 1), in f64 of an f64 tensor and else in f32, with the shape and on the device of a tensor.
static Tensor uniformLike(const Tensor &tensor, Loc loc) {
  DType dtype = tensor.dtype(loc) == DType::f64 ? DType::f64 : DType::f32;
  return rand(tensor.sizes(loc), {.dtype = dtype, .device = tensor.device(loc)}, loc);
}
static void checkReal(const char *function, const Tensor &tensor, Loc loc) {
  if (!tensor.is_floating_point(loc))
    fail(std::string(function) + " draws real numbers and takes a floating-point tensor, found " +
             std::string(name(tensor.dtype(loc))),
         loc, {use(tensor, loc)});
}
static void checkPositive(const char *function, const char *parameter, double value, Loc loc) {
  if (!(value > 0))
    fail(std::string(function) + " expects " + parameter + " > 0, but found " + parameter + "=" +
             std::to_string(value),
         loc);
}

Tensor &TensorMembers::exponential_(double lambd, Loc loc) {
  checkReal("exponential_", self(this), loc);
  checkPositive("exponential_", "lambd", lambd, loc);
  // 1 - u is in (0, 1], so that its logarithm is finite.
  NoGradGuard guard;
  Tensor drawn = weft::log1p(-uniformLike(self(this), loc), loc);
  return self(this).copy_(weft::div({drawn, loc}, {-lambd, loc}), loc);
}
Tensor &TensorMembers::cauchy_(double median, double sigma, Loc loc) {
  checkReal("cauchy_", self(this), loc);
  checkPositive("cauchy_", "sigma", sigma, loc);
  NoGradGuard guard;
  Tensor angle =
      weft::mul({weft::sub({uniformLike(self(this), loc), loc}, {0.5, loc}), loc}, {std::numbers::pi, loc});
  return self(this).copy_(
      weft::add({weft::mul({weft::tan(angle, loc), loc}, {sigma, loc}), loc}, {median, loc}), loc);
}
Tensor &TensorMembers::log_normal_(double mean, double std, Loc loc) {
  checkReal("log_normal_", self(this), loc);
  checkPositive("log_normal_", "std", std, loc);
  NoGradGuard guard;
  self(this).normal_(mean, std, loc);
  return self(this).exp_(loc);
}
Tensor &TensorMembers::geometric_(double p, Loc loc) {
  if (!(p > 0 && p < 1))
    fail("geometric_ expects p to be in (0, 1), but got p=" + std::to_string(p), loc);
  NoGradGuard guard;
  Tensor logarithm = weft::log1p(-uniformLike(self(this), loc), loc);
  Tensor trials = weft::floor(weft::div({logarithm, loc}, {std::log1p(-p), loc}), loc);
  return self(this).copy_(weft::add({trials, loc}, {1, loc}).to(self(this).dtype(loc), loc), loc);
}
Tensor &TensorMembers::random_(int64_t low, int64_t high, Loc loc) {
  NoGradGuard guard;
  Tensor drawn = randint(low, high, self(this).sizes(loc), {.device = self(this).device(loc)}, loc);
  return self(this).copy_(drawn.to(self(this).dtype(loc), loc), loc);
}
Tensor &TensorMembers::random_(int64_t high, Loc loc) { return random_(0, high, loc); }

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

bool TensorMembers::is_cuda(Loc loc) const { return self(this).device(loc).is_cuda(); }
bool TensorMembers::is_cpu(Loc loc) const { return self(this).device(loc).is_cpu(); }
bool TensorMembers::is_complex(Loc loc) const { return weft::is_complex(self(this), loc); }
bool TensorMembers::is_signed(Loc loc) const { return weft::is_signed(self(this), loc); }
bool TensorMembers::is_same_size(const Tensor &other, Loc loc) const {
  return self(this).sizes(loc) == other.sizes(loc);
}
bool TensorMembers::is_nonzero(Loc loc) const { return weft::is_nonzero(self(this), loc); }
int64_t TensorMembers::ndimension(Loc loc) const { return self(this).dim(loc); }
int64_t TensorMembers::nelement(Loc loc) const { return self(this).numel(loc); }
std::vector<int64_t> TensorMembers::stride(Loc loc) const { return self(this).strides(loc); }
int64_t TensorMembers::stride(int64_t dim, Loc loc) const {
  const std::vector<int64_t> strides = self(this).strides(loc);
  const auto rank = static_cast<int64_t>(strides.size());
  if (dim < -rank || dim >= rank)
    fail("dimension " + std::to_string(dim) + " is out of range for a tensor of shape " +
             shapeText(self(this).sizes(loc)),
         loc, {use(self(this), loc)});
  return strides[static_cast<size_t>(dim < 0 ? dim + rank : dim)];
}
int64_t TensorMembers::get_device(Loc loc) const { return self(this).device(loc).index().value_or(-1); }

} // namespace weft
