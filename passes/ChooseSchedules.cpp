//===- ChooseSchedules.cpp - Chooses the schedule of every fusion ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/Schedule.h"
#include "ir/Target.h"
#include "passes/Passes.h"

namespace weft::passes {

#define GEN_PASS_DEF_CHOOSESCHEDULES
#include "passes/Passes.h.inc"

namespace {
struct ChooseSchedules : impl::ChooseSchedulesBase<ChooseSchedules> {
  using ChooseSchedulesBase::ChooseSchedulesBase;

  void runOnOperation() override {
    const std::optional<ir::Target> machine = ir::parseTarget(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    std::vector<ir::Decision> decisions;
    for (ir::FusionOp fusion : getOperation().getOps<ir::FusionOp>()) {
      if (fusion.getSchedule())
        continue;
      const ir::DeviceAttr device = ir::deviceOf(fusion.getResultTypes().front());
      const ir::TargetDescription *description = ir::describe(fusion, device, *machine);
      if (!description)
        return signalPassFailure();
      ir::ScheduleAttr schedule = ir::chooseSchedule(fusion, *description);
      if (!schedule)
        return signalPassFailure();
      fusion.setScheduleAttr(schedule);
      if (report && !description->isCpu() && ir::isFallback(schedule.toSchedule()))
        decisions.push_back(
            {"WEFT-F009", ir::locationText(fusion.getLoc()),
             ("weft.fusion " + ir::stringifyFusionKind(fusion.getKind())).str(), "", 0,
             "one thread a task: there is no schedule of this kind for " + description->fullName()});
    }
    ir::recordDecisions(getOperation(), decisions);
  }
};
} // namespace

} // namespace weft::passes
