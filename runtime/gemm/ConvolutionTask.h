//===- ConvolutionTask.h - Blocks of convolutions, per level ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is a product of its weights and of the matrix of its windows, whose element (place, term) is
// the element of the image at place stride + term dilation - low. A place is a batch index and three numbers,
// and so is a term: a channel and three numbers. Both are numbered in row-major order. A task copies a block
// of the matrix into scratch, a chain of terms at a time, and multiplies it.
//
// Of places and terms those are inner whose neighbours are copied together, and the others are outer. If
// places are inner, a register holds neighbouring places of one output. If terms are inner, it holds
// neighbouring outputs of one place.
//
// Each element is chains of fused multiply-adds over the terms, each started at zero, and the chains are
// added in their order, so that the bits depend neither on blocks nor on the level of the processor.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_CONVOLUTIONTASK_H
#define WEFT_RUNTIME_GEMM_CONVOLUTIONTASK_H

#include "weft/export.hpp"
#include "weft/limits.hpp"

#include <stdint.h>

namespace weft::runtime {

/// The longest chain.
inline constexpr int64_t convolutionChain = 384;
/// The most places, and outputs, of a task whose places are inner; and of one whose terms are. Those of few
/// outputs have more places, so that fewer rows of an image are copied for two tasks.
inline constexpr int64_t innerPlaces = 128, innerPlaceOutputs = 512;
inline constexpr int64_t mostInnerPlaces = 256, fewInnerPlaceOutputs = 128;
inline constexpr int64_t outerPlaces = 192, outerPlaceOutputs = 256;
inline constexpr int64_t mostOuterPlaces = 576, fewOuterPlaceOutputs = 64;

/// What a sum takes after its last chain, each rounded by itself: a number of its output is added, subtracted
/// or multiplied, or the residual's element at its place added; relu is the larger of it and +0, and leaves a
/// NaN. On a GPU, a sum of halves that is `wide`, and takes no other step, is stored as the f32 that it is.
enum class ConvolutionStep : uint8_t { add, sub, mul, residual, relu, wide };
inline constexpr int64_t convolutionSteps = 6;
/// Whether a step has a vector or a residual.
constexpr bool reads_operand(ConvolutionStep step) {
  return step != ConvolutionStep::relu && step != ConvolutionStep::wide;
}

/// A step, and the number of output 0, or the residual's element of output 0 and place 0, which lies as y
/// does.
struct ConvolutionStepOf {
  ConvolutionStep step;
  const float *from;
};

/// Places or terms: planes of the image, `plane` elements apart, and three numbers, each of which moves by
/// `step` elements of the padded image.
struct ConvolutionAxis {
  int64_t planes, plane;
  int64_t extent[3], step[3];
};

/// The matrix of windows of one group.
struct ConvolutionWindows {
  const float *image, *end;   ///< and behind the last element that may be read
  int64_t size[3], stride[3]; ///< of the image
  int64_t low[3];             ///< zeros before its elements
  ConvolutionAxis inner, outer;
};

/// Places [begin, end) of the outputs [first, last), over the terms [k_begin, k_end): all terms if places are
/// inner.
struct ConvolutionTask {
  ConvolutionWindows windows;
  int64_t begin, end, first, last, k_begin, k_end, chain;
  /// Whether windows are multiplied where the padded image is staged, without a copy of each. The stage then
  /// has all outer planes of a block at once; if places are inner, no register has places of two image rows.
  bool direct;
  bool staged;    ///< whether windows are copied from a stage that has all outer planes of a block at once
  const float *w; ///< the element of output 0 and term 0
  int64_t w_output;
  /// If terms are inner: the strides of the weights along channels and windows, and how many terms, from a
  /// multiple of this number on, are neighbours in memory. Else terms are.
  int64_t w_term[4], w_run;
  float *y; ///< the element of output 0 and place 0
  int64_t y_output, y_place[4];
  ConvolutionStepOf steps[maxConvolutionSteps];
  int64_t step_count;
  float *sums; ///< if not null, sums go here: a row of outputs for each place
  int64_t sums_row;
  float *scratch; ///< 64-byte aligned, of convolution_task_floats()
};

using ConvolutionFn = void (*)(const ConvolutionTask *task);
struct ConvolutionTable {
  ConvolutionFn places_inner, terms_inner;
  /// The results of all outputs for places [begin, end), from `blocks` sums of terms, the first of which are
  /// `sums`.
  void (*add_sums)(const ConvolutionTask *task, int64_t blocks, int64_t distance);
  /// A sum of an output whose result is `at` elements behind `y`, after the steps.
  float (*finish)(const ConvolutionTask *task, int64_t output, int64_t at, float sum);
};
WEFT_RUNTIME_API extern const ConvolutionTable convolutionBaseline, convolutionV3, convolutionV4;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_CONVOLUTIONTASK_H
