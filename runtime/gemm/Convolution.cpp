//===- Convolution.cpp - Convolutions without a matrix of windows ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/Convolution.h"

#include "runtime/gemm/ContractionBlocks.h"
#include "runtime/gemm/Winograd.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace weft::runtime {
namespace {

/// The fewest operations of the work that one thread takes at a time.
constexpr double grainFlops = 1e6;
/// A launch has at least as many tasks, if it has as many blocks.
constexpr int64_t fewTasks = 16;
/// The most floats of sums of blocks of terms.
constexpr int64_t mostSums = 4 << 20;
/// A register with AVX-512, and the line of a cache.
constexpr int64_t line = 16;

int64_t pieces(int64_t extent, int64_t piece) { return (extent + piece - 1) / piece; }
int64_t up(int64_t count) { return pieces(count, line) * line; }
int64_t product(const ConvolutionNumbers &numbers) { return numbers[0] * numbers[1] * numbers[2]; }

const ConvolutionTable &functions_of(CpuLevel level) {
  switch (level) {
  case CpuLevel::v4:
    return convolutionV4;
  case CpuLevel::v3:
    return convolutionV3;
  case CpuLevel::baseline:
    break;
  }
  return convolutionBaseline;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Of a window: the first element that meets elements of the operand, and not zeros between them, at places
/// of this remainder; the distance to the next one; and how many there are.
struct Phase {
  int64_t first = 0, step = 1, count = 0;
};

Phase phase_of(const ConvolutionShape &s, size_t d, int64_t remainder) {
  Phase phase;
  const int64_t base = s.base_dilation[d];
  const auto meets = [&](int64_t k) { return (remainder + k * s.window_dilation[d] - s.low[d]) % base == 0; };
  // Remainders repeat after at most `base` elements.
  while (phase.first < std::min(base, s.window[d]) && !meets(phase.first))
    ++phase.first;
  if (phase.first == std::min(base, s.window[d]))
    return {};
  while (!meets(phase.first + phase.step))
    ++phase.step;
  phase.count = pieces(s.window[d] - phase.first, phase.step);
  return phase;
}

/// The part of a dilated convolution with places of these remainders.
ConvolutionShape part_of(const ConvolutionShape &s, const ConvolutionNumbers &remainders) {
  ConvolutionShape part = s;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t base = s.base_dilation[d];
    if (base == 1)
      continue;
    const Phase phase = phase_of(s, d, remainders[d]);
    part.base_dilation[d] = 1;
    part.places[d] = pieces(s.places[d] - remainders[d], base);
    part.y.offset += remainders[d] * s.y.strides[3 + d];
    part.y.strides[3 + d] *= base;
    part.window[d] = phase.count;
    part.w.offset += phase.first * s.w.strides[3 + d];
    part.w.strides[3 + d] *= phase.step;
    part.window_dilation[d] = phase.step * s.window_dilation[d] / base;
    part.low[d] = -(remainders[d] + phase.first * s.window_dilation[d] - s.low[d]) / base;
  }
  return part;
}

std::vector<ConvolutionShape> parts_of(const ConvolutionShape &s) {
  std::vector<ConvolutionShape> parts;
  ConvolutionNumbers count;
  for (size_t d = 0; d < 3; ++d)
    count[d] = std::min(s.base_dilation[d], s.places[d]);
  for (int64_t z = 0; z < count[0]; ++z)
    for (int64_t y = 0; y < count[1]; ++y)
      for (int64_t x = 0; x < count[2]; ++x)
        parts.push_back(part_of(s, {z, y, x}));
  return parts;
}

/// How long chains are, but for the last one.
int64_t chain_of(int64_t terms) {
  const int64_t chains = pieces(terms, convolutionChain);
  return chains < 2 ? std::max<int64_t>(terms, 1) : up(pieces(terms, chains));
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

ConvolutionAxis places_of(const ConvolutionShape &s) {
  return {s.batch,
          s.a.strides[0],
          {s.places[0], s.places[1], s.places[2]},
          {s.stride[0], s.stride[1], s.stride[2]}};
}

ConvolutionAxis terms_of(const ConvolutionShape &s) {
  return {s.channels,
          s.a.strides[2],
          {s.window[0], s.window[1], s.window[2]},
          {s.window_dilation[0], s.window_dilation[1], s.window_dilation[2]}};
}

ConvolutionWindows windows_of(const ConvolutionPart &part) {
  const ConvolutionShape &s = part.shape;
  ConvolutionWindows windows = {};
  for (size_t d = 0; d < 3; ++d) {
    windows.size[d] = s.extents[d];
    windows.stride[d] = s.a.strides[3 + d];
    windows.low[d] = s.low[d];
  }
  windows.inner = part.terms_inner ? terms_of(s) : places_of(s);
  windows.outer = part.terms_inner ? places_of(s) : terms_of(s);
  return windows;
}

/// How many planes `count` positions are in at most, and the floats of the box of one of them: more than
/// 2^62 floats are that many.
struct StageSize {
  int64_t planes;
  double box;
};

StageSize stage_of(const ConvolutionWindows &w, int64_t count) {
  const ConvolutionAxis &inner = w.inner, &outer = w.outer;
  const auto spanned = [](int64_t positions, int64_t size) {
    return positions < 2 ? int64_t(1) : (positions - 2) / size + 2;
  };
  const auto size = [&](int d, int64_t extent) {
    return static_cast<double>((extent - 1) * inner.step[d] + (outer.extent[d] - 1) * outer.step[d] + 1);
  };
  const int64_t *extent = inner.extent, plane = extent[0] * extent[1] * extent[2];
  const int64_t positions = std::min(count, plane), all_rows = extent[0] * extent[1];
  const int64_t rows = std::min(all_rows, spanned(positions, extent[2]));
  const int64_t slices = std::min(extent[0], spanned(rows, extent[1]));
  const double x = size(2, rows > 1 ? extent[2] : std::min(positions, extent[2]));
  const double y = size(1, slices > 1 ? extent[1] : std::min(rows, extent[1]));
  const auto step = static_cast<double>(inner.step[2]);
  return {std::min(inner.planes, spanned(count, plane)), size(0, slices) * y * std::ceil(x / step) * step};
}

/// How many planes of the outer axis are staged at a time.
double staged_planes(const ConvolutionPart &part) {
  if (!part.direct && !part.staged)
    return 1;
  const ConvolutionShape &s = part.shape;
  const int64_t positions = part.terms_inner ? part.place_block : part.chain;
  const int64_t plane = part.terms_inner ? product(s.places) : part.window_terms;
  const int64_t planes = positions < 2 ? 1 : (positions - 2) / plane + 2;
  return static_cast<double>(std::min(part.terms_inner ? s.batch : s.channels, planes));
}

/// Floats of scratch of a task.
double task_floats(const ConvolutionPart &part) {
  const ConvolutionWindows windows = windows_of(part);
  const int64_t inner = part.terms_inner ? part.chain : part.place_block;
  const StageSize stage = stage_of(windows, inner);
  const int64_t lines = up(part.terms_inner ? part.output_block : part.place_block);
  const int64_t rows = part.terms_inner ? part.place_block : part.output_block;
  // Boxes, runs, offsets and panels, rounded up generously.
  const int64_t tables = 48 * (inner + line) + 2 * (part.chain + mostOuterPlaces + 2 * line);
  int64_t copies = 0;
  if (part.terms_inner || !part.direct)
    copies += (up(part.chain) + 1) * (lines + line);
  if (part.terms_inner && !part.direct)
    copies += (rows + 1) * up(part.chain);
  return staged_planes(part) * static_cast<double>(stage.planes) * stage.box +
         static_cast<double>(tables + copies + lines * rows + 8 * line);
}

/// Whether a stage of all outer planes of a block stays in the second cache.
bool fits_stage(const ConvolutionPart &part) {
  constexpr double mostFloats = 96 << 10;
  ConvolutionPart made = part;
  made.direct = true;
  const StageSize stage = stage_of(windows_of(part), part.terms_inner ? part.chain : part.place_block);
  return part.terms > 0 && staged_planes(made) * static_cast<double>(stage.planes) * stage.box <= mostFloats;
}

/// Whether windows are multiplied in the stage: then registers have places of one row.
bool is_direct(const ConvolutionPart &part) {
  return (part.terms_inner || part.shape.places[2] % line == 0) && fits_stage(part);
}

/// Blocks of at most `most`, as many as there have to be for `fewest` blocks, but not smaller than `least`.
int64_t block_of(int64_t extent, int64_t most, int64_t least, int64_t fewest) {
  const int64_t block = std::clamp(pieces(extent, std::max<int64_t>(fewest, 1)), least, most);
  return std::min(extent, pieces(block, least) * least);
}

void choose_blocks(ConvolutionPart &part) {
  const ConvolutionShape &s = part.shape;
  const int64_t places = part.all_places();
  const bool few = s.outputs <= (part.terms_inner ? fewOuterPlaceOutputs : fewInnerPlaceOutputs);
  part.place_block = std::min(places, part.terms_inner ? mostOuterPlaces : mostInnerPlaces);
  part.direct = few && is_direct(part);
  if (!part.direct) {
    part.place_block = std::min(places, part.terms_inner ? outerPlaces : innerPlaces);
    part.direct = is_direct(part);
  }
  part.staged = !part.direct && !part.terms_inner && fits_stage(part);
  part.place_blocks = pieces(places, part.place_block);
  const int64_t wanted = pieces(fewTasks, part.place_blocks * s.groups);
  // Blocks of outputs are whole tiles of rows, or whole registers.
  part.output_block = part.terms_inner ? block_of(s.outputs, outerPlaceOutputs, 64, wanted)
                                       : block_of(s.outputs, innerPlaceOutputs, 48, wanted);
  part.output_blocks = pieces(s.outputs, part.output_block);
  part.term_block = std::max<int64_t>(part.terms, 1);
  if (!part.terms_inner)
    return;
  const int64_t chains = pieces(part.terms, part.chain), sums = s.groups * places * s.outputs;
  int64_t blocks = std::min(chains, pieces(fewTasks, part.tasks()));
  blocks = std::max<int64_t>(1, std::min(blocks, mostSums / std::max<int64_t>(sums, 1)));
  part.term_block = pieces(chains, blocks) * part.chain;
  part.term_blocks = pieces(part.terms, part.term_block);
}

/// Whether the weights of an output lie as the row of its terms.
bool has_rows_of_terms(const ConvolutionShape &s) {
  int64_t step = 1;
  for (const size_t d : {5, 4, 3, 2}) {
    const int64_t extent = s.w_extents()[d];
    if (extent > 1 && s.w.strides[d] != step)
      return false;
    step *= extent;
  }
  return true;
}

} // namespace

bool convolution_supports(DType dtype) { return dtype == DType::f32; }

Convolution::Convolution(const ConvolutionShape &shape, CpuLevel level)
    : shape_(shape), functions_(functions_of(level)), a_end_(shape.a.offset + 1) {
  for (size_t d = 0; d < 6; ++d)
    a_end_ += std::max<int64_t>(shape.a.strides[d], 0) * (shape.a_extents()[d] - 1);
  if (shape.winograd) {
    winograd_ = std::make_shared<Winograd>(shape, level);
    return;
  }
  for (const ConvolutionShape &each : parts_of(shape)) {
    ConvolutionPart part;
    part.shape = each;
    part.window_terms = product(each.window);
    part.terms = each.channels * part.window_terms;
    part.chain = chain_of(part.terms);
    part.terms_inner = !shape.is_dilated() && part.window_terms > product(each.places);
    choose_blocks(part);
    if (part.terms_inner && part.term_blocks > 1) {
      part.sums = shared_floats_;
      shared_floats_ +=
          static_cast<size_t>(up(part.term_blocks * each.groups * part.all_places() * each.outputs));
    } else if (!part.terms_inner && (shape.is_dilated() || !has_rows_of_terms(each))) {
      part.packed = true;
      part.weights = shared_floats_;
      shared_floats_ += static_cast<size_t>(up(each.groups * each.outputs * part.terms));
    }
    task_floats_ = std::max(task_floats_, static_cast<size_t>(task_floats(part)));
    flops_ += 2.0 * static_cast<double>(part.all_places() * each.groups * each.outputs) *
              static_cast<double>(part.terms);
    parts_.push_back(part);
  }
  task_floats_ = (task_floats_ + line - 1) / line * line;
}

size_t Convolution::scratch_bytes(int width) const {
  if (winograd_)
    return winograd_->scratch_bytes(width);
  return (shared_floats_ + static_cast<size_t>(width) * task_floats_) * sizeof(float);
}

template <typename Body>
void Convolution::for_all(int64_t count, double flops, const Call &call, const Body &body) const {
  const auto grain = static_cast<int64_t>(grainFlops * static_cast<double>(count) / std::max(flops, 1.0));
  const auto run = [&](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i)
      body(i, worker);
  };
  if (call.serial || flops_ < serialFlops)
    run(0, count, 0);
  else
    executor().parallel_for(count, std::clamp<int64_t>(grain, 1, count), run);
}

