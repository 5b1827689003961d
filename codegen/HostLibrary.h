//===- HostLibrary.h - The contraction library of this process -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_HOSTLIBRARY_H
#define WEFT_CODEGEN_HOSTLIBRARY_H

#include "ir/ContractionLibrary.h"

namespace weft::runtime {
struct ContractionShape;
} // namespace weft::runtime

namespace weft::codegen {

/// The runtime's description of the contraction with a signature of static sizes. The result is row-major,
/// and there is no epilogue.
runtime::ContractionShape shapeOf(const ir::ContractionSignature &signature);

/// The library that the runtime of this process calls, asked what it supports on this processor. The
/// workspace that a package reserves, the least work for a library call, and everything else that does not
/// depend on the processor comes from the target's table.
const ir::ContractionLibrary &hostLibrary(const ir::TargetDescription &target);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_HOSTLIBRARY_H
