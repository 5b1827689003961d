//===- CudaLoops.cpp - Schedules of loops on GPUs -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neighbouring threads have neighbouring elements of the innermost dimension, and each has as many as one
// access of the device holds. Where every operand is read in the order of the domain, or is one element, the
// domain is one line, and a block has a chunk of it. Other domains become planes: the break between rows and
// columns is the last one at which an operand ceases to be one line (its dimensions are broadcast, sliced,
// padded, gathered or moved there), so that no column of an operand needs a division, and what depends on
// columns alone is read once for all rows of a thread.
//
// A plane reads operands that lie across its columns one element a thread, each from another line. Where such
// an operand has 16 rows and columns or more, the tiles are those of ir/CudaLoops.h that blocks transpose.
//
//===----------------------------------------------------------------------===//
#include "ir/CudaLoops.h"

#include "ir/CudaReductions.h"

#include "ir/Schedule.h"
#include "ir/Updates.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::ir {

namespace {

/// Follows the dimensions of the domain through the views of a body, from the results to the operands.
class LoopShape {
public:
  explicit LoopShape(FusionOp fusion);

  /// The number of leading dimensions that are rows; 0 if all operands are lines.
  unsigned rowDims();
  /// The widest vector of at most `widest` elements with which every operand is read and written in whole
  /// vectors, or is the same for all elements of one.
  int64_t vector(int64_t widest);
  /// Whether an operand of several elements is the same for all rows.
  bool readsForAllRows();
  /// An operand that is contiguous along another dimension of the domain than the innermost one.
  struct Crossing {
    unsigned dim;
    BlockArgument operand;
  };
  ArrayRef<Crossing> crossings() const { return crossing; }
  /// The dimensions [begin, end) around `dim` in which every operand's line goes on.
  std::pair<unsigned, unsigned> lineAround(unsigned dim) const;

private:
  /// For each dimension of a value, the dimension of the domain that it lies along, or -1.
  using Places = SmallVector<int, 4>;

  void visit(Operation *op, const Places &places);
  void visitBroadcast(BroadcastInDimOp op, const Places &places);
  void visitReshape(ReshapeOp op, const Places &places);
  void visitTranspose(TransposeOp op, const Places &places);
  /// Notes the operands from which `value` is computed element by element.
  void addCrossings(Value value, unsigned dim);
  void visitGather(GatherOp op, const Places &places);
  void visitPad(PadOp op, const Places &places);
  void visitSlice(SliceOp op, const Places &places);
  void visitWindows(WindowsOp op, const Places &places);
  /// A window whose starts are known when the kernel runs.
  void visitWindow(ArrayRef<Size> whole, ArrayRef<Size> window, const Places &places);

  void give(Value value, Places places) { known.try_emplace(value, std::move(places)); }
  static Places identity(size_t rank) {
    return llvm::to_vector<4>(llvm::seq<int>(0, static_cast<int>(rank)));
  }
  /// No operand's line goes on from the dimension before `place` to that at `place`.
  void breakBefore(const Places &places, size_t dim) {
    if (dim < places.size() && places[dim] > 0)
      breaks.push_back(static_cast<unsigned>(places[dim]));
  }
  /// Elements along `dim` come in runs of a multiple of `length`; 1: one by one.
  void limit(const Places &places, size_t dim, Size length) {
    runs.push_back({dim < places.size() ? places[dim] : -1, length});
  }

  FusionOp fusion;
  SmallVector<Size> domain;
  llvm::DenseMap<Value, Places> known;
  SmallVector<unsigned> breaks;
  SmallVector<std::pair<int, Size>> runs;
  SmallVector<Crossing> crossing;
};

} // namespace

LoopShape::LoopShape(FusionOp fusion) : fusion(fusion), domain(fusion.getDomain()) {
  Block &body = fusion.getBody().front();
  if (Operation *update = updateIn(fusion)) {
    give(updateOf(update), identity(domain.size()));
    visitWindow(sizesOf(update->getOperand(0)), domain, identity(domain.size()));
  } else {
    for (Value value : body.getTerminator()->getOperands())
      give(value, identity(domain.size()));
  }
  for (Operation &op : llvm::reverse(body.without_terminator()))
    for (Value result : op.getResults())
      if (auto it = known.find(result); it != known.end()) {
        const Places places = it->second;
        visit(&op, places);
      }
}

