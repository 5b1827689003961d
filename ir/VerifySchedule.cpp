//===- VerifySchedule.cpp - Proves that a schedule fits its fusion --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule may come from text, and emitters trust it. Therefore this file proves that the tasks cover the
// domain and no two share an element, that the emitter can make vectors and squares of their size, that
// scratch is large enough, and that reductions have the order that belongs to their shape. The bounds of a
// field, and the fields of a kind, are checked when the attribute is made.
//
//===----------------------------------------------------------------------===//
#include "ir/CudaLoops.h"
#include "ir/CudaReductions.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace weft::ir {

namespace {

class Verifier {
public:
  Verifier(FusionOp fusion, const Schedule &schedule)
      : fusion(fusion), schedule(schedule), domain(fusion.getDomain()) {}
  LogicalResult verify();

private:
  using Field = ScheduleField;
  int64_t operator[](Field field) const { return schedule[field]; }
  bool has(Field field) const { return schedule.has(field); }

  LogicalResult wrong(Field field, const Twine &expected, const Twine &why) {
    return fusion.emitOpError() << "has " << infoOf(field).name << " = " << (*this)[field]
                                << " in its schedule, expected " << expected << ": " << why;
  }
  /// Checks the fields that this fusion must have, and those of its kind that it must not have.
  LogicalResult needs(ArrayRef<Field> fields, const Twine &why) {
    for (Field field : fields)
      if (!has(field))
        return fusion.emitOpError() << "needs " << infoOf(field).name << " in its schedule: " << why;
    return success();
  }
  LogicalResult hasNo(ArrayRef<Field> fields, const Twine &why) {
    for (Field field : fields)
      if (has(field))
        return fusion.emitOpError() << "has " << infoOf(field).name << " = " << (*this)[field]
                                    << " in its schedule, which it cannot have: " << why;
    return success();
  }
  static constexpr Field tileFields[] = {Field::tileRows, Field::tileColumns, Field::tileDim};
  /// Whether the threads of a block share a task: those of a fallback have tasks of their own.
  bool sharesTiles() const { return has(Field::threads) && !isFallback(schedule); }
  LogicalResult isExactly(Field field, int64_t expected, const Twine &why) {
    return (*this)[field] == expected ? success() : wrong(field, Twine(expected), why);
  }
  LogicalResult isMultiple(Field field, int64_t of, const Twine &why) {
    return (*this)[field] % of == 0 ? success() : wrong(field, "a multiple of " + Twine(of), why);
  }

  LogicalResult verifyChunk();
  LogicalResult verifyTile();
  LogicalResult verifyPlane();
  /// Tiles that a block transposes.
  LogicalResult verifyTransposed();
  /// Verifies `keep`, for passes over `length` elements of rows, or rows of columns.
  LogicalResult verifyKeep(Size length, const char *what, const char *each);
  LogicalResult verifyRow();
  /// Rows that teams of threads share.
  LogicalResult verifyRowTeams();
  /// Columns that the threads of a block share.
  LogicalResult verifyColumnBlocks();
  LogicalResult verifyColumn();
  LogicalResult verifyScan();
  /// Lines and columns that the threads of a block scan.
  LogicalResult verifyScanTeams();
  LogicalResult verifyUpdate();
  LogicalResult verifyFields();
  /// Verifies the size of scratch, which is needed and which a device has.
  LogicalResult verifyScratch();
  /// Verifies that a multiprocessor of some GPU can hold `resident` blocks of the kernel's threads.
  LogicalResult verifyResident();
  std::string cutText();

  FusionOp fusion;
  const Schedule &schedule;
  SmallVector<Size> domain;
};

} // namespace

LogicalResult Verifier::verifyChunk() {
  return isMultiple(Field::chunk, 64, "no vector may lie in two tasks, and the widest has 64 elements");
}

