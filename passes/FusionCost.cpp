//===- FusionCost.cpp - What a kernel costs, in picoseconds ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/FusionCost.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

int64_t elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count = mulSizes(count, size);
  return count;
}

int64_t flopsPerElement(Operation *op) {
  if (isa<DivOp, SqrtOp, RecipOp>(op))
    return 8;
  if (isa<RsqrtOp, ExpOp, LogOp>(op))
    return 16;
  if (isa<Expm1Op, Log1pOp, SinOp, CosOp, AtanOp, Exp2Op, TanhOp, ErfOp, SigmoidOp>(op))
    return 24;
  if (isa<TanOp, AsinOp, AcosOp, Atan2Op, Log2Op, Log10Op, SinhOp, CoshOp, RemOp, ModOp>(op))
    return 32;
  if (isa<PowOp, AsinhOp, AcoshOp, AtanhOp, RngBitsPhiloxOp>(op))
    return 48;
  return 1;
}

/// a * b / c without overflow, saturated.
static int64_t scale(int64_t a, int64_t b, int64_t c) {
  __int128 value = static_cast<__int128>(a) * b / std::max<int64_t>(c, 1);
  return value > INT64_MAX / 4 ? INT64_MAX / 4 : static_cast<int64_t>(value);
}

static constexpr int64_t psPerUs = 1'000'000;

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
  // The two overlap nearly, but not entirely: 0.95 of the shorter one is hidden.
  return memory + arithmetic - scale(std::min(memory, arithmetic), 973, 1024);
}

int64_t kernelTasks(const TargetDescription &target, FusionKind kind, ArrayRef<int64_t> domain,
                    unsigned reduced) {
  switch (kind) {
  case FusionKind::loop:
  case FusionKind::update:
    return std::max<int64_t>(1, elementCount(domain) / target.loopTaskElements);
  case FusionKind::row:
    return std::max<int64_t>(1, elementCount(domain.drop_back(reduced)));
  case FusionKind::column:
    // A task has at least a vector of columns.
    return std::max<int64_t>(1, elementCount(domain.drop_front(reduced)) / 16);
  case FusionKind::scan:
    // As if the scan were along the innermost dimension; along another there are more.
    return std::max<int64_t>(1, elementCount(domain.drop_back()));
  case FusionKind::multi_tensor:
    return target.cores;
  }
  return 1;
}

} // namespace weft::passes
