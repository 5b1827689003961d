//===- DimExpr.h - Sizes that are known when a call is made ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A size of a dynamic dimension is a polynomial over symbols with integer coefficients: `784 * batch`,
// `batch + 1`. Its form is canonical, so that equal text is an equal size for every value of the symbols.
//
// Everywhere in the compiler a size is an `int64_t`: a number that is not negative, or the handle of a
// polynomial, which is far below zero (`isSymbolic`). So a list of sizes is an `ArrayRef<int64_t>` whether
// they are numbers or not, and comparing two sizes is comparing two integers. Arithmetic is that of the
// functions below, which on two numbers do what the operators do. What is printed or written to a file is the
// expression; a handle that this process has not made from one is no size.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_DIMEXPR_H
#define WEFT_IR_DIMEXPR_H

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

/// \name Handles
/// @{
inline constexpr int64_t firstSizeHandle = -(int64_t(1) << 62), maxSizeHandles = int64_t(1) << 61;
/// Whether a size is the handle of an expression rather than a number.
inline bool isSymbolic(int64_t size) {
  return size >= firstSizeHandle && size < firstSizeHandle + maxSizeHandles;
}
bool anySymbolic(std::span<const int64_t> sizes);
/// Whether the handle stands for something: one that was made up, in hostile text, does not.
bool isKnownSize(int64_t size);
/// The size that is the value of a symbol.
int64_t symbolSize(std::string_view name);
/// The expression of a size; a number is a constant.
DimExpr exprOf(int64_t size);
/// The size of an expression: a number where it is constant. Terms may be in any order.
int64_t sizeOf(DimExpr expr);
/// The symbol that the size is the value of; empty for anything else.
std::string symbolOf(int64_t size);
/// The symbols of an expression, in alphabetical order.
std::vector<std::string> symbolsOf(int64_t size);
/// A number, or the text of an expression.
std::string sizeText(int64_t size);
/// "4, batch, 784 * batch".
std::string sizesText(std::span<const int64_t> sizes);
/// Whether a symbol can have this name: a letter or an underscore, then letters, digits and underscores, and
/// no word that has a meaning in the text of a size or of a type.
bool isSymbolName(std::string_view name);
/// @}

/// \name Arithmetic
/// Numbers and coefficients saturate; `checkedProduct` says whether that would happen. A rounded quotient can
/// only be compared, printed and evaluated.
/// @{
int64_t addSizesSlow(int64_t a, int64_t b);
int64_t mulSizesSlow(int64_t a, int64_t b);
inline int64_t addSizes(int64_t a, int64_t b) {
  int64_t sum = 0;
  return isSymbolic(a) || isSymbolic(b) || __builtin_add_overflow(a, b, &sum) ? addSizesSlow(a, b) : sum;
}
inline int64_t mulSizes(int64_t a, int64_t b) {
  int64_t product = 0;
  return isSymbolic(a) || isSymbolic(b) || __builtin_mul_overflow(a, b, &product) ? mulSizesSlow(a, b)
                                                                                  : product;
}
inline int64_t subSizes(int64_t a, int64_t b) { return addSizes(a, mulSizes(b, -1)); }
/// a / b where that is a size for every value of the symbols.
std::optional<int64_t> divideSizes(int64_t a, int64_t b);
/// a / b rounded up; `b` is a number above 0.
int64_t ceilDivSizes(int64_t a, int64_t b);
/// Whether `size` is a multiple of the number `by` whatever the symbols are.
bool isMultipleOf(int64_t size, int64_t by);
/// The greatest number that divides the size whatever the symbols are; 0 for 0.
int64_t contentOf(int64_t size);
/// The product of sizes, 1 of none; nothing where numbers overflow or the expression grows beyond a bound.
std::optional<int64_t> checkedProduct(std::span<const int64_t> sizes);
/// @}

/// \name Values
/// @{
using SymbolValue = std::function<std::optional<int64_t>(std::string_view)>;
/// The value of an expression; nothing where a symbol has none or a step overflows.
std::optional<int64_t> evaluate(int64_t size, const SymbolValue &valueOf);

/// What values each symbol can have.
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

  /// The size with every symbol at its largest value, at most 2^62: what decisions about costs are taken at.
  int64_t largest(int64_t size) const;
  std::vector<int64_t> largest(std::span<const int64_t> sizes) const;
  /// Whether the size is at least `bound` for all values in range; false where that is not seen. A symbol
  /// without a range is taken to be 0 or more.
  bool isAtLeast(int64_t size, int64_t bound) const;
  /// Whether a <= b for all values in range; false where that is not seen.
  bool isAtMost(int64_t a, int64_t b) const { return isAtLeast(subSizes(b, a), 0); }

private:
  std::map<std::string, Range, std::less<>> ranges;
};
/// @}

} // namespace weft::ir

#endif // WEFT_IR_DIMEXPR_H
