//===- Program.h - Random programs of the C++ interface ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of test/random are IR. The programs here are like those of users: variables that hold tensors,
// are assigned and go out of scope, writes in place and through views, leaves and their gradients, guards,
// loops, and reads in any order. `Machine.h` runs them. There are programs of matrices of f32, of all dtypes,
// and of modules and optimisers.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_PROGRAMS_PROGRAM_H
#define WEFT_TEST_PROGRAMS_PROGRAM_H

#include <cstdint>
#include <string>
#include <string_view>
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

  // Of dtypes.
  typed,         ///< d = data[a] in a dtype: integers are eight times as large, bools say what is positive
  cast,          ///< d = a.to(dtype)
  constant,      ///< d = a square matrix of a number of some kind, in a dtype or in that of the number
  function,      ///< d = f(a)
  binary,        ///< d = f(a, b)
  withNumber,    ///< d = f(a, number), or f(number, a)
  select,        ///< d = where(c.to(i1), a, b)
  selectNumber,  ///< d = where(c.to(i1), a, number)
  reduce,        ///< d = f(a, along some dimensions, perhaps in a dtype)
  join,          ///< d = cat({a, b}).narrow(0, i, 4)
  binaryInPlace, ///< a = f(a, b), written in place
  numberInPlace, ///< a = f(a, number), written in place
  maskedFill,    ///< a.masked_fill_(b.to(i1), number)

  // Of modules and optimisers.
  call,      ///< d = module(a)
  parameter, ///< d = one of the module's parameters
  train,     ///< module.train(i != 0)
  freeze,    ///< module.requires_grad_(i != 0)
  clip,      ///< d = clip_grad_norm_(module.parameters(), number)
  step,      ///< optimiser.step()
  zeroGrad,  ///< optimiser.zero_grad(i != 0)
};

/// What programs are of.
enum class Kind : uint8_t { matrices, dtypes, modules };
constexpr std::string_view kinds[] = {"matrices", "dtypes", "modules"};

/// \name What `i` of an instruction names
/// @{
constexpr std::string_view functions[] = {
    "tanh",       "sin",   "cos",   "exp",   "expm1",    "log1p",       "sqrt",       "rsqrt",
    "reciprocal", "abs",   "neg",   "sign",  "square",   "sigmoid",     "relu",       "floor",
    "ceil",       "round", "trunc", "isnan", "isfinite", "logical_not", "bitwise_not"};
/// The first `binariesInPlace` also write in place, the first `binariesWithNumbers` take a number as either
/// operand.
constexpr std::string_view binaries[] = {
    "add",     "sub",     "mul",  "div",   "remainder",   "floor_divide", "pow",        "eq",
    "ne",      "lt",      "le",   "gt",    "ge",          "bitwise_and",  "bitwise_or", "bitwise_xor",
    "maximum", "minimum", "fmod", "atan2", "logical_and", "logical_or",   "logical_xor"};
constexpr int64_t binariesInPlace = 7, binariesWithNumbers = 16;
/// The first `reductionsInDtypes` take a dtype.
constexpr std::string_view reductions[] = {"sum", "mean", "prod", "cumsum", "amax",     "amin",
                                           "any", "all",  "var",  "argmax", "logsumexp"};
constexpr int64_t reductionsInDtypes = 4;
constexpr std::string_view dtypes[] = {"f32", "f64", "f16", "bf16", "i32", "i64", "i1"};
/// @}

/// The modules that a program may have, each from a square matrix to one, and the optimisers.
constexpr std::string_view moduleNames[] = {
    "Linear", "LayerNorm", "RMSNorm", "Embedding", "Conv2d", "BatchNorm1d",       "GroupNorm",
    "PReLU",  "MLP",       "RNN",     "GRU",       "LSTM",   "MultiheadAttention"};
constexpr std::string_view optimizerNames[] = {"SGD",
                                               "SGD with momentum",
                                               "SGD with Nesterov",
                                               "Adam",
                                               "AdamW",
                                               "AMSGrad",
                                               "RMSprop",
                                               "Adagrad",
                                               "Adamax",
                                               "NAdam",
                                               "Adadelta",
                                               "RAdam"};

struct Instruction {
  Op op;
  int d = 0, a = 0, b = 0; ///< variables
  int64_t i = 0;
  double number = 0;
  int c = 0;     ///< a variable, or of which kind a number is: 0 real, 1 whole, 2 bool
  int type = -1; ///< in `dtypes`
};

/// An optimiser of the parameters of some modules.
struct OptimizerOf {
  int name = 0;
  std::vector<int> modules;
};

struct Program {
  uint64_t seed = 0;
  Kind kind = Kind::matrices;
  std::vector<int> modules; ///< in `moduleNames`
  std::vector<OptimizerOf> optimizers;
  /// How often all of it runs, with the modules and optimisers as the last time left them.
  int64_t calls = 1;
  std::vector<Instruction> before, body, after;
  int64_t iterations = 1; ///< of the body

  /// The program as text for people.
  std::string str() const;
};

std::string str(const Instruction &instruction);

/// The elements of the matrix `data[i]` of programs, row by row.
std::vector<float> dataOf(int64_t i);

/// The elements of parameter `number` of module `module`, where parameters are in the order of their names.
std::vector<float> weightsOf(int64_t module, int64_t number, int64_t count);

/// A random program, which is the same for the same seed on every machine.
Program generate(uint64_t seed, Kind kind = Kind::matrices);

} // namespace weft::programs

#endif // WEFT_TEST_PROGRAMS_PROGRAM_H
