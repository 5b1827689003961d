//===- FourierTables.h - The tables of a length -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_FOURIER_FOURIERTABLES_H
#define WEFT_RUNTIME_FOURIER_FOURIERTABLES_H

#include "runtime/fourier/FourierKernels.h"

#include <memory>
#include <vector>

namespace weft::runtime {

/// How complex lines of n elements are computed. This depends on n alone.
struct FourierGeometry {
  explicit FourierGeometry(int64_t n);
  int64_t n;
  int64_t core;              ///< of the transforms that are computed: n, or of a convolution
  int64_t rows = 0, columns; ///< of the core as a matrix; no rows: it is too short
  /// Whether lines of which elements are beside each other, or `inner` elements apart, are matrices.
  bool is_matrix(int64_t inner) const;
};

/// The tables of a line of n complex numbers, and with `halves` those of 2 n real ones.
template <typename T> class FourierTables {
public:
  FourierTables(int64_t n, bool halves);
  FourierTables(const FourierTables &) = delete;
  FourierTables &operator=(const FourierTables &) = delete;

  const LinePlan<T> &line() const { return line_; }
  const T *halves() const { return halves_; }
  size_t bytes() const;

  /// Those of the process. It keeps the tables of recent lengths.
  static std::shared_ptr<const FourierTables> of(int64_t n, bool halves);

private:
  T *array(int64_t elements);
  VectorPlan<T> vectors(int64_t n);
  void add_matrix(const FourierGeometry &geometry);
  void add_convolution(const FourierGeometry &geometry);

  LinePlan<T> line_;
  const T *halves_ = nullptr;
  std::vector<std::vector<T>> arrays_;
  std::shared_ptr<const FourierTables> convolution_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_FOURIER_FOURIERTABLES_H
