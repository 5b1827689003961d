//===- Dependencies.cpp - What waits for what in a graph ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Dependencies.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace weft::runtime {
namespace {

bool conflict(const RangeAccess &a, const RangeAccess &b) {
  const bool commute = a.kind == b.kind && a.kind != AccessKind::written;
  return !commute && std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

/// Whether what conflicts with `earlier` conflicts with `later`, too, which waits for it.
bool replaces(const RangeAccess &later, const RangeAccess &earlier) {
  return later.kind == AccessKind::written && later.begin <= earlier.begin && earlier.end <= later.end;
}

} // namespace

std::vector<RangeAccess> joined(std::vector<RangeAccess> accesses) {
  std::erase_if(accesses, [](const RangeAccess &access) { return access.begin >= access.end; });
  std::ranges::sort(accesses, std::less<>(), [](const RangeAccess &access) {
    return std::tuple(access.space, access.kind, access.begin);
  });
  size_t count = 0;
  for (const RangeAccess &access : accesses) {
    RangeAccess *last = count ? &accesses[count - 1] : nullptr;
    if (last && last->space == access.space && last->kind == access.kind && access.begin <= last->end)
      last->end = std::max(last->end, access.end);
    else
      accesses[count++] = access;
  }
  accesses.resize(count);
  return accesses;
}

/// The nodes that use a byte in a way that the accesses have to wait for, the latest first.
std::vector<uint32_t> Dependencies::conflicting(std::span<const RangeAccess> accesses) {
  std::vector<uint32_t> nodes;
  const auto mark = static_cast<uint32_t>(edges_.size() + 1);
  for (const RangeAccess &access : accesses)
    for (const Past &past : past_[access.space])
      if (found_[past.node] != mark && conflict(access, past.access)) {
        found_[past.node] = mark;
        nodes.push_back(past.node);
      }
  std::ranges::sort(nodes, std::greater<>());
  return nodes;
}

/// Keeps the accesses of the last node, in place of those that they replace.
void Dependencies::note(std::span<const RangeAccess> accesses) {
  const auto node = static_cast<uint32_t>(edges_.size() - 1);
  for (const RangeAccess &access : accesses)
    if (access.kind == AccessKind::written)
      std::erase_if(past_[access.space],
                    [&](const Past &past) { return past.node != node && replaces(access, past.access); });
  for (const RangeAccess &access : accesses)
    if (access.begin < access.end)
      past_[access.space].push_back({access, node});
}

/// Marks what a node waits for, from node `first` on.
void Dependencies::mark_ancestors(uint32_t node, uint32_t first) {
  const auto mark = static_cast<uint32_t>(edges_.size());
  stack_.assign(1, node);
  while (!stack_.empty()) {
    const uint32_t next = stack_.back();
    stack_.pop_back();
    for (const uint32_t earlier : edges_[next])
      if (earlier >= first && marks_[earlier] != mark) {
        marks_[earlier] = mark;
        stack_.push_back(earlier);
      }
  }
}

std::span<const uint32_t> Dependencies::add(std::span<const RangeAccess> accesses) {
  const std::vector<uint32_t> nodes = conflicting(accesses);
  const auto mark = static_cast<uint32_t>(edges_.size() + 1);
  std::vector<uint32_t> &own = edges_.emplace_back();
  marks_.push_back(0);
  found_.push_back(0);
  for (const uint32_t node : nodes)
    if (marks_[node] != mark) {
      own.push_back(node);
      mark_ancestors(node, nodes.back());
    }
  note(accesses);
  return own;
}

} // namespace weft::runtime
