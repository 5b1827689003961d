//===- fuzz_text.cpp - Any bytes to the parser of programs ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Parse.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// A context for the input, or a second one for the printed module. In the first one, the resources of the
/// printed module would get new names, because those of the input are registered there.
static MLIRContext &context(bool second) {
  // A context keeps all its attributes and types, so it is replaced after every 500 uses.
  static std::unique_ptr<MLIRContext> current[2];
  static int uses[2];
  if (!current[second] || ++uses[second] % 500 == 0) {
    DialectRegistry registry;
    weft::ir::registerDialect(registry);
    current[second] = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  }
  return *current[second];
}

static std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto module = weft::ir::parseModule(context(false), text, "fuzz.mlir");
  // A refusal must have a message. The printed text of an accepted module must parse, and print the same.
  if (!module)
    return module.status().message().empty() ? (__builtin_trap(), 0) : 0;
  const std::string once = printed(**module);
  auto again = weft::ir::parseModule(context(true), once, "printed.mlir");
  if (!again || printed(**again) != once)
    __builtin_trap();
  return 0;
}
