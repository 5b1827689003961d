//===- PlanReport.h - A launch list as a table ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_LAUNCH_PLANREPORT_H
#define WEFT_PASSES_LAUNCH_PLANREPORT_H

#include "ir/Decisions.h"
#include <string>

namespace weft::passes {

/// "row", "contraction+bias+relu", "transfer".
std::string launchKind(mlir::Operation *launch);
/// The types of a launch's results, "f32[64x256]"; the first few if there are many.
std::string launchResults(mlir::Operation *launch);

/// Whether the target of a function has graphs to capture launches into, as every device but the host has.
bool hasGraphs(ir::FuncOp func);

/// The decisions of a function that apply to its target: those about graphs only if it has graphs.
std::vector<ir::Decision> shownDecisions(ir::FuncOp func);

/// A table of the launches of a function: number, kind, results, bytes read and written, slices, source line.
/// Without a memory plan the slices are missing.
std::string formatPlan(ir::FuncOp func);

/// The decisions of a function, a line each: refusals first, the most expensive first, each with its code,
/// the title of the code, cost and source line; then what was done.
std::string formatDecisions(ir::FuncOp func);

/// How many launches are captured, in how many graphs, and a line for each cut; empty if the target has no
/// graphs.
std::string formatCapture(ir::FuncOp func);

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_PLANREPORT_H
