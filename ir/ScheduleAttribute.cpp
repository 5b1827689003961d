//===- ScheduleAttribute.cpp - The fields of a schedule, and their text ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// The fields
//===----------------------------------------------------------------------===//

ArrayRef<ScheduleFieldInfo> scheduleFields() {
  using enum FusionKind;
  static constexpr FusionKind all[] = {loop, row, column, multi_tensor, scan, update};
  static constexpr FusionKind chunks[] = {loop, row, multi_tensor, update}, loops[] = {loop},
                              tiles[] = {loop, update}, lines[] = {row, scan}, rows[] = {row},
                              columns[] = {column}, blocks[] = {row, column, scan, update},
                              updates[] = {update}, streams[] = {loop, row, column};
  // The bounds keep arithmetic far from overflow, and limit the size of kernels and scratch: a kernel has
  // code for each square, and code and registers for each lane.
  static constexpr int64_t elements = int64_t(1) << 30, tile = 1 << 20, any = INT64_MAX;
  constexpr bool required = true, optional = false;
  static constexpr ScheduleFieldInfo table[] = {
      {ScheduleField::threads, optional, "threads", all, 1, 1024},
      {ScheduleField::resident, optional, "resident", all, 1, 32},
      {ScheduleField::vector, required, "vector", all, 1, 64},
      {ScheduleField::chunk, optional, "chunk", chunks, 1, elements},
      {ScheduleField::tileRows, optional, "tile_rows", tiles, 1, tile},
      {ScheduleField::tileColumns, optional, "tile_columns", tiles, 1, tile},
      {ScheduleField::tileDim, optional, "tile_dim", tiles, 0, 63},
      {ScheduleField::squares, optional, "squares", loops, 0, 64},
      {ScheduleField::lanes, required, "lanes", lines, 1, 1024},
      {ScheduleField::partials, required, "partials", rows, 1, 4096},
      {ScheduleField::rows, required, "rows", columns, 1, 64},
      {ScheduleField::block, optional, "block", blocks, 1, elements},
      {ScheduleField::range, optional, "range", updates, 1, any},
      {ScheduleField::prefetch, required, "prefetch", rows, 0, 1 << 20},
      {ScheduleField::grain, required, "grain", all, 1, any},
      {ScheduleField::scratch, required, "scratch", all, 0, int64_t(1) << 32},
      {ScheduleField::streaming, optional, "streaming", streams, 1, 1},
  };
  static_assert(std::size(table) == numScheduleFields);
  return table;
}

bool mayHave(FusionKind kind, ScheduleField field) { return llvm::is_contained(infoOf(field).kinds, kind); }

/// Whether kernels of this kind may take several passes over the same elements.
static bool mayKeep(FusionKind kind) { return kind == FusionKind::row || kind == FusionKind::column; }

