//===- FourierKernels.h - Fourier transforms, per level ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a length is computed, and the roots of 1 that this needs. Everything here is of complex transforms with
// exp(-2 pi i / n); the inverse one is the same with real and imaginary parts exchanged before and after.
// Complex numbers in memory are two elements beside each other.
//
// The structs are read by files that are compiled for newer processors, which include nothing with functions.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_FOURIER_FOURIERKERNELS_H
#define WEFT_RUNTIME_FOURIER_FOURIERKERNELS_H

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

/// Lengths are products of these, or convolutions.
inline constexpr int mostRadix = 31;
inline constexpr int mostStages = 40;

/// A transform of vectors, by stages that divide the length by their radix one after the other.
template <typename T> struct VectorPlan {
  int64_t n = 1;
  int stages = 0;
  int radix[mostStages] = {};
  /// Of a stage that is left with length l: w^(p j) for p < l / radix and 0 < j < radix, w = exp(-2 pi i /
  /// l).
  const T *factors[mostStages] = {};
  /// exp(-2 pi i k / radix) for k < radix, of odd radices from 7 on.
  const T *roots[mostStages] = {};
};

template <typename T> struct LinePlan {
  int64_t n = 1;
  /// The whole length, if it has no large prime factor.
  VectorPlan<T> whole;
  /// The line as a matrix of `rows` times `columns` elements; 0 if it is too short.
  int64_t rows = 0, columns = 0;
  VectorPlan<T> of_columns, of_rows;
  /// [rows][2][stride]: exp(-2 pi i row column / n), the real parts and the imaginary ones.
  const T *turns = nullptr;
  int64_t stride = 0;
  /// Of a length with a large prime factor: the transform of at least 2 n - 1 elements that convolves, the
  /// factors exp(-pi i j^2 / n), and the spectrum of their conjugates divided by its length.
  const LinePlan *convolution = nullptr;
  const T *chirp = nullptr, *filter = nullptr;

  /// The length of the transforms that are computed.
  int64_t core() const { return convolution ? convolution->n : n; }
};

/// A block of lines: what the source and the result are, in elements T.
template <typename T> struct FourierBlock {
  const T *source;
  T *result;
  int64_t inner, first;
  int count;
};

template <typename T> struct FourierPlan {
  int64_t length = 1;
  /// Of `length`, or of half of it for real lines of even length.
  LinePlan<T> line;
  /// exp(-2 pi i k / length) for k <= length / 4, for real lines of even length.
  const T *halves = nullptr;
  uint8_t kind = 0; // FourierKind
  bool inverse = false, adjoint = false;
  T scale = 1;
};

/// The functions of a level of the processor.
template <typename T> struct FourierKernels {
  int lanes;
  /// A block of at most `lanes` lines, one in each lane. Scratch: block_elements().
  void (*block)(const FourierPlan<T> &plan, const FourierBlock<T> &block, T *scratch);
  /// The first half of a line as a matrix, for groups [begin, end) of `lanes` columns: from a line to
  /// `middle`, which has rows rounded up to lanes times columns complex numbers. With `swap`, parts are
  /// exchanged.
  void (*columns)(const LinePlan<T> &plan, const T *line, T *middle, int64_t begin, int64_t end, bool swap,
                  T *scratch);
  /// The second half, for groups of `lanes` rows, times `scale`. It changes `middle`.
  void (*rows)(const LinePlan<T> &plan, T *middle, T *line, int64_t begin, int64_t end, bool swap, T scale,
               T *scratch);
  /// to[i] = a[i] b[i] for count complex numbers; with `swap`, with the parts of a exchanged.
  void (*multiply)(T *to, const T *a, const T *b, int64_t count, bool swap);
  /// The first length / 2 + 1 values of a real line of even length from the transform of its pairs, for pairs
  /// of values [begin, end) of (length / 4 + 1).
  void (*split)(const FourierPlan<T> &plan, const T *pairs, T *values, int64_t begin, int64_t end);
  /// And the pairs whose inverse transform is a real line with these values, with parts exchanged.
  void (*merge)(const FourierPlan<T> &plan, const T *values, T *pairs, int64_t begin, int64_t end);
};

struct FourierTable {
  FourierKernels<float> f32;
  FourierKernels<double> f64;
};
extern const FourierTable fourierBaseline, fourierV3, fourierV4;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_FOURIER_FOURIERKERNELS_H
