//===- Schedule.cpp -------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Schedule.h"

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

bool isScanOp(Operation *op) { return isa<CumsumOp, CumprodOp>(op); }

int64_t scanDim(Operation *op) { return op->getAttrOfType<IntegerAttr>("dim").getInt(); }

Type accumulatorType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  return toScalarType(element);
}

int64_t accumulatorBytes(Operation *reduction) {
  Type element = accumulatorType(getElementTypeOrSelf(reduction->getOperand(0).getType()));
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  // The index beside the value; m2 beside the mean.
  return bytes + (isArgReduction(reduction) ? 8 : isa<WelfordOp>(reduction) ? bytes : 0);
}

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static int64_t elementBytes(Value value) { return static_cast<int64_t>(itemsize(dtypeOf(value.getType()))); }

/// Vectors of 16 elements are one register of 512 bits of f32; of eight bytes, 8 are. 64 random numbers are
/// made from 16 blocks of bits, whose words are then whole vectors.
static int64_t vectorWidth(FusionOp fusion) {
  SmallVector<Size> domain = fusion.getDomain();
  if (fusion.getKind() == FusionKind::loop && !domain.empty() && domain.back().number().value_or(0) >= 64)
    for (Operation &op : fusion.getBody().front())
      if (isa<RngBitsPhiloxOp>(op))
        return 64;
  int64_t wide = 0, all = 0;
  auto count = [&](Value value) {
    if (tensorOf(value).getRank() == 0)
      return;
    ++all;
    wide += elementBytes(value) == 8;
  };
  llvm::for_each(fusion.getInputs(), count);
  llvm::for_each(fusion.getResults(), count);
  return 2 * wide > all ? 8 : 16;
}

static bool isStreaming(FusionOp fusion, const TargetDescription &target) {
  Size bytes;
  SmallVector<Size> domain = fusion.getDomain();
  for (Value result : fusion.getResults()) {
    // Of a result whose size is known when it is called, most calls may be small.
    if (isDynamic(result.getType()))
      return false;
    // What is left of columns is stored as usual.
    if (fusion.getKind() != FusionKind::column || sizesOf(tensorOf(result)) == ArrayRef(domain))
      bytes += bytesOf(result.getType());
  }
  return bytes.number().value_or(INT64_MAX) > target.lastLevelBytes;
}

/// Work is cut for so many threads at least, whatever the machine: most common ones have no more. A target
/// whose name says that there are more gets more tasks, which changes no bit of a result.
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

/// 16 KiB of the widest result: of two operands and two results half of each stays in 32 KiB of first-level
/// cache, and a thread's run over memory is long enough for the prefetcher. 64 elements are the widest
/// vector. Where a target says how many cores it has, a domain that would be fewer chunks than these is cut
/// finer, down to 4 KiB of f32.
static int64_t loopChunk(FusionOp fusion, const TargetDescription &target) {
  constexpr int64_t chunkBytes = 16 << 10, widestVector = 64, leastChunk = 1024;
  int64_t widest = 1;
  for (Value result : fusion.getResults())
    widest = std::max(widest, elementBytes(result));
  const int64_t chunk = std::max(chunkBytes / widest, widestVector);
  const std::optional<int64_t> elements = productOf(fusion.getDomain()).number();
  if (!target.namedCores || !elements || chunk <= leastChunk)
    return chunk;
  const auto share =
      static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(*elements, target.namedCores), widestVector));
  return std::clamp(share, leastChunk, chunk);
}

