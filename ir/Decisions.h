//===- Decisions.h - Decisions of passes -----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes record their decisions in the attribute `weft.decisions` of the function: an array of dictionaries
// with the fields of Decision. The text of every stage shows them, and `weft explain` prints them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_DECISIONS_H
#define WEFT_IR_DECISIONS_H

#include "ir/Dialect.h"
#include <string>
#include <vector>

namespace weft::ir {

inline constexpr llvm::StringLiteral decisionsAttr = "weft.decisions";

struct Decision {
  std::string code;     ///< "WEFT-F002" and the like for a refusal; otherwise "fused", "inlined" and the like
  std::string location; ///< of the consumer, "file:line:col"
  std::string producer, consumer;
  int64_t savedPs = 0; ///< estimated, in picoseconds
  std::string message;
};

/// The first source line of a location; null if it has none.
mlir::FileLineColLoc firstLine(mlir::Location loc);

/// "file:line:col" of every source line of a location, joined by ", ".
std::string locationText(mlir::Location loc);

/// The location of the first line in such a text, or an unknown one.
mlir::Location locationFrom(mlir::MLIRContext *context, llvm::StringRef text);

/// "1 launch", "3 launches".
std::string amountText(size_t count, const std::string &noun);

/// Appends to the function's decisions.
void recordDecisions(FuncOp func, llvm::ArrayRef<Decision> decisions);
/// The function's decisions in the order in which they were recorded.
std::vector<Decision> readDecisions(FuncOp func);

} // namespace weft::ir

#endif // WEFT_IR_DECISIONS_H
