//===- SplitReductions.cpp - Splits long reductions into two steps --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "ir/Schedule.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "passes/Passes.h.inc"

namespace {

/// The shortest piece. Starting a task then costs little compared with reading the piece.
constexpr int64_t kMinPiece = 2048;
/// The most pieces; more would not help any machine that we know.
constexpr int64_t kMaxPieces = 256;
/// Pieces begin at a multiple of this many elements, so that vectors of every type are aligned.
constexpr int64_t kAlignment = 64;

/// `pieces` of `length` elements, and `rest` elements behind them.
struct Split {
  int64_t pieces, length, rest;
};

/// The split depends on the number of reduced elements alone, and so does the order of additions.
Split chooseSplit(int64_t extent) {
  int64_t most = std::min(kMaxPieces, extent / kMinPiece);
  // Prefer an even split into aligned pieces, then any even split, but not into few pieces, because each
  // would be long.
  for (int64_t alignment : {kAlignment, int64_t(1)})
    for (int64_t pieces = most; pieces >= std::max<int64_t>(most / 4, 2); --pieces)
      if (extent % pieces == 0 && extent / pieces % alignment == 0)
        return {pieces, extent / pieces, 0};
  int64_t length = extent / most / kAlignment * kAlignment;
  return {most, length, extent - most * length};
}

/// When the rows of a reduction down columns are cut, and into how many pieces.
struct ColumnCut {
  int64_t leastRows, leastElements, leastPiece;
  int64_t tasks; ///< how many the columns and pieces together are to have
  int64_t width; ///< the columns of a task
  int64_t leastPieces;
};

/// Enough for 64 threads with 256 columns each, so that what a piece leaves is little beside its rows. Rows
/// stay whole where they are few, because their columns fit in a cache for a second pass over them.
constexpr ColumnCut onProcessors = {4096, 1 << 20, 256, 64, 256, 2};
/// Blocks of 64 columns that fill a large GPU several times over. A block's threads take turns at the rows,
/// and the time of a turn is the memory's latency: on an H100, 2,048 rows of 128 columns took 8 us in four
/// blocks, and a second kernel takes 1 to 2 us of a graph. Two or three pieces do not pay for that.
constexpr ColumnCut onGpus = {2048, 1 << 17, 128, 512, 64, 4};

/// How many pieces the rows of a reduction become, whose results are `outer` times `inner`. 1 where they stay
/// whole: few rows; few elements; columns enough for all tasks; and rows without a good divisor, since a rest
/// would be another kernel.
int64_t columnPieces(const ColumnCut &cut, int64_t outer, int64_t rows, int64_t inner) {
  if (rows < cut.leastRows || rows * outer * inner < cut.leastElements)
    return 1;
  int64_t wanted = cut.tasks / (outer * static_cast<int64_t>(llvm::divideCeil(inner, cut.width)));
  int64_t most = std::min(wanted, rows / cut.leastPiece);
  // A column kernel adds eight rows at a time (`columnRows` of ir/Schedule.h).
  for (int64_t multiple : {ir::columnRows, int64_t(1)})
    for (int64_t pieces = most; pieces >= std::max(most / 2, cut.leastPieces); --pieces)
      if (rows % pieces == 0 && rows / pieces % multiple == 0)
        return pieces;
  return 1;
}

struct SplitReductions : impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() override {
    SmallVector<Operation *> reductions;
    // Visit the top level only, because the body of a fusion is not changed any more.
    for (Operation &op : getOperation().getBody().front())
      if (isa<ir::SumOp, ir::RmaxOp, ir::RminOp>(op) || ir::isScanOp(&op))
        reductions.push_back(&op);
    if (reductions.empty())
      return markAllAnalysesPreserved();
    for (Operation *op : reductions)
      TypeSwitch<Operation *>(op)
          .Case<ir::SumOp>([&](auto sum) { split<ir::SumOp, ir::AddOp>(sum); })
          .Case<ir::RmaxOp>([&](auto extreme) { split<ir::RmaxOp, ir::MaxOp>(extreme); })
          .Case<ir::RminOp>([&](auto extreme) { split<ir::RminOp, ir::MinOp>(extreme); })
          .Case<ir::CumsumOp>([&](auto scan) { splitScan<ir::CumsumOp, ir::SumOp, ir::AddOp>(scan); })
          .Case<ir::CumprodOp>([&](auto scan) { splitScan<ir::CumprodOp, ir::ProdOp, ir::MulOp>(scan); })
          .Case<ir::CummaxOp>([&](auto scan) { splitScan<ir::CummaxOp, ir::RmaxOp, ir::MaxOp>(scan); })
          .Case<ir::CumminOp>([&](auto scan) { splitScan<ir::CumminOp, ir::RminOp, ir::MinOp>(scan); });
  }

private:
  /// The value that a running product or extreme begins with, in the shape of `value`.
  template <typename Scan> static ir::Sym identityLike(ir::VjpBuilder &v, ir::Sym value) {
    Type element = value.type().getElementType();
    if (std::is_same_v<Scan, ir::CumprodOp>)
      return v.like(value, 1.0);
    const bool largest = std::is_same_v<Scan, ir::CumminOp>;
    if (isa<FloatType>(element))
      return v.like(value, largest ? HUGE_VAL : -HUGE_VAL);
    // The smallest value is a power of two; the largest one of 64 bits is no double.
    const double smallest = element.isUnsignedInteger()
                                ? 0
                                : -std::ldexp(1.0, static_cast<int>(element.getIntOrFloatBitWidth()) - 1);
    ir::Sym limit = v.like(value, smallest);
    return largest ? v.unary<ir::BnotOp>(limit) : limit;
  }