void LoopShape::visit(Operation *op, const Places &places) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](BroadcastInDimOp each) { visitBroadcast(each, places); })
      .Case([&](ReshapeOp each) { visitReshape(each, places); })
      .Case([&](TransposeOp each) { visitTranspose(each, places); })
      .Case([&](GatherOp each) { visitGather(each, places); })
      .Case([&](PadOp each) { visitPad(each, places); })
      .Case([&](SliceOp each) { visitSlice(each, places); })
      .Case([&](WindowsOp each) { visitWindows(each, places); })
      .Case([&](DynamicSliceOp each) {
        visitWindow(sizesOf(each.getA()), sizesOf(each.getType()), places);
        give(each.getA(), places);
      })
      .Case([&](ReverseOp each) {
        for (int64_t dim : each.getDims()) {
          breakBefore(places, static_cast<size_t>(dim));
          breakBefore(places, static_cast<size_t>(dim) + 1);
        }
        give(each.getA(), places);
      })
      .Case([&](ConcatOp each) {
        const auto dim = static_cast<size_t>(each.getDim());
        breakBefore(places, dim);
        for (Value part : each.getParts()) {
          limit(places, dim, productOf(sizesOf(part.getType()).drop_front(dim)));
          give(part, places);
        }
      })
      .Case([&](IotaOp each) {
        breakBefore(places, static_cast<size_t>(each.getDim()));
        breakBefore(places, static_cast<size_t>(each.getDim()) + 1);
      })
      .Case([&](ElementwiseOp) {
        for (Value operand : op->getOperands())
          give(operand, places);
      });
}

void LoopShape::visitBroadcast(BroadcastInDimOp op, const Places &places) {
  const ArrayRef<Size> from = sizesOf(op.getA().getType()), shape = op.getShape();
  Places own(from.size(), -1);
  SmallVector<bool> isRead(shape.size(), false);
  for (auto [j, dim] : llvm::enumerate(op.getDims()))
    if (from[j] == shape[dim]) {
      own[j] = places[dim];
      isRead[dim] = true;
    }
  std::optional<bool> before;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 1)
      continue;
    if (before && *before != isRead[dim])
      breakBefore(places, dim);
    before = isRead[dim];
  }
  give(op.getA(), std::move(own));
}

/// Dimensions of both sides that have equally many elements together lie at the first of them.
void LoopShape::visitReshape(ReshapeOp op, const Places &places) {
  const ArrayRef<Size> from = sizesOf(op.getA().getType()), shape = sizesOf(op.getType());
  Places own(from.size(), -1);
  Size before = 1, beforeOperand = 1;
  size_t at = 0, begin = 0;
  std::optional<int> place;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!place && size != 1)
      place = places[dim];
    before *= size;
    while (at < from.size() && isPartOf(beforeOperand, before))
      beforeOperand *= from[at++];
    if (beforeOperand != before || at == begin)
      continue;
    for (size_t j = begin; j < at && place; ++j)
      if (from[j] != 1) { // sizes of 1 have no place of their own
        own[j] = *place;
        break;
      }
    begin = at;
    before = beforeOperand = 1;
    place.reset();
  }
  give(op.getA(), std::move(own));
}

void LoopShape::visitTranspose(TransposeOp op, const Places &places) {
  const ArrayRef<Size> shape = sizesOf(op.getType());
  const ArrayRef<int64_t> perm = op.getPerm();
  Places own(perm.size(), -1);
  int64_t last = -1, innermost = -1;
  for (auto [dim, from] : llvm::enumerate(perm)) {
    own[static_cast<size_t>(from)] = places[dim];
    if (shape[dim] == 1)
      continue;
    if (last >= 0 && from != last + 1)
      breakBefore(places, dim);
    innermost = std::max(innermost, from);
    last = from;
  }
  // The operand's innermost dimension is another one than the result's: its elements lie apart.
  if (last != innermost) {
    limit(places, innermostDim(shape).value_or(0), 1);
    if (const int place = own[static_cast<size_t>(innermost)]; place >= 0)
      addCrossings(op.getA(), static_cast<unsigned>(place));
  }
  give(op.getA(), std::move(own));
}