LogicalResult Verifier::verifyTile() {
  if (failed(needs({Field::tileRows, Field::tileColumns, Field::tileDim, Field::squares},
                   "a loop is cut in chunks, or in tiles")) ||
      failed(hasNo({Field::chunk}, "its tasks are tiles")))
    return failure();
  if (anySymbolic(domain))
    return hasNo({Field::tileRows}, "tiles are laid out when the kernel is made, and its domain is [" +
                                        Twine(sizesText(domain)) + "]");
  if (!fusion.getBody().front().getOps<ConcatOp>().empty())
    return hasNo({Field::tileRows}, "a weft.concat is computed part by part");
  std::optional<unsigned> inner = innermostDim(domain);
  if (!inner || *inner == 0)
    return hasNo({Field::tileRows},
                 "a tile needs two dimensions, and its domain is [" + Twine(sizesText(domain)) + "]");
  if ((*this)[Field::tileDim] >= static_cast<int64_t>(*inner))
    return wrong(Field::tileDim, "a dimension before " + Twine(*inner),
                 "the columns of a tile lie along the innermost dimension that is not 1");
  if ((*this)[Field::vector] > reductionLanes)
    return wrong(Field::vector, "at most " + Twine(reductionLanes), "a square is transposed in registers");
  for (Field field : {Field::tileRows, Field::tileColumns})
    if (failed(isMultiple(field, (*this)[Field::vector], "a tile holds whole squares of one vector a side")))
      return failure();
  return success();
}

/// The threads of a block take turns at the vectors of a tile, so that each row of it has a thread for each
/// of its vectors.
LogicalResult Verifier::verifyPlane() {
  if (failed(needs({Field::tileRows, Field::tileColumns, Field::tileDim},
                   "the threads of a block share a chunk, or a tile of rows and columns")))
    return failure();
  std::optional<unsigned> inner = innermostDim(domain);
  if (!inner || *inner == 0)
    return hasNo({Field::tileRows},
                 "a tile needs two dimensions, and its domain is [" + Twine(sizesText(domain)) + "]");
  if ((*this)[Field::tileDim] >= static_cast<int64_t>(*inner))
    return wrong(Field::tileDim, "a dimension before " + Twine(*inner),
                 "the columns of a tile lie along the dimensions after it");
  if (failed(isMultiple(Field::tileColumns, (*this)[Field::vector], "a row of a tile is whole vectors")))
    return failure();
  const int64_t most = (*this)[Field::threads] * (*this)[Field::vector];
  return (*this)[Field::tileColumns] <= most ? success()
                                             : wrong(Field::tileColumns, "at most " + Twine(most),
                                                     "each vector of a row has a thread of its own");
}

/// The tiles cover rows and columns, and each of its vectors and of its rows has a thread of a warp.
LogicalResult Verifier::verifyTransposed() {
  if (failed(needs({Field::tileRows, Field::tileColumns, Field::tileDim},
                   "a block transposes tiles of rows and columns")) ||
      failed(hasNo({Field::streaming}, "stores of a GPU have one form")))
    return failure();
  if (!fusion.getBody().front().getOps<ConcatOp>().empty())
    return hasNo({Field::squares}, "a weft.concat is computed part by part");
  std::optional<unsigned> inner = innermostDim(domain);
  if (!inner || *inner == 0)
    return hasNo({Field::tileRows},
                 "a tile needs two dimensions, and its domain is [" + Twine(sizesText(domain)) + "]");
  if ((*this)[Field::tileDim] >= static_cast<int64_t>(*inner))
    return wrong(Field::tileDim, "a dimension before " + Twine(*inner),
                 "the columns of a tile lie along the innermost dimension that is not 1");
  const int64_t vector = (*this)[Field::vector], threads = (*this)[Field::threads];
  if (!llvm::isPowerOf2_64(static_cast<uint64_t>(vector)) || vector > mostTransposedVector)
    return wrong(Field::vector, "1, 2 or 4", "a thread transposes a square of as many rows in registers");
  const TransposedDomain parts = transposedDomain(fusion, schedule);
  for (const Size &size : {parts.rows, parts.columns})
    if (!isMultipleOf(size, vector))
      return wrong(Field::vector, "a divisor of " + Twine(sizeText(size)),
                   "no vector of rows or columns may cross the end of the domain");
  const char *side = "a warp has one vector of each row or column of a tile";
  if (failed(isExactly(Field::tileRows, transposedSide * vector, side)) ||
      failed(isExactly(Field::tileColumns, transposedSide * vector, side)))
    return failure();
  if (threads % warpThreads != 0 || transposedSide % (threads / warpThreads) != 0)
    return wrong(Field::threads, "32 times a power of two", "its warps share the rows of a tile evenly");
  return success();
}

