//===- ChooseSchedules.cpp - Chooses the schedule of every fusion ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Schedule.h"
#include "passes/Passes.h"

namespace weft::passes {

#define GEN_PASS_DEF_CHOOSESCHEDULES
#include "passes/Passes.h.inc"

namespace {
struct ChooseSchedules : impl::ChooseSchedulesBase<ChooseSchedules> {
  using ChooseSchedulesBase::ChooseSchedulesBase;

  void runOnOperation() override {
    const ir::TargetDescription *description = ir::findTarget(target);
    if (!description) {
      getOperation().emitError() << "unknown target '" << target << "', expected one of "
                                 << ir::targetNames();
      return signalPassFailure();
    }
    for (ir::FusionOp fusion : getOperation().getOps<ir::FusionOp>()) {
      if (fusion.getSchedule())
        continue;
      ir::ScheduleAttr schedule = ir::chooseSchedule(fusion, *description);
      if (!schedule)
        return signalPassFailure();
      fusion.setScheduleAttr(schedule);
    }
  }
};
} // namespace

} // namespace weft::passes
