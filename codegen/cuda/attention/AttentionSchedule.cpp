//===- AttentionSchedule.cpp ----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/attention/AttentionSchedule.h"

#include "ir/Spills.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::codegen {

using Wide = __int128;

static constexpr int64_t accessBytes = 16;
static constexpr int64_t largestInt = std::numeric_limits<int32_t>::max();
/// Registers of a thread beside sums and operands: addresses, counters, and what an exponential needs.
static constexpr int64_t otherRegisters = 56;

static int64_t bytesOf(DType dtype) { return static_cast<int64_t>(itemsize(dtype)); }
static int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// mma.sync of halves with 16 columns, and cp.async, are from sm_80 on.
static bool isFromSm80(const ir::TargetDescription &device) { return device.architecture() >= 80; }

const AttentionOperand *CudaAttention::find(llvm::StringRef name) const {
  const auto found =
      llvm::find_if(operands, [&](const AttentionOperand &operand) { return operand.name == name; });
  return found == operands.end() ? nullptr : &*found;
}

int64_t AttentionSchedule::sharedBytes(const CudaAttention &attention) const {
  const ir::AttentionExtents &e = attention.extents;
  const int64_t pitches = pitch(e.features, attention.dtype) + pitch(e.values, attention.dtype);
  // A forward block owns queries alone; a block of the derivative owns rows of two operands.
  const int64_t ownPitches = attention.backward ? pitches : pitch(e.features, attention.dtype);
  int64_t bytes = (own() * ownPitches + stages * others * pitches) * bytesOf(attention.dtype);
  if (!matrixUnits)
    bytes += own() * scorePitch() * 4;
  if (attention.backward)
    bytes += std::max(own(), stages * others) * 2 * 4; // lse, and the product of out and grad, of each row
  return bytes;
}

std::string AttentionSchedule::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (matrixUnits ? "mma, " : "fma, ") << warps << " warps, tiles " << own() << " x " << others << ", "
     << rowsOfThread << " rows a thread, " << stages << " stages, " << resident << " resident, accesses";
  for (const AttentionAccess &access : accesses)
    os << " " << access.vector << (access.async ? " async" : "") << (access.down ? " down" : "");
  if (wideIndex)
    os << ", 64-bit index";
  return text;
}

int64_t attentionBlocks(const AttentionSchedule &schedule, const CudaAttention &attention) {
  const ir::AttentionExtents &e = attention.extents;
  int64_t blocks = ceilDiv(e.rows, schedule.own());
  if (attention.backward)
    blocks += ceilDiv(e.keys, schedule.own());
  return blocks * e.batchCount();
}

//===----------------------------------------------------------------------===//
// Facts about an attention
//===----------------------------------------------------------------------===//

/// Whether accesses of `vector` elements along the columns of an operand are aligned.
static bool allowsVector(const CudaAttention &a, const AttentionOperand &operand, int64_t vector) {
  if (vector == 1)
    return true;
  const llvm::ArrayRef<int64_t> strides(operand.view.strides);
  if (strides.back() != 1 || operand.alignment % (vector * bytesOf(operand.dtype)) != 0 ||
      operand.view.offset % vector != 0)
    return false;
  // No address is computed with the stride of a dimension of one element.
  auto isMultiple = [&](int64_t stride, int64_t extent) { return extent <= 1 || stride % vector == 0; };
  for (auto [stride, extent] : llvm::zip(strides, a.extents.batch))
    if (!isMultiple(stride, extent))
      return false;
  return isMultiple(strides.drop_back().back(), operand.rows);
}

/// Whether offsets within one matrix of each operand, to the end of its last tile, have 32 bits.
static bool needsWideIndex(const CudaAttention &a, const AttentionSchedule &s) {
  const int64_t tile = std::max(s.own(), s.stages * s.others);
  return llvm::any_of(a.operands, [&](const AttentionOperand &operand) {
    const llvm::ArrayRef<int64_t> strides = operand.view.strides;
    return (Wide(operand.rows) + tile) * strides.drop_back().back() +
               (Wide(operand.columns) + tile) * strides.back() >
           largestInt;
  });
}

