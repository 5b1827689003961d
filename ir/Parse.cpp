//===- Parse.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Parse.h"
#include "ir/Diagnostics.h"
#include "ir/SourceExcerpt.h"
#include "ir/TextGuard.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
namespace weft::ir {

static StringRef severityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  return "";
}

/// The line of this number, from 1 on.
static StringRef lineOf(StringRef text, unsigned number) {
  for (unsigned line = 1; line < number; ++line)
    text = text.split('\n').second;
  return text.split('\n').first;
}

/// "bad.mlir:2:8: error: message", followed by the source line, if it is a line of this text.
static void appendDiagnostic(std::string &messages, const CollectedDiagnostic &diagnostic, StringRef text,
                             StringRef name) {
  const bool known = diagnostic.line > 0;
  messages += known ? diagnostic.file + ":" + std::to_string(diagnostic.line) + ":" +
                          std::to_string(diagnostic.column)
                    : name.str();
  messages += (": " + severityName(diagnostic.severity) + ": " + diagnostic.message + "\n").str();
  if (known && diagnostic.file == name) {
    const SourceExcerpt excerpt = sourceExcerpt(lineOf(text, diagnostic.line), diagnostic.column);
    messages += excerpt.text + "\n" + std::string(excerpt.caret, ' ') + "^\n";
  }
  for (const CollectedDiagnostic &note : diagnostic.notes)
    appendDiagnostic(messages, note, text, name);
}

Expected<OwningOpRef<ModuleOp>> parseModule(MLIRContext &context, StringRef text, StringRef name) {
  if (auto violation = findTextViolation(text))
    return Status::error((name + ":" + Twine(violation->line) + ":" + Twine(violation->column) +
                          ": error: " + violation->message)
                             .str());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
  DiagnosticCollector said(&context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module) {
    std::string messages;
    for (const CollectedDiagnostic &diagnostic : said.diagnostics())
      appendDiagnostic(messages, diagnostic, text, name);
    return said.status("").with([&](FailureInfo &info) {
      info.what = messages.empty() ? (name + ": is not a module").str() : messages;
    });
  }
  return module;
}

} // namespace weft::ir
