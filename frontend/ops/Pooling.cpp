//===- Pooling.cpp - Pooling over windows ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/pooling.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Extents.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"
#include "frontend/ops/Term.h"
#include "weft/math.hpp"
#include "weft/reduce.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace weft {

using namespace frontend;

namespace {

using Numbers = std::vector<int64_t>;

/// The operand of a function that pools the last `extents` dimensions.
struct Pool {
  const char *name;
  size_t extents;
  Loc loc;

  Numbers numbers(const IntList &given, const char *what, int64_t least) const {
    if (given.size() != 1 && given.size() != extents)
      fail(std::string(name) + "(): " + what + " must either be a single int, or a list of " +
               std::to_string(extents) + " ints, found " + shapeText(given),
           loc);
    return atEachExtent(name, given, extents, what, least, loc);
  }

  /// Throws Error for an extent whose size is not known when a function is compiled.
  void refuseDynamic(int64_t size, const Ref &x) const {
    if (isSymbolic(size))
      fail(std::string(name) + "(): pools extents whose sizes are known when a function is compiled, found " +
               sizeText(size) + ": give the function a spec with a number for this dimension",
           loc, {x});
  }

  /// The sizes of the extents.
  Numbers checkedExtents(const Ref &x, bool mayBeDynamic = false) const {
    const Shape &shape = x.spec().shape;
    if (shape.size() != extents + 1 && shape.size() != extents + 2)
      fail(std::string(name) + "(): Expected " + std::to_string(extents + 1) + "D or " +
               std::to_string(extents + 2) +
               "D (batch mode) tensor, but got input of size: " + shapeText(shape),
           loc, {x});
    Numbers sizes;
    for (size_t i = shape.size() - extents; i < shape.size(); ++i) {
      if (!mayBeDynamic)
        refuseDynamic(shape[i], x);
      sizes.push_back(shape[i]);
      if (!isAtLeast(shape[i], 1))
        fail(std::string(name) + "(): Expected an input whose extents are not empty, but got " +
                 shapeText(shape) + (isSymbolic(shape[i]) ? ": give its Dim a min of 1" : ""),
             loc, {x});
    }
    return sizes;
  }
};

/// Windows along one extent.
struct Windows {
  int64_t size, kernel, stride, padding, dilation, places;

  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  /// What is added behind the last element, less than 0 where elements are in no window.
  int64_t behind() const { return (places - 1) * stride + reach() - size - padding; }
  int64_t begin(int64_t place) const { return place * stride - padding; }
  /// Which element of a window is its first one that is not padding before the operand.
  int64_t first(int64_t place) const {
    return (std::max<int64_t>(-begin(place), 0) + dilation - 1) / dilation;
  }
  /// The number of elements of all windows, of which `counted` places on either side of the operand are some;
  /// none if the windows differ.
  std::optional<int64_t> sameCount(int64_t counted) const {
    auto count = [&](int64_t place) {
      return std::min(begin(place) + kernel, size + counted) - std::max(begin(place), -counted);
    };
    for (int64_t place = 1; place < places; ++place)
      if (count(place) != count(0))
        return std::nullopt;
    return count(0);
  }
  /// Whether a window is padding alone: its elements are further apart than the operand is long.
  bool hasEmptyWindow() const {
    for (int64_t place = 0; place < places && begin(place) < 0; ++place)
      if (begin(place) + first(place) * dilation >= size)
        return true;
    return false;
  }
};

/// The bounds keep all products of numbers of the user in range.
constexpr int64_t largestNumber = int64_t(1) << 31;

std::vector<Windows> windowsOf(const Pool &pool, const Numbers &sizes, const IntList &kernel,
                               const IntList &stride, const IntList &padding, const IntList &dilation,
                               bool ceil_mode) {
  Numbers k = pool.numbers(kernel, "kernel_size", 1), p = pool.numbers(padding, "padding", 0),
          d = pool.numbers(dilation, "dilation", 1),
          s = stride.empty() ? k : pool.numbers(stride, "stride", 1);
  std::vector<Windows> windows;
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (int64_t number : {k[i], p[i], d[i], s[i]})
      if (number > largestNumber)
        fail(std::string(pool.name) + "(): numbers of windows are at most 2^31, found " +
                 std::to_string(number),
             pool.loc);
    Windows one{sizes[i], k[i], s[i], p[i], d[i], 0};
    if (p[i] > k[i] / 2)
      fail("pad should be at most half of kernel size, but got pad=" + std::to_string(p[i]) +
               " and kernel_size=" + std::to_string(k[i]),
           pool.loc);
    int64_t room = sizes[i] + 2 * p[i] - one.reach();
    int64_t steps = room < 0 ? -1 : ceil_mode ? (room + s[i] - 1) / s[i] : room / s[i];
    // The last window begins in the operand, or in the padding before it.
    if (steps > 0 && ceil_mode && steps * s[i] >= sizes[i] + p[i])
      --steps;
    if (room < 0 && ceil_mode && room > -s[i])
      steps = 0;
    if (steps < 0)
      fail("Given input size: " + shapeText(sizes) + ". Calculated output size is too small: " + pool.name +
               "() has no window of " + std::to_string(one.reach()) + " elements in extent " +
               std::to_string(i),
           pool.loc);
    one.places = steps + 1;
    windows.push_back(one);
  }
  return windows;
}

