//===- FourierRoutine.cpp - Fourier transforms of batches -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/fourier/FourierRoutine.h"

#include "runtime/fourier/FourierTables.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <mutex>

namespace weft::runtime {

/// What the first run makes.
struct FourierRoutine::Tables {
  std::once_flag once;
  std::shared_ptr<const FourierTables<float>> f32;
  std::shared_ptr<const FourierTables<double>> f64;
};

namespace {

size_t align_line(size_t bytes) { return (bytes + 63) & ~size_t(63); }
int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

const FourierTable &table_of(CpuLevel level) {
  return level == CpuLevel::v4 ? fourierV4 : level == CpuLevel::v3 ? fourierV3 : fourierBaseline;
}

/// Whether a real line is one of half as many complex numbers.
bool is_halved(const FourierShape &shape) { return shape.kind != FourierKind::c2c && shape.length % 2 == 0; }
int64_t complex_length(const FourierShape &shape) {
  return is_halved(shape) ? shape.length / 2 : shape.length;
}

/// The parts of the scratch memory of lines that are matrices, in elements.
struct LineScratch {
  int64_t core, middle, numbers, source = 0, result = 0, group;

  LineScratch(const FourierShape &shape, const FourierGeometry &geometry, int lanes) {
    const bool convolves = geometry.core != geometry.n;
    middle = 2 * divided_up(geometry.rows, lanes) * lanes * geometry.columns;
    core = convolves ? 2 * geometry.core : 0;
    numbers = shape.kind == FourierKind::c2c ? 0 : 2 * geometry.n;
    if (shape.inner != 1) {
      source = shape.source_elements();
      result = shape.result_elements();
    }
    for (int64_t *part : {&core, &middle, &numbers, &source, &result})
      *part = divided_up(*part, 16) * 16;
    group = 2 * lanes * std::max(2 * geometry.rows, geometry.columns);
  }
  /// Of one line, but for `group`, which every thread needs.
  int64_t of_line() const { return 2 * core + middle + 2 * numbers + source + result; }
};

/// Whether the threads compute one line after the other together.
bool shares_lines(const FourierShape &shape, const FourierGeometry &geometry) {
  constexpr int64_t longLine = 8192;
  const int64_t lines = shape.outer * shape.inner;
  return lines == 1 || (lines < 4 && geometry.core >= longLine);
}

template <typename T> class Transforms {
public:
  Transforms(const FourierShape &shape, const FourierKernels<T> &kernels, const FourierTables<T> &tables)
      : shape_(shape), geometry_(complex_length(shape)), kernels_(kernels) {
    plan_ = {.length = shape.length,
             .line = tables.line(),
             .halves = tables.halves(),
             .kind = static_cast<uint8_t>(shape.kind),
             .inverse = shape.inverse,
             .adjoint = shape.adjoint,
             .scale = static_cast<T>(shape.scale)};
  }

  void run(const T *source, T *result, T *scratch, bool serial) {
    serial_ = serial;
    if (geometry_.is_matrix(shape_.inner))
      run_matrices(source, result, scratch);
    else
      run_blocks(source, result, scratch);
  }

private:
  /// Ranges of tasks, by all threads or by this one.
  template <typename Body> void each(int64_t tasks, int64_t grain, bool together, Body body) {
    if (serial_ || !together)
      body(0, tasks, 0);
    else
      executor().parallel_for(tasks, grain, body);
  }

  void run_blocks(const T *source, T *result, T *scratch) {
    const int64_t lanes = kernels_.lanes, inner = shape_.inner;
    // Where rows are long enough, no block is of two.
    const bool byRows = inner >= lanes;
    const int64_t lines = shape_.outer * inner, ofRow = divided_up(inner, lanes),
                  blocks = byRows ? shape_.outer * ofRow : divided_up(lines, lanes),
                  elements = block_elements(geometry_, kernels_.lanes);
    constexpr int64_t numbersOfTask = 8192;
    each(blocks, std::max<int64_t>(1, numbersOfTask / (geometry_.core * lanes)), true,
         [&](int64_t begin, int64_t end, int worker) {
           for (int64_t block = begin; block < end; ++block) {
             const int64_t first = byRows ? block / ofRow * inner + block % ofRow * lanes : block * lanes;
             const int64_t last = byRows ? (block / ofRow + 1) * inner : lines;
             kernels_.block(
                 plan_,
                 {source, result, inner, first, static_cast<int>(std::min<int64_t>(lanes, last - first))},
                 scratch + worker * elements);
           }
         });
  }

  void run_matrices(const T *source, T *result, T *scratch) {
    const LineScratch parts(shape_, geometry_, kernels_.lanes);
    const int64_t lines = shape_.outer * shape_.inner;
    if (shares_lines(shape_, geometry_)) {
      for (int64_t line = 0; line < lines; ++line)
        one_line(source, result, line, {scratch, scratch + parts.of_line(), parts, true});
      return;
    }
    const int64_t elements = parts.of_line() + parts.group;
    each(lines, 1, true, [&](int64_t begin, int64_t end, int worker) {
      T *own = scratch + worker * elements;
      for (int64_t line = begin; line < end; ++line)
        one_line(source, result, line, {own, own + parts.of_line(), parts, false});
    });
  }

  /// The memory of a line, and whether all threads compute it.
  struct Place {
    T *memory;
    T *groups;
    const LineScratch &parts;
    bool together;

    T *convolved(int i) const { return memory + i * parts.core; }
    T *middle() const { return memory + 2 * parts.core; }
    T *numbers(int i) const { return middle() + parts.middle + i * parts.numbers; }
    T *source() const { return numbers(2); }
    T *result() const { return source() + parts.source; }
  };

  void one_line(const T *source, T *result, int64_t line, const Place &place) {
    const int64_t from = shape_.source_elements(), to = shape_.result_elements(), inner = shape_.inner;
    if (inner == 1)
      return transform(source + line * from, result + line * to, place);
    const int64_t row = line / inner, column = line % inner;
    const int64_t fromParts = shape_.kind == FourierKind::r2c ? 1 : 2,
                  toParts = shape_.kind == FourierKind::c2r ? 1 : 2;
    source += row * from * inner + column * fromParts;
    result += row * to * inner + column * toParts;
    for (int64_t i = 0; i < from / fromParts; ++i)
      std::copy_n(source + i * inner * fromParts, fromParts, place.source() + i * fromParts);
    transform(place.source(), place.result(), place);
    for (int64_t i = 0; i < to / toParts; ++i)
      std::copy_n(place.result() + i * toParts, toParts, result + i * inner * toParts);
  }

  void transform(const T *source, T *result, const Place &place) {
    const int64_t n = shape_.length, half = n / 2 + 1;
    T *a = place.numbers(0), *b = place.numbers(1);
    constexpr int64_t grain = 4096;
    const T sign = shape_.inverse ? T(-1) : T(1), scale = plan_.scale;
    switch (shape_.kind) {
    case FourierKind::c2c:
      compute(source, result, shape_.inverse, shape_.inverse, scale, place);
      return;
    case FourierKind::r2c:
      if (is_halved(shape_)) {
        compute(source, a, false, false, 1, place);
        each(n / 4 + 1, grain, place.together,
             [&](int64_t begin, int64_t end, int) { kernels_.split(plan_, a, result, begin, end); });
        return;
      }
      for (int64_t j = 0; j < n; ++j) {
        a[2 * j] = source[j];
        a[2 * j + 1] = 0;
      }
      compute(a, b, false, false, 1, place);
      for (int64_t k = 0; k < half; ++k) {
        const T factor = shape_.adjoint && k > 0 ? 2 * scale : scale;
        result[2 * k] = b[2 * k] * factor;
        result[2 * k + 1] = b[2 * k + 1] * (sign * factor);
      }
      return;
    case FourierKind::c2r:
      if (is_halved(shape_)) {
        each(n / 4 + 1, grain, place.together,
             [&](int64_t begin, int64_t end, int) { kernels_.merge(plan_, source, a, begin, end); });
        compute(a, result, false, true, scale, place);
        return;
      }
      a[0] = 0;
      a[1] = source[0];
      for (int64_t k = 1; k < half; ++k) {
        const T factor = shape_.adjoint ? T(0.5) : T(1);
        const T re = source[2 * k] * factor, im = source[2 * k + 1] * (-sign * factor);
        a[2 * k] = im;
        a[2 * k + 1] = re;
        a[2 * (n - k)] = -im;
        a[2 * (n - k) + 1] = re;
      }
      compute(a, b, false, false, 1, place);
      for (int64_t j = 0; j < n; ++j)
        result[j] = b[2 * j + 1] * scale;
      return;
    }
  }

  /// The transform of a line of complex numbers with exp(-2 pi i / n), with parts exchanged before and after.
  void compute(const T *source, T *result, bool before, bool after, T scale, const Place &place) {
    const LinePlan<T> &plan = plan_.line;
    if (!plan.convolution)
      return matrix(plan, source, result, before, after, scale, place);
    T *a = place.convolved(0), *b = place.convolved(1);
    const int64_t n = plan.n, m = plan.convolution->n;
    const auto multiply = [&](T *to, const T *x, const T *y, int64_t count, bool swap) {
      constexpr int64_t grain = 4096;
      each(count, grain, place.together, [&](int64_t begin, int64_t end, int) {
        kernels_.multiply(to + 2 * begin, x + 2 * begin, y + 2 * begin, end - begin, swap);
      });
    };
    multiply(a, source, plan.chirp, n, before);
    std::fill(a + 2 * n, a + 2 * m, T(0));
    matrix(*plan.convolution, a, b, false, false, 1, place);
    multiply(b, b, plan.filter, m, false);
    matrix(*plan.convolution, b, a, true, false, 1, place);
    multiply(result, a, plan.chirp, n, true);
    if (after)
      for (int64_t i = 0; i < n; ++i)
        std::swap(result[2 * i], result[2 * i + 1]);
    if (scale != 1)
      std::transform(result, result + 2 * n, result, [&](T x) { return x * scale; });
  }

  void matrix(const LinePlan<T> &plan, const T *source, T *result, bool before, bool after, T scale,
              const Place &place) {
    const int64_t lanes = kernels_.lanes;
    const auto own = [&](int worker) { return place.groups + worker * place.parts.group; };
    constexpr int64_t numbersOfTask = 8192;
    const auto grain = [&](int64_t n) { return std::max<int64_t>(1, numbersOfTask / (n * lanes)); };
    each(divided_up(plan.columns, lanes), grain(plan.rows), place.together,
         [&](int64_t begin, int64_t end, int worker) {
           kernels_.columns(plan, source, place.middle(), begin, end, before, own(worker));
         });
    each(divided_up(plan.rows, lanes), grain(plan.columns), place.together,
         [&](int64_t begin, int64_t end, int worker) {
           kernels_.rows(plan, place.middle(), result, begin, end, after, scale, own(worker));
         });
  }

public:
  /// Scratch of a block of lines, one in each lane.
  static int64_t block_elements(const FourierGeometry &geometry, int lanes) {
    return 2 * (geometry.core + 1) * 2 * lanes;
  }

private:
  const FourierShape &shape_;
  FourierGeometry geometry_;
  const FourierKernels<T> &kernels_;
  FourierPlan<T> plan_;
  bool serial_ = false;
};

template <typename T>
size_t scratch_of(const FourierShape &shape, const FourierKernels<T> &kernels, int width) {
  const FourierGeometry geometry(complex_length(shape));
  const auto threads = static_cast<int64_t>(std::max(width, 1));
  int64_t elements = 0;
  if (geometry.is_matrix(shape.inner)) {
    const LineScratch parts(shape, geometry, kernels.lanes);
    elements = (shares_lines(shape, geometry) ? 1 : threads) * parts.of_line() + threads * parts.group;
  } else {
    elements = threads * Transforms<T>::block_elements(geometry, kernels.lanes);
  }
  return align_line(static_cast<size_t>(elements) * sizeof(T));
}

} // namespace

FourierRoutine::FourierRoutine(const FourierShape &shape, CpuLevel level)
    : shape_(shape), level_(level), tables_(std::make_shared<Tables>()) {}

size_t FourierRoutine::scratch_bytes(int width) const {
  if (shape_.outer == 0 || shape_.inner == 0)
    return 0;
  const FourierTable &kernels = table_of(level_);
  return shape_.dtype == DType::f64 ? scratch_of(shape_, kernels.f64, width)
                                    : scratch_of(shape_, kernels.f32, width);
}

void FourierRoutine::run(const void *source, void *result, void *scratch, bool serial) const {
  if (shape_.outer == 0 || shape_.inner == 0)
    return;
  const int64_t n = complex_length(shape_);
  std::call_once(tables_->once, [&] {
    if (shape_.dtype == DType::f64)
      tables_->f64 = FourierTables<double>::of(n, is_halved(shape_));
    else
      tables_->f32 = FourierTables<float>::of(n, is_halved(shape_));
  });
  const FourierTable &kernels = table_of(level_);
  if (shape_.dtype == DType::f64)
    Transforms<double>(shape_, kernels.f64, *tables_->f64)
        .run(static_cast<const double *>(source), static_cast<double *>(result),
             static_cast<double *>(scratch), serial);
  else
    Transforms<float>(shape_, kernels.f32, *tables_->f32)
        .run(static_cast<const float *>(source), static_cast<float *>(result), static_cast<float *>(scratch),
             serial);
}

} // namespace weft::runtime
