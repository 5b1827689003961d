//===- Engine.h - Running PTX on the CPU -----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of the engine: it reads PTX and runs kernels of it on the CPU, a warp at a time, with checks
// that a GPU does not make. docs/cudasim.md says what it checks and what it does not know. It is a part of
// the tests alone; a substitute for the CUDA driver can stand on it.
//
//   Memory memory;
//   ParseResult parsed = Module::parse(text);
//   parsed.module->load(memory);
//   LaunchResult result = launch(*parsed.module, "axpy", memory, {.grid = {4}, .block = {256}}, parameters);
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_ENGINE_H
#define WEFT_TEST_CUDASIM_ENGINE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cudasim {

struct Program;

/// Whether this processor has the instructions that the engine is compiled for (x86-64-v3). If it does not,
/// nothing else of the engine may be called.
bool processorSuffices();

/// Three sizes or coordinates, in threads or blocks.
struct Dim {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Device memory. Addresses lie outside of the range that user programs can have, so a host that dereferences
/// one crashes as it would with a GPU. An address is never used twice, and every allocation ends at its last
/// byte: the engine finds accesses one byte behind it, before it, and after it was freed.
class Memory {
public:
  /// The first address of device memory, unless a Memory is made with another one.
  static constexpr uint64_t base = 0xF00000000000;
  /// Allocations begin at multiples of this, in bytes.
  static constexpr uint64_t granule = 256;
  /// Larger allocations are not filled with NaN, in bytes: the fill would make their pages real.
  static constexpr uint64_t largestPoisoned = uint64_t(1) << 30;

  /// Reserves addresses for `capacity` bytes in total, of all allocations ever made; pages become real when
  /// they are touched. The addresses begin at `origin`, a multiple of 4096, so that several memories can have
  /// different ones. Throws std::bad_alloc if the system has not that many addresses.
  explicit Memory(uint64_t capacity = uint64_t(64) << 30, uint64_t origin = base);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// The address of `bytes` new bytes, all 0xFF, which is NaN in every float type. 0 if none are left.
  uint64_t allocate(uint64_t bytes);
  /// False if `address` is not that of a live allocation.
  bool free(uint64_t address);
  /// Where `bytes` bytes from `address` are on the host; null if they are not all in one live allocation.
  std::byte *host(uint64_t address, uint64_t bytes);
  /// Bytes of live allocations.
  uint64_t liveBytes() const { return live; }
  /// Number of live allocations.
  size_t liveAllocations() const { return liveCount; }
  /// What lies at an address, in words, for messages.
  std::string describe(uint64_t address) const;
  /// Whether `address` lies in an allocation that was freed.
  bool isFreed(uint64_t address) const;

  /// The host address of an access of `bytes` (a power of two up to 32, aligned), or null. Inline, because it
  /// runs for every lane of every access.
  std::byte *access(uint64_t address, uint32_t bytes) {
    uint64_t offset = address - origin;
    if (offset >= capacity) [[unlikely]]
      return nullptr;
    if ((offset & (granule - 1)) + bytes > valid[offset / granule]) [[unlikely]]
      return nullptr;
    return bytesOfArena + offset;
  }

private:
  struct Allocation {
    uint64_t size;
    bool freed;
  };
  const Allocation *find(uint64_t address, uint64_t *start) const;

  const uint64_t origin, capacity;
  uint64_t next = granule, live = 0;
  size_t liveCount = 0;
  std::byte *bytesOfArena = nullptr;
  /// How many bytes of each granule are allocated, from its start.
  uint16_t *valid = nullptr;
  std::map<uint64_t, Allocation> allocations;
};

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Why a text is not PTX that the engine can run.
struct ParseError {
  int line = 0;       ///< of the text, from 1
  std::string opcode; ///< of the instruction, with its modifiers; empty if it is none
  std::string message;
  std::string str() const;
};

/// A parameter of a kernel: its place among the bytes that a launch gets.
struct Parameter {
  uint32_t offset, size, alignment;
};

/// What a launch has to know of a kernel.
struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;    ///< of all parameters
  uint32_t staticSharedBytes = 0; ///< of the variables, without the gaps that the engine puts between them
  uint32_t localBytes = 0;        ///< a thread
  Dim maxBlock{0, 0, 0};          ///< .maxntid or .reqntid; 0 if there is none
  bool exactBlock = false;        ///< .reqntid
  size_t instructions = 0;
};

struct ParseResult;

