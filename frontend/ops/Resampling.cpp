//===- Resampling.cpp - Images of other sizes -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/resampling.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Extents.h"
#include "frontend/ops/Term.h"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/pooling.hpp"
#include "weft/reduce.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

using namespace frontend;

namespace {

/// Where the elements of one extent of the result come from: `taps` elements of the operand for each.
struct Taps {
  std::vector<std::vector<int64_t>> places; ///< by tap
  std::vector<std::vector<double>> weights;
};

/// How places of the result are places of the operand, computed in the precision of the operand.
struct Scale {
  double factor;
  bool aligned, isDouble;

  double round(double x) const { return isDouble ? x : static_cast<double>(static_cast<float>(x)); }
  double centre(int64_t place) const {
    const auto at = static_cast<double>(place);
    return aligned ? round(at * factor) : round(round(round(at + 0.5) * factor) - 0.5);
  }
};

Taps nearestTaps(const Scale &scale, int64_t from, int64_t to, bool isExact) {
  Taps taps{{{}}, {{}}};
  for (int64_t i = 0; i < to; ++i) {
    const double at = scale.round((static_cast<double>(i) + (isExact ? 0.5 : 0)) * scale.factor);
    taps.places[0].push_back(std::min(static_cast<int64_t>(std::floor(at)), from - 1));
    taps.weights[0].push_back(1);
  }
  return taps;
}

Taps linearTaps(const Scale &scale, int64_t from, int64_t to) {
  Taps taps{{{}, {}}, {{}, {}}};
  for (int64_t i = 0; i < to; ++i) {
    const double at = std::max(scale.centre(i), 0.0);
    const int64_t low = std::min(static_cast<int64_t>(at), from - 1);
    const double weight = std::clamp(scale.round(at - static_cast<double>(low)), 0.0, 1.0);
    taps.places[0].push_back(low);
    taps.places[1].push_back(std::min(low + 1, from - 1));
    taps.weights[0].push_back(scale.round(1 - weight));
    taps.weights[1].push_back(weight);
  }
  return taps;
}

constexpr double cubicSlope = -0.75;
/// The kernel of Keys (1981) up to a distance of 1, and from there to 2.
template <typename T> T cubicNear(const T &x) {
  return ((x * (cubicSlope + 2)) - (cubicSlope + 3)) * x * x + 1.0;
}
template <typename T> T cubicFar(const T &x) {
  return ((x * cubicSlope - 5 * cubicSlope) * x + 8 * cubicSlope) * x - 4 * cubicSlope;
}

Taps cubicTaps(const Scale &scale, int64_t from, int64_t to) {
  Taps taps{std::vector<std::vector<int64_t>>(4), std::vector<std::vector<double>>(4)};
  for (int64_t i = 0; i < to; ++i) {
    const double at = scale.centre(i), low = std::floor(at), t = at - low;
    const double weights[] = {cubicFar(t + 1), cubicNear(t), cubicNear(1 - t), cubicFar(2 - t)};
    for (int64_t tap = 0; tap < 4; ++tap) {
      taps.places[static_cast<size_t>(tap)].push_back(
          std::clamp<int64_t>(static_cast<int64_t>(low) - 1 + tap, 0, from - 1));
      taps.weights[static_cast<size_t>(tap)].push_back(weights[tap]);
    }
  }
  return taps;
}

/// Sums of products of elements along one dimension with weights.
Tensor resampled(const Tensor &x, int64_t dim, const Taps &taps, Loc loc) {
  Tensor sum;
  Shape shape(x.sizes(loc).size(), 1);
  for (size_t tap = 0; tap < taps.places.size(); ++tap) {
    const auto count = static_cast<int64_t>(taps.places[tap].size());
    Tensor index =
        Tensor::from(taps.places[tap], {count}, {.dtype = DType::i64, .device = x.device(loc)}, loc);
    Tensor part = x.index_select(dim, index, loc);
    if (taps.places.size() > 1) {
      shape[static_cast<size_t>(dim)] = count;
      Tensor weights =
          Tensor::from(taps.weights[tap], {count}, {.dtype = x.dtype(loc), .device = x.device(loc)}, loc);
      part = mul({part, loc}, {weights.reshape(shape, loc), loc});
    }
    sum = sum.defined() ? add({sum, loc}, {part, loc}) : part;
  }
  return sum;
}

/// The sizes of the extents of [batch, channels, extents..].
std::vector<int64_t> extentsOf(const char *function, const Tensor &x, Loc loc) {
  checkFloat(use(x, loc), (std::string(function) + "()").c_str(), loc);
  if (x.dim(loc) < 3 || x.dim(loc) > 5)
    fail(std::string(function) + "(): Input Error: Only 3D, 4D and 5D input Tensors supported (got " +
             std::to_string(x.dim(loc)) + "D)",
         loc, {use(x, loc)});
  std::vector<int64_t> sizes;
  for (size_t d = 2; d < x.sizes(loc).size(); ++d)
    sizes.push_back(numberOr(x.sizes(loc)[d], "the size of an extent", loc));
  return sizes;
}

/// The number of extents that a mode is for; 0 for any.
size_t extentsOfMode(const std::string &mode, Loc loc) {
  for (auto [name, extents] :
       {std::pair("nearest", 0), std::pair("nearest-exact", 0), std::pair("area", 0), std::pair("linear", 1),
        std::pair("bilinear", 2), std::pair("bicubic", 2), std::pair("trilinear", 3)})
    if (mode == name)
      return static_cast<size_t>(extents);
  fail("interpolate(): there is no mode '" + mode +
           "': it is nearest, nearest-exact, linear, bilinear, bicubic, trilinear or area",
       loc);
}

} // namespace

