//===- LibraryKernels.h - Kernels of our own for libraries' launches -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan has no kernels for contractions and attention, because a library may carry them out. Here are those
// of our own, by the number of their launch in the plan. Most launches have one; a sum of products has one
// for each product.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_LIBRARYKERNELS_H
#define WEFT_TEST_CUDASIM_KERNELS_LIBRARYKERNELS_H

#include "KernelLaunch.h"

#include "ir/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>

namespace weft::fb {
struct Launch;
struct Plan;
} // namespace weft::fb

namespace weft::cudasim {

struct LibraryGrid {
  int64_t blocks = 0;
  std::vector<int64_t> sizes; ///< the kernel's parameters behind its pointers
  /// Fused multiply-adds of all blocks, those for elements outside of the result included: what a run costs.
  uint64_t multiplyAdds = 0;
};

struct LibraryOperand {
  uint32_t number = 0;  ///< among the operands of the launch (runtime/plan/LaunchAccesses.h)
  bool written = false; ///< by this kernel
};

struct LibraryKernel {
  std::string symbol;                   ///< in LibraryKernels::kernels
  std::vector<LibraryOperand> operands; ///< in the order of the kernel's pointers
  /// How the kernel is launched; every size of the launch is a number.
  std::function<Expected<LibraryGrid>(const fb::Launch &)> grid;
};

struct LibraryKernels {
  std::map<std::string, DeviceKernel> kernels;
  /// The kernels of a launch, in their order, by its number in the plan.
  std::map<size_t, std::vector<LibraryKernel>> launches;
  unsigned compiled = 0; ///< kernels that no cache had
};

/// Compiles the kernels for the launches of `function`, of a module after the pipeline, whose plan is `plan`.
Expected<LibraryKernels> compileLibraryKernels(mlir::ModuleOp module, llvm::StringRef function,
                                               const fb::Plan &plan, const ir::Target &target);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_LIBRARYKERNELS_H
