//===- Size.h - Static and symbolic sizes -----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A size of the compiler is a number, or an expression over symbols: a polynomial with integer coefficients
// (`784 * batch`, `batch + 1`), or such a polynomial divided by a number and rounded up. Polynomials are in a
// canonical form, so that equal text is an equal size for every value of the symbols.
//
// A size that cannot be expressed exactly is `inexpressible`: numbers and coefficients beyond 63 bits, sums
// and products of rounded quotients, polynomials that grow beyond a bound. Every operation on it gives an
// inexpressible size, it is not equal to any size, and every query about it answers "not proven". So no
// computed size is wrong. Types and attributes must not contain it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SIZE_H
#define WEFT_IR_SIZE_H

#include <cassert>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::ir {

/// coefficient * the product of the symbols, which are in alphabetical order and may repeat.
struct DimTerm {
  int64_t coefficient = 0;
  std::vector<std::string> symbols;
  friend bool operator==(const DimTerm &, const DimTerm &) = default;
};

/// The sum of its terms, divided by `divisor` and rounded up. Terms are in order of falling degree, then of
/// their symbols; none has the coefficient 0, and no two have the same symbols. Without terms it is 0.
struct DimExpr {
  std::vector<DimTerm> terms;
  int64_t divisor = 1;

  /// "784 * batch + 1", "ceildiv(10 * batch, 64)".
  std::string str() const;
  friend bool operator==(const DimExpr &, const DimExpr &) = default;
};

/// A number, an expression, or inexpressible. A size converts to an integer only through number() and
/// asNumber(). Sizes have no order; `SymbolRanges` compares them.
class Size {
public:
  constexpr Size() = default;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  constexpr Size(T number) : bits(holds(number) ? static_cast<int64_t>(number) : inexpressibleBits) {}
  static constexpr Size inexpressible() { return Size(RawBits{inexpressibleBits}); }
  /// The value of a symbol.
  static Size symbol(std::string_view name);
  /// Terms may be in any order and have symbols in common.
  static Size of(DimExpr expr);

  constexpr bool isNumber() const { return bits >= leastNumber; }
  constexpr bool isSymbolic() const { return bits < leastNumber && bits >= firstHandle; }
  constexpr bool isExpressible() const { return bits >= firstHandle; }
  /// Whether the size is an expression, or a number that is not negative.
  constexpr bool isCount() const { return bits >= 0 || isSymbolic(); }

  constexpr std::optional<int64_t> number() const { return isNumber() ? std::optional(bits) : std::nullopt; }
  /// The number of a size that is known to be one.
  constexpr int64_t asNumber() const {
    assert(isNumber() && "a size that depends on symbols has no number");
    return bits;
  }
  /// The expression of a size that is expressible; a number is a constant.
  DimExpr expr() const;

  /// The representation as an integer, for keys and lists of integers. A number represents itself; the handle
  /// of an expression is the same in every process. `fromRaw` of an unknown handle is inexpressible.
  constexpr int64_t raw() const { return bits; }
  static Size fromRaw(int64_t raw) { return raw >= leastNumber ? Size(raw) : fromHandle(raw); }

  /// Whether two sizes are equal for all values of the symbols; false for inexpressible sizes.
  friend constexpr bool operator==(Size a, Size b) { return a.bits == b.bits && a.isExpressible(); }
  friend bool operator<(Size, Size) = delete;
  friend bool operator<=(Size, Size) = delete;
  friend bool operator>(Size, Size) = delete;
  friend bool operator>=(Size, Size) = delete;

  friend Size operator+(Size a, Size b) {
    int64_t sum = 0;
    bool isFast = a.isNumber() && b.isNumber() && !__builtin_add_overflow(a.bits, b.bits, &sum);
    return isFast ? Size(sum) : addSlow(a, b);
  }
  friend Size operator-(Size a, Size b) {
    int64_t difference = 0;
    bool isFast = a.isNumber() && b.isNumber() && !__builtin_sub_overflow(a.bits, b.bits, &difference);
    return isFast ? Size(difference) : subSlow(a, b);
  }
  friend Size operator*(Size a, Size b) {
    int64_t product = 0;
    bool isFast = a.isNumber() && b.isNumber() && !__builtin_mul_overflow(a.bits, b.bits, &product);
    return isFast ? Size(product) : mulSlow(a, b);
  }
  Size &operator+=(Size other) { return *this = *this + other; }
  Size &operator-=(Size other) { return *this = *this - other; }
  Size &operator*=(Size other) { return *this = *this * other; }

private:
  // Expressions are in a table. Their handles are integers far below all numbers that a size can have.
  static constexpr int64_t firstHandle = -(int64_t(1) << 62), leastNumber = -(int64_t(1) << 61),
                           inexpressibleBits = INT64_MIN;
  struct RawBits {
    int64_t bits;
  };
  constexpr explicit Size(RawBits raw) : bits(raw.bits) {}

