//===- Index.cpp - x.index({...}) and x.index_put_({...}, value) ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/gather_scatter.hpp"
#include "weft/selection.hpp"
#include "weft/tensor_index.hpp"
#include "weft/tree.hpp"

#include "frontend/graph/Trace.h"
#include "frontend/graph/View.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"

#include <algorithm>
#include <utility>

namespace weft {

using namespace frontend;
using indexing::TensorIndex;

namespace {

/// An index that is resolved as far as a view goes: integers, slices and None are applied, and index tensors
/// remain for dimensions of the view.
struct Indexed {
  Tensor view;
  std::vector<std::pair<int64_t, Tensor>> tensors; ///< with the first dimension of `view` that each indexes
};

/// Whether an index tensor is a mask: bools and, as in PyTorch, bytes.
bool isMask(const Tensor &tensor, Loc loc) {
  return tensor.dtype(loc) == DType::i1 || tensor.dtype(loc) == DType::ui8;
}

/// The number of dimensions that an index consumes. A mask without dimensions consumes none.
int64_t consumed(const TensorIndex &index, Loc loc) {
  switch (index.kind) {
  case TensorIndex::Kind::none:
  case TensorIndex::Kind::ellipsis:
    return 0;
  case TensorIndex::Kind::tensor:
    return isMask(index.tensor, loc) ? index.tensor.dim(loc) : 1;
  default:
    return 1;
  }
}

Indexed apply(const Tensor &tensor, std::initializer_list<TensorIndex> indices, Loc loc) {
  int64_t taken = 0, ellipses = 0;
  for (const TensorIndex &index : indices) {
    taken += consumed(index, loc);
    ellipses += index.kind == TensorIndex::Kind::ellipsis;
  }
  if (ellipses > 1)
    fail("an index can only have a single ellipsis ('...')", loc);
  if (taken > tensor.dim(loc))
    fail("too many indices for tensor of dimension " + std::to_string(tensor.dim(loc)) + ": found " +
             std::to_string(taken),
         loc);
  Indexed result{tensor.reshape(tensor.sizes(loc), loc), {}};
  // The dimension of the view, and that of the tensor, which errors name.
  int64_t dim = 0, own = 0;
  for (const TensorIndex &index : indices) {
    switch (index.kind) {
    case TensorIndex::Kind::none:
      result.view = result.view.unsqueeze(dim++, loc);
      break;
    case TensorIndex::Kind::ellipsis:
      dim += tensor.dim(loc) - taken;
      own += tensor.dim(loc) - taken;
      break;
    case TensorIndex::Kind::slice:
      result.view = result.view.slice(dim++, index.slice.start, index.slice.stop, index.slice.step, loc);
      break;
    case TensorIndex::Kind::integer: {
      int64_t size = result.view.size(dim, loc);
      if (index.integer < -size || index.integer >= size)
        fail("index " + std::to_string(index.integer) + " is out of bounds for dimension " +
                 std::to_string(own) + " with size " + std::to_string(size),
             loc);
      result.view = result.view.select(dim, index.integer, loc);
      break;
    }
    case TensorIndex::Kind::tensor: {
      Tensor which = isMask(index.tensor, loc) ? index.tensor.to(DType::i1, loc) : index.tensor;
      if (isMask(which, loc) && which.dim(loc) == 0) { // selects all of a new dimension, or nothing
        which = which.reshape({1}, loc);
        result.view = result.view.unsqueeze(dim, loc);
      }
      result.tensors.emplace_back(dim, which);
      dim += isMask(which, loc) ? which.dim(loc) : 1;
      break;
    }
    }
    own += consumed(index, loc);
  }
  return result;
}

/// Throws Error unless the mask has the sizes of the dimensions that it indexes, from `first` on.
void checkMaskShape(const Tensor &mask, const Shape &shape, int64_t first, Loc loc) {
  for (int64_t d = 0; d < mask.dim(loc); ++d)
    if (int64_t size = shape[static_cast<size_t>(first + d)]; size != mask.sizes(loc)[static_cast<size_t>(d)])
      fail("The shape of the mask " + shapeText(mask.sizes(loc)) + " at index " + std::to_string(d) +
               " does not match the shape of the indexed tensor " + shapeText(shape) + " at index " +
               std::to_string(first + d),
           loc);
}

[[noreturn]] void failOnMask(Loc loc) {
  fail("the size of what a boolean mask selects depends on values, and a program's sizes do not (WEFT-C001): "
       "use where(mask, x, other), multiply by the mask, or index_put_({mask}, value) with a number or one "
       "row",
       loc, {}, "WEFT-C001");
}

/// The index tensor of each dimension, undefined for dimensions without one. A mask of several dimensions is
/// an index for each of them, whose size is read from it; an error while a function is compiled.
std::vector<Tensor> byDimension(const Indexed &indexed, Loc loc) {
  std::vector<Tensor> list(static_cast<size_t>(indexed.view.dim(loc)));
  for (const auto &[dim, tensor] : indexed.tensors) {
    if (tensor.dtype(loc) != DType::i1) {
      list[static_cast<size_t>(dim)] = tensor;
      continue;
    }
    if (Trace::current())
      failOnMask(loc);
    checkMaskShape(tensor, indexed.view.sizes(loc), dim, loc);
    std::vector<Tensor> columns = weft::where(tensor, loc);
    for (size_t i = 0; i < columns.size(); ++i)
      list[static_cast<size_t>(dim) + i] = columns[i];
  }
  return list;
}

/// Takes index tensors without dimensions from the others if there are such: as integers do, they select, and
/// do not count where the dimensions of the others go. Empty if all are of one kind.
std::vector<std::pair<int64_t, Tensor>> takeSelecting(Indexed &indexed, Loc loc) {
  std::vector<std::pair<int64_t, Tensor>> selecting, others;
  for (const auto &each : indexed.tensors)
    (each.second.dim(loc) == 0 ? selecting : others).push_back(each);
  if (selecting.empty() || others.empty())
    return {};
  indexed.tensors = others;
  return selecting;
}

/// What is left after these selections, a copy. The dimensions of the other index tensors move.
void applySelections(Indexed &indexed, const std::vector<std::pair<int64_t, Tensor>> &selecting, Loc loc) {
  for (size_t i = selecting.size(); i-- > 0;) {
    const auto &[dim, place] = selecting[i];
    std::vector<Tensor> list(static_cast<size_t>(dim) + 1);
    list.back() = place;
    indexed.view = weft::index(indexed.view, list, loc);
    for (auto &[other, tensor] : indexed.tensors)
      other -= other > dim;
  }
}

/// The view with `values` at what the index tensors name.
Tensor replaced(Indexed indexed, const Tensor &values, Loc loc) {
  const auto selecting = takeSelecting(indexed, loc);
  if (selecting.empty())
    return weft::index_put(indexed.view, byDimension(indexed, loc), values, false, loc);
  const Tensor view = indexed.view;
  applySelections(indexed, selecting, loc);
  const Tensor part = weft::index_put(indexed.view, byDimension(indexed, loc), values, false, loc);
  std::vector<int64_t> dims, front;
  std::vector<Tensor> places;
  for (const auto &[dim, place] : selecting) {
    front.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(dim);
    places.push_back(place);
  }
  return weft::index_put(view.movedim(dims, front, loc), places, part, false, loc).movedim(front, dims, loc);
}

/// Whether a single mask selects what is written, and the value is the same for every element, or row, of it.
bool isFilledByMask(const Indexed &indexed, const Arg &value) {
  Loc loc = value.loc;
  if (indexed.tensors.size() != 1 || indexed.tensors[0].second.dtype(loc) != DType::i1)
    return false;
  const auto &[first, flags] = indexed.tensors[0];
  return value.is_number || value.tensor.numel(loc) == 1 ||
         value.tensor.dim(loc) <= indexed.view.dim(loc) - first - flags.dim(loc);
}

} // namespace

Tensor Tensor::index(std::initializer_list<TensorIndex> indices, Loc loc) const {
  GraphLock lock(graphMutex());
  Indexed indexed = apply(*this, indices, loc);
  if (indexed.tensors.empty())
    return indexed.view;
  // PyTorch's result of integers alone is a view, whatever they lie in.
  const bool selects = std::all_of(indexed.tensors.begin(), indexed.tensors.end(),
                                   [&](const auto &each) { return each.second.dim(loc) == 0; });
  applySelections(indexed, takeSelecting(indexed, loc), loc);
  Tensor made = weft::index(indexed.view, byDimension(indexed, loc), loc);
  return selects ? markedCopy(std::move(made), "index() with a tensor without dimensions", loc) : made;
}

Tensor &Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Arg &value) {
  GraphLock lock(graphMutex());
  Loc loc = value.loc;
  Indexed indexed = apply(*this, indices, loc);
  if (indexed.tensors.empty()) {
    std::move(indexed.view) = value; // writes the elements
    return *this;
  }
  bool mask = isFilledByMask(indexed, value);
  refuseOverflow("index_put_()", dtype(loc), value, {}, BeyondHalf::infinity);
  if (!mask) {
    Tensor values = value.is_number ? wrap(number(dtype(loc), device(loc), value, loc), loc)
                                    : value.tensor.to(dtype(loc), loc);
    indexed.view.copy_(replaced(indexed, values, loc), loc);
    return *this;
  }
  auto [first, flags] = indexed.tensors[0];
  int64_t rest = indexed.view.dim(loc) - first - flags.dim(loc);
  const Shape &shape = indexed.view.sizes(loc);
  checkMaskShape(flags, shape, first, loc);
  Shape wide = flags.sizes(loc);
  wide.resize(wide.size() + static_cast<size_t>(rest), 1);
  Tensor spread = flags.reshape(wide, loc), written = indexed.view;
  if (value.is_number) {
    written = weft::where(spread, value, {written, loc}, loc);
  } else {
    Tensor row = value.tensor.dim(loc) > rest ? value.tensor.reshape({}, loc) : value.tensor;
    written = weft::where(spread, {row.to(dtype(loc), loc), loc}, {written, loc}, loc);
  }
  indexed.view.copy_(written, loc);
  return *this;
}

Scalar::Scalar(const Tensor &value, Loc loc) : number_(value, loc) {
  if (value.dim(loc) != 0)
    fail("a Scalar is made of a number or a 0-dimensional tensor, found shape " + shapeText(value.sizes(loc)),
         loc);
  number_.is_scalar = true;
}

Tensor Scalar::tensor(Loc loc) const {
  if (!number_.is_number)
    return number_.tensor;
  if (number_.is_bool) {
    uint8_t flag = number_.whole != 0;
    return Tensor::from_bytes(&flag, 1, DType::i1, {}, onHost(), loc);
  }
  return number_.is_real ? Tensor::from(&number_.real, {}, onHost(), loc)
                         : Tensor::from(&number_.whole, {}, onHost(), loc);
}

} // namespace weft
