//===- Size.cpp -----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Size.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <unordered_map>

namespace weft::ir {

static_assert(sizeof(Size) == 8 && std::is_trivially_copyable_v<Size>);

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

namespace {

using Terms = std::vector<DimTerm>;

constexpr size_t maxTerms = 32, maxDegree = 8;

/// Whether a value can be a coefficient. The least integer cannot, because its sign could not be changed.
bool isCoefficient(__int128 value) { return value <= INT64_MAX && value >= -INT64_MAX; }

/// Falling degree, then by symbols.
bool comesBefore(const DimTerm &a, const DimTerm &b) {
  return a.symbols.size() != b.symbols.size() ? a.symbols.size() > b.symbols.size() : a.symbols < b.symbols;
}

/// Sorts terms, adds those with the same symbols and drops zeros; empty if a coefficient overflows.
std::optional<Terms> normalized(Terms terms) {
  for (DimTerm &term : terms)
    std::sort(term.symbols.begin(), term.symbols.end());
  std::sort(terms.begin(), terms.end(), comesBefore);
  Terms merged;
  for (size_t i = 0; i < terms.size();) {
    __int128 sum = 0;
    size_t first = i;
    for (; i < terms.size() && terms[i].symbols == terms[first].symbols; ++i)
      sum += terms[i].coefficient;
    if (!isCoefficient(sum))
      return std::nullopt;
    if (sum != 0)
      merged.push_back({static_cast<int64_t>(sum), std::move(terms[first].symbols)});
  }
  return merged;
}

std::optional<Terms> product(const Terms &a, const Terms &b) {
  Terms terms;
  for (const DimTerm &x : a)
    for (const DimTerm &y : b) {
      __int128 coefficient = static_cast<__int128>(x.coefficient) * y.coefficient;
      if (!isCoefficient(coefficient))
        return std::nullopt;
      terms.push_back({static_cast<int64_t>(coefficient), x.symbols});
      terms.back().symbols.insert(terms.back().symbols.end(), y.symbols.begin(), y.symbols.end());
    }
  return normalized(std::move(terms));
}

/// a + factor * b.
std::optional<Terms> sum(Terms a, const Terms &b, int64_t factor) {
  std::optional<Terms> added = product(b, {{factor, {}}});
  if (!added)
    return std::nullopt;
  a.insert(a.end(), added->begin(), added->end());
  return normalized(std::move(a));
}

/// Long division of canonical polynomials: each step removes the leading term; products preserve the order of
/// terms. Empty if there is a remainder.
std::optional<Terms> quotient(Terms rest, const Terms &by) {
  if (by.empty())
    return std::nullopt;
  const DimTerm &lead = by.front();
  Terms result;
  while (!rest.empty()) {
    const DimTerm &first = rest.front();
    std::vector<std::string> left;
    std::set_difference(first.symbols.begin(), first.symbols.end(), lead.symbols.begin(), lead.symbols.end(),
                        std::back_inserter(left));
    if (result.size() > maxTerms || left.size() + lead.symbols.size() != first.symbols.size() ||
        first.coefficient % lead.coefficient != 0)
      return std::nullopt;
    result.push_back({first.coefficient / lead.coefficient, std::move(left)});
    std::optional<Terms> taken = product(by, {result.back()});
    std::optional<Terms> next = taken ? sum(std::move(rest), *taken, -1) : std::nullopt;
    if (!next)
      return std::nullopt;
    rest = std::move(*next);
  }
  return normalized(std::move(result));
}

int64_t roundedUp(int64_t value, int64_t divisor) { return value / divisor + (value % divisor > 0); }

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

} // namespace

std::string DimExpr::str() const {
  std::string text = termsText(terms);
  return divisor == 1 ? text : "ceildiv(" + text + ", " + std::to_string(divisor) + ")";
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

/// The expressions that have a handle. They are kept for ever, because a program has few.
class SizeTable {
public:
  Size intern(DimExpr expr) {
    // The handle is a hash of the text, so that it is the same in every process.
    uint64_t hash = 0xcbf29ce484222325u;
    for (char c : expr.str())
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    constexpr auto handles = static_cast<uint64_t>(Size::leastNumber - Size::firstHandle);
    std::unique_lock lock(mutex);
    for (;; ++hash) {
      auto number = static_cast<int64_t>((hash ^ hash >> 61) % handles);
      auto [it, inserted] = expressions.try_emplace(Size::firstHandle + number, expr);
      if (inserted || it->second == expr)
        return Size(Size::RawBits{it->first});
    }
  }
  const DimExpr *find(int64_t handle) {
    std::shared_lock lock(mutex);
    auto it = expressions.find(handle);
    return it == expressions.end() ? nullptr : &it->second;
  }
  static SizeTable &get() {
    static auto *table = new SizeTable;
    return *table;
  }

private:
  std::shared_mutex mutex;
  std::unordered_map<int64_t, DimExpr> expressions; // its elements stay where they are
};

Size Size::fromHandle(int64_t raw) {
  return SizeTable::get().find(raw) ? Size(RawBits{raw}) : inexpressible();
}

Size Size::symbol(std::string_view name) { return SizeTable::get().intern({{{1, {std::string(name)}}}, 1}); }

DimExpr Size::expr() const {
  assert(isExpressible() && "an inexpressible size has no expression");
  if (!isNumber())
    return *SizeTable::get().find(bits);
  DimExpr expr;
  if (bits != 0)
    expr.terms.push_back({bits, {}});
  return expr;
}

Size Size::of(DimExpr expr) {
  std::optional<Terms> terms = normalized(std::move(expr.terms));
  if (!terms || terms->size() > maxTerms || expr.divisor < 1 ||
      (!terms->empty() && terms->front().symbols.size() > maxDegree))
    return inexpressible();
  bool isConstant = terms->empty() || terms->front().symbols.empty();
  if (isConstant)
    return terms->empty() ? 0 : roundedUp(terms->front().coefficient, expr.divisor);
  auto isWhole = [&](const DimTerm &term) { return term.coefficient % expr.divisor == 0; };
  if (expr.divisor != 1 && std::all_of(terms->begin(), terms->end(), isWhole)) {
    for (DimTerm &term : *terms)
      term.coefficient /= expr.divisor;
    expr.divisor = 1;
  }
  return SizeTable::get().intern({std::move(*terms), expr.divisor});
}

//===----------------------------------------------------------------------===//
// Text and symbols
//===----------------------------------------------------------------------===//

std::string sizeText(Size size) {
  if (std::optional<int64_t> number = size.number())
    return std::to_string(*number);
  return size.isExpressible() ? size.expr().str() : "<inexpressible>";
}

std::string sizesText(std::span<const Size> sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i ? ", " : "") + sizeText(sizes[i]);
  return text;
}

std::string symbolOf(Size size) {
  if (!size.isSymbolic())
    return {};
  DimExpr expr = size.expr();
  bool plain = expr.divisor == 1 && expr.terms.size() == 1 && expr.terms[0].coefficient == 1 &&
               expr.terms[0].symbols.size() == 1;
  return plain ? expr.terms[0].symbols[0] : std::string();
}

std::vector<std::string> symbolsOf(Size size) {
  std::vector<std::string> symbols;
  if (!size.isSymbolic())
    return symbols;
  for (const DimTerm &term : size.expr().terms)
    symbols.insert(symbols.end(), term.symbols.begin(), term.symbols.end());
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

bool anySymbolic(std::span<const Size> sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](Size size) { return size.isSymbolic(); });
}

