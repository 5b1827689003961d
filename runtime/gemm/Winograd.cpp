//===- Winograd.cpp - Convolutions by Winograd's method -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/Winograd.h"

#include "runtime/gemm/ContractionBlocks.h"
#include "runtime/threads/Executor.h"

#include <algorithm>

namespace weft::runtime {
namespace {

/// The fewest operations of the work that one thread takes at a time.
constexpr double grainFlops = 1e6;
/// A launch has at least as many tasks, if it has as many blocks.
constexpr int64_t fewTasks = 16;
/// The most tiles and outputs of a task that takes factors of weights from all tasks; and of one that makes
/// them.
constexpr int64_t tilesOfSharedWeights = 32, outputsOfSharedWeights = 256;
constexpr int64_t tilesOfOwnWeights = 128, outputsOfOwnWeights = 64;
/// The most outputs, and channels, of a task of a derivative.
constexpr int64_t derivativeOutputs = 64;
/// The outputs of a task that adds sums.
constexpr int64_t outputsOfSums = 8;
/// Factors that all tasks of a derivative share are at most this many floats, and each is used so many times.
constexpr int64_t mostSharedFactors = 4 << 20, leastUsesOfShared = 4;
/// A register with AVX-512.
constexpr int64_t line = 16;

int64_t pieces(int64_t extent, int64_t piece) { return (extent + piece - 1) / piece; }
int64_t up(int64_t count) { return pieces(count, line) * line; }

const WinogradTable &functions_of(CpuLevel level) {
  switch (level) {
  case CpuLevel::v4:
    return winogradV4;
  case CpuLevel::v3:
    return winogradV3;
  case CpuLevel::baseline:
    break;
  }
  return winogradBaseline;
}

bool is_three(const ConvolutionNumbers &numbers) { return numbers == ConvolutionNumbers{1, 3, 3}; }

/// Pieces of an extent for at least `tasks` tasks, if that leaves whole registers: at most `most`.
int64_t block_of(int64_t extent, int64_t most, int64_t tasks) {
  return std::min(up(extent), std::clamp(up(pieces(extent, tasks)), 2 * line, most));
}

int64_t factors(int64_t rows, int64_t columns) { return winogradFactors * winograd_plane(rows, columns); }

/// Behind the last element of a tensor.
const float *end_of(const float *at, const ConvolutionPlace &place, const std::array<int64_t, 6> &extents) {
  int64_t end = place.offset + 1;
  for (size_t d = 0; d < 6; ++d)
    end += std::max<int64_t>(place.strides[d], 0) * (extents[d] - 1);
  return at + end;
}

} // namespace

bool has_winograd(const ConvolutionShape &s) {
  const ConvolutionNumbers ones = {1, 1, 1};
  return s.dtype == DType::f32 && s.groups == 1 && s.extents[0] == 1 && s.low[0] == 0 && s.window[0] == 1 &&
         s.places[0] == 1 && (is_three(s.window) || is_three(s.places)) && s.stride == ones &&
         s.base_dilation == ones && s.window_dilation == ones;
}

Winograd::Winograd(const ConvolutionShape &shape, CpuLevel level)
    : shape_(shape), functions_(functions_of(level)), derivative_(!is_three(shape.window)) {
  // A derivative has the channels as its batch, and sums over the images.
  channels_ = derivative_ ? shape.batch : shape.channels;
  images_ = derivative_ ? shape.channels : shape.batch;
  outputs_ = shape.outputs;
  const ConvolutionNumbers &image = derivative_ ? shape.window : shape.places;
  for (size_t d = 0; d < 2; ++d)
    tiles_[d] = pieces(image[1 + d], winogradTile);
  all_tiles_ = images_ * tiles_[0] * tiles_[1];
  choose_blocks();
}

void Winograd::choose_blocks() {
  constexpr int64_t ofStages = 4 * 2048 * line; // the stages of a task, generously
  if (derivative_) {
    output_block_ = block_of(outputs_, derivativeOutputs, 1);
    channel_block_ = block_of(channels_, winogradChannels, 1);
    const int64_t output_blocks = pieces(outputs_, output_block_),
                  channel_blocks = pieces(channels_, channel_block_), blocks = output_blocks * channel_blocks,
                  tiles = std::min(all_tiles_, winogradTiles);
    operand_factors_ = factors(tiles, channel_block_);
    gradient_factors_ = factors(tiles, output_block_);
    const double all_factors = static_cast<double>(pieces(all_tiles_, winogradTiles)) *
                               (static_cast<double>(output_blocks) * static_cast<double>(gradient_factors_) +
                                static_cast<double>(channel_blocks) * static_cast<double>(operand_factors_));
    share_factors_ = blocks >= fewTasks && std::min(output_blocks, channel_blocks) >= leastUsesOfShared &&
                     all_factors <= static_cast<double>(mostSharedFactors);
    const int64_t splits = std::min(pieces(fewTasks, blocks), pieces(all_tiles_, winogradTiles));
    tile_block_ = pieces(pieces(all_tiles_, splits), winogradTiles) * winogradTiles;
    const int64_t sums = factors(output_block_, channel_block_);
    if (const int64_t made = pieces(all_tiles_, tile_block_); made > 1)
      shared_floats_ = static_cast<size_t>(made * blocks * sums);
    else if (share_factors_)
      shared_floats_ = static_cast<size_t>(all_factors);
    task_floats_ = static_cast<size_t>(ofStages + sums + factors(winogradTiles, channel_block_) +
                                       factors(winogradTiles, output_block_) + 4 * derivativeOutputs +
                                       4 * winogradTiles);
    return;
  }
  share_weights_ = all_tiles_ >= outputs_;
  channel_block_ = std::min(channels_, winogradChannels);
  const int64_t blocks = pieces(channels_, winogradChannels);
  if (share_weights_) {
    output_block_ = block_of(outputs_, outputsOfSharedWeights, 1);
    tile_block_ = std::clamp<int64_t>(pieces(all_tiles_, fewTasks), 1, tilesOfSharedWeights);
    shared_floats_ = static_cast<size_t>(pieces(outputs_, output_block_) * blocks *
                                         factors(channel_block_, output_block_));
  } else {
    tile_block_ = std::min(all_tiles_, tilesOfOwnWeights);
    output_block_ = block_of(outputs_, outputsOfOwnWeights, fewTasks);
    shared_floats_ =
        static_cast<size_t>(pieces(all_tiles_, tile_block_) * blocks * factors(tile_block_, channel_block_));
  }
  task_floats_ = static_cast<size_t>(
      ofStages + factors(tile_block_, output_block_) +
      (share_weights_ ? factors(tile_block_, channel_block_) : factors(channel_block_, output_block_)));
}

size_t Winograd::scratch_bytes(int width) const {
  return (shared_floats_ + static_cast<size_t>(width) * task_floats_) * sizeof(float);
}

template <typename Body>
void Winograd::for_all(int64_t count, double flops, bool serial, const Body &body) const {
  const auto grain = static_cast<int64_t>(grainFlops * static_cast<double>(count) / std::max(flops, 1.0));
  const auto run = [&](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i)
      body(i, worker);
  };
  if (serial || flops < serialFlops)
    run(0, count, 0);
  else
    executor().parallel_for(count, std::clamp<int64_t>(grain, 1, count), run);
}

