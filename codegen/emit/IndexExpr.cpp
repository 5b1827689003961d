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

using ir::isMultipleOf;

void IndexExpr::append(std::vector<int64_t> &key) const {
  key.push_back(static_cast<int64_t>(terms.size()));
  for (auto [id, coefficient] : terms) {
    key.push_back(id);
    key.push_back(coefficient.raw());
  }
  key.push_back(lane.raw());
  key.push_back(constant.raw());
}

void TensorIndex::append(std::vector<int64_t> &key) const {
  for (const Group &group : groups) {
    key.push_back(group.dims);
    // The sizes belong to the key, because a slice that begins at 0 differs from its operand only in them.
    key.push_back(group.size.raw());
    group.expr.append(key);
  }
}

IndexExpr add(const IndexExpr &a, const IndexExpr &b) {
  IndexExpr sum(a.constant + b.constant);
  sum.lane = a.lane + b.lane;
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[j].first)) {
      sum.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].first < a.terms[i].first) {
      sum.terms.push_back(b.terms[j++]);
    } else {
      if (ir::Size c = a.terms[i].second + b.terms[j].second; c != 0)
        sum.terms.push_back({a.terms[i].first, c});
      ++i, ++j;
    }
  }
  return sum;
}

ir::Size coefficientOf(const IndexExpr &e, VarId var) {
  for (auto [id, coefficient] : e.terms)
    if (id == var)
      return coefficient;
  return 0;
}

IndexExpr scale(const IndexExpr &a, ir::Size factor) {
  if (factor == 0)
    return IndexExpr();
  IndexExpr result = a;
  for (auto &term : result.terms)
    term.second *= factor;
  result.lane *= factor;
  result.constant *= factor;
  return result;
}

/// The largest of `count` indices; 0 if there is none.
static ir::Size lastOf(ir::Size count) { return count == 0 ? count : count - 1; }

VarId IndexSpace::addLoop(ir::Size maximum, int64_t multipleOf, bool ofLanes) {
  IndexVar var;
  var.maximum = maximum == -1 ? 0 : maximum;
  var.multipleOf = multipleOf;
  var.ofLanes = ofLanes;
  vars.push_back(var);
  return static_cast<VarId>(vars.size() - 1);
}

VarId IndexSpace::addGathered(int node, ir::Size size, bool perLane, int64_t lane) {
  IndexVar var;
  var.kind = IndexVar::gathered;
  var.node = node;
  var.lane = lane;
  var.maximum = lastOf(size);
  var.perLane = perLane;
  return intern(var);
}

VarId IndexSpace::intern(IndexVar var) {
  std::vector<int64_t> key{var.kind, var.by.raw(), var.node, var.maximum.raw(), var.multipleOf, var.lane};
  var.of.append(key);
  auto [entry, isNew] = derived.try_emplace(std::move(key), static_cast<VarId>(vars.size()));
  if (isNew)
    vars.push_back(std::move(var));
  return entry->second;
}

IndexExpr IndexSpace::expr(VarId id, ir::Size coefficient) const {
  IndexExpr e;
  e.terms.push_back({id, coefficient});
  return e;
}

bool IndexSpace::dependsOnLane(const IndexExpr &e) const { return e.lane != 0 || isPerLane(e); }

bool IndexSpace::isPerLane(const IndexExpr &e) const {
  return llvm::any_of(e.terms, [&](const auto &term) { return vars[term.first].perLane; });
}

/// Splits `e` into quotient and remainder in affine form, and says what ranges and factors prove of them.
IndexSpace::Split IndexSpace::split(const IndexExpr &e, ir::Size by, IndexExpr &quotient,
                                    IndexExpr &remainder) const {
  quotient = IndexExpr();
  remainder = IndexExpr();
  ir::Size most = 0; // the largest remainder
  // Terms whose coefficient `by` divides go into the quotient. The sum of the others must stay below `by`.
  for (auto [id, coefficient] : e.terms) {
    if (!ranges.isAtLeast(coefficient, 0))
      return Split::none;
    if (auto whole = ir::divide(coefficient, by)) {
      quotient.terms.push_back({id, *whole});
      continue;
    }
    if (most.isExpressible())
      most += coefficient * vars[id].maximum;
    remainder.terms.push_back({id, coefficient});
  }
  if (!ranges.isAtLeast(e.constant, 0) || !ranges.isAtLeast(e.lane, 0))
    return Split::none;
  if (e.constant.isNumber() && by.isNumber()) {
    quotient.constant = e.constant.asNumber() / by.asNumber();
    remainder.constant = e.constant.asNumber() % by.asNumber();
  } else if (auto whole = ir::divide(e.constant, by)) {
    quotient.constant = *whole;
  } else {
    remainder.constant = e.constant;
  }
  if (auto whole = ir::divide(e.lane, by))
    quotient.lane = *whole;
  else
    remainder.lane = e.lane;
  if (!most.isExpressible())
    return Split::partly;
  // With a lane coefficient of 1, the lanes of a step stay within the extent of the loop, so `maximum` is a
  // bound of the last lane too.
  if (e.lane != 1 || remainder.terms.empty())
    most += remainder.lane * (lanes - 1);
  // most + constant < by
  return ranges.isAtLeast(by - most - remainder.constant, 1) ? Split::wholly : Split::partly;
}

/// A number that divides the value of `e` in lane 0.
static int64_t factorOf(const IndexSpace &space, const IndexExpr &e) {
  int64_t factor = ir::contentOf(e.constant);
  for (auto [id, coefficient] : e.terms)
    factor = std::gcd(factor, ir::contentOf(coefficient) * space.var(id).multipleOf);
  return factor;
}