bool isPolynomial(Size size) { return size.isNumber() || (size.isSymbolic() && size.expr().divisor == 1); }

std::string polynomialText(std::string_view symbols) {
  return "a sum of at most " + std::to_string(maxTerms) + " products of at most " +
         std::to_string(maxDegree) + " " + std::string(symbols);
}

bool isSymbolName(std::string_view name) {
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || name.size() > 64 || !isLetter(name[0]))
    return false;
  if (!std::all_of(name.begin(), name.end(), [&](char c) { return isLetter(c) || isDigit(c); }))
    return false;
  // `i64`, `si8` and `ui8` are tokens of types in the text, so they cannot be names.
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

Size Size::addSlow(Size a, Size b) {
  if (!a.isExpressible() || !b.isExpressible())
    return inexpressible();
  DimExpr x = a.expr(), y = b.expr();
  if (x.divisor == 1)
    std::swap(x, y);
  // A polynomial times the divisor can be added under the rounding; a second rounded quotient cannot.
  std::optional<Terms> terms =
      y.divisor == 1 ? ir::sum(std::move(x.terms), y.terms, x.divisor) : std::nullopt;
  return terms ? of({std::move(*terms), x.divisor}) : inexpressible();
}

Size Size::subSlow(Size a, Size b) {
  if (!a.isExpressible() || !b.isExpressible())
    return inexpressible();
  DimExpr x = a.expr(), y = b.expr();
  // The difference of two rounded quotients with one divisor is known if their dividends differ by a multiple
  // of it.
  bool bothRounded = y.divisor != 1;
  if (bothRounded && x.divisor != y.divisor)
    return inexpressible();
  std::optional<Terms> terms = ir::sum(std::move(x.terms), y.terms, bothRounded ? -1 : -x.divisor);
  if (terms && bothRounded)
    terms = quotient(std::move(*terms), {{x.divisor, {}}});
  return terms ? of({std::move(*terms), bothRounded ? 1 : x.divisor}) : inexpressible();
}

