//===- ContractionSchedule.cpp --------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/contractions/ContractionSchedule.h"

#include "ir/Spills.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace weft::codegen {

using Wide = __int128;

static constexpr int64_t accessBytes = 16;
/// The most blocks of a grid along x.
static constexpr int64_t mostBlocks = std::numeric_limits<int32_t>::max();
/// Registers of a thread beside sums and operands: addresses and counters.
static constexpr int64_t otherRegisters = 32;
/// From so many registers of sums on, a thread's registers decide how many blocks a multiprocessor holds.
static constexpr int64_t manySums = 64;

static int64_t bytesOf(DType dtype) { return static_cast<int64_t>(itemsize(dtype)); }
static int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// m16n8k16 of halves and m16n8k32 of bytes are from sm_80 on.
static bool hasMatrixUnits(DType dtype, const ir::TargetDescription &device) {
  const bool type = isHalf(dtype) || dtype == DType::i8 || dtype == DType::ui8;
  return type && device.architecture() >= 80;
}

std::string ContractionSchedule::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto tile = [&](const char *name, const TileCopy &copy) {
    os << ", " << name << " " << (copy.alongK ? "along k" : "across k") << (copy.turned ? ", turned" : "")
       << (copy.async   ? ", async"
           : copy.early ? ", early"
                        : "")
       << " by " << copy.vector << " + " << copy.pad;
  };
  os << (matrixUnits ? "mma " : "fma ") << blockM << "x" << blockN << "x" << blockK << ", warps " << warpM
     << "x" << warpN << ", " << stages << " stages, " << resident << " resident";
  if (!matrixUnits)
    os << ", depth " << depth << ", unroll " << unroll;
  tile("a", a);
  tile("b", b);
  os << ", c by " << vectorC;
  if (tabled)
    os << ", places of " << tabled << " columns in shared memory";
  os << (wideIndex ? ", 64-bit index" : "");
  return text;
}

//===----------------------------------------------------------------------===//
// Facts about a contraction
//===----------------------------------------------------------------------===//

/// Where the elements of an operand or the result are.
namespace {
struct Matrix {
  const std::array<Extent, 3> *strides;
  int64_t alignment;
  int64_t bytes;                           ///< of an element
  bool isSingle = false;                   ///< elements are read or written one by one
  llvm::ArrayRef<CountedDim> counted = {}; ///< what the last dimension counts through, if it does
  int64_t offset = 0;
};
} // namespace

static Matrix matrixA(const CudaContraction &c) {
  if (!c.windows)
    return {&c.aStrides, c.aAlignment, bytesOf(c.dtype)};
  return {&c.aStrides,           c.aAlignment,     bytesOf(c.dtype),
          c.windows->hasZeros(), c.windows->steps, c.windows->offsetA};
}
static Matrix matrixB(const CudaContraction &c) {
  return {&c.bStrides, c.bAlignment, bytesOf(c.dtype), c.windows.has_value()};
}
static Matrix matrixC(const CudaContraction &c) {
  if (!c.windows)
    return {&c.cStrides, c.cAlignment, bytesOf(c.dtype)};
  return {&c.cStrides, c.cAlignment, bytesOf(c.resultType()), c.windows->hasZeros(), c.windows->columns};
}

bool CudaContraction::hasWholeSteps(int64_t by) const {
  if (k.isParameter)
    return false;
  if (!windows || !windows->hasZeros())
    return k.value % by == 0;
  // Sums of all remainders: channels by what parts have along each extent.
  std::vector<int64_t> steps{k.value / windows->windowSize()};
  for (const CudaWindows::Dim &dim : windows->dims) {
    std::vector<int64_t> more;
    for (const int64_t count : steps)
      for (const CudaWindows::Part &part : dim.parts)
        more.push_back(count * part.count);
    steps = std::move(more);
  }
  return llvm::all_of(steps, [by](int64_t count) { return count % by == 0; });
}