void LoopShape::addCrossings(Value value, unsigned dim) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const bool isKnown = llvm::any_of(
        crossing, [&](const Crossing &each) { return each.operand == argument && each.dim == dim; });
    if (!isKnown && elementsOf(argument.getType()) != 1)
      crossing.push_back({dim, argument});
  } else if (isa<ElementwiseOp>(value.getDefiningOp())) {
    for (Value operand : value.getDefiningOp()->getOperands())
      addCrossings(operand, dim);
  } else if (isa<ReshapeOp, SliceOp, DynamicSliceOp>(value.getDefiningOp())) {
    addCrossings(value.getDefiningOp()->getOperand(0), dim);
  }
}

std::pair<unsigned, unsigned> LoopShape::lineAround(unsigned dim) const {
  unsigned begin = 0, end = static_cast<unsigned>(domain.size());
  for (unsigned each : breaks) {
    if (each <= dim)
      begin = std::max(begin, each);
    else
      end = std::min(end, each);
  }
  return {begin, end};
}

void LoopShape::visitGather(GatherOp op, const Places &places) {
  const auto dim = static_cast<size_t>(op.getDim()), rank = places.size();
  const size_t along = op.getKind() == GatherKind::along ? 1 : sizesOf(op.getIndex().getType()).size();
  breakBefore(places, dim);
  breakBefore(places, dim + along);
  if (op.getKind() == GatherKind::along) {
    for (size_t each = 0; each < rank; ++each) // each element has an index of its own
      limit(places, each, 1);
    give(op.getIndex(), places);
  } else {
    for (size_t each = dim; each < dim + along; ++each)
      limit(places, each, 1);
    give(op.getIndex(), Places(ArrayRef(places).slice(dim, along)));
  }
  Places own(ArrayRef(places).take_front(dim));
  own.push_back(-1);
  own.append(places.begin() + static_cast<int64_t>(std::min(dim + along, rank)), places.end());
  give(op.getA(), std::move(own));
}

void LoopShape::visitPad(PadOp op, const Places &places) {
  const ArrayRef<Size> from = sizesOf(op.getA().getType()), shape = sizesOf(op.getType());
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (from[dim] == shape[dim] && op.getLow()[dim] == 0)
      continue;
    breakBefore(places, dim);
    breakBefore(places, dim + 1);
    limit(places, dim, op.getInterior()[dim] == 0 ? Size(op.getLow()[dim]) : Size(1));
    limit(places, dim, from[dim]);
  }
  give(op.getA(), places);
}

/// A slice may begin at any element: an operand that is not aligned there is read element by element, and the
/// others in vectors.
void LoopShape::visitSlice(SliceOp op, const Places &places) {
  const ArrayRef<Size> from = sizesOf(op.getA()), shape = sizesOf(op.getType());
  for (auto [dim, step] : llvm::enumerate(op.getStep())) {
    if (from[dim] != shape[dim])
      breakBefore(places, dim);
    if (step != 1) {
      breakBefore(places, dim + 1);
      limit(places, dim, 1);
    }
  }
  give(op.getA(), places);
}

/// Along an extent, an element's place depends on two dimensions: the window and the element of the window.
void LoopShape::visitWindows(WindowsOp op, const Places &places) {
  const size_t count = op.getStride().size(), lead = places.size() - 2 * count;
  for (size_t dim = lead; dim < places.size(); ++dim)
    breakBefore(places, dim);
  for (size_t i = 0; i < count; ++i) {
    if (op.getDilation()[i] != 1)
      limit(places, lead + i, 1);
    if (op.getStride()[i] != 1)
      limit(places, lead + count + i, 1);
  }
  Places own(ArrayRef(places).take_front(lead));
  own.append(count, -1);
  give(op.getA(), std::move(own));
}

