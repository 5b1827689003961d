//===- MatrixRoutine.cpp - Factorizations of batches of matrices ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/linalg/MatrixRoutine.h"

#include "runtime/linalg/Factorizations.h"
#include "runtime/linalg/LapackRoutines.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace weft::runtime {

namespace {

size_t align_line(size_t bytes) { return (bytes + 63) & ~size_t(63); }

/// The doubles of the vectors of a routine that writes values alone.
size_t vectors_of(const MatrixShape &shape) {
  const auto m = static_cast<size_t>(shape.rows), n = static_cast<size_t>(shape.columns);
  return shape.kind == MatrixKind::eigvalsh  ? n * n
         : shape.kind == MatrixKind::svdvals ? std::min(m, n) * (m + n)
                                             : 0;
}

/// The doubles of all parts, and those of the search for values, for Factorizations.h.
size_t doubles_of(const MatrixShape &shape) {
  size_t count = vectors_of(shape);
  for (const MatrixPart &part : MatrixRoutine::parts_of(shape))
    count += static_cast<size_t>(part.elements);
  if (is_singular(shape.kind)) {
    const auto size = static_cast<size_t>(std::max(shape.rows, shape.columns)),
               k = static_cast<size_t>(std::min(shape.rows, shape.columns));
    count += k * size + k * k + (shape.full ? size : k) * size;
  }
  return count;
}

/// Scratch of one matrix. LAPACK may leave a matrix to Factorizations.h.
size_t matrix_bytes(const MatrixShape &shape) {
  return align_line(
      std::max(doubles_of(shape) * sizeof(double), is_for_lapack(shape) ? lapack_scratch_bytes(shape) : 0));
}

/// Matrices for one task, which takes some tens of microseconds.
int64_t task_size(const MatrixShape &shape) {
  const bool isSearch = is_eigen(shape.kind) || is_singular(shape.kind);
  const double last = shape.kind == MatrixKind::triangular_solve ? static_cast<double>(shape.sides)
                                                                 : static_cast<double>(shape.columns);
  const double work = static_cast<double>(shape.rows) * static_cast<double>(shape.columns) * last;
  return std::max<int64_t>(1, static_cast<int64_t>(40000 / ((isSearch ? 20 : 1) * work + 100)));
}

/// One matrix of a batch in f64: the doubles of its parts, which are read before and written after.
class OneMatrix {
public:
  OneMatrix(const MatrixShape &shape, const std::vector<MatrixPart> &parts, double *memory)
      : shape_(shape), parts_(parts) {
    for (const MatrixPart &part : parts) {
      at_.push_back(memory);
      memory += part.elements;
    }
    rest_ = memory;
  }

  void run(void *const *memory, int64_t number) {
    for (size_t i = 0; i < parts_.size(); ++i)
      if (!parts_[i].written)
        read(i, memory[i], number);
    compute(memory, number);
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].written && is_floating_point(parts_[i].dtype))
        write(i, memory[i], number);
  }

private:
  void read(size_t part, const void *memory, int64_t number) {
    const int64_t count = parts_[part].elements;
    if (shape_.dtype == DType::f64)
      std::copy_n(static_cast<const double *>(memory) + number * count, count, at_[part]);
    else
      std::copy_n(static_cast<const float *>(memory) + number * count, count, at_[part]);
  }

  void write(size_t part, void *memory, int64_t number) const {
    const int64_t count = parts_[part].elements;
    if (shape_.dtype == DType::f64)
      std::copy_n(at_[part], count, static_cast<double *>(memory) + number * count);
    else
      std::transform(at_[part], at_[part] + count, static_cast<float *>(memory) + number * count,
                     [](double x) { return static_cast<float>(x); });
  }

  /// The whole numbers of a result are written in place.
  template <typename T> T *whole(void *const *memory, size_t part, int64_t number) const {
    return static_cast<T *>(memory[part]) + number * parts_[part].elements;
  }

  void compute(void *const *memory, int64_t number) {
    const int64_t m = shape_.rows, n = shape_.columns;
    double *a = at_[0];
    switch (shape_.kind) {
    case MatrixKind::cholesky:
      *whole<int32_t>(memory, 2, number) = factor_cholesky(a, n);
      std::copy_n(a, m * n, at_[1]);
      return;
    case MatrixKind::lu:
      factor_lu(a, m, n, whole<int32_t>(memory, 2, number), whole<int64_t>(memory, 3, number));
      std::copy_n(a, m * n, at_[1]);
      return;
    case MatrixKind::qr: {
      const int64_t columns = shape_.full ? m : std::min(m, n);
      factor_qr(a, m, n, at_[1], columns);
      std::copy_n(a, columns * n, at_[2]);
      return;
    }
    case MatrixKind::eigh:
    case MatrixKind::eigvalsh:
      if (has_finite_triangle(a, n)) {
        const int exponent = scale_to_middle(a, n * n);
        factor_eigh(a, n, at_[1], shape_.kind == MatrixKind::eigh ? at_[2] : rest_);
        scale(at_[1], n, -exponent);
      } else
        fill_results_with_nan();
      return;
    case MatrixKind::svd:
      if (std::all_of(a, a + m * n, [](double x) { return std::isfinite(x); })) {
        const int exponent = scale_to_middle(a, m * n);
        factor_svd(a, m, n, shape_.full, at_[1], at_[2], at_[3], rest_);
        scale(at_[2], std::min(m, n), -exponent);
      } else
        fill_results_with_nan();
      return;
    case MatrixKind::svdvals:
      if (std::all_of(a, a + m * n, [](double x) { return std::isfinite(x); })) {
        const int64_t k = std::min(m, n);
        const int exponent = scale_to_middle(a, m * n);
        factor_svd(a, m, n, false, rest_, at_[1], rest_ + m * k, rest_ + vectors_of(shape_));
        scale(at_[1], k, -exponent);
      } else
        fill_results_with_nan();
      return;
    case MatrixKind::triangular_solve:
      std::copy_n(at_[1], n * shape_.sides, at_[2]);
      solve_triangular(a, n, shape_.upper, shape_.unit, at_[2], shape_.sides);
      return;
    }
  }

  static void scale(double *x, int64_t count, int exponent) {
    for (int64_t i = 0; exponent != 0 && i < count; ++i)
      x[i] = std::ldexp(x[i], exponent);
  }

  /// Multiplies a matrix whose squares are beyond the range of doubles by a power of 2. Returns its exponent.
  static int scale_to_middle(double *a, int64_t count) {
    double largest = 0;
    for (int64_t i = 0; i < count; ++i) // the triangle that is not read may have anything
      if (std::isfinite(a[i]))
        largest = std::max(largest, std::abs(a[i]));
    constexpr int farthest = 400;
    const int exponent = largest > 0 ? -std::ilogb(largest) : 0;
    if (std::abs(exponent) <= farthest)
      return 0;
    scale(a, count, exponent);
    return exponent;
  }

  static bool has_finite_triangle(const double *a, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      if (!std::all_of(a + i * n, a + i * n + i + 1, [](double x) { return std::isfinite(x); }))
        return false;
    return true;
  }

  void fill_results_with_nan() {
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].written)
        std::fill_n(at_[i], parts_[i].elements, std::numeric_limits<double>::quiet_NaN());
  }

  const MatrixShape &shape_;
  const std::vector<MatrixPart> &parts_;
  std::vector<double *> at_;
  double *rest_ = nullptr;
};

} // namespace

