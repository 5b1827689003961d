//===- ScanDerivative.h - The derivative of a loop --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_REVERSE_SCANDERIVATIVE_H
#define WEFT_PASSES_REVERSE_SCANDERIVATIVE_H

#include "ir/Loops.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace weft::passes {

class ReverseMode;

/// Builds the derivative of a loop: a loop in the opposite direction.
///
/// The derivative of one trip is built behind the ops of the body, in a copy of it. Then that copy is
/// divided. The ops of the derivative become the body of the new loop. What they read of the body's ops is a
/// residual: the loop itself stacks it, and the new loop gets it row by row. The gradients of carries are
/// carries of the new loop. The gradient of a constant is a sum over the trips, and so a carry too. The
/// gradients of rows are stacked.
class ScanDerivative {
public:
  /// `incoming` has the cotangent of each result, or null; `needs` says which operands want one.
  ScanDerivative(ReverseMode &mode, ir::ScanOp scan, llvm::ArrayRef<mlir::Value> incoming,
                 llvm::ArrayRef<bool> needs);

  /// Builds the new loop at `builder`, and at the old one the loop that stacks what the new one reads.
  mlir::LogicalResult build(mlir::OpBuilder &builder);
  /// The cotangent of each operand, or null.
  llvm::ArrayRef<mlir::Value> operandCotangents() const { return cotangents; }
  /// The loop that replaces the old one: its first results are those of that. It is the old one itself if the
  /// derivative reads nothing of its trips.
  ir::ScanOp stacking() const { return forward; }

private:
  mlir::LogicalResult differentiateTrip();
  void divide();
  bool isMadeAgain(mlir::Operation *op);
  void require(mlir::Value value);
  void stackResiduals();
  ir::FuncOp makeBody();
  mlir::Value inBody(mlir::Value value, mlir::OpBuilder &builder);
  void makeLoop(mlir::OpBuilder &builder);
  std::optional<unsigned> rowWithGradient(mlir::Value value) const;
  bool isStacked(mlir::Value value) const;
  bool findFactors(mlir::Value gradient, llvm::SmallSetVector<mlir::Value, 4> &factors) const;
  void chooseProducts();
  mlir::Value stackOf(mlir::Value value);
  mlir::Value overAllTrips(mlir::OpBuilder &builder, mlir::Value gradient);

  ReverseMode &mode;
  ir::ScanOp scan, forward;
  ir::FuncOp body;
  llvm::ArrayRef<mlir::Value> incoming;
  llvm::ArrayRef<bool> needs;
  unsigned carries, rows; ///< the operands up to `carries` are carries, those up to `rows` are stacks
  llvm::SmallVector<mlir::Value> cotangents;

  llvm::SmallVector<unsigned> activeCarries;               ///< carries through which a gradient flows
  llvm::SmallVector<unsigned> wantedRows, wantedConstants; ///< operands that want a gradient
  llvm::SmallVector<unsigned> givenYs; ///< results after the carries that have a cotangent

  ir::FuncOp joint;                                            ///< a trip and its derivative
  mlir::Operation *marker = nullptr;                           ///< between the two
  llvm::SmallVector<mlir::Value> carryCotangents, yCotangents; ///< arguments of `joint`
  llvm::SmallVector<mlir::Value> gradients;                    ///< of active carries, wanted rows, constants
  /// What the derivative reads of a trip.
  llvm::SetVector<mlir::Value> residuals, readRows, readConstants;
  llvm::SetVector<mlir::Operation *> again;        ///< ops of the trip that the derivative computes again
  llvm::DenseMap<mlir::Value, unsigned> stackedAs; ///< the result of `forward` that has a residual's stack
  mlir::IRMapping inNewBody;
  /// Operands whose gradient is computed after the new loop, and what that stacks for them.
  llvm::SmallSetVector<unsigned, 4> products;
  llvm::SetVector<mlir::Value> factorsToStack;
  ir::ScanOp backward; ///< the new loop
};

} // namespace weft::passes

#endif // WEFT_PASSES_REVERSE_SCANDERIVATIVE_H
