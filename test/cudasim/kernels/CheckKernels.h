//===- CheckKernels.h - Whether kernels on the engine are right ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_CHECKKERNELS_H
#define WEFT_TEST_CUDASIM_KERNELS_CHECKKERNELS_H

#include "CompileForCuda.h"
#include "PreparedKernels.h"

#include "test/random/Check.h"

#include <set>

namespace weft::cudasim {

/// Gives the arguments of a program names by which makeInputs() chooses values, if they have none: whole
/// numbers are small, as indices have to be, and reals are sometimes NaN, infinite or subnormal if `special`.
void nameArguments(mlir::ModuleOp module, bool special);

struct CheckOptions {
  CudaOptions cuda;
  /// Of how many calls one looks for races: 1 for every call, 0 for none.
  uint64_t raceEvery = 1;
  Spoil spoil = Spoil::nothing;
  uint64_t spoilt = 0; ///< the number of the launch that is spoilt
  /// The host computes products of more multiply-adds, those for elements outside of the result included.
  uint64_t mostMultiplyAdds = uint64_t(1) << 28;
};

/// What was checked.
struct CheckCounts {
  uint64_t calls = 0;   ///< of compiled programs on the engine
  uint64_t failing = 0; ///< of these, calls that fail as on the CPU
  uint64_t kernels = 0, fallbacks = 0, compiled = 0;
  uint64_t exactResults = 0, boundedResults = 0; ///< compared bit for bit with the CPU, and by bounds alone
};

/// Checks programs: their results on the engine are those of the interpreter, within derived bounds, and of
/// the CPU's kernels, bit for bit where every target has to give these; a call that fails does so at the same
/// element of the same op, with the same value.
class KernelChecker {
public:
  explicit KernelChecker(CheckOptions options) : options(std::move(options)) {}

  /// A program whose sizes are numbers; or which has symbols, for several values of these.
  std::optional<randomtest::Failure> check(mlir::ModuleOp module, uint64_t seed);
  /// Adds the kernels that check() will compile.
  void prepare(mlir::ModuleOp module, uint64_t seed, PreparedKernels &kernels) const;
  const CheckCounts &counts() const { return counted; }

private:
  CudaOptions optionsFor(uint64_t seed) const;
  Expected<llvm::SmallVector<ir::Literal>> run(mlir::ModuleOp module, llvm::ArrayRef<ir::Literal> inputs,
                                               uint64_t seed);
  Status compare(const CudaProgram &program, llvm::ArrayRef<ir::Literal> found,
                 llvm::ArrayRef<ir::Literal> expected);
  /// Checks a program whose sizes are numbers; `compiled` is what runs on the engine.
  std::optional<randomtest::Failure> checkStatic(mlir::ModuleOp module, uint64_t seed,
                                                 mlir::ModuleOp compiled);
  std::optional<std::string> checkSameBits(mlir::ModuleOp module, mlir::ModuleOp twin, uint64_t seed);

  CheckOptions options;
  CheckCounts counted;
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_CHECKKERNELS_H
