//===- IndexRanges.cpp - Bounds of the indices of a kernel ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/IndexRanges.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::codegen {

using Range = IndexRange;

std::optional<Range> IndexRanges::make(__int128 low, __int128 high) {
  constexpr __int128 limit = __int128(1) << 61;
  if (low < -limit || high > limit)
    return std::nullopt;
  return Range{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

std::optional<Range> IndexRanges::merge(Known a, Known b) {
  if (!a || !b)
    return std::nullopt;
  return Range{std::min(a->low, b->low), std::max(a->high, b->high)};
}

std::optional<Range> IndexRanges::of(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  known[value] = std::nullopt; // what depends on itself is unknown
  Known range = compute(value);
  known[value] = range;
  return range;
}

std::optional<Range> IndexRanges::ofConstant(arith::ConstantOp op) {
  auto whole = [](const APInt &value) -> Known {
    return value.isSignedIntN(61) ? make(value.getSExtValue(), value.getSExtValue()) : std::nullopt;
  };
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue()))
    return whole(integer.getValue());
  auto elements = dyn_cast<DenseIntElementsAttr>(op.getValue());
  if (!elements || elements.empty())
    return std::nullopt;
  Known all = whole(*elements.value_begin<APInt>());
  for (const APInt &element : elements.getValues<APInt>())
    all = merge(all, whole(element));
  return all;
}

/// `select(x >= limit as unsigned, other, x)` is how a checked index becomes one within its bounds.
std::optional<Range> IndexRanges::ofSelect(arith::SelectOp op) {
  Known whenFalse = of(op.getFalseValue());
  auto outside = op.getCondition().getDefiningOp<arith::CmpIOp>();
  if (outside && outside.getPredicate() == arith::CmpIPredicate::uge &&
      outside.getLhs() == op.getFalseValue())
    if (Known limit = of(outside.getRhs()); limit && limit->low >= 0)
      whenFalse = make(0, std::max<int64_t>(limit->high - 1, 0));
  return merge(of(op.getTrueValue()), whenFalse);
}

std::optional<Range> IndexRanges::ofQuotient(Operation *op, bool isRemainder) {
  Known a = of(op->getOperand(0)), b = of(op->getOperand(1));
  if (!a || !b || b->low < 1)
    return std::nullopt;
  const bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
  if (a->low < 0 && !isSigned)
    return std::nullopt; // a huge number as an unsigned one
  if (isRemainder)
    return make(a->low < 0 ? 1 - b->high : 0, b->high - 1);
  return make(a->low < 0 ? a->low : a->low / b->high, a->high < 0 ? 0 : a->high / b->low);
}

std::optional<Range> IndexRanges::ofBinary(Operation *op) {
  Known a = of(op->getOperand(0)), b = of(op->getOperand(1));
  // A bound on one side is enough for half of the result's bounds only, so that both are needed.
  if (!a || !b)
    return std::nullopt;
  using Wide = __int128;
  return llvm::TypeSwitch<Operation *, Known>(op)
      .Case([&](arith::AddIOp) { return make(Wide(a->low) + b->low, Wide(a->high) + b->high); })
      .Case([&](arith::SubIOp) { return make(Wide(a->low) - b->high, Wide(a->high) - b->low); })
      .Case([&](arith::MulIOp) {
        const Wide corners[] = {Wide(a->low) * b->low, Wide(a->low) * b->high, Wide(a->high) * b->low,
                                Wide(a->high) * b->high};
        return make(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
      })
      .Case([&](arith::MinSIOp) { return make(std::min(a->low, b->low), std::min(a->high, b->high)); })
      .Case([&](arith::MaxSIOp) { return make(std::max(a->low, b->low), std::max(a->high, b->high)); })
      .Default([](Operation *) { return Known(); });
}

std::optional<Range> IndexRanges::ofLoopVariable(scf::ForOp loop) {
  Known from = of(loop.getLowerBound()), to = of(loop.getUpperBound()), step = of(loop.getStep());
  if (!from || !to || !step || step->low < 1)
    return std::nullopt;
  // The variable is compared once more after the last step, when it may lie behind the end.
  return make(from->low, std::max<__int128>(from->high, __int128(to->high) - 1 + step->high));
}

/// The end of an interval for `minsi` and `maxsi` if the other operand may have any value of 64 bits.
static std::optional<Range> clamped(Operation *outer, llvm::function_ref<std::optional<Range>(Value)> of) {
  // min(max(x, low), high) and max(min(x, high), low)
  if (!isa<arith::MinSIOp, arith::MaxSIOp>(outer))
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    Operation *inner = outer->getOperand(i).getDefiningOp();
    if (!inner || !isa<arith::MinSIOp, arith::MaxSIOp>(inner) || inner->getName() == outer->getName())
      continue;
    std::optional<Range> bound = of(outer->getOperand(1 - i));
    for (unsigned j : {0u, 1u}) {
      std::optional<Range> other = of(inner->getOperand(j));
      if (bound && other)
        return Range{std::min(bound->low, other->low), std::max(bound->high, other->high)};
    }
  }
  return std::nullopt;
}

