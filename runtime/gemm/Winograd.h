//===- Winograd.h - Convolutions by Winograd's method -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions of 3 x 3 windows, and their derivatives with respect to weights, in blocks of tiles that
// threads compute in parallel (WinogradTask.h). The blocks, and the bits of the result, depend on the extents
// alone.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_WINOGRAD_H
#define WEFT_RUNTIME_GEMM_WINOGRAD_H

#include "runtime/gemm/Convolution.h"
#include "runtime/gemm/WinogradTask.h"

namespace weft::runtime {

/// Whether Winograd's method computes a convolution of these numbers: f32, one group, an image of two
/// extents, a window or places of 3 x 3, no strides and no dilations.
WEFT_RUNTIME_API bool has_winograd(const ConvolutionShape &shape);

/// A convolution ready to run. May run on several threads at once.
class WEFT_RUNTIME_API Winograd {
public:
  /// has_winograd() of the shape must be true.
  explicit Winograd(const ConvolutionShape &shape, CpuLevel level = cpu_level());
  /// Bytes of scratch that run() needs for a team of `width` threads, 64-byte aligned.
  size_t scratch_bytes(int width) const;
  /// As Convolution::run().
  void run(const void *a, const void *w, void *y, const void *const *beside, void *scratch,
           bool serial) const;

private:
  struct Call {
    WinogradTask task; ///< of all tiles, outputs and channels
    float *scratch;
    bool serial;
  };
  Call call_of(const float *a, const float *w, float *y, const void *const *beside) const;
  void choose_blocks();
  void run_places(const Call &call) const;
  void run_derivative(const Call &call) const;
  void share_factors(const Call &call) const;
  template <typename Body> void for_all(int64_t count, double flops, bool serial, const Body &body) const;

  const ConvolutionShape shape_;
  const WinogradTable &functions_;
  bool derivative_; ///< with respect to weights
  int64_t channels_, outputs_, images_, tiles_[2], all_tiles_;
  int64_t tile_block_ = 1, output_block_ = 1, channel_block_ = 1; ///< of a task
  /// Which factors all tasks share: those of weights, or of the operand.
  bool share_weights_ = false;
  /// Whether tasks of a derivative share the factors of operand and gradients, each block so many floats.
  bool share_factors_ = false;
  int64_t operand_factors_ = 0, gradient_factors_ = 0;
  size_t shared_floats_ = 0, task_floats_ = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_WINOGRAD_H
