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
  lazy,     ///< values are computed where the program reads them
  eager,    ///< everything is computed after every instruction: what the program means
  compiled, ///< the whole program is one compiled function, where it may be one
};

/// A wrong implementation, to show that the comparison finds it. They change the lazy mode alone.
enum class Defect {
  none,
  lostGradient,    ///< a gradient whose leaf has no handle is zero, once something else was read
  staleView,       ///< a view keeps the elements that it had when it was made
  leakingGuard,    ///< what was recorded while gradients were off passes them
  compilesForEver, ///< each iteration of a loop is another program
};

/// What one instruction did.
struct Step {
  std::string shown; ///< of one that reads: type and bits
  std::string error; ///< of one that was refused: the first line
  /// After it, in programs of odd seeds: the type of each, `g` where it requires a gradient, `d` where it has
  /// one.
  std::string variables;
};

/// What a program shows: the values that it reads, the errors that it meets and, at the end, all that its
/// variables hold.
struct Outcome {
  std::vector<std::string> lines; ///< one for each that is shown: the bits, or "error"
  /// How many compilations there were in iterations of a steady loop from the third on.
  uint64_t lateCompiles = 0;
  bool hasSteadyLoop = false;
  std::set<const Instruction *> refused; ///< instructions that threw an error
  /// Of `record`: one for each instruction that was executed, in order, and then one for each value that is
  /// shown at the end.
  std::vector<Step> steps;
};

/// Nothing where the program is none for this mode: a compiled function meets no error.
std::optional<Outcome> run(const Program &program, Mode mode, Defect defect = Defect::none);

/// Runs the program lazily and writes down what each of its instructions did.
Outcome record(const Program &program);

/// What is wrong with the program's outcome, or an empty text. `compiled` counts the programs that could be
/// compiled, `steady` those whose loop is steady.
struct Statistics {
  uint64_t compiled = 0, steady = 0, shown = 0;
};
std::string check(const Program &program, Statistics &statistics, Defect defect = Defect::none);

/// The program with every instruction left out that is not needed for `check` to complain.
Program shrink(Program program, Defect defect = Defect::none);

} // namespace weft::programs

#endif // WEFT_TEST_PROGRAMS_MACHINE_H
