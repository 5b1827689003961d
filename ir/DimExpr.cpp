//===- DimExpr.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/DimExpr.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <unordered_map>

namespace weft::ir {

namespace {

constexpr size_t maxTerms = 32, maxDegree = 8;

int64_t saturated(__int128 value) {
  constexpr int64_t most = INT64_MAX;
  return value > most ? most : value < -most ? -most : static_cast<int64_t>(value);
}

/// Falling degree, then by symbols.
bool comesBefore(const DimTerm &a, const DimTerm &b) {
  return a.symbols.size() != b.symbols.size() ? a.symbols.size() > b.symbols.size() : a.symbols < b.symbols;
}

/// Orders terms, adds those of the same symbols and drops zeros; false if a coefficient had to saturate.
bool normalize(std::vector<DimTerm> &terms) {
  bool exact = true;
  for (DimTerm &term : terms)
    std::sort(term.symbols.begin(), term.symbols.end());
  std::sort(terms.begin(), terms.end(), comesBefore);
  std::vector<DimTerm> merged;
  for (DimTerm &term : terms) {
    if (merged.empty() || merged.back().symbols != term.symbols) {
      merged.push_back(std::move(term));
      continue;
    }
    __int128 sum = static_cast<__int128>(merged.back().coefficient) + term.coefficient;
    merged.back().coefficient = saturated(sum);
    exact &= merged.back().coefficient == sum;
  }
  std::erase_if(merged, [](const DimTerm &term) { return term.coefficient == 0; });
  terms = std::move(merged);
  return exact;
}

std::vector<DimTerm> multiply(const std::vector<DimTerm> &a, const std::vector<DimTerm> &b, bool &exact) {
  std::vector<DimTerm> terms;
  for (const DimTerm &x : a)
    for (const DimTerm &y : b) {
      __int128 product = static_cast<__int128>(x.coefficient) * y.coefficient;
      DimTerm term{saturated(product), x.symbols};
      exact &= term.coefficient == product;
      term.symbols.insert(term.symbols.end(), y.symbols.begin(), y.symbols.end());
      terms.push_back(std::move(term));
    }
  exact &= normalize(terms);
  return terms;
}

std::string termsText(const std::vector<DimTerm> &terms) {
  if (terms.empty())
    return "0";
  std::string text;
  for (const DimTerm &term : terms) {
    text += text.empty() ? "" : " + ";
    if (term.coefficient != 1 || term.symbols.empty())
      text += std::to_string(term.coefficient) + (term.symbols.empty() ? "" : " * ");
    for (size_t i = 0; i < term.symbols.size(); ++i)
      text += (i ? " * " : "") + term.symbols[i];
  }
  return text;
}

/// The expressions that have a handle. They are never forgotten: a program has few.
class Table {
public:
  int64_t intern(DimExpr expr) {
    // The handle is a hash of the text, so that it is the same in every process.
    uint64_t hash = 0xcbf29ce484222325u;
    for (char c : expr.str())
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    std::unique_lock lock(mutex);
    for (;; ++hash) {
      auto number = static_cast<int64_t>((hash ^ hash >> 61) % static_cast<uint64_t>(maxSizeHandles));
      auto [it, inserted] = expressions.try_emplace(firstSizeHandle + number, expr);
      if (inserted || it->second == expr)
        return it->first;
    }
  }
  const DimExpr *find(int64_t size) {
    std::shared_lock lock(mutex);
    auto it = expressions.find(size);
    return it == expressions.end() ? nullptr : &it->second;
  }
  static Table &get() {
    static auto *table = new Table;
    return *table;
  }

private:
  std::shared_mutex mutex;
  std::unordered_map<int64_t, DimExpr> expressions; // its elements stay where they are
};

} // namespace

std::string DimExpr::str() const {
  std::string text = termsText(terms);
  return divisor == 1 ? text : "ceildiv(" + text + ", " + std::to_string(divisor) + ")";
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

bool anySymbolic(std::span<const int64_t> sizes) {
  return std::any_of(sizes.begin(), sizes.end(), isSymbolic);
}

bool isKnownSize(int64_t size) { return isSymbolic(size) ? Table::get().find(size) != nullptr : size >= 0; }

int64_t symbolSize(std::string_view name) { return Table::get().intern({{{1, {std::string(name)}}}, 1}); }

DimExpr exprOf(int64_t size) {
  if (isSymbolic(size))
    if (const DimExpr *expr = Table::get().find(size))
      return *expr;
  DimExpr expr;
  if (size != 0)
    expr.terms.push_back({size, {}});
  return expr;
}

int64_t sizeOf(DimExpr expr) {
  normalize(expr.terms);
  bool constant = expr.terms.empty() || expr.terms.front().symbols.empty();
  if (!constant)
    return Table::get().intern(std::move(expr));
  int64_t value = expr.terms.empty() ? 0 : expr.terms.front().coefficient;
  return expr.divisor == 1 ? value : value / expr.divisor + (value % expr.divisor > 0);
}

std::string symbolOf(int64_t size) {
  if (!isSymbolic(size))
    return {};
  DimExpr expr = exprOf(size);
  bool plain = expr.divisor == 1 && expr.terms.size() == 1 && expr.terms[0].coefficient == 1 &&
               expr.terms[0].symbols.size() == 1;
  return plain ? expr.terms[0].symbols[0] : std::string();
}

std::vector<std::string> symbolsOf(int64_t size) {
  std::vector<std::string> symbols;
  if (!isSymbolic(size))
    return symbols;
  for (const DimTerm &term : exprOf(size).terms)
    symbols.insert(symbols.end(), term.symbols.begin(), term.symbols.end());
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

std::string sizeText(int64_t size) { return isSymbolic(size) ? exprOf(size).str() : std::to_string(size); }

std::string sizesText(std::span<const int64_t> sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i ? ", " : "") + sizeText(sizes[i]);
  return text;
}

bool isSymbolName(std::string_view name) {
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || name.size() > 64 || !isLetter(name[0]))
    return false;
  if (!std::all_of(name.begin(), name.end(), [&](char c) { return isLetter(c) || isDigit(c); }))
    return false;
  // `i64`, `si8` and `ui8` are one token of the text, and no name.
  std::string_view rest = name;
  if (rest.starts_with("si") || rest.starts_with("ui"))
    rest.remove_prefix(1);
  if (rest.size() > 1 && rest[0] == 'i' && std::all_of(rest.begin() + 1, rest.end(), isDigit))
    return false;
  return name != "ceildiv";
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A rounded quotient as a term of a sum or product would not be a polynomial: nothing in the compiler
/// computes with one.
int64_t addSizesSlow(int64_t a, int64_t b) {
  DimExpr x = exprOf(a), y = exprOf(b);
  if (x.divisor != 1 || y.divisor != 1)
    return x.terms.empty() ? b : a;
  x.terms.insert(x.terms.end(), y.terms.begin(), y.terms.end());
  return sizeOf(std::move(x));
}

int64_t mulSizesSlow(int64_t a, int64_t b) {
  if (a == 1)
    return b;
  if (b == 1)
    return a;
  DimExpr x = exprOf(a), y = exprOf(b);
  bool exact = true;
  return sizeOf({multiply(x.terms, y.terms, exact), std::max(x.divisor, y.divisor)});
}

std::optional<int64_t> divideSizes(int64_t a, int64_t b) {
  if (b == 0)
    return std::nullopt;
  if (!isSymbolic(a) && !isSymbolic(b))
    return a % b == 0 ? std::optional(a / b) : std::nullopt;
  DimExpr rest = exprOf(a), by = exprOf(b);
  if (rest.divisor != 1 || by.divisor != 1)
    return std::nullopt;
  // Long division: each step removes the leading term, in the order of terms, which products respect.
  const DimTerm &lead = by.terms.front();
  DimExpr quotient;
  for (size_t steps = 0; !rest.terms.empty(); ++steps) {
    const DimTerm &first = rest.terms.front();
    std::vector<std::string> left;
    std::set_difference(first.symbols.begin(), first.symbols.end(), lead.symbols.begin(), lead.symbols.end(),
                        std::back_inserter(left));
    if (steps > maxTerms || left.size() + lead.symbols.size() != first.symbols.size() ||
        first.coefficient % lead.coefficient != 0)
      return std::nullopt;
    DimTerm factor{first.coefficient / lead.coefficient, left};
    quotient.terms.push_back(factor);
    bool exact = true;
    factor.coefficient = -factor.coefficient;
    auto taken = multiply(by.terms, {factor}, exact);
    rest.terms.insert(rest.terms.end(), taken.begin(), taken.end());
    if (!normalize(rest.terms) || !exact)
      return std::nullopt;
  }
  return sizeOf(std::move(quotient));
}

int64_t ceilDivSizes(int64_t a, int64_t b) {
  if (!isSymbolic(a))
    return a / b + (a % b > 0);
  if (auto quotient = divideSizes(a, b))
    return *quotient;
  DimExpr expr = exprOf(a);
  expr.divisor = saturated(static_cast<__int128>(expr.divisor) * b);
  return sizeOf(std::move(expr));
}

bool isMultipleOf(int64_t size, int64_t by) { return contentOf(size) % by == 0; }

int64_t contentOf(int64_t size) {
  if (!isSymbolic(size))
    return std::abs(size);
  DimExpr expr = exprOf(size);
  if (expr.divisor != 1)
    return 1;
  int64_t content = 0;
  for (const DimTerm &term : expr.terms)
    content = std::gcd(content, term.coefficient);
  return content;
}

std::optional<int64_t> checkedProduct(std::span<const int64_t> sizes) {
  std::vector<DimTerm> product{{1, {}}};
  for (int64_t size : sizes) {
    DimExpr expr = exprOf(size);
    bool exact = expr.divisor == 1;
    product = multiply(product, expr.terms, exact);
    if (!exact || product.size() > maxTerms ||
        (!product.empty() && product.front().symbols.size() > maxDegree))
      return std::nullopt;
  }
  return sizeOf({std::move(product), 1});
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<int64_t> evaluate(int64_t size, const SymbolValue &valueOf) {
  if (!isSymbolic(size))
    return size;
  if (!isKnownSize(size))
    return std::nullopt;
  DimExpr expr = exprOf(size);
  int64_t sum = 0;
  for (const DimTerm &term : expr.terms) {
    int64_t product = term.coefficient;
    for (const std::string &symbol : term.symbols) {
      std::optional<int64_t> value = valueOf(symbol);
      if (!value || __builtin_mul_overflow(product, *value, &product))
        return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return expr.divisor == 1 ? sum : sum / expr.divisor + (sum % expr.divisor > 0);
}

const SymbolRanges::Range *SymbolRanges::find(std::string_view name) const {
  auto it = ranges.find(name);
  return it == ranges.end() ? nullptr : &it->second;
}

int64_t SymbolRanges::largest(int64_t size) const {
  if (!isSymbolic(size))
    return size;
  std::optional<int64_t> value = evaluate(size, [&](std::string_view name) -> std::optional<int64_t> {
    const Range *range = find(name);
    return range ? range->max : 1;
  });
  constexpr int64_t most = int64_t(1) << 62;
  return value ? std::min(*value, most) : most;
}

std::vector<int64_t> SymbolRanges::largest(std::span<const int64_t> sizes) const {
  std::vector<int64_t> values;
  for (int64_t size : sizes)
    values.push_back(largest(size));
  return values;
}

bool SymbolRanges::isAtLeast(int64_t size, int64_t bound) const {
  if (!isSymbolic(size))
    return size >= bound;
  DimExpr expr = exprOf(size);
  if (expr.divisor != 1)
    return bound <= 0 && isAtLeast(sizeOf({expr.terms, 1}), 0);
  // With every symbol written as its least value plus something that is not negative, a polynomial whose
  // coefficients are not negative, the constant leaving the bound aside, is nowhere below the bound.
  std::vector<DimTerm> shifted;
  for (const DimTerm &term : expr.terms) {
    std::vector<DimTerm> product{{term.coefficient, {}}};
    bool exact = true;
    for (const std::string &symbol : term.symbols) {
      const Range *range = find(symbol);
      product = multiply(product, {{1, {symbol}}, {range ? range->min : 0, {}}}, exact);
    }
    if (!exact)
      return false;
    shifted.insert(shifted.end(), product.begin(), product.end());
  }
  if (bound != 0)
    shifted.push_back({-bound, {}});
  if (!normalize(shifted))
    return false;
  bool symbolic =
      std::all_of(shifted.begin(), shifted.end(), [](const DimTerm &term) { return term.coefficient >= 0; });
  if (symbolic)
    return true;
  // Otherwise term by term, each at the end of the range that makes it smallest.
  __int128 least = 0;
  for (const DimTerm &term : expr.terms) {
    __int128 product = term.coefficient;
    for (const std::string &symbol : term.symbols) {
      const Range *range = find(symbol);
      if (!range)
        return false;
      product *= term.coefficient < 0 ? range->max : range->min;
      if (product > INT64_MAX || product < INT64_MIN)
        return false;
    }
    least += product;
  }
  return least >= bound;
}

} // namespace weft::ir
