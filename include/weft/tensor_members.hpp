//===- tensor_members.hpp - Functions as members of Tensor ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The members of Tensor that are free functions by another spelling: `a.f(x)` is `f(a, x)`, whose header has
// its shapes, dtypes and errors. A name that ends in `_` writes the slot of the tensor, keeps its dtype and
// shape, and returns the tensor.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TENSOR_MEMBERS_HPP
#define WEFT_TENSOR_MEMBERS_HPP

#include "weft/export.hpp"
#include "weft/missing_members.hpp"
#include "weft/status.hpp"
#include "weft/tensor_options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

class Arg;
class Tensor;
struct UniqueResult;
struct ValuesIndices;
namespace linalg {
struct QrResult;
struct SlogdetResult;
struct SvdResult;
} // namespace linalg

/// What Tensor has by inheritance. It has no state.
class WEFT_API TensorMembers : public detail::MissingMembers {
public:
  /// \name Of one tensor
  /// @{
#define WEFT_MEMBER(name) Tensor name(Loc loc = Loc::current()) const;
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
#define WEFT_MEMBER(name) Tensor &name(Loc loc = Loc::current());
  WEFT_MEMBER(absolute_)
  WEFT_MEMBER(acos_)
  WEFT_MEMBER(acosh_)
  WEFT_MEMBER(arccos_)
  WEFT_MEMBER(arccosh_)
  WEFT_MEMBER(arcsin_)
  WEFT_MEMBER(arcsinh_)
  WEFT_MEMBER(arctan_)
  WEFT_MEMBER(arctanh_)
  WEFT_MEMBER(asin_)
  WEFT_MEMBER(asinh_)
  WEFT_MEMBER(atan_)
  WEFT_MEMBER(atanh_)
  WEFT_MEMBER(conj_physical_)
  WEFT_MEMBER(cosh_)
  WEFT_MEMBER(deg2rad_)
  WEFT_MEMBER(digamma_)
  WEFT_MEMBER(erfc_)
  WEFT_MEMBER(erfinv_)
  WEFT_MEMBER(exp2_)
  WEFT_MEMBER(fix_)
  WEFT_MEMBER(frac_)
  WEFT_MEMBER(i0_)
  WEFT_MEMBER(lgamma_)
  WEFT_MEMBER(log10_)
  WEFT_MEMBER(log2_)
  WEFT_MEMBER(logical_not_)
  WEFT_MEMBER(bitwise_not_)
  WEFT_MEMBER(negative_)
  WEFT_MEMBER(rad2deg_)
  WEFT_MEMBER(sgn_)
  WEFT_MEMBER(sign_)
  WEFT_MEMBER(sinc_)
  WEFT_MEMBER(sinh_)
  WEFT_MEMBER(tan_)
#undef WEFT_MEMBER
  /// @}

  /// \name With another tensor, or a number
  /// @{
#define WEFT_MEMBER(name) Tensor name(const Arg &other) const;
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
#define WEFT_MEMBER(name) Tensor &name(const Arg &other);
  WEFT_MEMBER(atan2_)
  WEFT_MEMBER(arctan2_)
  WEFT_MEMBER(bitwise_and_)
  WEFT_MEMBER(bitwise_or_)
  WEFT_MEMBER(bitwise_xor_)
  WEFT_MEMBER(bitwise_left_shift_)
  WEFT_MEMBER(bitwise_right_shift_)
  WEFT_MEMBER(copysign_)
  WEFT_MEMBER(divide_)
  WEFT_MEMBER(multiply_)
  WEFT_MEMBER(subtract_)
  WEFT_MEMBER(true_divide_)
  WEFT_MEMBER(eq_)
  WEFT_MEMBER(ne_)
  WEFT_MEMBER(lt_)
  WEFT_MEMBER(le_)
  WEFT_MEMBER(gt_)
  WEFT_MEMBER(ge_)
  WEFT_MEMBER(greater_)
  WEFT_MEMBER(greater_equal_)
  WEFT_MEMBER(less_)
  WEFT_MEMBER(less_equal_)
  WEFT_MEMBER(not_equal_)
  WEFT_MEMBER(float_power_)
  WEFT_MEMBER(hypot_)
  WEFT_MEMBER(ldexp_)
  WEFT_MEMBER(logical_and_)
  WEFT_MEMBER(logical_or_)
  WEFT_MEMBER(logical_xor_)
  WEFT_MEMBER(xlogy_)
#undef WEFT_MEMBER
#define WEFT_MEMBER(name) Tensor name(const Tensor &other, Loc loc = Loc::current()) const;
  WEFT_MEMBER(gcd)
  WEFT_MEMBER(heaviside)
  WEFT_MEMBER(lcm)
  WEFT_MEMBER(inner)
  WEFT_MEMBER(ger)
  WEFT_MEMBER(kron)
  WEFT_MEMBER(vdot)
#undef WEFT_MEMBER
#define WEFT_MEMBER(name) Tensor &name(const Tensor &other, Loc loc = Loc::current());
  WEFT_MEMBER(gcd_)
  WEFT_MEMBER(heaviside_)
  WEFT_MEMBER(lcm_)
#undef WEFT_MEMBER
  /// @}

