//===- Schedule.cpp -------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Schedule.h"

#include "ir/CudaLoops.h"
#include "ir/CudaReductions.h"
#include "ir/CudaSchedule.h"
#include "ir/OpFacts.h"
#include "ir/Updates.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace weft::ir {

SmallVector<std::string> symbolsOf(FusionOp fusion) {
  std::vector<std::string> names;
  auto add = [&](ArrayRef<Size> sizes) {
    for (Size size : sizes)
      llvm::append_range(names, symbolsOf(size));
  };
  for (Type type : llvm::concat<const Type>(llvm::to_vector(fusion.getOperandTypes()),
                                            llvm::to_vector(fusion.getResultTypes())))
    add(sizesOf(type));
  for (Operation &op : fusion.getBody().front()) {
    for (Type type : op.getResultTypes())
      add(sizesOf(type));
    if (auto dim = dyn_cast<DimOp>(op))
      add(dim.getSize());
    else if (auto slice = dyn_cast<SliceOp>(op))
      add(slice.getStart());
    else if (auto pad = dyn_cast<PadOp>(op))
      add(pad.getLow());
  }
  llvm::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return SmallVector<std::string>(names.begin(), names.end());
}

bool isArgReduction(Operation *op) { return isa<ArgmaxOp, ArgminOp>(op); }

bool isReductionOp(Operation *op) {
  return isa<SumOp, ProdOp, RmaxOp, RminOp, AnyOp, WelfordOp>(op) || isArgReduction(op);
}

SmallVector<int64_t> reducedDims(Operation *op) {
  if (isArgReduction(op))
    return {op->getAttrOfType<IntegerAttr>("dim").getInt()};
  return llvm::to_vector(op->getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef());
}

bool isScanOp(Operation *op) { return isa<CumsumOp, CumprodOp, CummaxOp, CumminOp>(op); }

int64_t scanDim(Operation *op) { return op->getAttrOfType<IntegerAttr>("dim").getInt(); }

Type accumulatorType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  return toScalarType(element);
}

int64_t accumulatorBytes(Operation *reduction) {
  Type element = accumulatorType(getElementTypeOrSelf(reduction->getOperand(0).getType()));
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  // argmax and argmin also have an index, welford also has m2.
  return bytes + (isArgReduction(reduction) ? 8 : isa<WelfordOp>(reduction) ? bytes : 0);
}

/// 16 f32, or 8 elements of eight bytes, are one register of 512 bits. Loops that draw random numbers have
/// vectors of 64 elements, which are 16 blocks of Philox, so that the words of the blocks fill whole vectors.
static int64_t vectorWidth(FusionOp fusion) {
  SmallVector<Size> domain = fusion.getDomain();
  if (fusion.getKind() == FusionKind::loop && !domain.empty() && domain.back().number().value_or(0) >= 64)
    for (Operation &op : fusion.getBody().front())
      if (isa<RngBitsPhiloxOp>(op))
        return 64;
  int64_t wide = 0, all = 0;
  auto count = [&](Value value) {
    if (typeOf(value).getRank() == 0)
      return;
    ++all;
    wide += elementBytes(value.getType()) == 8;
  };
  llvm::for_each(fusion.getInputs(), count);
  llvm::for_each(fusion.getResults(), count);
  return 2 * wide > all ? 8 : 16;
}

static bool isStreaming(FusionOp fusion, const TargetDescription &target) {
  Size bytes;
  SmallVector<Size> domain = fusion.getDomain();
  for (Value result : fusion.getResults()) {
    // A result of dynamic size may be small in most calls.
    if (isDynamic(result.getType()))
      return false;
    // Column kernels write the results of reductions with ordinary stores.
    if (fusion.getKind() != FusionKind::column || sizesOf(typeOf(result)) == ArrayRef(domain))
      bytes += bytesOf(result.getType());
  }
  return bytes.number().value_or(INT64_MAX) > target.lastLevelBytes;
}