/// Registers of a thread for sums and operands.
static int64_t workingRegisters(const CudaAttention &a, const AttentionSchedule &s) {
  const int64_t scores = s.rowsOfThread * s.othersOfThread();
  int64_t columns = s.columnsOfThread(a.extents.values);
  if (a.backward)
    columns += s.columnsOfThread(a.extents.features);
  const int64_t sums = s.rowsOfThread * columns + scores * (a.backward ? 2 : 1);
  // On plain units 16 bytes of each row, and of one row of the other operand; with mma, fragments of both.
  // ptxas loads fragments ahead, more of them for wide results.
  int64_t operands = 4 * (s.rowsOfThread + 1) * (4 / bytesOf(a.dtype));
  if (s.matrixUnits && a.roundsScores)
    operands = 12;
  else if (s.matrixUnits)
    operands = 48 + std::max<int64_t>(s.columnsOfThread(a.extents.values) - 32, 0) / 2;
  return sums + operands + 2 * s.rowsOfThread;
}

int64_t AttentionSchedule::groupOf(int64_t columns, DType dtype) const {
  if (matrixUnits)
    return matrixColumns;
  int64_t group = accessBytes / bytesOf(dtype);
  while (columnsOfThread(columns) % group != 0)
    group /= 2;
  return group;
}

//===----------------------------------------------------------------------===//
// Proof
//===----------------------------------------------------------------------===//

namespace {
/// The first number of a schedule that is wrong.
class Verifier {
public:
  Verifier(const AttentionSchedule &s, const CudaAttention &a, const ir::TargetDescription &device)
      : s(s), a(a), device(device) {}

  Status verify() const {
    if (Status status = verifyAttention(); !status)
      return status;
    if (Status status = verifyTiles(); !status)
      return status;
    for (auto [operand, access] : llvm::zip(a.operands, s.accesses))
      if (Status status = verifyAccess(operand, access); !status)
        return status;
    return verifyLimits();
  }

private:
  Status wrong(const std::string &what) const {
    return Status::error("the schedule " + s.str() + " of an attention of " + std::string(name(a.dtype)) +
                         " is wrong: " + what);
  }

  Status verifyAttention() const {
    if (device.isCpu())
      return Status::error("kernels of attention are for CUDA devices, not for " + device.fullName());
    if (a.dtype != DType::f32 && a.dtype != DType::f16 && a.dtype != DType::bf16)
      return Status::error("no attention of element type " + std::string(name(a.dtype)));
    const ir::AttentionExtents &e = a.extents;
    if (std::min({e.rows, e.keys, e.features, e.values, e.batchCount()}) < 1 ||
        std::max(e.features, e.values) > ir::maxCudaAttentionColumns ||
        std::max(e.rows, e.keys) > ir::maxCudaAttentionRows)
      return Status::error("no kernel of attention for " + std::to_string(e.rows) + " rows, " +
                           std::to_string(e.keys) + " keys, " + std::to_string(e.features) +
                           " features and " + std::to_string(e.values) + " values");
    if (!std::isfinite(a.scale))
      return Status::error("attention with a scale that is not finite");
    return {};
  }

  Status verifyTiles() const {
    if (s.warps < 1 || s.threads() > device.blockThreads)
      return wrong("a block has from 1 to " + std::to_string(device.blockThreads) + " threads");
    if (s.rowsOfThread < 1 || s.rowsOfThread > 16 || s.others < 1 || s.others > 1024)
      return wrong("a tile is too small, or too large");
    if (s.stages != 1 && s.stages != 2)
      return wrong("there must be 1 or 2 stages");
    if (s.accesses.size() != a.operands.size())
      return wrong("it has another number of accesses than the attention has operands");
    if (s.matrixUnits && (a.dtype == DType::f32 || !isFromSm80(device)))
      return wrong(std::string(device.name) + " multiplies no matrices of this type");
    if (s.matrixUnits && s.rowsOfThread != 2)
      return wrong("with mma a thread has two rows");
    if (s.others % (s.matrixUnits ? 16 : 8) != 0)
      return wrong("a tile of the other dimension must be whole in the threads of a warp");
    return {};
  }

