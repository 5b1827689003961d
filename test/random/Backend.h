//===- Backend.h - Programs through the compiler and the runtime -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_BACKEND_H
#define WEFT_TEST_RANDOM_BACKEND_H

#include "Check.h"

#include "runtime/execution/Executable.h"

namespace weft::randomtest {

/// Compiles for this processor, or for x86-64-v3 for one seed in four, loads the package and calls it once.
/// Returns the results, or the error of the call.
Expected<llvm::SmallVector<ir::Literal>> runCompiled(mlir::ModuleOp module,
                                                     llvm::ArrayRef<ir::Literal> inputs, uint64_t seed);

/// The same for a given target of the host, for example "cpu:64".
Expected<llvm::SmallVector<ir::Literal>> runCompiledFor(const std::string &target, mlir::ModuleOp module,
                                                        llvm::ArrayRef<ir::Literal> inputs, uint64_t seed);

/// Calls a loaded function of a program once, as runCompiled() does. The host can read the memory of all its
/// devices; how much memory the call takes is compared with the plan where all of it is the host's own. An
/// argument begins so many bytes of `shifts` behind an aligned address, if that has a number for it.
Expected<llvm::SmallVector<ir::Literal>> callOnce(std::shared_ptr<runtime::Executable> executable,
                                                  llvm::ArrayRef<ir::Literal> inputs, uint64_t seed,
                                                  size_t resultCount, llvm::ArrayRef<size_t> shifts = {});

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_BACKEND_H