/// Whether `vector` neighbours are in one line of what the last dimension counts through, at multiples of it.
static bool keepsTogether(const Matrix &matrix, size_t along, int64_t vector) {
  if (matrix.counted.empty())
    return true;
  const bool isLine = along != 2 || matrix.counted.size() == 1 || matrix.counted.back().extent % vector == 0;
  const auto outer = along == 2 ? matrix.counted.drop_back() : matrix.counted;
  return isLine && matrix.offset % vector == 0 &&
         llvm::all_of(outer, [&](const CountedDim &dim) { return dim.stride % vector == 0; });
}

/// Whether accesses of `vector` elements along the dimension `along` of `strides` are aligned.
static bool allowsVector(const CudaContraction &c, const Matrix &matrix, size_t along, int64_t vector) {
  const std::array<Extent, 3> &strides = *matrix.strides;
  if (vector == 1)
    return true;
  if (matrix.isSingle || !keepsTogether(matrix, along, vector))
    return false;
  if (!strides[along].is(1) || matrix.alignment % (vector * matrix.bytes) != 0)
    return false;
  const size_t across = along == 1 ? 2 : 1;
  return strides[across].isMultipleOf(vector) && (c.batch.is(1) || strides[0].isMultipleOf(vector));
}

static int64_t widestVector(const CudaContraction &c, const Matrix &matrix, size_t along, int64_t most) {
  int64_t vector = most;
  while (vector > 1 && !allowsVector(c, matrix, along, vector))
    vector /= 2;
  return vector;
}

/// Whether offsets within one matrix of an operand, to the end of its last tile, have 32 bits.
static bool fitsInt(const Extent &rows, const Extent &rowStride, int64_t rowTile, const Extent &columns,
                    const Extent &columnStride, int64_t columnTile) {
  for (const Extent &extent : {rows, rowStride, columns, columnStride})
    if (extent.isParameter)
      return false;
  const Wide last = (Wide(rows.value) + rowTile) * rowStride.value +
                    (Wide(columns.value) + columnTile) * columnStride.value;
  return rows.value + Wide(rowTile) <= mostBlocks && columns.value + Wide(columnTile) <= mostBlocks &&
         last <= mostBlocks;
}

/// The farthest element of what an index up to `last` counts through.
static Wide reachOf(llvm::ArrayRef<CountedDim> dims, Wide last) {
  Wide inner = 1, reach = 0;
  for (const CountedDim &dim : dims.drop_front()) {
    inner *= dim.extent;
    reach += Wide(dim.extent) * std::abs(dim.stride);
  }
  return reach + (last / inner + 1) * std::abs(dims.front().stride);
}

/// Whether a convolution's numbers need 64 bits, from the first step of a window to one behind the last tile.
static bool windowsNeedWideIndex(const CudaContraction &c, const ContractionSchedule &s, int64_t ahead) {
  const CudaWindows &w = *c.windows;
  if (c.n.isParameter || c.k.isParameter)
    return true;
  const Wide columns = Wide(c.n.value) + s.blockN, steps = Wide(c.k.value) + ahead,
             rows = c.m.value + s.blockM;
  Wide images = (columns / w.placeCount() + 1) * std::abs(w.imageStride) +
                (steps / w.windowSize() + 1) * std::abs(w.channelStride);
  for (const CudaWindows::Dim &dim : w.dims)
    images += (Wide(dim.places) * dim.stride + Wide(dim.window) * dim.dilation + std::abs(dim.low)) *
              std::max<int64_t>(std::abs(dim.elements), 1);
  Wide weights = rows * std::abs(c.aStrides[1].value) + reachOf(w.steps, steps),
       result = rows * c.cStrides[1].value + reachOf(w.columns, columns);
  for (const CudaWindows::Dim &dim : w.dims) {
    result += Wide(dim.parts.size()) * std::abs(dim.result);
    weights += Wide(dim.step) * dim.window * std::abs(dim.weights);
  }
  return std::max({columns, steps, rows, images, weights, result}) > mostBlocks;
}