/// The weights of each output as a row of terms. False if one of them, of a dilated convolution, is infinite
/// or NaN.
bool Convolution::pack_weights(const ConvolutionPart &part, const Call &call) const {
  // Squares of outputs and channels, since either may be far apart in memory.
  constexpr int64_t square = 16;
  const bool checked = shape_.is_dilated();
  std::atomic<bool> finite{true};
  const ConvolutionShape &s = part.shape;
  const std::array<int64_t, 6> &strides = s.w.strides;
  std::vector<int64_t> window;
  for (int64_t z = 0; z < s.window[0]; ++z)
    for (int64_t y = 0; y < s.window[1]; ++y)
      for (int64_t x = 0; x < s.window[2]; ++x)
        window.push_back(z * strides[3] + y * strides[4] + x * strides[5]);
  const int64_t blocks = pieces(s.outputs, square);
  const auto pack = [&](int64_t number, int) {
    const int64_t group = number / blocks, first = number % blocks * square,
                  last = std::min(first + square, s.outputs);
    bool all_finite = true;
    for (int64_t channel = 0; channel < s.channels; channel += square)
      for (int64_t o = first; o < last; ++o) {
        const float *from = call.w + s.w.offset + group * strides[0] + o * strides[1];
        float *const to_begin = call.scratch + part.weights +
                                ((group * s.outputs + o) * s.channels + channel) * part.window_terms;
        float *to = to_begin;
        for (int64_t c = channel; c < std::min(channel + square, s.channels); ++c) {
          if (part.terms > 0 && c + square < s.channels) // of the next square
            __builtin_prefetch(from + (c + square) * strides[2] + window.back());
          for (const int64_t offset : window)
            *to++ = from[c * strides[2] + offset];
        }
        for (const float *weight = to_begin; checked && weight != to; ++weight)
          all_finite &= std::abs(*weight) <= std::numeric_limits<float>::max();
      }
    if (!all_finite)
      finite = false;
  };
  for_all(s.groups * blocks, 8.0 * static_cast<double>(s.groups * s.outputs * part.terms), call, pack);
  return finite;
}