void LoopShape::visitWindow(ArrayRef<Size> whole, ArrayRef<Size> window, const Places &places) {
  for (size_t dim = 0; dim < window.size(); ++dim)
    if (whole[dim] != window[dim]) {
      breakBefore(places, dim);
      limit(places, dim, productOf(whole.drop_front(dim + 1)));
    }
}

unsigned LoopShape::rowDims() {
  const std::optional<unsigned> inner = innermostDim(domain);
  unsigned rows = 0;
  for (unsigned each : breaks)
    if (inner && each <= *inner)
      rows = std::max(rows, each);
  // The parts of a concat are ranges of columns, or of rows of the first dimension.
  for (auto concat : fusion.getBody().front().getOps<ConcatOp>())
    if (sizesOf(concat.getType()) == ArrayRef(domain)) {
      const auto dim = static_cast<unsigned>(concat.getDim());
      if (productOf(ArrayRef(domain).take_front(dim)) != 1)
        rows = dim;
      break;
    }
  return productOf(ArrayRef(domain).take_front(rows)) == 1 ? 0 : rows;
}

int64_t LoopShape::vector(int64_t widest) {
  const unsigned rows = rowDims();
  // In a line, the elements behind the last vector are single ones.
  const Size columns = productOf(ArrayRef(domain).drop_front(rows));
  int64_t vector = widest;
  auto fit = [&](Size length) {
    while (vector > 1 && !isMultipleOf(length, vector))
      vector /= 2;
  };
  if (rows > 0 && columns.isNumber())
    fit(columns);
  for (auto [place, length] : runs)
    if (place < 0 || place >= static_cast<int>(rows))
      fit(length);
  return vector;
}

bool LoopShape::readsForAllRows() {
  const auto rows = static_cast<int>(rowDims());
  return llvm::any_of(fusion.getBody().getArguments(), [&](BlockArgument argument) {
    auto it = known.find(argument);
    if (it == known.end() || elementsOf(argument.getType()) == 1)
      return false;
    const ArrayRef<Size> sizes = sizesOf(argument.getType());
    return llvm::all_of(llvm::zip_equal(sizes, it->second),
                        [&](auto each) { return std::get<0>(each) == 1 || std::get<1>(each) >= rows; });
  });
}

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

Plane planeOf(FusionOp fusion, const Schedule &schedule) {
  const SmallVector<Size> domain = fusion.getDomain();
  Plane plane;
  plane.rowDims = static_cast<unsigned>(schedule[ScheduleField::tileDim]) + 1;
  plane.rows = productOf(ArrayRef(domain).take_front(plane.rowDims));
  plane.columns = productOf(ArrayRef(domain).drop_front(plane.rowDims));
  return plane;
}

Size planeTasks(const Plane &plane, const Schedule &schedule) {
  const int64_t height = schedule[ScheduleField::tileRows], width = schedule[ScheduleField::tileColumns];
  if (plane.columns.isNumber()) {
    const Size across = ceilDiv(plane.columns, width);
    if (plane.rows.isNumber() || height == 1 || across == 1)
      return ceilDiv(plane.rows, height) * across;
    // ceil(rows / height) * across <= (rows + height - 1) * across / height
    return ceilDiv((plane.rows + (height - 1)) * across, height);
  }
  if (plane.rows.isNumber())
    return ceilDiv((plane.columns + (width - 1)) * ceilDiv(plane.rows, height), width);
  return ceilDiv((plane.rows + (height - 1)) * (plane.columns + (width - 1)), height * width);
}

//===----------------------------------------------------------------------===//
// Tiles that a block transposes
//===----------------------------------------------------------------------===//

TransposedDomain transposedDomain(FusionOp fusion, const Schedule &schedule) {
  const LoopShape shape(fusion);
  const SmallVector<Size> domain = fusion.getDomain();
  const auto dim = static_cast<unsigned>(schedule[ScheduleField::tileDim]);
  TransposedDomain found;
  found.columnDim = std::max(shape.lineAround(innermostDim(domain).value_or(0)).first, dim + 1);
  const auto [begin, end] = shape.lineAround(dim);
  found.rowDim = begin;
  found.rowDims = std::min(end, found.columnDim) - begin;
  const ArrayRef<Size> sizes = domain;
  found.before = productOf(sizes.take_front(begin));
  found.rows = productOf(sizes.slice(begin, found.rowDims));
  found.between = productOf(sizes.take_front(found.columnDim).drop_front(begin + found.rowDims));
  found.columns = productOf(sizes.drop_front(found.columnDim));
  return found;
}

