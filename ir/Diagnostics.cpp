//===- Diagnostics.cpp - From diagnostics to a Status ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Diagnostics.h"
#include "ir/Decisions.h"
#include "ir/Reasons.h"

using namespace mlir;

namespace weft::ir {

static CollectedDiagnostic collected(Diagnostic &diagnostic) {
  CollectedDiagnostic made;
  made.severity = diagnostic.getSeverity();
  made.message = diagnostic.str();
  for (DiagnosticArgument &argument : diagnostic.getArguments())
    if (argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::String)
      if (const Reason *reason = findReason(argument.getAsString()); reason && made.code.empty())
        made.code = reason->code.str();
  made.location = locationText(diagnostic.getLocation());
  if (auto line = firstLine(diagnostic.getLocation())) {
    made.file = line.getFilename().str();
    made.line = line.getLine();
    made.column = line.getColumn();
  }
  for (Diagnostic &note : diagnostic.getNotes())
    made.notes.push_back(collected(note));
  return made;
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler_(context, [this](Diagnostic &diagnostic) {
        diagnostics_.push_back(collected(diagnostic));
        return success();
      }) {}

static std::string at(const CollectedDiagnostic &diagnostic) {
  return diagnostic.location.empty() ? "" : diagnostic.location + ": ";
}

std::string DiagnosticCollector::text() const {
  std::string text;
  for (const CollectedDiagnostic &diagnostic : diagnostics_) {
    text += (text.empty() ? "" : "\n") + at(diagnostic) + diagnostic.message;
    for (const CollectedDiagnostic &note : diagnostic.notes)
      text += "\n  " + at(note) + "note: " + note.message;
  }
  return text;
}

Status DiagnosticCollector::made(std::string what) const {
  FailureInfo info;
  info.what = std::move(what);
  for (const CollectedDiagnostic &diagnostic : diagnostics_) {
    if (info.code.empty())
      info.code = diagnostic.code;
    if (info.line != 0)
      continue;
    info.file = diagnostic.file;
    info.line = diagnostic.line;
    info.column = diagnostic.column;
  }
  return Status::error(std::move(info));
}

Status DiagnosticCollector::status(const std::string &otherwise) const {
  return made(empty() ? otherwise : text());
}

Status DiagnosticCollector::first(const std::string &otherwise) const {
  return made(empty() ? otherwise : diagnostics_.front().message);
}

} // namespace weft::ir