/// The windows of x, [.., window.., places..], where elements beside x are `beside`.
Ref windowsOver(const Ref &x, const std::vector<Windows> &windows, const Ref *beside, Loc loc) {
  size_t lead = x.spec().shape.size() - windows.size();
  Numbers low(lead, 0), high(lead, 0), interior(lead + windows.size(), 0), size, stride, dilation;
  for (const Windows &each : windows) {
    low.push_back(each.padding);
    high.push_back(each.behind());
    size.push_back(each.kernel);
    stride.push_back(each.stride);
    dilation.push_back(each.dilation);
  }
  std::vector<Ref> operands{x};
  if (beside)
    operands.push_back(*beside);
  auto isZero = [](int64_t number) { return number == 0; };
  Ref padded = x;
  if (!std::all_of(low.begin(), low.end(), isZero) || !std::all_of(high.begin(), high.end(), isZero))
    padded = record1("pad", operands, {{"low", low}, {"high", high}, {"interior", interior}}, loc);
  return record1("windows", {padded}, {{"size", size}, {"stride", stride}, {"dilation", dilation}}, loc);
}

/// A number that is the maximum of no window with another element.
Ref lowest(DType dtype, Device device, Loc loc) {
  if (is_floating_point(dtype))
    return number(dtype, device, -std::numeric_limits<double>::infinity(), 0, loc);
  int64_t bits = itemsize(dtype) * 8;
  int64_t least = dtype == DType::ui8 ? 0 : bits == 64 ? INT64_MIN : -(int64_t(1) << (bits - 1));
  return number(dtype, device, static_cast<double>(least), least, loc);
}

/// `shape` with its last `extents` entries as one.
Shape flattened(const Shape &shape, size_t extents) {
  Shape flat(shape.begin(), shape.end() - static_cast<ptrdiff_t>(extents));
  int64_t count = 1;
  for (size_t i = shape.size() - extents; i < shape.size(); ++i)
    count *= shape[i];
  flat.push_back(count);
  return flat;
}

