//===- IndexExpr.cpp ------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/IndexExpr.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <numeric>

namespace weft::codegen {

using ir::addSizes, ir::mulSizes, ir::subSizes, ir::isMultipleOf, ir::isSymbolic;

void IndexExpr::append(std::vector<int64_t> &key) const {
  key.push_back(static_cast<int64_t>(terms.size()));
  for (auto [id, coefficient] : terms) {
    key.push_back(id);
    key.push_back(coefficient);
  }
  key.push_back(lane);
  key.push_back(constant);
}

void TensorIndex::append(std::vector<int64_t> &key) const {
  for (const Group &group : groups) {
    key.push_back(group.dims);
    // Of a slice that begins at 0 only the sizes differ.
    key.push_back(group.size);
    group.expr.append(key);
  }
}

IndexExpr add(const IndexExpr &a, const IndexExpr &b) {
  IndexExpr sum(addSizes(a.constant, b.constant));
  sum.lane = addSizes(a.lane, b.lane);
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[j].first)) {
      sum.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].first < a.terms[i].first) {
      sum.terms.push_back(b.terms[j++]);
    } else {
      if (int64_t c = addSizes(a.terms[i].second, b.terms[j].second))
        sum.terms.push_back({a.terms[i].first, c});
      ++i, ++j;
    }
  }
  return sum;
}

int64_t coefficientOf(const IndexExpr &e, VarId var) {
  for (auto [id, coefficient] : e.terms)
    if (id == var)
      return coefficient;
  return 0;
}

IndexExpr scale(const IndexExpr &a, int64_t factor) {
  if (factor == 0)
    return IndexExpr();
  IndexExpr result = a;
  for (auto &term : result.terms)
    term.second = mulSizes(term.second, factor);
  result.lane = mulSizes(result.lane, factor);
  result.constant = mulSizes(result.constant, factor);
  return result;
}

VarId IndexSpace::addLoop(int64_t maximum, int64_t multipleOf) {
  IndexVar var;
  var.maximum = isSymbolic(maximum) ? maximum : std::max<int64_t>(maximum, 0);
  var.multipleOf = multipleOf;
  vars.push_back(var);
  return static_cast<VarId>(vars.size() - 1);
}

VarId IndexSpace::addGathered(int node, int64_t size, bool perLane) {
  IndexVar var;
  var.kind = IndexVar::gathered;
  var.node = node;
  var.maximum = isSymbolic(size) ? subSizes(size, 1) : std::max<int64_t>(size - 1, 0);
  var.perLane = perLane;
  return intern(var);
}

VarId IndexSpace::intern(IndexVar var) {
  std::vector<int64_t> key{var.kind, var.by, var.node};
  var.of.append(key);
  auto [entry, isNew] = derived.try_emplace(std::move(key), static_cast<VarId>(vars.size()));
  if (isNew)
    vars.push_back(std::move(var));
  return entry->second;
}

IndexExpr IndexSpace::expr(VarId id, int64_t coefficient) const {
  IndexExpr e;
  e.terms.push_back({id, coefficient});
  return e;
}

bool IndexSpace::dependsOnLane(const IndexExpr &e) const { return e.lane != 0 || isPerLane(e); }

bool IndexSpace::isPerLane(const IndexExpr &e) const {
  return llvm::any_of(e.terms, [&](const auto &term) { return vars[term.first].perLane; });
}

