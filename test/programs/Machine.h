//===- Machine.h - Runs programs of the interface ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_PROGRAMS_MACHINE_H
#define WEFT_TEST_PROGRAMS_MACHINE_H

#include "Program.h"

#include <optional>
#include <set>
#include <vector>

namespace weft::programs {

enum class Mode {
  lazy,     ///< values are computed when the program reads them
  eager,    ///< all values are computed after every instruction; the outcome that the others must have
  compiled, ///< the whole program is one compiled function, if it can be one
};

/// A wrong implementation, which the comparison must find. Defects only change the lazy mode.
enum class Defect {
  none,
  lostGradient,    ///< the gradient of a leaf without a handle becomes zero when another value is read
  staleView,       ///< a view keeps the elements that it had when it was made
  leakingGuard,    ///< gradients flow through operations that were recorded while gradients were off
  compilesForEver, ///< each iteration of a loop is a different program
};

/// The outcome of one instruction.
struct Step {
  std::string shown; ///< the type and the bits of a value that was read
  std::string error; ///< the first line of the error, if the instruction was refused
  /// The variables after it, in programs of odd seeds: the type of each, with `g` if it requires a gradient
  /// and `d` if it has one.
  std::string variables;
};

/// The outcome of a program: the values that it reads, its errors and, at the end, the values of all its
/// variables.
struct Outcome {
  std::vector<std::string> lines; ///< one for each value that is shown: the bits, or "error"
  /// The number of compilations in a steady loop, from the third iteration on.
  uint64_t lateCompiles = 0;
  bool hasSteadyLoop = false;
  std::set<const Instruction *> refused; ///< instructions that threw an error
  /// Only set by `record`: one for each executed instruction, in order, and then one for each value that is
  /// shown at the end.
  std::vector<Step> steps;
};

/// Runs a program. Nothing if it cannot run in this mode: a program with errors is not compiled.
std::optional<Outcome> run(const Program &program, Mode mode, Defect defect = Defect::none);

/// Runs the program lazily and records the outcome of each instruction.
Outcome record(const Program &program);

/// Counts of programs that could be compiled, of programs whose loop is steady, and of values that were
/// shown.
struct Statistics {
  uint64_t compiled = 0, steady = 0, shown = 0;
};
/// Describes what is wrong with the program's outcome, or returns an empty text.
std::string check(const Program &program, Statistics &statistics, Defect defect = Defect::none);

/// The program without the instructions that are not needed for `check` to find a fault.
Program shrink(Program program, Defect defect = Defect::none);

} // namespace weft::programs

#endif // WEFT_TEST_PROGRAMS_MACHINE_H