/// The number of threads for which work is cut, if possible. 16 is as many as most machines have. A target
/// whose name has more cores gets more tasks, which changes no bit of a result.
static int64_t enoughTasks(const TargetDescription &target) {
  constexpr int64_t common = 16;
  return std::max(common, target.cores);
}

//===----------------------------------------------------------------------===//
// loop
//===----------------------------------------------------------------------===//

std::optional<unsigned> innermostDim(ArrayRef<Size> domain) {
  for (size_t dim = domain.size(); dim-- > 0;)
    if (domain[dim] != 1)
      return static_cast<unsigned>(dim);
  return std::nullopt;
}

/// The elements of a chunk: 16 KiB of the widest result, and at least 64 elements, the widest vector. Of two
/// operands and two results, half of each chunk stays in 32 KiB of first-level cache, and a thread's run over
/// memory is long enough for the prefetcher. Chunks are smaller, down to 4 KiB of f32, if their functions
/// take longer than some microseconds, which threads then share, and if the target's name has a number of
/// cores and there would be fewer chunks than cores.
static int64_t loopChunk(FusionOp fusion, const TargetDescription &target) {
  constexpr int64_t chunkBytes = 16 << 10, widestVector = 64, leastChunk = 1024, chunkAdditions = 200000;
  int64_t widest = 1;
  for (Value result : fusion.getResults())
    widest = std::max(widest, elementBytes(result.getType()));
  int64_t chunk = std::max(chunkBytes / widest, widestVector);
  if (chunk <= leastChunk)
    return chunk;
  int64_t additions = 0;
  for (Operation &op : fusion.getBody().front().without_terminator())
    additions += additionsPerElement(&op);
  // A power of two, of which large domains mostly are multiples.
  const auto quick = llvm::bit_floor(static_cast<uint64_t>(chunkAdditions / std::max<int64_t>(additions, 1)));
  chunk = std::clamp(static_cast<int64_t>(quick), leastChunk, chunk);
  const std::optional<int64_t> elements = productOf(fusion.getDomain()).number();
  if (!target.namedCores || !elements)
    return chunk;
  const auto share =
      static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(*elements, target.namedCores), widestVector));
  return std::clamp(share, leastChunk, chunk);
}

