//===- Program.cpp - Random programs of the C++ interface -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <cstdio>
#include <cstring>

namespace weft::programs {

static std::string variable(int number) { return "t" + std::to_string(number); }

/// A number as C++ spells one of its kind.
static std::string numberOf(const Instruction &in) {
  if (in.c == 2)
    return in.number != 0 ? "true" : "false";
  char text[32];
  std::snprintf(text, sizeof text, in.c == 1 ? "%.0f" : "%g", in.number);
  return text + std::string(in.c == 0 && !std::strpbrk(text, ".e") ? ".0" : "");
}

static std::string strOfDtypes(const Instruction &in) {
  const std::string d = variable(in.d) + " = ", a = variable(in.a), b = variable(in.b),
                    i = std::to_string(in.i), number = numberOf(in),
                    type = in.type < 0 ? "" : std::string(dtypes[in.type]);
  const auto named = [&](const auto &names) { return std::string(names[in.i]); };
  switch (in.op) {
  case Op::typed:
    return d + "data[" + i + "] as " + type;
  case Op::cast:
    return d + a + ".to(" + type + ")";
  case Op::constant:
    return d + "full({4, 4}, " + number + (in.type < 0 ? "" : ", " + type) + ")";
  case Op::function:
    return d + named(functions) + "(" + a + ")";
  case Op::binary:
    return d + named(binaries) + "(" + a + ", " + b + ")";
  case Op::withNumber:
    return d + named(binaries) + "(" + (in.b % 2 ? number + ", " + a : a + ", " + number) + ")";
  case Op::select:
    return d + "where(" + variable(in.c) + ".to(i1), " + a + ", " + b + ")";
  case Op::selectNumber:
    return d + "where(" + b + ".to(i1), " + a + ", " + number + ")";
  case Op::reduce: {
    const char *const along[] = {"all", "dimension 0", "dimension -1, kept"};
    return d + named(reductions) + "(" + a + ", " + along[in.b % 3] + (in.type < 0 ? "" : ", " + type) + ")";
  }
  case Op::join:
    return d + "cat({" + a + ", " + b + "}).narrow(0, " + i + ", 4)";
  case Op::binaryInPlace:
    return a + "." + named(binaries) + "_(" + b + ")";
  case Op::numberInPlace:
    return a + "." + named(binaries) + "_(" + number + ")";
  default: // maskedFill
    return a + ".masked_fill_(" + b + ".to(i1), " + number + ")";
  }
}

static std::string strOfModules(const Instruction &in) {
  const std::string d = variable(in.d) + " = ", m = "m" + std::to_string(in.b),
                    o = "o" + std::to_string(in.b);
  switch (in.op) {
  case Op::call:
    return d + m + "(" + variable(in.a) + ")";
  case Op::parameter:
    return d + m + ".parameters()[" + std::to_string(in.i) + " % count]";
  case Op::train:
    return m + (in.i ? ".train()" : ".eval()");
  case Op::freeze:
    return m + ".requires_grad_(" + (in.i ? "true" : "false") + ")";
  case Op::clip:
    return d + "clip_grad_norm_(" + m + ".parameters(), " + numberOf(in) + ")";
  case Op::step:
    return o + ".step()";
  default: // zeroGrad
    return o + ".zero_grad(" + (in.i ? "true" : "false") + ")";
  }
}

std::string str(const Instruction &in) {
  const std::string d = "t" + std::to_string(in.d), a = "t" + std::to_string(in.a),
                    b = "t" + std::to_string(in.b), i = std::to_string(in.i);
  char text[32];
  std::snprintf(text, sizeof text, "%g", in.number);
  const std::string number = text;
  static constexpr const char *unaries[] = {"tanh", "sin", "exp", "abs"};
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
    return d + " = " + unaries[in.i] + "(" + a + ")";
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
  default:
    return in.op < Op::call ? strOfDtypes(in) : strOfModules(in);
  }
}

std::vector<float> dataOf(int64_t i) {
  std::vector<float> values;
  for (int64_t k = 0; k < size * size; ++k)
    values.push_back(static_cast<float>((k * 7 + i * 5) % 17 - 8) / 8);
  return values;
}

std::vector<float> weightsOf(int64_t module, int64_t number, int64_t count) {
  std::vector<float> values;
  for (int64_t k = 0; k < count; ++k)
    values.push_back(static_cast<float>((k * 7 + module * 3 + number * 5) % 17 - 8) / 16);
  return values;
}

std::string Program::str() const {
  std::string text = "// seed " + std::to_string(seed) + "\n";
  for (size_t m = 0; m < modules.size(); ++m)
    text += "m" + std::to_string(m) + " = " + std::string(moduleNames[modules[m]]) + "\n";
  for (size_t o = 0; o < optimizers.size(); ++o) {
    text += "o" + std::to_string(o) + " = " + std::string(optimizerNames[optimizers[o].name]) + " of";
    for (int m : optimizers[o].modules)
      text += " m" + std::to_string(m);
    text += "\n";
  }
  if (calls > 1)
    text += "all of this " + std::to_string(calls) + " times:\n";
  for (const Instruction &in : before)
    text += programs::str(in) + "\n";
  text += "for " + std::to_string(iterations) + " times:\n";
  for (const Instruction &in : body)
    text += "  " + programs::str(in) + "\n";
  for (const Instruction &in : after)
    text += programs::str(in) + "\n";
  return text;
}

} // namespace weft::programs
