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

struct PlanBytes {
  std::vector<std::byte> plan;      ///< a FlatBuffer of runtime/plan/plan.fbs
  std::vector<std::byte> constants; ///< the constant section of this function
  bool launchesKernels = false;     ///< a plan without kernels is not bound to an image
};

/// Writes the plan of a function whose values have their slices from the memory plan. `symbols` names the
/// kernel of each fusion, and `signer` collects the signatures of their launches; both belong to `target`,
/// whose images are the sections "image.TARGET". An error names an op that has no place in a plan.
Expected<PlanBytes> writePlan(ir::FuncOp function, const std::string &target,
                              const llvm::DenseMap<mlir::Operation *, std::string> &symbols,
                              runtime::KernelSigner &signer);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_PLANWRITER_H
