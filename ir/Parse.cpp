//===- Parse.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Parse.h"
#include "ir/TextGuard.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace weft::ir {

Expected<OwningOpRef<ModuleOp>> parseModule(MLIRContext &context, StringRef text, StringRef name) {
  if (auto violation = findTextViolation(text))
    return Status::error((name + ":" + Twine(violation->line) + ":" + Twine(violation->column) +
                          ": error: " + violation->message)
                             .str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
  OwningOpRef<ModuleOp> module;
  {
    // Prints each diagnostic with the line of the text that it is about.
    SourceMgrDiagnosticHandler handler(sources, &context, stream);
    module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  }
  if (!module)
    return Status::error(messages.empty() ? (name + ": is not a module").str() : stream.str());
  return module;
}

} // namespace weft::ir