//===----------------------------------------------------------------------===//
// interpolate
//===----------------------------------------------------------------------===//

Tensor interpolate(const Tensor &x, InterpolateOptions options, Loc loc) {
  const std::vector<int64_t> from = extentsOf("interpolate", x, loc);
  const size_t extents = from.size(), wanted = extentsOfMode(options.mode, loc);
  if (wanted && wanted != extents)
    fail("Input Error: mode '" + options.mode + "' is for " + std::to_string(wanted) + " extents, found " +
             shapeText(x.sizes(loc)),
         loc, {use(x, loc)});
  if (options.size.empty() == options.scale_factor.empty())
    fail("only one of size or scale_factor should be defined", loc);
  std::vector<double> factors = options.scale_factor;
  if (factors.size() == 1)
    factors.resize(extents, factors[0]);
  std::vector<int64_t> to;
  if (options.size.empty()) {
    if (factors.size() != extents)
      fail("scale_factor shape must match input shape. Input is " + std::to_string(extents) +
               "D, scale_factor size is " + std::to_string(factors.size()),
           loc);
    for (size_t i = 0; i < extents; ++i)
      to.push_back(static_cast<int64_t>(std::floor(static_cast<double>(from[i]) * factors[i])));
  } else {
    to = atEachExtent("interpolate", options.size, extents, "size", 1, loc);
  }
  for (size_t i = 0; i < extents; ++i)
    if (from[i] < 1 || to[i] < 1)
      fail("Input and output sizes should be greater than 0, but got input " + shapeText(from) +
               " and output " + shapeText(to),
           loc, {use(x, loc)});
  if (options.mode == "area")
    return extents == 1   ? adaptive_avg_pool1d(x, to, loc)
           : extents == 2 ? adaptive_avg_pool2d(x, to, loc)
                          : adaptive_avg_pool3d(x, to, loc);
  const bool isNearest = options.mode.starts_with("nearest");
  Tensor y = isNearest ? x : widened(x, loc);
  for (size_t i = 0; i < extents; ++i) {
    const auto a = static_cast<double>(from[i]), b = static_cast<double>(to[i]);
    Scale scale{0, options.align_corners && !isNearest, x.dtype(loc) == DType::f64};
    if (scale.aligned)
      scale.factor = to[i] > 1 ? (a - 1) / (b - 1) : 0;
    else
      scale.factor = factors.empty() || options.recompute_scale_factor ? a / b : 1 / factors[i];
    scale.factor = scale.round(scale.factor);
    const auto dim = static_cast<int64_t>(i) + 2;
    y = resampled(y, dim,
                  isNearest ? nearestTaps(scale, from[i], to[i], options.mode == "nearest-exact")
                  : options.mode == "bicubic" ? cubicTaps(scale, from[i], to[i])
                                              : linearTaps(scale, from[i], to[i]),
                  loc);
  }
  return y.to(x.dtype(loc), loc);
}

