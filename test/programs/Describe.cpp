//===- Describe.cpp - Programs and their outcome for other languages ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Describe.h"

#include <cstdio>

namespace weft::programs {

/// In the order of `Op`.
static constexpr const char *names[] = {
    "make",        "fill",         "row",       "transpose",  "part",          "detach",
    "clone",       "alias",        "unary",     "scale",      "add",           "mul",
    "matmul",      "sum",          "pick",      "addInPlace", "scaleInPlace",  "fillInPlace",
    "copyInPlace", "writeRow",     "drop",      "leaf",       "backward",      "gradient",
    "gradOf",      "clearGrad",    "keep",      "read",       "fail",          "noGrad",
    "typed",       "cast",         "constant",  "function",   "binary",        "withNumber",
    "select",      "selectNumber", "reduce",    "join",       "binaryInPlace", "numberInPlace",
    "maskedFill",  "call",         "parameter", "train",      "freeze",        "clip",
    "step",        "zeroGrad"};
static_assert(std::size(names) == static_cast<size_t>(Op::zeroGrad) + 1);

/// The elements, each as `text` makes it, as a JSON list.
template <typename List, typename Text> static std::string listOf(const List &list, Text text) {
  std::string all = "[";
  for (const auto &element : list)
    all += (all.size() > 1 ? ", " : "") + text(element);
  return all + "]";
}

static std::string quoted(const std::string &text) {
  std::string all = "\"";
  for (char c : text) {
    const bool isSpecial = c == '"' || c == '\\';
    all += isSpecial ? std::string("\\") + c : std::string(1, static_cast<unsigned char>(c) < ' ' ? ' ' : c);
  }
  return all + "\"";
}

static std::string exactly(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

/// The name of the function that `i` names.
static std::string_view functionOf(const Instruction &in) {
  switch (in.op) {
  case Op::function:
    return functions[in.i];
  case Op::binary:
  case Op::withNumber:
  case Op::binaryInPlace:
  case Op::numberInPlace:
    return binaries[in.i];
  case Op::reduce:
    return reductions[in.i];
  default:
    return "";
  }
}

static std::string instruction(const Instruction &in) {
  std::string text = "[" + quoted(names[static_cast<size_t>(in.op)]) + ", " + std::to_string(in.d) + ", " +
                     std::to_string(in.a) + ", " + std::to_string(in.b) + ", " + std::to_string(in.i) + ", " +
                     exactly(in.number) + ", ";
  if (in.op > Op::noGrad)
    text += std::to_string(in.c) + ", " + quoted(in.type < 0 ? "" : std::string(dtypes[in.type])) + ", " +
            quoted(std::string(functionOf(in))) + ", ";
  return text + quoted(str(in)) + "]";
}

/// The names of modules and optimisers; PyTorch has the sizes and the options of each by its name.
static std::string networks(const Program &program) {
  return ", \"modules\": " +
         listOf(program.modules, [](int name) { return quoted(std::string(moduleNames[name])); }) +
         ", \"optimizers\": " + listOf(program.optimizers, [](const OptimizerOf &optimizer) {
           return "[" + quoted(std::string(optimizerNames[optimizer.name])) + ", " +
                  listOf(optimizer.modules, [](int m) { return std::to_string(m); }) + "]";
         });
}

std::string describe(const Program &program) {
  std::string text = "{\"seed\": " + std::to_string(program.seed) +
                     ", \"kind\": " + quoted(std::string(kinds[static_cast<size_t>(program.kind)])) +
                     ", \"calls\": " + std::to_string(program.calls) +
                     ", \"iterations\": " + std::to_string(program.iterations) + networks(program) +
                     ", \"data\": [";
  for (int64_t i = 0; i < size; ++i)
    text += (i ? ", " : "") + listOf(dataOf(i), exactly);
  text += "], \"before\": " + listOf(program.before, instruction);
  text += ", \"body\": " + listOf(program.body, instruction);
  text += ", \"after\": " + listOf(program.after, instruction);
  text += ", \"steps\": " + listOf(record(program).steps, [](const Step &step) {
            return "[" + quoted(step.shown) + ", " + quoted(step.error) + ", " + quoted(step.variables) + "]";
          });
  return text + "}";
}

} // namespace weft::programs
