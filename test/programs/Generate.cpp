//===- Generate.cpp - Draws programs of the C++ interface -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <iterator>
#include <random>

namespace weft::programs {

namespace {
/// Draws by the numbers of the generator alone: the distributions of the standard library differ by library.
class Sampler {
public:
  explicit Sampler(uint64_t seed) : random_(seed * 2654435761u + 1) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  int variable() { return static_cast<int>(below(variables)); }
  double number() { return (static_cast<double>(below(33)) - 16) / 16; }

  /// Something to compute, most often of what was made last, so that programs are chains and not islands.
  Instruction compute() {
    Instruction in = drawn({{Op::unary, 5},
                            {Op::scale, 5},
                            {Op::add, 6},
                            {Op::mul, 4},
                            {Op::matmul, 3},
                            {Op::sum, 2},
                            {Op::row, 3},
                            {Op::transpose, 2},
                            {Op::part, 1},
                            {Op::detach, 2},
                            {Op::clone, 2},
                            {Op::alias, 2},
                            {Op::pick, 1}});
    in.i = in.op == Op::part ? below(3) : below(size);
    return in;
  }

  Instruction any() {
    if (chance(50))
      return compute();
    Instruction in = drawn({{Op::make, 2},
                            {Op::fill, 2},
                            {Op::addInPlace, 5},
                            {Op::scaleInPlace, 4},
                            {Op::fillInPlace, 1},
                            {Op::copyInPlace, 3},
                            {Op::writeRow, 3},
                            {Op::drop, 5},
                            {Op::leaf, 4},
                            {Op::backward, 6},
                            {Op::gradient, 5},
                            {Op::gradOf, 3},
                            {Op::clearGrad, 1},
                            {Op::keep, 2},
                            {Op::read, 8},
                            {Op::fail, 1},
                            {Op::noGrad, 3}});
    in.i = below(size);
    if (in.op == Op::leaf)
      in.i = !chance(20);
    if (in.op == Op::noGrad)
      in.i = chance(40);
    return in;
  }

  /// A leaf that is used and differentiated, and of which little may be left when its gradient is read: rare
  /// where every instruction is drawn by itself.
  void appendLeaf(std::vector<Instruction> &list) {
    const int leaf = variable(), value = (leaf + 1 + static_cast<int>(below(3))) % variables,
              gradient = (leaf + 4 + static_cast<int>(below(3))) % variables;
    Instruction make{chance(50) ? Op::make : Op::fill};
    make.d = leaf;
    make.i = below(size);
    make.number = number();
    list.push_back(make);
    list.push_back({.op = Op::leaf, .a = leaf, .i = 1});
    list.push_back({.op = chance(50) ? Op::mul : Op::add, .d = value, .a = leaf, .b = variable()});
    list.push_back({.op = Op::backward, .a = value});
    list.push_back({.op = Op::gradient, .d = gradient, .a = leaf});
    if (chance(70))
      list.push_back({.op = Op::drop, .a = leaf});
    if (chance(70))
      list.push_back({.op = Op::read, .a = value});
    if (chance(50))
      list.push_back({.op = Op::read, .a = gradient});
  }

  //===--------------------------------------------------------------------===//
  // Of dtypes
  //===--------------------------------------------------------------------===//

  Instruction make(int d) {
    Instruction in{chance(70) ? Op::typed : Op::constant};
    in.d = d;
    in.i = below(size);
    setNumber(in);
    in.type = static_cast<int>(below(std::size(dtypes)));
    if (in.op == Op::constant && chance(30))
      in.type = -1;
    return in;
  }

  Instruction computeOfDtypes() {
    Instruction in = drawn({{Op::cast, 4},
                            {Op::function, 5},
                            {Op::binary, 10},
                            {Op::withNumber, 6},
                            {Op::select, 2},
                            {Op::selectNumber, 1},
                            {Op::reduce, 4},
                            {Op::join, 1}});
    in.type = static_cast<int>(below(std::size(dtypes)));
    in.c = variable();
    if (in.op == Op::withNumber || in.op == Op::selectNumber)
      setNumber(in);
    choose(in);
    return in;
  }

  Instruction anyOfDtypes() {
    if (chance(20))
      return make(variable());
    if (chance(50))
      return computeOfDtypes();
    if (chance(65))
      return any();
    Instruction in = drawn({{Op::binaryInPlace, 5}, {Op::numberInPlace, 4}, {Op::maskedFill, 2}});
    setNumber(in);
    in.i = below(binariesInPlace);
    return in;
  }

  //===--------------------------------------------------------------------===//
  // Of modules and optimisers
  //===--------------------------------------------------------------------===//

