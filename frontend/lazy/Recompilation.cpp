//===- Recompilation.cpp - Lines that are recompiled too often ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/lazy/Recompilation.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

namespace weft::frontend {

namespace {
/// An operation or a value of a program, with its type.
struct Step {
  const char *name;
  Spec spec;
  Loc loc;
};

/// The programs that were compiled to read values of one line.
struct Compiled {
  int programs = 0;
  bool told = false;
  std::vector<Step> steps; ///< of the last program
  int resized = 0,
      grown =
          0; ///< how many programs in a row had the same operations; how many had more than the one before
};

bool haveEqualNames(const std::vector<Step> &a, const std::vector<Step> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Step &x, const Step &y) { return std::string_view(x.name) == y.name; });
}

std::string changeOf(const std::vector<Step> &was, const std::vector<Step> &is) {
  if (was.size() != is.size())
    return "it had " + std::to_string(was.size()) + " operations and values, and has " +
           std::to_string(is.size());
  for (size_t i = 0; i < is.size(); ++i)
    if (std::string_view(was[i].name) != is[i].name)
      return "'" + std::string(was[i].name) + "' is now '" + is[i].name + "', made at " + str(is[i].loc);
    else if (was[i].spec != is[i].spec)
      return was[i].spec.str() + " is now " + is[i].spec.str() + ", made at " + str(is[i].loc);
  return "its operations have other attributes";
}
} // namespace

static thread_local bool isQuiet = false;

QuietCompiles::QuietCompiles() : before_(std::exchange(isQuiet, true)) {}
QuietCompiles::~QuietCompiles() { isQuiet = before_; }

void noteLazyCompile(const Region &region, Loc wanted) {
  if (isQuiet)
    return;
  using Place = std::tuple<std::string_view, uint32_t, uint32_t>;
  static auto *places = new std::map<Place, Compiled>;
  constexpr size_t most = 1024;
  if (places->size() > most)
    places->clear();
  Compiled &compiled = (*places)[{wanted.file_name(), wanted.line(), wanted.column()}];
  if (compiled.told)
    return;
  std::vector<Step> steps;
  for (const RegionArgument &argument : region.arguments)
    steps.push_back({argument.value.node->name, argument.value.spec(), argument.value.node->loc});
  for (const Node *node : region.nodes)
    if (!node->results.empty())
      steps.push_back({node->name, node->results[0].spec, node->loc});
  // One line may need a few programs, if it is in a function that is called from several places.
  constexpr int ofOtherSizes = 3, ever = 4, any = 8;
  compiled.resized = haveEqualNames(steps, compiled.steps) ? compiled.resized + 1 : 1;
  compiled.grown = steps.size() > compiled.steps.size() ? compiled.grown + 1 : 1;
  if (++compiled.programs >= any || compiled.resized >= ofOtherSizes || compiled.grown >= ever) {
    compiled.told = true;
    std::fprintf(
        stderr,
        "weft: the %s lazy program is compiled for the values of %s: %s. Each program of other sizes "
        "or operations is compiled by itself: give sizes that grow a few fixed values, or make a "
        "function of it with compile() and a Dim\n",
        compiled.programs == 3 ? "third" : (std::to_string(compiled.programs) + "th").c_str(),
        str(wanted).c_str(), changeOf(compiled.steps, steps).c_str());
  }
  compiled.steps = std::move(steps);
}

} // namespace weft::frontend
