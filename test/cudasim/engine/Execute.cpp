//===- Execute.cpp - Warps, blocks and launches --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Program.h"
#include "Shadow.h"
#include "Traffic.h"

#include <algorithm>
#include <numeric>

namespace weft::cudasim {

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

std::string_view nameOf(FaultKind kind) {
  constexpr std::string_view names[] = {"out of bounds",
                                        "use after free",
                                        "misaligned",
                                        "read only",
                                        "uninitialized",
                                        "race in shared memory",
                                        "race in global memory",
                                        "divergent barrier",
                                        "barrier with ended threads",
                                        "deadlock",
                                        "warp mask",
                                        "step budget",
                                        "trap",
                                        "assertion",
                                        "invalid operand",
                                        "bad launch"};
  return names[size_t(kind)];
}

namespace {

std::string positionText(const Dim &position) {
  return "(" + std::to_string(position.x) + "," + std::to_string(position.y) + "," +
         std::to_string(position.z) + ")";
}
std::string hexadecimal(uint64_t value) {
  std::string text;
  do
    text.insert(text.begin(), "0123456789abcdef"[value & 15]);
  while (value >>= 4);
  return "0x" + text;
}

} // namespace

std::string Fault::str() const {
  std::string text(nameOf(kind));
  text += ": " + what;
  if (bytes)
    text += ", " + std::to_string(bytes) + " bytes at " + hexadecimal(address);
  if (line)
    text += ", by thread " + positionText(thread) + " of block " + positionText(block) + ", PTX line " +
            std::to_string(line) + " (" + opcode + ") of " + kernel;
  return text;
}

Dim threadPosition(const Block &block, uint32_t thread) {
  return {thread % block.blockSize.x, thread / block.blockSize.x % block.blockSize.y,
          thread / block.blockSize.x / block.blockSize.y};
}

Fault makeFault(const Warp &warp, FaultKind kind, uint32_t lane, std::string what, uint32_t bytes,
                uint64_t address) {
  Fault fault;
  fault.kind = kind;
  fault.bytes = bytes;
  fault.address = address;
  fault.thread = threadPosition(*warp.block, threadOf(warp, lane));
  fault.block = warp.block->position;
  fault.line = warp.current->line;
  fault.opcode = warp.block->kernel->opcodes[warp.current->opcode];
  fault.kernel = warp.block->kernel->info.name;
  fault.what = std::move(what);
  return fault;
}

void raise(const Warp &warp, FaultKind kind, uint32_t lane, std::string what, uint32_t bytes,
           uint64_t address) {
  throw makeFault(warp, kind, lane, std::move(what), bytes, address);
}

//===----------------------------------------------------------------------===//
// Lanes that part and meet
//===----------------------------------------------------------------------===//

void Warp::reconverge() {
  if (active)
    others.push_back({pc, active});
  active = 0;
  forced = false;
  nextPc = ~uint32_t(0);
  if (others.empty()) {
    state = WarpState::ended;
    return;
  }
  auto before = [](const Group &a, const Group &b) { return a.parked != b.parked ? b.parked : a.pc < b.pc; };
  auto first = std::min_element(others.begin(), others.end(), before);
  forced = first->parked;
  pc = first->pc;
  for (const Group &group : others)
    if (group.pc == pc)
      active |= group.lanes;
  std::erase_if(others, [&](const Group &group) { return group.pc == pc; });
  for (const Group &group : others)
    nextPc = std::min(nextPc, group.pc);
}

bool Warp::park(uint32_t mask) {
  if (forced || (others.empty() && mask == active))
    return false;
  others.push_back({pc - 1, mask, true});
  active &= ~mask;
  reconverge();
  return true;
}

void Warp::branch(uint32_t target, uint32_t mask) {
  if (mask == active) {
    pc = target;
    return;
  }
  others.push_back({target, mask});
  active &= ~mask;
  reconverge();
}

void Warp::end(uint32_t mask) {
  live &= ~mask;
  active &= ~mask;
  if (!active)
    reconverge();
}

namespace {

/// Executes a warp until it waits or ends.
void run(Warp &warp, const Instruction *code) {
  Block &block = *warp.block;
  while (warp.state == WarpState::ready) {
    if (warp.pc >= warp.nextPc) [[unlikely]]
      warp.reconverge();
    const Instruction &instruction = code[warp.pc];
    uint32_t mask = warp.active;
    if (instruction.guarded)
      mask &= *warp.at<uint32_t>(instruction.guard) ^ (instruction.guardNegated ? allLanes : 0);
    ++warp.pc;
    warp.current = &instruction;
    if (++block.steps > block.budget) [[unlikely]]
      raise(warp, FaultKind::budget, uint32_t(__builtin_ctz(warp.active)),
            "more than " + std::to_string(block.budget) + " steps");
    if (mask)
      instruction.run(warp, instruction, mask);
    if (block.traffic) [[unlikely]]
      block.traffic->finish();
  }
}

uint64_t nextRandom(uint64_t &state) {
  state += 0x9E3779B97F4A7C15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

void arrange(std::vector<uint32_t> &order, Order kind, uint64_t &random) {
  std::iota(order.begin(), order.end(), 0);
  if (kind == Order::reverse)
    std::reverse(order.begin(), order.end());
  if (kind == Order::shuffled)
    for (size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1], order[nextRandom(random) % k]);
}

} // namespace

//===----------------------------------------------------------------------===//
// A launch
//===----------------------------------------------------------------------===//

struct Launcher {
  Launcher(const Module &module, Memory &memory, const LaunchOptions &options,
           std::span<const std::byte> parameters)
      : program(*module.program), memory(memory), options(options), parameters(parameters),
        random(options.seed) {}