  /// Splits the scans of few long lines into pieces that are scanned in parallel, and combines each piece
  /// with the total of the pieces before it.
  template <typename Scan, typename Reduce, typename Combine> void splitScan(Scan op) {
    RankedTensorType from = op.getA().getType();
    auto last = from.getRank() - 1;
    ArrayRef<ir::Size> kept = ir::sizesOf(from).drop_back();
    // As for reductions, the order must be the same for all sizes.
    ir::Size counted = ir::productOf(kept), along = ir::sizesOf(from).back();
    if (!counted.isNumber() || !along.isNumber())
      return;
    int64_t lines = counted.asNumber(), extent = along.asNumber();
    if (static_cast<int64_t>(op.getDim()) != last || extent < std::max(minExtent.getValue(), 2 * kMinPiece) ||
        lines >= maxResults || lines == 0)
      return;
    // Padding is cheap here, so all pieces have one length.
    int64_t pieces = std::min(kMaxPieces, extent / kMinPiece);
    int64_t length = llvm::alignTo(llvm::divideCeil(extent, pieces), kAlignment);
    OpBuilder builder(op);
    ir::VjpBuilder v(builder, op, {Value()}, {false});
    Type element = from.getElementType();
    bool half = element.isF16() || element.isBF16();
    ir::Sym value{op.getA(), &v};
    if (half)
      value = v.convert(value, builder.getF32Type());
    SmallVector<ir::Size> padded(ir::sizesOf(from)), none(from.getRank(), 0), high(none), shape(kept);
    padded.back() = pieces * length;
    high.back() = pieces * length - extent;
    if (high.back() != 0) {
      value = v.make<ir::PadOp>(value.value, none, high, SmallVector<int64_t>(from.getRank(), 0));
      if (!isa<ir::CumsumOp>(op)) { // the padding holds zeros
        ir::Sym at = v.make<ir::IotaOp>(ir::withShape(value.type(), padded, builder.getI64Type()), last);
        value = v.select(v.compare<ir::LtOp>(at, v.like(at, static_cast<double>(extent))), value,
                         identityLike<Scan>(v, value));
      }
    }
    shape.append({pieces, length});
    value = v.reshape(value, shape);
    ir::Sym totals = v.make<Reduce>(value.value, ArrayRef<int64_t>{last + 1});
    ir::Sym before = v.make<Scan>(totals.value, last, op.getReverse(), /*exclusive=*/true);
    ir::Sym own = v.make<Scan>(value.value, last + 1, op.getReverse(), op.getExclusive());
    ir::Sym all = v.reshape(v.binary<Combine>(v.broadcastBack(before, {last + 1}, shape), own), padded);
    if (high.back() != 0)
      all = v.make<ir::SliceOp>(all.value, none, ir::sizesOf(from), SmallVector<int64_t>(from.getRank(), 1));
    op->replaceAllUsesWith(ValueRange(v.convert(all, element).value));
    op->erase();
  }

