//===- Subject.h - A kernel whose mutants are tried -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a test of the kernel sees: programs run on the engine in race mode, in two orders of warps and blocks,
// and are compared with the CPU's kernels and the interpreter, with plain numbers and with NaN, infinities
// and subnormals. Products are compared with sums of whole numbers, which no order rounds, and attention with
// plain loops in double precision.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_MUTANTS_SUBJECT_H
#define WEFT_TEST_CUDASIM_KERNELS_MUTANTS_SUBJECT_H

#include "test/cudasim/kernels/KernelLaunch.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace weft::cudasim {

class Subject {
public:
  virtual ~Subject() = default;
  /// The texts of its kernels, by symbol.
  virtual std::vector<std::pair<std::string, std::string>> kernels() const = 0;
  /// Runs with another module for a kernel. An error if a test finds a difference.
  virtual Status run(const std::string &symbol, std::shared_ptr<Module> module) = 0;
  /// Steps that a launch of a mutant may take from now on, from those that were taken.
  virtual void limitSteps() = 0;
};

struct SubjectCase {
  const char *name; ///< the skeleton
  Expected<std::unique_ptr<Subject>> (*make)(mlir::MLIRContext &context, const SubjectCase &each);
  const char *program = nullptr; ///< MLIR; null for a product or attention
  /// Whether functions that the kernel calls are changed, too. Those of programs are the same in all kernels.
  bool functions = false;
  const char *target = "sm_90";
  /// Of the symbol n: a program that has it is called with each of them.
  std::vector<int64_t> sizes = {0, 1, 7, 33, 63};
};

/// One of each skeleton.
std::span<const SubjectCase> subjectCases();

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_MUTANTS_SUBJECT_H
