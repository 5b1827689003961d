//===- ChainedContraction.h - Products of f32 with AVX-512 ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element is a sum in an order that follows from the extents (GemmRows.h), so the bits depend neither
// on how operands lie nor on where rows and columns are cut. The kernels are the runtime's (GemmChains.h,
// GemmRows.h), but for long sums of a transposed matrix times another: oneDNN's sgemm adds in the same order
// there, and was slower for all other blocks of the benchmark's products.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_CHAINEDCONTRACTION_H
#define WEFT_RUNTIME_GEMM_CHAINEDCONTRACTION_H

#include "runtime/gemm/Contraction.h"
#include "runtime/gemm/PackedContraction.h"

namespace weft::runtime {

/// Whether this processor computes a product so, wherever it is given to the library.
bool is_chained(const ContractionShape &shape);
/// The tensors of such a product that have to be copied.
Packing packing_of_chains(const ContractionShape &shape);
/// Bytes for the partial sums of a product whose k is cut.
size_t scratch_bytes_of_chains(const ContractionShape &shape);
/// What a contraction that is made of it says it is.
std::string implementation_of_chains(const ContractionShape &shape);

/// No extent of `shape` is 0, and nothing has to be copied.
std::shared_ptr<const Contraction> make_chained(const ContractionShape &shape);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_CHAINEDCONTRACTION_H
