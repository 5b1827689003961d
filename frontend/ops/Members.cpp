//===- Members.cpp - Elementwise functions as members of Tensor -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"
#include "weft/math.hpp"
#include "weft/selection.hpp"
#include "weft/sorting.hpp"
#include "weft/special.hpp"

namespace weft {

using namespace frontend;

#define WEFT_MEMBER(name)                                                                                    \
  Tensor Tensor::name(Loc loc) const { return weft::name(*this, loc); }
WEFT_MEMBER(exp)
WEFT_MEMBER(log)
WEFT_MEMBER(sqrt)
WEFT_MEMBER(tanh)
WEFT_MEMBER(sigmoid)
WEFT_MEMBER(relu)
WEFT_MEMBER(abs)
WEFT_MEMBER(sign)
WEFT_MEMBER(ceil)
WEFT_MEMBER(floor)
WEFT_MEMBER(round)
WEFT_MEMBER(trunc)
WEFT_MEMBER(square)
WEFT_MEMBER(reciprocal)
WEFT_MEMBER(rsqrt)
WEFT_MEMBER(expm1)
WEFT_MEMBER(exp2)
WEFT_MEMBER(log1p)
WEFT_MEMBER(log2)
WEFT_MEMBER(log10)
WEFT_MEMBER(sin)
WEFT_MEMBER(cos)
WEFT_MEMBER(tan)
WEFT_MEMBER(asin)
WEFT_MEMBER(acos)
WEFT_MEMBER(atan)
WEFT_MEMBER(sinh)
WEFT_MEMBER(cosh)
WEFT_MEMBER(asinh)
WEFT_MEMBER(acosh)
WEFT_MEMBER(atanh)
WEFT_MEMBER(erf)
WEFT_MEMBER(erfc)
WEFT_MEMBER(erfinv)
WEFT_MEMBER(lgamma)
WEFT_MEMBER(digamma)
WEFT_MEMBER(isnan)
WEFT_MEMBER(isinf)
WEFT_MEMBER(isfinite)
WEFT_MEMBER(signbit)
#undef WEFT_MEMBER

#define WEFT_MEMBER(name)                                                                                    \
  Tensor Tensor::name(Loc loc) const { return weft::name(Arg(*this, loc)); }
WEFT_MEMBER(neg)
WEFT_MEMBER(logical_not)
WEFT_MEMBER(bitwise_not)
#undef WEFT_MEMBER

#define WEFT_MEMBER(name)                                                                                    \
  Tensor Tensor::name(const Arg &other) const { return weft::name(Arg(*this, other.loc), other); }
WEFT_MEMBER(add)
WEFT_MEMBER(sub)
WEFT_MEMBER(mul)
WEFT_MEMBER(div)
WEFT_MEMBER(floor_divide)
WEFT_MEMBER(remainder)
WEFT_MEMBER(fmod)
WEFT_MEMBER(pow)
WEFT_MEMBER(atan2)
WEFT_MEMBER(copysign)
WEFT_MEMBER(maximum)
WEFT_MEMBER(minimum)
WEFT_MEMBER(fmax)
WEFT_MEMBER(fmin)
WEFT_MEMBER(eq)
WEFT_MEMBER(ne)
WEFT_MEMBER(lt)
WEFT_MEMBER(le)
WEFT_MEMBER(gt)
WEFT_MEMBER(ge)
WEFT_MEMBER(logical_and)
WEFT_MEMBER(logical_or)
WEFT_MEMBER(logical_xor)
WEFT_MEMBER(bitwise_and)
WEFT_MEMBER(bitwise_or)
WEFT_MEMBER(bitwise_xor)
#undef WEFT_MEMBER

Tensor Tensor::add(const Arg &other, double alpha) const {
  return weft::add(Arg(*this, other.loc), other, alpha);
}
Tensor Tensor::sub(const Arg &other, double alpha) const {
  return weft::sub(Arg(*this, other.loc), other, alpha);
}
Tensor Tensor::div(const Arg &other, const std::string &rounding_mode) const {
  return weft::div(Arg(*this, other.loc), other, rounding_mode);
}
Tensor Tensor::clamp(const Arg &min, const Arg &max) const { return weft::clamp(*this, min, max); }
Tensor Tensor::clamp_min(const Arg &other) const { return weft::clamp_min(*this, other); }
Tensor Tensor::clamp_max(const Arg &other) const { return weft::clamp_max(*this, other); }
Tensor Tensor::lerp(const Tensor &end, const Arg &weight) const { return weft::lerp(*this, end, weight); }
Tensor Tensor::nan_to_num(double nan, std::optional<double> posinf, std::optional<double> neginf,
                          Loc loc) const {
  return weft::nan_to_num(*this, nan, posinf, neginf, loc);
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//
//
// The graph stays locked from the read of the old value to the write of the new one, so that no update of
// another thread in between is lost.

#define WEFT_MEMBER(name)                                                                                    \
  Tensor &Tensor::name##_(Loc loc) {                                                                         \
    GraphLock lock(graphMutex());                                                                            \
    return updateInPlace(*this, name(loc), loc);                                                             \
  }
WEFT_MEMBER(abs)
WEFT_MEMBER(ceil)
WEFT_MEMBER(floor)
WEFT_MEMBER(round)
WEFT_MEMBER(trunc)
WEFT_MEMBER(square)
WEFT_MEMBER(sqrt)
WEFT_MEMBER(rsqrt)
WEFT_MEMBER(reciprocal)
WEFT_MEMBER(exp)
WEFT_MEMBER(expm1)
WEFT_MEMBER(log)
WEFT_MEMBER(log1p)
WEFT_MEMBER(sin)
WEFT_MEMBER(cos)
WEFT_MEMBER(tanh)
WEFT_MEMBER(sigmoid)
WEFT_MEMBER(relu)
WEFT_MEMBER(erf)
WEFT_MEMBER(neg)
#undef WEFT_MEMBER

#define WEFT_MEMBER(name)                                                                                    \
  Tensor &Tensor::name##_(const Arg &other) {                                                                \
    GraphLock lock(graphMutex());                                                                            \
    return updateInPlace(*this, name(other), other.loc);                                                     \
  }