/// The dimension along which a transposed operand of a loop is contiguous, if that and the domain's innermost
/// dimension are both long enough for a square. The loop then runs over tiles.
static std::optional<unsigned> transposedDim(FusionOp fusion) {
  // The side of a square is a cache line of f32. Shorter dimensions would use parts of lines in any order.
  constexpr int64_t side = 16;
  SmallVector<Size> domain = fusion.getDomain();
  if (anySymbolic(domain))
    return std::nullopt; // tiles need static sizes
  std::optional<unsigned> inner = innermostDim(domain);
  // A concat is computed part by part.
  if (!inner || *inner < 1 || !fusion.getBody().front().getOps<ConcatOp>().empty())
    return std::nullopt;
  for (auto transpose : fusion.getBody().front().getOps<TransposeOp>()) {
    if (sizesOf(transpose.getType()) != ArrayRef(domain))
      continue;
    // The dimension of the result that is the operand's innermost dimension whose size is not 1.
    std::optional<unsigned> last = innermostDim(sizesOf(transpose.getA().getType()));
    ArrayRef<int64_t> perm = transpose.getPerm();
    auto dim = static_cast<unsigned>(llvm::find(perm, static_cast<int64_t>(last.value_or(0))) - perm.begin());
    if (dim != *inner && domain[dim].asNumber() >= side && domain[*inner].asNumber() >= side)
      return dim;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// row
//===----------------------------------------------------------------------===//

/// A page, where the processor's own prefetching ends. Where one pass does nothing but read a long row, more
/// lines are on their way at a time, and four pages are faster.
static int64_t rowPrefetch(FusionOp fusion) {
  constexpr int64_t page = 4096, longRow = 16 * page / 4;
  return lastReductionPass(fusion) == 0 && rowLength(fusion).number().value_or(0) >= longRow ? 4 * page
                                                                                             : page;
}

//===----------------------------------------------------------------------===//
// column
//===----------------------------------------------------------------------===//

/// The bytes that a pass reads for one column, in all rows.
static int64_t columnBytes(FusionOp fusion) {
  // The limit is more than any cache has.
  constexpr int64_t most = int64_t(1) << 40;
  SymbolRanges ranges = rangesOf(fusion);
  SmallVector<Size> domain = fusion.getDomain();
  int64_t ofElement = 0;
  for (Value input : fusion.getInputs())
    if (elementsOf(input.getType()) == productOf(domain))
      ofElement += elementBytes(input.getType());
  int64_t rows = std::clamp<int64_t>(ranges.largest(columnShape(fusion).rows), 1, most);
  return std::min(rows * std::clamp<int64_t>(ofElement, 1, 1 << 10), most);
}

/// One pass: enough tasks for 16 threads, as long as each reads at least 512 columns of a row, 2 KiB of f32;
/// or 128, where there are fewer for a core; and at most 1,024, whose partial sums leave room for rows in a
/// first-level cache. A task has as many elements as one of a loop, if there are as many: 64 KiB of f32 are
/// read in the time that it takes to hand out a task. Several passes: as many columns as leave their rows in
/// a quarter of the second-level cache, beside what is kept of them and what comes next, and something for
/// every core. If none fit, all passes read memory. Where the target names its cores, blocks of a cache line
/// of f32 on all of them are faster than longer ones on a few.
static int64_t columnBlock(FusionOp fusion, const TargetDescription &target, int64_t vector) {
  constexpr int64_t narrow = 128, medium = 256, wide = 512, most = 1024;
  // Blocks begin at cache lines, because a line that two tasks write moves between their cores.
  const int64_t step = target.namedCores ? std::max(columnStep, vector) : 64, parts = enoughTasks(target);
  ColumnShape shape = columnShape(fusion);
  if (!shape.inner.isNumber())
    return medium;
  int64_t columns = shape.inner.asNumber();
  int64_t outer = std::clamp<int64_t>(rangesOf(fusion).largest(shape.outer), 1, parts);
  // The columns of a task if there are `tasks` tasks in all.
  auto blockOf = [&](int64_t tasks) {
    int64_t each = llvm::divideCeil(columns, llvm::divideCeil(tasks, outer));
    return std::max(static_cast<int64_t>(llvm::alignTo(each, step)), step);
  };
  int64_t ofCore = blockOf(target.cores);
  if (lastReductionPass(fusion) == 0) {
    int64_t rows = std::max<int64_t>(rangesOf(fusion).largest(shape.rows), 1);
    auto ofTask = static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(target.loopTaskElements, rows), step));
    int64_t least = target.namedCores ? step : std::clamp(ofCore, narrow, wide);
    return std::clamp(blockOf(parts), std::clamp(std::min(ofTask, blockOf(1)), least, most), most);
  }
  int64_t fitting = target.cacheBytes / 4 / columnBytes(fusion) / step * step;
  return std::min({ofCore, fitting > 0 ? fitting : wide, most});
}

