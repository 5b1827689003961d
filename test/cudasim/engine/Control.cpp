//===- Control.cpp - Branches, barriers, fences --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"

namespace weft::cudasim {
namespace {

void branch(Warp &warp, const Instruction &i, uint32_t mask) { warp.branch(i.target, mask); }
void end(Warp &warp, const Instruction &, uint32_t mask) { warp.end(mask); }
void trap(Warp &warp, const Instruction &, uint32_t mask) {
  raise(warp, FaultKind::trap, uint32_t(__builtin_ctz(mask)), "trap");
}
void assertionFails(Warp &warp, const Instruction &, uint32_t mask) {
  raise(warp, FaultKind::assertion, uint32_t(__builtin_ctz(mask)), "assertion");
}
void nothing(Warp &, const Instruction &, uint32_t) {}
void fence(Warp &warp, const Instruction &, uint32_t) { warp.block->fenced = true; }

/// One of a table of branches: those lanes whose index it is.
void branchIfIndex(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t chosen = 0;
  forLanes(mask, [&](uint32_t lane) {
    chosen |= uint32_t(warp.at<uint32_t>(i.operand[0])[lane] == uint32_t(i.immediate)) << lane;
  });
  if (chosen)
    warp.branch(i.target, chosen);
}
void indexIsOutside(Warp &warp, const Instruction &i, uint32_t mask) {
  raise(warp, FaultKind::invalidOperand, uint32_t(__builtin_ctz(mask)),
        "index of brx.idx beyond its targets");
}

void decodeBranch(Decoder &decoder) {
  decoder.branchHandler = branch;
  decoder.take("uni");
  decoder.finish(1);
  decoder.emitBranch(decoder.operand(0).name);
}

void decodeBranchTable(Decoder &decoder) {
  decoder.branchHandler = branch;
  decoder.take("uni");
  if (!decoder.take("idx"))
    decoder.fail("is known as brx.idx only");
  decoder.finish(2);
  uint32_t index = decoder.source(0, Type::u32);
  int64_t number = 0;
  for (std::string_view label : decoder.branchTargets(decoder.operand(1).name)) {
    decoder.emitBranch(label);
    decoder.last().run = branchIfIndex;
    decoder.last().operand[0] = index;
    decoder.last().immediate = number++;
  }
  decoder.emit(indexIsOutside);
}

/// cudaGraphSetConditional, whose arguments are in local memory. CUDA does not define what two threads do
/// that set one condition.
void setCondition(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) {
    const std::byte *local = warp.local + size_t(lane) * warp.localStride;
    GraphCondition made;
    std::memcpy(&made.handle, local + i.operand[0], sizeof made.handle);
    std::memcpy(&made.value, local + i.operand[1], sizeof made.value);
    for (const GraphCondition &other : warp.block->conditions)
      if (other.handle == made.handle)
        raise(warp, FaultKind::invalidOperand, lane, "condition of a graph that this launch has set before");
    warp.block->conditions.push_back(made);
  });
}

void decodeCall(Decoder &decoder) {
  decoder.branchHandler = branch;
  for (size_t k = 0; k < std::min<size_t>(decoder.operandCount(), 2); ++k)
    if (decoder.operand(k).name == "__assertfail") {
      decoder.emit(assertionFails);
      return;
    }
  if (decoder.operandCount() && decoder.operand(0).name == "cudaGraphSetConditional") {
    const std::vector<uint32_t> places = decoder.argumentsOfCall({sizeof(uint64_t), sizeof(uint32_t)});
    decoder.emit(setCondition, {places[0], places[1]});
    return;
  }
  decoder.inlineCall();
}

void decodeReturn(Decoder &decoder) {
  decoder.branchHandler = branch;
  decoder.take("uni");
  decoder.finish(0);
  if (!decoder.emitReturn())
    decoder.emit(end);
}

void decodeExit(Decoder &decoder) {
  decoder.finish(0);
  decoder.emit(end);
}
void decodeTrap(Decoder &decoder) {
  decoder.finish(0);
  decoder.emit(trap);
}

//===----------------------------------------------------------------------===//
// Barriers of a block
//===----------------------------------------------------------------------===//

constexpr uint32_t barriersOfBlock = 16;

/// The one value that a source has in all lanes of the mask.
uint32_t uniform(Warp &warp, const Instruction &i, uint32_t number, uint32_t mask, const char *what) {
  const uint32_t *values = warp.at<uint32_t>(i.operand[number]);
  uint32_t first = uint32_t(__builtin_ctz(mask));
  forLanes(mask, [&](uint32_t lane) {
    if (values[lane] != values[first])
      raise(warp, FaultKind::invalidOperand, lane, std::string(what) + " differs between lanes");
  });
  return values[first];
}

/// Operands: barrier, threads, predicate, result. The mode is the operation; flags say what is there.
enum BarrierFlags : uint8_t { hasThreads = 1, negates = 2 };

