//===- WhileDerivative.h - The derivative of a while loop -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_REVERSE_WHILEDERIVATIVE_H
#define WEFT_PASSES_REVERSE_WHILEDERIVATIVE_H

#include "ir/Loops.h"

namespace weft::passes {

class ReverseMode;

/// Builds the derivative of a while loop: loops over its trips from the last to the first.
///
/// Its number of trips n is known only when it ends, and memory is static, so the carries of all trips cannot
/// be kept. The loop gets a carry that counts its trips. The trips are divided into segments of
/// max(slots, ceil(n / slots)). The derivative first runs the trips again, and keeps the carries before each
/// segment in a stack. Then, from the last segment to the first, it runs the trips of the segment and keeps
/// the carries of up to `slots` of them in a second stack; and from the last trip of the segment to the
/// first, it computes the carries before the trip from the nearest ones in that stack, and then the
/// derivative of the trip. Up to slots * slots trips, what is nearest are the carries themselves, and the
/// body is run three times (twice up to `slots`). More trips take more time for each, and no more memory.
class WhileDerivative {
public:
  /// The rows of a stack.
  static constexpr int64_t slots = 16;

  /// `incoming` has the cotangent of each result, or null; `needs` says which operands want one.
  WhileDerivative(ReverseMode &mode, ir::WhileOp loop, llvm::ArrayRef<mlir::Value> incoming,
                  llvm::ArrayRef<bool> needs);

  /// Builds the derivative at `builder`, and at the loop the one that counts its trips.
  mlir::LogicalResult build(mlir::OpBuilder &builder);
  /// The cotangent of each operand, or null.
  llvm::ArrayRef<mlir::Value> operandCotangents() const { return cotangents; }
  /// The loop that replaces the old one: its first results are those of that. It is the old one itself if
  /// that counts its trips, or has no derivative.
  ir::WhileOp counting() const { return forward; }

private:
  using Values = llvm::SmallVector<mlir::Value>;
  /// A loop whose first carry is the number of trips that are left. All loops of one use run its functions.
  struct Counted {
    llvm::StringRef name;
    ir::FuncOp condition, body;
  };
  /// Computes the carries after a trip. `left` counts this trip, too.
  using Trip = llvm::function_ref<Values(mlir::OpBuilder &, mlir::Value left, mlir::ValueRange carries,
                                         mlir::ValueRange constants)>;

  mlir::LogicalResult differentiateTrip();
  void findState();
  mlir::Value countTrips();
  ir::FuncOp makeFunction(llvm::StringRef name, mlir::ValueRange carries, mlir::ValueRange constants);
  void finish(ir::FuncOp made);
  Values count(mlir::OpBuilder &b, Counted &use, mlir::Value trips, mlir::ValueRange carries,
               mlir::ValueRange constants, Trip trip);
  Values advance(mlir::OpBuilder &b, mlir::ValueRange state, mlir::Value trips, mlir::ValueRange constants);
  Values keep(mlir::OpBuilder &b, mlir::ValueRange state, mlir::Value trips, mlir::Value stride,
              mlir::ValueRange constants);
  Values nextRow(mlir::OpBuilder &b, mlir::ValueRange state, mlir::Value left, mlir::Value stride,
                 mlir::ValueRange constants);
  Values keepByScan(mlir::OpBuilder &b, mlir::ValueRange state, mlir::Value rows, mlir::Value stride,
                    mlir::ValueRange constants);
  Values keepByWhile(mlir::OpBuilder &b, mlir::ValueRange state, mlir::Value rows, mlir::Value stride,
                     mlir::ValueRange constants);
  Values reverseTrip(mlir::OpBuilder &b, mlir::ValueRange state, mlir::ValueRange adjoints,
                     mlir::ValueRange constants);
  Values reverseSegment(mlir::OpBuilder &b, mlir::ValueRange stacks, mlir::Value trips, mlir::Value stride,
                        mlir::ValueRange adjoints, mlir::ValueRange constants);
  void reverseAll(mlir::OpBuilder &b, mlir::Value trips);

  ReverseMode &mode;
  ir::WhileOp loop, forward;
  ir::FuncOp body;
  mlir::Location loc;
  llvm::ArrayRef<mlir::Value> incoming;
  llvm::ArrayRef<bool> needs;
  unsigned carries; ///< the operands up to `carries` are carries
  Values cotangents;

  llvm::SmallVector<unsigned> activeCarries;   ///< carries through which a gradient flows
  llvm::SmallVector<unsigned> wantedConstants; ///< constants that want a gradient
  /// The carries and constants that the derivative of a trip reads, or from which such carries are computed.
  llvm::SmallVector<unsigned> state, readConstants;
  ir::FuncOp derivative; ///< of a trip: of the body's arguments and cotangents of active carries

  Counted advancing{".advance", {}, {}}, keeping{".kept", {}, {}}, reversing{".reversed", {}, {}},
      segments{".segments", {}, {}};
};

} // namespace weft::passes

#endif // WEFT_PASSES_REVERSE_WHILEDERIVATIVE_H