  LaunchResult run(std::string_view name) {
    LaunchResult result;
    if (std::optional<std::string> refused = refuse(name)) {
      result.fault.emplace();
      result.fault->what = *refused;
      result.fault->kernel = name;
      return result;
    }
    prepare();
    try {
      blocks();
    } catch (const Fault &fault) {
      result.fault = fault;
    }
    result.steps = block.steps;
    result.conditions = std::move(block.conditions);
    if (globalShadow) {
      result.racyRead = globalShadow->racyRead();
      if (result.ok()) {
        result.reads = globalShadow->touched(Access::read);
        result.writes = globalShadow->touched(Access::write);
        result.atomics = globalShadow->touched(Access::atomic);
      }
    }
    if (traffic)
      result.traffic = traffic->traffic();
    return result;
  }

private:
  std::optional<std::string> refuse(std::string_view name);
  void prepare();
  void fillConstants(std::byte *registers);
  void fillSpecials(Warp &warp, bool ofBlock);
  void blocks();
  void runBlock(uint64_t number);
  void begin(Warp &warp);
  bool release();
  void finishBarrier(const std::vector<Warp *> &waiting);

  const Program &program;
  Memory &memory;
  const LaunchOptions &options;
  std::span<const std::byte> parameters;
  uint64_t random;
  const KernelCode *kernel = nullptr;
  Block block;
  std::vector<Warp> warps;
  std::vector<std::byte> registers, shared, local;
  std::vector<uint8_t> sharedValid;
  std::optional<Shadow> shadow;
  std::optional<GlobalShadow> globalShadow;
  std::optional<TrafficCounter> traffic;
};

std::optional<std::string> Launcher::refuse(std::string_view name) {
  for (const KernelCode &one : program.kernels)
    if (one.info.name == name)
      kernel = &one;
  if (!kernel)
    return "the module has no kernel of this name";
  for (const GlobalVariable &one : program.variables)
    if (!one.address)
      return "the module is not loaded";
  const Dim &grid = options.grid, &size = options.block, &most = kernel->info.maxBlock;
  if (!grid.count() || !size.count() || grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
    return "the grid has an invalid size";
  if (size.x > 1024 || size.y > 1024 || size.z > 64 || size.count() > 1024)
    return "the block has more than 1,024 threads, or a dimension that is too large";
  bool exact = size.x == most.x && size.y == most.y && size.z == most.z;
  if (most.count() && (kernel->info.exactBlock ? !exact : size.count() > most.count()))
    return "the block has " + std::to_string(size.count()) + " threads, and the kernel is compiled for " +
           std::to_string(most.count());
  if (kernel->info.staticSharedBytes + uint64_t(options.dynamicShared) > 227 * 1024)
    return "the block needs more than 227 KiB of shared memory";
  if (parameters.size() != kernel->info.parameterBytes)
    return "the parameters have " + std::to_string(parameters.size()) + " bytes, and the kernel expects " +
           std::to_string(kernel->info.parameterBytes);
  return {};
}

void Launcher::fillConstants(std::byte *to) {
  for (const ConstantSlot &one : kernel->constants) {
    uint64_t bits = one.bits + (one.variable < 0 ? 0 : program.variables[size_t(one.variable)].address);
    for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
      std::memcpy(to + one.offset + lane * one.bytes, &bits, one.bytes);
  }
}

void Launcher::prepare() {
  size_t count = (options.block.count() + lanesOfWarp - 1) / lanesOfWarp;
  block.kernel = kernel;
  block.memory = &memory;
  block.blockSize = options.block;
  block.gridSize = options.grid;
  block.budget = options.budget;
  block.parameters = parameters.data();
  block.parameterBytes = uint32_t(parameters.size());
  sharedValid = kernel->sharedValid;
  if (kernel->usesDynamicShared)
    sharedValid.insert(sharedValid.end(), options.dynamicShared, 1);
  block.sharedValid = sharedValid.data();
  block.sharedBytes = uint32_t(sharedValid.size());
  shared.resize(sharedValid.size());
  block.shared = shared.data();
  if (options.race) {
    block.shadow = &shadow.emplace(uint32_t(sharedValid.size()));
    block.globalShadow = &globalShadow.emplace();
  }
  if (options.counts)
    block.traffic = &traffic.emplace();
  // Registers that nothing has written are NaN, or -1.
  registers.assign(count * kernel->registerBytes + 64, std::byte(0xFF));
  uint32_t stride = uint32_t(kernel->localValid.size());
  local.resize(count * lanesOfWarp * stride);
  warps.resize(count);
  for (size_t k = 0; k < count; ++k) {
    Warp &warp = warps[k];
    warp.registers = registers.data() + k * kernel->registerBytes;
    warp.number = uint32_t(k);
    warp.block = &block;
    warp.local = local.data() + k * lanesOfWarp * stride;
    warp.localStride = stride;
    warp.localValid = kernel->localValid.data();
    fillConstants(warp.registers);
    fillSpecials(warp, /*ofBlock=*/false);
  }
}

/// Special registers that differ between blocks, or the others, which no instruction changes.
void Launcher::fillSpecials(Warp &warp, bool ofBlock) {
  for (const SpecialSlot &slot : kernel->specials) {
    if ((slot.special >= Special::ctaidX && slot.special <= Special::ctaidZ) != ofBlock)
      continue;
    for (uint32_t lane = 0; lane < lanesOfWarp; ++lane) {
      Dim thread = threadPosition(block, threadOf(warp, lane));
      uint64_t bit = uint64_t(1) << lane;
      uint64_t values[] = {thread.x,
                           thread.y,
                           thread.z,
                           block.blockSize.x,
                           block.blockSize.y,
                           block.blockSize.z,
                           block.position.x,
                           block.position.y,
                           block.position.z,
                           block.gridSize.x,
                           block.gridSize.y,
                           block.gridSize.z,
                           lane,
                           warp.number,
                           warps.size(),
                           0,
                           1,
                           1,
                           bit,
                           (bit << 1) - 1,
                           bit - 1,
                           ~(bit - 1),
                           ~((bit << 1) - 1),
                           options.dynamicShared,
                           kernel->info.staticSharedBytes + options.dynamicShared};
      uint64_t value = values[size_t(slot.special)];
      if (slot.special == Special::gridid)
        warp.at<uint64_t>(slot.offset)[lane] = value;
      else
        warp.at<uint32_t>(slot.offset)[lane] = uint32_t(value);
    }
  }
}

void Launcher::begin(Warp &warp) {
  uint64_t threads = options.block.count() - uint64_t(warp.number) * lanesOfWarp;
  warp.all = warp.live = warp.active = threads >= lanesOfWarp ? allLanes : (1u << threads) - 1;
  warp.pc = 0;
  warp.nextPc = ~uint32_t(0);
  warp.carry = 0;
  warp.epoch = 1;
  warp.globalEpoch = 0;
  warp.state = WarpState::ready;
  warp.others.clear();
  warp.copies.clear();
  warp.copyGroup.fill(0);
  fillSpecials(warp, /*ofBlock=*/true);
}

void Launcher::finishBarrier(const std::vector<Warp *> &waiting) {
  uint32_t threads = 0, holds = 0;
  for (const Warp *warp : waiting) {
    threads += uint32_t(__builtin_popcount(warp->all));
    holds += uint32_t(__builtin_popcount(warp->barrierPredicate));
  }
  for (Warp *warp : waiting) {
    if (warp->barrierOperation == BarrierOperation::popc) {
      std::fill_n(warp->at<uint32_t>(warp->barrierResult), lanesOfWarp, holds);
    } else if (warp->barrierOperation != BarrierOperation::sync) {
      bool value = warp->barrierOperation == BarrierOperation::all ? holds == threads : holds > 0;
      *warp->at<uint32_t>(warp->barrierResult) = value ? allLanes : 0;
    }
    warp->state = WarpState::ready;
  }
}

/// Lets the warps go on whose barrier is complete. False if there are none.
bool Launcher::release() {
  bool any = false;
  for (uint32_t number = 0; number < 16; ++number) {
    std::vector<Warp *> waiting;
    for (Warp &warp : warps)
      if (warp.state == WarpState::waiting && warp.barrier == number)
        waiting.push_back(&warp);
    if (waiting.empty())
      continue;
    size_t needed = warps.size();
    if (waiting[0]->barrierThreads)
      needed = waiting[0]->barrierThreads / lanesOfWarp;
    if (waiting.size() != needed)
      continue;
    if (waiting.size() == warps.size()) {
      ++block.epoch;
      if (globalShadow)
        globalShadow->endEpoch();
    }
    finishBarrier(waiting);
    any = true;
  }
  return any;
}

void Launcher::runBlock(uint64_t number) {
  const Dim &grid = options.grid;
  block.position = {uint32_t(number % grid.x), uint32_t(number / grid.x % grid.y),
                    uint32_t(number / grid.x / grid.y)};
  block.epoch = 1;
  block.fenced = false;
  std::fill(shared.begin(), shared.end(), std::byte(0xFF));
  std::fill(local.begin(), local.end(), std::byte(0xFF));
  if (shadow)
    shadow->clear();
  if (globalShadow)
    globalShadow->begin(uint32_t(number));
  for (Warp &warp : warps)
    begin(warp);
  std::vector<uint32_t> order(warps.size());
  while (true) {
    arrange(order, options.order, random);
    for (uint32_t k : order)
      cudasim::run(warps[k], kernel->code.data());
    auto waits = std::find_if(warps.begin(), warps.end(),
                              [](const Warp &warp) { return warp.state == WarpState::waiting; });
    if (waits == warps.end())
      return;
    if (!release())
      raise(*waits, FaultKind::deadlock, uint32_t(__builtin_ctz(waits->live)),
            "barrier that other warps of the block never reach");
  }
}

void Launcher::blocks() {
  uint64_t count = options.grid.count();
  if (options.mostBlocks && options.mostBlocks < count) {
    for (uint64_t k = 0; k < options.mostBlocks; ++k)
      runBlock(k < (options.mostBlocks + 1) / 2 ? k : count - options.mostBlocks + k);
    return;
  }
  if (options.order != Order::shuffled) {
    for (uint64_t k = 0; k < count; ++k)
      runBlock(options.order == Order::reverse ? count - 1 - k : k);
    return;
  }
  // A permutation of many blocks without a list of them: a stride that has no factor in common with their
  // number.
  uint64_t stride = nextRandom(random) % count + 1, start = nextRandom(random) % count;
  while (std::gcd(stride, count) != 1)
    stride = stride % count + 1;
  for (uint64_t k = 0; k < count; ++k)
    runBlock(uint64_t((start + (unsigned __int128)(stride)*k) % count));
}

LaunchResult launch(const Module &module, std::string_view kernel, Memory &memory,
                    const LaunchOptions &options, std::span<const std::byte> parameters) {
  return Launcher(module, memory, options, parameters).run(kernel);
}

} // namespace weft::cudasim