/// The number of tasks. If the number of blocks depends on symbols, its product with `outer` cannot be
/// expressed, so the result is an upper bound.
static Size columnTasks(const ColumnShape &shape, int64_t block) {
  if (shape.outer == 1 || shape.inner.isNumber())
    return shape.outer * shape.blocks(block);
  // outer * ceil(inner / block) <= outer * (inner + block - 1) / block
  return ceilDiv(shape.outer * (shape.inner + block - 1), block);
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

/// The number of tasks, or an upper bound if it depends on symbols (see columnTasks()).
static Size scanTasks(const ScanShape &shape, int64_t columns) {
  if (shape.extent == 0)
    return 0;
  if (shape.outer.isNumber() && shape.inner.isNumber())
    return shape.inner == 1 ? shape.outer : shape.outer * shape.blocks(columns);
  // outer * ceil(inner / columns) <= outer * (inner + columns - 1) / columns
  return ceilDiv(shape.outer * (shape.inner + columns - 1), columns);
}

ScanShape scanShape(FusionOp fusion) {
  ScanShape shape;
  SmallVector<Size> domain = fusion.getDomain();
  for (Operation &op : fusion.getBody().front())
    if (isScanOp(&op)) {
      shape.dim = static_cast<unsigned>(scanDim(&op));
      shape.outer = productOf(ArrayRef(domain).take_front(shape.dim));
      shape.extent = domain[shape.dim];
      shape.inner = productOf(ArrayRef(domain).drop_front(shape.dim + 1));
    }
  return shape;
}

//===----------------------------------------------------------------------===//
// update
//===----------------------------------------------------------------------===//

UpdateTiles updateTiles(Operation *update, int64_t block, int64_t range) {
  int64_t dim = indexedDim(update);
  IndexedShape base(sizesOf(typeOf(update->getOperand(0))), dim);
  UpdateTiles tiles;
  tiles.size = tiles.range = base.size;
  if (auto scatter = dyn_cast<ScatterOp>(update)) {
    IndexedShape writes(sizesOf(scatter.getIndex().getType()), dim);
    tiles.outer = writes.outer;
    tiles.count = writes.size;
    tiles.inner = writes.inner;
  } else {
    tiles.outer = base.outer;
    tiles.count = elementsOf(cast<IndexUpdateOp>(update).getIndex().getType());
    tiles.inner = base.inner;
  }
  tiles.block = tiles.inner;
  if (block != noNumber) {
    tiles.block = block;
    tiles.blocks = ceilDiv(tiles.inner, block).asNumber();
  }
  if (range != noNumber) {
    tiles.range = range;
    tiles.ranges = ceilDiv(tiles.size, range).asNumber();
  }
  return tiles;
}

/// Cuts writes by index into about `enoughTasks` tasks, so that every thread has one or two. Fewer than 2^15
/// writes take less time than handing out tasks. A block has at least 64 elements (four vectors), because
/// each task reads all indices again, and at most 1,024.
static void cutUpdate(Operation *update, const TargetDescription &target, Schedule &schedule) {
  constexpr int64_t smallWork = 1 << 15, leastBlock = 64, mostBlock = 1024;
  const int64_t enough = enoughTasks(target);
  UpdateTiles tiles = updateTiles(update, noNumber, noNumber);
  SymbolRanges symbols = rangesOf(update);
  int64_t outer = symbols.largest(tiles.outer);
  if (symbols.largest(tiles.outer * tiles.count * tiles.inner) < smallWork)
    return;
  // Dimensions of dynamic size are not cut.
  int64_t inner = tiles.inner.number().value_or(0), places = tiles.size.number().value_or(0);
  if (inner >= 2 * leastBlock && outer < enough) {
    auto block = static_cast<int64_t>(llvm::alignTo(inner / enough, 16));
    schedule[ScheduleField::block] = std::clamp(block, leastBlock, mostBlock);
    tiles.blocks = llvm::divideCeil(inner, schedule[ScheduleField::block]);
  }
  // With many outer indices there are enough tasks, and their product with the blocks may overflow.
  if (outer >= enough)
    return;
  int64_t parts = std::max<int64_t>(outer, 1) * tiles.blocks;
  if (parts < enough && places > 1) {
    int64_t wanted = std::min<int64_t>(llvm::divideCeil(enough, parts), places);
    schedule[ScheduleField::range] = llvm::divideCeil(places, wanted);
  }
}

//===----------------------------------------------------------------------===//
// Tasks and scratch, which follow from the other numbers
//===----------------------------------------------------------------------===//

static Size tileTasks(FusionOp fusion, const Schedule &schedule) {
  SmallVector<Size> domain = fusion.getDomain();
  std::optional<unsigned> inner = innermostDim(domain);
  Size tasks = 1;
  for (auto [dim, size] : llvm::enumerate(domain)) {
    if (static_cast<int64_t>(dim) == schedule[ScheduleField::tileDim])
      tasks *= ceilDiv(size, schedule[ScheduleField::tileRows]);
    else if (dim == inner)
      tasks *= ceilDiv(size, schedule[ScheduleField::tileColumns]);
    else
      tasks *= size;
  }
  return tasks;
}

static Size tensorTasks(FusionOp fusion, int64_t chunk) {
  Size whole = 0, dynamic = 0;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    Size count = elementsOf(typeOf(op.getOperand(0)));
    if (count.isSymbolic()) // sum the dividends: the result is an upper bound
      dynamic += count + chunk - 1;
    else
      whole += ceilDiv(count, chunk);
  }
  return dynamic == 0 ? whole : ceilDiv(dynamic + whole * chunk, chunk);
}