  Status verifyAccess(const AttentionOperand &operand, const AttentionAccess &access) const {
    const int64_t bytes = access.vector * bytesOf(operand.dtype);
    if (access.vector < 1 || (access.vector & (access.vector - 1)) != 0 || bytes > accessBytes)
      return wrong(operand.name + ": an access has 1, 2, 4, 8 or 16 bytes");
    if (access.vector > 1 && (operand.name == "lse" || !(a.isCopied(operand) || operand.isWritten)))
      return wrong(operand.name + ": its elements are read one by one");
    if (!allowsVector(a, operand, access.vector))
      return wrong(operand.name + ": strides or alignment do not allow accesses of " +
                   std::to_string(access.vector) + " elements");
    if (access.async && (!isFromSm80(device) || bytes < 4 || !a.isCopied(operand)))
      return wrong(operand.name + ": cp.async copies 4, 8 or 16 bytes to shared memory, from sm_80 on");
    if (access.down && access.vector != 1)
      return wrong(operand.name + ": a vector lies along the columns");
    // The columns that a thread writes beside each other, of which none may be left over.
    if (operand.isWritten && access.vector > 1 &&
        (operand.columns % access.vector != 0 ||
         s.widestResult(operand.columns, a.dtype) % access.vector != 0))
      return wrong(operand.name + ": a thread has not so many columns beside each other");
    return {};
  }

  Status verifyLimits() const {
    if (s.sharedBytes(a) > device.blockSharedBytes)
      return wrong("a block needs " + std::to_string(s.sharedBytes(a)) + " bytes of shared memory, of " +
                   std::to_string(device.blockSharedBytes));
    if (s.resident < 1 || s.resident > device.coreBlocks ||
        s.resident * (s.sharedBytes(a) + device.reservedSharedBytes) > device.coreSharedBytes)
      return wrong("so many blocks have no room beside each other");
    const int64_t registers = workingRegisters(a, s) + otherRegisters;
    const int64_t budget = ir::registersFor(device, s.threads() * s.resident);
    if (registers > budget)
      return wrong("a thread needs about " + std::to_string(registers) + " registers, of " +
                   std::to_string(budget));
    if (!s.wideIndex && needsWideIndex(a, s))
      return wrong("offsets do not fit into 32 bits");
    if (Wide(attentionBlocks(s, a)) > largestInt)
      return wrong("it needs more than 2^31 - 1 blocks of threads");
    return {};
  }

  const AttentionSchedule &s;
  const CudaAttention &a;
  const ir::TargetDescription &device;
};
} // namespace