  /// Replaces a reduction by what `split` makes of its operand. Sums of f16 and bf16 are rounded once, at the
  /// end, so the pieces stay in f32 as a single sum would.
  template <typename Reduce>
  static void replaceReduction(Reduce op,
                               llvm::function_ref<Value(OpBuilder &builder, Value operand)> split) {
    OpBuilder builder(op);
    Value value = op.getA();
    Type element = op.getA().getType().getElementType();
    bool widen = isa<ir::SumOp>(op) && (element.isF16() || element.isBF16());
    if (widen)
      value = builder.create<ir::ConvertOp>(op.getLoc(), value, builder.getF32Type());
    Value result = split(builder, value);
    if (widen)
      result = builder.create<ir::ConvertOp>(op.getLoc(), result, element);
    op->replaceAllUsesWith(ValueRange(result));
    op->erase();
  }

  /// Splits the rows of a reduction over neighbouring dimensions before the last.
  template <typename Reduce> void splitColumns(Reduce op) {
    RankedTensorType from = op.getA().getType();
    ArrayRef<int64_t> dims = op.getDims();
    ArrayRef<ir::Size> sizes = ir::sizesOf(from);
    auto first = static_cast<size_t>(dims.front()), count = dims.size();
    if (dims.back() - dims.front() + 1 != static_cast<int64_t>(count))
      return;
    auto numbers = [&](ArrayRef<ir::Size> some) { return ir::productOf(some).number().value_or(0); };
    int64_t outer = numbers(sizes.take_front(first)), rows = numbers(sizes.slice(first, count)),
            inner = numbers(sizes.drop_front(first + count));
    if (outer == 0 || inner < 2)
      return;
    int64_t pieces = columnPieces(ir::deviceOf(from).isCpu() ? onProcessors : onGpus, outer, rows, inner);
    if (pieces == 1)
      return;
    SmallVector<ir::Size> shape(sizes.take_front(first));
    shape.append({pieces, rows / pieces});
    llvm::append_range(shape, sizes.drop_front(first + count));
    auto dim = static_cast<int64_t>(first);
    Location loc = op.getLoc();
    replaceReduction(op, [&](OpBuilder &builder, Value value) -> Value {
      Value parts = builder.create<ir::ReshapeOp>(loc, value, shape);
      Value partial = builder.create<Reduce>(loc, parts, ArrayRef<int64_t>{dim + 1});
      return builder.create<Reduce>(loc, partial, ArrayRef<int64_t>{dim});
    });
  }

  /// Whether a reduction of so many elements to so many results is cut. The order must be the same for all
  /// sizes, so one with dynamic sizes is not.
  bool isLong(ir::Size along, ir::Size counted) const {
    return along.isNumber() && counted.isNumber() && counted != 0 && counted.asNumber() < maxResults &&
           along.asNumber() >= std::max(minExtent.getValue(), 2 * kMinPiece);
  }

