//===- ScheduleEdits.h - Programs with another schedule --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes a program through all passes and changes one schedule of its launch list: one field at a time, to
// values that may be wrong, or all of it, to another schedule that is right. What comes out is either refused
// with a message, which one that is right must not be, or gives the bits that the program gave before.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_MUTATE_SCHEDULEEDITS_H
#define WEFT_TEST_MUTATE_SCHEDULEEDITS_H

#include "Mutator.h"

#include <functional>

namespace weft::mutate {

/// A launch list before and after its change.
struct ScheduleEdit {
  std::string before, after;
  bool isRight = false; ///< whether it must be taken
};

struct EditOutcome {
  std::string problem; ///< what is wrong with Weft, or nothing
  bool refused = false;
};

/// Changes a schedule of a program, the same way for the same `seed`, and runs both. `keep` gets the changed
/// launch list before it is compiled, for a report of what happens then.
EditOutcome checkScheduleEdit(const Mutator &mutator, uint64_t seed,
                              const std::function<void(const std::string &)> &keep);

/// The text of a schedule with one field changed, removed, or added.
std::string editField(const std::string &schedule, std::mt19937_64 &random);

} // namespace weft::mutate

#endif // WEFT_TEST_MUTATE_SCHEDULEEDITS_H