/// The elements of x with these numbers in its extents. The gradient flows to them. If each of them lies in a
/// window of its own, that is known to the gather, whose derivative is then a sum over windows. `mode` says
/// what a number outside of the extents reads.
ValuesIndices elementsAt(const Tensor &x, const Tensor &indices, size_t extents, Loc loc,
                         const std::vector<Windows> &windows = {}, const char *mode = "assume") {
  GraphLock lock(graphMutex());
  Ref value = use(x, loc), index = use(indices, loc);
  Shape shape = index.spec().shape;
  Ref plane = reshapeTo(value, flattened(value.spec().shape, extents), loc);
  std::vector<Attr> attrs = {
      {"dim", rankOf(plane) - 1}, {"kind", std::string("along")}, {"mode", std::string(mode)}};
  Numbers pooled;
  for (const Windows &each : windows)
    pooled.insert(pooled.end(),
                  {each.size, each.kernel, each.stride, each.padding, each.dilation, each.places});
  if (!pooled.empty())
    attrs.push_back({"weft.pooled", pooled});
  Ref chosen =
      record1("gather", {plane, reshapeTo(index, flattened(shape, extents), loc)}, std::move(attrs), loc);
  return {wrap(reshapeTo(chosen, shape, loc), loc), indices};
}

/// Row-major numbers of elements from their coordinates: those of an element of a window, whose number is
/// `within`, by `place(i, s)`, where s is its coordinate along extent i, with a shape that broadcasts.
template <typename Place>
Tensor planeIndices(const Tensor &within, const Numbers &kernel, const Numbers &sizes, Loc loc, Place place) {
  Tensor rest = within, indices;
  int64_t after = 1;
  for (size_t i = kernel.size(); i-- > 0;) {
    Tensor s = i == 0 ? rest : remainder({rest, loc}, {kernel[i], loc});
    rest = i == 0 ? rest : floor_divide({rest, loc}, {kernel[i], loc});
    Tensor along = mul({place(i, s), loc}, {after, loc});
    indices = indices.defined() ? add({indices, loc}, {along, loc}) : along;
    after *= sizes[i];
  }
  return indices;
}

/// Where the windows along extent i begin, at each place. The device counts: a table would be copied from the
/// host in each call of a compiled function.
Term windowBegins(const std::vector<Windows> &windows, size_t i, Device device, Loc loc) {
  Shape places;
  for (const Windows &each : windows)
    places.push_back(each.places);
  Term place{positions(places, static_cast<int64_t>(i), device, loc), loc};
  return place * windows[i].stride - windows[i].padding;
}

void refuseBools(const Ref &x, const char *name, Loc loc) {
  if (x.spec().dtype == DType::i1)
    fail(std::string("\"") + name + "\" not implemented for 'Bool': convert it with .to(weft::DType::ui8)",
         loc, {x});
}

/// Without `indices` and gradients, the values are reductions alone.
ValuesIndices maxPool(const Pool &pool, const Tensor &x, const IntList &kernel, const MaxPoolOptions &options,
                      bool indices) {
  GraphLock lock(graphMutex());
  Loc loc = pool.loc;
  const bool differentiable = use(x, loc).requiresGrad() && gradEnabled();
  Ref value = use(x.detach(loc), loc);
  refuseBools(value, pool.name, loc);
  Numbers sizes = pool.checkedExtents(value), kernels;
  auto windows =
      windowsOf(pool, sizes, kernel, options.stride, options.padding, options.dilation, options.ceil_mode);
  for (const Windows &each : windows)
    kernels.push_back(each.kernel);
  Device device = value.spec().device;
  Ref beside = lowest(value.spec().dtype, device, loc);
  Ref over = windowsOver(value, windows, &beside, loc);
  size_t lead = value.spec().shape.size() - pool.extents;
  if (!indices && !differentiable) {
    Numbers dims;
    for (size_t i = 0; i < pool.extents; ++i)
      dims.push_back(static_cast<int64_t>(lead + i));
    return {wrap(record1("rmax", {over}, {{"dims", dims}}, loc), loc), {}};
  }
  // [.., elements of the window, places..]
  Shape shape(over.spec().shape.begin(), over.spec().shape.begin() + static_cast<ptrdiff_t>(lead));
  shape.push_back(1);
  for (int64_t size : kernels)
    shape.back() *= size;
  for (const Windows &each : windows)
    shape.push_back(each.places);
  Ref within = record1("argmax", {reshapeTo(over, shape, loc)}, {{"dim", static_cast<int64_t>(lead)}}, loc);
  Tensor isOutside; // where a window is padding alone
  Tensor numbers = planeIndices(wrap(within, loc), kernels, sizes, loc, [&](size_t i, Tensor s) {
    const Windows &each = windows[i];
    Tensor begin = windowBegins(windows, i, device, loc).tensor;
    // Where all elements are the smallest number, the first is chosen, which may be padding. The first one
    // that is not has number ceil(-begin / dilation).
    if (each.padding > 0) {
      Tensor first = mul({floor_divide({begin, loc}, {each.dilation, loc}), loc}, {int64_t(-1), loc});
      s = maximum({s, loc}, {first, loc});
    }
    Tensor at = add({begin, loc}, {mul({s, loc}, {each.dilation, loc}), loc});
    if (each.hasEmptyWindow()) {
      Tensor isBehind = ge({at, loc}, {each.size, loc});
      isOutside = isOutside.defined() ? logical_or({isOutside, loc}, {isBehind, loc}) : isBehind;
    }
    return at;
  });
  if (!isOutside.defined())
    return elementsAt(x, numbers, pool.extents, loc, windows);
  // The number of an element behind the operand, as in PyTorch, which no gradient flows to.
  ValuesIndices found = elementsAt(x, numbers, pool.extents, loc, {}, "clip");
  return {where(isOutside, {wrap(beside, loc), loc}, {found.values, loc}, loc), numbers};
}

