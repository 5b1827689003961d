//===- WhileDerivative.h - The derivative of a while loop -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_REVERSE_WHILEDERIVATIVE_H
#define WEFT_PASSES_REVERSE_WHILEDERIVATIVE_H

#include "ir/Loops.h"

#include <map>
#include <tuple>
#include <vector>

namespace weft::passes {

class ReverseMode;

/// A loop whose first carry is the number of trips that are left. All loops of one use run its functions.
struct CountedLoop {
  llvm::StringRef name;
  ir::FuncOp condition, body;
};

/// What a derivative consists of. Loops that run the same functions, and want the same gradients, share it:
/// otherwise each order of derivatives would have several times the functions of the order before.
struct WhileFunctions {
  /// The carries and constants that the derivative of a trip reads, or from which such carries are computed.
  llvm::SmallVector<unsigned> state, readConstants;
  ir::FuncOp derivative; ///< of a trip: of the body's arguments and cotangents of active carries
  ir::FuncOp countingCondition, countingBody;
  CountedLoop advancing{".advance", {}, {}}, keeping{".kept", {}, {}}, reversing{".reversed", {}, {}};
  llvm::SmallVector<CountedLoop> segments; ///< of each level but the last
};

/// What the derivatives of the while loops of a module have in common.
struct WhileDerivatives {
  /// Condition and body; the active carries, and the constants that want a gradient; the levels.
  using Key = std::tuple<mlir::Operation *, mlir::Operation *, std::vector<unsigned>, std::vector<unsigned>,
                         unsigned>;
  std::map<Key, WhileFunctions> functions;
  /// Of the bodies of loops that derivatives consist of: the levels of the derivative of such a loop.
  llvm::DenseMap<mlir::Operation *, unsigned> levels;
};

/// Builds the derivative of a while loop: loops over its trips from the last to the first.
///
/// Its number of trips n is known only when it ends, and memory is static, so the carries of all trips cannot
/// be kept. The loop gets a carry that counts its trips. The trips are divided into segments, these into
/// shorter ones, and so on, `mostLevels` times; each segment consists of up to `slots` of the next level, and
/// those of the last level have a trip each if there are at most slots^mostLevels. From the last segment to
/// the first, the derivative runs the trips of the segment again, and keeps the carries before each segment
/// of the next level in a stack; and from the last trip of a segment of the last level to the first, it
/// computes the carries before the trip from those before the segment, and then the derivative of the trip.
/// So the body is run once more for each level that has several segments. More trips than slots^mostLevels
/// take more time for each, n / (2 * slots^mostLevels) runs, and no more memory.
///
/// The loops that a derivative consists of know how many trips they have, and have up to `slots` unless n is
/// above slots^mostLevels; only those that run trips again have more. So their own derivatives have one
/// level, or one less.
class WhileDerivative {
public:
  /// The rows of a stack.
  static constexpr int64_t slots = 16;
  /// Of the derivative of a loop of the program. On a GPU each loop around a launch doubles the number of
  /// launches that are made, which is limited (WEFT-T005). So a loop in a function that another op runs has
  /// `fewLevels` there, and one whose body has more ops than `smallBody`, each of which may be a launch.
  static constexpr unsigned mostLevels = 3, fewLevels = 2;
  static constexpr uint64_t smallBody = 256;

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
  /// Computes the carries after a trip. `left` counts this trip, too.
  using Trip = llvm::function_ref<Values(mlir::OpBuilder &, mlir::Value left, mlir::ValueRange carries,
                                         mlir::ValueRange constants)>;

  unsigned chooseLevels() const;
  mlir::LogicalResult differentiateTrip();
  void findState();
  mlir::Value tripsOf();
  mlir::Value countTrips();
  ir::FuncOp makeFunction(llvm::StringRef name, mlir::ValueRange carries, mlir::ValueRange constants);
  void finish(ir::FuncOp made);
  Values count(mlir::OpBuilder &b, CountedLoop &use, unsigned levelsOfUse, mlir::Value trips,
               mlir::ValueRange carries, mlir::ValueRange constants, Trip trip);
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
  Values reverseEach(mlir::OpBuilder &b, mlir::ValueRange stacks, mlir::Value trips, mlir::Value stride,
                     mlir::ValueRange adjoints, mlir::ValueRange constants);
  Values reverseSegment(mlir::OpBuilder &b, mlir::ValueRange state, mlir::Value trips,
                        mlir::ValueRange lengths, mlir::ValueRange adjoints, mlir::ValueRange constants);
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
  unsigned levels = mostLevels;                ///< of this derivative
  WhileFunctions *functions = nullptr;
};

} // namespace weft::passes

#endif // WEFT_PASSES_REVERSE_WHILEDERIVATIVE_H