Schedule ScheduleAttr::toSchedule() const {
  Schedule schedule(getKind());
  llvm::copy(getNumbers(), schedule.numbers.begin());
  schedule.tasks = getTasks();
  schedule.keep.assign(getKeep().begin(), getKeep().end());
  return schedule;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// In text, the number of tasks comes before this field.
static constexpr ScheduleField beforeWhich = ScheduleField::grain;

/// The fields that a schedule of the kind may have: "vector, chunk, tasks, grain, scratch and streaming".
static std::string fieldNames(FusionKind kind) {
  SmallVector<StringRef> names;
  for (const ScheduleFieldInfo &info : scheduleFields()) {
    if (info.field == beforeWhich)
      names.push_back("tasks");
    if (mayHave(kind, info.field))
      names.push_back(info.name);
  }
  if (mayKeep(kind))
    names.push_back("keep");
  StringRef last = names.pop_back_val();
  return llvm::join(names, ", ") + " and " + last.str();
}

std::string fusionKindNames() {
  SmallVector<StringRef> names;
  for (uint32_t kind = 0; kind <= getMaxEnumValForFusionKind(); ++kind)
    names.push_back(stringifyFusionKind(static_cast<FusionKind>(kind)));
  StringRef last = names.pop_back_val();
  return llvm::join(names, ", ") + " or " + last.str();
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  auto loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseLess() || parser.parseKeyword(&word))
    return {};
  auto kind = symbolizeFusionKind(word);
  if (!kind) {
    parser.emitError(loc) << "unknown schedule '" << word << "', expected " << fusionKindNames();
    return {};
  }
  Schedule schedule(*kind);
  bool hasKeep = false, hasTasks = false;
  while (succeeded(parser.parseOptionalComma())) {
    auto at = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return {};
    bool isKeep = word == "keep", isTasks = word == "tasks";
    const auto *info = llvm::find_if(scheduleFields(), [&](const auto &each) { return each.name == word; });
    bool isKnown =
        isTasks || (isKeep ? mayKeep(*kind) : info != scheduleFields().end() && mayHave(*kind, info->field));
    if (!isKnown) {
      parser.emitError(at) << "a schedule of kind " << stringifyFusionKind(*kind) << " has no '" << word
                           << "', only " << fieldNames(*kind);
      return {};
    }
    if (isTasks ? hasTasks : isKeep ? hasKeep : schedule.has(info->field)) {
      parser.emitError(at) << "'" << word << "' stands twice in a schedule";
      return {};
    }
    if (isKeep) {
      hasKeep = true;
      if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
            return parser.parseInteger(schedule.keep.emplace_back());
          }))
        return {};
      continue;
    }
    if (isTasks) {
      hasTasks = true;
      if (parser.parseEqual() || parseSizeText(parser, schedule.tasks))
        return {};
      continue;
    }
    int64_t &number = schedule[info->field];
    if (info->field == ScheduleField::streaming) {
      number = 1;
      continue;
    }
    if (parser.parseEqual() || parser.parseInteger(number))
      return {};
  }
  if (parser.parseGreater())
    return {};
  if (!hasTasks) {
    parser.emitError(loc) << "a schedule of kind " << stringifyFusionKind(*kind) << " needs 'tasks'";
    return {};
  }
  return parser.getChecked<ScheduleAttr>(loc, parser.getContext(), *kind, ArrayRef(schedule.numbers),
                                         schedule.tasks, ArrayRef(schedule.keep));
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyFusionKind(getKind());
  for (const ScheduleFieldInfo &info : scheduleFields()) {
    if (info.field == beforeWhich)
      printer << ", tasks = " << sizeText(getTasks());
    if (has(info.field) && info.field != ScheduleField::streaming)
      printer << ", " << info.name << " = " << number(info.field);
  }
  if (!getKeep().empty())
    printer << ", keep = [" << getKeep() << "]";
  if (getStreaming())
    printer << ", streaming";
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Checks that do not need the fusion
//===----------------------------------------------------------------------===//

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, FusionKind kind,
                                   ArrayRef<int64_t> numbers, Size tasks, ArrayRef<int64_t> keep) {
  for (const ScheduleFieldInfo &info : scheduleFields()) {
    int64_t number = numbers[static_cast<size_t>(info.field)];
    if (number == noNumber) {
      if (info.isRequired && mayHave(kind, info.field))
        return emitError() << "a schedule of kind " << stringifyFusionKind(kind) << " needs '" << info.name
                           << "'";
      continue;
    }
    if (!mayHave(kind, info.field))
      return emitError() << "a schedule of kind " << stringifyFusionKind(kind) << " has no '" << info.name
                         << "'";
    if (info.field == ScheduleField::vector &&
        (number < 1 || number > info.most || !llvm::isPowerOf2_64(static_cast<uint64_t>(number))))
      return emitError() << "vector width " << number << " is not a power of two in [1, 64]";
    if (number < info.least || number > info.most)
      return emitError() << "a schedule needs " << info.name << " in [" << info.least << ", " << info.most
                         << "], found " << number;
  }
  if (!tasks.isCount())
    return emitError() << "a schedule needs tasks >= 0, found " << sizeText(tasks);
  if (!mayKeep(kind) && !keep.empty())
    return emitError() << "a schedule of kind " << stringifyFusionKind(kind) << " has no 'keep'";
  for (auto [i, op] : llvm::enumerate(keep))
    if (op < 0 || (i > 0 && op <= keep[i - 1]))
      return emitError() << "a schedule keeps ops in the order of their numbers, found keep = [" << keep
                         << "]";
  return success();
}

} // namespace weft::ir
