//===- Spills.cpp - Schedules after a kernel that spilled -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Spills.h"

#include "ir/Dialect.h"
#include "ir/Schedule.h"

#include "llvm/ADT/STLExtras.h"

namespace weft::ir {

/// Whether two schedules make the same kernel.
static bool isSame(const Schedule &a, const Schedule &b) {
  return a.numbers == b.numbers && a.keep == b.keep;
}

int64_t registersFor(const TargetDescription &target, int64_t threads) {
  constexpr int64_t unit = 8; // per thread, which warpRegisterUnit is for a warp
  return std::min(target.threadRegisters, target.coreRegisters / threads / unit * unit);
}

/// Adds the schedules with `resident` blocks: those with most threads a multiprocessor first, and one of each
/// number of registers that a thread may have.
static void addResident(const TargetDescription &target, int64_t registers, llvm::ArrayRef<Schedule> blocks,
                        llvm::SmallVector<Schedule> &into) {
  llvm::SmallVector<Schedule> found;
  for (Schedule schedule : blocks) {
    const int64_t shared = isFallback(schedule) ? 0 : schedule[ScheduleField::scratch];
    int64_t resident = residentBlocks(target, blockThreads(schedule), registers, shared);
    for (; resident >= 1; --resident) {
      schedule[ScheduleField::resident] = resident;
      found.push_back(schedule);
    }
  }
  auto threads = [](const Schedule &schedule) {
    return schedule[ScheduleField::resident] * blockThreads(schedule);
  };
  llvm::sort(found, [&](const Schedule &a, const Schedule &b) {
    return std::pair(threads(a), blockThreads(a)) > std::pair(threads(b), blockThreads(b));
  });
  int64_t before = 0;
  for (const Schedule &schedule : found) {
    const int64_t budget = registersFor(target, threads(schedule));
    if (budget > before)
      into.push_back(schedule);
    before = budget;
  }
}

/// Adds a schedule with as many `resident` blocks as have all registers that a thread may have.
static void addWithAllRegisters(const TargetDescription &target, Schedule schedule,
                                llvm::SmallVector<Schedule> &into) {
  const int64_t shared = isFallback(schedule) ? 0 : schedule[ScheduleField::scratch];
  schedule[ScheduleField::resident] =
      std::max<int64_t>(residentBlocks(target, blockThreads(schedule), target.threadRegisters, shared), 1);
  into.push_back(schedule);
}

llvm::SmallVector<Schedule> schedulesAfterSpill(const TargetDescription &target, int64_t registers,
                                                ChooseForTarget choose) {
  llvm::SmallVector<Schedule> found, blocks{choose(target)};
  TargetDescription smaller = target;
  constexpr int64_t leastThreads = 128;
  while (blocks.back().kind == FusionKind::column && blockThreads(blocks.back()) > leastThreads) {
    smaller.blockThreads = blockThreads(blocks.back()) / 2;
    Schedule next = choose(smaller);
    if (blockThreads(next) >= blockThreads(blocks.back()))
      break;
    blocks.push_back(next);
  }
  // A kernel that has all registers that a thread can have does not get more.
  if (registers < target.threadRegisters)
    addResident(target, registers, blocks, found);
  TargetDescription narrower = target;
  Schedule last = blocks.front();
  auto add = [&](const Schedule &next) {
    if (isSame(next, last))
      return false;
    found.push_back(next);
    last = next;
    return true;
  };
  bool isNarrower = false;
  while (narrower.vectorBytes > 4) {
    narrower.vectorBytes /= 2;
    narrower.threadRegisters /= 2;
    isNarrower |= add(choose(narrower));
  }
  if (isNarrower)
    addWithAllRegisters(target, last, found);
  narrower.threadRegisters = 0;
  if (add(choose(narrower)))
    addWithAllRegisters(target, last, found);
  narrower.vectorBytes = 1;
  if (add(choose(narrower)))
    addWithAllRegisters(target, last, found);
  return found;
}

Schedule chooseAfterSpills(const TargetDescription &target, llvm::ArrayRef<int64_t> spilled,
                           ChooseForTarget choose) {
  if (!spilled.empty()) {
    const llvm::SmallVector<Schedule> schedules = schedulesAfterSpill(target, spilled.front(), choose);
    if (spilled.size() <= schedules.size())
      return schedules[spilled.size() - 1];
  }
  return choose(target);
}

} // namespace weft::ir