Tensor avgPool(const Pool &pool, const Tensor &x, const IntList &kernel, const AvgPoolOptions &options) {
  GraphLock lock(graphMutex());
  Loc loc = pool.loc;
  checkFloat(use(x, loc), (std::string(pool.name) + "()").c_str(), loc);
  Ref value = use(widened(x, loc), loc);
  Numbers sizes = pool.checkedExtents(value), dims;
  auto windows = windowsOf(pool, sizes, kernel, options.stride, options.padding, 1, options.ceil_mode);
  if (options.divisor_override == 0)
    fail("divisor must be not zero", loc);
  Ref over = windowsOver(value, windows, nullptr, loc);
  for (size_t i = 0; i < pool.extents; ++i)
    dims.push_back(static_cast<int64_t>(value.spec().shape.size() - pool.extents + i));
  Tensor sum = wrap(record1("sum", {over}, {{"dims", dims}}, loc), loc);
  if (options.divisor_override)
    return div({sum, loc}, {*options.divisor_override, loc}).to(x.dtype(loc), loc);
  // One division by the number of elements, as in PyTorch.
  double sameCounts = 1;
  Tensor counts;
  for (size_t i = 0; i < pool.extents; ++i) {
    const int64_t padding = options.count_include_pad ? windows[i].padding : 0;
    if (std::optional<int64_t> count = windows[i].sameCount(padding)) {
      sameCounts *= static_cast<double>(*count);
      continue;
    }
    Term begin = windowBegins(windows, i, x.device(loc), loc);
    Term end{minimum(begin + windows[i].kernel, {sizes[i] + padding, loc}), loc};
    Tensor own = (end - Term{maximum(begin, {-padding, loc}), loc}).tensor;
    counts = counts.defined() ? mul({counts, loc}, {own, loc}) : own;
  }
  if (!counts.defined())
    return div({sum, loc}, {sameCounts, loc}).to(x.dtype(loc), loc);
  counts = mul({counts.to(sum.dtype(loc), loc), loc}, {sameCounts, loc});
  return div({sum, loc}, {counts, loc}).to(x.dtype(loc), loc);
}

/// The even windows of an adaptive pool along one extent.
struct EvenWindows {
  int64_t size, places, longest = 1;
  bool hasShorter = false; ///< whether some windows have fewer elements than the longest