LogicalResult Verifier::verifyRowTeams() {
  const Size size = rowLength(fusion);
  const std::optional<int64_t> length = size.number();
  if (length && *length < 1)
    return wrong(Field::threads, "1", "a team of threads shares a row, and its rows have no elements");
  if (rowShape(fusion).isInPieces())
    return wrong(Field::threads, "1", "a team of threads shares a row, and its rows lie in pieces");
  const char *order = length ? "the order of a reduction follows from the length of its rows alone"
                             : "the teams of all lengths that its rows may have are parts of the largest";
  const int64_t team = largestRowTeam(fusion), partials = team * teamVector;
  if (failed(isExactly(Field::lanes, team, order)) || failed(isExactly(Field::partials, partials, order)) ||
      ((*this)[Field::vector] != 1 && failed(isExactly(Field::vector, teamVector, order))) ||
      failed(isExactly(Field::prefetch, 0, "other warps run while one waits for memory")))
    return failure();
  // Only a warp's threads take different rows, because those of several warps meet at barriers.
  if (team > warpThreads
          ? failed(isExactly(Field::threads, team, "a row of several warps has a block of its own"))
          : failed(isMultiple(Field::threads, warpThreads, "a warp has no threads without a row")))
    return failure();
  if (!schedule.keep.empty())
    return fusion.emitOpError()
           << "has keep = [" << schedule.keep
           << "] in its schedule, which it cannot have: a team holds its row in registers";
  if (failed(hasNo({Field::streaming}, "stores of a GPU have one form")))
    return failure();
  if ((*this)[Field::vector] == 1)
    return hasNo({Field::chunk, Field::block}, "with a vector of 1, a thread has one element at a time");
  if (!length)
    return hasNo({Field::chunk, Field::block},
                 "registers have a number of their own, and its rows " + Twine(sizeText(size)) + " elements");
  if (has(Field::block)) {
    if (failed(hasNo({Field::chunk}, "a row is held in registers, or in shared memory")))
      return failure();
    if (team <= warpThreads)
      return hasNo({Field::block}, "a warp's row is held in registers");
    return isExactly(Field::block, *length / teamVector * teamVector,
                     "a team holds the whole vectors of its row in shared memory");
  }
  const auto held = static_cast<int64_t>(llvm::alignTo(*length, partials));
  if (!has(Field::chunk))
    return success();
  if (failed(isExactly(Field::chunk, held, "a team holds the whole row, in vectors of all its threads")))
    return failure();
  return held <= partials * mostHeldVectors
             ? success()
             : hasNo({Field::chunk}, "a thread may hold " + Twine(mostHeldVectors) +
                                         " vectors, and this is " + Twine(held / partials));
}