static bool needsWideIndex(const CudaContraction &c, const ContractionSchedule &s) {
  // Tiles are read ahead, by as many as there are stages.
  const int64_t ahead = s.blockK * s.stages;
  if (c.windows)
    return windowsNeedWideIndex(c, s, ahead);
  return !fitsInt(c.m, c.aStrides[1], s.blockM, c.k, c.aStrides[2], ahead) ||
         !fitsInt(c.k, c.bStrides[1], ahead, c.n, c.bStrides[2], s.blockN) ||
         !fitsInt(c.m, c.cStrides[1], s.blockM, c.n, c.cStrides[2], s.blockN);
}

/// Registers of an element that a thread multiplies.
static int64_t wordsOf(DType dtype) { return bytesOf(dtype) == 8 ? 2 : 1; }

/// Registers of a thread for sums.
static int64_t sumRegisters(const CudaContraction &c, int64_t warpM, int64_t warpN) {
  return warpM * warpN / 32 * wordsOf(c.dtype);
}

/// Registers of a thread for sums and operands.
static int64_t workingRegisters(const CudaContraction &c, const ContractionSchedule &s) {
  const int64_t words = wordsOf(c.dtype), sums = sumRegisters(c, s.warpM, s.warpN);
  int64_t staged = 0;
  const auto add = [&](const TileCopy &copy, int64_t elements) {
    const int64_t perThread = ceilDiv(elements, s.threads() * copy.vector) * copy.vector;
    if (copy.early)
      staged += copy.vector == 1 ? perThread * words : ceilDiv(perThread * bytesOf(c.dtype), 4);
  };
  add(s.a, s.blockM * s.blockK);
  add(s.b, s.blockN * s.blockK);
  // Of a column its place in an image, of a step its place in the window.
  if (c.windows)
    staged += 8;
  if (s.matrixUnits)
    return sums + staged + s.warpM / 16 * 4 + s.warpN / 8 * 2;
  // A product of 64-bit integers is several instructions, with sums of their own.
  const int64_t parts = c.dtype == DType::i64 ? 16 : 0;
  return sums + staged + parts + (s.warpM / 4 + s.warpN / 8) * s.depth * words;
}

//===----------------------------------------------------------------------===//
// Proof
//===----------------------------------------------------------------------===//

namespace {
/// The first number of a schedule that is wrong.
class Verifier {
public:
  Verifier(const ContractionSchedule &s, const CudaContraction &c, const ir::TargetDescription &device)
      : s(s), c(c), device(device) {}

  Status verify() {
    if (Status status = verifyContraction(); !status)
      return status;
    if (Status status = verifyTiles(); !status)
      return status;
    if (Status status = verifyCopy("a", s.a, matrixA(c), 1, s.blockM, s.pitchA()); !status)
      return status;
    if (Status status = verifyCopy("b", s.b, matrixB(c), 2, s.blockN, s.pitchB()); !status)
      return status;
    if (Status status = verifyWindows(); !status)
      return status;
    return verifyLimits();
  }

private:
  Status wrong(const std::string &what) const {
    return Status::error("the schedule " + s.str() + " of a contraction of " + std::string(name(c.dtype)) +
                         " is wrong: " + what);
  }

  Status verifyContraction() const {
    if (device.isCpu())
      return Status::error("contractions are compiled for CUDA devices, not for " + device.fullName());
    if (c.dtype == DType::i1)
      return Status::error("no contraction of element type i1");
    for (const Extent *extent :
         {&c.batch, &c.m, &c.n, &c.k, &c.aStrides[0], &c.aStrides[1], &c.aStrides[2], &c.bStrides[0],
          &c.bStrides[1], &c.bStrides[2], &c.cStrides[0], &c.cStrides[1], &c.cStrides[2]})
      if ((extent->value < 0 && !mayBeNegative(extent)) || extent->divisor < 1)
        return Status::error("contraction with a negative extent or stride " + std::to_string(extent->value));
    if (c.windows && (c.windows->dims.empty() || c.windows->dims.size() > 3 || c.windows->steps.empty() ||
                      c.windows->columns.empty() || c.bias || c.residual || c.relu))
      return Status::error("convolution with " + std::to_string(c.windows->dims.size()) +
                           " extents, or with an epilogue of a product");
    for (const auto &[alignment, dtype] : {std::pair(c.aAlignment, c.dtype), std::pair(c.bAlignment, c.dtype),
                                           std::pair(c.cAlignment, c.resultType())})
      if (alignment < bytesOf(dtype) || alignment % bytesOf(dtype) != 0)
        return Status::error("contraction of " + std::string(name(c.dtype)) + " aligned to " +
                             std::to_string(alignment) + " bytes");
    if (c.windows && llvm::is_contained(c.windows->epilogue, ir::ConvolutionStep::wide) &&
        (c.resultType() == c.dtype || !isHalf(c.dtype)))
      return Status::error("convolution of " + std::string(name(c.dtype)) + " with sums that stay f32");
    return c.windows ? verifyParts() : Status();
  }