/// What all tasks of a group have in common.
ConvolutionTask Convolution::task_of(const ConvolutionPart &part, int64_t group, const Call &call) const {
  const ConvolutionShape &s = part.shape;
  ConvolutionTask task = {};
  task.windows = windows_of(part);
  task.windows.image = call.a + s.a.offset + group * s.a.strides[1];
  task.windows.end = call.a + a_end_;
  task.chain = part.chain;
  task.direct = part.direct;
  task.staged = part.staged;
  task.y = call.y + s.y.offset + group * s.y.strides[1];
  task.y_output = s.y.strides[2];
  task.y_place[0] = s.y.strides[0];
  task.w_term[0] = s.w.strides[2];
  for (size_t d = 0; d < 3; ++d) {
    task.y_place[1 + d] = s.y.strides[3 + d];
    task.w_term[1 + d] = s.w.strides[3 + d];
  }
  const void *const *beside = call.beside;
  for (const ConvolutionStep step : s.steps) {
    const float *from = reads_operand(step) ? static_cast<const float *>(*beside++) : nullptr;
    if (step == ConvolutionStep::residual)
      from += s.y.offset + group * s.y.strides[1];
    else if (from)
      from += group * s.outputs;
    task.steps[task.step_count++] = {step, from};
  }
  return task;
}

