//===- weft-opt.cpp - Runs passes on text ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What mlir-opt is for the dialects of MLIR: `weft-opt --weft-simplify file.mlir`. The text passes the scan
// of ir/TextGuard.h before it is parsed.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"
#include "ir/Dialect.h"
#include "ir/TextGuard.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  weft::ir::registerDialect(registry);
  weft::passes::registerWeftPasses();
  weft::passes::registerPipeline();
  weft::codegen::registerEmitKernelsPass();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
  mlir::registerInlinerPass();
  mlir::registerStripDebugInfoPass();
  mlir::registerSymbolDCEPass();

  auto [inputName, outputName] =
      mlir::registerAndParseCLIOptions(argc, argv, "weft-opt: runs passes of Weft on its IR", registry);
  std::string message;
  auto input = mlir::openInputFile(inputName, &message);
  if (!input) {
    llvm::errs() << "weft-opt: " << message << "\n";
    return 1;
  }
  // Binary IR has a reader of its own, which does not recurse over text.
  bool isText = !input->getBuffer().starts_with("ML\xefR");
  if (isText) {
    if (auto violation = weft::ir::findTextViolation(input->getBuffer())) {
      llvm::errs() << inputName << ":" << violation->line << ":" << violation->column
                   << ": error: " << violation->message << "\n";
      return 1;
    }
  }
  auto output = mlir::openOutputFile(outputName, &message);
  if (!output) {
    llvm::errs() << "weft-opt: " << message << "\n";
    return 1;
  }
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (mlir::failed(mlir::MlirOptMain(output->os(), std::move(input), registry, config)))
    return 1;
  output->keep();
  return 0;
}
