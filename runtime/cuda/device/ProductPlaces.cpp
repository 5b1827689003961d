//===- ProductPlaces.cpp - Where products of a graph have operands --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/ProductPlaces.h"

#include "runtime/cuda/device/CublasLtProducts.h"

namespace weft::runtime {

bool ProductPlaces::note(const WorkList &list) {
  bool fits = true;
  size_t number = 0;
  for (const WorkItem &item : list.items()) {
    if (!item.product)
      continue;
    const std::array<CUdeviceptr, productOperands> operands = list.operands_of(item);
    if (number == last_.size()) { // of a first call
      last_.push_back(operands);
      moves_.emplace_back();
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      bool &moves = moves_[number][i];
      if (moves || operands[i] == last_[number][i])
        continue;
      // What is the runtime's own moves only when memory for temporaries grows.
      moves = (item.foreign >> i & 1) != 0;
      fits = false;
    }
    last_[number++] = operands;
  }
  return fits;
}

ProductPlaces::Layout ProductPlaces::layout(const WorkList &list) const {
  constexpr size_t alignment = 256;
  Layout layout;
  for (const WorkItem &item : list.items()) {
    if (!item.product)
      continue;
    const std::array<bool, productOperands> &moves = moves_[layout.offsets.size()];
    const std::array<size_t, productOperands> bytes = product_bytes(*item.product);
    auto &offsets = layout.offsets.emplace_back();
    for (size_t i = 0; i < bytes.size(); ++i)
      if (moves[i]) {
        offsets[i] = layout.bytes;
        layout.bytes += (bytes[i] + alignment - 1) / alignment * alignment;
      }
  }
  return layout;
}

} // namespace weft::runtime