LogicalResult Verifier::verifyRow() {
  if (isShared(schedule))
    return verifyRowTeams();
  if (failed(hasNo({Field::chunk, Field::block}, "one thread has the row, which lies in its cache")))
    return failure();
  Size length = rowLength(fusion);
  const char *order = "the order of a reduction follows from the length of its rows alone";
  if (failed(isExactly(Field::lanes, reductionLanes, order)) ||
      failed(isExactly(Field::partials, rowPartials, order)))
    return failure();
  bool isShort = length.isNumber() && length.asNumber() < reductionLanes;
  if ((*this)[Field::vector] > reductionLanes || ((*this)[Field::vector] < 2 && !isShort))
    return wrong(Field::vector, "from 2 to " + Twine(reductionLanes),
                 "a row is reduced in " + Twine(reductionLanes) + " lanes");
  if (failed(isMultiple(Field::prefetch, 64, "whole cache lines are prefetched")))
    return failure();
  return verifyKeep(length, "rows", "elements");
}

LogicalResult Verifier::verifyKeep(Size length, const char *what, const char *each) {
  if (schedule.keep.empty())
    return success();
  if (!length.isNumber())
    return fusion.emitOpError()
           << "has keep = [" << schedule.keep
           << "] in its schedule, which it cannot have: scratch has a size of its own, and " << what
           << " have " << sizeText(length) << " " << each;
  SmallVector<Operation *> ops;
  for (Operation &op : fusion.getBody().front().without_terminator())
    ops.push_back(&op);
  auto kept = keptValues(fusion, schedule.keep);
  for (int64_t number : schedule.keep) {
    if (number >= static_cast<int64_t>(ops.size()))
      return fusion.emitOpError() << "has keep = [" << schedule.keep
                                  << "] in its schedule, but ops in its body from 0 to " << ops.size() - 1;
    if (llvm::none_of(kept, [&](auto &value) { return value.first.getDefiningOp() == ops[number]; }))
      return fusion.emitOpError() << "has keep = [" << schedule.keep << "] in its schedule, but op " << number
                                  << ", " << ops[number]->getName()
                                  << ", is no elementwise op of the domain that two passes over "
                                  << (schedule.kind == FusionKind::row ? "a row" : "the rows") << " need";
  }
  return success();
}

LogicalResult Verifier::verifyColumnBlocks() {
  const ColumnShape shape = columnShape(fusion);
  if (shape.rows == 0 || shape.inner == 0)
    return wrong(Field::threads, "1",
                 "threads share columns, and its domain is [" + Twine(sizesText(domain)) + "]");
  const int64_t vector = (*this)[Field::vector], shares = largestColumnShares(fusion);
  if (failed(needs({Field::block}, "its tasks are blocks of columns")) ||
      failed(isExactly(Field::rows, shares,
                       shape.rows.isNumber()
                           ? "the order of a reduction follows from the number of rows alone"
                           : "it is that of the most rows that its columns may have")))
    return failure();
  if (!isMultipleOf(shape.inner, vector))
    return wrong(Field::vector, "a divisor of " + Twine(sizeText(shape.inner)),
                 "each thread has a whole vector of columns");
  if (failed(isMultiple(Field::block, vector, "a block is whole vectors of columns")) ||
      failed(isExactly(Field::threads, (*this)[Field::block] / vector * shares,
                       Twine(shares) + " threads share each vector of " + Twine(vector) + " of " +
                           Twine((*this)[Field::block]) + " columns")) ||
      failed(isMultiple(Field::threads, warpThreads, "the memory of each value begins at 16 bytes")) ||
      failed(hasNo({Field::streaming}, "stores of a GPU have one form")))
    return failure();
  if (!schedule.keep.empty())
    return fusion.emitOpError() << "has keep = [" << schedule.keep
                                << "] in its schedule, which it cannot have: each pass reads the rows again";
  const int64_t bytes = scratchOf(fusion, schedule);
  return bytes <= mostSharedBytes ? success()
                                  : wrong(Field::block, "a smaller one",
                                          "its threads need " + Twine(bytes) + " of at most " +
                                              Twine(mostSharedBytes) + " bytes of shared memory");
}