Size tasksOf(FusionOp fusion, const Schedule &schedule) {
  SmallVector<Size> domain = fusion.getDomain();
  int64_t chunk = schedule[ScheduleField::chunk], block = schedule[ScheduleField::block];
  switch (fusion.getKind()) {
  case FusionKind::loop:
    if (isPlane(schedule))
      return planeTasks(planeOf(fusion, schedule), schedule);
    if (schedule.has(ScheduleField::squares) && isShared(schedule))
      return transposedTasks(transposedDomain(fusion, schedule), schedule);
    return schedule.has(ScheduleField::chunk) ? ceilDiv(productOf(domain), chunk)
                                              : tileTasks(fusion, schedule);
  case FusionKind::row: {
    const Size rows = rowShape(fusion).rows;
    if (!isShared(schedule))
      return rows;
    // A block has as many rows as teams.
    const Size length = rowLength(fusion);
    return length.isNumber()
               ? ceilDiv(rows, schedule[ScheduleField::threads] / schedule[ScheduleField::lanes])
               : turnTasks(rows, length);
  }
  case FusionKind::column: {
    const ColumnShape shape = columnShape(fusion);
    return isShared(schedule) && !shape.rows.isNumber() ? turnTasks(shape.outer * shape.inner, shape.rows)
                                                        : columnTasks(shape, block);
  }
  case FusionKind::scan:
    if (isShared(schedule) && block == noNumber) {
      const ScanShape shape = scanShape(fusion);
      return shape.extent.isNumber()
                 ? ceilDiv(shape.outer, schedule[ScheduleField::threads] / schedule[ScheduleField::lanes])
                 : turnTasks(shape.outer, shape.extent);
    }
    return scanTasks(scanShape(fusion), block == noNumber ? 1 : block);
  case FusionKind::update: {
    if (isPlane(schedule))
      return planeTasks(planeOf(fusion, schedule), schedule);
    if (schedule.has(ScheduleField::chunk))
      return ceilDiv(productOf(domain), chunk);
    UpdateTiles tiles = updateTiles(updateIn(fusion), block, schedule[ScheduleField::range]);
    if (tiles.count * tiles.block == 0)
      return 0;
    return hasOwnWrites(schedule) ? ceilDiv(tiles.tasks(), schedule[ScheduleField::threads]) : tiles.tasks();
  }
  case FusionKind::multi_tensor:
    return tensorTasks(fusion, chunk);
  }
  return 0;
}

