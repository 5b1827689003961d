//===- ExecuteHarness.h - Runs fusions and compares with the language ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_EXECUTEHARNESS_H
#define WEFT_TEST_UNIT_CODEGEN_EXECUTEHARNESS_H

#include "BlockMapping.h"
#include "KernelHarness.h"
#include "ir/Dialect.h"
#include "ir/interp/Literal.h"
#include "runtime/package/Kernel.h"

#include <string>
#include <vector>

namespace weft::testing {

/// A function whose body is one fusion. Its text has the primitive ops, which the constructor puts into the
/// fusion.
class FusedProgram {
public:
  /// `text` has the function `weft.func @main`. An error fails the test.
  FusedProgram(const std::string &text, ir::FusionKind kind);

  bool valid() const { return static_cast<bool>(fusion); }
  std::vector<ir::Literal> interpret(const std::vector<ir::Literal> &arguments);
  /// Runs the compiled kernel, with its tasks divided among several calls. If `inPlace[i]` >= 0, result i is
  /// written to the memory of that argument.
  std::vector<ir::Literal> run(const std::vector<ir::Literal> &arguments, codegen::CpuTarget target,
                               std::vector<int> inPlace = {});
  /// Runs the same kernel, mapped to blocks of threads, with all tasks on the host.
  std::vector<ir::Literal> runInBlocks(const std::vector<ir::Literal> &arguments, const BlockTarget &blocks,
                                       ThreadOrder order, std::vector<int> inPlace = {});
  /// Runs a kernel in new memory, with `ownScratch` bytes of scratch in addition to those of the schedule.
  using Launch = llvm::function_ref<void(const runtime::KernelFrame &frame, size_t sizes, int64_t tasks)>;
  std::vector<ir::Literal> launch(const std::vector<ir::Literal> &arguments, const std::vector<int> &inPlace,
                                  int64_t ownScratch, Launch run);
  /// The time of one kernel in seconds, with all tasks on one thread, and arguments that are not moved.
  double time(const std::vector<ir::Literal> &arguments, codegen::CpuTarget target, int repeats);
  /// Random arguments: reals in [low, high), integers in [0, 8).
  std::vector<ir::Literal> randomArguments(uint64_t seed, double low = -2, double high = 2);

  std::string kernelText; ///< of the last run
  runtime::CheckRecord check;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  ir::FuncOp function;
  ir::FusionOp fusion;

private:
  struct Loaded {
    std::unique_ptr<LoadedImage> image;
    runtime::KernelFn fn = nullptr;
  };
  Loaded build(codegen::CpuTarget target, const codegen::KernelTarget &kernels = codegen::cpuKernels());
  void expectSameInBlocks(const std::vector<ir::Literal> &arguments, const std::vector<ir::Literal> &expected,
                          const std::vector<int> &inPlace);
};

std::vector<std::vector<std::byte>> bytesOf(const std::vector<ir::Literal> &results);

/// `text` with each first string of `replacements` replaced by its second.
std::string replaced(std::string text, llvm::ArrayRef<std::pair<llvm::StringRef, std::string>> replacements);

/// The largest difference between two results, in units of the spacing of `dtype` at the expected value, or
/// at `floor` if that is larger. For integers it is their difference. NaN equals NaN.
double distance(const ir::Literal &expected, const ir::Literal &found, double floor = 1e-30);

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_EXECUTEHARNESS_H