WEFT_MEMBER(add)
WEFT_MEMBER(sub)
WEFT_MEMBER(mul)
WEFT_MEMBER(div)
WEFT_MEMBER(floor_divide)
WEFT_MEMBER(remainder)
WEFT_MEMBER(fmod)
WEFT_MEMBER(pow)
WEFT_MEMBER(clamp_min)
WEFT_MEMBER(clamp_max)
#undef WEFT_MEMBER

Tensor Tensor::clip(const Arg &min, const Arg &max) const { return weft::clamp(*this, min, max); }
Tensor &Tensor::fill_(const Arg &value) {
  GraphLock lock(graphMutex());
  use(*this, value.loc); // an undefined tensor is refused first
  if (!value.is_number) {
    if (value.tensor.dim() != 0)
      fail("fill_ takes a number or a 0-dimensional tensor, found one of shape " +
               shapeText(value.tensor.sizes()) + ": use copy_",
           value.loc);
    return copy_(value.tensor, value.loc);
  }
  fillWith("fill_()", *this, value, BeyondHalf::error);
  return *this;
}
Tensor &Tensor::add_(const Arg &other, double alpha) {
  GraphLock lock(graphMutex());
  return updateInPlace(*this, add(other, alpha), other.loc);
}
Tensor &Tensor::sub_(const Arg &other, double alpha) {
  GraphLock lock(graphMutex());
  return updateInPlace(*this, sub(other, alpha), other.loc);
}
Tensor &Tensor::clamp_(const Arg &min, const Arg &max) {
  GraphLock lock(graphMutex());
  return updateInPlace(*this, clamp(min, max), max.loc);
}
Tensor &Tensor::lerp_(const Tensor &end, const Arg &weight) {
  GraphLock lock(graphMutex());
  return updateInPlace(*this, lerp(end, weight), weight.loc);
}
Tensor &Tensor::addcmul_(const Tensor &a, const Tensor &b, double value, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(*this, weft::addcmul(*this, a, b, value, loc), loc);
}
Tensor &Tensor::addcdiv_(const Tensor &a, const Tensor &b, double value, Loc loc) {
  GraphLock lock(graphMutex());
  return updateInPlace(*this, weft::addcdiv(*this, a, b, value, loc), loc);
}

