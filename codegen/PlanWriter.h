//===- PlanWriter.h - The launch list as the runtime reads it ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_PLANWRITER_H
#define WEFT_CODEGEN_PLANWRITER_H

#include "ir/Dialect.h"
#include "weft/status.hpp"

#include "llvm/ADT/DenseMap.h"

#include <cstddef>
#include <string>
#include <vector>

namespace weft::runtime {
class KernelSigner;
} // namespace weft::runtime

namespace weft::codegen {

/// The index checks of a fusion's kernel, in the order in which the kernel numbers them.
llvm::SmallVector<ir::GatherOp> checksOf(ir::FusionOp fusion);

/// A kernel of our own with which a GPU carries out a launch of a contraction, attention or a convolution, or
/// one product of a contraction: its symbol, and the launch's operands (runtime/plan/LaunchAccesses.h) that
/// its pointers are. Or the kernel that the user wrote, whose launch says what it is given.
struct OwnKernel {
  std::string symbol;
  std::vector<uint32_t> operands;
};
/// By the op of the launch, in the order of the launch's products.
using OwnKernels = llvm::DenseMap<mlir::Operation *, std::vector<OwnKernel>>;

struct PlanBytes {
  std::vector<std::byte> plan;      ///< a FlatBuffer of runtime/plan/plan.fbs
  std::vector<std::byte> constants; ///< the constant section of this function
  bool launchesKernels = false;     ///< a plan without kernels is not bound to an image
};

/// Writes the plan of a function whose values have their slices from the memory plan. `symbols` names the
/// kernel of each fusion, `own` those that launches on a GPU name, and `signer` collects the
/// signatures of the launches of fusions; all belong to `target`, whose images are the sections
/// "image.TARGET". An error names an op that has no place in a plan.
Expected<PlanBytes> writePlan(ir::FuncOp function, const std::string &target,
                              const llvm::DenseMap<mlir::Operation *, std::string> &symbols,
                              runtime::KernelSigner &signer, const OwnKernels &own);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_PLANWRITER_H
