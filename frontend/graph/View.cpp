//===- View.cpp - Handles that share the elements of another --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/View.h"

#include "frontend/graph/Message.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Symbols.h"

#include <algorithm>
#include <numeric>

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Strides
//===----------------------------------------------------------------------===//

std::vector<int64_t> rowMajor(const Shape &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = entryOf(sizeOf(strides[i]) * sizeOf(shape[i] == 0 ? 1 : shape[i]));
  return strides;
}

int64_t View::offset(const Shape &baseShape) const {
  std::vector<int64_t> index(spec.shape.size(), 0);
  for (size_t i = steps.size(); i-- > 0;) {
    const ViewStep &step = steps[i];
    if (step.kind == ViewStep::slice) {
      for (size_t d = 0; d < index.size(); ++d)
        index[d] = step.start[d] + index[d] * step.steps[d];
    } else if (step.kind == ViewStep::transpose) {
      std::vector<int64_t> before(index.size());
      for (size_t d = 0; d < index.size(); ++d)
        before[static_cast<size_t>(step.perm[d])] = index[d];
      index = std::move(before);
    } else if (step.kind == ViewStep::expand) {
      // Added dimensions come first; an expanded dimension has one element.
      index.erase(index.begin(), index.begin() + static_cast<ptrdiff_t>(index.size() - step.from.size()));
      for (size_t d = 0; d < index.size(); ++d)
        if (step.from[d] == 1)
          index[d] = 0;
    } else {
      int64_t linear = 0;
      for (size_t d = 0; d < index.size(); ++d)
        linear = linear * step.to[d] + index[d];
      index.assign(step.from.size(), 0);
      for (size_t d = step.from.size(); d-- > 0; linear /= std::max<int64_t>(step.from[d], 1))
        index[d] = linear % std::max<int64_t>(step.from[d], 1);
    }
  }
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d)
    offset = offset * baseShape[d] + index[d];
  return offset;
}

std::optional<std::vector<int64_t>> viewStrides(const Shape &from, const std::vector<int64_t> &strides,
                                                const Shape &to) {
  if (from == to)
    return strides;
  if (from.empty() || std::find(from.begin(), from.end(), 0) != from.end())
    return rowMajor(to);
  // From the last dimension on: a run of dimensions of `from` that are contiguous in memory is divided into
  // dimensions of `to`.
  std::vector<int64_t> result(to.size());
  size_t left = to.size();
  ir::Size run = 1, divided = 1, stride = sizeOf(strides.back());
  for (size_t i = from.size(); i-- > 0;) {
    run *= sizeOf(from[i]);
    if (i > 0 && (from[i - 1] == 1 || sizeOf(strides[i - 1]) == run * stride))
      continue;
    while (left > 0 && (ir::isPartOf(divided, run) || to[left - 1] == 1)) {
      result[left - 1] = entryOf(divided * stride);
      divided *= sizeOf(to[--left]);
    }
    if (divided != run)
      return std::nullopt;
    if (i > 0) {
      stride = sizeOf(strides[i - 1]);
      run = divided = 1;
    }
  }
  if (left > 0)
    return std::nullopt;
  return result;
}

//===----------------------------------------------------------------------===//
// Index maps
//===----------------------------------------------------------------------===//

/// Whether a slice takes neighbours (all steps are 1), so that it can be a `dynamic_slice`.
static bool isWindow(const ViewStep &slice) {
  return std::all_of(slice.steps.begin(), slice.steps.end(), [](int64_t s) { return s == 1; });
}

/// Adds the start of a window in each dimension as operands. The start is data, as every number of the user
/// is, so that a loop over slices is one program. A dimension that is taken whole has the constant 0.
static void addStarts(const ViewStep &slice, Device device, std::vector<Ref> &operands, Loc loc) {
  Spec scalar{DType::i64, {}, device};
  for (size_t i = 0; i < slice.start.size(); ++i)
    if (int64_t start = slice.start[i]; slice.from[i] == slice.to[i])
      operands.push_back(constant(scalar, 0, loc));
    else if (isSymbolic(start))
      operands.push_back(recordTyped("dim", {{"size", start}}, scalar, loc));
    else
      operands.push_back(number(DType::i64, device, static_cast<double>(start), start, loc));
}

Ref ViewStep::apply(Ref value, Loc loc) const {
  switch (kind) {
  case reshape:
    return reshapeTo(std::move(value), to, loc);
  case transpose:
    return record1("transpose", {std::move(value)}, {{"perm", perm}}, loc);
  case slice:
    // In a trace starts are constants, and `slice` tells the compiler more.
    if (!TraceScope::current() && isWindow(*this)) {
      std::vector<Ref> operands{value};
      addStarts(*this, value.spec().device, operands, loc);
      return record1("dynamic_slice", std::move(operands), {{"sizes", to}}, loc);
    }
    return record1("slice", {std::move(value)}, {{"start", start}, {"limit", limit}, {"step", steps}}, loc);
  case expand:
    return broadcastTo(std::move(value), to, loc);
  }
  return value;
}