int64_t scratchOf(FusionOp fusion, const Schedule &schedule) {
  int64_t bytes = 0, vector = schedule[ScheduleField::vector];
  switch (fusion.getKind()) {
  case FusionKind::loop:
    if (schedule.has(ScheduleField::squares) && isShared(schedule))
      return schedule[ScheduleField::squares] * transposedBytes(fusion, schedule);
    // Elements of a square have at most 8 bytes. Without vectors there are no squares.
    return schedule.has(ScheduleField::squares) && vector > 1
               ? schedule[ScheduleField::squares] * vector * vector * 8
               : 0;
  case FusionKind::row:
    if (isShared(schedule) && schedule.has(ScheduleField::block))
      return heldOffsets(fusion, schedule).back();
    if (isShared(schedule))
      for (Operation &op : fusion.getBody().front())
        if (isReductionOp(&op))
          bytes += teamStateBytes(&op, schedule);
    for (auto [value, pass] : keptValues(fusion, schedule.keep))
      bytes += keptBytes(fusion, schedule, value);
    return bytes;
  case FusionKind::column: {
    if (isShared(schedule)) {
      // The reductions use the same memory one after the other.
      for (Operation &op : fusion.getBody().front())
        if (isReductionOp(&op))
          bytes = std::max(bytes, columnStateBytes(&op, schedule));
      return bytes;
    }
    // The first pass also keeps the sum of the first half of its rows (codegen/emit/EmitColumn.cpp).
    llvm::DenseMap<Value, unsigned> passes = reductionPasses(fusion);
    for (Operation &op : fusion.getBody().front())
      if (isReductionOp(&op))
        bytes += schedule[ScheduleField::block] * accumulatorBytes(&op) *
                 (passes.lookup(op.getOperand(0)) == 0 ? 2 : 1);
    for (Value value : spreadValues(fusion))
      bytes += schedule[ScheduleField::block] * elementBytes(value.getType());
    for (auto [value, pass] : keptValues(fusion, schedule.keep))
      bytes += keptBytes(fusion, schedule, value);
    return bytes;
  }
  case FusionKind::scan:
    // The totals of a team's warps.
    return isShared(schedule) && schedule[ScheduleField::lanes] > warpThreads
               ? schedule[ScheduleField::lanes] / warpThreads * 8
               : 0;
  case FusionKind::update:
    return listsWrites(fusion, schedule) ? writeList(fusion, schedule).bytes : 0;
  case FusionKind::multi_tensor:
    return 0;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The number of tasks that a thread takes at a time. They have 4,096 elements, some microseconds of work;
/// taking them costs a fraction of a microsecond. But it is small enough that there are `enoughTasks` pieces,
/// so that every thread gets some. Up to 1,024 elements are one piece if there are no dynamic sizes: to wake
/// a thread takes longer than to compute them.
static int64_t grainOf(int64_t elements, int64_t tasks, bool isStatic, const TargetDescription &target) {
  constexpr int64_t enoughElements = 4096, fewElements = 1024;
  elements = std::max<int64_t>(elements, 1);
  if (isStatic && tasks > 1 && tasks <= fewElements / elements)
    return tasks;
  return std::clamp<int64_t>(enoughElements / elements, 1, std::max<int64_t>(tasks / enoughTasks(target), 1));
}

/// The same if a task is a chunk or a tile, which has that many elements itself: one, or more if there are
/// hundreds of tasks.
static int64_t grainOfChunks(int64_t tasks) { return std::clamp<int64_t>(tasks / 256, 1, 16); }

/// Chooses the numbers that depend on the kind of the fusion, and changes `vector` if the kind needs another
/// width. Returns the elements of one task; 0 if that is a chunk or a tile.
static int64_t chooseNumbers(FusionOp fusion, const TargetDescription &target, Schedule &schedule,
                             int64_t &vector) {
  SymbolRanges ranges = rangesOf(fusion);
  switch (fusion.getKind()) {
  case FusionKind::loop:
    if (std::optional<unsigned> dim = transposedDim(fusion)) {
      // The side of a square is one cache line. A tile is four squares wide, which is as much as the
      // prefetcher follows, and 16 squares high, so that the operand's lines are read completely down its
      // rows. The squares of more than eight operands would not stay in the first-level cache, so other
      // operands are read element by element.
      vector = std::min(vector, reductionLanes);
      schedule[ScheduleField::tileRows] = 256;
      schedule[ScheduleField::tileColumns] = 64;
      schedule[ScheduleField::tileDim] = *dim;
      schedule[ScheduleField::squares] = 8;
    } else {
      schedule[ScheduleField::chunk] = loopChunk(fusion, target);
    }
    return 0;
  case FusionKind::row:
    schedule[ScheduleField::lanes] = reductionLanes;
    schedule[ScheduleField::partials] = rowPartials;
    schedule[ScheduleField::prefetch] = rowPrefetch(fusion);
    schedule.keep = worthKeeping(fusion, schedule, target.scratchBytes);
    return std::max<int64_t>(ranges.largest(rowLength(fusion)), 1);
  case FusionKind::column: {
    ColumnShape shape = columnShape(fusion);
    schedule[ScheduleField::rows] = columnRows;
    int64_t block = schedule[ScheduleField::block] = columnBlock(fusion, target, vector);
    schedule.keep = worthKeeping(fusion, schedule, target.scratchBytes);
    // A vector is not wider than a row of columns.
    int64_t columns = std::max<int64_t>(shape.inner.number().value_or(vector), 1);
    vector = std::min(vector, static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(columns))));
    constexpr int64_t many = 1 << 20;
    return std::clamp<int64_t>(ranges.largest(shape.rows), 1, many) * std::min(columns, block);
  }
  case FusionKind::scan: {
    ScanShape shape = scanShape(fusion);
    schedule[ScheduleField::lanes] = reductionLanes;
    Size ofTask = shape.extent;
    if (shape.inner == 1) {
      vector = reductionLanes;
    } else {
      // The totals of 64 columns of f32 stay in four registers.
      schedule[ScheduleField::block] = 64;
      ofTask *= schedule[ScheduleField::block];
    }
    return std::max<int64_t>(ranges.largest(ofTask), 1);
  }
  case FusionKind::update: {
    Operation *update = updateIn(fusion);
    if (isa<DynamicUpdateSliceOp>(update)) {
      schedule[ScheduleField::chunk] = loopChunk(fusion, target);
      return 0;
    }
    if (isa<ScatterOp>(update))
      vector = 1; // every element has an index of its own
    cutUpdate(update, target, schedule);
    UpdateTiles tiles = updateTiles(update, schedule[ScheduleField::block], schedule[ScheduleField::range]);
    return std::max<int64_t>(ranges.largest(tiles.count * tiles.block), 1);
  }
  case FusionKind::multi_tensor:
    // 32 KiB of f32, a few microseconds for the four or five tensors of a step.
    schedule[ScheduleField::chunk] = 8192;
    vector = 16;
    return 0;
  }
  return 0;
}