LogicalResult Verifier::verifyColumn() {
  if (isShared(schedule))
    return verifyColumnBlocks();
  return failure(failed(needs({Field::block}, "its tasks are blocks of columns")) ||
                 failed(isExactly(Field::rows, columnRows,
                                  "the order of a reduction follows from the number of rows alone")) ||
                 failed(isMultiple(Field::block, std::max((*this)[Field::vector], columnStep),
                                   "no vector may lie in two tasks, and " + Twine(columnStep) +
                                       " columns of f32 fill a cache line")) ||
                 failed(verifyKeep(columnShape(fusion).rows, "columns", "rows")));
}

LogicalResult Verifier::verifyScanTeams() {
  const ScanShape shape = scanShape(fusion);
  if (shape.extent == 0 || shape.inner == 0)
    return wrong(Field::threads, "1",
                 "threads scan lines and columns, and its domain is [" + Twine(sizesText(domain)) + "]");
  const int64_t vector = (*this)[Field::vector];
  if (failed(isMultiple(Field::threads, warpThreads, "a warp has no threads without a line or columns")))
    return failure();
  if (shape.inner != 1) {
    if (!isMultipleOf(shape.inner, vector))
      return wrong(Field::vector, "a divisor of " + Twine(sizeText(shape.inner)),
                   "each thread has a whole vector of columns");
    return failure(failed(needs({Field::block}, "its tasks are blocks of columns")) ||
                   failed(isExactly(Field::lanes, 1, "a thread has its columns alone")) ||
                   failed(isExactly(Field::block, (*this)[Field::threads] * vector,
                                    "each thread of the block has a vector of columns")));
  }
  const char *order = shape.extent.isNumber()
                          ? "the order of a scan follows from the length of its lines alone"
                          : "it is that of the longest line that a call may have";
  const int64_t team = largestScanTeam(fusion);
  return failure(failed(hasNo({Field::block}, "its tasks are lines")) ||
                 failed(isExactly(Field::lanes, team, order)) ||
                 failed(isExactly(Field::vector, largestScanVector(fusion), order)) ||
                 (team > warpThreads &&
                  failed(isExactly(Field::threads, team, "a line of several warps has a block of its own"))));
}

LogicalResult Verifier::verifyScan() {
  if (isShared(schedule))
    return verifyScanTeams();
  int64_t vector = (*this)[Field::vector], block = (*this)[Field::block];
  if (failed(isExactly(Field::lanes, reductionLanes,
                       "the order of a scan follows from the length of its lines alone")))
    return failure();
  if (scanShape(fusion).inner == 1)
    return failure(
        failed(hasNo({Field::block}, "its tasks are lines")) ||
        failed(isExactly(Field::vector, reductionLanes, "a line is scanned in vectors of its lanes")));
  if (failed(needs({Field::block}, "its tasks are blocks of columns")) ||
      failed(isMultiple(Field::block, vector, "a block is whole vectors of columns")))
    return failure();
  // The kernel has code and registers for each vector of the block.
  constexpr int64_t mostVectors = 64;
  return block <= mostVectors * vector
             ? success()
             : wrong(Field::block, "at most " + Twine(mostVectors * vector),
                     "the state of " + Twine(mostVectors) + " vectors is kept at a time");
}

