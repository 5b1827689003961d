//===- Program.h - Random programs of the C++ interface ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of test/random are IR. The programs here are like those of users: variables that hold tensors,
// are assigned and go out of scope, writes in place and through views, leaves and their gradients, guards,
// loops, and reads in any order. `Machine.h` runs them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_PROGRAMS_PROGRAM_H
#define WEFT_TEST_PROGRAMS_PROGRAM_H

#include <cstdint>
#include <string>
#include <vector>

namespace weft::programs {

/// The number of variables of a program.
constexpr int variables = 8;
/// The rows and columns of every matrix. All are square, so that most operations fit most operands.
constexpr int64_t size = 4;

enum class Op : uint8_t {
  make,         ///< d = data[a], a square matrix of given data
  fill,         ///< d = a square matrix of `number`
  row,          ///< d = a[i]
  transpose,    ///< d = a.t()
  part,         ///< d = a.narrow(0, i, 2)
  detach,       ///< d = a.detach()
  clone,        ///< d = a.clone()
  alias,        ///< d = a, the same tensor
  unary,        ///< d = f(a)
  scale,        ///< d = a * number
  add,          ///< d = a + b
  mul,          ///< d = a * b
  matmul,       ///< d = matmul(a, b)
  sum,          ///< d = a.sum()
  pick,         ///< d = a.index_select(0, i % rows)
  addInPlace,   ///< a += b
  scaleInPlace, ///< a *= number
  fillInPlace,  ///< a.fill_(number)
  copyInPlace,  ///< a.copy_(b)
  writeRow,     ///< a[i] = number
  drop,         ///< a goes out of scope
  leaf,         ///< a.requires_grad_(i != 0)
  backward,     ///< (a * a.detach()).sum().backward()
  gradient,     ///< d = a.grad()
  gradOf,       ///< d = grad(b.sum(), {a})[0]
  clearGrad,    ///< a.set_grad({})
  keep,         ///< kept.push_back(a)
  read,         ///< prints a
  fail,         ///< prints a.index_select(0, size), which is out of bounds
  noGrad,       ///< turns gradients off, or on again
};

struct Instruction {
  Op op;
  int d = 0, a = 0, b = 0; ///< variables
  int64_t i = 0;
  double number = 0;
};

struct Program {
  uint64_t seed = 0;
  std::vector<Instruction> before, body, after;
  int64_t iterations = 1; ///< of the body

  /// The program as text for people.
  std::string str() const;
};

std::string str(const Instruction &instruction);

/// The elements of the matrix `data[i]` of programs, row by row.
std::vector<float> dataOf(int64_t i);

/// A random program, which is the same for the same seed on every machine.
Program generate(uint64_t seed);

} // namespace weft::programs

#endif // WEFT_TEST_PROGRAMS_PROGRAM_H