std::vector<MatrixPart> MatrixRoutine::parts_of(const MatrixShape &shape) {
  const int64_t m = shape.rows, n = shape.columns, k = std::min(m, n);
  const DType real = shape.dtype;
  const MatrixPart a{"a", real, m * n, false};
  switch (shape.kind) {
  case MatrixKind::cholesky:
    return {a, {"factor", real, n * n, true}, {"info", DType::i32, 1, true}};
  case MatrixKind::lu:
    return {a,
            {"factors", real, m * n, true},
            {"pivots", DType::i32, k, true},
            {"permutation", DType::i64, m, true}};
  case MatrixKind::qr:
    return {a, {"q", real, m * (shape.full ? m : k), true}, {"r", real, (shape.full ? m : k) * n, true}};
  case MatrixKind::eigh:
    return {a, {"values", real, n, true}, {"vectors", real, n * n, true}};
  case MatrixKind::svd:
    return {a,
            {"u", real, m * (shape.full ? m : k), true},
            {"values", real, k, true},
            {"vt", real, (shape.full ? n : k) * n, true}};
  case MatrixKind::eigvalsh:
    return {a, {"values", real, n, true}};
  case MatrixKind::svdvals:
    return {a, {"values", real, k, true}};
  case MatrixKind::triangular_solve:
    return {a, {"b", real, n * shape.sides, false}, {"x", real, n * shape.sides, true}};
  }
  return {};
}

size_t MatrixRoutine::scratch_bytes(int width) const {
  if (shape_.batch == 0)
    return 0;
  // Any thread may take a task, whatever their number.
  return (shape_.batch == 1 ? 1 : static_cast<size_t>(std::max(width, 1))) * matrix_bytes(shape_);
}

/// Whether LAPACK computed the matrix of this number.
static bool computed_by_lapack(const Lapack &library, const MatrixShape &shape,
                               const std::vector<MatrixPart> &layout, void *const *parts, int64_t number,
                               std::byte *scratch) {
  void *one[4] = {};
  for (size_t i = 0; i < layout.size(); ++i)
    one[i] = static_cast<std::byte *>(parts[i]) +
             static_cast<size_t>(number * layout[i].elements) * itemsize(layout[i].dtype);
  return shape.dtype == DType::f64 ? compute_by_lapack(library.f64, shape, one, scratch)
                                   : compute_by_lapack(library.f32, shape, one, scratch);
}

void MatrixRoutine::run(void *const *parts, void *scratch, bool serial) const {
  const std::vector<MatrixPart> layout = parts_of(shape_);
  const size_t bytes = matrix_bytes(shape_);
  const Lapack *library = is_for_lapack(shape_) ? (library_ ? library_ : &lapack()) : nullptr;
  if (library && !library->ready)
    library = nullptr;
  const auto body = [&](int64_t begin, int64_t end, int worker) {
    auto *memory = static_cast<std::byte *>(scratch) + static_cast<size_t>(worker) * bytes;
    OneMatrix matrix(shape_, layout, reinterpret_cast<double *>(memory));
    std::optional<LapackPermit> permit;
    if (library)
      permit.emplace(*library);
    for (int64_t number = begin; number < end; ++number)
      if (!library || !computed_by_lapack(*library, shape_, layout, parts, number, memory))
        matrix.run(parts, number);
  };
  if (serial || shape_.batch == 1)
    body(0, shape_.batch, 0);
  else
    executor().parallel_for(shape_.batch, task_size(shape_), body);
}

} // namespace weft::runtime
