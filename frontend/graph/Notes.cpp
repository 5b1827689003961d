//===- Notes.cpp - Notes on standard error, each once ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Notes.h"
#include "frontend/graph/Trace.h"

#include <cstdio>
#include <unordered_set>

namespace weft::frontend {

void noteOnce(const std::string &text) {
  GraphLock lock(graphMutex());
  static auto *told = new std::unordered_set<std::string>;
  if (told->insert(text).second)
    std::fprintf(stderr, "weft: note: %s\n", text.c_str());
}

//===----------------------------------------------------------------------===//
// Gradients that no optimiser takes
//===----------------------------------------------------------------------===//

/// Leaves that have a gradient, belong to no optimiser, and whose gradient the program has not read since.
static std::vector<std::weak_ptr<Slot>> &untaken() {
  static auto *list = new std::vector<std::weak_ptr<Slot>>;
  return *list;
}

void noteGradient(const std::shared_ptr<Slot> &leaf) {
  // Bounded, because a program without an optimiser never empties the list.
  constexpr size_t most = 4096;
  if (leaf->optimized)
    return;
  if (leaf->unseenGrads == 0 && untaken().size() < most)
    untaken().push_back(leaf);
  // A backward() in a compiled function counts twice: it is recorded at most two times, once without and once
  // with an existing gradient, but called many times.
  leaf->unseenGrads += Trace::current() ? 2 : 1;
}

void noteUntakenGradients() {
  if (untaken().empty())
    return;
  std::vector<std::weak_ptr<Slot>> kept;
  std::string names;
  size_t count = 0;
  for (const auto &weak : untaken()) {
    const auto slot = weak.lock();
    if (!slot || slot->optimized || slot->unseenGrads == 0)
      continue;
    // A program may accumulate a few gradients on purpose before it reads them.
    constexpr uint32_t several = 4;
    if (slot->unseenGrads < several) {
      kept.push_back(weak);
      continue;
    }
    constexpr size_t named = 3;
    if (++count <= named)
      names += (names.empty() ? "" : ", ") + nameOf(*slot) +
               (slot->name.empty() ? "" : " (made at " + str(slot->loc) + ")");
    else if (count == named + 1)
      names += " and others";
  }
  untaken() = std::move(kept);
  if (count > 0)
    noteOnce(
        "gradients add up in " + names +
        ": of several backward() no optimiser took them and nobody read them so far. Is the module "
        "registered that has them, and are they among what the optimiser was given? Where no gradient is "
        "wanted, use requires_grad_(false)");
}

} // namespace weft::frontend
