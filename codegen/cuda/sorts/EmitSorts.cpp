//===- EmitSorts.cpp ------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/sorts/EmitSorts.h"

using namespace mlir;

namespace weft::codegen {

Expected<std::vector<EmittedSort>> emitSorts(ModuleOp module, const ir::Target &target) {
  TextKernels<ir::SortOp, EmittedSort> kernels("sort");
  return kernels.emitAll(
      module, target, [&](ir::SortOp op, const ir::Alignments &, const ir::TargetDescription &) -> Status {
        const std::optional<ir::BlockSort> schedule = ir::blockSortOf(op, target);
        if (!schedule)
          return Status::error(
              "a sort on a GPU has rows that no block holds; run --weft-decompose-composites "
              "with the target first");
        const CudaSort sort{ir::dtypeOf(op.getA().getType()), op.getCount().asNumber(), op.getDescending(),
                            *schedule};
        kernels.add(printSort(sort), 0, EmittedSort{{}, sort, {}}).uses.push_back(op);
        return {};
      });
}

} // namespace weft::codegen
