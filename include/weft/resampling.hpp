//===- resampling.hpp - Images of other sizes ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of torch.nn.functional with the same names, on [batch, channels, extents..] of a floating-point
// dtype with one to three extents, whose sizes are known when a function is compiled. f16 and bf16 are
// computed in f32 and rounded once. Every function throws Error where the sizes do not fit, with the source
// lines of the operation and of its operands.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RESAMPLING_HPP
#define WEFT_RESAMPLING_HPP

#include "weft/tensor.hpp"

namespace weft {

/// Numbers, or one number.
struct DoubleList : std::vector<double> {
  DoubleList() = default;
  DoubleList(std::initializer_list<double> list) : vector(list) {}
  DoubleList(double number) : vector(1, number) {}
  DoubleList(std::vector<double> list) : vector(std::move(list)) {}
};

struct InterpolateOptions {
  IntList size = {}; ///< of each extent, or one number for all; or
  DoubleList scale_factor =
      {}; ///< of each extent or of all: by which extents are multiplied and rounded down
  std::string mode = "nearest";        ///< "nearest", "nearest-exact", "linear", "bilinear", "trilinear",
                                       ///< "bicubic" or "area"
  bool align_corners = false;          ///< whether the outer elements keep their places; of the linear modes
  bool recompute_scale_factor = false; ///< whether places follow from the sizes alone
};
WEFT_API Tensor interpolate(const Tensor &x, InterpolateOptions options, Loc loc = Loc::current());
/// interpolate with mode "nearest", and with mode "bilinear" (of four dimensions) and `align_corners`.
WEFT_API Tensor upsample_nearest(const Tensor &x, IntList size, DoubleList scale_factor = {},
                                 Loc loc = Loc::current());
WEFT_API Tensor upsample_bilinear(const Tensor &x, IntList size, DoubleList scale_factor = {},
                                  Loc loc = Loc::current());

struct GridSampleOptions {
  std::string mode = "bilinear";      ///< or "nearest"; of two extents also "bicubic"
  std::string padding_mode = "zeros"; ///< what is beside the operand; or "border" or "reflection"
  bool align_corners = false; ///< whether -1 and 1 are the centres of the outer elements, or their edges
};
/// The elements at the places in `grid`, [batch, extents.., 2 or 3], whose coordinates, the one of the last
/// extent first, go from -1 to 1.
WEFT_API Tensor grid_sample(const Tensor &x, const Tensor &grid, GridSampleOptions options = {},
                            Loc loc = Loc::current());

/// torch.nn.functional.unfold: the windows of [.., channels, height, width] as columns, [.., channels times
/// elements of a window, places].
WEFT_API Tensor unfold(const Tensor &x, IntList kernel_size, IntList dilation = 1, IntList padding = 0,
                       IntList stride = 1, Loc loc = Loc::current());

/// Zeros of `output_size`, or of the size that pooling by these windows had made smaller, with the elements
/// of x at `indices`, which max pooling gives.
WEFT_API Tensor max_unpool1d(const Tensor &x, const Tensor &indices, IntList kernel_size, IntList stride = {},
                             IntList padding = 0, IntList output_size = {}, Loc loc = Loc::current());
WEFT_API Tensor max_unpool2d(const Tensor &x, const Tensor &indices, IntList kernel_size, IntList stride = {},
                             IntList padding = 0, IntList output_size = {}, Loc loc = Loc::current());
WEFT_API Tensor max_unpool3d(const Tensor &x, const Tensor &indices, IntList kernel_size, IntList stride = {},
                             IntList padding = 0, IntList output_size = {}, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_RESAMPLING_HPP
