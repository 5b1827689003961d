//===- ScheduleEdits.h - Programs with another schedule --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers a program to its launch list and changes one of its schedules: either one field, to a value that may
// be wrong, or the whole schedule, to another correct one. The changed launch list must be refused with a
// message or give the same bits as the original one. A correct schedule must not be refused.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_MUTATE_SCHEDULEEDITS_H
#define WEFT_TEST_MUTATE_SCHEDULEEDITS_H

#include "Mutator.h"

#include <functional>

namespace weft::mutate {

/// A launch list before and after a change.
struct ScheduleEdit {
  std::string before, after;
  bool isRight = false; ///< whether the changed list is correct and must not be refused
};

struct EditOutcome {
  std::string problem; ///< the fault of Weft; empty if there is none
  bool refused = false;
};

/// Changes a schedule of a program and runs both launch lists. The same `seed` makes the same change. `keep`
/// receives the changed launch list before it is compiled, so that a crash can be reported.
EditOutcome checkScheduleEdit(const Mutator &mutator, uint64_t seed,
                              const std::function<void(const std::string &)> &keep);

/// The text of a schedule with one field changed, removed, or added.
std::string editField(const std::string &schedule, std::mt19937_64 &random);

} // namespace weft::mutate

#endif // WEFT_TEST_MUTATE_SCHEDULEEDITS_H
