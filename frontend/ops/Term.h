//===- Term.h - Formulas on tensors ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators for functions that are formulas over other functions. Operands are promoted and broadcast as
// those functions do it, and every op carries the user's source line. For values of one type there is `Expr`.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_TERM_H
#define WEFT_FRONTEND_OPS_TERM_H

#include "frontend/ops/Ops.h"
#include "weft/math.hpp"

namespace weft::frontend {

/// A tensor with the line of the caller.
struct Term {
  Tensor tensor;
  Loc loc;
  operator Arg() const { return Arg(tensor, loc); }
};

#define WEFT_TERM_OPERATOR(symbol, function)                                                                 \
  inline Term operator symbol(const Term &a, const Term &b) {                                                \
    return {weft::function(Arg(a), Arg(b)), a.loc};                                                          \
  }                                                                                                          \
  inline Term operator symbol(const Term &a, double b) {                                                     \
    return {weft::function(Arg(a), Arg(b, a.loc)), a.loc};                                                   \
  }                                                                                                          \
  inline Term operator symbol(const Term &a, int64_t b) {                                                    \
    return {weft::function(Arg(a), Arg(b, a.loc)), a.loc};                                                   \
  }
WEFT_TERM_OPERATOR(+, add)
WEFT_TERM_OPERATOR(-, sub)
WEFT_TERM_OPERATOR(*, mul)
WEFT_TERM_OPERATOR(/, div)
WEFT_TERM_OPERATOR(<, lt)
WEFT_TERM_OPERATOR(<=, le)
WEFT_TERM_OPERATOR(>, gt)
WEFT_TERM_OPERATOR(>=, ge)
WEFT_TERM_OPERATOR(==, eq)
WEFT_TERM_OPERATOR(!=, ne)
WEFT_TERM_OPERATOR(&&, logical_and)
WEFT_TERM_OPERATOR(||, logical_or)
#undef WEFT_TERM_OPERATOR
inline Term operator-(const Term &a) { return {neg(Arg(a)), a.loc}; }
inline Term operator!(const Term &a) { return {logical_not(Arg(a)), a.loc}; }
inline Term select(const Term &condition, const Arg &a, const Arg &b) {
  return {where(condition.tensor, a, b, condition.loc), condition.loc};
}
inline Term exp(const Term &a) { return {weft::exp(a.tensor, a.loc), a.loc}; }
inline Term log(const Term &a) { return {weft::log(a.tensor, a.loc), a.loc}; }
inline Term sqrt(const Term &a) { return {weft::sqrt(a.tensor, a.loc), a.loc}; }
inline Term abs(const Term &a) { return {weft::abs(a.tensor, a.loc), a.loc}; }
inline Term floor(const Term &a) { return {weft::floor(a.tensor, a.loc), a.loc}; }
inline Term isnan(const Term &a) { return {weft::isnan(a.tensor, a.loc), a.loc}; }

/// 0, 1, .. along a dimension of a tensor of this shape, as i64.
inline Tensor positions(const Shape &shape, int64_t dim, Device device, Loc loc) {
  GraphLock lock(graphMutex());
  return wrap(recordTyped("iota", {{"dim", dim}}, Spec{DType::i64, shape, device}, loc), loc);
}

/// The elements along the last dimension of `table`, of which one without other dimensions is read at every
/// place of `index`. No place may be outside of the dimension, which is not checked: kernels clamp it.
inline Tensor readLast(const Tensor &table, const Tensor &index, Loc loc) {
  GraphLock lock(graphMutex());
  Ref from = use(table, loc), at = use(index, loc);
  const bool points = from.spec().shape.size() == 1;
  return wrap(record1("gather", {from, at},
                      {{"dim", static_cast<int64_t>(from.spec().shape.size()) - 1},
                       {"kind", std::string(points ? "points" : "along")},
                       {"mode", std::string("clip")}},
                      loc),
              loc);
}

/// For rows in ascending order, [.., n] or one row for all: how many elements of the row are less than (with
/// `right`: not greater than) each of `values`, [.., m].
Tensor searchRows(const Tensor &rows, const Tensor &values, bool right, Loc loc);

/// Throws Error inside of a function that is being compiled (WEFT-C001). `instead` says what takes a size.
void refuseInTrace(const char *function, const char *instead, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_TERM_H
