//===- Contractions.cpp - Rewrites of contractions ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction reads its operands in any of the layouts that `getContractionShape` describes, so a
// transposition before or after it is often a needless copy.
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/Rules.h"

#include "ir/Contraction.h"

using namespace mlir;

namespace weft::passes {

/// Maps dimensions of a transposed tensor to dimensions of the operand of the transposition.
static SmallVector<int64_t> before(ArrayRef<int64_t> dims, ArrayRef<int64_t> perm) {
  SmallVector<int64_t> mapped;
  for (int64_t dim : dims)
    mapped.push_back(perm[dim]);
  return mapped;
}

/// Whether a contraction can read the operand of `transpose` instead: the free dimensions keep their order,
/// which is that of the result, and the operand needs no other copy.
static bool canRead(ir::TransposeOp transpose, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  if (!transpose)
    return false;
  ArrayRef<int64_t> perm = transpose.getPerm();
  SmallVector<int64_t> free = ir::getFreeDims(static_cast<int64_t>(perm.size()), batch, contract);
  return llvm::is_sorted(before(free, perm)) &&
         ir::isContractible(ir::sizesOf(transpose.getA().getType()), before(batch, perm),
                            before(contract, perm));
}

// The contraction has the same products and adds them in the same order.
static Value dotTranspose(Operation *op, PatternRewriter &rewriter) {
  auto dot = dyn_cast<ir::DotGeneralOp>(op);
  if (!dot || !dot.getMore().empty())
    return {};
  Value a = dot.getA(), b = dot.getB();
  SmallVector<int64_t> batchA(dot.getBatchA()), batchB(dot.getBatchB()), contractA(dot.getContractA()),
      contractB(dot.getContractB());
  auto read = [](Value &operand, SmallVector<int64_t> &batch, SmallVector<int64_t> &contract) {
    auto transpose = operand.getDefiningOp<ir::TransposeOp>();
    if (!canRead(transpose, batch, contract))
      return false;
    batch = before(batch, transpose.getPerm());
    contract = before(contract, transpose.getPerm());
    operand = transpose.getA();
    return true;
  };
  bool readA = read(a, batchA, contractA), readB = read(b, batchB, contractB);
  if (!readA && !readB)
    return {};
  return rewriter.create<ir::DotGeneralOp>(op->getLoc(), a, b, dot.getBias(), batchA, batchB, contractA,
                                           contractB, dot.getRelu(), dot.getResidual());
}

// transpose(a b) is b a, if the transposition exchanges the free dimensions of a and b as a whole. The
// factors of each product are exchanged, which changes no bit.
static Value transposeDot(Operation *op, PatternRewriter &rewriter) {
  auto transpose = dyn_cast<ir::TransposeOp>(op);
  auto dot = transpose ? transpose.getA().getDefiningOp<ir::DotGeneralOp>() : ir::DotGeneralOp();
  if (!dot || !dot->hasOneUse() || dot.getBias() || dot.getResidual() || !dot.getMore().empty())
    return {};
  auto batch = static_cast<int64_t>(dot.getBatchA().size()), rank = dot.getType().getRank();
  int64_t aFree = dot.getA().getType().getRank() - batch - static_cast<int64_t>(dot.getContractA().size());
  SmallVector<int64_t> exchanged;
  llvm::append_range(exchanged, llvm::seq<int64_t>(0, batch));
  llvm::append_range(exchanged, llvm::seq<int64_t>(batch + aFree, rank));
  llvm::append_range(exchanged, llvm::seq<int64_t>(batch, batch + aFree));
  if (transpose.getPerm() != ArrayRef<int64_t>(exchanged))
    return {};
  return rewriter.create<ir::DotGeneralOp>(op->getLoc(), dot.getB(), dot.getA(), Value(), dot.getBatchB(),
                                           dot.getBatchA(), dot.getContractB(), dot.getContractA(),
                                           dot.getRelu());
}

ArrayRef<Rule> getContractionRules() {
  using enum Exactness;
  static constexpr Rule rules[] = {
      {"dot-transpose", bitExact, dotTranspose},
      {"transpose-dot", valueExact, transposeDot},
  };
  return rules;
}

} // namespace weft::passes