  /// Zeros between elements are in all dimensions or in none, and each remainder is a matrix.
  Status verifyParts() const {
    for (const CudaWindows::Dim &dim : c.windows->dims)
      if (dim.parts.empty() == c.windows->hasZeros())
        return Status::error("convolution with parts of windows along some extents alone");
    if (c.windows->hasZeros() && (c.k.isParameter || !c.batch.isMultipleOf(c.windows->remainders())))
      return Status::error("convolution with zeros between elements, and not a matrix for each remainder");
    return {};
  }

  /// A convolution reads weights from the last element to the first, too.
  bool mayBeNegative(const Extent *extent) const {
    return c.windows &&
           llvm::is_contained({&c.aStrides[0], &c.aStrides[1], &c.aStrides[2], &c.bStrides[0]}, extent);
  }

  /// Each thread keeps the place of its column, or of its step of a window, for all of its accesses.
  Status verifyWindows() const {
    if (!c.windows)
      return s.tabled == 0 ? Status() : wrong("a product has no places of columns");
    constexpr int64_t farthest = int64_t(1) << 29;
    for (const CudaWindows::Dim &dim : c.windows->dims)
      if (Wide(dim.places) * dim.stride + Wide(dim.window) * dim.dilation + std::abs(dim.low) + dim.extent >
          farthest)
        return Status::error("convolution with windows that reach too far for 32 bits");
    const int64_t row = (s.a.alongK != s.a.turned ? s.blockK / s.a.vector : 1);
    if (s.b.turned || s.b.alongK != c.windows->readsAlongK())
      return wrong("b: windows are not read in the direction of neighbours");
    if (s.threads() % (s.b.alongK ? s.blockK : s.blockN) != 0 || s.threads() % row != 0)
      return wrong("a thread has not one column, or one step, of a tile");
    if (s.tabled != (s.b.alongK ? s.blockN : 0))
      return wrong("places of columns are in shared memory where threads have several, and only there");
    return {};
  }

  Status verifyTiles() const {
    for (auto [label, number] :
         {std::pair("a block", std::min({s.blockM, s.blockN, s.blockK})),
          std::pair("a warp", std::min(s.warpM, s.warpN)), std::pair("depth", s.depth)})
      if (number < 1)
        return wrong(std::string(label) + " has nothing to do");
    if (std::max({s.blockM, s.blockN, s.blockK}) > 1024)
      return wrong("a side of a block is longer than 1024");
    if (s.blockM % s.warpM != 0 || s.blockN % s.warpN != 0)
      return wrong("a block is not made of whole warps");
    if (s.threads() > device.blockThreads)
      return wrong("a block has " + std::to_string(s.threads()) + " threads, more than " +
                   std::to_string(device.blockThreads));
    if (s.stages < 2 || s.stages > 8)
      return wrong("there must be 2 to 8 stages");
    if (s.resident < 1 || s.resident > device.coreBlocks)
      return wrong("a multiprocessor holds 1 to " + std::to_string(device.coreBlocks) + " blocks");
    return s.matrixUnits ? verifyMatrixUnits() : verifyPlainUnits();
  }

