//===- weft-opt.cpp - Runs passes on text ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt for the weft dialect: `weft-opt --weft-simplify file.mlir`. The scan of ir/TextGuard.h checks the
// text before it is parsed.
//
//===----------------------------------------------------------------------===//
#include "codegen/KernelTargets.h"
#include "ir/Dialect.h"
#include "ir/TextGuard.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/Statistics.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

/// Applies `--target=NAME` to every pass on the command line that has the option `target` and does not set
/// it.
static std::vector<std::string> withTarget(int argc, char **argv) {
  constexpr llvm::StringLiteral passesWithTarget[] = {"--weft-pipeline",        "--weft-fuse",
                                                      "--weft-map-devices",     "--weft-choose-schedules",
                                                      "--weft-plan-memory",     "--weft-query-libraries",
                                                      "--weft-attach-epilogues"};
  std::vector<std::string> words(argv, argv + argc);
  std::string target;
  llvm::erase_if(words, [&](const std::string &word) {
    bool is = llvm::StringRef(word).starts_with("--target=");
    if (is)
      target = word.substr(9);
    return is;
  });
  if (target.empty())
    return words;
  for (std::string &word : words) {
    auto [name, options] = llvm::StringRef(word).split('=');
    if (llvm::is_contained(passesWithTarget, name) && !options.contains("target="))
      word = name.str() + "=" + (options.empty() ? "" : options.str() + " ") + "target=" + target;
  }
  return words;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  std::vector<std::string> words = withTarget(argc, argv);
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  argc = static_cast<int>(words.size());
  argv = pointers.data();
  // Hide the options of LLVM's libraries; --help-hidden lists them.
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (!name.starts_with("help") && name != "version")
      option->setHiddenFlag(llvm::cl::Hidden);
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

  static llvm::cl::opt<bool> showStatistics(
      "weft-statistics",
      llvm::cl::desc("Print what each pass did to ops, and which decisions it took, to standard error"));
  auto [inputName, outputName] =
      mlir::registerAndParseCLIOptions(argc, argv,
                                       "weft-opt: runs passes of Weft on its IR\n\n"
                                       "  --target=NAME is the target of every pass that has one: a host as "
                                       "cpu or x86-64-v4:16, a device as cuda:sm_90, or both as "
                                       "cpu:16+cuda:sm_90\n"
                                       "  --help-hidden lists LLVM's own options as well\n\n"
                                       "example: weft-opt --weft-pipeline --target=cuda:sm_90 scaled.mlir",
                                       registry);
  std::string message;
  auto input = mlir::openInputFile(inputName, &message);
  if (!input) {
    llvm::errs() << "weft-opt: " << message << "\n";
    return 1;
  }
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  llvm::SmallVector<llvm::StringRef> parts{input->getBuffer()};
  if (llvm::StringRef marker = config.inputSplitMarker(); !marker.empty()) {
    parts.clear();
    input->getBuffer().split(parts, marker);
  }
  size_t lines = 0;
  for (llvm::StringRef part : parts) {
    // Binary IR has another reader, which does not recurse over text.
    bool isText = !part.starts_with("ML\xefR");
    if (auto violation = isText ? weft::ir::findTextViolation(part) : std::nullopt) {
      llvm::errs() << inputName << ":" << lines + violation->line << ":" << violation->column
                   << ": error: " << violation->message << "\n";
      return 1;
    }
    lines += part.count('\n');
  }
  auto output = mlir::openOutputFile(outputName, &message);
  if (!output) {
    llvm::errs() << "weft-opt: " << message << "\n";
    return 1;
  }
  weft::passes::PassStatistics statistics;
  if (showStatistics)
    config.setPassPipelineSetupFn([&statistics, given = config](mlir::PassManager &manager) {
      statistics.attach(manager);
      return given.setupPassPipeline(manager);
    });
  bool failed = mlir::failed(mlir::MlirOptMain(output->os(), std::move(input), registry, config));
  llvm::errs() << statistics.str();
  if (failed)
    return 1;
  output->keep();
  return 0;
}