Size Size::mulSlow(Size a, Size b) {
  if (!a.isExpressible() || !b.isExpressible())
    return inexpressible();
  if (a == 0 || b == 0)
    return 0;
  if (a == 1 || b == 1)
    return a == 1 ? b : a;
  DimExpr x = a.expr(), y = b.expr();
  std::optional<Terms> terms =
      x.divisor == 1 && y.divisor == 1 ? ir::product(x.terms, y.terms) : std::nullopt;
  return terms ? of({std::move(*terms), 1}) : inexpressible();
}

Size productOf(std::span<const Size> sizes) {
  Size product = 1;
  for (Size size : sizes)
    product *= size;
  return product;
}

std::optional<Size> divide(Size a, Size b) {
  if (!a.isExpressible() || !b.isExpressible() || b == 0)
    return std::nullopt;
  if (a.isNumber() && b.isNumber())
    return a.asNumber() % b.asNumber() == 0 ? std::optional<Size>(a.asNumber() / b.asNumber()) : std::nullopt;
  DimExpr x = a.expr(), y = b.expr();
  if (x.divisor != 1 || y.divisor != 1)
    return std::nullopt;
  std::optional<Terms> terms = quotient(std::move(x.terms), y.terms);
  Size result = terms ? Size::of({std::move(*terms), 1}) : Size::inexpressible();
  return result.isExpressible() ? std::optional(result) : std::nullopt;
}

Size ceilDiv(Size a, int64_t b) {
  if (!a.isExpressible() || b < 1)
    return Size::inexpressible();
  if (a.isNumber())
    return roundedUp(a.asNumber(), b);
  DimExpr expr = a.expr();
  if (__builtin_mul_overflow(expr.divisor, b, &expr.divisor))
    return Size::inexpressible();
  return Size::of(std::move(expr));
}

bool isPartOf(Size size, Size whole) {
  if (size.isNumber() && whole.isNumber())
    return size.asNumber() < whole.asNumber();
  return size != whole && divide(whole, size);
}

bool isMultipleOf(Size size, int64_t by) { return size.isExpressible() && contentOf(size) % by == 0; }

