//===- ScheduleFields.h - The numbers of a schedule ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule holds every number that the shape of a kernel depends on. One table says which fields there are,
// how they are called in text, which kinds of fusion have them, and between which bounds they lie; parser,
// printer, verifier and the generators of the tests go by it. A new field is an entry here and a line in
// ScheduleAttribute.cpp. The number of tasks is no field: it may depend on symbols, all else is known when a
// kernel is made.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SCHEDULEFIELDS_H
#define WEFT_IR_SCHEDULEFIELDS_H

#include "ir/Size.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace weft::ir {

enum class FusionKind : uint32_t;

/// In the order in which they are printed.
enum class ScheduleField : unsigned {
  threads,     ///< of a device, that share a task; absent on a CPU, where a task has one
  vector,      ///< elements that one step of the innermost loop handles
  chunk,       ///< elements of one task
  tileRows,    ///< of a task that is a tile: its extent along the dimension `tileDim` of the domain,
  tileColumns, ///< and along the innermost dimension that is not 1
  tileDim,
  squares,  ///< operands that are transposed by way of scratch, at most
  lanes,    ///< columns that a reduction along a row, or a scan along a line, is computed in
  partials, ///< partial results of a reduction along a row
  rows,     ///< rows that a reduction down columns combines at a time
  block,    ///< columns of one task
  range,    ///< places to write to of one task
  prefetch, ///< bytes that are asked for ahead of those that are read; 0: none
  grain,    ///< tasks that a thread takes at least
  scratch,  ///< bytes that a thread needs beside operands and results
  streaming ///< whether stores bypass the cache: 1, or absent
};
inline constexpr size_t numScheduleFields = static_cast<size_t>(ScheduleField::streaming) + 1;

struct ScheduleFieldInfo {
  ScheduleField field;
  bool isRequired; ///< by every schedule of `kinds`
  llvm::StringLiteral name;
  llvm::ArrayRef<FusionKind> kinds; ///< that may have it
  int64_t least, most;
};
/// One entry for each field, in order.
llvm::ArrayRef<ScheduleFieldInfo> scheduleFields();
inline const ScheduleFieldInfo &infoOf(ScheduleField field) {
  return scheduleFields()[static_cast<size_t>(field)];
}
bool mayHave(FusionKind kind, ScheduleField field);
/// "loop, row, .. or update", for messages.
std::string fusionKindNames();

/// What a field holds that is absent.
inline constexpr int64_t noNumber = std::numeric_limits<int64_t>::min();

/// A schedule that is being put together; `ScheduleAttr` is one that is done.
struct Schedule {
  explicit Schedule(FusionKind kind) : kind(kind) { numbers.fill(noNumber); }

  int64_t &operator[](ScheduleField field) { return numbers[static_cast<size_t>(field)]; }
  int64_t operator[](ScheduleField field) const { return numbers[static_cast<size_t>(field)]; }
  bool has(ScheduleField field) const { return (*this)[field] != noNumber; }

  FusionKind kind;
  std::array<int64_t, numScheduleFields> numbers;
  /// Independent pieces of work; inexpressible until it is known.
  Size tasks = Size::inexpressible();
  /// row, column: ops of the body, by their number in it, whose results one pass stores for later ones.
  llvm::SmallVector<int64_t> keep;
};

} // namespace weft::ir

#endif // WEFT_IR_SCHEDULEFIELDS_H