/// The dimension that an operand of a loop is contiguous along, where it is another one than the domain's
/// innermost and both are long enough for a square: then the loop goes over tiles.
static std::optional<unsigned> transposedDim(FusionOp fusion) {
  // A cache line of f32 on each side: what is shorter uses parts of lines in any order.
  constexpr int64_t side = 16;
  SmallVector<Size> domain = fusion.getDomain();
  if (anySymbolic(domain))
    return std::nullopt; // tiles are laid out when the kernel is made
  std::optional<unsigned> inner = innermostDim(domain);
  // A concat is computed part by part.
  if (!inner || *inner < 1 || !fusion.getBody().front().getOps<ConcatOp>().empty())
    return std::nullopt;
  for (auto transpose : fusion.getBody().front().getOps<TransposeOp>()) {
    if (sizesOf(transpose.getType()) != ArrayRef(domain))
      continue;
    // The operand's innermost dimension that is not 1, seen from the result.
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

/// Bytes of all rows of one column: what a pass reads of the domain.
static int64_t columnBytes(FusionOp fusion) {
  // More than any cache has.
  constexpr int64_t most = int64_t(1) << 40;
  SymbolRanges ranges = rangesOf(fusion);
  SmallVector<Size> domain = fusion.getDomain();
  int64_t ofElement = 0;
  for (Value input : fusion.getInputs())
    if (elementsOf(input.getType()) == productOf(domain))
      ofElement += elementBytes(input);
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
  // Lines that two tasks would share are not worth their traffic.
  const int64_t step = target.namedCores ? std::max(columnStep, vector) : 64, parts = enoughTasks(target);
  ColumnShape shape = columnShape(fusion);
  if (!shape.inner.isNumber())
    return medium;
  int64_t columns = shape.inner.asNumber();
  int64_t outer = std::clamp<int64_t>(rangesOf(fusion).largest(shape.outer), 1, parts);
  // The columns of a task where there are so many tasks in all.
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

/// As many as there are, where that can be said: a number of blocks that depends on symbols is no factor of a
/// size.
static Size columnTasks(const ColumnShape &shape, int64_t block) {
  if (shape.outer == 1 || shape.inner.isNumber())
    return shape.outer * shape.blocks(block);
  // outer * ceil(inner / block) <= outer * (inner + block - 1) / block
  return ceilDiv(shape.outer * (shape.inner + block - 1), block);
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

/// At least as many tasks as there are: a number of blocks that depends on symbols is no factor of a size.
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
  IndexedShape base(sizesOf(tensorOf(update->getOperand(0))), dim);
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

/// Cuts writes by index into about as many tasks as are enough, so that every thread has one or two. Below
/// 2^15 writes the whole update takes less time than to hand it out. A block has at least 64 elements, four
/// vectors, and at most 1,024, since each task reads all indices again.
static void cutUpdate(Operation *update, const TargetDescription &target, Schedule &schedule) {
  constexpr int64_t smallWork = 1 << 15, leastBlock = 64, mostBlock = 1024;
  const int64_t enough = enoughTasks(target);
  UpdateTiles tiles = updateTiles(update, noNumber, noNumber);
  SymbolRanges symbols = rangesOf(update);
  int64_t outer = symbols.largest(tiles.outer);
  if (symbols.largest(tiles.outer * tiles.count * tiles.inner) < smallWork)
    return;
  // Nothing is cut whose size depends on symbols.
  int64_t inner = tiles.inner.number().value_or(0), places = tiles.size.number().value_or(0);
  if (inner >= 2 * leastBlock && outer < enough) {
    auto block = static_cast<int64_t>(llvm::alignTo(inner / enough, 16));
    schedule[ScheduleField::block] = std::clamp(block, leastBlock, mostBlock);
    tiles.blocks = llvm::divideCeil(inner, schedule[ScheduleField::block]);
  }
  // Many outer indices are tasks enough, and their product with the blocks may be no number.
  if (outer >= enough)
    return;
  int64_t parts = std::max<int64_t>(outer, 1) * tiles.blocks;
  if (parts < enough && places > 1) {
    int64_t wanted = std::min<int64_t>(llvm::divideCeil(enough, parts), places);
    schedule[ScheduleField::range] = llvm::divideCeil(places, wanted);
  }
}

//===----------------------------------------------------------------------===//
// What follows from the numbers
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
    Size count = elementsOf(tensorOf(op.getOperand(0)));
    if (count.isSymbolic()) // the sum of the quotients, rounded up, is at most
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
    return schedule.has(ScheduleField::chunk) ? ceilDiv(productOf(domain), chunk)
                                              : tileTasks(fusion, schedule);
  case FusionKind::row:
    return productOf(ArrayRef(domain).drop_back(fusion.getNumReducedDims()));
  case FusionKind::column:
    return columnTasks(columnShape(fusion), block);
  case FusionKind::scan:
    return scanTasks(scanShape(fusion), block == noNumber ? 1 : block);
  case FusionKind::update: {
    if (schedule.has(ScheduleField::chunk))
      return ceilDiv(productOf(domain), chunk);
    UpdateTiles tiles = updateTiles(updateIn(fusion), block, schedule[ScheduleField::range]);
    return tiles.count * tiles.block == 0 ? 0 : tiles.tasks();
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
    // Elements of a square have at most 8 bytes; of single elements nothing is transposed.
    return schedule.has(ScheduleField::squares) && vector > 1
               ? schedule[ScheduleField::squares] * vector * vector * 8
               : 0;
  case FusionKind::row:
    for (auto [value, pass] : keptValues(fusion, schedule.keep))
      bytes += keptBytes(fusion, schedule, value);
    return bytes;
  case FusionKind::column: {
    // Of the first pass, what half of the rows come to as well.
    llvm::DenseMap<Value, unsigned> passes = reductionPasses(fusion);
    for (Operation &op : fusion.getBody().front())
      if (isReductionOp(&op))
        bytes += schedule[ScheduleField::block] * accumulatorBytes(&op) *
                 (passes.lookup(op.getOperand(0)) == 0 ? 2 : 1);
    for (Value value : spreadValues(fusion))
      bytes += schedule[ScheduleField::block] * elementBytes(value);
    for (auto [value, pass] : keptValues(fusion, schedule.keep))
      bytes += keptBytes(fusion, schedule, value);
    return bytes;
  }
  case FusionKind::scan:
  case FusionKind::update:
  case FusionKind::multi_tensor:
    return 0;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Tasks that are handed out at once: as many as make 4,096 elements, some microseconds of work, against a
/// fraction of one to hand them out; and not so many that fewer than enough are left, so that every thread
/// gets some.
static int64_t grainOf(int64_t elements, int64_t tasks, const TargetDescription &target) {
  return std::clamp<int64_t>((4 << 10) / std::max<int64_t>(elements, 1), 1,
                             std::max<int64_t>(tasks / enoughTasks(target), 1));
}

/// The same where a task is a chunk or a tile, which is that long already: several only where there are
/// hundreds.
static int64_t grainOfChunks(int64_t tasks) { return std::clamp<int64_t>(tasks / 256, 1, 16); }

/// Fills in the numbers that the kind of a fusion has, and changes the length of vectors where it has to be
/// another. Returns the elements of one task; 0 where that is a chunk or a tile.
static int64_t chooseNumbers(FusionOp fusion, const TargetDescription &target, Schedule &schedule,
                             int64_t &vector) {
  SymbolRanges ranges = rangesOf(fusion);
  switch (fusion.getKind()) {
  case FusionKind::loop:
    if (std::optional<unsigned> dim = transposedDim(fusion)) {
      // A square is one cache line a side. Four of them make a tile as wide as what the prefetcher follows,
      // and 16 as high: down its rows the operand's lines are read whole. Beyond eight operands a square each
      // would leave the first-level cache, and the others are read element by element.
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
    // A vector is no wider than what it goes over.
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
      // Four registers of f32 hold the state of the columns while the lines go by.
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
    schedule[ScheduleField::grain] = grainOf(elements, tasks, target);
  else if (fusion.getKind() == FusionKind::multi_tensor)
    schedule[ScheduleField::grain] = 1;
  else
    schedule[ScheduleField::grain] = grainOfChunks(tasks);
  // What an update or an optimiser step writes it has read before: those lines are in the cache already.
  // Scans write between reads.
  if (mayHave(fusion.getKind(), ScheduleField::streaming) && isStreaming(fusion, target))
    schedule[ScheduleField::streaming] = 1;
  return ScheduleAttr::get(fusion.getContext(), schedule);
}

ScheduleAttr chooseSchedule(FusionOp fusion, const TargetDescription &target) {
  if (!target.isCpu())
    return chooseFallbackSchedule(fusion, target);
  ScheduleAttr chosen = chooseCpuSchedule(fusion, target);
  if (!chosen || deviceOf(fusion.getResultTypes().front()).isCpu())
    return chosen;
  // A device that runs code of the host: each task is one thread's there too.
  Schedule schedule = chosen.toSchedule();
  schedule[ScheduleField::threads] = 1;
  return ScheduleAttr::get(fusion.getContext(), schedule);
}

} // namespace weft::ir