void Convolution::run_task(const ConvolutionPart &part, int64_t number, const Call &call, int worker) const {
  const ConvolutionShape &s = part.shape;
  const int64_t output_block = number % part.output_blocks;
  number /= part.output_blocks;
  const int64_t place_block = number % part.place_blocks;
  number /= part.place_blocks;
  const int64_t group = number % s.groups, term_block = number / s.groups;
  ConvolutionTask task = task_of(part, group, call);
  task.begin = place_block * part.place_block;
  task.end = std::min(task.begin + part.place_block, part.all_places());
  task.first = output_block * part.output_block;
  task.last = std::min(task.first + part.output_block, s.outputs);
  task.k_begin = term_block * part.term_block;
  task.k_end = std::min(task.k_begin + part.term_block, part.terms);
  task.scratch = call.scratch + shared_floats_ + static_cast<size_t>(worker) * task_floats_;
  task.w = call.w + s.w.offset + group * s.w.strides[0];
  task.w_output = s.w.strides[1];
  if (!part.terms_inner) {
    if (part.packed) {
      task.w = call.scratch + part.weights + group * s.outputs * part.terms;
      task.w_output = part.terms;
    }
    return functions_.places_inner(&task);
  }
  task.w_run = 1;
  for (size_t d = 3; d-- > 0 && (s.window[d] == 1 || s.w.strides[3 + d] == task.w_run);)
    task.w_run *= s.window[d];
  if (part.term_blocks > 1) {
    task.sums = call.scratch + part.sums + (term_block * s.groups + group) * part.all_places() * s.outputs;
    task.sums_row = s.outputs;
  }
  functions_.terms_inner(&task);
}

