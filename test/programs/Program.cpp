//===- Program.cpp - Random programs of the C++ interface -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <cstdio>
#include <random>

namespace weft::programs {

std::string str(const Instruction &in) {
  const std::string d = "t" + std::to_string(in.d), a = "t" + std::to_string(in.a),
                    b = "t" + std::to_string(in.b), i = std::to_string(in.i);
  char text[32];
  std::snprintf(text, sizeof text, "%g", in.number);
  const std::string number = text;
  static constexpr const char *functions[] = {"tanh", "sin", "exp", "abs"};
  switch (in.op) {
  case Op::make:
    return d + " = data[" + i + "]";
  case Op::fill:
    return d + " = full({4, 4}, " + number + ")";
  case Op::row:
    return d + " = " + a + "[" + i + "]";
  case Op::transpose:
    return d + " = " + a + ".t()";
  case Op::part:
    return d + " = " + a + ".narrow(0, " + i + ", 2)";
  case Op::detach:
    return d + " = " + a + ".detach()";
  case Op::clone:
    return d + " = " + a + ".clone()";
  case Op::alias:
    return d + " = " + a;
  case Op::unary:
    return d + " = " + functions[in.i] + "(" + a + ")";
  case Op::scale:
    return d + " = " + a + " * " + number;
  case Op::add:
    return d + " = " + a + " + " + b;
  case Op::mul:
    return d + " = " + a + " * " + b;
  case Op::matmul:
    return d + " = matmul(" + a + ", " + b + ")";
  case Op::sum:
    return d + " = " + a + ".sum()";
  case Op::pick:
    return d + " = " + a + ".index_select(0, {" + i + " % " + a + ".size(0)})";
  case Op::addInPlace:
    return a + " += " + b;
  case Op::scaleInPlace:
    return a + " *= " + number;
  case Op::fillInPlace:
    return a + ".fill_(" + number + ")";
  case Op::copyInPlace:
    return a + ".copy_(" + b + ")";
  case Op::writeRow:
    return a + "[" + i + "] = " + number;
  case Op::drop:
    return a + " = {}";
  case Op::leaf:
    return a + ".requires_grad_(" + (in.i ? "true" : "false") + ")";
  case Op::backward:
    return "(" + a + " * " + a + ".detach()).sum().backward()";
  case Op::gradient:
    return d + " = " + a + ".grad()";
  case Op::gradOf:
    return d + " = grad(" + b + ".sum(), {" + a + "})[0]";
  case Op::clearGrad:
    return a + ".set_grad({})";
  case Op::keep:
    return "kept.push_back(" + a + ")";
  case Op::read:
    return "print(" + a + ")";
  case Op::fail:
    return "print(" + a + ".index_select(0, {4}))";
  case Op::noGrad:
    return in.i ? "gradients off" : "gradients on";
  }
  return "";
}

std::vector<float> dataOf(int64_t i) {
  std::vector<float> values;
  for (int64_t k = 0; k < size * size; ++k)
    values.push_back(static_cast<float>((k * 7 + i * 5) % 17 - 8) / 8);
  return values;
}

std::string Program::str() const {
  std::string text = "// seed " + std::to_string(seed) + "\n";
  for (const Instruction &in : before)
    text += programs::str(in) + "\n";
  text += "for " + std::to_string(iterations) + " times:\n";
  for (const Instruction &in : body)
    text += "  " + programs::str(in) + "\n";
  for (const Instruction &in : after)
    text += programs::str(in) + "\n";
  return text;
}

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
    Instruction in{weighted({{Op::unary, 5},
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
                             {Op::pick, 1}})};
    fillIn(in);
    in.i = in.op == Op::part ? below(3) : below(size);
    return in;
  }

  Instruction any() {
    if (chance(50))
      return compute();
    Instruction in{weighted({{Op::make, 2},
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
                             {Op::noGrad, 3}})};
    fillIn(in);
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

private:
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
  void fillIn(Instruction &in) {
    in.d = variable();
    in.a = chance(50) ? last_ : variable();
    in.b = variable();
    in.number = number();
    last_ = in.d;
  }

  std::mt19937_64 random_;
  int last_ = 0;
};
} // namespace

Program generate(uint64_t seed) {
  Sampler sampler(seed);
  Program program;
  program.seed = seed;
  // Some variables have values, and some are leaves, before anything else happens.
  for (int v = 0; v < variables; ++v) {
    Instruction make{sampler.chance(60) ? Op::make : Op::fill};
    make.d = v;
    make.i = sampler.below(size);
    make.number = sampler.number();
    program.before.push_back(make);
    if (sampler.chance(35))
      program.before.push_back({.op = Op::leaf, .a = v, .i = 1});
  }
  const auto append = [&](std::vector<Instruction> &list, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      list.push_back(sampler.any());
    if (sampler.chance(15))
      sampler.appendLeaf(list);
  };
  append(program.before, 2 + sampler.below(12));
  append(program.body, 3 + sampler.below(10));
  append(program.after, 2 + sampler.below(10));
  program.iterations = sampler.chance(50) ? 1 : 6;
  return program;
}

} // namespace weft::programs