  /// Splits a reduction over rows in pieces, as the channels of images are: each piece is reduced, and then
  /// the results of a row's pieces. On a GPU only, where a row has one block: threads of a CPU take turns at
  /// pieces.
  template <typename Reduce, typename Combine> void splitPieces(Reduce op) {
    RankedTensorType from = op.getA().getType();
    if (ir::deviceOf(from).isCpu())
      return;
    ir::Size along = 1, counted = 1;
    SmallVector<int64_t> others, last; // dimensions of the operand of each step
    for (auto [dim, size] : llvm::enumerate(ir::sizesOf(from)))
      (llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)) ? along : counted) *= size;
    if (!isLong(along, counted))
      return;
    int64_t piece = from.getRank();
    for (int64_t dim : llvm::reverse(op.getDims()))
      if (dim == piece - 1)
        last.insert(last.begin(), piece = dim);
      else
        others.insert(others.begin(), dim);
    // Shorter pieces have no team of threads that is worth it.
    if (ir::productOf(ir::sizesOf(from).drop_front(piece)).asNumber() < kAlignment)
      return;
    Reduce ofPieces, ofRows;
    replaceReduction(op, [&](OpBuilder &builder, Value value) -> Value {
      ofPieces = builder.create<Reduce>(op.getLoc(), value, last);
      return ofRows = builder.create<Reduce>(op.getLoc(), ofPieces, others);
    });
    split<Reduce, Combine>(ofPieces);
    split<Reduce, Combine>(ofRows);
  }

  template <typename Reduce, typename Combine> void split(Reduce op) {
    RankedTensorType from = op.getA().getType();
    auto rank = from.getRank(), reduced = static_cast<int64_t>(op.getDims().size());
    if (reduced == 0)
      return;
    if (op.getDims().back() != rank - 1)
      return splitColumns(op);
    // Trailing dimensions only, because their elements are contiguous.
    ir::Size along = 1;
    for (int64_t i = 0; i < reduced; ++i) {
      if (op.getDims()[i] != rank - reduced + i)
        return splitPieces<Reduce, Combine>(op);
      along *= ir::sizesOf(from)[op.getDims()[i]];
    }
    ArrayRef<ir::Size> kept = ir::sizesOf(from).drop_back(reduced);
    if (!isLong(along, ir::productOf(kept)))
      return;
    const int64_t extent = along.asNumber();
    Split split = chooseSplit(extent);
    Location loc = op.getLoc();
    auto keptRank = static_cast<int64_t>(kept.size());
    auto shape = [&](std::initializer_list<ir::Size> last) {
      SmallVector<ir::Size> sizes(kept);
      sizes.append(last);
      return sizes;
    };
    replaceReduction(op, [&](OpBuilder &builder, Value value) -> Value {
      auto reduceLast = [&](Value operand) -> Value {
        int64_t last = ir::typeOf(operand).getRank() - 1;
        return builder.create<Reduce>(loc, operand, ArrayRef<int64_t>{last});
      };
      if (split.rest == 0) {
        Value pieces = builder.create<ir::ReshapeOp>(loc, value, shape({split.pieces, split.length}));
        return reduceLast(reduceLast(pieces));
      }
      Value rows = reduced == 1 ? value : builder.create<ir::ReshapeOp>(loc, value, shape({extent}));
      int64_t even = split.pieces * split.length;
      SmallVector<ir::Size> start(keptRank + 1, 0);
      SmallVector<int64_t> step(keptRank + 1, 1);
      Value head = builder.create<ir::SliceOp>(loc, rows, start, shape({even}), step);
      start.back() = even;
      Value tail = builder.create<ir::SliceOp>(loc, rows, start, shape({extent}), step);
      Value pieces = builder.create<ir::ReshapeOp>(loc, head, shape({split.pieces, split.length}));
      return builder.create<Combine>(loc, reduceLast(reduceLast(pieces)), reduceLast(tail));
    });
  }
};

} // namespace
} // namespace weft::passes
