//===- limits.hpp - Limits of ranks and sizes -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LIMITS_HPP
#define WEFT_LIMITS_HPP

#include <cstddef>
#include <cstdint>

namespace weft {

/// The most dimensions that a tensor may have: in programs, text, packages, data files and the C interface.
/// It is the limit of PyTorch and of NumPy.
inline constexpr size_t maxRank = 64;
/// The most multiplications that a matrix product may have. A product with more would not end in a machine's
/// lifetime.
inline constexpr int64_t maxProductWork = int64_t(1) << 62;
/// Features of a query, and of a value, that one launch of attention takes at most: blocks are in scratch.
inline constexpr int64_t maxAttentionColumns = 1024;

/// Limits of one launch of a convolution: places that a window may lie from its operand, or a number be;
/// elements of the padded image along all extents; and remainders of places by base dilations, each of which
/// is a convolution of its own; and the steps after its sums.
inline constexpr int64_t maxConvolutionReach = int64_t(1) << 40, maxConvolutionBox = int64_t(1) << 31,
                         maxConvolutionRemainders = 64, maxConvolutionSteps = 8;

} // namespace weft

#endif // WEFT_LIMITS_HPP
