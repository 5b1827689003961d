//===- EmitAttention.cpp --------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/attention/EmitAttention.h"

#include "codegen/cuda/attention/PrintAttention.h"
#include "ir/FunctionAttributes.h"
#include "ir/SpilledKernels.h"

using namespace mlir;

namespace weft::codegen {

CudaAttention describeAttention(ir::AttentionOp op, const ir::Alignments &alignments) {
  CudaAttention made{ir::AttentionExtents(op.getShape())};
  made.dtype = ir::dtypeOf(op.getQ().getType());
  if (op.getMask())
    made.mask = ir::dtypeOf(op.getMask().getType());
  made.causal = op.getCausal();
  made.backward = static_cast<bool>(op.getGrad());
  made.scale = op.getScale().convertToDouble();
  made.roundsScores = ir::hasFastNumerics(op);
  for (const ir::AttentionPart &part : ir::partsOf(op)) {
    const DType dtype = ir::dtypeOf(part.value.getType());
    const int64_t alignment = alignments.of(part.value);
    made.operands.push_back(
        {part.name.str(), dtype, part.view, part.rows, part.columns, part.isWritten, alignment});
  }
  return made;
}

Expected<std::vector<EmittedAttention>> emitAttention(ModuleOp module, const ir::Target &target) {
  TextKernels<ir::AttentionOp, EmittedAttention> kernels("attention");
  return kernels.emitAll(module, target,
                         [&](ir::AttentionOp op, const ir::Alignments &alignments,
                             const ir::TargetDescription &device) -> Status {
                           const CudaAttention attention = describeAttention(op, alignments);
                           Expected<AttentionSchedule> schedule =
                               chooseAttentionSchedule(attention, device, ir::spilledKernels(op).size());
                           if (!schedule)
                             return schedule.status();
                           Expected<std::string> text = printAttention(attention, *schedule, device);
                           if (!text)
                             return text.status();
                           kernels
                               .add(*std::move(text), schedule->sharedBytes(attention),
                                    EmittedAttention{{}, attention, *schedule, {}})
                               .uses.push_back(op);
                           return {};
                         });
}

} // namespace weft::codegen