  EvenWindows(int64_t size, int64_t places) : size(size), places(places) {
    if (places == 0)
      return;
    // A window begins `m` places-ths of an element after the first that it has, where m is each multiple
    // below `places` of the greatest common divisor. It has the `rest` of the division, rounded up to an
    // element, or to two where m + rest is more than one.
    const int64_t whole = size / places, rest = size % places;
    const int64_t shortest = whole + (rest != 0);
    longest = std::max(longest, shortest + (rest > std::gcd(rest, places)));
    hasShorter = longest > shortest;
  }
  /// The first elements of the windows at `place`, and their numbers of elements.
  Term begin(const Term &place) const { return quotient(place * size); }
  Term count(const Term &place) const { return quotient(place * size + (size + places - 1)) - begin(place); }
  /// The windows of dimension `dim` of x, as two dimensions, places and elements. Windows that are shorter
  /// than the longest repeat their last element.
  Tensor over(const Tensor &x, int64_t dim, Loc loc) const {
    if (places > 0 && size % places == 0)
      return x.unflatten(dim, {places, longest}, loc);
    Term place{positions({places, longest}, 0, x.device(loc), loc), loc},
        s{positions({places, longest}, 1, x.device(loc), loc), loc};
    Term within = hasShorter ? Term{minimum(s, count(place) - int64_t(1)), loc} : s;
    GraphLock lock(graphMutex());
    Ref index = use((begin(place) + within).tensor, loc);
    return wrap(record1("gather", {use(x, loc), index},
                        {{"dim", dim}, {"kind", std::string("points")}, {"mode", std::string("assume")}},
                        loc),
                loc);
  }

private:
  /// A division of numbers that are not negative, which needs no floor.
  Term quotient(const Term &numerator) const {
    return {div(numerator, {std::max<int64_t>(places, 1), numerator.loc}, "trunc"), numerator.loc};
  }
};

Numbers outputSizes(const Pool &pool, const IntList &given, const Numbers &sizes) {
  Numbers places = pool.numbers(given, "output_size", -1);
  for (size_t i = 0; i < places.size(); ++i) {
    places[i] = places[i] == -1 ? sizes[i] : places[i];
    if (!isSymbolic(sizes[i]) && (places[i] > largestNumber || sizes[i] > largestNumber))
      fail(std::string(pool.name) + "(): sizes are at most 2^31, found " + shapeText(given) + " for " +
               shapeText(sizes),
           pool.loc);
  }
  return places;
}

Tensor adaptiveAvg(const Pool &pool, const Tensor &x, const IntList &output_size) {
  GraphLock lock(graphMutex());
  Loc loc = pool.loc;
  Ref value = use(x, loc);
  checkFloat(value, (std::string(pool.name) + "()").c_str(), loc);
  Numbers sizes = pool.checkedExtents(value, true), places = outputSizes(pool, output_size, sizes), dims;
  for (size_t i = 0; i < pool.extents; ++i)
    dims.push_back(rankOf(value) - static_cast<int64_t>(pool.extents - i));
  Tensor y = widened(x, loc);
  if (std::all_of(places.begin(), places.end(), [](int64_t count) { return count == 1; }))
    return y.mean(dims, true, loc).to(x.dtype(loc), loc);
  auto along = [&](const Shape &shape, size_t dim) {
    return Term{positions(shape, static_cast<int64_t>(dim), x.device(loc), loc), loc};
  };
  // Sums along each extent, which then are divided by each number of elements, as in PyTorch.
  std::vector<EvenWindows> windows;
  for (size_t i = 0; i < pool.extents; ++i) {
    const bool isWhole = places[i] == 1 && isSymbolic(sizes[i]);
    if (isWhole)
      y = y.mean({dims[i]}, true, loc);
    if (isWhole || places[i] == sizes[i]) {
      windows.emplace_back(1, 1);
      continue;
    }
    pool.refuseDynamic(sizes[i], value);
    const EvenWindows &each = windows.emplace_back(sizes[i], places[i]);
    y = each.over(y, dims[i], loc);
    if (each.hasShorter) {
      Shape own(pool.extents - i + 1, 1);
      own[0] = places[i];
      own[1] = each.longest;
      y = where((along(own, 1) < each.count(along(own, 0))).tensor, {y, loc}, {0.0, loc}, loc);
    }
    y = y.sum({dims[i] + 1}, false, loc);
  }
  for (size_t i = 0; i < pool.extents; ++i) {
    if (windows[i].hasShorter)
      y = div({y, loc}, {windows[i].count(along(places, i)).tensor.to(y.dtype(loc), loc), loc});
    else if (windows[i].longest > 1)
      y = div({y, loc}, {static_cast<double>(windows[i].longest), loc});
  }
  return y.to(x.dtype(loc), loc);
}

