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

/// Writes the elements of a constant to its slice of the section `constants`, which grows if needed. Does
/// nothing for a constant without storage. Fails with WEFT-M001 if the machine has not enough memory.
Status appendConstant(ir::ConstantOp constant, std::vector<std::byte> &constants);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_PLANCONSTANTS_H
