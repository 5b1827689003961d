//===- WinogradTask.h - Blocks of Winograd's method, per level --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile has 4 x 4 places, and reads 6 x 6 elements of the image. These elements and the 3 x 3 weights are
// transformed to 36 numbers each, the factors. Products of factors, added over the channels, are transformed
// to the results of the tile. So a tile takes 36 multiplications instead of 144. In a derivative with respect
// to weights, 4 x 4 gradients stand for the weights, the sum is over the tiles, and the results are 3 x 3.
//
// The transforms evaluate polynomials at the points 0, 3/4, -3/4, 3/2, -3/2 and infinity, and interpolate
// between them. Their squares are exact, and of the sets that were tried these points have the smallest
// errors (docs/numerics.md).
//
// Registers hold neighbouring channels, or outputs, of one factor.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_WINOGRADTASK_H
#define WEFT_RUNTIME_GEMM_WINOGRADTASK_H

#include "runtime/gemm/ConvolutionTask.h"

namespace weft::runtime {

/// Places of a tile along an extent, and the factors of a tile.
inline constexpr int64_t winogradTile = 4, winogradFactors = 36;
/// The most channels that are added before they are added to a sum; and, in a derivative with respect to
/// weights, tiles.
inline constexpr int64_t winogradChannels = 64, winogradTiles = 64;
/// The most tiles that are staged at a time.
inline constexpr int64_t winogradStagedTiles = 64;

/// Channels of images, or gradients.
struct WinogradImages {
  const float *at, *end;               ///< and behind the last element that may be read
  int64_t image, channel, row, column; ///< strides
  int64_t height, width, channels;
  int64_t low[2]; ///< zeros before rows and columns
};

/// Floats of a row of sums or factors.
inline constexpr int64_t winograd_row(int64_t columns) { return (columns + 15) / 16 * 16; }
/// Floats of the factors of one number: rows of `columns`, which a product may cut into panels.
inline constexpr int64_t winograd_plane(int64_t rows, int64_t columns) {
  return (rows + 1) * winograd_row(columns) + 16;
}

/// Tiles [begin, end) of all images, outputs [first, last), channels [channel, last_channel).
struct WinogradTask {
  WinogradImages a;
  WinogradImages gradients; ///< of a derivative with respect to weights: its channels are outputs
  int64_t tiles[2];         ///< of an image
  int64_t begin, end, first, last, channel, last_channel;
  const float *w, *w_end; ///< the element of output 0 and channel 0, and behind the last one
  int64_t w_output, w_channel, w_window[2];
  /// Factors of weights, of the first block of channels of these outputs, and of the operand, of these tiles;
  /// a block is so many floats. In a derivative, the blocks of the operand, and of gradients, are of tiles.
  /// If null, a task makes them for itself.
  float *weight_factors, *operand_factors, *gradient_factors;
  int64_t weight_block, operand_block, gradient_block;
  /// Of y: how many places, or the window, there are, and the strides. `to` has y, its stride of outputs and
  /// the steps.
  int64_t places[2], y_image, y_place[2]; ///< of a derivative, y_image is the stride of channels
  ConvolutionTask to;
  /// Of a derivative: if not null, the sums of products go here, in planes of a factor.
  float *sums;
  int64_t sums_plane;
  float *scratch;
};

struct WinogradTable {
  /// Make the factors of a block: of the operand's tiles, the weights, and in a derivative the gradients.
  void (*transform_operand)(const WinogradTask *task);
  void (*transform_weights)(const WinogradTask *task);
  void (*transform_gradients)(const WinogradTask *task);
  /// The places of tiles.
  void (*places)(const WinogradTask *task);
  /// The derivative with respect to the weights of outputs and channels, or the sums for tiles.
  void (*derivative)(const WinogradTask *task);
  /// That derivative from `blocks` sums, `distance` floats apart.
  void (*add_sums)(const WinogradTask *task, int64_t blocks, int64_t distance);
};
WEFT_RUNTIME_API extern const WinogradTable winogradBaseline, winogradV3, winogradV4;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_WINOGRADTASK_H