ValuesIndices adaptiveMax(const Pool &pool, const Tensor &x, const IntList &output_size) {
  GraphLock lock(graphMutex());
  Loc loc = pool.loc;
  Ref value = use(x, loc);
  refuseBools(value, pool.name, loc);
  Numbers sizes = pool.checkedExtents(value), places = outputSizes(pool, output_size, sizes), kernels, perm;
  Tensor over = x.detach(loc);
  int64_t lead = rankOf(value) - static_cast<int64_t>(pool.extents), dim = lead;
  std::vector<EvenWindows> windows;
  for (size_t i = 0; i < pool.extents; ++i, dim += 2) {
    windows.emplace_back(sizes[i], places[i]);
    kernels.push_back(windows[i].longest);
    over = windows[i].over(over, dim, loc);
  }
  for (int64_t i = 0; i < lead; ++i)
    perm.push_back(i);
  for (int64_t first : {lead + 1, lead}) // the elements of the windows, then the places
    for (size_t i = 0; i < pool.extents; ++i)
      perm.push_back(first + 2 * static_cast<int64_t>(i));
  over = over.permute(perm, loc).flatten(lead, lead + static_cast<int64_t>(pool.extents) - 1, loc);
  Tensor indices = planeIndices(over.argmax(lead, false, loc), kernels, sizes, loc, [&](size_t i, Tensor s) {
    // A repeated element is chosen only where it comes first.
    Term place{positions(places, static_cast<int64_t>(i), x.device(loc), loc), loc};
    return (windows[i].begin(place) + Term{s, loc}).tensor;
  });
  return elementsAt(x, indices, pool.extents, loc);
}

} // namespace

#define WEFT_POOL(extents)                                                                                   \
  Tensor max_pool##extents##d(const Tensor &x, IntList kernel_size, MaxPoolOptions options, Loc loc) {       \
    return maxPool({"max_pool" #extents "d", extents, loc}, x, kernel_size, options, false).values;          \
  }                                                                                                          \
  ValuesIndices max_pool##extents##d_with_indices(const Tensor &x, IntList kernel_size,                      \
                                                  MaxPoolOptions options, Loc loc) {                         \
    return maxPool({"max_pool" #extents "d", extents, loc}, x, kernel_size, options, true);                  \
  }                                                                                                          \
  Tensor avg_pool##extents##d(const Tensor &x, IntList kernel_size, AvgPoolOptions options, Loc loc) {       \
    return avgPool({"avg_pool" #extents "d", extents, loc}, x, kernel_size, options);                        \
  }                                                                                                          \
  Tensor adaptive_avg_pool##extents##d(const Tensor &x, IntList output_size, Loc loc) {                      \
    return adaptiveAvg({"adaptive_avg_pool" #extents "d", extents, loc}, x, output_size);                    \
  }                                                                                                          \
  Tensor adaptive_max_pool##extents##d(const Tensor &x, IntList output_size, Loc loc) {                      \
    return adaptiveMax({"adaptive_max_pool" #extents "d", extents, loc}, x, output_size).values;             \
  }                                                                                                          \
  ValuesIndices adaptive_max_pool##extents##d_with_indices(const Tensor &x, IntList output_size, Loc loc) {  \
    return adaptiveMax({"adaptive_max_pool" #extents "d", extents, loc}, x, output_size);                    \
  }
WEFT_POOL(1)
WEFT_POOL(2)
WEFT_POOL(3)

} // namespace weft