bool ViewStep::isIdentity() const {
  switch (kind) {
  case transpose:
    return std::is_sorted(perm.begin(), perm.end());
  default:
    // A slice of the operand's own shape takes all of it.
    return from == to;
  }
}

/// The one step that does `first` and then `second`, if there is one.
static std::optional<ViewStep> merge(const ViewStep &first, const ViewStep &second) {
  if (first.kind != second.kind || first.kind == ViewStep::expand)
    return std::nullopt;
  ViewStep both = first;
  both.to = second.to;
  for (size_t i = 0; i < second.perm.size(); ++i)
    both.perm[i] = first.perm[static_cast<size_t>(second.perm[i])];
  for (size_t i = 0; i < second.start.size(); ++i) {
    // The start of an empty slice may lie behind the end of the operand.
    ir::Size start = sizeOf(first.start[i]), limit = start;
    both.steps[i] = first.steps[i] * second.steps[i];
    if (second.to[i] != 0) {
      start += sizeOf(second.start[i]) * first.steps[i];
      limit = start + (sizeOf(second.to[i]) - 1) * both.steps[i] + 1;
    }
    if (!limit.isExpressible())
      return std::nullopt;
    both.start[i] = start.raw();
    both.limit[i] = limit.raw();
  }
  return both;
}

/// Moves a slice in front of the transposition or expansion `moved`, which is adapted; returns the slice
/// there. Slices then become neighbours and merge, and a slice of an expanded tensor is written like any
/// other.
static std::optional<ViewStep> sliceFirst(ViewStep &moved, const ViewStep &slice) {
  if (moved.kind != ViewStep::transpose && moved.kind != ViewStep::expand)
    return std::nullopt;
  ViewStep first{.kind = ViewStep::slice, .from = moved.from, .to = moved.from};
  first.start.resize(moved.from.size());
  first.limit = moved.from;
  first.steps.resize(moved.from.size(), 1);
  size_t added = moved.to.size() - moved.from.size();
  for (size_t i = 0; i < slice.to.size(); ++i) {
    if (moved.kind == ViewStep::expand && (i < added || moved.from[i - added] != moved.to[i])) {
      if (slice.to[i] == 0)
        return std::nullopt; // a size of 1 cannot be stretched to nothing
      continue;
    }
    size_t d = moved.kind == ViewStep::expand ? i - added : static_cast<size_t>(moved.perm[i]);
    first.start[d] = slice.start[i];
    first.limit[d] = slice.limit[i];
    first.steps[d] = slice.steps[i];
    first.to[d] = slice.to[i];
  }
  moved.from = first.to;
  moved.to = slice.to;
  return first;
}

void append(std::vector<ViewStep> &steps, ViewStep step) {
  std::vector<ViewStep> after; // steps that a slice went past
  while (!steps.empty()) {
    if (step.kind == ViewStep::slice) {
      ViewStep last = steps.back();
      if (auto first = sliceFirst(last, step)) {
        steps.pop_back();
        after.push_back(std::move(last));
        step = std::move(*first);
        continue;
      }
    }
    if (auto both = merge(steps.back(), step)) {
      steps.pop_back();
      step = std::move(*both);
    }
    break;
  }
  if (!step.isIdentity())
    steps.push_back(std::move(step));
  for (size_t i = after.size(); i-- > 0;)
    if (!after[i].isIdentity())
      steps.push_back(std::move(after[i]));
}

bool View::overlaps() const {
  if (std::find(spec.shape.begin(), spec.shape.end(), 0) != spec.shape.end())
    return false;
  for (size_t i = 0; i < strides.size(); ++i)
    if (strides[i] == 0 && spec.shape[i] != 1)
      return true;
  return false;
}

/// `into` with the elements of a slice replaced by `value`. Slices without steps are a
/// `dynamic_update_slice`, others one `select` over the base; both are one kernel, which runs in place if the
/// base is donated.
static Ref updateSlice(const ViewStep &step, Ref into, Ref value, Loc loc) {
  if (value.spec().count() == 0)
    return into;
  size_t rank = step.from.size();
  if (isWindow(step)) {
    std::vector<Ref> operands{into, value};
    addStarts(step, value.spec().device, operands, loc);
    return record1("dynamic_update_slice", std::move(operands), {}, loc);
  }
  std::vector<int64_t> high(rank), interior(rank);
  for (size_t i = 0; i < rank; ++i) {
    interior[i] = step.to[i] != 1 ? step.steps[i] - 1 : 0;
    ir::Size to = sizeOf(step.to[i]), covered = sizeOf(step.start[i]) + to + (to - 1) * interior[i];
    high[i] = entryOf(sizeOf(step.from[i]) - covered, loc);
  }
  std::vector<Attr> attrs{{"low", step.start}, {"high", high}, {"interior", interior}};
  Spec flags{DType::i1, step.to, value.spec().device};
  Ref written = record1("pad", {constant(flags, 1, loc)}, attrs, loc);
  return record1("select", {written, record1("pad", {value}, attrs, loc), into}, {}, loc);
}

