//===- ScheduleFields.h - The numbers of a schedule ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule has every number that the code of a kernel depends on. One table lists the fields with their
// names in text, the kinds of fusion that have them, and their bounds; parser, printer, verifier and the
// generators of the tests use it. A new field is an entry here and a line in ScheduleAttribute.cpp. The
// number of tasks is no field, because it may depend on symbols; all fields are known when a kernel is
// compiled.
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

/// The fields, in the order in which they are printed.
enum class ScheduleField : unsigned {
  threads,     ///< threads of a device that share a task; absent on a CPU, where a task has one thread
  resident,    ///< blocks that a multiprocessor holds at a time, for which the compiler limits registers
  vector,      ///< elements of one step of the innermost loop
  chunk,       ///< elements of a task; of a row that threads share, those that they hold in registers
  tileRows,    ///< of a task that is a tile: its size in dimension `tileDim` of the domain
  tileColumns, ///< of a task that is a tile: its size in the innermost dimension that is not 1
  tileDim,     ///< the dimension of a tile's rows
  squares,     ///< the most operands that are transposed through scratch
  lanes,       ///< lanes of a reduction along a row, or of a scan along a line; threads that share it
  partials,    ///< partial results of a reduction along a row
  rows,        ///< rows that a reduction down columns combines at a time; threads that share a column
  block,       ///< columns of a task; of a row that threads share, those that they hold in shared memory
  range,       ///< indices of the written dimension that a task writes to
  prefetch,    ///< distance of prefetches, in bytes; 0: none
  grain,       ///< the fewest tasks that a thread takes at a time
  scratch,     ///< bytes of a thread's scratch memory
  streaming    ///< 1 if stores bypass the cache, otherwise absent
};
inline constexpr size_t numScheduleFields = static_cast<size_t>(ScheduleField::streaming) + 1;

struct ScheduleFieldInfo {
  ScheduleField field;
  bool isRequired; ///< whether every schedule of `kinds` has it
  llvm::StringLiteral name;
  llvm::ArrayRef<FusionKind> kinds; ///< the kinds of fusion that may have it
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

/// The value of an absent field.
inline constexpr int64_t noNumber = std::numeric_limits<int64_t>::min();

/// A schedule under construction; `ScheduleAttr` is the attribute that is made of it.
struct Schedule {
  explicit Schedule(FusionKind kind) : kind(kind) { numbers.fill(noNumber); }

  int64_t &operator[](ScheduleField field) { return numbers[static_cast<size_t>(field)]; }
  int64_t operator[](ScheduleField field) const { return numbers[static_cast<size_t>(field)]; }
  bool has(ScheduleField field) const { return (*this)[field] != noNumber; }

  FusionKind kind;
  std::array<int64_t, numScheduleFields> numbers;
  /// The number of tasks, which are independent; inexpressible until it is known.
  Size tasks = Size::inexpressible();
  /// row, column: the ops whose results one pass keeps for later ones, by their number in the body.
  llvm::SmallVector<int64_t> keep;
};

} // namespace weft::ir

#endif // WEFT_IR_SCHEDULEFIELDS_H
