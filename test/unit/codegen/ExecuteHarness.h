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

/// A function whose whole body is one fusion, as text of primitive ops: it is wrapped here.
class FusedProgram {
public:
  /// `text` holds `weft.func @main`; fails the test on any error.
  FusedProgram(const std::string &text, ir::FusionKind kind);

  bool valid() const { return static_cast<bool>(fusion); }
  std::vector<ir::Literal> interpret(const std::vector<ir::Literal> &arguments);
  /// Runs the compiled kernel, its tasks in several runs. `inPlace[i]` >= 0: result i lies in that argument.
  std::vector<ir::Literal> run(const std::vector<ir::Literal> &arguments, codegen::CpuTarget target,
                               std::vector<int> inPlace = {});
  /// The same kernel for blocks of threads, all of whose tasks run on the host.
  std::vector<ir::Literal> runInBlocks(const std::vector<ir::Literal> &arguments, const BlockTarget &blocks,
                                       ThreadOrder order, std::vector<int> inPlace = {});
  /// Times one kernel over arguments that stay where they are, in seconds, all tasks on one thread.
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
  /// Runs a kernel with memory of its own, `ownScratch` bytes beside what the schedule says.
  using Launch = llvm::function_ref<void(const runtime::KernelFrame &frame, size_t sizes, int64_t tasks)>;
  std::vector<ir::Literal> launch(const std::vector<ir::Literal> &arguments, const std::vector<int> &inPlace,
                                  int64_t ownScratch, Launch run);
  void expectSameInBlocks(const std::vector<ir::Literal> &arguments, const std::vector<ir::Literal> &expected,
                          const std::vector<int> &inPlace);
};

std::vector<std::vector<std::byte>> bytesOf(const std::vector<ir::Literal> &results);

/// The largest difference between two results in units of `dtype`'s spacing at the expected value, but at
/// least at `floor`; integers differ by their difference, and NaN equals NaN.
double distance(const ir::Literal &expected, const ir::Literal &found, double floor = 1e-30);

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_EXECUTEHARNESS_H