LogicalResult Verifier::verifyUpdate() {
  Operation *update = updateIn(fusion);
  if (isa<DynamicUpdateSliceOp>(update)) {
    if (failed(hasNo({Field::block, Field::range}, "it writes a window, which is cut in chunks")))
      return failure();
    if (sharesTiles() && !has(Field::chunk))
      return verifyPlane();
    return failure(failed(needs({Field::chunk}, "it writes a window, which is cut in chunks")) ||
                   failed(hasNo(tileFields, "its tasks are chunks")) || failed(verifyChunk()));
  }
  if (failed(
          hasNo({Field::chunk, Field::tileRows, Field::tileColumns, Field::tileDim}, "it writes by index")))
    return failure();
  if (isa<ScatterOp>(update) && (*this)[Field::vector] != 1)
    return wrong(Field::vector, "1", "each element of a weft.scatter has an index of its own");
  UpdateTiles tiles = updateTiles(update, noNumber, noNumber);
  struct Cut {
    Field field;
    Size size;
    const char *what;
  };
  for (const Cut &cut : {Cut{Field::block, tiles.inner, "elements that share an index"},
                         Cut{Field::range, tiles.size, "places to write to"}}) {
    if (!has(cut.field))
      continue;
    if (!cut.size.isNumber())
      return hasNo({cut.field},
                   "it has " + Twine(sizeText(cut.size)) + " " + cut.what + ", which is no number");
    int64_t size = cut.size.asNumber();
    if ((*this)[cut.field] > std::max<int64_t>(size, 1))
      return wrong(cut.field, "at most " + Twine(size), "it has " + Twine(size) + " " + cut.what);
  }
  if (listsWrites(fusion, schedule))
    return isMultiple(Field::threads, warpThreads, "whole warps list the writes to a range");
  if (!hasOwnWrites(schedule))
    return success();
  return failure(failed(isMultiple(Field::threads, warpThreads, "a warp has no threads without writes")) ||
                 (!isMultipleOf(tiles.inner, (*this)[Field::vector]) &&
                  failed(wrong(Field::vector, "a divisor of " + Twine(sizeText(tiles.inner)),
                               "each thread has a whole vector of the elements that share an index"))));
}

LogicalResult Verifier::verifyFields() {
  switch (fusion.getKind()) {
  case FusionKind::loop:
    if (has(Field::chunk))
      return failure(failed(hasNo(tileFields, "its tasks are chunks")) ||
                     failed(hasNo({Field::squares}, "its tasks are chunks")) || failed(verifyChunk()));
    if (sharesTiles())
      return has(Field::squares) ? verifyTransposed() : verifyPlane();
    return verifyTile();
  case FusionKind::row:
    return verifyRow();
  case FusionKind::column:
    return verifyColumn();
  case FusionKind::scan:
    return verifyScan();
  case FusionKind::update:
    return verifyUpdate();
  case FusionKind::multi_tensor:
    return failure(failed(needs({Field::chunk}, "its tasks are chunks of tensors")) || failed(verifyChunk()));
  }
  return success();
}

/// The fields that determine the number of tasks, for messages.
std::string Verifier::cutText() {
  auto in = [&](Field field) { return std::to_string((*this)[field]); };
  std::string shape = "[" + sizesText(domain) + "]";
  if (fusion.getKind() == FusionKind::multi_tensor)
    return "its tensors are cut in chunks of " + in(Field::chunk);
  if (has(Field::chunk))
    return "the domain " + shape + " is cut in chunks of " + in(Field::chunk);
  if (has(Field::tileRows))
    return "the domain " + shape + " is cut in tiles of " + in(Field::tileRows) + " x " +
           in(Field::tileColumns);
  switch (fusion.getKind()) {
  case FusionKind::row:
    return isShared(schedule) && !rowLength(fusion).isNumber()
               ? "blocks take turns at the rows of the domain " + shape + ", one for each 4096 elements"
           : isShared(schedule)
               ? "a block has " + std::to_string((*this)[Field::threads] / (*this)[Field::lanes]) +
                     " rows of the domain " + shape
               : "a task is a row of the domain " + shape;
  case FusionKind::scan:
    return has(Field::block)
               ? "the columns of the domain " + shape + " are cut in blocks of " + in(Field::block)
           : isShared(schedule) && !scanShape(fusion).extent.isNumber()
               ? "blocks take turns at the lines of the domain " + shape + ", one for each 4096 elements"
           : isShared(schedule)
               ? "a block has " + std::to_string((*this)[Field::threads] / (*this)[Field::lanes]) +
                     " lines of the domain " + shape
               : "a task is a line of the domain " + shape;
  case FusionKind::update:
    return hasOwnWrites(schedule) ? "each thread of a block has an outer index, a vector and a range"
                                  : "the writes are cut by outer index, block and range";
  default:
    if (isShared(schedule) && !columnShape(fusion).rows.isNumber())
      return "blocks take turns at the columns of the domain " + shape + ", one for each 4096 elements";
    return "the columns of the domain " + shape + " are cut in blocks of " + in(Field::block);
  }
}

