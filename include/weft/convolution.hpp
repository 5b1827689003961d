//===- convolution.hpp - Convolutions ----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CONVOLUTION_HPP
#define WEFT_CONVOLUTION_HPP

#include "weft/tensor.hpp"

#include <optional>
#include <string>

namespace weft {

/// Zeros before and behind each extent: a number, one for each extent, "valid" (none), or "same", which makes
/// the result as large as the operand and needs a stride of 1. If "same" needs an odd number of zeros, the
/// additional one is behind.
struct ConvPadding {
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  ConvPadding(T zeros) : zeros(zeros) {}
  ConvPadding(std::initializer_list<int64_t> zeros) : zeros(zeros) {}
  ConvPadding(IntList zeros) : zeros(std::move(zeros)) {}
  ConvPadding(const char *word) : word(word) {}
  ConvPadding(std::string word) : word(std::move(word)) {}

  IntList zeros;
  std::string word; ///< empty if there are numbers
};

/// Lists have a number for each extent, or one for all.
struct ConvOptions {
  IntList stride = 1;
  ConvPadding padding = 0;
  IntList dilation = 1; ///< the distance of neighbouring elements of a window
  int64_t groups = 1;   ///< outputs of a group see the channels of that group only
};

/// \name torch.nn.functional.conv1d, conv2d, conv3d
/// Cross-correlation: x [batch, channels, extents..], or without the batch; weight [outputs, channels /
/// groups, window..]; bias [outputs] or undefined; all of one dtype, which is the result's. The result is
/// [batch, outputs, extents..], where an extent of L has floor((L + padding - dilation (window - 1) - 1) /
/// stride) + 1 places. Sums of f16 and bf16 are f32, rounded once before the bias is added. Shapes that do
/// not fit, and numbers that are out of range, are an error; an extent that is a `Dim` needs a stride that
/// divides it, as 1 does.
/// @{
WEFT_API Tensor conv1d(const Tensor &x, const Tensor &weight, const Tensor &bias = {},
                       ConvOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor conv2d(const Tensor &x, const Tensor &weight, const Tensor &bias = {},
                       ConvOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor conv3d(const Tensor &x, const Tensor &weight, const Tensor &bias = {},
                       ConvOptions options = {}, Loc loc = Loc::current());
/// @}

struct ConvTransposeOptions {
  IntList stride = 1;
  IntList padding = 0;        ///< as much less than all places that a window reaches, on either side
  IntList output_padding = 0; ///< additional places behind; less than the stride or the dilation
  int64_t groups = 1;
  IntList dilation = 1;
};

/// \name torch.nn.functional.conv_transpose1d, conv_transpose2d, conv_transpose3d
/// The derivative of a convolution with respect to its operand, as a function: x [batch, channels,
/// extents..], or without the batch; weight [channels, outputs / groups, window..]; bias [outputs] or
/// undefined. The result is [batch, outputs, extents..], where an extent of L has (L - 1) stride - 2 padding
/// + dilation (window - 1) + output_padding + 1 places. Errors as of conv2d.
/// @{
WEFT_API Tensor conv_transpose1d(const Tensor &x, const Tensor &weight, const Tensor &bias = {},
                                 ConvTransposeOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor conv_transpose2d(const Tensor &x, const Tensor &weight, const Tensor &bias = {},
                                 ConvTransposeOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor conv_transpose3d(const Tensor &x, const Tensor &weight, const Tensor &bias = {},
                                 ConvTransposeOptions options = {}, Loc loc = Loc::current());
/// @}

} // namespace weft

#endif // WEFT_CONVOLUTION_HPP