static ScheduleAttr chooseCpuSchedule(FusionOp fusion, const TargetDescription &target) {
  Schedule schedule(fusion.getKind());
  SymbolRanges ranges = rangesOf(fusion);
  int64_t vector = vectorWidth(fusion);
  int64_t elements = chooseNumbers(fusion, target, schedule, vector);
  schedule[ScheduleField::vector] = vector;
  schedule.tasks = tasksOf(fusion, schedule);
  if (!schedule.tasks.isExpressible()) {
    fusion.emitOpError()
        << "has more tasks than can be expressed; make its tensors smaller, or give their sizes "
           "fewer symbols";
    return {};
  }
  schedule[ScheduleField::scratch] = scratchOf(fusion, schedule);
  int64_t tasks = ranges.largest(schedule.tasks);
  if (elements > 0)
    schedule[ScheduleField::grain] = grainOf(elements, tasks, schedule.tasks.isNumber(), target);
  else if (fusion.getKind() == FusionKind::multi_tensor)
    schedule[ScheduleField::grain] = 1;
  else
    schedule[ScheduleField::grain] = grainOfChunks(tasks);
  // Updates and optimiser steps have no streaming stores, because they have read the lines that they write,
  // so these are in the cache. Scans have none, because they write between reads.
  if (mayHave(fusion.getKind(), ScheduleField::streaming) && isStreaming(fusion, target))
    schedule[ScheduleField::streaming] = 1;
  return ScheduleAttr::get(fusion.getContext(), schedule);
}

ScheduleAttr chooseSchedule(FusionOp fusion, const TargetDescription &target) {
  if (!target.isCpu())
    return chooseCudaSchedule(fusion, target);
  ScheduleAttr chosen = chooseCpuSchedule(fusion, target);
  if (!chosen || deviceOf(fusion.getResultTypes().front()).isCpu())
    return chosen;
  // A device that runs code for the host: a task has one thread there too.
  Schedule schedule = chosen.toSchedule();
  schedule[ScheduleField::threads] = 1;
  return ScheduleAttr::get(fusion.getContext(), schedule);
}

} // namespace weft::ir