/// Adds the sums of blocks of terms in their order.
void Convolution::add_sums(const ConvolutionPart &part, const Call &call) const {
  const ConvolutionShape &s = part.shape;
  constexpr int64_t block = 64;
  const int64_t places = part.all_places(), blocks = pieces(places, block);
  for_all(s.groups * blocks, static_cast<double>(part.term_blocks * s.groups * places * s.outputs), call,
          [&](int64_t number, int) {
            const int64_t group = number / blocks;
            ConvolutionTask task = task_of(part, group, call);
            task.begin = number % blocks * block;
            task.end = std::min(task.begin + block, places);
            task.last = s.outputs;
            task.sums = call.scratch + part.sums + group * places * s.outputs;
            task.sums_row = s.outputs;
            functions_.add_sums(&task, part.term_blocks, s.groups * places * s.outputs);
          });
}

/// The same chains, without the terms that lie in the padding.
void Convolution::run_term_by_term(const ConvolutionPart &part, const Call &call) const {
  const ConvolutionShape &s = part.shape;
  const std::array<int64_t, 6> &as = s.a.strides, &ws = s.w.strides, &ys = s.y.strides;
  const auto compute = [&](const ConvolutionTask &task, int64_t b, int64_t g, int64_t o,
                           const ConvolutionNumbers &p) {
    const float *a = call.a + s.a.offset + b * as[0] + g * as[1],
                *w = call.w + s.w.offset + g * ws[0] + o * ws[1];
    float sum = 0, chain = 0;
    for (int64_t term = 0; term < part.terms; ++term) {
      const int64_t c = term / part.window_terms, i = term % part.window_terms;
      const ConvolutionNumbers k = {i / s.window[2] / s.window[1], i / s.window[2] % s.window[1],
                                    i % s.window[2]};
      int64_t from = c * as[2], by = c * ws[2];
      bool meets = true;
      for (size_t d = 0; d < 3; ++d) {
        const int64_t at = p[d] * s.stride[d] + k[d] * s.window_dilation[d] - s.low[d];
        meets = meets && at >= 0 && at < s.extents[d];
        from += at * as[3 + d];
        by += k[d] * ws[3 + d];
      }
      if (meets)
        chain = std::fma(a[from], w[by], chain);
      if ((term + 1) % part.chain == 0 || term + 1 == part.terms) {
        sum = term < part.chain ? chain : sum + chain;
        chain = 0;
      }
    }
    const int64_t to = b * ys[0] + o * ys[2] + p[0] * ys[3] + p[1] * ys[4] + p[2] * ys[5];
    task.y[to] = functions_.finish(&task, o, to, sum);
  };
  const int64_t rows = s.batch * s.groups * s.outputs;
  for_all(rows, flops_, call, [&](int64_t row, int) {
    const int64_t o = row % s.outputs, g = row / s.outputs % s.groups, b = row / s.outputs / s.groups;
    const ConvolutionTask task = task_of(part, g, call);
    for (int64_t z = 0; z < s.places[0]; ++z)
      for (int64_t y = 0; y < s.places[1]; ++y)
        for (int64_t x = 0; x < s.places[2]; ++x)
          compute(task, b, g, o, {z, y, x});
  });
}

void Convolution::run(const void *a, const void *w, void *y, const void *const *beside, void *scratch,
                      bool serial) const {
  if (winograd_)
    return winograd_->run(a, w, y, beside, scratch, serial);
  const Call call = {static_cast<const float *>(a),
                     static_cast<const float *>(w),
                     static_cast<float *>(y),
                     static_cast<float *>(scratch),
                     beside,
                     serial};
  bool finite = true;
  for (const ConvolutionPart &part : parts_)
    if (part.packed)
      finite &= pack_weights(part, call);
  if (!finite) {
    // A block multiplies the padding by zero. That is right for finite weights alone, because the zeros
    // around a dilated operand are not elements.
    for (const ConvolutionPart &part : parts_)
      run_term_by_term(part, call);
    return;
  }
  int64_t tasks = 0;
  for (const ConvolutionPart &part : parts_)
    tasks += part.tasks();
  for_all(tasks, flops_, call, [&](int64_t number, int worker) {
    for (const ConvolutionPart &part : parts_) {
      if (number < part.tasks())
        return run_task(part, number, call, worker);
      number -= part.tasks();
    }
  });
  for (const ConvolutionPart &part : parts_)
    if (part.term_blocks > 1)
      add_sums(part, call);
}

} // namespace weft::runtime