Tensor upsample_nearest(const Tensor &x, IntList size, DoubleList scale_factor, Loc loc) {
  return interpolate(x, {.size = std::move(size), .scale_factor = std::move(scale_factor)}, loc);
}

Tensor upsample_bilinear(const Tensor &x, IntList size, DoubleList scale_factor, Loc loc) {
  return interpolate(x,
                     {.size = std::move(size),
                      .scale_factor = std::move(scale_factor),
                      .mode = "bilinear",
                      .align_corners = true},
                     loc);
}

//===----------------------------------------------------------------------===//
// grid_sample
//===----------------------------------------------------------------------===//

namespace {

/// One coordinate of the grid, in elements of its extent.
struct Axis {
  int64_t size;
  const GridSampleOptions &options;

  Term reflected(const Term &at) const {
    // Between the centres of the outer elements, or between their edges.
    const double low = options.align_corners ? 0 : -0.5,
                 span = static_cast<double>(size) - (options.align_corners ? 1 : 0);
    if (span == 0)
      return at * 0.0;
    Term distance = abs(at - low);
    Term turns{floor((distance / span).tensor, at.loc).detach(at.loc), at.loc};
    Term rest = distance - turns * span;
    Term isOdd = Term{remainder(Arg(turns), {2.0, at.loc}), at.loc} == 1.0;
    return select(isOdd, -rest + (span + low), rest + low);
  }
  Term clipped(const Term &at) const {
    return {clamp(at.tensor, {0.0, at.loc}, {static_cast<double>(size - 1), at.loc}), at.loc};
  }
  Term padded(const Term &at) const {
    if (options.padding_mode == "border")
      return clipped(at);
    return options.padding_mode == "reflection" ? clipped(reflected(at)) : at;
  }
  /// From [-1, 1] to elements.
  Term place(const Term &coordinate) const {
    const auto count = static_cast<double>(size);
    return options.align_corners ? (coordinate + 1.0) * ((count - 1) / 2)
                                 : ((coordinate + 1.0) * count - 1.0) * 0.5;
  }
};

/// The elements at whole places: zeros beside the operand.
struct Sampler {
  Tensor flat; ///< [batch, channels, elements]
  std::vector<Axis> axes;
  Loc loc;

  /// The elements at `at`, [batch, places] for each axis.
  Term read(const std::vector<Term> &at) const {
    Term place, isInside;
    for (size_t i = 0; i < axes.size(); ++i) {
      Term inside = at[i] >= 0.0 && at[i] <= static_cast<double>(axes[i].size - 1);
      Term whole{axes[i].clipped(at[i]).tensor.to(DType::i64, loc), loc};
      place = i ? place * axes[i].size + whole : whole;
      isInside = i ? isInside && inside : inside;
    }
    Shape shape = flat.sizes(loc);
    shape[2] = place.tensor.sizes(loc)[1];
    Term found{readLast(flat, place.tensor.unsqueeze(1, loc).expand(shape, loc), loc), loc};
    return select({isInside.tensor.unsqueeze(1, loc), loc}, found, {0.0, loc});
  }
};

Term wide(const Term &weights) { return {weights.tensor.unsqueeze(1, weights.loc), weights.loc}; }

/// Sums over the elements around each place: two along each axis, or four.
Term interpolated(const Sampler &sampler, const std::vector<Term> &at, bool isCubic) {
  const Loc loc = sampler.loc;
  const int64_t taps = isCubic ? 4 : 2;
  std::vector<Term> low;
  std::vector<std::vector<Term>> weights;
  int64_t count = 1;
  for (const Term &each : at) {
    low.push_back({floor(each.tensor.detach(loc), loc), loc});
    Term t = each - low.back(), rest = -t + 1.0;
    weights.push_back(
        isCubic ? std::vector<Term>{cubicFar(t + 1.0), cubicNear(t), cubicNear(rest), cubicFar(rest + 1.0)}
                : std::vector<Term>{rest, t});
    count *= taps;
  }
  Term sum;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Term> places;
    Term weight;
    for (int64_t rest = i; const Term &each : low) {
      const size_t axis = places.size();
      const int64_t tap = rest % taps;
      rest /= taps;
      Term place = each + static_cast<double>(isCubic ? tap - 1 : tap);
      places.push_back(isCubic ? sampler.axes[axis].padded(place) : place);
      const Term &factor = weights[axis][static_cast<size_t>(tap)];
      weight = axis ? weight * factor : factor;
    }
    Term part = sampler.read(places) * wide(weight);
    sum = i ? sum + part : part;
  }
  return sum;
}

} // namespace

