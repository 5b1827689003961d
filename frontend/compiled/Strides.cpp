//===- Strides.cpp - Arguments that are read in place ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Strides.h"

#include "frontend/graph/Layout.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/View.h"
#include "ir/StridedLayout.h"
#include "runtime/memory/Layout.h"

namespace weft::frontend {

/// Where the elements of a view are read in place. Empty if the slot is no view, or if calls read a copy of
/// it.
static std::optional<StridedPlace> placeOf(const Slot &slot) {
  return slot.view() ? placeOf(*slot.view()) : std::nullopt;
}

/// The bytes that divide the address of a view's elements on a GPU, where those are fewer than the GPU
/// accesses at once; 0 otherwise.
static int64_t alignmentOf(const Slot &slot, const StridedPlace &place) {
  const uint64_t offset = place.offset * itemsize(slot.spec().dtype);
  if (slot.spec().device.is_cpu() || offset % runtime::widestAccess == 0)
    return 0;
  return static_cast<int64_t>(offset & (~offset + 1));
}

static std::string listText(const std::vector<int64_t> &list) {
  std::string text;
  for (int64_t value : list)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

void takeStrides(Variant &variant, Region &region, const std::vector<std::shared_ptr<Slot>> &arguments) {
  // A declared function accepts every call with the declared types, so strides are no part of its signature.
  if (!variant.symbols.empty())
    return;
  for (Binding &binding : variant.bindings) {
    if (binding.argument < 0 || binding.callArgument < 0 || binding.isGradient || binding.writes())
      continue;
    binding.keepsStrides = true;
    if (auto place = placeOf(*arguments[static_cast<size_t>(binding.callArgument)])) {
      RegionArgument &argument = region.arguments[static_cast<size_t>(binding.argument)];
      binding.strides = argument.strides = place->strides;
      binding.alignment = argument.alignment =
          alignmentOf(*arguments[static_cast<size_t>(binding.callArgument)], *place);
    }
  }
}

std::optional<Mismatch> stridesMismatch(const Binding &binding, const Slot &slot) {
  // The common case: the argument is no view and was none.
  if (!binding.keepsStrides || (!slot.view() && binding.strides.empty()))
    return std::nullopt;
  auto place = placeOf(slot);
  std::vector<int64_t> strides = place ? std::move(place->strides) : std::vector<int64_t>();
  if (strides == binding.strides) {
    const int64_t alignment = place ? alignmentOf(slot, *place) : 0;
    if (alignment == 0 || (binding.alignment && binding.alignment <= alignment))
      return std::nullopt;
    return Mismatch{.text = binding.str() + " began at a multiple of " +
                            std::to_string(binding.alignment ? static_cast<uint64_t>(binding.alignment)
                                                             : runtime::widestAccess) +
                            " bytes of the GPU's memory and begins at one of " + std::to_string(alignment),
                    .code = "WEFT-R007",
                    .kind = "layout in memory",
                    .remedy = ": pass a copy, with .clone(), and one variant serves all"};
  }
  auto text = [](const std::vector<int64_t> &list) {
    return list.empty() ? std::string("row-major") : "in memory with the strides " + listText(list);
  };
  return Mismatch{.text = binding.str() + " was " + text(binding.strides) + " and is " + text(strides),
                  .code = "WEFT-R007",
                  .kind = "layout in memory",
                  .remedy =
                      ": pass a copy that is row-major, with .contiguous(), and one variant serves all"};
}

const Ref &storageValue(const Binding &binding, Slot &slot) {
  return binding.keepsStrides && placeOf(slot) ? slot.view()->base->value() : slot.value();
}

std::shared_ptr<runtime::Buffer> readableBuffer(const Binding &binding, Slot &slot) {
  auto place = binding.keepsStrides ? placeOf(slot) : std::nullopt;
  const Ref &value = place ? slot.view()->base->value() : slot.value();
  const auto &buffer = value.buffer();
  if (!place)
    return buffer;
  const Spec &spec = slot.spec();
  int64_t elements = place->strides.empty() ? spec.count() : ir::stridedReach(spec.shape, place->strides);
  size_t item = itemsize(spec.dtype), bytes = static_cast<size_t>(elements) * item;
  return bytes == buffer->bytes() ? buffer : runtime::Buffer::part(buffer, place->offset * item, bytes);
}

bool copiesStrides(const Binding &binding, const Slot &slot) {
  if (!slot.view() || (binding.keepsStrides && placeOf(slot)))
    return false;
  return !anySymbolic(slot.spec().shape) && !ir::isRowMajor(slot.spec().shape, slot.view()->strides);
}

} // namespace weft::frontend