  Status verifyMatrixUnits() const {
    if (!hasMatrixUnits(c.dtype, device))
      return wrong(std::string(device.name) + " multiplies no matrices of this type");
    if (s.warpM % 16 != 0 || s.warpN % 16 != 0 || s.blockK * bytesOf(c.dtype) % 32 != 0)
      return wrong("a warp must multiply tiles of 16 x 16, and 32 bytes of k at a time");
    if (bytesOf(c.dtype) == 1 && !(s.a.alongK && s.b.alongK))
      return wrong("bytes are multiplied from tiles along k");
    // vectorC / 2 lanes exchange as many tiles of 8 columns.
    if (s.vectorC > 8 || (s.exchanges() && s.warpN % (4 * s.vectorC) != 0))
      return wrong("the lanes of a row have not so many columns beside each other");
    return {};
  }

  Status verifyPlainUnits() const {
    if (s.warpM % 4 != 0 || s.warpN % 8 != 0)
      return wrong("a warp has 4 x 8 threads");
    if (s.unroll < 1 || s.blockK % (s.depth * s.unroll) != 0)
      return wrong("depth and unroll must divide the block's k");
    const int64_t bytes = bytesOf(c.dtype);
    if ((s.depth & (s.depth - 1)) != 0 || s.depth * bytes > accessBytes)
      return wrong("depth must be a power of two, and no more than one access");
    // A thread has whole groups of neighbouring columns.
    if (s.vectorC > 1 && (s.b.alongK || groupOf(s.warpN / 8) % s.vectorC != 0))
      return wrong("a thread has not so many columns beside each other");
    return {};
  }

  int64_t groupOf(int64_t elements) const {
    int64_t group = accessBytes / bytesOf(c.dtype);
    while (elements % group != 0)
      group /= 2;
    return group;
  }

  Status verifyCopy(const char *operand, const TileCopy &copy, const Matrix &matrix, size_t freeDim,
                    int64_t freeTile, int64_t pitch) const {
    const std::string who = std::string(operand) + ": ";
    const int64_t bytes = bytesOf(c.dtype), piece = copy.vector * bytes;
    if (copy.vector < 1 || (copy.vector & (copy.vector - 1)) != 0 || piece > accessBytes)
      return wrong(who + "an access has 1, 2, 4, 8 or 16 bytes");
    const bool memoryAlongK = copy.alongK != copy.turned;
    const size_t along = memoryAlongK ? (freeDim == 1 ? 2 : 1) : freeDim;
    if (!allowsVector(c, matrix, along, copy.vector))
      return wrong(who + "strides or alignment do not allow accesses of " + std::to_string(copy.vector) +
                   " elements");
    if ((memoryAlongK ? s.blockK : freeTile) % copy.vector != 0)
      return wrong(who + "a row of a tile is not made of whole accesses");
    if (copy.async && (device.architecture() < 80 || piece < 4 || copy.turned))
      return wrong(who + "cp.async copies 4, 8 or 16 bytes as they are, from sm_80 on");
    if (copy.async && copy.early)
      return wrong(who + "cp.async leaves nothing in registers");
    if (copy.pad < 0 || copy.pad > 1024)
      return wrong(who + "padding is from 0 to 1024 elements");
    // Rows begin at multiples of an access. Eight successive rows are read at once: their first 16 bytes
    // are in different banks if the pitch is an odd number of accesses.
    if (pitch * bytes % accessBytes != 0)
      return wrong(who + "rows of a tile are not aligned to 16 bytes");
    if ((s.matrixUnits || copy.alongK) && pitch * bytes / accessBytes % 2 == 0)
      return wrong(who + "rows of a tile have bank conflicts");
    return {};
  }