Size transposedTasks(const TransposedDomain &domain, const Schedule &schedule) {
  // The quotients of sizes that are not known are one, of the product of the dividends, rounded up.
  Size tasks = domain.before * domain.between;
  int64_t divisor = 1;
  for (auto [size, tile] : {std::pair(domain.rows, schedule[ScheduleField::tileRows]),
                            std::pair(domain.columns, schedule[ScheduleField::tileColumns])}) {
    if (size.isNumber()) {
      tasks *= ceilDiv(size, tile);
      continue;
    }
    tasks *= size + (tile - 1);
    divisor *= tile;
  }
  return divisor == 1 ? tasks : ceilDiv(tasks, divisor);
}

int64_t transposedBytes(FusionOp fusion, const Schedule &schedule) {
  int64_t widest = 1;
  for (Value input : fusion.getInputs())
    if (elementsOf(input.getType()) != 1)
      widest = std::max(widest, elementBytes(input.getType()));
  const int64_t vector = schedule[ScheduleField::vector];
  return transposedSide * vector * (transposedSide + 1) * vector * widest;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

int64_t accessWidth(FusionOp fusion, const TargetDescription &target) {
  int64_t widest = 1;
  auto count = [&](Value value) {
    if (elementsOf(value.getType()) != 1)
      widest = std::max(widest, elementBytes(value.getType()));
  };
  for (auto [input, argument] : llvm::zip_equal(fusion.getInputs(), fusion.getBody().getArguments()))
    if (!llvm::all_of(argument.getUses(), [](OpOperand &use) {
          return isa<GatherOp>(use.getOwner()) && use.getOperandNumber() == 1;
        }))
      count(input);
  llvm::for_each(fusion.getResults(), count);
  return std::max<int64_t>(target.vectorBytes / widest, 1);
}

namespace {
/// How the threads of a block lie in a tile.
struct Threads {
  int64_t all = 128, across = 128;
  int64_t down() const { return all / across; }
};
} // namespace

/// The threads of a block for rows of `vectors` vectors. A block has from 4 to 8 warps, as many as leave the
/// fewest of its threads idle; a longer row is divided evenly among blocks.
static Threads threadsFor(int64_t vectors) {
  constexpr int64_t warp = 32, fewest = 128, most = 256;
  if (vectors > most) {
    const int64_t blocks = llvm::divideCeil(vectors, most);
    const auto all = static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(vectors, blocks), warp));
    return {all, all};
  }
  Threads best;
  double share = 0;
  for (int64_t all = fewest; all <= most; all += warp) {
    if (vectors > all)
      continue;
    const int64_t used = all / vectors * vectors;
    const double busy = static_cast<double>(used) / static_cast<double>(all);
    if (busy > share + 1e-9) {
      share = busy;
      best = {all, vectors};
    }
  }
  return best;
}

/// The widest vector for tiles that a block transposes: four bytes of the narrowest type that is transposed
/// or written, as long as it divides rows and columns, no access is wider than the device's, shared memory
/// has room for the tile of an operand, and multiprocessors have a tile each.
static int64_t transposedVector(FusionOp fusion, const LoopShape &shape, const TargetDescription &target,
                                Schedule &schedule) {
  constexpr int64_t word = 4;
  int64_t narrowest = word;
  auto count = [&](Value value) { narrowest = std::min(narrowest, elementBytes(value.getType())); };
  for (const LoopShape::Crossing &each : shape.crossings())
    count(each.operand);
  llvm::for_each(fusion.getResults(), count);
  const TransposedDomain domain = transposedDomain(fusion, schedule);
  const SymbolRanges ranges = rangesOf(fusion);
  auto fits = [&](int64_t vector) {
    schedule[ScheduleField::vector] = vector;
    schedule[ScheduleField::tileRows] = schedule[ScheduleField::tileColumns] = transposedSide * vector;
    return transposedBytes(fusion, schedule) <= mostSharedBytes && isMultipleOf(domain.rows, vector) &&
           isMultipleOf(domain.columns, vector) &&
           ranges.largest(transposedTasks(domain, schedule)) >= target.cores;
  };
  int64_t vector = std::min({word / narrowest, accessWidth(fusion, target), mostTransposedVector});
  while (vector > 1 && !fits(vector))
    vector /= 2;
  return vector;
}

