//===- Inputs.h - Argument values of random programs -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value of an argument is a function of a seed, the argument's name and its type, so that a program that
// was reduced, or read from a file, gets the values with which it failed. The name has the kind of values:
//
//   plain:N        numbers of moderate size           nonnegative:N  the same without a sign
//   special:N      some are infinities, NaN, the largest or the smallest number
//   index:N:B      integers in [0, B)                 target:N:B     the same, and sometimes -100
//   outside:N:B    integers in [0, B), except the last one and some others
//   fraction:N     a hyper-parameter in [0, 1)        count:N        a small number of steps
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_INPUTS_H
#define WEFT_TEST_RANDOM_INPUTS_H

#include "ir/interp/Interpreter.h"
#include "weft/philox.hpp"

namespace weft::randomtest {

/// The values of one argument.
ir::Literal makeInput(mlir::RankedTensorType type, llvm::StringRef name, uint64_t seed);
/// The values of all arguments, by their attribute `weft.name`. Arguments that `weft-materialize-rng-state`
/// added get the generator's state.
llvm::SmallVector<ir::Literal> makeInputs(ir::FuncOp function, uint64_t seed);
/// The initial state of the generators of a program with this seed.
ir::InterpreterOptions makeGenerators(uint64_t seed);
/// The name of the only generator that programs use.
inline constexpr llvm::StringLiteral kGenerator = "noise";

/// A random choice by weights: `pick({6, 3, 1})` is 0 in six of ten cases.
inline size_t pick(PhiloxSequence &random, std::initializer_list<unsigned> weights) {
  uint64_t total = 0;
  for (unsigned weight : weights)
    total += weight;
  uint64_t at = random.below(total);
  size_t i = 0;
  for (unsigned weight : weights) {
    if (at < weight)
      return i;
    at -= weight;
    ++i;
  }
  return 0;
}
/// True in one of `n` cases.
inline bool oneIn(PhiloxSequence &random, uint64_t n) { return random.below(n) == 0; }

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_INPUTS_H