/// Quotient and remainder in affine form, where ranges and factors prove it.
bool IndexSpace::split(const IndexExpr &e, int64_t by, IndexExpr &quotient, IndexExpr &remainder) const {
  quotient = IndexExpr();
  remainder = IndexExpr();
  int64_t most = 0; // of the remainder
  // A number, or an expression, that divides is put into the quotient. What does not must stay below `by`.
  auto divided = [&](int64_t value) -> std::optional<int64_t> {
    if (!isSymbolic(value) && !isSymbolic(by))
      return value % by == 0 ? std::optional(value / by) : std::nullopt;
    return ir::divideSizes(value, by);
  };
  for (auto [id, coefficient] : e.terms) {
    if (!ranges.isAtLeast(coefficient, 0))
      return false;
    if (auto whole = divided(coefficient)) {
      quotient.terms.push_back({id, *whole});
      continue;
    }
    int64_t reach = vars[id].maximum;
    if (isSymbolic(coefficient) || isSymbolic(reach) || isSymbolic(most)) {
      if (reach == std::numeric_limits<int64_t>::max())
        return false;
      most = addSizes(most, mulSizes(coefficient, reach));
    } else if (__builtin_mul_overflow(coefficient, reach, &reach) ||
               __builtin_add_overflow(most, reach, &most)) {
      return false;
    }
    remainder.terms.push_back({id, coefficient});
  }
  if (!ranges.isAtLeast(e.constant, 0) || !ranges.isAtLeast(e.lane, 0))
    return false;
  if (!isSymbolic(e.constant) && !isSymbolic(by)) {
    quotient.constant = e.constant / by;
    remainder.constant = e.constant % by;
  } else if (auto whole = divided(e.constant)) {
    quotient.constant = *whole;
  } else {
    remainder.constant = e.constant;
  }
  if (auto whole = divided(e.lane))
    quotient.lane = *whole;
  else
    remainder.lane = e.lane;
  // The last lane of the last step of a loop is inside of its extent: `maximum` counts it.
  if (e.lane != 1 || remainder.terms.empty())
    most = addSizes(most, mulSizes(remainder.lane, lanes - 1));
  // most + constant < by
  return ranges.isAtLeast(subSizes(subSizes(by, most), remainder.constant), 1);
}

/// The greatest number that divides e, leaving its lanes aside.
static int64_t factorOf(const IndexSpace &space, const IndexExpr &e) {
  int64_t factor = ir::contentOf(e.constant);
  for (auto [id, coefficient] : e.terms)
    factor = std::gcd(factor, ir::contentOf(coefficient) * space.var(id).multipleOf);
  return factor;
}

IndexExpr IndexSpace::divide(const IndexExpr &e, int64_t by) {
  if (by == 1)
    return e;
  IndexExpr quotient, remainder;
  if (split(e, by, quotient, remainder))
    return quotient;
  IndexVar var;
  var.kind = IndexVar::quotient;
  var.by = by;
  // Lanes that lie in one aligned block of `by` share their quotient.
  bool together = e.lane == 1 && !isPerLane(e) && isMultipleOf(by, lanes) && factorOf(*this, e) % lanes == 0;
  var.of = e;
  if (together)
    var.of.lane = 0;
  var.perLane = !together && dependsOnLane(e);
  bool symbolic = isSymbolic(by) || isSymbolic(e.constant) || isSymbolic(e.lane);
  for (auto [id, coefficient] : e.terms)
    symbolic |= isSymbolic(coefficient) || isSymbolic(vars[id].maximum);
  // Of an expression no quotient is taken here: its largest value stays unknown.
  if (!symbolic) {
    int64_t most = e.constant + std::max<int64_t>(e.lane, 0) * (lanes - 1);
    for (auto [id, coefficient] : e.terms)
      most += std::max<int64_t>(coefficient, 0) * vars[id].maximum;
    var.maximum = std::max<int64_t>(most / by, 0);
  }
  return expr(intern(std::move(var)));
}

IndexExpr IndexSpace::modulo(const IndexExpr &e, int64_t by) {
  if (by == 1)
    return IndexExpr();
  IndexExpr quotient, remainder;
  if (split(e, by, quotient, remainder))
    return remainder;
  IndexVar var;
  var.kind = IndexVar::remainder;
  var.by = by;
  bool together = e.lane == 1 && !isPerLane(e) && isMultipleOf(by, lanes) && factorOf(*this, e) % lanes == 0;
  var.of = e;
  if (together) {
    var.of.lane = 0;
    var.multipleOf = lanes;
  }
  var.perLane = !together && dependsOnLane(e);
  var.maximum = subSizes(by, 1);
  IndexExpr result = expr(intern(std::move(var)));
  if (together)
    result.lane = 1;
  return result;
}

