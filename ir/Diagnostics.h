//===- Diagnostics.h - From diagnostics to a Status -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass or a verifier streams a reason code as an argument of its own, `<< " (" << "WEFT-P001" << ")"`, by
// which it is found again: a diagnostic is a list of arguments until it is printed, and its text is not read.
// A check of the house suite forbids a code within a longer literal.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_DIAGNOSTICS_H
#define WEFT_IR_DIAGNOSTICS_H

#include "weft/status.hpp"

#include "mlir/IR/Diagnostics.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::ir {

/// One diagnostic, or a note of one.
struct CollectedDiagnostic {
  mlir::DiagnosticSeverity severity = mlir::DiagnosticSeverity::Error;
  std::string message;
  std::string code;     ///< empty for none
  std::string location; ///< locationText; the rest is of its first line
  std::string file;
  uint32_t line = 0, column = 0; ///< 0: not known
  std::vector<CollectedDiagnostic> notes;
};

/// Keeps what is said in a context while it lives; nothing reaches the context's other handlers.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);
  const std::vector<CollectedDiagnostic> &diagnostics() const { return diagnostics_; }
  bool empty() const { return diagnostics_.empty(); }
  /// "train.cpp:12:3: message" a line, and notes below what they belong to.
  std::string text() const;
  /// The failure that was told of: its text, with the code and the line of the first diagnostic that has one.
  /// `otherwise` is what to say where nothing was.
  Status status(const std::string &otherwise) const;
  /// The same of the first diagnostic alone, without its line and notes.
  Status first(const std::string &otherwise) const;

private:
  Status made(std::string what) const;
  std::vector<CollectedDiagnostic> diagnostics_;
  mlir::ScopedDiagnosticHandler handler_;
};

} // namespace weft::ir

#endif // WEFT_IR_DIAGNOSTICS_H
