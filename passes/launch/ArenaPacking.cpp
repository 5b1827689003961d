//===- ArenaPacking.cpp - Offsets of buffers in an arena ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/launch/ArenaPacking.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

namespace {

/// Placed buffers by live range, in a segment tree over launches, so that a query for the buffers that
/// overlap a range need not visit all buffers.
class LiveIndex {
public:
  explicit LiveIndex(unsigned launches) {
    while (leaves < launches)
      leaves *= 2;
    lists.resize(2 * leaves);
    occupied.assign(2 * leaves, false);
  }
  void insert(unsigned buffer, unsigned begin, unsigned end) {
    for (unsigned l = begin + leaves, r = end + leaves + 1; l < r; l /= 2, r /= 2) {
      if (l & 1)
        add(l++, buffer);
      if (r & 1)
        add(--r, buffer);
    }
  }
  /// Buffers whose range meets [begin, end], perhaps some of them twice.
  void query(unsigned begin, unsigned end, SmallVectorImpl<unsigned> &found) const {
    SmallVector<std::array<unsigned, 3>> work{{1, 0, leaves - 1}};
    while (!work.empty()) {
      auto [node, first, last] = work.pop_back_val();
      if (last < begin || first > end || !occupied[node])
        continue;
      found.append(lists[node].begin(), lists[node].end());
      if (first == last)
        continue;
      unsigned middle = (first + last) / 2;
      work.push_back({2 * node, first, middle});
      work.push_back({2 * node + 1, middle + 1, last});
    }
  }

private:
  void add(unsigned node, unsigned buffer) {
    lists[node].push_back(buffer);
    for (; node && !occupied[node]; node /= 2)
      occupied[node] = true;
  }
  unsigned leaves = 1;
  std::vector<std::vector<unsigned>> lists;
  std::vector<bool> occupied; ///< whether the node or its subtree has a buffer
};

} // namespace

/// Places the buffers in the given order, each in the smallest gap that holds it.
static int64_t place(ArrayRef<ArenaBuffer> buffers, ArrayRef<unsigned> order, unsigned launches,
                     std::vector<int64_t> &offsets, size_t &work) {
  LiveIndex index(launches);
  int64_t top = 0;
  SmallVector<unsigned> found;
  SmallVector<std::pair<int64_t, int64_t>> taken;
  for (unsigned id : order) {
    const ArenaBuffer &buffer = buffers[id];
    found.clear();
    taken.clear();
    index.query(buffer.begin, buffer.end, found);
    work += found.size() + 1;
    for (unsigned other : found)
      taken.push_back({offsets[other], offsets[other] + buffers[other].bytes});
    llvm::sort(taken);
    int64_t cursor = 0, best = -1, bestGap = INT64_MAX;
    for (auto [from, to] : taken) {
      if (from - cursor >= buffer.bytes && from - cursor < bestGap) {
        best = cursor;
        bestGap = from - cursor;
      }
      cursor = std::max(cursor, to);
    }
    offsets[id] = best >= 0 ? best : cursor;
    top = std::max(top, offsets[id] + buffer.bytes);
    index.insert(id, buffer.begin, buffer.end);
  }
  return top;
}

ArenaPlan packArena(ArrayRef<ArenaBuffer> given) {
  ArenaPlan plan;
  plan.offsets.assign(given.size(), 0);
  std::vector<ArenaBuffer> buffers(given.begin(), given.end());
  std::vector<unsigned> order;
  unsigned launches = 0;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    buffer.bytes = llvm::alignTo(buffer.bytes, arenaAlignment);
    launches = std::max(launches, buffer.end + 1);
    if (buffer.bytes)
      order.push_back(static_cast<unsigned>(i));
  }
  if (order.empty())
    return plan;
  std::vector<int64_t> change(launches + 1);
  for (unsigned id : order) {
    change[buffers[id].begin] += buffers[id].bytes;
    change[buffers[id].end + 1] -= buffers[id].bytes;
  }
  int64_t live = 0;
  for (int64_t bytes : change)
    plan.lowerBound = std::max(plan.lowerBound, live += bytes);

  plan.bytes = INT64_MAX;
  std::vector<int64_t> offsets(buffers.size());
  size_t work = 0;
  auto attempt = [&] {
    int64_t top = place(buffers, order, launches, offsets, work);
    if (top < plan.bytes) {
      plan.bytes = top;
      plan.offsets = offsets;
    }
    return plan.bytes == plan.lowerBound;
  };
  auto lifetime = [&](unsigned id) { return buffers[id].end - buffers[id].begin; };
  auto bySize = [&](unsigned a, unsigned b) {
    return std::tuple(-buffers[a].bytes, ~lifetime(a), a) < std::tuple(-buffers[b].bytes, ~lifetime(b), b);
  };
  auto byLifetime = [&](unsigned a, unsigned b) {
    return std::tuple(~lifetime(a), -buffers[a].bytes, a) < std::tuple(~lifetime(b), -buffers[b].bytes, b);
  };
  llvm::sort(order, byLifetime);
  if (attempt())
    return plan;
  llvm::sort(order, bySize);
  if (attempt())
    return plan;
  // Move the buffers that exceed the bound to the front and try again, a bounded number of times.
  constexpr size_t maxRounds = 64, maxWork = 2'000'000;
  for (size_t round = 0; round < maxRounds && work < maxWork; ++round) {
    int64_t top = 0;
    for (unsigned id : order)
      top = std::max(top, offsets[id] + buffers[id].bytes);
    std::vector<unsigned> next;
    for (bool sticksOut : {true, false})
      for (unsigned id : order)
        if ((offsets[id] + buffers[id].bytes == top) == sticksOut)
          next.push_back(id);
    order = std::move(next);
    if (attempt())
      break;
  }
  return plan;
}