Tensor grid_sample(const Tensor &x, const Tensor &grid, GridSampleOptions options, Loc loc) {
  const std::vector<int64_t> from = extentsOf("grid_sample", x, loc);
  const size_t extents = from.size();
  const bool isCubic = options.mode == "bicubic";
  if (extents < 2 || grid.dim(loc) != x.dim(loc) || grid.size(-1, loc) != static_cast<int64_t>(extents) ||
      grid.size(0, loc) != x.size(0, loc))
    fail("grid_sampler(): expected grid to have size " + std::to_string(extents) +
             " in last dimension, and input and grid to have same batch size, but got input with sizes " +
             shapeText(x.sizes(loc)) + " and grid with sizes " + shapeText(grid.sizes(loc)),
         loc, {use(x, loc), use(grid, loc)});
  if ((options.mode != "bilinear" && options.mode != "nearest" && !(isCubic && extents == 2)) ||
      (options.padding_mode != "zeros" && options.padding_mode != "border" &&
       options.padding_mode != "reflection"))
    fail("grid_sample(): there is no mode '" + options.mode + "' with padding_mode '" + options.padding_mode +
             "' for " + std::to_string(extents) +
             " extents: modes are bilinear, nearest and, for two extents, bicubic; paddings are zeros, "
             "border and "
             "reflection",
         loc);
  Tensor image = widened(x, loc);
  const int64_t batch = x.size(0, loc);
  Sampler sampler{image.flatten(2, -1, loc), {}, loc};
  std::vector<Term> at;
  for (size_t i = 0; i < extents; ++i) {
    sampler.axes.push_back({from[i], options});
    Tensor coordinate = grid.select(-1, static_cast<int64_t>(extents - 1 - i), loc).reshape({batch, -1}, loc);
    Term place = sampler.axes[i].place({coordinate.to(image.dtype(loc), loc), loc});
    at.push_back(isCubic ? place : sampler.axes[i].padded(place));
  }
  Term found;
  if (options.mode == "nearest") {
    for (Term &each : at)
      each = {round(each.tensor.detach(loc), loc), loc};
    found = sampler.read(at);
  } else {
    found = interpolated(sampler, at, isCubic);
  }
  Shape shape{batch, x.size(1, loc)};
  for (size_t d = 1; d <= extents; ++d)
    shape.push_back(grid.size(static_cast<int64_t>(d), loc));
  return found.tensor.reshape(shape, loc).to(x.dtype(loc), loc);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

Tensor unfold(const Tensor &x, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
              Loc loc) {
  if (x.dim(loc) != 3 && x.dim(loc) != 4)
    fail("unfold(): Expected 3D or 4D (batch mode) tensor, but got " + shapeText(x.sizes(loc)), loc,
         {use(x, loc)});
  const std::vector<int64_t> kernel = atEachExtent("unfold", kernel_size, 2, "kernel_size", 1, loc),
                             spread = atEachExtent("unfold", dilation, 2, "dilation", 1, loc),
                             beside = atEachExtent("unfold", padding, 2, "padding", 0, loc),
                             step = atEachExtent("unfold", stride, 2, "stride", 1, loc);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = x.sizes(loc)[x.sizes(loc).size() - 2 + i], reach = spread[i] * (kernel[i] - 1) + 1;
    if (!isSymbolic(size) && size + 2 * beside[i] < reach)
      fail("unfold(): a window of kernel_size " + shapeText(kernel) + " and dilation " + shapeText(spread) +
               " does not fit in " + shapeText(x.sizes(loc)) + " with a padding of " + shapeText(beside),
           loc, {use(x, loc)});
  }
  Tensor padded = pad(x, {beside[1], beside[1], beside[0], beside[0]}, {0, loc}, loc);
  GraphLock lock(graphMutex());
  Ref windows =
      record1("windows", {use(padded, loc)}, {{"size", kernel}, {"stride", step}, {"dilation", spread}}, loc);
  const Shape &shape = windows.spec().shape; // [.., channels, kernel.., places..]
  Shape columns(shape.begin(), shape.end() - 5);
  columns.push_back(shape[shape.size() - 5] * kernel[0] * kernel[1]);
  columns.push_back(shape[shape.size() - 2] * shape[shape.size() - 1]);
  return wrap(reshapeTo(windows, columns, loc), loc);
}