/// Chooses tiles that a block transposes. Returns false if a plane is better: no operand lies across the
/// columns, or there are fewer than 16 rows or columns, so that more than half of a warp's threads would have
/// none; or if a plane is needed, whose boxes are the parts of a concat and whose results may be windows.
static bool chooseTransposed(FusionOp fusion, const LoopShape &shape, const TargetDescription &target,
                             Schedule &schedule) {
  constexpr int64_t fewest = 16, threads = 256;
  const SymbolRanges ranges = rangesOf(fusion);
  const std::optional<unsigned> inner = innermostDim(fusion.getDomain());
  if (fusion.getKind() != FusionKind::loop || !inner || shape.crossings().empty() ||
      !fusion.getBody().front().getOps<ConcatOp>().empty() || shape.crossings().front().dim >= *inner)
    return false;
  Schedule tiles = schedule;
  const unsigned dim = shape.crossings().front().dim;
  tiles[ScheduleField::tileDim] = dim;
  const TransposedDomain domain = transposedDomain(fusion, tiles);
  if (ranges.largest(domain.rows) < fewest || ranges.largest(domain.columns) < fewest)
    return false;
  const int64_t vector = transposedVector(fusion, shape, target, tiles);
  tiles[ScheduleField::threads] = threads;
  tiles[ScheduleField::vector] = vector;
  tiles[ScheduleField::tileRows] = tiles[ScheduleField::tileColumns] = transposedSide * vector;
  // Operands that are contiguous along other dimensions, or for which there is no room, are read directly.
  const int64_t crossing =
      llvm::count_if(shape.crossings(), [&](const LoopShape::Crossing &each) { return each.dim == dim; });
  tiles[ScheduleField::squares] = std::min(crossing, mostSharedBytes / transposedBytes(fusion, tiles));
  if (!transposedTasks(domain, tiles).isExpressible())
    return false;
  schedule = tiles;
  return true;
}

void chooseCudaLoop(FusionOp fusion, const TargetDescription &target, Schedule &schedule) {
  LoopShape shape(fusion);
  const SymbolRanges ranges = rangesOf(fusion);
  if (chooseTransposed(fusion, shape, target, schedule))
    return;
  const int64_t vector = shape.vector(accessWidth(fusion, target));
  schedule[ScheduleField::vector] = vector;
  const unsigned rowDims = shape.rowDims();
  if (rowDims == 0) {
    Threads line;
    schedule[ScheduleField::threads] = line.all;
    schedule[ScheduleField::chunk] = line.all * vector;
    return;
  }
  schedule[ScheduleField::tileDim] = static_cast<int64_t>(rowDims) - 1;
  const Plane plane = planeOf(fusion, schedule);
  // Columns of a number that is not known are divided among warps: few stay idle if there are few of them.
  Threads threads{128, 32};
  if (plane.columns.isNumber())
    threads = threadsFor(std::max<int64_t>(llvm::divideCeil(plane.columns.asNumber(), vector), 1));
  schedule[ScheduleField::threads] = threads.all;
  schedule[ScheduleField::tileColumns] = threads.across * vector;
  schedule[ScheduleField::tileRows] = threads.down();
  if (!shape.readsForAllRows())
    return;
  // What all rows read is read once for several, unless that leaves multiprocessors without two turns of
  // blocks.
  const int64_t turn = blocksOfTurn(target, threads.all);
  for (int64_t each = 8; each > 1; each /= 2) {
    schedule[ScheduleField::tileRows] = threads.down() * each;
    if (ranges.largest(planeTasks(plane, schedule)) >= 2 * turn)
      return;
  }
  schedule[ScheduleField::tileRows] = threads.down();
}

} // namespace weft::ir
