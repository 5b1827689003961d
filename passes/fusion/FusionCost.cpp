//===- FusionCost.cpp - The cost model of kernels -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/FusionCost.h"

#include "ir/ElementCount.h"
#include "ir/OpFacts.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

int64_t flopsPerElement(Operation *op) {
  // An op that only moves elements, or adds them up, takes an instruction for each.
  return std::max<int64_t>(additionsPerElement(op), 1);
}

int64_t scale(int64_t a, int64_t b, int64_t c) {
  __int128 value = static_cast<__int128>(a) * b / std::max<int64_t>(c, 1);
  return value > INT64_MAX / 4 ? INT64_MAX / 4 : static_cast<int64_t>(value);
}

/// The share of the shorter of memory and arithmetic time that overlaps with the longer: 0.95, in 1024ths.
/// With full overlap, two ways to cut a program that move the same bytes could have the same cost even if one
/// of them computes values twice.
static constexpr int64_t hiddenShare = 973, hiddenWhole = 1024;
/// The columns of the smallest task of a column kernel (`columnBlock` in ir/Schedule.cpp).
static int64_t leastColumns(const TargetDescription &target) {
  return target.namedCores ? ir::columnStep : 64;
}

int64_t transferTime(const TargetDescription &target, int64_t bytes, int64_t tasks) {
  int64_t cores = std::clamp<int64_t>(tasks, 1, target.cores);
  int64_t rate = bytes <= target.cacheBytes ? target.cacheBytesPerUs * cores
                                            : std::min(target.dramBytesPerUs, target.coreBytesPerUs * cores);
  return scale(bytes, psPerUs, rate);
}

int64_t arithmeticTime(const TargetDescription &target, int64_t flops, int64_t tasks) {
  return scale(flops, psPerUs, target.coreFlopsPerUs * std::clamp<int64_t>(tasks, 1, target.cores));
}

int64_t kernelTime(const TargetDescription &target, const KernelWork &work) {
  int64_t memory = transferTime(target, work.readBytes + work.writtenBytes, work.tasks);
  int64_t arithmetic = arithmeticTime(target, work.flops, work.tasks);
  return memory + arithmetic - scale(std::min(memory, arithmetic), hiddenShare, hiddenWhole);
}

KernelWork workOf(FusionOp fusion) {
  const SymbolRanges ranges = rangesOf(fusion);
  // The limit keeps the sum over all operands from overflow.
  auto count = [&](Size size) { return std::min(ranges.largest(size), int64_t(1) << 44); };
  KernelWork work;
  llvm::SmallPtrSet<Value, 8> read;
  const UpdatedBytes updated = updatedBytes(fusion);
  for (Value input : fusion.getInputs())
    if (input != updated.base && read.insert(input).second)
      work.readBytes += count(bytesOf(input.getType()));
  work.readBytes += count(updated.read);
  work.writtenBytes += count(updated.written);
  for (Type type : fusion.getResultTypes())
    work.writtenBytes += updated.base ? 0 : count(bytesOf(type));
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    Value shape = op.getNumOperands() ? op.getOperand(0) : op.getResult(0);
    work.flops += scale(count(elementsOf(shape.getType())), additionsPerElement(&op), 1);
  }
  const ScheduleAttr schedule = *fusion.getSchedule();
  work.tasks =
      std::max<int64_t>(llvm::divideCeil(ranges.largest(schedule.getTasks()), schedule.getGrain()), 1);
  return work;
}

int64_t kernelTasks(const TargetDescription &target, FusionKind kind, ArrayRef<int64_t> domain,
                    const ReducedDims &reduced) {
  auto countKept = [&](size_t begin, size_t end) {
    int64_t count = 1;
    for (size_t dim = begin; dim < end; ++dim)
      if (!reduced.contains(dim))
        count = scale(count, domain[dim], 1);
    return count;
  };
  switch (kind) {
  case FusionKind::loop:
  case FusionKind::update:
    return std::max<int64_t>(1, elementCount(domain) / target.loopTaskElements);
  case FusionKind::row:
    return std::max<int64_t>(1, countKept(0, domain.size()));
  case FusionKind::column: {
    const auto first = static_cast<size_t>(reduced.dims.front());
    return std::max<int64_t>(
        1, scale(countKept(0, first), countKept(first, domain.size()), leastColumns(target)));
  }
  case FusionKind::scan:
    // The lines of a scan along the innermost dimension. Scans along other dimensions are priced as if they
    // had as many tasks.
    return std::max<int64_t>(1, elementCount(domain.drop_back()));
  case FusionKind::multi_tensor:
    return target.cores;
  }
  return 1;
}

} // namespace weft::passes
