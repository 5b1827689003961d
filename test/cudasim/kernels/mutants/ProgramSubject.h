//===- ProgramSubject.h - A program whose kernels are changed ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_MUTANTS_PROGRAMSUBJECT_H
#define WEFT_TEST_CUDASIM_KERNELS_MUTANTS_PROGRAMSUBJECT_H

#include "Subject.h"
#include "test/cudasim/kernels/CheckKernels.h"

#include "mlir/IR/OwningOpRef.h"

namespace weft::cudasim {

class ProgramSubject final : public Subject {
public:
  /// A program with a symbol is called with several sizes, and has to give the bits that kernels give which
  /// are made for these. With `fallbacks`, its kernels are those of one thread a task.
  static Expected<std::unique_ptr<Subject>> make(mlir::MLIRContext &context, const SubjectCase &each,
                                                 bool fallbacks);

  std::vector<std::pair<std::string, std::string>> kernels() const override;
  Status run(const std::string &symbol, std::shared_ptr<Module> module) override;
  void limitSteps() override;

private:
  /// A call with its expected results.
  struct Call {
    mlir::OwningOpRef<mlir::ModuleOp> module; ///< with numbers as sizes
    uint64_t seed = 0;
    llvm::SmallVector<ir::Literal> expected; ///< of the CPU, or of kernels for these numbers
    std::vector<bool> isExact;               ///< by result: whether it has to have these bits
  };
  Status add(mlir::ModuleOp module, uint64_t seed);
  /// Expects of the last call what the kernels give that are made for its sizes.
  Status expectBitsOf(mlir::ModuleOp twin, const SubjectCase &each);
  Status check(const Call &call);
  Expected<llvm::SmallVector<ir::Literal>> runOnEngine(CudaProgram &made, const Call &call,
                                                       llvm::ArrayRef<ir::Literal> inputs);

  std::unique_ptr<CudaProgram> program;
  std::vector<Call> calls;
  uint64_t mostSteps = 0;
  uint64_t budget = LaunchOptions().budget;
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_MUTANTS_PROGRAMSUBJECT_H