/// A bound `coefficient * product of symbols` of `bytes` for all values in range. Its symbols are those of
/// the leading term, to which the other terms are added, so that small calls take little memory. If the bound
/// were more than twice the largest number of bytes, the result is that number, without symbols.
static DimTerm boundingTerm(Size bytes, const SymbolRanges &ranges) {
  DimTerm number{ranges.largest(bytes), {}};
  DimExpr expr = bytes.expr();
  if (expr.terms.empty() || expr.terms.front().coefficient < 0)
    return number;
  DimTerm bound = expr.terms.front();
  for (const DimTerm &term : ArrayRef(expr.terms).drop_front()) {
    if (term.coefficient <= 0)
      continue;
    // The leading term is this one times the symbols that it lacks, each at least its min.
    if (!std::includes(bound.symbols.begin(), bound.symbols.end(), term.symbols.begin(), term.symbols.end()))
      return number;
    std::vector<std::string> lacking;
    std::set_difference(bound.symbols.begin(), bound.symbols.end(), term.symbols.begin(), term.symbols.end(),
                        std::back_inserter(lacking));
    int64_t least = 1;
    for (const std::string &symbol : lacking) {
      const SymbolRanges::Range *range = ranges.find(symbol);
      if (!range || range->min < 1)
        return number;
      if (__builtin_mul_overflow(least, range->min, &least))
        least = INT64_MAX;
    }
    int64_t more = term.coefficient / least + (term.coefficient % least != 0);
    if (__builtin_add_overflow(bound.coefficient, more, &bound.coefficient))
      return number;
  }
  int64_t largest = ranges.largest(Size::of({{bound}, 1}));
  return largest / 2 > number.coefficient ? number : bound;
}

DynamicArenaPlan packDynamicArena(ArrayRef<DynamicBuffer> given, const SymbolRanges &ranges) {
  std::map<std::vector<std::string>, SmallVector<unsigned>> classes;
  std::vector<ArenaBuffer> buffers;
  for (auto [i, buffer] : llvm::enumerate(given)) {
    DimTerm bound = boundingTerm(buffer.bytes, ranges);
    buffers.push_back({bound.coefficient, buffer.begin, buffer.end});
    classes[bound.symbols].push_back(static_cast<unsigned>(i));
  }
  DynamicArenaPlan plan;
  plan.offsets.assign(given.size(), 0);
  for (const auto &[symbols, members] : classes) {
    std::vector<ArenaBuffer> packed;
    Size sideBySide;
    for (unsigned member : members) {
      packed.push_back(buffers[member]);
      sideBySide += Size(buffers[member].bytes) + arenaAlignment;
    }
    if (!sideBySide.isExpressible()) {
      plan.bytes = plan.lowerBound = Size::inexpressible();
      return plan;
    }
    ArenaPlan part = packArena(packed);
    Size unit = Size::of({{{1, symbols}}, 1});
    for (auto [i, member] : llvm::enumerate(members))
      plan.offsets[member] = plan.bytes + part.offsets[i] * unit;
    plan.bytes += part.bytes * unit;
    plan.lowerBound += part.lowerBound * unit;
  }
  return plan;
}

} // namespace weft::passes