bool IndexSpace::rangeOf(const IndexExpr &e, int64_t &low, int64_t &high) const {
  low = high = e.constant;
  auto extend = [&](int64_t coefficient, int64_t maximum) {
    bool rises = ranges.isAtLeast(coefficient, 0);
    int64_t reach, &side = rises ? high : low;
    if (isSymbolic(coefficient) || isSymbolic(maximum) || isSymbolic(side)) {
      if (maximum == std::numeric_limits<int64_t>::max() || !(rises || ranges.isAtMost(coefficient, 0)))
        return false;
      side = addSizes(side, mulSizes(coefficient, maximum));
      return true;
    }
    return !__builtin_mul_overflow(coefficient, maximum, &reach) &&
           !__builtin_add_overflow(side, reach, &side);
  };
  for (auto [id, coefficient] : e.terms)
    if (!extend(coefficient, vars[id].maximum))
      return false;
  // The last lane of the last step of a loop is inside of its extent: `maximum` counts it.
  return ((e.lane == 1 || e.lane == -1) && !e.terms.empty()) || extend(e.lane, lanes - 1);
}

IndexExpr IndexSpace::clamp(const IndexExpr &e, int64_t size) {
  IndexVar var;
  var.kind = IndexVar::clamped;
  var.by = size;
  var.of = e;
  var.maximum = isSymbolic(size) ? subSizes(size, 1) : std::max<int64_t>(size - 1, 0);
  var.perLane = dependsOnLane(e);
  return expr(intern(std::move(var)));
}

IndexExpr IndexSpace::linear(const IndexExpr &a, int64_t factor, const IndexExpr &b) {
  IndexExpr sum = add(scale(a, factor), b);
  // c * by * (x / by) + c * (x % by) = c * x
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [id, coefficient] : sum.terms) {
      const IndexVar &low = vars[id];
      if (low.kind != IndexVar::remainder)
        continue;
      auto high = llvm::find_if(sum.terms, [&](const auto &term) {
        const IndexVar &var = vars[term.first];
        return var.kind == IndexVar::quotient && var.by == low.by && var.of == low.of &&
               term.second == mulSizes(coefficient, low.by);
      });
      if (high == sum.terms.end())
        continue;
      IndexExpr whole = scale(low.of, coefficient);
      VarId highId = high->first, lowId = id;
      llvm::erase_if(sum.terms,
                     [&](const auto &term) { return term.first == highId || term.first == lowId; });
      sum = add(sum, whole);
      changed = true;
      break;
    }
  }
  return sum;
}

static int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result = mulSizes(result, size);
  return result;
}

IndexExpr rangeIndex(IndexSpace &space, const TensorIndex &index, llvm::ArrayRef<int64_t> shape,
                     unsigned begin, unsigned end) {
  IndexExpr result;
  unsigned at = 0;
  for (const TensorIndex::Group &group : index.groups) {
    unsigned from = at, to = at + group.dims;
    at = to;
    unsigned low = std::max(from, begin), high = std::min(to, end);
    if (low >= high)
      continue;
    int64_t inner = product(shape.slice(high, to - high)), size = product(shape.slice(low, high - low)),
            outer = product(shape.slice(from, low - from));
    IndexExpr part;
    if (size == 0) {
      // No index is in it: what depends on this one must not look as if it could be computed outside of the
      // loop, which does not run.
      part = group.expr;
    } else if (size != 1) {
      part = space.divide(group.expr, inner == 0 ? 1 : inner);
      if (outer != 1 && outer != 0)
        part = space.modulo(part, size);
    }
    result = space.linear(result, size, part);
  }
  return result;
}

IndexExpr linearIndex(IndexSpace &space, const TensorIndex &index) {
  IndexExpr result;
  for (const TensorIndex::Group &group : index.groups)
    result = space.linear(result, group.size, group.expr);
  return result;
}

} // namespace weft::codegen