/// What all tasks have in common.
Winograd::Call Winograd::call_of(const float *a, const float *w, float *y, const void *const *beside) const {
  const ConvolutionShape &s = shape_;
  Call call = {};
  WinogradTask &task = call.task;
  const auto images = [&](const float *at, const ConvolutionPlace &place,
                          const std::array<int64_t, 6> &extents, size_t image, size_t channel) {
    return WinogradImages{at + place.offset,    end_of(at, place, extents),
                          place.strides[image], place.strides[channel],
                          place.strides[4],     place.strides[5],
                          extents[4],           extents[5],
                          extents[channel],     {0, 0}};
  };
  task.a = images(a, s.a, s.a_extents(), derivative_ ? 2 : 0, derivative_ ? 0 : 2);
  for (size_t d = 0; d < 2; ++d) {
    task.a.low[d] = s.low[1 + d];
    task.tiles[d] = tiles_[d];
    task.places[d] = s.places[1 + d];
    task.y_place[d] = s.y.strides[4 + d];
    task.w_window[d] = s.w.strides[4 + d];
  }
  if (derivative_)
    task.gradients = images(w, s.w, s.w_extents(), 2, 1);
  task.w = w + s.w.offset;
  task.w_end = end_of(w, s.w, s.w_extents());
  task.w_output = s.w.strides[1];
  task.w_channel = s.w.strides[2];
  task.y_image = s.y.strides[0];
  task.end = all_tiles_;
  task.last = outputs_;
  task.last_channel = channels_;
  task.to.y = y + s.y.offset;
  task.to.y_output = s.y.strides[2];
  task.to.last = outputs_;
  for (const ConvolutionStep step : s.steps) {
    const float *from = reads_operand(step) ? static_cast<const float *>(*beside++) : nullptr;
    if (step == ConvolutionStep::residual)
      from += s.y.offset;
    task.to.steps[task.to.step_count++] = {step, from};
  }
  return call;
}