static Tensor maxUnpool(const char *function, size_t extents, const Tensor &x, const Tensor &indices,
                        const IntList &kernel_size, const IntList &stride, const IntList &padding,
                        const IntList &output_size, Loc loc) {
  const Shape &shape = x.sizes(loc);
  if (shape.size() != extents + 1 && shape.size() != extents + 2)
    fail(std::string(function) + "(): Expected " + std::to_string(extents + 1) + "D or " +
             std::to_string(extents + 2) + "D tensor, but got " + shapeText(shape),
         loc, {use(x, loc)});
  if (indices.sizes(loc) != shape)
    fail(std::string(function) + "(): Expected shape of indices to be same as that of the input tensor (" +
             shapeText(shape) + ") but got indices tensor with shape: " + shapeText(indices.sizes(loc)),
         loc, {use(x, loc), use(indices, loc)});
  const std::vector<int64_t> kernel = atEachExtent(function, kernel_size, extents, "kernel_size", 1, loc),
                             beside = atEachExtent(function, padding, extents, "padding", 0, loc),
                             step = stride.empty()
                                        ? kernel
                                        : atEachExtent(function, stride, extents, "stride", 1, loc);
  const size_t lead = shape.size() - extents;
  if (!output_size.empty() && output_size.size() != extents && output_size.size() != extents + 2)
    fail(std::string(function) + "(): output_size should be a sequence containing " +
             std::to_string(extents) + " or " + std::to_string(extents + 2) + " elements, found " +
             shapeText(output_size),
         loc);
  Shape wanted(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(lead)), flat = wanted;
  int64_t elements = 1;
  for (size_t i = 0; i < extents; ++i) {
    const int64_t usual = (shape[lead + i] - 1) * step[i] + kernel[i] - 2 * beside[i],
                  size = output_size.empty() ? usual : output_size[output_size.size() - extents + i];
    if (size != usual && (size <= usual - step[i] || size >= usual + step[i]))
      fail(std::string(function) + "(): invalid output_size " + shapeText(output_size) + " (dim " +
               std::to_string(i) + " must be between " + std::to_string(usual - step[i]) + " and " +
               std::to_string(usual + step[i]) + ")",
           loc);
    wanted.push_back(size);
    elements *= size;
  }
  flat.push_back(elements);
  auto rows = [&](const Tensor &a) { return a.flatten(static_cast<int64_t>(lead), -1, loc); };
  Tensor none = zeros(flat, {.dtype = x.dtype(loc), .device = x.device(loc)}, loc);
  return scatter(none, -1, rows(indices), {rows(x), loc}, loc).reshape(wanted, loc);
}

#define WEFT_MAX_UNPOOL(name, extents)                                                                       \
  Tensor name(const Tensor &x, const Tensor &indices, IntList kernel_size, IntList stride, IntList padding,  \
              IntList output_size, Loc loc) {                                                                \
    return maxUnpool(#name, extents, x, indices, kernel_size, stride, padding, output_size, loc);            \
  }
WEFT_MAX_UNPOOL(max_unpool1d, 1)
WEFT_MAX_UNPOOL(max_unpool2d, 2)
WEFT_MAX_UNPOOL(max_unpool3d, 3)
#undef WEFT_MAX_UNPOOL

} // namespace weft
