//===- ProductPlaces.h - Where products of a graph have operands -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of a library is captured into a graph with fixed addresses, and its node is never changed. Most
// operands stay where they are: temporaries and state. An operand in memory of the caller that was seen at
// two addresses has a fixed place of its own from then on, and a node that can be changed copies it there,
// or, for a result, from there. An operand of a loop that nothing in the loop writes is copied before it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_PRODUCTPLACES_H
#define WEFT_RUNTIME_CUDA_DEVICE_PRODUCTPLACES_H

#include "runtime/cuda/device/WorkList.h"

#include <array>
#include <optional>
#include <vector>

namespace weft::runtime {

class ProductPlaces {
public:
  /// Takes note of the operands of a call. False if a graph that was made of an earlier call has an operand
  /// at an address where it no longer is.
  bool note(const WorkList &list);
  /// The places of operands that move, in memory for all of them.
  struct Layout {
    /// Of each product of a list and each of its operands, in bytes; empty where it stays.
    std::vector<std::array<std::optional<size_t>, productOperands>> offsets;
    size_t bytes = 0;
  };
  Layout layout(const WorkList &list) const;

private:
  std::vector<std::array<CUdeviceptr, productOperands>> last_; ///< of each product, in the last call
  std::vector<std::array<bool, productOperands>> moves_; ///< whether an operand was seen at two addresses
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_PRODUCTPLACES_H
