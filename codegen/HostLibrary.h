//===- HostLibrary.h - The contraction library of this process -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_HOSTLIBRARY_H
#define WEFT_CODEGEN_HOSTLIBRARY_H

#include "ir/ContractionLibrary.h"

namespace weft::codegen {

/// The library that the runtime of this process calls, asked for what it takes here. What a package reserves,
/// from how many operations on a call pays, and all that does not depend on the processor, stays as the
/// target's table says.
const ir::ContractionLibrary &hostLibrary(const ir::TargetDescription &target);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_HOSTLIBRARY_H
