//===- MatrixRoutine.cpp - Factorizations of batches of matrices ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/linalg/MatrixRoutine.h"

#include "runtime/linalg/Factorizations.h"
#include "runtime/threads/Executor.h"

#include <algorithm>

namespace weft::runtime {

namespace {

size_t align_line(size_t bytes) { return (bytes + 63) & ~size_t(63); }

/// The doubles of all parts, and those of the search for singular values.
size_t doubles_of(const MatrixShape &shape) {
  size_t count = 0;
  for (const MatrixPart &part : MatrixRoutine::parts_of(shape))
    count += static_cast<size_t>(part.elements);
  const auto most = static_cast<size_t>(std::max(shape.rows, shape.columns));
  return count + (shape.kind == MatrixKind::svd ? 3 * most * most : 0);
}

/// One matrix of a batch: the doubles of its parts, which are read before and written after.
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
      factor_eigh(a, n, at_[1], at_[2]);
      return;
    case MatrixKind::svd:
      factor_svd(a, m, n, shape_.full, at_[1], at_[2], at_[3], rest_);
      return;
    case MatrixKind::triangular_solve:
      std::copy_n(at_[1], n * shape_.sides, at_[2]);
      solve_triangular(a, n, shape_.upper, shape_.unit, at_[2], shape_.sides);
      return;
    }
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
  case MatrixKind::triangular_solve:
    return {a, {"b", real, n * shape.sides, false}, {"x", real, n * shape.sides, true}};
  }
  return {};
}

size_t MatrixRoutine::scratch_bytes(int width) const {
  if (shape_.batch == 0)
    return 0;
  const auto threads = static_cast<size_t>(std::clamp<int64_t>(shape_.batch, 1, std::max(width, 1)));
  // Any thread may take a task, whatever their number.
  return (shape_.batch == 1 ? threads : static_cast<size_t>(std::max(width, 1))) *
         align_line(doubles_of(shape_) * sizeof(double));
}

void MatrixRoutine::run(void *const *parts, void *scratch, bool serial) const {
  const std::vector<MatrixPart> layout = parts_of(shape_);
  const size_t bytes = align_line(doubles_of(shape_) * sizeof(double));
  const auto body = [&](int64_t begin, int64_t end, int worker) {
    auto *memory = static_cast<std::byte *>(scratch) + static_cast<size_t>(worker) * bytes;
    OneMatrix matrix(shape_, layout, reinterpret_cast<double *>(memory));
    for (int64_t number = begin; number < end; ++number)
      matrix.run(parts, number);
  };
  if (serial || shape_.batch == 1)
    body(0, shape_.batch, 0);
  else
    executor().parallel_for(shape_.batch, 1, body);
}

} // namespace weft::runtime