int64_t contentOf(Size size) {
  if (std::optional<int64_t> number = size.number())
    return std::abs(*number);
  if (!size.isExpressible())
    return 1;
  DimExpr expr = size.expr();
  if (expr.divisor != 1)
    return 1;
  int64_t content = 0;
  for (const DimTerm &term : expr.terms)
    content = std::gcd(content, term.coefficient);
  return content;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<int64_t> evaluate(Size size, const SymbolValue &valueOf) {
  if (!size.isSymbolic())
    return size.number();
  DimExpr expr = size.expr();
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
  return roundedUp(sum, expr.divisor);
}

const SymbolRanges::Range *SymbolRanges::find(std::string_view name) const {
  auto it = ranges.find(name);
  return it == ranges.end() ? nullptr : &it->second;
}

std::optional<__int128> SymbolRanges::extreme(std::span<const DimTerm> terms, bool isUpper) const {
  constexpr __int128 most = INT64_MAX;
  __int128 sum = 0;
  for (const DimTerm &term : terms) {
    __int128 value = term.coefficient;
    for (const std::string &symbol : term.symbols) {
      const Range *range = find(symbol);
      bool atMax = (term.coefficient > 0) == isUpper;
      if (!range && atMax)
        return std::nullopt;
      value *= !range ? 0 : atMax ? range->max : range->min;
      if (value > most || value < -most)
        return std::nullopt;
    }
    sum += value;
  }
  return sum;
}

int64_t SymbolRanges::largest(Size size) const {
  if (std::optional<int64_t> number = size.number())
    return *number;
  constexpr int64_t most = int64_t(1) << 62;
  if (!size.isExpressible())
    return most;
  DimExpr expr = size.expr();
  std::optional<__int128> sum = extreme(expr.terms, /*isUpper=*/true);
  return sum && *sum <= most ? roundedUp(static_cast<int64_t>(*sum), expr.divisor) : most;
}

std::vector<int64_t> SymbolRanges::largest(std::span<const Size> sizes) const {
  std::vector<int64_t> values;
  for (Size size : sizes)
    values.push_back(largest(size));
  return values;
}

std::optional<int64_t> SymbolRanges::atLargest(Size size) const {
  return evaluate(size, [&](std::string_view name) {
    const Range *range = find(name);
    return range ? std::optional(range->max) : std::nullopt;
  });
}

bool SymbolRanges::isAtLeast(Size size, int64_t bound) const {
  if (!size.isSymbolic())
    return size.isNumber() && size.asNumber() >= bound;
  DimExpr expr = size.expr();
  if (expr.divisor != 1) {
    // A quotient that is rounded up is at least `bound` if the dividend is more than (bound - 1) divisors.
    int64_t before = 0;
    if (__builtin_sub_overflow(bound, 1, &before) || __builtin_mul_overflow(before, expr.divisor, &before) ||
        __builtin_add_overflow(before, 1, &before))
      return false;
    return isAtLeast(Size::of({expr.terms, 1}), before);
  }
  // Write every symbol as its least value plus a non-negative number. If then all coefficients are
  // non-negative, and the constant is at least the bound, the polynomial is nowhere below the bound.
  Terms shifted;
  for (const DimTerm &term : expr.terms) {
    std::optional<Terms> terms = Terms{{term.coefficient, {}}};
    for (const std::string &symbol : term.symbols) {
      const Range *range = find(symbol);
      terms = product(*terms, {{1, {symbol}}, {range ? range->min : 0, {}}});
      if (!terms)
        return false;
    }
    shifted.insert(shifted.end(), terms->begin(), terms->end());
  }
  std::optional<Terms> above = sum(std::move(shifted), {{1, {}}}, isCoefficient(bound) ? -bound : INT64_MAX);
  if (!above)
    return false;
  if (std::all_of(above->begin(), above->end(), [](const DimTerm &term) { return term.coefficient >= 0; }))
    return true;
  // Otherwise term by term, each at the end of the range that makes it smallest.
  std::optional<__int128> least = extreme(expr.terms, /*isUpper=*/false);
  return least && *least >= bound;
}

bool SymbolRanges::isAtMost(Size a, Size b) const {
  if (!a.isExpressible() || !b.isExpressible())
    return false;
  if (a == b)
    return true;
  // A quotient that is rounded up is at most b if the dividend is at most b divisors.
  DimExpr x = a.expr();
  return x.divisor == 1 ? isAtLeast(b - a, 0) : isAtLeast(b * x.divisor - Size::of({x.terms, 1}), 0);
}

} // namespace weft::ir