/// The largest value of `e` divided by `by`; inexpressible if a coefficient, a maximum or `by` is symbolic.
static ir::Size largestQuotient(const IndexSpace &space, const IndexExpr &e, ir::Size by) {
  auto risen = [](ir::Size coefficient, ir::Size maximum) -> ir::Size {
    if (!coefficient.isNumber() || !maximum.isNumber())
      return ir::Size::inexpressible();
    return coefficient.isCount() ? coefficient * maximum : 0;
  };
  ir::Size most = e.constant + risen(e.lane, space.lanes - 1);
  for (auto [id, coefficient] : e.terms)
    most += risen(coefficient, space.var(id).maximum);
  if (!most.isNumber() || !by.isNumber())
    return ir::Size::inexpressible();
  return std::max<int64_t>(most.asNumber() / by.asNumber(), 0);
}

IndexExpr IndexSpace::divide(const IndexExpr &e, ir::Size by) {
  if (by == 1)
    return e;
  IndexExpr quotient, remainder;
  const Split found = split(e, by, quotient, remainder);
  if (found == Split::wholly)
    return quotient;
  if (found == Split::partly && splitsSums && !quotient.terms.empty())
    return add(quotient, divide(remainder, by));
  IndexVar var;
  var.kind = IndexVar::quotient;
  var.by = by;
  // The lanes are consecutive numbers from a multiple of `lanes` on. If `lanes` divides `by`, no multiple of
  // `by` is among them except for the first, so all lanes have one quotient.
  bool together = e.lane == 1 && !isPerLane(e) && isMultipleOf(by, lanes) && factorOf(*this, e) % lanes == 0;
  var.of = e;
  if (together)
    var.of.lane = 0;
  var.perLane = !together && dependsOnLane(e);
  var.maximum = largestQuotient(*this, e, by);
  return expr(intern(std::move(var)));
}

IndexExpr IndexSpace::modulo(const IndexExpr &e, ir::Size by) {
  if (by == 1)
    return IndexExpr();
  IndexExpr quotient, remainder;
  const Split found = split(e, by, quotient, remainder);
  if (found == Split::wholly)
    return remainder;
  if (found == Split::partly && splitsSums && !quotient.terms.empty())
    return modulo(remainder, by);
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
  var.maximum = by - 1;
  IndexExpr result = expr(intern(std::move(var)));
  if (together)
    result.lane = 1;
  return result;
}

bool IndexSpace::rangeOf(const IndexExpr &e, ir::Size &low, ir::Size &high) const {
  low = high = e.constant;
  auto extend = [&](ir::Size coefficient, ir::Size maximum) {
    bool rises = ranges.isAtLeast(coefficient, 0);
    ir::Size &side = rises ? high : low;
    side += coefficient * maximum;
    return side.isExpressible() && (rises || ranges.isAtMost(coefficient, 0));
  };
  for (auto [id, coefficient] : e.terms)
    if (!extend(coefficient, vars[id].maximum))
      return false;
  // A multiple of the sum of a variable and the lane has the bound of the variable.
  for (auto [id, coefficient] : e.terms)
    if (vars[id].ofLanes && coefficient == e.lane)
      return true;
  // With a lane coefficient of 1 or -1, `maximum` is a bound of the last lane too (see split()).
  return ((e.lane == 1 || e.lane == -1) && !e.terms.empty()) || extend(e.lane, lanes - 1);
}

bool IndexSpace::isWithin(const IndexExpr &e, ir::Size size) const {
  ir::Size low, high;
  return !isPerLane(e) && rangeOf(e, low, high) && ranges.isAtLeast(low, 0) &&
         ranges.isAtLeast(size - 1 - high, 0);
}

IndexExpr IndexSpace::clamp(const IndexExpr &e, ir::Size size) {
  IndexVar var;
  var.kind = IndexVar::clamped;
  // Where whole vectors lie inside or outside, their first lane decides for all of them.
  bool together = size.isNumber() && size != 0 && e.lane == 1 && !isPerLane(e) && isMultipleOf(size, lanes) &&
                  factorOf(*this, e) % lanes == 0;
  var.by = together ? size - (lanes - 1) : size;
  var.of = e;
  if (together) {
    var.of.lane = 0;
    var.multipleOf = lanes;
  }
  var.maximum = lastOf(size);
  var.perLane = !together && dependsOnLane(e);
  IndexExpr result = expr(intern(std::move(var)));
  if (together)
    result.lane = 1;
  return result;
}

IndexExpr IndexSpace::linear(const IndexExpr &a, ir::Size factor, const IndexExpr &b) {
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
               term.second == coefficient * low.by;
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

IndexExpr rangeIndex(IndexSpace &space, const TensorIndex &index, llvm::ArrayRef<ir::Size> shape,
                     unsigned begin, unsigned end) {
  IndexExpr result;
  unsigned at = 0;
  for (const TensorIndex::Group &group : index.groups) {
    unsigned from = at, to = at + group.dims;
    at = to;
    unsigned low = std::max(from, begin), high = std::min(to, end);
    if (low >= high)
      continue;
    ir::Size inner = ir::productOf(shape.slice(high, to - high)),
             size = ir::productOf(shape.slice(low, high - low)),
             outer = ir::productOf(shape.slice(from, low - from));
    IndexExpr part;
    if (size == 0) {
      // The dimension is empty, so the loop over it does not run. Do not make the index a constant, because
      // code that depends on it would then be moved out of the loop.
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
