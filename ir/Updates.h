//===- Updates.h - Ops that read or write by index -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries about the indexing ops, for passes and kernels. The result of an update op is its first operand,
// the base, with some elements replaced or combined. In the launch list, base and result share storage.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_UPDATES_H
#define WEFT_IR_UPDATES_H

#include "ir/Dialect.h"
#include "weft/limits.hpp"

namespace weft::ir {

inline bool isUpdateOp(mlir::Operation *op) {
  return llvm::isa<ScatterOp, IndexUpdateOp, DynamicUpdateSliceOp>(op);
}

/// The operand of an update op with the elements to write.
inline mlir::OpOperand &updateOperandOf(mlir::Operation *op) {
  return op->getOpOperand(llvm::isa<ScatterOp>(op) ? 2 : 1);
}
inline mlir::Value updateOf(mlir::Operation *op) { return updateOperandOf(op).get(); }

/// The update op of a fusion of kind `update`; null for other ops.
inline mlir::Operation *updateIn(mlir::Operation *op) {
  auto fusion = llvm::dyn_cast<FusionOp>(op);
  if (!fusion || fusion.getKind() != FusionKind::update)
    return nullptr;
  mlir::Operation *yield = fusion.getBody().front().getTerminator();
  return yield->getNumOperands() == 0 ? nullptr : yield->getOperand(0).getDefiningOp();
}

/// The shape over which an update op iterates: that of the written elements.
inline llvm::ArrayRef<Size> updateShape(mlir::Operation *op) {
  if (auto scatter = llvm::dyn_cast<ScatterOp>(op))
    return sizesOf(scatter.getIndex().getType());
  return sizesOf(llvm::cast<mlir::RankedTensorType>(updateOf(op).getType()));
}

/// What a fusion of kind `update` moves of its base, of which it writes some elements in place.
struct UpdatedBytes {
  mlir::Value base; ///< the operand of the fusion; null for other ops, whose operands are read as a whole
  Size read = 0, written = 0;
};
inline UpdatedBytes updatedBytes(mlir::Operation *op) {
  mlir::Operation *update = updateIn(op);
  if (!update)
    return {};
  auto base = llvm::cast<mlir::BlockArgument>(update->getOperand(0));
  auto type = llvm::cast<mlir::RankedTensorType>(base.getType());
  const Size bytes = bytesOf(makeTensorType(updateShape(update), type.getElementType(), deviceOf(type)));
  return {op->getOperand(base.getArgNumber()), llvm::isa<ScatterOp>(update) ? bytes : Size(0), bytes};
}

/// The index operand of a gather, scatter or index_update, and the dimension that it indexes.
inline mlir::OpOperand &indexOperandOf(mlir::Operation *op) {
  return op->getOpOperand(llvm::isa<IndexUpdateOp>(op) ? 2 : 1);
}
inline int64_t indexedDim(mlir::Operation *op) {
  return op->getAttrOfType<mlir::IntegerAttr>("dim").getInt();
}
inline Size indexedSize(mlir::Operation *op) {
  return sizesOf(
      llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType()))[static_cast<size_t>(indexedDim(op))];
}

/// The name of the index in messages; empty if the message names the dimension instead.
inline llvm::StringRef indexNameOf(mlir::Operation *op) {
  auto name = op->getAttrOfType<mlir::StringAttr>(attr::indexName);
  return name ? name.getValue() : llvm::StringRef();
}
/// The dimension that the message names. If the check was moved to a gather of its own, it is the dimension
/// of the original op.
inline int64_t reportedDim(mlir::Operation *op) {
  auto dim = op->getAttrOfType<mlir::IntegerAttr>(attr::indexDim);
  bool isDim = dim && dim.getValue().ult(maxRank); // text may have any integer here
  return isDim ? static_cast<int64_t>(dim.getValue().getZExtValue()) : indexedDim(op);
}

/// Whether an op reports an index outside of [0, size): such an op may fail.
inline bool checksIndex(mlir::Operation *op) {
  return llvm::isa<GatherOp, ScatterOp, IndexUpdateOp>(op) && mayFail(op);
}

/// Whether an op only changes the type of its operand's bytes. It is not a launch.
inline bool isStorageView(mlir::Operation *op) { return llvm::isa<ReshapeOp, BitcastOp>(op); }

/// Whether the op only orders other ops.
inline bool isOrder(mlir::Operation *op) {
  return llvm::isa<TokenOp, BarrierOp, EventRecordOp, EventWaitOp, StreamForkOp, StreamJoinOp>(op);
}

/// The form in which index_update and gather of kind `points` are computed: [outer, size, inner] read or
/// written at [outer, index, inner].
struct IndexedShape {
  Size outer = 1, size = 1, inner = 1;
  IndexedShape(llvm::ArrayRef<Size> shape, int64_t dim) : size(shape[static_cast<size_t>(dim)]) {
    for (auto [i, extent] : llvm::enumerate(shape))
      if (static_cast<int64_t>(i) != dim) {
        Size &count = static_cast<int64_t>(i) < dim ? outer : inner;
        count *= extent;
      }
  }
};

} // namespace weft::ir

#endif // WEFT_IR_UPDATES_H
