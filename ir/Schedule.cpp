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

int64_t countOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count = mulSizes(count, size);
  return count;
}

SmallVector<std::string> symbolsOf(FusionOp fusion) {
  std::vector<std::string> names;
  auto add = [&](ArrayRef<int64_t> sizes) {
    for (int64_t size : sizes)
      llvm::append_range(names, symbolsOf(size));
  };
  for (Type type : llvm::concat<const Type>(llvm::to_vector(fusion.getOperandTypes()),
                                            llvm::to_vector(fusion.getResultTypes())))
    add(sizesOf(type));
  for (Operation &op : fusion.getBody().front()) {
    for (Type type : op.getResultTypes())
      add(sizesOf(type));
    if (auto dim = dyn_cast<DimOp>(op))
      add(dim.getSizeAttr().getInt());
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

static int64_t vectorWidth(FusionOp fusion) {
  // 64 elements need 16 blocks of random bits, whose words are then whole vectors.
  SmallVector<int64_t> domain = fusion.getDomain();
  if (fusion.getKind() == FusionKind::loop && !domain.empty() && domain.back() >= 64)
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
  int64_t bytes = 0;
  for (Value result : fusion.getResults()) {
    // Of a result whose size is known when it is called, most calls may be small.
    if (isDynamic(result.getType()))
      return false;
    bytes += bytesOf(result.getType());
  }
  return bytes > target.lastLevelBytes;
}

//===----------------------------------------------------------------------===//
// loop
//===----------------------------------------------------------------------===//

int64_t loopChunk(FusionOp fusion) {
  int64_t widest = 1;
  for (Value result : fusion.getResults())
    widest = std::max(widest, elementBytes(result));
  return std::max<int64_t>((16 << 10) / widest, 64);
}

std::optional<TransposeTile> transposeTile(FusionOp fusion) {
  if (fusion.getKind() != FusionKind::loop)
    return std::nullopt;
  SmallVector<int64_t> domain = fusion.getDomain();
  if (anySymbolic(domain))
    return std::nullopt; // tiles are laid out when the kernel is made
  auto rank = static_cast<int64_t>(domain.size());
  int64_t inner = rank - 1;
  while (inner >= 0 && domain[inner] == 1)
    --inner;
  if (inner < 1)
    return std::nullopt;
  // A concat is computed part by part.
  if (!fusion.getBody().front().getOps<ConcatOp>().empty())
    return std::nullopt;
  for (Operation &op : fusion.getBody().front()) {
    auto transpose = dyn_cast<TransposeOp>(op);
    if (!transpose || sizesOf(transpose.getType()) != ArrayRef(domain))
      continue;
    // The operand's innermost dimension that is not 1, seen from the result.
    ArrayRef<int64_t> from = sizesOf(transpose.getA().getType()), perm = transpose.getPerm();
    int64_t last = rank - 1;
    while (last >= 0 && from[last] == 1)
      --last;
    auto dim = static_cast<int64_t>(llvm::find(perm, last) - perm.begin());
    if (dim == inner || domain[dim] < TransposeTile::side || domain[inner] < TransposeTile::side)
      continue;
    TransposeTile tile;
    tile.dim = static_cast<unsigned>(dim);
    tile.inner = static_cast<unsigned>(inner);
    tile.tasks = llvm::divideCeil(domain[dim], TransposeTile::rows) *
                 llvm::divideCeil(domain[inner], TransposeTile::columns) *
                 (countOf(domain) / (domain[dim] * domain[inner]));
    return tile;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// row
//===----------------------------------------------------------------------===//

llvm::DenseMap<Value, unsigned> rowPasses(FusionOp fusion) {
  llvm::DenseMap<Value, unsigned> passes;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    unsigned pass = 0;
    for (Value operand : op.getOperands())
      pass = std::max(pass, passes.lookup(operand));
    for (Value result : op.getResults())
      passes[result] = pass + (isReductionOp(&op) ? 1 : 0);
  }
  return passes;
}

unsigned lastRowPass(FusionOp fusion) {
  Block &body = fusion.getBody().front();
  llvm::DenseMap<Value, unsigned> passes = rowPasses(fusion);
  unsigned last = 0;
  for (Operation &op : body.without_terminator())
    if (isReductionOp(&op))
      last = std::max(last, passes.lookup(op.getOperand(0)));
  SmallVector<int64_t> domain = fusion.getDomain();
  for (Value value : body.getTerminator()->getOperands())
    if (sizesOf(tensorOf(value)) == ArrayRef(domain))
      last = std::max(last, passes.lookup(value));
  return last;
}

SmallVector<std::pair<Value, unsigned>> keptRowValues(FusionOp fusion, int64_t scratchBytes) {
  SmallVector<std::pair<Value, unsigned>> kept;
  Block &body = fusion.getBody().front();
  SmallVector<int64_t> domain = fusion.getDomain();
  int64_t row = countOf(ArrayRef(domain).take_back(fusion.getNumReducedDims()));
  if (isSymbolic(row))
    return kept; // scratch has a size of its own
  llvm::DenseMap<Value, unsigned> passes = rowPasses(fusion);
  auto ofDomain = [&](Value value) { return sizesOf(tensorOf(value)) == ArrayRef(domain); };

  // What it costs to compute a value from memory.
  llvm::DenseMap<Value, int64_t> cost;
  constexpr int64_t dear = 12, most = 1 << 20;
  for (Operation &op : body.without_terminator()) {
    int64_t sum = additionsPerElement(&op);
    if (!isReductionOp(&op))
      for (Value operand : op.getOperands())
        sum += cost.lookup(operand);
    for (Value result : op.getResults())
      cost[result] = isReductionOp(&op) ? 0 : std::min(sum, most);
  }

  // The passes that need a value, from its users on, as bits. Beyond 64 passes nothing is kept.
  unsigned last = lastRowPass(fusion);
  if (last >= 64)
    return kept;
  llvm::DenseMap<Value, uint64_t> needs;
  for (Value value : body.getTerminator()->getOperands())
    if (ofDomain(value))
      needs[value] |= uint64_t(1) << last;
  int64_t used = 0;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (isReductionOp(&op)) {
      Value operand = op.getOperand(0);
      needs[operand] |= uint64_t(1) << passes.lookup(operand);
      continue;
    }
    uint64_t need = 0;
    for (Value result : op.getResults())
      need |= needs.lookup(result);
    if (!need)
      continue;
    bool several = need & (need - 1);
    if (several && isa<ElementwiseOp>(op) && ofDomain(op.getResult(0)) &&
        cost.lookup(op.getResult(0)) >= dear) {
      int64_t bytes = llvm::alignTo(row * elementBytes(op.getResult(0)), 64);
      if (used + bytes <= scratchBytes) {
        used += bytes;
        auto first = static_cast<unsigned>(llvm::countr_zero(need));
        kept.push_back({op.getResult(0), first});
        need = uint64_t(1) << first;
      }
    }
    for (Value operand : op.getOperands())
      needs[operand] |= need;
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

//===----------------------------------------------------------------------===//
// column
//===----------------------------------------------------------------------===//

int64_t columnBlock(FusionOp fusion) {
  SmallVector<int64_t> domain = fusion.getDomain();
  int64_t columns = countOf(ArrayRef(domain).drop_front(fusion.getNumReducedDims()));
  if (isSymbolic(columns))
    return 256;
  int64_t block = llvm::alignTo(llvm::divideCeil(columns, 16), 64);
  return std::clamp<int64_t>(block, 256, 1024);
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

int64_t ScanShape::tasks() const {
  if (!isSymbolic(outer) && !isSymbolic(inner))
    return inner == 1 ? outer : outer * blocks();
  // outer * ceil(inner / columns) <= outer * (inner + columns - 1) / columns
  return ceilDivSizes(mulSizes(outer, addSizes(inner, columns - 1)), columns);
}

ScanShape scanShape(FusionOp fusion) {
  ScanShape shape;
  SmallVector<int64_t> domain = fusion.getDomain();
  for (Operation &op : fusion.getBody().front())
    if (isScanOp(&op)) {
      shape.dim = static_cast<unsigned>(scanDim(&op));
      shape.outer = countOf(ArrayRef(domain).take_front(shape.dim));
      shape.extent = domain[shape.dim];
      shape.inner = countOf(ArrayRef(domain).drop_front(shape.dim + 1));
    }
  return shape;
}

//===----------------------------------------------------------------------===//
// update
//===----------------------------------------------------------------------===//

UpdateTiles updateTiles(Operation *update) {
  constexpr int64_t enoughTasks = 16, smallWork = 1 << 15, leastBlock = 64, mostBlock = 1024;
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
  SymbolRanges symbols = rangesOf(update);
  int64_t outer = symbols.largest(tiles.outer);
  if (symbols.largest(mulSizes(mulSizes(tiles.outer, tiles.count), tiles.inner)) < smallWork)
    return tiles;
  if (tiles.inner >= 2 * leastBlock && outer < enoughTasks) { // not of a size that depends on symbols
    tiles.block = std::clamp<int64_t>(llvm::alignTo(tiles.inner / enoughTasks, 16), leastBlock, mostBlock);
    tiles.blocks = llvm::divideCeil(tiles.inner, tiles.block);
  }
  int64_t parts = std::max<int64_t>(outer, 1) * tiles.blocks;
  if (parts < enoughTasks && base.size > 1) {
    auto wanted = std::min(static_cast<int64_t>(llvm::divideCeil(enoughTasks, parts)), base.size);
    tiles.range = static_cast<int64_t>(llvm::divideCeil(base.size, wanted));
    tiles.ranges = llvm::divideCeil(base.size, tiles.range);
  }
  return tiles;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Tasks that are handed out at once: as many as make 4,096 elements, and not all of them to one thread.
static int64_t grainOf(int64_t elements, int64_t tasks) {
  return std::clamp<int64_t>((4 << 10) / std::max<int64_t>(elements, 1), 1, std::max<int64_t>(tasks / 16, 1));
}

int64_t tensorTasks(FusionOp fusion) {
  int64_t whole = 0, dynamic = 0;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    int64_t count = elementsOf(tensorOf(op.getOperand(0)));
    if (isSymbolic(count)) // the sum of the quotients, rounded up, is at most
      dynamic = addSizes(dynamic, addSizes(count, tensorChunk - 1));
    else
      whole += llvm::divideCeil(count, tensorChunk);
  }
  return dynamic == 0 ? whole : ceilDivSizes(addSizes(dynamic, whole * tensorChunk), tensorChunk);
}

ScheduleAttr chooseSchedule(FusionOp fusion, const TargetDescription &target) {
  MLIRContext *context = fusion.getContext();
  int64_t vector = vectorWidth(fusion), tasks = 0, grain = 1, scratch = 0;
  bool streaming = isStreaming(fusion, target);
  SmallVector<int64_t> domain = fusion.getDomain();
  SymbolRanges ranges = rangesOf(fusion);
  int64_t count = countOf(domain);
  unsigned reduced = fusion.getNumReducedDims();
  switch (fusion.getKind()) {
  case FusionKind::loop: {
    if (auto tile = transposeTile(fusion)) {
      tasks = tile->tasks;
      grain = std::clamp<int64_t>(tasks / 256, 1, 16);
      scratch = TransposeTile::maxOperands * TransposeTile::side * TransposeTile::side * 8;
      break;
    }
    tasks = ceilDivSizes(count, loopChunk(fusion));
    grain = std::clamp<int64_t>(ranges.largest(tasks) / 256, 1, 16);
    break;
  }
  case FusionKind::row: {
    int64_t row = countOf(ArrayRef(domain).take_back(reduced));
    tasks = countOf(ArrayRef(domain).drop_back(reduced));
    grain = grainOf(ranges.largest(row), ranges.largest(tasks));
    for (auto [value, pass] : keptRowValues(fusion, target.scratchBytes))
      scratch += llvm::alignTo(row * elementBytes(value), 64);
    break;
  }
  case FusionKind::column: {
    int64_t block = columnBlock(fusion);
    tasks = ceilDivSizes(countOf(ArrayRef(domain).drop_front(reduced)), block);
    for (Operation &op : fusion.getBody().front())
      if (isReductionOp(&op))
        scratch += block * accumulatorBytes(&op);
    break;
  }
  case FusionKind::scan: {
    ScanShape shape = scanShape(fusion);
    tasks = shape.extent == 0 ? 0 : shape.tasks();
    int64_t work = ranges.largest(mulSizes(shape.extent, shape.inner == 1 ? 1 : ScanShape::columns));
    grain = grainOf(work, ranges.largest(tasks));
    streaming = false;
    break;
  }
  case FusionKind::update: {
    streaming = false;
    Operation *update = updateIn(fusion);
    if (isa<DynamicUpdateSliceOp>(update)) {
      tasks = ceilDivSizes(count, loopChunk(fusion));
      grain = std::clamp<int64_t>(ranges.largest(tasks) / 256, 1, 16);
      break;
    }
    UpdateTiles tiles = updateTiles(update);
    int64_t writes = mulSizes(tiles.count, tiles.block);
    tasks = writes == 0 ? 0 : tiles.tasks();
    grain = grainOf(ranges.largest(writes), ranges.largest(tasks));
    break;
  }
  case FusionKind::multi_tensor:
    tasks = tensorTasks(fusion);
    // State is read before it is written: its lines are in the cache already.
    streaming = false;
    break;
  }
  auto kind = *symbolizeScheduleKind(stringifyFusionKind(fusion.getKind()));
  return ScheduleAttr::get(context, kind, vector, tasks, grain, streaming, scratch);
}

} // namespace weft::ir
