//===- EmitAttention.cpp --------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/attention/EmitAttention.h"

#include "codegen/cuda/attention/PrintAttention.h"
#include "ir/Decisions.h"
#include "ir/FunctionAttributes.h"
#include "ir/SpilledKernels.h"

#include "llvm/ADT/StringMap.h"

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
  std::vector<EmittedAttention> emitted;
  llvm::StringMap<size_t> byText;
  for (auto function : module.getOps<ir::FuncOp>()) {
    const ir::Alignments alignments(function);
    unsigned number = 0;
    for (auto op : function.getOps<ir::AttentionOp>()) {
      const ir::TargetDescription *device = target.find(ir::deviceOf(op.getQ().getType()));
      if (!device || device->isCpu())
        continue;
      const std::string line = ir::locationText(op.getLoc());
      auto fail = [&](const Status &status) { return status.context("at " + line + ": "); };
      const CudaAttention attention = describeAttention(op, alignments);
      Expected<AttentionSchedule> schedule =
          chooseAttentionSchedule(attention, *device, ir::spilledKernels(op).size());
      if (!schedule)
        return fail(schedule.status());
      Expected<std::string> text = printAttention(attention, *schedule, *device);
      if (!text)
        return fail(text.status());
      auto [it, inserted] = byText.try_emplace(*text, emitted.size());
      if (inserted) {
        const std::string symbol = (function.getName() + ".attention." + Twine(number)).str();
        emitted.push_back(
            {symbol, std::move(*text), attention, *schedule, schedule->sharedBytes(attention), {}, {}});
      }
      std::vector<std::string> &lines = emitted[it->second].lines;
      if (!line.empty() && !llvm::is_contained(lines, line))
        lines.push_back(line);
      emitted[it->second].uses.push_back(op);
      ++number;
    }
  }
  return emitted;
}

} // namespace weft::codegen
