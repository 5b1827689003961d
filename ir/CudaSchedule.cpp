//===- CudaSchedule.cpp - Schedules of GPUs -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops are in CudaLoops.cpp. A thread has one vector of them, or a few: the threads of all blocks together
// have as many bytes in flight as the memory needs at full bandwidth: on an H100 2,048 threads of a
// multiprocessor with 16 bytes each.
//
// The schedule of a fusion for which there is no better one: each thread carries out whole tasks, as a thread
// of a CPU does (`threads = 1`). It is correct for every fusion. Tasks are as small as their kind allows, so
// that there are many: chunks of 64 elements, and blocks of 16 columns. A thread takes one task at a time,
// keeps no values in scratch and does not prefetch, because a multiprocessor runs other threads while one
// waits for memory.
//
//===----------------------------------------------------------------------===//
#include "ir/CudaSchedule.h"

#include "ir/CudaLoops.h"
#include "ir/CudaReductions.h"
#include "ir/Schedule.h"
#include "ir/Spills.h"
#include "ir/Updates.h"

using namespace mlir;

namespace weft::ir {

/// The smallest chunk that the verifier accepts for every vector width.
static constexpr int64_t leastChunk = 64;

/// Cuts writes by index so that one task does all writes that may go to one element, in order: a task has the
/// writes of one outer and one inner index.
static void cutUpdate(Operation *update, Schedule &schedule) {
  if (isa<DynamicUpdateSliceOp>(update)) {
    schedule[ScheduleField::chunk] = leastChunk;
    return;
  }
  const UpdateTiles whole = updateTiles(update, noNumber, noNumber);
  if (whole.inner.number().value_or(0) > 1)
    schedule[ScheduleField::block] = 1;
}

static Schedule chooseFallback(FusionOp fusion, const TargetDescription &target) {
  Schedule schedule(fusion.getKind());
  int64_t vector = std::min(accessWidth(fusion, target), reductionLanes);
  switch (fusion.getKind()) {
  case FusionKind::loop:
  case FusionKind::multi_tensor:
    schedule[ScheduleField::chunk] = leastChunk;
    break;
  case FusionKind::row:
    schedule[ScheduleField::lanes] = reductionLanes;
    schedule[ScheduleField::partials] = rowPartials;
    schedule[ScheduleField::prefetch] = 0;
    vector = std::max<int64_t>(vector, 2);
    break;
  case FusionKind::column:
    schedule[ScheduleField::rows] = columnRows;
    schedule[ScheduleField::block] = columnStep;
    break;
  case FusionKind::scan:
    schedule[ScheduleField::lanes] = reductionLanes;
    if (scanShape(fusion).inner == 1)
      vector = reductionLanes;
    else
      schedule[ScheduleField::block] = vector;
    break;
  case FusionKind::update:
    if (isa<ScatterOp>(updateIn(fusion)))
      vector = 1;
    cutUpdate(updateIn(fusion), schedule);
    break;
  }
  schedule[ScheduleField::threads] = 1;
  schedule[ScheduleField::vector] = vector;
  schedule[ScheduleField::grain] = 1;
  schedule.tasks = tasksOf(fusion, schedule);
  if (schedule.tasks.isExpressible())
    schedule[ScheduleField::scratch] = scratchOf(fusion, schedule);
  return schedule;
}

/// The numbers of a schedule but the tasks, grain and scratch, or nothing if there is none for this fusion.
static std::optional<Schedule> chooseNumbers(FusionOp fusion, const TargetDescription &target) {
  Schedule schedule(fusion.getKind());
  switch (fusion.getKind()) {
  case FusionKind::loop:
    chooseCudaLoop(fusion, target, schedule);
    return schedule;
  case FusionKind::row:
    return chooseRowTeams(fusion, target);
  case FusionKind::column:
    return chooseColumnBlocks(fusion, target, accessWidth(fusion, target));
  case FusionKind::scan:
    return chooseScanTeams(fusion, target, accessWidth(fusion, target));
  case FusionKind::update:
    return chooseCudaUpdate(fusion, target, schedule) ? std::optional(schedule) : std::nullopt;
  case FusionKind::multi_tensor:
    chooseCudaSteps(fusion, target, schedule);
    return schedule;
  }
  return std::nullopt;
}

/// The schedule of a fusion of which no kernel has spilled. Its number of tasks may be inexpressible.
static Schedule chooseFirst(FusionOp fusion, const TargetDescription &target) {
  std::optional<Schedule> schedule = chooseNumbers(fusion, target);
  if (!schedule)
    return chooseFallback(fusion, target);
  schedule->tasks = tasksOf(fusion, *schedule);
  if (!schedule->tasks.isExpressible())
    return chooseFallback(fusion, target);
  (*schedule)[ScheduleField::grain] = 1;
  (*schedule)[ScheduleField::scratch] = scratchOf(fusion, *schedule);
  return *schedule;
}

using Choose = Schedule(FusionOp fusion, const TargetDescription &target);
static ScheduleAttr chooseBy(Choose *choose, FusionOp fusion, const TargetDescription &target,
                             ArrayRef<int64_t> spilled) {
  if (!choose(fusion, target).tasks.isExpressible()) {
    fusion.emitOpError() << "has more tasks than can be expressed; make its tensors smaller, or give their "
                            "sizes fewer symbols";
    return {};
  }
  return ScheduleAttr::get(fusion.getContext(),
                           chooseAfterSpills(target, spilled, [&](const TargetDescription &described) {
                             return choose(fusion, described);
                           }));
}

ScheduleAttr chooseFallbackSchedule(FusionOp fusion, const TargetDescription &target) {
  return chooseBy(chooseFallback, fusion, target, {});
}

ScheduleAttr chooseCudaSchedule(FusionOp fusion, const TargetDescription &target, ArrayRef<int64_t> spilled) {
  return chooseBy(chooseFirst, fusion, target, spilled);
}

ScheduleAttr chooseCudaSchedule(FusionOp fusion, const TargetDescription &target) {
  return chooseCudaSchedule(fusion, target, fusion.getSpilled().value_or(ArrayRef<int64_t>()));
}

} // namespace weft::ir