  template <typename T> static constexpr bool holds(T number) {
    if constexpr (std::signed_integral<T>)
      return number >= leastNumber;
    else
      return number <= static_cast<uint64_t>(INT64_MAX);
  }
  static Size fromHandle(int64_t raw);
  static Size addSlow(Size a, Size b);
  static Size subSlow(Size a, Size b);
  static Size mulSlow(Size a, Size b);
  friend class SizeTable;

  int64_t bits = 0;
};

/// \name Text and symbols
/// @{
/// A number, the text of an expression, or "<inexpressible>", which no parser accepts.
std::string sizeText(Size size);
/// "4, batch, 784 * batch".
std::string sizesText(std::span<const Size> sizes);
/// The symbol, if the size is just one symbol; otherwise empty.
std::string symbolOf(Size size);
/// The symbols of an expression, in alphabetical order.
std::vector<std::string> symbolsOf(Size size);
bool anySymbolic(std::span<const Size> sizes);
/// Whether the size is a number, or a sum of products of symbols without rounding. Sums and products of such
/// sizes can be expressed, within bounds.
bool isPolynomial(Size size);
/// The bounds of polynomials, for messages: "a sum of at most 32 products of at most 8 Dims".
std::string polynomialText(std::string_view symbols);
/// Whether a symbol can have this name: a letter or an underscore, then letters, digits and underscores, and
/// no keyword of sizes or types.
bool isSymbolName(std::string_view name);
/// @}

/// \name Arithmetic
/// @{
/// The product of sizes, 1 of none.
Size productOf(std::span<const Size> sizes);
/// a / b, if that is a size for all values of the symbols.
std::optional<Size> divide(Size a, Size b);
/// a / b rounded up; `b` is above 0.
Size ceilDiv(Size a, int64_t b);
/// Whether dimensions with `size` elements can be extended to `whole` elements, and are not complete yet.
bool isPartOf(Size size, Size whole);
/// a + b of numbers that are not negative; the largest integer if that overflows.
inline int64_t saturatedSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
/// Whether `size` is a multiple of the number `by` for all values of the symbols.
bool isMultipleOf(Size size, int64_t by);
/// The largest number that is known to divide the size for all values of the symbols; 0 for 0.
int64_t contentOf(Size size);
/// @}

/// \name Values
/// @{
using SymbolValue = std::function<std::optional<int64_t>(std::string_view)>;
/// The value of a size; empty if a symbol has none, a step overflows, or the size is inexpressible.
std::optional<int64_t> evaluate(Size size, const SymbolValue &valueOf);

/// The range of values of each symbol.
class SymbolRanges {
public:
  struct Range {
    int64_t min = 0, max = 0;
  };
  void set(std::string name, Range range) { ranges.insert_or_assign(std::move(name), range); }
  const Range *find(std::string_view name) const;
  bool empty() const { return ranges.empty(); }
  auto begin() const { return ranges.begin(); }
  auto end() const { return ranges.end(); }

  /// An upper bound of the size for all values in range: the sum of its terms, each at the end of the range
  /// that makes it largest. Cost decisions use it. If the size depends on symbols, it is at most 2^62, which
  /// also stands for sizes that are larger, have a symbol without a range, or are inexpressible.
  int64_t largest(Size size) const;
  std::vector<int64_t> largest(std::span<const Size> sizes) const;
  /// The size when every symbol has its largest value; empty if one has no range, or a step overflows.
  std::optional<int64_t> atLargest(Size size) const;
  /// Whether the size is at least `bound` for all values in range; false if that cannot be proven. A symbol
  /// without a range is assumed to be 0 or more.
  bool isAtLeast(Size size, int64_t bound) const;
  /// Whether a <= b for all values in range; false if that cannot be proven.
  bool isAtMost(Size a, Size b) const;

private:
  /// The sum of the terms, each at the end of the range that makes it largest or smallest; empty if one is
  /// unbounded or overflows.
  std::optional<__int128> extreme(std::span<const DimTerm> terms, bool isUpper) const;

  std::map<std::string, Range, std::less<>> ranges;
};
/// @}

} // namespace weft::ir

#endif // WEFT_IR_SIZE_H
