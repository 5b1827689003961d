//===- Convolution.h - Convolutions without a matrix of windows -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y[b,g,o,p] = sum over the channels c of a group and the places k of the window of w[g,o,c,k] times the
// element of a[b,g,c] at p stride + k window_dilation - low, in blocks of windows that threads compute in
// parallel (ConvolutionTask.h). The blocks, and the bits of the result, depend on the extents alone.
// Each sum then takes the steps of the epilogue, before it is stored.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_CONVOLUTION_H
#define WEFT_RUNTIME_GEMM_CONVOLUTION_H

#include "runtime/gemm/ConvolutionTask.h"
#include "runtime/support/CpuLevel.h"
#include "weft/dtype.hpp"
#include "weft/export.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::runtime {

/// A number for each extent; where there are fewer than three, the first ones are 1, or 0 for `low`.
using ConvolutionNumbers = std::array<int64_t, 3>;

/// The offset of a tensor, and its strides, in elements: of `a` along batch, groups, channels and extents, of
/// `w` along groups, outputs, channels and the window, of `y` along batch, groups, outputs and places.
struct ConvolutionPlace {
  int64_t offset = 0;
  std::array<int64_t, 6> strides{};
  bool operator==(const ConvolutionPlace &) const = default;
};

struct WEFT_RUNTIME_API ConvolutionShape {
  DType dtype = DType::f32;
  int64_t batch = 1, groups = 1, channels = 1, outputs = 1; ///< channels and outputs of a group
  ConvolutionNumbers extents{1, 1, 1}, window{1, 1, 1}, places{1, 1, 1}, stride{1, 1, 1}, low{0, 0, 0},
      base_dilation{1, 1, 1}, window_dilation{1, 1, 1};
  ConvolutionPlace a, w, y;
  std::vector<ConvolutionStep> steps; ///< at most maxConvolutionSteps
  bool winograd = false; ///< by Winograd's method (Winograd.h), of shapes that has_winograd() has
  bool operator==(const ConvolutionShape &) const = default;

  std::array<int64_t, 6> a_extents() const {
    return {batch, groups, channels, extents[0], extents[1], extents[2]};
  }
  std::array<int64_t, 6> w_extents() const {
    return {groups, outputs, channels, window[0], window[1], window[2]};
  }
  std::array<int64_t, 6> y_extents() const {
    return {batch, groups, outputs, places[0], places[1], places[2]};
  }
  /// Whether the result has the f32 in which halves are added.
  bool is_wide() const { return steps == std::vector{ConvolutionStep::wide}; }
  bool is_dilated() const { return base_dilation != ConvolutionNumbers{1, 1, 1}; }
};

/// Whether the runtime has convolutions of this element type.
WEFT_RUNTIME_API bool convolution_supports(DType dtype);

/// A convolution without zeros between elements, of which a dilated one has one for each remainder of places.
struct ConvolutionPart {
  ConvolutionShape shape;
  int64_t window_terms = 1, terms = 1, chain = 1;
  bool terms_inner = false;
  /// If places are inner: where its weights are in scratch, a row of terms for each group and output,
  size_t weights = 0;
  bool direct = false, staged = false; ///< ConvolutionTask
  bool packed = false;                 ///< if they are there; else they are read where they lie
  /// Blocks of places, outputs and terms. More than one of terms have sums in scratch, which are added.
  int64_t place_block = 1, output_block = 1, term_block = 1;
  int64_t place_blocks = 1, output_blocks = 1, term_blocks = 1;
  size_t sums = 0;

  int64_t all_places() const { return shape.batch * shape.places[0] * shape.places[1] * shape.places[2]; }
  int64_t tasks() const { return shape.groups * place_blocks * output_blocks * term_blocks; }
};

class Winograd;

/// A convolution ready to run. May run on several threads at once.
class WEFT_RUNTIME_API Convolution {
public:
  /// The shape must be verified (runtime/plan/ConvolutionPlan.h).
  explicit Convolution(const ConvolutionShape &shape, CpuLevel level = cpu_level());
  const ConvolutionShape &shape() const { return shape_; }
  /// Bytes of scratch that run() needs for a team of `width` threads, 64-byte aligned.
  size_t scratch_bytes(int width) const;
  /// `beside` has the vector of each step, of groups * outputs numbers, or its residual, which lies as `y`
  /// and is not `y`; none of relu. If `serial`, only the calling thread computes; the results are the same.
  void run(const void *a, const void *w, void *y, const void *const *beside, void *scratch,
           bool serial) const;

private:
  struct Call {
    const float *a, *w;
    float *y, *scratch;
    const void *const *beside;
    bool serial;
  };
  bool pack_weights(const ConvolutionPart &part, const Call &call) const;
  ConvolutionTask task_of(const ConvolutionPart &part, int64_t group, const Call &call) const;
  void run_task(const ConvolutionPart &part, int64_t number, const Call &call, int worker) const;
  void add_sums(const ConvolutionPart &part, const Call &call) const;
  void run_term_by_term(const ConvolutionPart &part, const Call &call) const;
  template <typename Body>
  void for_all(int64_t count, double flops, const Call &call, const Body &body) const;

  const ConvolutionShape shape_;
  const ConvolutionTable &functions_;
  std::vector<ConvolutionPart> parts_;
  size_t shared_floats_ = 0, task_floats_ = 0;
  double flops_ = 0;
  int64_t a_end_;                            ///< behind the last element of the operand
  std::shared_ptr<const Winograd> winograd_; ///< what computes it, if that is Winograd's method
};

/// The scratch that the windows of a task need is at most this many floats; more is no valid shape.
inline constexpr int64_t mostConvolutionFloats = int64_t(1) << 31;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_CONVOLUTION_H
