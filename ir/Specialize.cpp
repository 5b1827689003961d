//===- Specialize.cpp -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Specialize.h"

#include "ir/Schedule.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
namespace weft::ir {

/// A size with the symbols that have a value replaced.
static Size replaced(Size size, const std::map<std::string, int64_t> &values) {
  if (size.isNumber())
    return size;
  DimExpr expr = size.expr();
  Size sum;
  for (const DimTerm &term : expr.terms) {
    Size product = term.coefficient;
    for (const std::string &symbol : term.symbols) {
      auto it = values.find(symbol);
      product = product * (it == values.end() ? Size::symbol(symbol) : it->second);
    }
    sum += product;
  }
  return ceilDiv(sum, expr.divisor);
}

static SmallVector<Size> replaced(ArrayRef<Size> sizes, const std::map<std::string, int64_t> &values) {
  return llvm::map_to_vector(sizes, [&](Size size) { return replaced(size, values); });
}

/// Whether all sizes can be expressed with these values: after some symbols are replaced, the coefficients of
/// others may overflow. Emits an error otherwise.
static LogicalResult checkExpressible(ModuleOp module, const std::map<std::string, int64_t> &values) {
  const auto isExpressible = [&](ArrayRef<Size> sizes) {
    return llvm::all_of(replaced(sizes, values), isPolynomial);
  };
  AttrTypeWalker walker;
  walker.addWalk([&](RankedTensorType type) {
    const bool fits = !isDynamic(type) || !isWeftTensor(type) || isExpressible(sizesOf(type));
    return fits ? WalkResult::skip() : WalkResult::interrupt();
  });
  walker.addWalk([&](SizesAttr list) {
    return isExpressible(list.getSizes()) ? WalkResult::skip() : WalkResult::interrupt();
  });
  const auto fits = [&](Type type) { return !walker.walk<WalkOrder::PreOrder>(type).wasInterrupted(); };
  const WalkResult checked = module.walk([&](Operation *op) {
    bool allFit = !walker.walk<WalkOrder::PreOrder>(op->getAttrDictionary()).wasInterrupted() &&
                  llvm::all_of(op->getResultTypes(), fits);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        allFit &= llvm::all_of(block.getArgumentTypes(), fits);
    if (allFit || isa<ModuleOp>(op))
      return WalkResult::advance();
    op->emitError("has a size that cannot be expressed with these values of its symbols");
    return WalkResult::interrupt();
  });
  return failure(checked.wasInterrupted());
}

LogicalResult specialize(ModuleOp module, const std::map<std::string, int64_t> &values) {
  for (auto func : module.getOps<FuncOp>()) {
    SmallVector<Attribute> left;
    auto symbols = func->getAttrOfType<ArrayAttr>(attr::symbols);
    if (!symbols)
      continue;
    for (auto symbol : symbols.getAsRange<SymbolAttr>()) {
      auto it = values.find(symbol.getName().str());
      if (it == values.end()) {
        left.push_back(symbol);
        continue;
      }
      if (it->second < symbol.getMin() || it->second > symbol.getMax())
        return func.emitOpError() << "@" << func.getName() << " takes values of '" << symbol.getName()
                                  << "' from " << symbol.getMin() << " to " << symbol.getMax() << ", found "
                                  << it->second;
    }
    if (left.empty())
      func->removeAttr(attr::symbols);
    else
      func->setAttr(attr::symbols, ArrayAttr::get(module.getContext(), left));
  }
  // A schedule is valid only for the sizes that it was chosen for, so it is removed; --weft-choose-schedules
  // chooses another.
  module.walk([&](FusionOp fusion) {
    if (!symbolsOf(fusion).empty())
      fusion.removeScheduleAttr();
  });
  if (failed(checkExpressible(module, values)))
    return failure();
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    if (!isDynamic(type) || !isWeftTensor(type))
      return std::nullopt;
    return std::pair<Type, WalkResult>(withShape(type, replaced(sizesOf(type), values)), WalkResult::skip());
  });
  replacer.addReplacement([&](SizesAttr list) -> std::optional<std::pair<Attribute, WalkResult>> {
    return std::pair<Attribute, WalkResult>(
        SizesAttr::get(module.getContext(), replaced(list.getSizes(), values)), WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  module.walk([&](Operation *op) {
    if (auto dim = dyn_cast<DimOp>(op)) {
      dim.setSize(replaced(dim.getSize(), values));
    } else if (auto sort = dyn_cast<SortOp>(op)) {
      sort.setCount(replaced(sort.getCount(), values));
    } else if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
      if (splat && splat.getType() != constant.getType())
        constant.setValueAttr(splatOf(constant.getType(), splat.getSplatValue<Attribute>()));
    }
  });
  return success();
}

} // namespace weft::ir
