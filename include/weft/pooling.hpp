//===- pooling.hpp - Pooling over windows ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of torch.nn.functional. Operands are [batch, channels, extents..], or without the batch, and
// the result has the same dtype. Windows lie along the extents, whose sizes are known when a function is
// compiled, apart from adaptive means; the other dimensions may be a `Dim`. Lists have a number for each
// extent, or one for all. Numbers that are out of range are an error.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_POOLING_HPP
#define WEFT_POOLING_HPP

#include "weft/tensor.hpp"

#include <optional>

namespace weft {

struct MaxPoolOptions {
  IntList stride = {};    ///< empty: the size of the window
  IntList padding = 0;    ///< places on either side that are never the maximum; at most half of a window
  IntList dilation = 1;   ///< the distance of neighbouring elements of a window
  bool ceil_mode = false; ///< a window that ends behind the padding counts, if it does not begin there
};

/// \name The largest element of each window
/// NaN is larger than numbers. Of equal elements the first is chosen, and the gradient flows to it alone.
/// @{
WEFT_API Tensor max_pool1d(const Tensor &x, IntList kernel_size, MaxPoolOptions options = {},
                           Loc loc = Loc::current());
WEFT_API Tensor max_pool2d(const Tensor &x, IntList kernel_size, MaxPoolOptions options = {},
                           Loc loc = Loc::current());
WEFT_API Tensor max_pool3d(const Tensor &x, IntList kernel_size, MaxPoolOptions options = {},
                           Loc loc = Loc::current());
/// The indices (i64) are those of the elements in the row-major extents of the operand.
WEFT_API ValuesIndices max_pool1d_with_indices(const Tensor &x, IntList kernel_size,
                                               MaxPoolOptions options = {}, Loc loc = Loc::current());
WEFT_API ValuesIndices max_pool2d_with_indices(const Tensor &x, IntList kernel_size,
                                               MaxPoolOptions options = {}, Loc loc = Loc::current());
WEFT_API ValuesIndices max_pool3d_with_indices(const Tensor &x, IntList kernel_size,
                                               MaxPoolOptions options = {}, Loc loc = Loc::current());
/// @}

struct AvgPoolOptions {
  IntList stride = {};           ///< empty: the size of the window
  IntList padding = 0;           ///< zeros on either side; at most half of a window
  bool ceil_mode = false;        ///< a window that ends behind the padding counts, if it does not begin there
  bool count_include_pad = true; ///< whether zeros of the padding count as elements
  std::optional<int64_t> divisor_override = {}; ///< the number of elements, whatever it is
};

/// \name The mean of each window, of a floating-point dtype; f16 and bf16 are computed in f32 and rounded
/// once
/// @{
WEFT_API Tensor avg_pool1d(const Tensor &x, IntList kernel_size, AvgPoolOptions options = {},
                           Loc loc = Loc::current());
WEFT_API Tensor avg_pool2d(const Tensor &x, IntList kernel_size, AvgPoolOptions options = {},
                           Loc loc = Loc::current());
WEFT_API Tensor avg_pool3d(const Tensor &x, IntList kernel_size, AvgPoolOptions options = {},
                           Loc loc = Loc::current());
/// @}

/// \name Windows that divide each extent evenly
/// Place i of an extent of L with n places has the elements from floor(i L / n) to ceil((i + 1) L / n). A
/// size of -1 is that of the operand. Means of one place, or of as many as there are, take extents that are a
/// `Dim`.
/// @{
WEFT_API Tensor adaptive_avg_pool1d(const Tensor &x, IntList output_size, Loc loc = Loc::current());
WEFT_API Tensor adaptive_avg_pool2d(const Tensor &x, IntList output_size, Loc loc = Loc::current());
WEFT_API Tensor adaptive_avg_pool3d(const Tensor &x, IntList output_size, Loc loc = Loc::current());
WEFT_API Tensor adaptive_max_pool1d(const Tensor &x, IntList output_size, Loc loc = Loc::current());
WEFT_API Tensor adaptive_max_pool2d(const Tensor &x, IntList output_size, Loc loc = Loc::current());
WEFT_API Tensor adaptive_max_pool3d(const Tensor &x, IntList output_size, Loc loc = Loc::current());
WEFT_API ValuesIndices adaptive_max_pool1d_with_indices(const Tensor &x, IntList output_size,
                                                        Loc loc = Loc::current());
WEFT_API ValuesIndices adaptive_max_pool2d_with_indices(const Tensor &x, IntList output_size,
                                                        Loc loc = Loc::current());
WEFT_API ValuesIndices adaptive_max_pool3d_with_indices(const Tensor &x, IntList output_size,
                                                        Loc loc = Loc::current());
/// @}

} // namespace weft

#endif // WEFT_POOLING_HPP
