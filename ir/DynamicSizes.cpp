//===- DynamicSizes.cpp - Symbols in types, attributes and functions ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Parses a term such as `3 * batch * seq`: factors, the first of which may be a number.
static ParseResult parseTerm(AsmParser &parser, DimTerm &term) {
  term.coefficient = 1;
  OptionalParseResult number = parser.parseOptionalInteger(term.coefficient);
  if (number.has_value()) {
    if (failed(*number))
      return failure();
    if (failed(parser.parseOptionalStar()))
      return success();
  }
  constexpr size_t maxDegree = 8;
  do {
    auto loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    if (!isSymbolName(name))
      return parser.emitError(loc) << "'" << name << "' cannot be a symbol of a size";
    term.symbols.push_back(name.str());
    if (term.symbols.size() > maxDegree)
      return parser.emitError(loc) << "a size multiplies at most " << maxDegree << " symbols";
  } while (succeeded(parser.parseOptionalStar()));
  return success();
}

static ParseResult parseSum(AsmParser &parser, DimExpr &expr) {
  constexpr size_t maxTerms = 16;
  do {
    auto loc = parser.getCurrentLocation();
    if (expr.terms.size() == maxTerms)
      return parser.emitError(loc) << "a size adds at most " << maxTerms << " terms";
    if (parseTerm(parser, expr.terms.emplace_back()))
      return failure();
  } while (succeeded(parser.parseOptionalPlus()));
  return success();
}

ParseResult parseSizeText(AsmParser &parser, Size &size) {
  DimExpr expr;
  auto begin = parser.getCurrentLocation();
  auto settle = [&](Size parsed) -> ParseResult {
    size = parsed;
    if (!size.isExpressible())
      return parser.emitError(begin) << "this size cannot be expressed: its numbers are too large";
    return success();
  };
  if (succeeded(parser.parseOptionalKeyword("ceildiv"))) {
    int64_t divisor = 0;
    if (parser.parseLParen() || parseSum(parser, expr) || parser.parseComma())
      return failure();
    auto loc = parser.getCurrentLocation();
    if (parser.parseInteger(divisor) || parser.parseRParen())
      return failure();
    if (divisor < 1)
      return parser.emitError(loc) << "ceildiv divides by a number above 0, found " << divisor;
    return settle(ceilDiv(Size::of(std::move(expr)), divisor));
  }
  if (parseSum(parser, expr))
    return failure();
  return settle(Size::of(std::move(expr)));
}

ParseResult parseSizeList(AsmParser &parser, SmallVectorImpl<Size> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parseSizeText(parser, sizes.emplace_back()); });
}

ParseResult parseSize(OpAsmParser &parser, SizeAttr &size) {
  Size value;
  if (parseSizeText(parser, value))
    return failure();
  size = SizeAttr::get(parser.getContext(), value);
  return success();
}

void printSize(OpAsmPrinter &printer, Operation *, SizeAttr size) { printer << sizeText(size.getSize()); }

ParseResult parseSizes(OpAsmParser &parser, SizesAttr &sizes) {
  SmallVector<Size> values;
  if (parseSizeList(parser, values))
    return failure();
  sizes = SizesAttr::get(parser.getContext(), values);
  return success();
}

void printSizes(OpAsmPrinter &printer, Operation *, SizesAttr sizes) {
  printer << "[" << sizesText(sizes.getSizes()) << "]";
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

SymbolRanges rangesOf(Operation *op) {
  SymbolRanges ranges;
  auto func = dyn_cast<FuncOp>(op);
  if (!func)
    func = op->getParentOfType<FuncOp>();
  auto symbols = func ? func->getAttrOfType<ArrayAttr>(attr::symbols) : ArrayAttr();
  if (!symbols)
    return ranges;
  for (Attribute each : symbols)
    if (auto symbol = dyn_cast<SymbolAttr>(each))
      ranges.set(symbol.getName().str(), {symbol.getMin(), symbol.getMax()});
  return ranges;
}

LogicalResult verifyDeclared(Operation *op, ArrayRef<Size> sizes) {
  if (!anySymbolic(sizes))
    return success();
  SymbolRanges ranges = rangesOf(op);
  for (Size size : sizes)
    for (const std::string &symbol : symbolsOf(size))
      if (!ranges.find(symbol))
        return op->emitOpError() << "uses the symbol '" << symbol << "', which its function does not declare";
  return success();
}

/// Verifies that a type's symbols are declared, that its sizes are not negative, and that its bytes at the
/// largest sizes fit into 63 bits.
static LogicalResult verifyType(Operation *op, Type type, const SymbolRanges &ranges) {
  SmallVector<Size> largest;
  for (Size size : sizesOf(type)) {
    for (const std::string &symbol : symbolsOf(size))
      if (!ranges.find(symbol))
        return op->emitOpError() << "has a value of type " << type << ", whose symbol '" << symbol
                                 << "' the function does not declare; add it to " << attr::symbols;
    if (!ranges.isAtLeast(size, 0))
      return op->emitOpError() << "has a value of type " << type << " whose size " << sizeText(size)
                               << " may be negative in the ranges of its symbols";
    largest.push_back(ranges.largest(size));
  }
  // A largest value that is not known counts as 2^62, which is too large.
  if (!widestBytes(largest).isExpressible())
    return op->emitOpError() << "has a value of type " << type
                             << ", which takes more than 2^63 bytes where its symbols are largest";
  return success();
}

LogicalResult verifySymbols(FuncOp func) {
  SymbolRanges ranges;
  if (Attribute given = func->getAttr(attr::symbols)) {
    auto list = dyn_cast<ArrayAttr>(given);
    if (!list)
      return func.emitOpError() << "@" << func.getName() << " needs " << attr::symbols
                                << " as a list of #weft.symbol, found " << given;
    for (Attribute each : list) {
      auto symbol = dyn_cast<SymbolAttr>(each);
      if (!symbol)
        return func.emitOpError() << "@" << func.getName() << " needs " << attr::symbols
                                  << " as a list of #weft.symbol, found " << each;
      if (ranges.find(symbol.getName()))
        return func.emitOpError() << "@" << func.getName() << " declares the symbol '" << symbol.getName()
                                  << "' twice";
      Size size = Size::symbol(symbol.getName());
      if (llvm::none_of(func.getArgumentTypes(),
                        [&](Type type) { return llvm::is_contained(sizesOf(type), size); }))
        return func.emitOpError() << "@" << func.getName() << " declares the symbol '" << symbol.getName()
                                  << "', but no argument has a dimension of that size to take it from";
      ranges.set(symbol.getName().str(), {symbol.getMin(), symbol.getMax()});
    }
  }
  llvm::SmallPtrSet<Type, 32> seen;
  auto check = [&](Operation *op, TypeRange types) -> LogicalResult {
    for (Type type : types)
      if (isDynamic(type) && isWeftTensor(type) && seen.insert(type).second &&
          failed(verifyType(op, type, ranges)))
        return failure();
    return success();
  };
  if (failed(check(func, func.getArgumentTypes())) || failed(check(func, func.getResultTypes())))
    return failure();
  WalkResult result =
      func.getBody().walk([&](Operation *op) { return WalkResult(check(op, op->getResultTypes())); });
  return failure(result.wasInterrupted());
}

} // namespace weft::ir
