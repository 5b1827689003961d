//===- PlanConstants.h - The constant section of a plan -*- C++ -*- ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_PLANCONSTANTS_H
#define WEFT_CODEGEN_PLANCONSTANTS_H

#include "ir/Dialect.h"
#include "weft/status.hpp"

#include <cstddef>
#include <vector>

namespace weft::codegen {

/// Writes the elements of a constant to the bytes that its slice has in the section `constants`, which grows
/// as far as is needed. Nothing for a constant without storage. WEFT-M001 where there is no memory for it.
Status appendConstant(ir::ConstantOp constant, std::vector<std::byte> &constants);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_PLANCONSTANTS_H
