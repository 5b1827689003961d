//===- Diagnostics.h - From diagnostics to a Status -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes and verifiers stream a reason code as a separate argument: `<< " (" << "WEFT-P001" << ")"`. A
// diagnostic is a list of arguments until it is printed, so the code is found there, and no text has to be
// parsed. A check of the house suite forbids a code within a longer literal.
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
  std::string location; ///< locationText; file, line and column are those of its first line
  std::string file;
  uint32_t line = 0, column = 0; ///< 0: not known
  std::vector<CollectedDiagnostic> notes;
};

/// Collects the diagnostics of a context as long as the object exists. The context's other handlers get none.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);
  const std::vector<CollectedDiagnostic> &diagnostics() const { return diagnostics_; }
  bool empty() const { return diagnostics_.empty(); }
  /// One line "train.cpp:12:3: message" per diagnostic, followed by its notes.
  std::string text() const;
  /// All diagnostics as a failure, with the code and the line of the first diagnostic that has them.
  /// `otherwise` is the message if there are none.
  Status status(const std::string &otherwise) const;
  /// The same for the first diagnostic alone, without its line and notes.
  Status first(const std::string &otherwise) const;

private:
  Status made(std::string what) const;
  std::vector<CollectedDiagnostic> diagnostics_;
  mlir::ScopedDiagnosticHandler handler_;
};

} // namespace weft::ir

#endif // WEFT_IR_DIAGNOSTICS_H