Status verifyAttentionSchedule(const AttentionSchedule &schedule, const CudaAttention &attention,
                               const ir::TargetDescription &device) {
  return Verifier(schedule, attention, device).verify();
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// How each operand is read or written by a schedule with these tiles.
static std::vector<AttentionAccess> chooseAccesses(const CudaAttention &a, const AttentionSchedule &s,
                                                   const ir::TargetDescription &device) {
  std::vector<AttentionAccess> accesses;
  for (const AttentionOperand &operand : a.operands) {
    AttentionAccess &access = accesses.emplace_back();
    if (operand.name == "lse" || !(a.isCopied(operand) || operand.isWritten))
      continue;
    int64_t vector = accessBytes / bytesOf(operand.dtype);
    if (operand.isWritten)
      vector = s.widestResult(operand.columns, a.dtype);
    while (vector > 1 &&
           (!allowsVector(a, operand, vector) || (operand.isWritten && operand.columns % vector != 0)))
      vector /= 2;
    access.vector = vector;
    const llvm::ArrayRef<int64_t> strides = operand.view.strides;
    access.down = !operand.isWritten && vector == 1 && strides.back() != 1 && strides.drop_back().back() == 1;
    access.async = !operand.isWritten && isFromSm80(device) && vector * bytesOf(operand.dtype) >= 4;
  }
  return accesses;
}

/// The blocks of a multiprocessor that registers and shared memory have room for.
static int64_t chooseResident(const CudaAttention &a, const AttentionSchedule &s,
                              const ir::TargetDescription &device) {
  const int64_t shared = s.sharedBytes(a) + device.reservedSharedBytes;
  const int64_t registers = s.threads() * ((workingRegisters(a, s) + otherRegisters + 7) / 8 * 8);
  return std::clamp<int64_t>(std::min(device.coreSharedBytes / shared, device.coreRegisters / registers), 1,
                             device.coreBlocks);
}

/// The work of the multiprocessor that has most, for a key, or a row, of the other dimension. It is as many
/// products as the block owns rows; on plain units operands are read from shared memory, at half their speed;
/// and the rows of two operands come from the cache.
static Wide costOf(const CudaAttention &a, const AttentionSchedule &s, const ir::TargetDescription &device) {
  const int64_t blocks = ceilDiv(attentionBlocks(s, a), device.cores);
  const int64_t rows = s.rowsOfThread, others = s.othersOfThread();
  const int64_t reads = s.matrixUnits ? 0 : 2 * (rows + others);
  // A tile costs its barrier and the sums of its rows, too, which are worth about four scores a thread.
  const Wide products = Wide(s.own()) * (rows * others + reads + 4) * 1024 / (rows * others);
  // Matrix units are 16 times as fast for halves. Where scores are not rounded, the second product takes four
  // times as long as the first.
  const int64_t speed = !s.matrixUnits ? 1 : a.roundsScores ? 16 : 6;
  const Wide copies =
      Wide(bytesOf(a.dtype)) * device.coreFlopsPerUs * speed * 1024 / (2 * device.cacheBytesPerUs);
  // What is not overlapped with copies, by another block or another stage, costs more.
  const int64_t waits = (s.resident == 1 ? 2 : 0) + (s.stages == 1 ? 2 : 0) + 8;
  return blocks * waits * (products + copies);
}

namespace {
struct Candidate {
  AttentionSchedule schedule;
  Wide cost = 0;
};
} // namespace

/// The schedules that are right for an attention: those with matrix units, or without if there are none. If
/// there are no others, why the last one is wrong.
static std::vector<Candidate> candidatesFor(const CudaAttention &a, const ir::TargetDescription &device,
                                            Status &refused) {
  std::vector<Candidate> found;
  auto consider = [&](AttentionSchedule s) {
    s.accesses = chooseAccesses(a, s, device);
    s.wideIndex = needsWideIndex(a, s);
    s.resident = chooseResident(a, s, device);
    if (Status status = verifyAttentionSchedule(s, a, device); !status)
      refused = status;
    else
      found.push_back({s, costOf(a, s, device)});
  };
  for (const bool matrixUnits : {true, false}) {
    if (matrixUnits && (a.dtype == DType::f32 || !isFromSm80(device)))
      continue;
    for (const int64_t rows : {8, 4, 2, 1})
      for (const int64_t warps : {8, 4, 2, 1})
        for (const int64_t others : {64, 32, 16, 8})
          for (const int64_t stages : {2, 1}) {
            AttentionSchedule s;
            s.matrixUnits = matrixUnits;
            s.warps = warps;
            s.rowsOfThread = rows;
            s.others = others;
            s.stages = stages;
            // mma has two rows a thread; on plain units, fewer rows a thread make smaller blocks.
            if (matrixUnits ? rows == 2 && others >= 16 : warps == 4)
              consider(std::move(s));
          }
    if (!found.empty())
      break;
  }
  return found;
}

/// The first of those with the least cost whose threads need fewer registers; null if there is none.
static const AttentionSchedule *cheapest(const CudaAttention &a, llvm::ArrayRef<Candidate> candidates,
                                         int64_t registers) {
  const Candidate *best = nullptr;
  for (const Candidate &each : candidates)
    if (workingRegisters(a, each.schedule) < registers && (!best || each.cost < best->cost))
      best = &each;
  return best ? &best->schedule : nullptr;
}

std::vector<AttentionSchedule> attentionSchedulesAfterSpill(const CudaAttention &a,
                                                            const ir::TargetDescription &device) {
  Status refused;
  const std::vector<Candidate> candidates = candidatesFor(a, device, refused);
  std::vector<AttentionSchedule> found;
  int64_t most = largestInt;
  while (const AttentionSchedule *next = cheapest(a, candidates, most)) {
    // Those of one tile, each with more registers a thread than the one before; the first of all is known.
    int64_t before = 0;
    for (AttentionSchedule s = *next; s.resident >= 1; --s.resident) {
      const int64_t registers = ir::registersFor(device, s.threads() * s.resident);
      const bool isFirst = most == largestInt && s.resident == next->resident;
      if (registers > before && !isFirst)
        found.push_back(s);
      before = registers;
    }
    most = workingRegisters(a, *next);
  }
  return found;
}

Expected<AttentionSchedule> chooseAttentionSchedule(const CudaAttention &a,
                                                    const ir::TargetDescription &device, size_t spilled) {
  if (device.isCpu() || bytesOf(a.dtype) > 4)
    return verifyAttentionSchedule({}, a, device);
  if (spilled > 0) {
    const std::vector<AttentionSchedule> others = attentionSchedulesAfterSpill(a, device);
    if (spilled <= others.size())
      return others[spilled - 1];
  }
  Status refused;
  const std::vector<Candidate> candidates = candidatesFor(a, device, refused);
  const AttentionSchedule *first = cheapest(a, candidates, largestInt);
  return first ? *first : Expected<AttentionSchedule>(refused);
}

} // namespace weft::codegen