  /// \name With more arguments
  /// @{
  Tensor addbmm(const Tensor &a, const Tensor &b, double beta = 1, double alpha = 1,
                Loc loc = Loc::current()) const;
  Tensor addmv(const Tensor &matrix, const Tensor &vector, double beta = 1, double alpha = 1,
               Loc loc = Loc::current()) const;
  Tensor addr(const Tensor &a, const Tensor &b, double beta = 1, double alpha = 1,
              Loc loc = Loc::current()) const;
  Tensor cross(const Tensor &other, std::optional<int64_t> dim = {}, Loc loc = Loc::current()) const;
  Tensor cholesky(bool upper = false, Loc loc = Loc::current()) const;
  Tensor cholesky_inverse(bool upper = false, Loc loc = Loc::current()) const;
  Tensor cholesky_solve(const Tensor &factor, bool upper = false, Loc loc = Loc::current()) const;
  Tensor lu_solve(const Tensor &lu, const Tensor &pivots, Loc loc = Loc::current()) const;
  Tensor matrix_power(int64_t n, Loc loc = Loc::current()) const;
  Tensor pinverse(double rcond = 1e-15, Loc loc = Loc::current()) const;
  Tensor triangular_solve(const Tensor &a, bool upper = true, bool transpose = false,
                          bool unitriangular = false, Loc loc = Loc::current()) const;
  Tensor diag(int64_t diagonal = 0, Loc loc = Loc::current()) const;
  Tensor dist(const Tensor &other, double p = 2, Loc loc = Loc::current()) const;
  Tensor renorm(double p, int64_t dim, double maxnorm, Loc loc = Loc::current()) const;
  Tensor addcmul(const Tensor &a, const Tensor &b, double value = 1, Loc loc = Loc::current()) const;
  Tensor addcdiv(const Tensor &a, const Tensor &b, double value = 1, Loc loc = Loc::current()) const;
  Tensor logit(std::optional<double> eps = {}, Loc loc = Loc::current()) const;
  Tensor mvlgamma(int64_t p, Loc loc = Loc::current()) const;
  Tensor hardshrink(double lambda = 0.5, Loc loc = Loc::current()) const;
  Tensor prelu(const Tensor &weight, Loc loc = Loc::current()) const;
  Tensor isclose(const Tensor &other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
                 Loc loc = Loc::current()) const;
  bool allclose(const Tensor &other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
                Loc loc = Loc::current()) const;
  bool equal(const Tensor &other, Loc loc = Loc::current()) const;
  Tensor as_strided(IntList shape, IntList strides, int64_t offset = 0, Loc loc = Loc::current()) const;
  Tensor as_strided_scatter(const Tensor &source, IntList shape, IntList strides, int64_t offset = 0,
                            Loc loc = Loc::current()) const;
  Tensor broadcast_to(IntList shape, Loc loc = Loc::current()) const;
  Tensor swapdims(int64_t dim0, int64_t dim1, Loc loc = Loc::current()) const;
  Tensor diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1, Loc loc = Loc::current()) const;
  Tensor diagflat(int64_t offset = 0, Loc loc = Loc::current()) const;
  Tensor diagonal_scatter(const Tensor &source, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1,
                          Loc loc = Loc::current()) const;
  Tensor select_scatter(const Tensor &source, int64_t dim, int64_t index, Loc loc = Loc::current()) const;
  Tensor slice_scatter(const Tensor &source, int64_t dim = 0, int64_t start = 0, int64_t end = INT64_MAX,
                       int64_t step = 1, Loc loc = Loc::current()) const;
  Tensor narrow_copy(int64_t dim, int64_t start, int64_t length, Loc loc = Loc::current()) const;
  Tensor rot90(int64_t k = 1, IntList dims = {0, 1}, Loc loc = Loc::current()) const;
  Tensor sum_to_size(const std::vector<int64_t> &shape, Loc loc = Loc::current()) const;
  Tensor unfold(int64_t dim, int64_t size, int64_t step, Loc loc = Loc::current()) const;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0, Loc loc = Loc::current()) const;
  std::vector<Tensor> tensor_split(const std::vector<int64_t> &indices, int64_t dim = 0,
                                   Loc loc = Loc::current()) const;
  std::vector<Tensor> hsplit(int64_t sections, Loc loc = Loc::current()) const;
  std::vector<Tensor> hsplit(const std::vector<int64_t> &indices, Loc loc = Loc::current()) const;
  std::vector<Tensor> vsplit(int64_t sections, Loc loc = Loc::current()) const;
  std::vector<Tensor> vsplit(const std::vector<int64_t> &indices, Loc loc = Loc::current()) const;
  std::vector<Tensor> dsplit(int64_t sections, Loc loc = Loc::current()) const;
  std::vector<Tensor> dsplit(const std::vector<int64_t> &indices, Loc loc = Loc::current()) const;
  std::vector<Tensor> split_with_sizes(const std::vector<int64_t> &sizes, int64_t dim = 0,
                                       Loc loc = Loc::current()) const;
  std::vector<Tensor> unsafe_chunk(int64_t chunks, int64_t dim = 0, Loc loc = Loc::current()) const;
  std::vector<Tensor> unsafe_split(int64_t size, int64_t dim = 0, Loc loc = Loc::current()) const;
  std::vector<Tensor> unsafe_split_with_sizes(const std::vector<int64_t> &sizes, int64_t dim = 0,
                                              Loc loc = Loc::current()) const;
  Tensor nansum(IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor nanmean(IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  ValuesIndices nanmedian(int64_t dim, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor quantile(double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                  const std::string &interpolation = "linear", Loc loc = Loc::current()) const;
  Tensor quantile(const Tensor &q, std::optional<int64_t> dim = {}, bool keepdim = false,
                  const std::string &interpolation = "linear", Loc loc = Loc::current()) const;
  Tensor nanquantile(double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                     const std::string &interpolation = "linear", Loc loc = Loc::current()) const;
  Tensor nanquantile(const Tensor &q, std::optional<int64_t> dim = {}, bool keepdim = false,
                     const std::string &interpolation = "linear", Loc loc = Loc::current()) const;
  std::pair<Tensor, Tensor> aminmax(std::optional<int64_t> dim = {}, bool keepdim = false,
                                    Loc loc = Loc::current()) const;
  Tensor cov(double correction = 1, Loc loc = Loc::current()) const;
  Tensor histc(int64_t bins = 100, double min = 0, double max = 0, Loc loc = Loc::current()) const;
  Tensor multinomial(int64_t num_samples, bool replacement = false, Loc loc = Loc::current()) const;
  Tensor nonzero_static(int64_t size, int64_t fill = -1, Loc loc = Loc::current()) const;
  Tensor take_along_dim(const Tensor &index, std::optional<int64_t> dim = {}, Loc loc = Loc::current()) const;
  Tensor index_fill(int64_t dim, const Tensor &index, const Arg &value, Loc loc = Loc::current()) const;
  Tensor index_reduce(int64_t dim, const Tensor &index, const Tensor &source, const std::string &reduce,
                      bool include_self = true, Loc loc = Loc::current()) const;
  Tensor scatter_reduce(int64_t dim, const Tensor &index, const Tensor &source, const std::string &reduce,
                        bool include_self = true, Loc loc = Loc::current()) const;
  Tensor put(const Tensor &places, const Tensor &source, bool accumulate = false,
             Loc loc = Loc::current()) const;
  Tensor &addbmm_(const Tensor &a, const Tensor &b, double beta = 1, double alpha = 1,
                  Loc loc = Loc::current());
  Tensor &addmm_(const Tensor &a, const Tensor &b, double beta = 1, double alpha = 1,
                 Loc loc = Loc::current());
  Tensor &addmv_(const Tensor &matrix, const Tensor &vector, double beta = 1, double alpha = 1,
                 Loc loc = Loc::current());
  Tensor &addr_(const Tensor &a, const Tensor &b, double beta = 1, double alpha = 1,
                Loc loc = Loc::current());
  Tensor &baddbmm_(const Tensor &a, const Tensor &b, double beta = 1, double alpha = 1,
                   Loc loc = Loc::current());
  Tensor &renorm_(double p, int64_t dim, double maxnorm, Loc loc = Loc::current());
  Tensor &logit_(std::optional<double> eps = {}, Loc loc = Loc::current());
  Tensor &mvlgamma_(int64_t p, Loc loc = Loc::current());
  Tensor &nan_to_num_(double nan = 0, std::optional<double> posinf = {}, std::optional<double> neginf = {},
                      Loc loc = Loc::current());
  Tensor &tril_(int64_t diagonal = 0, Loc loc = Loc::current());
  Tensor &triu_(int64_t diagonal = 0, Loc loc = Loc::current());
  Tensor &cumsum_(int64_t dim, Loc loc = Loc::current());
  Tensor &cumprod_(int64_t dim, Loc loc = Loc::current());
  Tensor &index_fill_(int64_t dim, const Tensor &index, const Arg &value, Loc loc = Loc::current());
  Tensor &index_reduce_(int64_t dim, const Tensor &index, const Tensor &source, const std::string &reduce,
                        bool include_self = true, Loc loc = Loc::current());
  Tensor &scatter_reduce_(int64_t dim, const Tensor &index, const Tensor &source, const std::string &reduce,
                          bool include_self = true, Loc loc = Loc::current());
  Tensor &put_(const Tensor &places, const Tensor &source, bool accumulate = false, Loc loc = Loc::current());
  Tensor &masked_scatter_(const Tensor &mask, const Tensor &source, Loc loc = Loc::current());
  /// The n-th derivative of digamma.
  Tensor polygamma(int64_t n, Loc loc = Loc::current()) const;
  Tensor &polygamma_(int64_t n, Loc loc = Loc::current());
  Tensor diff(int64_t n = 1, int64_t dim = -1, Loc loc = Loc::current()) const;
  Tensor diff(int64_t n, int64_t dim, const Tensor &prepend, const Tensor &append,
              Loc loc = Loc::current()) const;
  Tensor bincount(int64_t minlength = 0, Loc loc = Loc::current()) const;
  Tensor bincount(const Tensor &weights, int64_t minlength = 0, Loc loc = Loc::current()) const;
  Tensor bernoulli(Loc loc = Loc::current()) const;
  linalg::QrResult qr(bool some = true, Loc loc = Loc::current()) const;
  linalg::SvdResult svd(bool some = true, Loc loc = Loc::current()) const;
  linalg::SlogdetResult slogdet(Loc loc = Loc::current()) const;
  UniqueResult unique(bool sorted = true, bool return_inverse = false, bool return_counts = false,
                      std::optional<int64_t> dim = {}, Loc loc = Loc::current()) const;
  UniqueResult unique_consecutive(bool return_inverse = false, bool return_counts = false,
                                  std::optional<int64_t> dim = {}, Loc loc = Loc::current()) const;
  Tensor negative(Loc loc = Loc::current()) const;
  /// This tensor where the condition holds, else `other`.
  Tensor where(const Tensor &condition, const Arg &other) const;
  Tensor &clip_(const Arg &min, const Arg &max);
  /// Writes `value` to the main diagonal; of a matrix with more rows than columns, `wrap` goes on with a row
  /// between. All dimensions of a tensor of more than two are equal. Throws Error for fewer than two.
  Tensor &fill_diagonal_(const Arg &value, bool wrap = false);
  /// @}

  /// \name Draws: all elements anew, from the default generator
  /// @{
  /// The exponential distribution of this rate; the distributions of Cauchy; exp of a normal distribution;
  /// how many trials of probability `p` there are up to the first success.
  Tensor &exponential_(double lambd = 1, Loc loc = Loc::current());
  Tensor &cauchy_(double median = 0, double sigma = 1, Loc loc = Loc::current());
  Tensor &log_normal_(double mean = 1, double std = 2, Loc loc = Loc::current());
  Tensor &geometric_(double p, Loc loc = Loc::current());
  /// Integers in [low, high), of any dtype that has them.
  Tensor &random_(int64_t low, int64_t high, Loc loc = Loc::current());
  Tensor &random_(int64_t high, Loc loc = Loc::current());
  /// @}

  /// \name Facts
  /// @{
  bool is_cuda(Loc loc = Loc::current()) const;
  bool is_cpu(Loc loc = Loc::current()) const;
  /// False: there are no complex dtypes.
  bool is_complex(Loc loc = Loc::current()) const;
  bool is_signed(Loc loc = Loc::current()) const;
  bool is_same_size(const Tensor &other, Loc loc = Loc::current()) const;
  /// Whether the only element is not 0; reads it.
  bool is_nonzero(Loc loc = Loc::current()) const;
  int64_t ndimension(Loc loc = Loc::current()) const;
  int64_t nelement(Loc loc = Loc::current()) const;
  /// `strides()`, and that of one dimension.
  std::vector<int64_t> stride(Loc loc = Loc::current()) const;
  int64_t stride(int64_t dim, Loc loc = Loc::current()) const;
  /// The number of the CUDA device, and -1 of the host.
  int64_t get_device(Loc loc = Loc::current()) const;
  /// @}
};

} // namespace weft

#endif // WEFT_TENSOR_MEMBERS_HPP
