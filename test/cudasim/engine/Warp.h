//===- Warp.h - The state of a warp and its instructions -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register is 32 values beside each other, one a lane, so that an instruction is a loop over lanes which
// the compiler vectorises. A predicate is one word with a bit a lane. Constants and special registers are
// registers that are filled before the first instruction, so every operand is an offset into the warp's
// registers.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_WARP_H
#define WEFT_TEST_CUDASIM_WARP_H

#include "Engine.h"
#include "Syntax.h"

#include <array>
#include <cstring>

namespace weft::cudasim {

struct Warp;
struct Instruction;
struct Shadow;
struct GlobalShadow;
class TrafficCounter;
struct KernelCode;

constexpr uint32_t lanesOfWarp = 32;
constexpr uint32_t allLanes = ~uint32_t(0);
/// Windows of the generic address space, outside of device memory.
constexpr uint64_t sharedWindow = 0xE00000000000, localWindow = 0xE10000000000, paramWindow = 0xE20000000000;
constexpr uint64_t windowBytes = uint64_t(1) << 32;

/// Executes an instruction for the lanes of `mask`, which is never 0.
using Handler = void (*)(Warp &warp, const Instruction &instruction, uint32_t mask);

/// One step of a warp. An instruction of the text is one or several, if operands are converted.
struct Instruction {
  Handler run = nullptr;
  uint32_t guard = 0; ///< offset of the predicate; meaningless without `guarded`
  bool guarded = false, guardNegated = false;
  uint8_t mode = 0;    ///< what the handler's template does not say, such as a rounding
  uint8_t flags = 0;   ///< the same
  uint32_t target = 0; ///< of a branch
  int line = 0;
  uint32_t opcode = 0; ///< number of the opcode's text in the kernel
  int64_t immediate = 0;
  std::array<uint32_t, 16> operand{}; ///< offsets of registers, results first
};

/// What all warps of a block share.
struct Block {
  const KernelCode *kernel = nullptr;
  Memory *memory = nullptr;
  std::byte *shared = nullptr;
  const uint8_t *sharedValid = nullptr; ///< a byte each: whether it belongs to a variable
  uint32_t sharedBytes = 0;
  const std::byte *parameters = nullptr;
  uint32_t parameterBytes = 0;
  Dim position, blockSize, gridSize;
  Shadow *shadow = nullptr;               ///< null without race mode
  GlobalShadow *globalShadow = nullptr;   ///< the same
  TrafficCounter *traffic = nullptr;      ///< null if nothing is counted
  uint32_t epoch = 1;                     ///< counts barriers of all threads
  uint64_t steps = 0, budget = 0;         ///< of the launch
  bool fenced = false;                    ///< whether a fence follows the last write to global memory
  std::vector<GraphCondition> conditions; ///< that the launch has set
};

/// Bytes that a cp.async has read and that its thread does not see yet.
struct PendingCopy {
  uint32_t lane, destination, bytes, group;
  int line;
  std::array<std::byte, 16> data;
};

/// Why a warp does not run.
enum class WarpState : uint8_t { ready, waiting, ended };

/// How a barrier combines predicates.
enum class BarrierOperation : uint8_t { sync, popc, all, any };

/// Lanes that are at one instruction and do not run now.
struct Group {
  uint32_t pc, lanes;
  bool parked = false; ///< they wait there for other lanes
};

struct Warp {
  std::byte *registers = nullptr;
  uint32_t pc = 0, active = 0, live = 0, all = 0;
  /// The lowest pc of `others`, where the running lanes meet or let them run.
  uint32_t nextPc = ~uint32_t(0);
  uint32_t carry = 0;       ///< the condition code, a bit a lane
  uint32_t epoch = 1;       ///< counts bar.warp.sync
  uint32_t globalEpoch = 0; ///< the phase of global memory that the last bar.warp.sync began
  uint32_t number = 0;
  WarpState state = WarpState::ready;
  Block *block = nullptr;
  const Instruction *current = nullptr;
  std::byte *local = nullptr; ///< of lane 0; lanes are `localStride` apart
  uint32_t localStride = 0;
  const uint8_t *localValid = nullptr;
  std::vector<Group> others;
  bool forced = false; ///< nobody is left whom the running lanes could wait for
  std::vector<PendingCopy> copies;
  std::array<uint32_t, lanesOfWarp> copyGroup{};
  // What the barrier needs to know while the warp waits.
  uint32_t barrier = 0, barrierThreads = 0, barrierResult = 0, barrierPredicate = 0;
  BarrierOperation barrierOperation = BarrierOperation::sync;

  template <class T> T *at(uint32_t offset) { return reinterpret_cast<T *>(registers + offset); }

  /// Lets the lanes of `mask` go on at `target` and the other active lanes behind the branch.
  void branch(uint32_t target, uint32_t mask);
  /// Ends lanes.
  void end(uint32_t mask);
  /// Lets the lanes of `mask` wait at the current instruction while others run. False if no others can: then
  /// the lanes that are missing never come.
  bool park(uint32_t mask);
  /// Lets the lanes with the lowest pc run; called if those that run have reached `nextPc`, or none runs.
  void reconverge();
};

/// Calls `function` with each lane of a mask, in order.
template <class F> inline void forLanes(uint32_t mask, F function) {
  if (mask == allLanes) {
    for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
      function(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    function(uint32_t(__builtin_ctz(mask)));
}

/// Stores results of the lanes of a mask.
template <class T> inline void store(T *to, const T *values, uint32_t mask) {
  if (mask == allLanes) {
    std::memcpy(to, values, sizeof(T) * lanesOfWarp);
    return;
  }
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
    to[lane] = (mask >> lane & 1) ? values[lane] : to[lane];
}

/// Ends the launch with a fault of a lane.
[[noreturn]] void raise(const Warp &warp, FaultKind kind, uint32_t lane, std::string what, uint32_t bytes = 0,
                        uint64_t address = 0);
/// That fault.
Fault makeFault(const Warp &warp, FaultKind kind, uint32_t lane, std::string what, uint32_t bytes,
                uint64_t address);
/// The number of a lane's thread in its block.
inline uint32_t threadOf(const Warp &warp, uint32_t lane) { return warp.number * lanesOfWarp + lane; }
/// The position of the thread of that number.
Dim threadPosition(const Block &block, uint32_t thread);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_WARP_H