Tensor &Tensor::scatter_(int64_t dim, const Tensor &index, const Arg &source, Loc loc) {
  GraphLock lock(graphMutex());
  return copy_(scatter(dim, index, source, loc), loc);
}
Tensor &Tensor::scatter_add_(int64_t dim, const Tensor &index, const Tensor &source, Loc loc) {
  GraphLock lock(graphMutex());
  return copy_(scatter_add(dim, index, source, loc), loc);
}
Tensor &Tensor::index_add_(int64_t dim, const Tensor &index, const Tensor &source, double alpha, Loc loc) {
  GraphLock lock(graphMutex());
  return copy_(index_add(dim, index, source, alpha, loc), loc);
}
Tensor &Tensor::index_copy_(int64_t dim, const Tensor &index, const Tensor &source, Loc loc) {
  GraphLock lock(graphMutex());
  return copy_(index_copy(dim, index, source, loc), loc);
}
Tensor &Tensor::masked_fill_(const Tensor &mask, const Arg &value, Loc loc) {
  GraphLock lock(graphMutex());
  return copy_(masked_fill(mask, value, loc), loc);
}

//===----------------------------------------------------------------------===//
// Order and selections
//===----------------------------------------------------------------------===//

ValuesIndices Tensor::sort(int64_t dim, bool descending, bool stable, Loc loc) const {
  return weft::sort(*this, dim, descending, stable, loc);
}
Tensor Tensor::argsort(int64_t dim, bool descending, bool stable, Loc loc) const {
  return weft::argsort(*this, dim, descending, stable, loc);
}
ValuesIndices Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted, Loc loc) const {
  return weft::topk(*this, k, dim, largest, sorted, loc);
}
ValuesIndices Tensor::kthvalue(int64_t k, int64_t dim, bool keepdim, Loc loc) const {
  return weft::kthvalue(*this, k, dim, keepdim, loc);
}
Tensor Tensor::median(Loc loc) const { return weft::median(*this, loc); }
ValuesIndices Tensor::median(int64_t dim, bool keepdim, Loc loc) const {
  return weft::median(*this, dim, keepdim, loc);
}
ValuesIndices Tensor::mode(int64_t dim, bool keepdim, Loc loc) const {
  return weft::mode(*this, dim, keepdim, loc);
}
ValuesIndices Tensor::cummax(int64_t dim, Loc loc) const { return weft::cummax(*this, dim, loc); }
ValuesIndices Tensor::cummin(int64_t dim, Loc loc) const { return weft::cummin(*this, dim, loc); }
Tensor Tensor::logcumsumexp(int64_t dim, Loc loc) const { return weft::logcumsumexp(*this, dim, loc); }
Tensor Tensor::nonzero(Loc loc) const { return weft::nonzero(*this, loc); }
Tensor Tensor::masked_select(const Tensor &mask, Loc loc) const {
  return weft::masked_select(*this, mask, loc);
}
Tensor Tensor::masked_scatter(const Tensor &mask, const Tensor &source, Loc loc) const {
  return weft::masked_scatter(*this, mask, source, loc);
}

//===----------------------------------------------------------------------===//
// New tensors like this one
//===----------------------------------------------------------------------===//

static TensorOptions optionsLike(const Tensor &tensor, std::optional<DType> dtype,
                                 std::optional<Device> device, Loc loc) {
  return {.dtype = dtype.value_or(tensor.dtype(loc)), .device = device.value_or(tensor.device(loc))};
}

Tensor Tensor::new_zeros(IntList shape, std::optional<DType> dtype, std::optional<Device> device,
                         Loc loc) const {
  return zeros(std::move(shape), optionsLike(*this, dtype, device, loc), loc);
}
Tensor Tensor::new_ones(IntList shape, std::optional<DType> dtype, std::optional<Device> device,
                        Loc loc) const {
  return ones(std::move(shape), optionsLike(*this, dtype, device, loc), loc);
}
Tensor Tensor::new_empty(IntList shape, std::optional<DType> dtype, std::optional<Device> device,
                         Loc loc) const {
  return empty(std::move(shape), optionsLike(*this, dtype, device, loc), loc);
}
Tensor Tensor::new_full(IntList shape, const Arg &value, std::optional<DType> dtype,
                        std::optional<Device> device, Loc loc) const {
  return full(std::move(shape), value, optionsLike(*this, dtype, device, loc), loc);
}

} // namespace weft