void Winograd::run(const void *a, const void *w, void *y, const void *const *beside, void *scratch,
                   bool serial) const {
  Call call =
      call_of(static_cast<const float *>(a), static_cast<const float *>(w), static_cast<float *>(y), beside);
  call.scratch = static_cast<float *>(scratch);
  call.serial = serial;
  if (derivative_)
    run_derivative(call);
  else
    run_places(call);
}

void Winograd::run_places(const Call &call) const {
  const int64_t tile_blocks = pieces(all_tiles_, tile_block_),
                output_blocks = pieces(outputs_, output_block_), blocks = pieces(channels_, winogradChannels),
                distance = share_weights_ ? factors(channel_block_, output_block_)
                                          : factors(tile_block_, channel_block_);
  // A task of tiles [begin, end), or all, and outputs, with the factors that are shared.
  const auto task_of = [&](int64_t tile_block, int64_t output_block) {
    WinogradTask task = call.task;
    task.begin = tile_block * tile_block_;
    task.end = std::min(task.begin + tile_block_, all_tiles_);
    task.first = output_block * output_block_;
    task.last = std::min(task.first + output_block_, outputs_);
    task.to.last = task.last;
    (share_weights_ ? task.weight_factors : task.operand_factors) =
        call.scratch + (share_weights_ ? output_block : tile_block) * blocks * distance;
    (share_weights_ ? task.weight_block : task.operand_block) = distance;
    return task;
  };
  const auto scratch_of = [&](int worker) {
    return call.scratch + shared_floats_ + static_cast<size_t>(worker) * task_floats_;
  };
  const double products =
      2.0 * winogradFactors * static_cast<double>(all_tiles_ * channels_) * static_cast<double>(outputs_);
  const double transforms =
      500.0 * static_cast<double>(channels_) * static_cast<double>(share_weights_ ? outputs_ : all_tiles_);
  for_all((share_weights_ ? output_blocks : tile_blocks) * blocks, transforms, call.serial,
          [&](int64_t number, int worker) {
            const int64_t block = number % blocks, of = number / blocks;
            WinogradTask task = share_weights_ ? task_of(0, of) : task_of(of, 0);
            task.channel = block * winogradChannels;
            task.last_channel = std::min(task.channel + winogradChannels, channels_);
            task.scratch = scratch_of(worker);
            if (share_weights_) {
              task.weight_factors += block * distance;
              functions_.transform_weights(&task);
            } else {
              task.operand_factors += block * distance;
              functions_.transform_operand(&task);
            }
          });
  for_all(tile_blocks * output_blocks, products, call.serial, [&](int64_t number, int worker) {
    WinogradTask task = task_of(number / output_blocks, number % output_blocks);
    task.scratch = scratch_of(worker);
    functions_.places(&task);
  });
}