void barrier(Warp &warp, const Instruction &i, uint32_t mask) {
  if (mask != warp.live && warp.park(mask))
    return;
  if (mask != warp.live)
    raise(warp, FaultKind::divergentBarrier, uint32_t(__builtin_ctz(mask)),
          "barrier that the other threads of the warp do not reach together");
  if (warp.live != warp.all)
    raise(warp, FaultKind::exitedAtBarrier, uint32_t(__builtin_ctz(mask)),
          "barrier of a warp some of whose threads have ended");
  uint32_t blockThreads = uint32_t(warp.block->blockSize.count());
  warp.barrier = uniform(warp, i, 0, mask, "the number of the barrier");
  warp.barrierThreads = (i.flags & hasThreads) ? uniform(warp, i, 1, mask, "the number of threads") : 0;
  if (warp.barrier >= barriersOfBlock)
    raise(warp, FaultKind::invalidOperand, 0, "barrier " + std::to_string(warp.barrier) + " of 16");
  bool wrong = warp.barrierThreads % lanesOfWarp || !warp.barrierThreads ||
               warp.barrierThreads > (blockThreads + lanesOfWarp - 1) / lanesOfWarp * lanesOfWarp;
  if ((i.flags & hasThreads) && wrong)
    raise(warp, FaultKind::invalidOperand, 0,
          "barrier for " + std::to_string(warp.barrierThreads) + " threads in a block of " +
              std::to_string(blockThreads));
  warp.barrierOperation = BarrierOperation(i.mode);
  if (warp.barrierOperation != BarrierOperation::sync)
    warp.barrierPredicate = (*warp.at<uint32_t>(i.operand[2]) ^ ((i.flags & negates) ? allLanes : 0)) & mask;
  warp.barrierResult = i.operand[3];
  warp.state = WarpState::waiting;
}

/// bar, barrier: .sync and .red. `bar.arrive` is not known, nor is bar.warp here.
void decodeBarrier(Decoder &decoder) {
  decoder.take("cta");
  decoder.take("aligned");
  if (decoder.base() == "bar" && decoder.take("warp")) {
    if (!decoder.take("sync"))
      decoder.fail("is known as bar.warp.sync only");
    return decodeWarpBarrier(decoder);
  }
  bool reduces = decoder.take("red");
  if (!reduces && !decoder.take("sync"))
    decoder.fail("is known as .sync and .red only");
  int operation = reduces ? decoder.takeOneOf({"popc", "and", "or"}) : -1;
  Type type = reduces ? decoder.takeType() : Type::none;
  if (reduces && (operation < 0 || type != (operation ? Type::pred : Type::u32)))
    decoder.fail("the operation or type is not known");
  decoder.finish(reduces ? 3 : 1, reduces ? 4 : 2);
  size_t at = reduces ? 1 : 0;
  uint32_t number = decoder.source(at, Type::u32), threads = 0, predicate = 0, result = 0;
  bool hasCount = decoder.operandCount() == (reduces ? 4 : 2), negated = false;
  if (hasCount)
    threads = decoder.source(at + 1, Type::u32);
  if (reduces) {
    predicate = decoder.predicate(decoder.operand(decoder.operandCount() - 1), negated);
    result = operation ? decoder.resultPredicate(decoder.operand(0)) : decoder.result(0, Type::u32);
  }
  Instruction &made = decoder.emit(barrier, {number, threads, predicate, result});
  made.mode = uint8_t(operation + 1);
  made.flags = uint8_t((hasCount ? hasThreads : 0) | (negated ? negates : 0));
}

void decodeFence(Decoder &decoder) {
  bool old = decoder.base() == "membar";
  int scope = decoder.takeOneOf({"cta", "cluster", "gl", "gpu", "sys"});
  bool known = scope >= 0 && (old ? scope != 1 && scope != 3 : scope != 2);
  if (!old)
    known &= decoder.takeOneOf({"sc", "acq_rel", "acquire", "release"}) >= 0;
  if (!known)
    decoder.fail("the scope or kind is not known");
  decoder.finish(0);
  // A fence of the block alone orders nothing for other blocks.
  decoder.emit(scope <= 1 ? nothing : fence);
}

void decodeNanosleep(Decoder &decoder) {
  if (decoder.takeType() != Type::u32)
    decoder.fail("the type must be u32");
  decoder.finish(1);
  decoder.source(0, Type::u32);
  decoder.emit(nothing);
}

constexpr OpcodeRow rows[] = {
    {"bra", decodeBranch},  {"brx", decodeBranchTable},     {"call", decodeCall},
    {"ret", decodeReturn},  {"exit", decodeExit},           {"trap", decodeTrap},
    {"bar", decodeBarrier}, {"barrier", decodeBarrier},     {"membar", decodeFence},
    {"fence", decodeFence}, {"nanosleep", decodeNanosleep},
};

} // namespace

std::span<const OpcodeRow> controlOpcodes() { return rows; }

} // namespace weft::cudasim