  Status verifyLimits() const {
    if (s.vectorC < 1 || (s.vectorC & (s.vectorC - 1)) != 0 ||
        s.vectorC * bytesOf(c.resultType()) > accessBytes ||
        (s.vectorC > 1 && (!allowsVector(c, matrixC(c), 2, s.vectorC) || !c.n.isMultipleOf(s.vectorC))))
      return wrong("the result cannot be written by accesses of " + std::to_string(s.vectorC) + " elements");
    if (s.sharedBytes(c.dtype) > device.blockSharedBytes)
      return wrong("a block needs " + std::to_string(s.sharedBytes(c.dtype)) +
                   " bytes of shared memory, of " + std::to_string(device.blockSharedBytes));
    const int64_t registers = workingRegisters(c, s) + otherRegisters;
    const int64_t budget = ir::registersFor(device, s.threads() * s.resident);
    if (registers > budget)
      return wrong("a thread needs about " + std::to_string(registers) + " registers, of " +
                   std::to_string(budget));
    if (s.resident * (s.sharedBytes(c.dtype) + device.reservedSharedBytes) > device.coreSharedBytes)
      return wrong("a multiprocessor has no shared memory for " + std::to_string(s.resident) + " blocks");
    if (!s.wideIndex && needsWideIndex(c, s))
      return wrong("offsets do not fit into 32 bits");
    if (!c.batch.isParameter && !c.m.isParameter && !c.n.isParameter)
      return contractionBlocks(s, c.batch.value, c.m.value, c.n.value).status();
    return {};
  }

  const ContractionSchedule &s;
  const CudaContraction &c;
  const ir::TargetDescription &device;
};
} // namespace

Status verifyContractionSchedule(const ContractionSchedule &schedule, const CudaContraction &contraction,
                                 const ir::TargetDescription &device) {
  return Verifier(schedule, contraction, device).verify();
}

