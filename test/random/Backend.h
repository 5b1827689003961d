//===- Backend.h - Programs through the compiler and the runtime -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_BACKEND_H
#define WEFT_TEST_RANDOM_BACKEND_H

#include "Check.h"

#include "ir/CompilerOptions.h"
#include "runtime/execution/Executable.h"

namespace weft::randomtest {

/// Compiles for this processor, or for x86-64-v3 for one seed in four, loads the package and calls it once.
/// Returns the results, or the error of the call.
Expected<llvm::SmallVector<ir::Literal>> runCompiled(mlir::ModuleOp module,
                                                     llvm::ArrayRef<ir::Literal> inputs, uint64_t seed);

/// The same for a given target of the host, for example "cpu:64".
Expected<llvm::SmallVector<ir::Literal>> runCompiledFor(const std::string &target, mlir::ModuleOp module,
                                                        llvm::ArrayRef<ir::Literal> inputs, uint64_t seed);

/// Compiles the program and loads its function `main` for these devices.
Expected<std::shared_ptr<runtime::Executable>> compileAndLoad(mlir::ModuleOp module,
                                                              const ir::CompilerOptions &options,
                                                              const runtime::DeviceMap &devices = {});

/// Calls a loaded function of a program once, as runCompiled() does. How much memory the call takes is
/// compared with the plan where all of it is the host's own. An argument begins so many bytes of `shifts`
/// behind an aligned address, if that has a number for it.
Expected<llvm::SmallVector<ir::Literal>> callOnce(std::shared_ptr<runtime::Executable> executable,
                                                  llvm::ArrayRef<ir::Literal> inputs, uint64_t seed,
                                                  size_t resultCount, llvm::ArrayRef<size_t> shifts = {});
/// Calls it so many times with the same values, some of them in other memory than before. All calls must give
/// the bytes of the first one, or fail as it does; results that `unknown` has a true for are not compared.
Expected<llvm::SmallVector<ir::Literal>> callOften(std::shared_ptr<runtime::Executable> executable,
                                                   llvm::ArrayRef<ir::Literal> inputs, uint64_t seed,
                                                   size_t resultCount, llvm::ArrayRef<size_t> shifts,
                                                   unsigned times, const std::vector<bool> &unknown = {});

/// What two failed calls say differently; an empty text if they say the same.
std::string differenceOfFailures(const FailureInfo &found, const FailureInfo &expected);

/// Lets half of the arguments of one program in three begin at any multiple of an element. Returns how many
/// bytes behind an aligned address each begins.
llvm::SmallVector<size_t> shiftArguments(mlir::ModuleOp module, uint64_t seed);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_BACKEND_H
