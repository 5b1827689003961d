//===- CanonicalizeContractions.cpp - One stride a dimension --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "ir/Contraction.h"

#include <numeric>

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_CANONICALIZECONTRACTIONS
#include "passes/Passes.h.inc"

namespace {

using Dims = SmallVector<int64_t>;

/// Both lists in the order `order`.
std::pair<Dims, Dims> permuted(ArrayRef<int64_t> a, ArrayRef<int64_t> b, ArrayRef<size_t> order) {
  Dims left, right;
  for (size_t i : order) {
    left.push_back(a[i]);
    right.push_back(b[i]);
  }
  return {left, right};
}

struct CanonicalizeContractions : impl::CanonicalizeContractionsBase<CanonicalizeContractions> {
  void runOnOperation() override {
    SmallVector<ir::DotGeneralOp> contractions;
    getOperation().walk([&](ir::DotGeneralOp op) { contractions.push_back(op); });
    if (contractions.empty())
      return markAllAnalysesPreserved();
    for (ir::DotGeneralOp op : contractions) {
      if (!ir::getContractionShape(op) && !op.getMore().empty()) {
        splitSum(op); // a sum has no bias
        continue;
      }
      if (!ir::getContractionShape(op))
        rewrite(op);
      if (op.getBias() && !ir::takesBias(op))
        detachBias(op);
    }
  }

private:
  /// A bias belongs to the columns of the matrix product. If the result's last dimension is not all of the
  /// columns (b keeps several dimensions, or none), the bias and the ops after it become ops of their own.
  void detachBias(ir::DotGeneralOp op) {
    RankedTensorType type = op.getType();
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Location loc = op.getLoc();
    Value product =
        builder.create<ir::DotGeneralOp>(loc, op.getA(), op.getB(), Value(), op.getBatchA(), op.getBatchB(),
                                         op.getContractA(), op.getContractB(), false);
    Value bias = builder.create<ir::BroadcastInDimOp>(
        loc, op.getBias(), ArrayRef<int64_t>{type.getRank() - 1}, ir::sizesOf(type));
    Value result = builder.create<ir::AddOp>(loc, product, bias);
    if (op.getResidual())
      result = builder.create<ir::AddOp>(loc, result, op.getResidual());
    if (op.getRelu())
      result = builder.create<ir::MaxOp>(
          loc, result,
          builder.create<ir::ConstantOp>(loc, type,
                                         ir::splatOf(type, builder.getZeroAttr(type.getElementType()))));
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }

  /// Of a sum of products whose operands need other layouts each product becomes one of its own.
  void splitSum(ir::DotGeneralOp op) {
    OpBuilder builder(op);
    Value sum = op.getResidual();
    auto add = [&](Value a, Value b) {
      auto product =
          builder.create<ir::DotGeneralOp>(op.getLoc(), a, b, Value(), op.getBatchA(), op.getBatchB(),
                                           op.getContractA(), op.getContractB(), false);
      sum = sum ? builder.create<ir::AddOp>(op.getLoc(), sum, product).getResult() : product.getResult();
      rewrite(product);
    };
    add(op.getA(), op.getB());
    for (size_t i = 0; i < op.getMore().size(); i += 2)
      add(op.getMore()[i], op.getMore()[i + 1]);
    op.getResult().replaceAllUsesWith(sum);
    op.erase();
  }

  void rewrite(ir::DotGeneralOp op) {
    orderPairs(op);
    // The remaining contractions need an operand in another layout.
    if (auto moved = contiguous(op, op.getA(), op.getBatchA(), op.getContractA())) {
      op.getAMutable().assign(moved->value);
      op.setBatchA(moved->batch);
      op.setContractA(moved->contract);
    }
    if (auto moved = contiguous(op, op.getB(), op.getBatchB(), op.getContractB())) {
      op.getBMutable().assign(moved->value);
      op.setBatchB(moved->batch);
      op.setContractB(moved->contract);
    }
  }

  /// The pairs of contracted dimensions may be named in any order: the sum is over all of them. The order in
  /// which one of the operands has them in storage may spare a transposition.
  void orderPairs(ir::DotGeneralOp op) {
    Dims a(op.getContractA()), b(op.getContractB());
    ArrayRef<ir::Size> aShape = ir::sizesOf(op.getA().getType()), bShape = ir::sizesOf(op.getB().getType());
    auto score = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
      return (ir::mergeDims(aShape, left) ? 1 : 0) + (ir::mergeDims(bShape, right) ? 1 : 0);
    };
    int best = score(a, b);
    for (const Dims &key : {Dims(a), Dims(b)}) {
      SmallVector<size_t> order(key.size());
      std::iota(order.begin(), order.end(), size_t(0));
      llvm::sort(order, [&](size_t x, size_t y) { return key[x] < key[y]; });
      auto [left, right] = permuted(a, b, order);
      if (int value = score(left, right); value > best) {
        best = value;
        op.setContractA(left);
        op.setContractB(right);
      }
    }
  }

  struct Moved {
    Value value;
    Dims batch, contract;
  };

  /// The operand with its dimensions grouped; empty if they are grouped already.
  std::optional<Moved> contiguous(ir::DotGeneralOp op, TypedValue<RankedTensorType> operand,
                                  ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    ArrayRef<ir::Size> shape = ir::sizesOf(operand.getType());
    if (ir::isContractible(shape, batch, contract))
      return std::nullopt;
    int64_t rank = operand.getType().getRank();
    Dims free = ir::getFreeDims(rank, batch, contract);
    // The innermost dimension stays innermost where it can: then rows are copied, not elements.
    bool freeLast = !free.empty() && free.back() == rank - 1;
    Dims perm(batch);
    llvm::append_range(perm, freeLast ? contract : ArrayRef<int64_t>(free));
    llvm::append_range(perm, freeLast ? ArrayRef<int64_t>(free) : contract);
    Moved moved;
    auto position = [&](int64_t dim) { return static_cast<int64_t>(llvm::find(perm, dim) - perm.begin()); };
    for (int64_t dim : batch)
      moved.batch.push_back(position(dim));
    for (int64_t dim : contract)
      moved.contract.push_back(position(dim));
    OpBuilder builder(op);
    moved.value = builder.create<ir::TransposeOp>(op.getLoc(), operand, perm);
    return moved;
  }
};

} // namespace
} // namespace weft::passes