Expected<int64_t> contractionBlocks(const ContractionSchedule &schedule, int64_t batch, int64_t m,
                                    int64_t n) {
  const Wide blocks = Wide(batch) * ceilDiv(m, schedule.blockM) * ceilDiv(n, schedule.blockN);
  if (blocks > mostBlocks)
    return Status::error("a contraction of " + std::to_string(batch) + " x " + std::to_string(m) + " x " +
                         std::to_string(n) + " elements needs more than 2^31 - 1 blocks of threads");
  return static_cast<int64_t>(blocks);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

namespace {
struct Tiles {
  int64_t blockM, blockN, warpM, warpN;
};
} // namespace

/// From the largest to the smallest; the long ones are for products with a vector.
static constexpr Tiles matrixTiles[] = {{128, 128, 64, 32}, {128, 64, 32, 32}, {64, 64, 32, 32},
                                        {32, 64, 16, 32},   {16, 64, 16, 16},  {64, 16, 16, 16}};
static constexpr Tiles plainTiles[] = {{128, 128, 32, 64}, {64, 64, 32, 32}, {32, 64, 16, 32},
                                       {32, 32, 16, 16},   {4, 64, 4, 16},   {64, 8, 16, 8}};

/// The tiles with the least work of the multiprocessor that has most. A block multiplies its tile, also
/// where it lies outside of the result, and reads both operands, which counts as many steps as 32 products.
static Tiles chooseTiles(const CudaContraction &c, llvm::ArrayRef<Tiles> known, int64_t largest,
                         const ir::TargetDescription &device) {
  Tiles best = known.back();
  Wide least = -1;
  for (const Tiles &tiles : known) {
    if (tiles.blockM * tiles.blockN > largest)
      continue;
    const Wide blocks = Wide(std::max<int64_t>(c.batch.value, 1)) *
                        ceilDiv(std::max<int64_t>(c.m.value, 1), tiles.blockM) *
                        ceilDiv(std::max<int64_t>(c.n.value, 1), tiles.blockN);
    const Wide cost = (blocks + device.cores - 1) / device.cores *
                      (tiles.blockM * tiles.blockN + 32 * (tiles.blockM + tiles.blockN));
    if (least < 0 || cost < least) {
      best = tiles;
      least = cost;
    }
  }
  return best;
}

/// How an operand comes to shared memory whose free dimension is `freeDim` of its strides.
static TileCopy chooseCopy(const CudaContraction &c, const Matrix &matrix, size_t freeDim, bool alwaysAlongK,
                           const ir::TargetDescription &device) {
  const std::array<Extent, 3> &strides = *matrix.strides;
  const size_t k = freeDim == 1 ? 2 : 1;
  const int64_t bytes = bytesOf(c.dtype), most = accessBytes / bytes;
  const bool memoryAlongK = strides[k].is(1) || !strides[freeDim].is(1);
  TileCopy copy;
  copy.alongK = memoryAlongK || alwaysAlongK;
  copy.turned = copy.alongK != memoryAlongK;
  // A turned tile is stored element by element, for which wide loads take registers and give little.
  copy.vector =
      widestVector(c, matrix, memoryAlongK ? k : freeDim, copy.turned ? std::min<int64_t>(most, 4) : most);
  copy.async = device.architecture() >= 80 && !copy.turned && copy.vector * bytes >= 4;
  return copy;
}

/// Fits a copy to its tile, whose rows in shared memory have `row` elements and begin at multiples of an
/// access; an odd number of accesses apart where eight rows are read at once. `along` is the extent of the
/// tile in the order of global memory. Few accesses of a thread are read early: it waits for many at once.
static void fitCopy(TileCopy &copy, int64_t along, int64_t row, bool readsRows, int64_t bytes,
                    int64_t elementsPerThread) {
  copy.vector = std::min(copy.vector, along);
  copy.async &= copy.vector * bytes >= 4;
  copy.early = !copy.async && elementsPerThread <= 8 * copy.vector;
  const int64_t accesses = ceilDiv(row * bytes, accessBytes);
  copy.pad = (accesses + (readsRows && accesses % 2 == 0)) * accessBytes / bytes - row;
}

/// The steps of k of a tile, and how many of them a thread reads together. Tiles with many sums have rows of
/// 64 bytes along k, and read few steps together: copies of longer rows need more addresses, and both take
/// the registers of a second block.
static void chooseSteps(ContractionSchedule &s, const CudaContraction &c, bool staged) {
  const int64_t bytes = bytesOf(c.dtype);
  const bool many = sumRegisters(c, s.warpM, s.warpN) >= manySums;
  s.blockK = std::min<int64_t>((many ? 64 : 128) / bytes, staged || !s.matrixUnits ? 32 : 64);
  if (s.matrixUnits && bytes == 1)
    s.blockK = 64;
  if (s.matrixUnits)
    return;
  s.depth = std::min<int64_t>(many || (s.a.alongK && s.b.alongK) ? 2 : 4, (many ? 8 : accessBytes) / bytes);
  s.unroll = many ? 1 : 2;
}

/// How many blocks a multiprocessor holds, and the stages of each. Sixteen warps are four for each of its
/// four parts, which then need no other work while one waits for shared memory.
static void chooseResidence(ContractionSchedule &s, const CudaContraction &c, bool staged,
                            const ir::TargetDescription &device) {
  constexpr int64_t wantedThreads = 512;
  const auto fits = [&](int64_t blocks) {
    return blocks * (s.sharedBytes(c.dtype) + device.reservedSharedBytes) <= device.coreSharedBytes;
  };
  const int64_t registers = s.threads() * (workingRegisters(c, s) + otherRegisters);
  int64_t wanted =
      std::min(std::max<int64_t>(wantedThreads / s.threads(), 1), device.coreRegisters / registers);
  s.stages = 2;
  while (wanted > 1 && !fits(wanted))
    --wanted;
  // A third stage must not cost a block.
  s.stages = 3;
  if (staged || !fits(wanted))
    s.stages = 2;
  if (sumRegisters(c, s.warpM, s.warpN) >= manySums)
    s.resident = wanted;
}

/// How both operands come to shared memory, before they are fitted to tiles.
static std::pair<TileCopy, TileCopy> chooseCopies(const CudaContraction &c,
                                                  const ir::TargetDescription &device) {
  const bool alwaysAlongK = hasMatrixUnits(c.dtype, device) && bytesOf(c.dtype) == 1;
  return {chooseCopy(c, matrixA(c), 1, alwaysAlongK, device),
          chooseCopy(c, matrixB(c), 2, alwaysAlongK, device)};
}

static llvm::ArrayRef<Tiles> knownTiles(const CudaContraction &c, const ir::TargetDescription &device) {
  return hasMatrixUnits(c.dtype, device) ? llvm::ArrayRef(matrixTiles) : llvm::ArrayRef(plainTiles);
}

/// The schedule with these tiles. It is not proven.
static ContractionSchedule scheduleWith(const Tiles &tiles, const CudaContraction &c,
                                        const ir::TargetDescription &device) {
  const int64_t bytes = bytesOf(c.dtype);
  ContractionSchedule s;
  s.matrixUnits = hasMatrixUnits(c.dtype, device);
  std::tie(s.a, s.b) = chooseCopies(c, device);
  const bool staged = !s.a.async || !s.b.async;
  s.blockM = tiles.blockM;
  s.blockN = tiles.blockN;
  s.warpM = tiles.warpM;
  s.warpN = tiles.warpN;
  chooseSteps(s, c, staged);
  const auto fit = [&](TileCopy &copy, int64_t tile) {
    fitCopy(copy, copy.alongK != copy.turned ? s.blockK : tile, copy.alongK ? s.blockK : tile,
            s.matrixUnits || copy.alongK, bytes, ceilDiv(tile * s.blockK, s.threads()));
  };
  fit(s.a, s.blockM);
  fit(s.b, s.blockN);
  // Wider accesses than a thread's neighbouring columns, or with columns left over, are not possible.
  const int64_t most = accessBytes / bytesOf(c.resultType());
  int64_t columns = s.matrixUnits ? std::min({most, int64_t{8}, s.warpN / 4})
                    : s.b.alongK  ? 1
                                  : std::min(most, s.warpN / 8);
  while (columns > 1 && (!allowsVector(c, matrixC(c), 2, columns) || !c.n.isMultipleOf(columns)))
    columns /= 2;
  s.vectorC = columns;
  if (c.windows && s.b.alongK)
    s.tabled = s.blockN;
  // It says how large the table is, which says how many stages there are.
  s.stages = 3;
  s.wideIndex = needsWideIndex(c, s);
  chooseResidence(s, c, staged, device);
  s.wideIndex = s.tabled ? s.wideIndex : needsWideIndex(c, s);
  return s;
}

std::vector<ContractionSchedule> contractionSchedulesAfterSpill(const ContractionSchedule &first,
                                                                const CudaContraction &c,
                                                                const ir::TargetDescription &device) {
  std::vector<ContractionSchedule> found;
  // Those of one tile, each with more registers a thread than the one before.
  const auto add = [&](ContractionSchedule s, int64_t before) {
    for (; s.resident >= 1; --s.resident) {
      const int64_t registers = ir::registersFor(device, s.threads() * s.resident);
      if (registers > before && verifyContractionSchedule(s, c, device))
        found.push_back(s);
      before = std::max(before, registers);
    }
  };
  add(first, ir::registersFor(device, first.threads() * first.resident));
  ContractionSchedule last = first;
  for (const Tiles &tiles : knownTiles(c, device))
    if (tiles.blockM <= last.blockM && tiles.blockN <= last.blockN &&
        tiles.warpM * tiles.warpN < last.warpM * last.warpN) {
      last = scheduleWith(tiles, c, device);
      add(last, 0);
    }
  return found;
}

Expected<ContractionSchedule> chooseContractionSchedule(const CudaContraction &c,
                                                        const ir::TargetDescription &device, size_t spilled) {
  if (device.isCpu() || c.dtype == DType::i1)
    return verifyContractionSchedule({}, c, device);
  // Sums of 64 bits take two registers; single elements on their way to shared memory take one each.
  const auto [a, b] = chooseCopies(c, device);
  const int64_t largest = bytesOf(c.dtype) == 8 ? 64 * 64 : a.async && b.async ? 128 * 128 : 128 * 64;
  const Tiles tiles = chooseTiles(c, knownTiles(c, device), largest, device);
  const ContractionSchedule first = scheduleWith(tiles, c, device);
  if (Status status = verifyContractionSchedule(first, c, device); !status)
    return status;
  if (spilled == 0)
    return first;
  const std::vector<ContractionSchedule> others = contractionSchedulesAfterSpill(first, c, device);
  return spilled <= others.size() ? others[spilled - 1] : first;
}

} // namespace weft::codegen
