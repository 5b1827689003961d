//===- RandomSchedule.cpp -------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RandomSchedule.h"

#include "ir/Updates.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace weft::testing {

using Field = ir::ScheduleField;

/// A power of two in [least, most].
static int64_t power(int64_t least, int64_t most, std::mt19937_64 &random) {
  SmallVector<int64_t> widths;
  for (int64_t width = least; width <= most; width *= 2)
    widths.push_back(width);
  return widths[random() % widths.size()];
}

/// Small numbers more often than large ones, from 1 on.
static int64_t factor(int64_t most, std::mt19937_64 &random) {
  return 1 +
         static_cast<int64_t>(random() % static_cast<uint64_t>(1 + random() % static_cast<uint64_t>(most)));
}

static void cutLoop(ir::FusionOp fusion, ir::Schedule &schedule, std::mt19937_64 &random) {
  SmallVector<ir::Size> domain = fusion.getDomain();
  std::optional<unsigned> inner = ir::innermostDim(domain);
  bool canTile = fusion.getKind() == ir::FusionKind::loop && !ir::anySymbolic(domain) && inner &&
                 *inner > 0 && fusion.getBody().front().getOps<ir::ConcatOp>().empty();
  for (Field field : {Field::chunk, Field::tileRows, Field::tileColumns, Field::tileDim, Field::squares})
    schedule[field] = ir::noNumber;
  if (canTile && random() % 2) {
    int64_t vector = schedule[Field::vector] = power(1, 16, random);
    schedule[Field::tileRows] = vector * factor(20, random);
    schedule[Field::tileColumns] = vector * factor(20, random);
    schedule[Field::tileDim] = static_cast<int64_t>(random() % *inner);
    schedule[Field::squares] = static_cast<int64_t>(random() % 10);
  } else {
    schedule[Field::vector] = power(1, 64, random);
    schedule[Field::chunk] = 64 * factor(200, random);
  }
}

/// Some of the ops whose results more than one pass needs. With one value kept, another may be needed once
/// only.
static void keepSome(ir::FusionOp fusion, ir::Schedule &schedule, std::mt19937_64 &random) {
  schedule.keep.clear();
  int64_t number = 0;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    (void)op;
    if (random() % 3)
      schedule.keep.push_back(number);
    ++number;
  }
  llvm::erase_if(schedule.keep, [&](int64_t number) {
    Operation *op = &*std::next(fusion.getBody().front().begin(), number);
    auto kept = ir::keptValues(fusion, schedule.keep);
    return llvm::none_of(kept, [&](auto &value) { return value.first.getDefiningOp() == op; });
  });
  // Leaving one out may have made a value needed that was not.
  auto kept = ir::keptValues(fusion, schedule.keep);
  if (kept.size() != schedule.keep.size())
    schedule.keep.clear();
}

ir::ScheduleAttr randomSchedule(ir::FusionOp fusion, std::mt19937_64 &random) {
  ir::Schedule schedule = fusion.getSchedule()->toSchedule();
  schedule[Field::streaming] = ir::noNumber;
  switch (fusion.getKind()) {
  case ir::FusionKind::loop:
    cutLoop(fusion, schedule, random);
    break;
  case ir::FusionKind::row: {
    bool isShort = ir::rowLength(fusion).number().value_or(ir::reductionLanes) < ir::reductionLanes;
    schedule[Field::vector] = power(isShort ? 1 : 2, ir::reductionLanes, random);
    schedule[Field::prefetch] = 64 * static_cast<int64_t>(random() % 100);
    keepSome(fusion, schedule, random);
    break;
  }
  case ir::FusionKind::column:
    schedule[Field::vector] = power(1, 64, random);
    schedule[Field::block] = std::max(schedule[Field::vector], ir::columnStep) * factor(40, random);
    keepSome(fusion, schedule, random);
    break;
  case ir::FusionKind::scan:
    if (schedule.has(Field::block)) {
      schedule[Field::vector] = power(1, 64, random);
      schedule[Field::block] = schedule[Field::vector] * factor(8, random);
    }
    break;
  case ir::FusionKind::update: {
    Operation *update = ir::updateIn(fusion);
    if (isa<ir::DynamicUpdateSliceOp>(update)) {
      cutLoop(fusion, schedule, random);
      break;
    }
    if (isa<ir::IndexUpdateOp>(update))
      schedule[Field::vector] = power(1, 64, random);
    ir::UpdateTiles tiles = ir::updateTiles(update, ir::noNumber, ir::noNumber);
    auto cut = [&](Field field, ir::Size whole) {
      int64_t size = whole.number().value_or(0);
      schedule[field] = size < 1 || random() % 4 == 0 ? ir::noNumber : factor(size, random);
    };
    cut(Field::block, tiles.inner);
    cut(Field::range, tiles.size);
    break;
  }
  case ir::FusionKind::multi_tensor:
    schedule[Field::vector] = power(1, 64, random);
    schedule[Field::chunk] = 64 * factor(200, random);
    break;
  }
  if (ir::mayHave(fusion.getKind(), Field::streaming) && random() % 3 == 0)
    schedule[Field::streaming] = 1;
  schedule.tasks = ir::tasksOf(fusion, schedule);
  int64_t tasks = std::max<int64_t>(ir::rangesOf(fusion).largest(schedule.tasks), 1);
  schedule[Field::grain] = factor(tasks, random);
  schedule[Field::scratch] = ir::scratchOf(fusion, schedule) + static_cast<int64_t>(random() % 100);
  return ir::ScheduleAttr::get(fusion.getContext(), schedule);
}

std::string textOf(ir::ScheduleAttr schedule) {
  std::string text;
  llvm::raw_string_ostream(text) << schedule;
  return text;
}

} // namespace weft::testing