  void chooseModules(Program &program) {
    const int64_t modules = 1 + below(3), optimizers = 1 + below(2);
    for (int64_t m = 0; m < modules; ++m)
      program.modules.push_back(static_cast<int>(below(std::size(moduleNames))));
    for (int64_t o = 0; o < optimizers; ++o) {
      OptimizerOf optimizer{static_cast<int>(below(std::size(optimizerNames))), {}};
      for (int64_t m = 0; m < modules; ++m)
        if (chance(70))
          optimizer.modules.push_back(static_cast<int>(m));
      if (optimizer.modules.empty())
        optimizer.modules.push_back(0);
      program.optimizers.push_back(optimizer);
    }
    program.calls = 1 + below(3);
  }

  Instruction anyOfModules(const Program &program) {
    if (chance(45))
      return any();
    Instruction in = drawn({{Op::call, 10},
                            {Op::parameter, 2},
                            {Op::train, 2},
                            {Op::freeze, 1},
                            {Op::clip, 1},
                            {Op::step, 3},
                            {Op::zeroGrad, 2}});
    const bool ofOptimizer = in.op == Op::step || in.op == Op::zeroGrad;
    in.b = static_cast<int>(below(ofOptimizer ? program.optimizers.size() : program.modules.size()));
    in.i = in.op == Op::parameter ? below(4) : !chance(30);
    if (in.op == Op::clip)
      in.number = (1 + static_cast<double>(below(16))) / 16;
    return in;
  }

  /// A step of training: rare where every instruction is drawn by itself.
  void appendStep(const Program &program, std::vector<Instruction> &list) {
    const int value = variable();
    for (int64_t layers = 1 + below(2), l = 0; l < layers; ++l) {
      const int module = static_cast<int>(below(program.modules.size()));
      list.push_back({.op = Op::call, .d = value, .a = l ? value : variable(), .b = module});
    }
    const int optimizer = static_cast<int>(below(program.optimizers.size()));
    list.push_back({.op = Op::backward, .a = value});
    if (chance(30))
      list.push_back(anyOfModules(program));
    list.push_back({.op = Op::step, .b = optimizer});
    if (chance(80))
      list.push_back({.op = Op::zeroGrad, .b = optimizer, .i = !chance(30)});
    if (chance(50))
      list.push_back({.op = Op::read, .a = value});
  }

private:
  /// A number of any kind.
  void setNumber(Instruction &in) {
    in.c = static_cast<int>(below(3));
    in.number = in.c == 2   ? static_cast<double>(below(2))
                : in.c == 1 ? static_cast<double>(below(17) - 8)
                            : number() * (chance(30) ? 8 : 1);
  }
  /// Which function, and whether in a dtype.
  void choose(Instruction &in) {
    switch (in.op) {
    case Op::function:
      in.i = below(std::size(functions));
      return;
    case Op::binary:
      in.i = below(std::size(binaries));
      return;
    case Op::withNumber:
      in.i = below(binariesWithNumbers);
      return;
    case Op::reduce:
      in.i = below(std::size(reductions));
      if (in.i >= reductionsInDtypes || chance(50))
        in.type = -1;
      return;
    default:
      in.i = below(size);
    }
  }
  Op weighted(std::initializer_list<std::pair<Op, int>> choices) {
    int64_t total = 0;
    for (const auto &choice : choices)
      total += choice.second;
    int64_t at = below(total);
    for (const auto &choice : choices)
      if ((at -= choice.second) < 0)
        return choice.first;
    return choices.begin()->first;
  }
  Instruction drawn(std::initializer_list<std::pair<Op, int>> choices) {
    Instruction in{weighted(choices)};
    in.d = variable();
    in.a = chance(50) ? last_ : variable();
    in.b = variable();
    in.number = number();
    last_ = in.d;
    return in;
  }

  std::mt19937_64 random_;
  int last_ = 0;
};
} // namespace

Program generate(uint64_t seed, Kind kind) {
  Sampler sampler(seed);
  Program program;
  program.seed = seed;
  program.kind = kind;
  if (kind == Kind::modules)
    sampler.chooseModules(program);
  // Some variables have values, and some are leaves, before anything else happens.
  for (int v = 0; v < variables; ++v) {
    Instruction make{sampler.chance(60) ? Op::make : Op::fill};
    make.d = v;
    make.i = sampler.below(size);
    make.number = sampler.number();
    if (kind == Kind::dtypes)
      make = sampler.make(v);
    program.before.push_back(make);
    if (sampler.chance(35))
      program.before.push_back({.op = Op::leaf, .a = v, .i = 1});
  }
  const auto append = [&](std::vector<Instruction> &list, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      list.push_back(kind == Kind::dtypes    ? sampler.anyOfDtypes()
                     : kind == Kind::modules ? sampler.anyOfModules(program)
                                             : sampler.any());
    if (sampler.chance(15))
      sampler.appendLeaf(list);
    if (kind == Kind::modules && sampler.chance(60))
      sampler.appendStep(program, list);
  };
  append(program.before, 2 + sampler.below(12));
  append(program.body, 3 + sampler.below(10));
  append(program.after, 2 + sampler.below(10));
  program.iterations = sampler.chance(kind == Kind::modules ? 70 : 50) ? 1 : 6;
  return program;
}

} // namespace weft::programs
