//===- CudaSchedule.cpp - How a fusion becomes a kernel of a GPU ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread carries out tasks of its own, from the first element to the last, as a thread of a CPU would
// (`threads = 1`): right for every fusion, and what a fusion gets for which there is no better schedule. So
// tasks are as small as their kind allows, that there be many: chunks of 64 elements, and blocks of 16
// columns. Nothing is handed out several at a time, kept in scratch or asked for
// ahead: what a multiprocessor does while a thread waits is to run another.
//
//===----------------------------------------------------------------------===//
#include "ir/Schedule.h"

#include "ir/Updates.h"

using namespace mlir;

namespace weft::ir {

/// The least chunk that the verifier takes, whatever the vector.
static constexpr int64_t leastChunk = 64;

/// Elements of one access: as many of the widest type as fill it.
static int64_t accessWidth(FusionOp fusion, const TargetDescription &target) {
  int64_t widest = 1;
  for (Value value : llvm::concat<const Value>(llvm::to_vector(fusion.getInputs()),
                                               llvm::to_vector<4>(fusion.getResults())))
    widest = std::max(widest, static_cast<int64_t>(itemsize(dtypeOf(value.getType()))));
  return std::max<int64_t>(target.vectorBytes / widest, 1);
}

/// Writes by index stay in order where they may meet: a task has all of those, for one element that shares
/// the index.
static void cutUpdate(Operation *update, Schedule &schedule) {
  if (isa<DynamicUpdateSliceOp>(update)) {
    schedule[ScheduleField::chunk] = leastChunk;
    return;
  }
  const UpdateTiles whole = updateTiles(update, noNumber, noNumber);
  if (whole.inner.number().value_or(0) > 1)
    schedule[ScheduleField::block] = 1;
}

ScheduleAttr chooseFallbackSchedule(FusionOp fusion, const TargetDescription &target) {
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
  if (!schedule.tasks.isExpressible()) {
    fusion.emitOpError() << "has more tasks than can be expressed; make its tensors smaller, or give their "
                            "sizes fewer symbols";
    return {};
  }
  schedule[ScheduleField::scratch] = scratchOf(fusion, schedule);
  return ScheduleAttr::get(fusion.getContext(), schedule);
}

} // namespace weft::ir