std::optional<Range> IndexRanges::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && loop.getInductionVar() == argument ? ofLoopVariable(loop) : Known();
  }
  Operation *op = value.getDefiningOp();
  auto upTo = [](std::optional<APInt> count) -> Known {
    return count && count->isSignedIntN(61) ? make(0, std::max<int64_t>(count->getSExtValue() - 1, 0))
                                            : std::nullopt;
  };
  return llvm::TypeSwitch<Operation *, Known>(op)
      .Case([&](arith::ConstantOp constant) { return ofConstant(constant); })
      .Case<gpu::ThreadIdOp, gpu::BlockIdOp>([&](auto id) { return upTo(id.getUpperBound()); })
      .Case([&](arith::SelectOp select) { return ofSelect(select); })
      .Case<arith::DivSIOp, arith::DivUIOp>([&](auto) { return ofQuotient(op, /*isRemainder=*/false); })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return ofQuotient(op, /*isRemainder=*/true); })
      .Case<arith::MinSIOp, arith::MaxSIOp>([&](auto) {
        Known range = ofBinary(op);
        return range ? range : clamped(op, [&](Value v) { return of(v); });
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp>([&](auto) { return ofBinary(op); })
      .Case<arith::IndexCastOp, arith::ExtSIOp, vector::BroadcastOp, vector::ExtractOp,
            vector::ExtractStridedSliceOp>([&](auto) { return of(op->getOperand(0)); })
      .Case([&](arith::ExtUIOp extend) -> Known {
        Known range = of(extend.getIn());
        if (range && range->low >= 0)
          return range;
        const unsigned bits = getElementTypeOrSelf(extend.getIn().getType()).getIntOrFloatBitWidth();
        return bits <= 32 ? make(0, (int64_t(1) << bits) - 1) : std::nullopt;
      })
      .Case([&](vector::FromElementsOp elements) {
        Known all = of(elements.getElements().front());
        for (Value element : elements.getElements())
          all = merge(all, of(element));
        return all;
      })
      .Default([](Operation *) { return Known(); });
}

bool fitsIndex32(ModuleOp kernel) {
  IndexRanges ranges;
  bool fits = true;
  auto check = [&](Value value) {
    if (!fits || !getElementTypeOrSelf(value.getType()).isIndex() || value.use_empty())
      return;
    std::optional<Range> range = ranges.of(value);
    fits = range && range->low >= INT32_MIN && range->high <= INT32_MAX;
  };
  kernel.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), check);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), check);
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && fits) {
      std::optional<Range> range = ranges.of(loop.getInductionVar());
      fits = range && range->low >= INT32_MIN && range->high <= INT32_MAX;
    }
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return fits;
}

} // namespace weft::codegen
