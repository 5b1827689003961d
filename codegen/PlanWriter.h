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
  bool launchesKernels = false;     ///< a plan without kernels is bound to none
};

/// `symbols` names the kernel of each fusion, and `signer` collects how each is launched; both are those of
/// the target, whose images are "image.TARGET". Every value must have its slice from the memory plan.
Expected<PlanBytes> writePlan(ir::FuncOp function, const std::string &target,
                              const llvm::DenseMap<mlir::Operation *, std::string> &symbols,
                              runtime::KernelSigner &signer);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_PLANWRITER_H