LogicalResult Verifier::verify() {
  if (schedule.kind != fusion.getKind())
    return fusion.emitOpError() << "of kind " << stringifyFusionKind(fusion.getKind())
                                << " has a schedule of kind " << stringifyFusionKind(schedule.kind);
  // A schedule for a CPU has no `threads` and a schedule for another device has, so neither can be used for
  // the other.
  DeviceAttr device = deviceOf(fusion.getResultTypes().front());
  if (failed(!device || device.isCpu()
                 ? hasNo({Field::threads}, "a task of a CPU is one thread's")
                 : needs({Field::threads}, "it runs on " + Twine(device.withoutSizes().str()) +
                                               ", and how many threads share a task is not said")) ||
      failed(verifyFields()))
    return failure();
  Size tasks = tasksOf(fusion, schedule);
  if (!tasks.isExpressible())
    return fusion.emitOpError() << "has more tasks than can be expressed: " << cutText()
                                << "; make its tensors smaller, or give their sizes fewer symbols";
  if (schedule.tasks != tasks)
    return fusion.emitOpError() << "has tasks = " << sizeText(schedule.tasks) << " in its schedule, expected "
                                << sizeText(tasks) << ": " << cutText();
  int64_t most = std::max<int64_t>(rangesOf(fusion).largest(tasks), 1);
  if ((*this)[Field::grain] > most)
    return wrong(Field::grain, "at most " + Twine(most), "it has " + Twine(sizeText(tasks)) + " tasks");
  return failure(failed(verifyResident()) || failed(verifyScratch()));
}

LogicalResult Verifier::verifyResident() {
  if (!has(Field::resident))
    return success();
  if (!has(Field::threads))
    return hasNo({Field::resident}, "only a GPU holds several blocks of threads at a time");
  static constexpr int64_t mostResidentThreads = 2048; // of the largest
  const int64_t threads = blockThreads(schedule), most = mostResidentThreads / threads;
  return (*this)[Field::resident] <= most
             ? success()
             : wrong(Field::resident, "at most " + Twine(most),
                     "a multiprocessor holds 2048 threads, and a block has " + Twine(threads));
}

LogicalResult Verifier::verifyScratch() {
  const int64_t needed = scratchOf(fusion, schedule), found = (*this)[Field::scratch];
  if (found < needed)
    return wrong(Field::scratch, "at least " + Twine(needed), "that is what its kernel keeps there");
  if (!has(Field::threads))
    return success();
  // The kernel's mapping follows from it (codegen/KernelTargets.cpp).
  if (schedule.kind == FusionKind::update && isShared(schedule) && needed == 0 && found != 0)
    return wrong(Field::scratch, "0", "only writes that are listed have shared memory");
  if (sharesTiles()) {
    // A launch asks for the memory of held rows; what its device has is known when the kernel is compiled.
    const int64_t most =
        schedule.kind == FusionKind::row && has(Field::block) ? mostLaunchedBytes() : mostSharedBytes;
    return found <= most ? success()
                         : wrong(Field::scratch, "at most " + Twine(most), "it is shared memory of a block");
  }
  return found <= mostThreadBytes
             ? success()
             : wrong(Field::scratch, "at most " + Twine(mostThreadBytes), "it is memory of a thread");
}

LogicalResult verifySchedule(FusionOp fusion, ScheduleAttr schedule) {
  return Verifier(fusion, schedule.toSchedule()).verify();
}

} // namespace weft::ir