/// Whether an expansion in the map repeats elements, so that the map has no inverse.
static bool repeats(const std::vector<ViewStep> &steps) {
  return std::any_of(steps.begin(), steps.end(), [](const ViewStep &step) {
    return step.kind == ViewStep::expand &&
           Spec{DType::i1, step.from, {}}.count() != Spec{DType::i1, step.to, {}}.count();
  });
}

/// `into` with the elements of a view replaced, for a view that is a part of an expansion and holds no
/// element twice. Its map has no inverse, so its strides say where the elements lie.
static Ref updateByStrides(const View &view, Ref into, Ref value, Loc loc) {
  if (value.spec().count() == 0)
    return into;
  const Shape &shape = view.spec.shape;
  std::vector<size_t> order; // the dimensions that have a step, the longest step first
  bool known = !anySymbolic(shape) && !anySymbolic(view.strides) && !anySymbolic(into.spec().shape);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1)
      order.push_back(d);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-view.strides[a], a) < std::pair(-view.strides[b], b);
  });
  // extent[i]: over how many elements of the base the dimensions from order[i] on reach. The stride before
  // must be at least as large, so that positions do not interleave.
  std::vector<int64_t> extent(order.size() + 1, 1);
  for (size_t i = order.size(); known && i-- > 0;) {
    int64_t stride = view.strides[order[i]];
    known = stride >= extent[i + 1];
    extent[i] = (shape[order[i]] - 1) * stride + extent[i + 1];
  }
  if (!known)
    fail(
        "unsupported operation: a part of an expanded tensor is written, and which elements it has cannot be "
        "told from its sizes and strides. Please clone() the tensor before performing the operation.",
        loc);
  Shape sizes;
  std::vector<int64_t> perm;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1)
      perm.push_back(static_cast<int64_t>(d));
  for (size_t d : order) {
    sizes.push_back(shape[d]);
    perm.push_back(static_cast<int64_t>(d));
  }
  int64_t offset = view.offset(into.spec().shape);
  // Places the elements into an empty tensor of the base's shape, dimension by dimension from the last on.
  auto spread = [&](Ref part) {
    auto pad = [&](Ref operand, int64_t low, int64_t high, int64_t interior) {
      size_t rank = operand.spec().shape.size();
      std::vector<int64_t> lows(rank), highs(rank), interiors(rank);
      lows.back() = low;
      highs.back() = high;
      interiors.back() = interior;
      return record1("pad", {operand}, {{"low", lows}, {"high", highs}, {"interior", interiors}}, loc);
    };
    if (!std::is_sorted(perm.begin(), perm.end()))
      part = record1("transpose", {part}, {{"perm", perm}}, loc);
    part = reshapeTo(part, sizes.empty() ? Shape{1} : sizes, loc);
    if (!order.empty())
      part = pad(part, 0, 0, view.strides[order.back()] - 1);
    for (size_t i = order.size(); i-- > 1;) {
      int64_t stride = view.strides[order[i - 1]];
      Shape joined(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(i));
      joined.back() *= stride;
      part = reshapeTo(pad(part, 0, stride - extent[i], 0), joined, loc);
      if (joined.back() != extent[i - 1]) { // drop the padding after the last one
        std::vector<int64_t> ones(i, 1), start(i, 0), limit = joined;
        limit.back() = extent[i - 1];
        part = record1("slice", {part}, {{"start", start}, {"limit", limit}, {"step", ones}}, loc);
      }
    }
    part = pad(part, offset, into.spec().count() - offset - extent[0], 0);
    return reshapeTo(part, into.spec().shape, loc);
  };
  Ref written = spread(constant(Spec{DType::i1, shape, value.spec().device}, 1, loc));
  return record1("select", {written, spread(value), into}, {}, loc);
}

Ref View::update(Ref into, Ref value, Loc loc) const {
  if (repeats(steps))
    return updateByStrides(*this, into, value, loc);
  std::vector<Ref> inner{into};
  for (size_t i = 0; i + 1 < steps.size(); ++i)
    inner.push_back(steps[i].apply(inner.back(), loc));
  for (size_t i = steps.size(); i-- > 0;) {
    const ViewStep &step = steps[i];
    if (step.kind == ViewStep::slice) {
      value = updateSlice(step, inner[i], value, loc);
    } else if (step.kind == ViewStep::transpose) {
      std::vector<int64_t> inverse(step.perm.size());
      for (size_t d = 0; d < inverse.size(); ++d)
        inverse[static_cast<size_t>(step.perm[d])] = static_cast<int64_t>(d);
      value = record1("transpose", {value}, {{"perm", inverse}}, loc);
    } else {
      // An expansion that repeats nothing adds dimensions of size 1.
      value = reshapeTo(value, step.from, loc);
    }
  }
  return value;
}

} // namespace weft::frontend