/// A PTX text, decoded.
class Module {
public:
  ~Module();
  /// Reads `ptx`. Never crashes, whatever the text; time and memory are bounded by the length of the text and
  /// by fixed limits (see docs/cudasim.md).
  static ParseResult parse(std::string_view ptx);
  const std::vector<KernelInfo> &kernels() const;
  /// Null if there is none of this name.
  const KernelInfo *kernel(std::string_view name) const;
  /// The compute capability of `.target`, 90 for sm_90.
  int target() const;
  /// Allocates and initialises the module's global and constant variables. False if memory is short.
  bool load(Memory &memory);
  /// Frees what `load` allocated.
  void unload(Memory &memory);
  /// Address and size in bytes of a global variable of a loaded module; {0, 0} if there is none.
  std::pair<uint64_t, uint64_t> global(std::string_view name) const;

private:
  friend struct Launcher;
  explicit Module(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program;
};

/// A module, or the reason why there is none.
struct ParseResult {
  std::unique_ptr<Module> module;
  ParseError error;
  explicit operator bool() const { return module != nullptr; }
};

/// Every opcode that the engine knows, without modifiers, sorted.
std::vector<std::string> knownOpcodes();

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

enum class FaultKind {
  outOfBounds,      ///< an access outside of every allocation
  useAfterFree,     ///< an access to memory that was freed
  misaligned,       ///< an address that is no multiple of the size of the access
  readOnly,         ///< a write to constant or parameter memory
  uninitialized,    ///< a read of shared memory that nothing has written (race mode)
  sharedRace,       ///< two threads of a block, not ordered by a barrier (race mode)
  globalRace,       ///< two threads, not ordered by a barrier, or fence and atomic between blocks (race mode)
  divergentBarrier, ///< a block's barrier that not all threads of the warp reach together
  exitedAtBarrier,  ///< a barrier with threads that have ended
  deadlock,         ///< warps that wait for a barrier that the others never reach
  warpMask,         ///< a mask that names lanes which are not there, or leaves out the executing one
  budget,           ///< more steps than the launch may take
  trap,             ///< the instruction `trap`
  assertion,        ///< assert() of the source
  invalidOperand,   ///< an operand whose value is not allowed, such as the number of a barrier
  badLaunch,        ///< the launch itself: sizes, parameters, an unknown kernel
};

/// A short name of the kind, such as "out of bounds".
std::string_view nameOf(FaultKind kind);

/// What went wrong, and where. The fields that do not apply are 0 or empty.
struct Fault {
  FaultKind kind = FaultKind::badLaunch;
  uint32_t bytes = 0;   ///< of the access
  uint64_t address = 0; ///< of the access; in shared and local memory the offset there
  Dim thread{0, 0, 0}, block{0, 0, 0};
  int line = 0; ///< of the PTX text
  std::string opcode, kernel;
  std::string what; ///< the access or rule, in words
  std::string str() const;
};

/// The order of warps between two barriers, and of blocks.
enum class Order { forward, reverse, shuffled };

struct LaunchOptions {
  Dim grid = {}, block = {};
  uint32_t dynamicShared = 0; ///< bytes
  Order order = Order::forward;
  uint64_t seed = 0; ///< of the shuffled order
  bool race = false; ///< whether to look for races and for shared memory that is read before it is written
  /// Whether to count what the launch moves.
  bool counts = false;
  /// If not 0, only so many blocks run, those at the start and at the end of the grid: enough to count what a
  /// large launch moves for each block.
  uint64_t mostBlocks = 0;
  /// Instructions of warps that the launch may execute. An instruction takes some 20 to 40 ns.
  uint64_t budget = uint64_t(1) << 30;
};

/// What the warps of a launch read or wrote in global memory. A request is an instruction of a warp.
struct GlobalTraffic {
  uint64_t requests = 0;
  uint64_t sectors = 0;      ///< of 32 bytes, that the requests move, each for itself
  uint64_t leastSectors = 0; ///< the same if the bytes of each request were one line of memory
  uint64_t uniqueBytes = 0;  ///< of all requests together
};

/// The same for shared memory. A wavefront gives one word of each of 32 banks.
struct SharedTraffic {
  uint64_t requests = 0, wavefronts = 0;
  uint64_t leastWavefronts = 0; ///< without conflicts of banks
};

/// What a launch moved; atomic operations are stores. Constants, parameters and local memory are left out.
struct Traffic {
  GlobalTraffic loads, stores;
  SharedTraffic shared;
};

/// Bytes of global memory, from `begin` up to `end`.
struct Range {
  uint64_t begin = 0, end = 0;
};

/// The value that a kernel has given to the condition of a node of a graph.
struct GraphCondition {
  uint64_t handle = 0;
  uint32_t value = 0;
};

struct LaunchResult {
  std::optional<Fault> fault;
  /// In race mode, the first read of global memory whose value was replaced by ones, because another thread
  /// of the block wrote it and no barrier is between.
  std::optional<Fault> racyRead;
  /// In race mode, what a launch without a fault read and wrote in global memory: sorted, without overlaps.
  /// Volatile, relaxed and acquire loads are left out. `atomics` is what only atomic operations wrote.
  std::vector<Range> reads, writes, atomics;
  std::vector<GraphCondition> conditions; ///< by cudaGraphSetConditional, each once
  uint64_t steps = 0;                     ///< instructions of warps
  Traffic traffic;                        ///< if it was counted
  bool ok() const { return !fault; }
};

/// Runs a kernel to its end, or to the first fault; what it wrote until then stays. `parameters` has the
/// layout of `KernelInfo::parameters`.
LaunchResult launch(const Module &module, std::string_view kernel, Memory &memory,
                    const LaunchOptions &options, std::span<const std::byte> parameters);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_ENGINE_H
