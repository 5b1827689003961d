//===- other_names.hpp - Second names of functions -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that PyTorch has under two names, or as a function and as a member. Each is described where its
// first name is declared.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_OTHER_NAMES_HPP
#define WEFT_OTHER_NAMES_HPP

#include "weft/joining.hpp"
#include "weft/linalg.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/math.hpp"
#include "weft/normalization.hpp"
#include "weft/reduce.hpp"
#include "weft/selection.hpp"
#include "weft/shapes.hpp"
#include "weft/special.hpp"
#include "weft/statistics.hpp"
#include "weft/view_copies.hpp"

namespace weft {

/// \name Of one tensor
/// @{
#define WEFT_NAME(name, first)                                                                               \
  inline Tensor name(const Tensor &a, Loc loc = Loc::current()) { return first(a, loc); }
WEFT_NAME(absolute, abs)
WEFT_NAME(arccos, acos)
WEFT_NAME(arccosh, acosh)
WEFT_NAME(arcsin, asin)
WEFT_NAME(arcsinh, asinh)
WEFT_NAME(arctan, atan)
WEFT_NAME(arctanh, atanh)
WEFT_NAME(fix, trunc)
#undef WEFT_NAME
inline Tensor negative(const Arg &a) { return neg(a); }
inline Tensor detach(const Tensor &a, Loc loc = Loc::current()) { return a.detach(loc); }
inline Tensor detach_copy(const Tensor &a, Loc loc = Loc::current()) { return a.detach(loc).clone(loc); }
inline int64_t numel(const Tensor &a, Loc loc = Loc::current()) { return a.numel(loc); }
/// @}

/// \name Of two tensors
/// @{
#define WEFT_NAME(name, first)                                                                               \
  inline Tensor name(const Arg &a, const Arg &b) { return first(a, b); }
WEFT_NAME(multiply, mul)
WEFT_NAME(subtract, sub)
WEFT_NAME(divide, div)
WEFT_NAME(greater, gt)
WEFT_NAME(greater_equal, ge)
WEFT_NAME(less, lt)
WEFT_NAME(less_equal, le)
WEFT_NAME(not_equal, ne)
WEFT_NAME(arctan2, atan2)
#undef WEFT_NAME
inline Tensor divide(const Arg &a, const Arg &b, const std::string &rounding_mode) {
  return div(a, b, rounding_mode);
}
inline Tensor ger(const Tensor &a, const Tensor &b, Loc loc = Loc::current()) { return outer(a, b, loc); }
/// @}

/// \name Joining and cutting
/// @{
inline Tensor concatenate(const std::vector<Tensor> &tensors, int64_t dim = 0, Loc loc = Loc::current()) {
  return cat(tensors, dim, loc);
}
inline Tensor row_stack(const std::vector<Tensor> &tensors, Loc loc = Loc::current()) {
  return vstack(tensors, loc);
}
inline Tensor swapdims(const Tensor &a, int64_t dim0, int64_t dim1, Loc loc = Loc::current()) {
  return a.transpose(dim0, dim1, loc);
}
inline Tensor select_copy(const Tensor &a, int64_t dim, int64_t index, Loc loc = Loc::current()) {
  return a.select(dim, index, loc).clone(loc);
}
inline Tensor slice_copy(const Tensor &a, int64_t dim = 0, int64_t start = 0, int64_t end = INT64_MAX,
                         int64_t step = 1, Loc loc = Loc::current()) {
  return a.slice(dim, start, end, step, loc).clone(loc);
}
inline std::vector<Tensor> split_with_sizes(const Tensor &a, const std::vector<int64_t> &sizes,
                                            int64_t dim = 0, Loc loc = Loc::current()) {
  return split(a, sizes, dim, loc);
}
inline std::vector<Tensor> unsafe_split_with_sizes(const Tensor &a, const std::vector<int64_t> &sizes,
                                                   int64_t dim = 0, Loc loc = Loc::current()) {
  return split(a, sizes, dim, loc);
}
inline Tensor constant_pad_nd(const Tensor &a, IntList padding, const Arg &value = Arg(0.0),
                              Loc loc = Loc::current()) {
  return pad(a, std::move(padding), value, loc);
}
/// @}

/// \name Linear algebra
/// @{
inline Tensor trapz(const Tensor &y, double dx = 1, int64_t dim = -1, Loc loc = Loc::current()) {
  return trapezoid(y, dx, dim, loc);
}
inline Tensor trapz(const Tensor &y, const Tensor &x, int64_t dim = -1, Loc loc = Loc::current()) {
  return trapezoid(y, x, dim, loc);
}
inline Tensor chain_matmul(const std::vector<Tensor> &matrices, Loc loc = Loc::current()) {
  return linalg::multi_dot(matrices, loc);
}
inline Tensor matrix_power(const Tensor &a, int64_t n, Loc loc = Loc::current()) {
  return linalg::matrix_power(a, n, loc);
}
inline linalg::SlogdetResult slogdet(const Tensor &a, Loc loc = Loc::current()) {
  return linalg::slogdet(a, loc);
}
inline Tensor frobenius_norm(const Tensor &a, IntList dims = {}, bool keepdim = false,
                             Loc loc = Loc::current()) {
  return a.norm(2, std::move(dims), keepdim, loc);
}
inline Tensor nuclear_norm(const Tensor &a, IntList dims = {-2, -1}, bool keepdim = false,
                           Loc loc = Loc::current()) {
  return linalg::matrix_norm(a, "nuc", std::move(dims), keepdim, loc);
}
/// Powers of the elements of a vector as columns: those of n - 1 to 0, or `increasing`.
WEFT_API Tensor vander(const Tensor &x, std::optional<int64_t> n = {}, bool increasing = false,
                       Loc loc = Loc::current());
/// The exponential of square matrices, by scaling and squaring with a Taylor polynomial (f16 and bf16: in
/// f32). Throws Error for an integer dtype.
WEFT_API Tensor matrix_exp(const Tensor &a, Loc loc = Loc::current());
/// @}

/// \name In place, as functions
/// @{
#define WEFT_NAME(name)                                                                                      \
  inline Tensor &name(Tensor &a, Loc loc = Loc::current()) { return a.name(loc); }
WEFT_NAME(abs_)
WEFT_NAME(absolute_)
WEFT_NAME(acos_)
WEFT_NAME(acosh_)
WEFT_NAME(arccos_)
WEFT_NAME(arccosh_)
WEFT_NAME(arcsin_)
WEFT_NAME(arcsinh_)
WEFT_NAME(arctan_)
WEFT_NAME(arctanh_)
WEFT_NAME(asin_)
WEFT_NAME(asinh_)
WEFT_NAME(atan_)
WEFT_NAME(atanh_)
WEFT_NAME(ceil_)
WEFT_NAME(conj_physical_)
WEFT_NAME(cos_)
WEFT_NAME(cosh_)
WEFT_NAME(deg2rad_)
WEFT_NAME(erf_)
WEFT_NAME(erfc_)
WEFT_NAME(exp_)
WEFT_NAME(exp2_)
WEFT_NAME(expm1_)
WEFT_NAME(fix_)
WEFT_NAME(floor_)
WEFT_NAME(frac_)
WEFT_NAME(i0_)
WEFT_NAME(log_)
WEFT_NAME(log10_)
WEFT_NAME(log1p_)
WEFT_NAME(log2_)
WEFT_NAME(neg_)
WEFT_NAME(negative_)
WEFT_NAME(rad2deg_)
WEFT_NAME(reciprocal_)
WEFT_NAME(relu_)
WEFT_NAME(round_)
WEFT_NAME(rsqrt_)
WEFT_NAME(sigmoid_)
WEFT_NAME(sin_)
WEFT_NAME(sinc_)
WEFT_NAME(sinh_)
WEFT_NAME(sqrt_)
WEFT_NAME(square_)
WEFT_NAME(tan_)
WEFT_NAME(tanh_)
WEFT_NAME(trunc_)
WEFT_NAME(zero_)
#undef WEFT_NAME
inline Tensor &logit_(Tensor &a, std::optional<double> eps = {}, Loc loc = Loc::current()) {
  return a.logit_(eps, loc);
}
inline Tensor &nan_to_num_(Tensor &a, double nan = 0, std::optional<double> posinf = {},
                           std::optional<double> neginf = {}, Loc loc = Loc::current()) {
  return a.nan_to_num_(nan, posinf, neginf, loc);
}
inline Tensor &fill_(Tensor &a, const Arg &value) { return a.fill_(value); }
inline Tensor &clamp_(Tensor &a, const Arg &min, const Arg &max) { return a.clamp_(min, max); }
inline Tensor &clip_(Tensor &a, const Arg &min, const Arg &max) { return a.clamp_(min, max); }
inline Tensor &clamp_min_(Tensor &a, const Arg &min) { return a.clamp_min_(min); }
inline Tensor &clamp_max_(Tensor &a, const Arg &max) { return a.clamp_max_(max); }
inline Tensor &gcd_(Tensor &a, const Tensor &b, Loc loc = Loc::current()) { return a.gcd_(b, loc); }
inline Tensor &lcm_(Tensor &a, const Tensor &b, Loc loc = Loc::current()) { return a.lcm_(b, loc); }
inline Tensor &ldexp_(Tensor &a, const Arg &b) { return a.ldexp_(b); }
inline Tensor &xlogy_(Tensor &a, const Arg &b) { return a.xlogy_(b); }
inline Tensor &celu_(Tensor &a, double alpha = 1, Loc loc = Loc::current()) {
  return a.copy_(celu(a, alpha, loc), loc);
}
inline Tensor &selu_(Tensor &a, Loc loc = Loc::current()) { return a.copy_(selu(a, loc), loc); }
inline Tensor &threshold_(Tensor &a, double bound, double value, Loc loc = Loc::current()) {
  return a.copy_(threshold(a, bound, value, loc), loc);
}
inline Tensor &elu_(Tensor &a, double alpha = 1, Loc loc = Loc::current()) {
  return a.copy_(elu(a, alpha, loc), loc);
}
inline Tensor &hardtanh_(Tensor &a, double min = -1, double max = 1, Loc loc = Loc::current()) {
  return a.copy_(hardtanh(a, min, max, loc), loc);
}
inline Tensor &leaky_relu_(Tensor &a, double negative_slope = 0.01, Loc loc = Loc::current()) {
  return a.copy_(leaky_relu(a, negative_slope, loc), loc);
}
inline Tensor &addmv_(Tensor &a, const Tensor &matrix, const Tensor &vector, double beta = 1,
                      double alpha = 1, Loc loc = Loc::current()) {
  return a.addmv_(matrix, vector, beta, alpha, loc);
}
inline Tensor &dropout_(Tensor &a, double p = 0.5, bool training = true, Loc loc = Loc::current()) {
  return a.copy_(dropout(a, p, training, loc), loc);
}
/// @}

/// \name Facts
/// @{
/// False: there are no complex dtypes.
inline bool is_complex(const Tensor &a, Loc loc = Loc::current()) { return (void)a.dtype(loc), false; }
/// Whether the dtype has negative numbers.
inline bool is_signed(const Tensor &a, Loc loc = Loc::current()) {
  const DType dtype = a.dtype(loc);
  return dtype != DType::i1 && dtype != DType::ui8;
}
inline bool is_same_size(const Tensor &a, const Tensor &b, Loc loc = Loc::current()) {
  return a.sizes(loc) == b.sizes(loc);
}
/// Whether the only element is not 0; reads it.
inline bool is_nonzero(const Tensor &a, Loc loc = Loc::current()) { return a.item<double>(loc) != 0; }
inline int64_t get_device(const Tensor &a, Loc loc = Loc::current()) { return a.get_device(loc); }
/// The dtype of an operation of both.
WEFT_API DType promote_types(DType a, DType b);
WEFT_API DType result_type(const Arg &a, const Arg &b);
/// Whether a value may be converted without a change of kind: no real to an integer, no number to a bool.
WEFT_API bool can_cast(DType from, DType to);
/// @}

namespace special {
using weft::digamma;
using weft::erf;
using weft::erfc;
using weft::erfinv;
using weft::exp2;
using weft::expm1;
using weft::i0;
using weft::log1p;
using weft::log_softmax;
using weft::logit;
using weft::logsumexp;
using weft::polygamma;
using weft::round;
using weft::sinc;
using weft::softmax;
using weft::xlogy;
inline Tensor expit(const Tensor &a, Loc loc = Loc::current()) { return sigmoid(a, loc); }
inline Tensor gammaln(const Tensor &a, Loc loc = Loc::current()) { return lgamma(a, loc); }
inline Tensor psi(const Tensor &a, Loc loc = Loc::current()) { return weft::digamma(a, loc); }
inline Tensor multigammaln(const Tensor &a, int64_t p, Loc loc = Loc::current()) {
  return mvlgamma(a, p, loc);
}
} // namespace special

namespace linalg {
using weft::matmul;
using weft::matrix_exp;
inline Tensor cross(const Tensor &a, const Tensor &b, int64_t dim = -1, Loc loc = Loc::current()) {
  return weft::cross(a, b, dim, loc);
}
/// Of the last two dimensions.
inline Tensor diagonal(const Tensor &a, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1,
                       Loc loc = Loc::current()) {
  return a.diagonal(offset, dim1, dim2, loc);
}
} // namespace linalg

} // namespace weft

#endif // WEFT_OTHER_NAMES_HPP
