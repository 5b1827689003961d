//===- PlanReport.h - A launch list as a table -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_PLANREPORT_H
#define WEFT_PASSES_PLANREPORT_H

#include "ir/Dialect.h"
#include <string>

namespace weft::passes {

/// A table of the launches of a function: number, kind, results, bytes read and written, slices, source line.
/// A function without a memory plan has no slices in it.
std::string formatPlan(ir::FuncOp func);

} // namespace weft::passes

#endif // WEFT_PASSES_PLANREPORT_H
