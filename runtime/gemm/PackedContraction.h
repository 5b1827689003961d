//===- PackedContraction.h - Products with copied operands ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library adds products in an order that depends on the layout of its operands. The layout of a value
// depends on more than the program: a view that was read before, for instance, has memory of its own. So an
// operand that would change the order is copied to row-major memory first, and the bits depend on the extents
// alone.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_PACKEDCONTRACTION_H
#define WEFT_RUNTIME_GEMM_PACKEDCONTRACTION_H

#include "runtime/gemm/Contraction.h"

namespace weft::runtime {

/// Which tensors of a contraction are row-major copies while it runs.
struct Packing {
  bool a = false, b = false, c = false; ///< `c`: the result, and a residual, which has its layout
  bool any() const { return a || b || c; }
};

/// The shape with those tensors row-major and dense.
ContractionShape packed_shape(const ContractionShape &shape, const Packing &packing);

/// A contraction of `shape` that runs `inner`, which is of `packed_shape(shape, packing)`. Its scratch has
/// the copies, then what `inner` needs.
std::shared_ptr<const Contraction> make_packed(const ContractionShape &shape, const Packing &packing,
                                               std::shared_ptr<const Contraction> inner);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_PACKEDCONTRACTION_H