/// Makes the factors of all blocks of channels, then of outputs: of each, a block of tiles after the other.
void Winograd::share_factors(const Call &call) const {
  const int64_t channel_blocks = pieces(channels_, channel_block_),
                output_blocks = pieces(outputs_, output_block_), parts = pieces(all_tiles_, winogradTiles);
  const double transforms = 200.0 * static_cast<double>(all_tiles_ * (channels_ + outputs_));
  for_all((channel_blocks + output_blocks) * parts, transforms, call.serial, [&](int64_t number, int worker) {
    const int64_t block = number / parts, part = number % parts;
    WinogradTask task = call.task;
    task.begin = part * winogradTiles;
    task.end = std::min(task.begin + winogradTiles, all_tiles_);
    task.scratch = call.scratch + shared_floats_ + static_cast<size_t>(worker) * task_floats_;
    if (block < channel_blocks) {
      task.channel = block * channel_block_;
      task.last_channel = std::min(task.channel + channel_block_, channels_);
      task.operand_factors = call.scratch + number * operand_factors_;
      return functions_.transform_operand(&task);
    }
    task.first = (block - channel_blocks) * output_block_;
    task.last = std::min(task.first + output_block_, outputs_);
    task.gradient_factors = call.scratch + channel_blocks * parts * operand_factors_ +
                            (number - channel_blocks * parts) * gradient_factors_;
    functions_.transform_gradients(&task);
  });
}

void Winograd::run_derivative(const Call &call) const {
  const int64_t tile_blocks = pieces(all_tiles_, tile_block_),
                output_blocks = pieces(outputs_, output_block_),
                channel_blocks = pieces(channels_, channel_block_), blocks = output_blocks * channel_blocks,
                sums = factors(output_block_, channel_block_);
  const auto task_of = [&](int64_t block, int64_t tile_block) {
    WinogradTask task = call.task;
    task.first = block / channel_blocks * output_block_;
    task.last = std::min(task.first + output_block_, outputs_);
    task.channel = block % channel_blocks * channel_block_;
    task.last_channel = std::min(task.channel + channel_block_, channels_);
    task.begin = tile_block * tile_block_;
    task.end = std::min(task.begin + tile_block_, all_tiles_);
    task.sums_plane = winograd_plane(task.last - task.first, task.last_channel - task.channel);
    if (share_factors_) {
      task.operand_block = operand_factors_;
      task.gradient_block = gradient_factors_;
      task.operand_factors =
          call.scratch + block % channel_blocks * pieces(all_tiles_, winogradTiles) * operand_factors_;
      task.gradient_factors =
          call.scratch + pieces(all_tiles_, winogradTiles) *
                             (channel_blocks * operand_factors_ + block / channel_blocks * gradient_factors_);
    }
    if (tile_blocks > 1)
      task.sums = call.scratch + (tile_block * blocks + block) * sums;
    return task;
  };
  const double products =
      2.0 * winogradFactors * static_cast<double>(all_tiles_ * channels_) * static_cast<double>(outputs_);
  if (share_factors_)
    share_factors(call);
  for_all(blocks * tile_blocks, products, call.serial, [&](int64_t number, int worker) {
    WinogradTask task = task_of(number / tile_blocks, number % tile_blocks);
    task.scratch = call.scratch + shared_floats_ + static_cast<size_t>(worker) * task_floats_;
    functions_.derivative(&task);
  });
  if (tile_blocks == 1)
    return;
  const int64_t parts = pieces(output_block_, outputsOfSums);
  for_all(blocks * parts, static_cast<double>(blocks * tile_blocks * sums), call.serial,
          [&](int64_t number, int) {
            WinogradTask task = task_of(number / parts, 0);
            const int64_t skipped = number % parts * outputsOfSums;
            task.first += skipped;
            task.sums += skipped * winograd_row(task.last_channel - task.channel);
            task.last = std::min(task.last, task.first + outputsOfSums);
            functions_.add_sums(&task, tile_blocks, blocks * sums);
          });
}

} // namespace weft::runtime
