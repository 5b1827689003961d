//===- Shrink.cpp - A small program that fails alike ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Shrink.h"
#include "Generator.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <set>

using namespace mlir;
namespace weft::randomtest {

namespace {

ir::FuncOp entryOf(ModuleOp module) { return module.lookupSymbol<ir::FuncOp>(kEntry); }
Operation *terminatorOf(ir::FuncOp function) { return function.getBody().front().getTerminator(); }

/// Removes unused ops and arguments. Ties have the numbers of arguments, so they are changed.
void removeDead(ir::FuncOp function) {
  Block &body = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (unsigned i = function.getNumArguments(); i-- > 0;) {
    bool tied = false;
    for (unsigned r = 0; r < function.getNumResults(); ++r)
      tied |= function.getTiedArgument(r) == static_cast<int64_t>(i);
    if (tied || !function.getArgument(i).use_empty())
      continue;
    function.eraseArgument(i);
    for (unsigned r = 0; r < function.getNumResults(); ++r)
      if (int64_t other = function.getTiedArgument(r); other > static_cast<int64_t>(i))
        function.setResultAttr(r, ir::attr::tied, Builder(function).getI64IntegerAttr(other - 1));
  }
}

void eraseResults(ir::FuncOp function, llvm::function_ref<bool(unsigned)> erased) {
  BitVector which(function.getNumResults());
  for (unsigned i = 0; i < which.size(); ++i)
    which[i] = erased(i);
  terminatorOf(function)->eraseOperands(which);
  function.eraseResults(which);
  removeDead(function);
}

Value addArgument(ir::FuncOp function, Type type) {
  std::set<std::string> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto name = function.getArgAttrOfType<StringAttr>(i, ir::attr::name))
      names.insert(name.str());
  unsigned number = 0;
  std::string name;
  do
    name = "plain:" + std::to_string(number++);
  while (names.count(name));
  Builder builder(function);
  function.insertArgument(
      function.getNumArguments(), type,
      builder.getDictionaryAttr(builder.getNamedAttr(ir::attr::name, builder.getStringAttr(name))),
      function.getLoc());
  return function.getArguments().back();
}

/// The program with size `to` for every dimension of size `from`; null if that is not a valid program.
OwningOpRef<ModuleOp> resize(ModuleOp module, int64_t from, int64_t to) {
  OwningOpRef<ModuleOp> copy(module.clone());
  if (llvm::range_size(copy->getOps<ir::FuncOp>()) != 1)
    return {};
  ir::FuncOp function = entryOf(*copy);
  Builder builder(module.getContext());
  auto sizes = [&](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> result(shape);
    std::replace(result.begin(), result.end(), from, to);
    return result;
  };
  auto convert = [&](Type type) -> Type {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return type; // a token
    return ir::withShape(tensor, ir::toSizes(sizes(tensor.getShape())));
  };
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    argument.setType(convert(argument.getType()));
    // An index into the dimension must stay inside of it.
    auto name = function.getArgAttrOfType<StringAttr>(static_cast<unsigned>(i), ir::attr::name);
    auto [head, bound] = name ? name.getValue().rsplit(':') : std::pair<StringRef, StringRef>();
    if (bound == std::to_string(from) && head.contains(':'))
      function.setArgAttr(static_cast<unsigned>(i), ir::attr::name,
                          builder.getStringAttr(head + ":" + std::to_string(to)));
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    for (StringRef name : {"shape", "limit"})
      if (auto list = op.getAttrOfType<ir::SizesAttr>(name))
        if (auto numbers = ir::numbersOf(list.getSizes()))
          op.setAttr(name, ir::SizesAttr::get(op.getContext(), ir::toSizes(sizes(*numbers))));
    SmallVector<Type> types;
    if (auto constant = dyn_cast<ir::ConstantOp>(op)) {
      auto type = cast<RankedTensorType>(convert(constant.getType()));
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!dense || (!dense.isSplat() && dense.getNumElements() < type.getNumElements()))
        return {};
      if (dense.isSplat())
        constant.setValueAttr(DenseElementsAttr::get(type, dense.getSplatValue<Attribute>()));
      else
        constant.setValueAttr(DenseElementsAttr::get(
            type, llvm::to_vector(llvm::make_range(dense.value_begin<Attribute>(),
                                                   dense.value_begin<Attribute>() + type.getNumElements()))));
      types.push_back(type);
    } else if (auto inferable = dyn_cast<InferTypeOpInterface>(op)) {
      if (failed(inferable.inferReturnTypes(op.getContext(), op.getLoc(), op.getOperands(),
                                            op.getAttrDictionary(), op.getPropertiesStorage(),
                                            op.getRegions(), types)))
        return {};
    } else {
      for (Type type : op.getResultTypes())
        types.push_back(convert(type));
    }
    for (auto [result, type] : llvm::zip_equal(op.getResults(), types))
      result.setType(type);
  }
  function.setFunctionType(builder.getFunctionType(function.getBody().front().getArgumentTypes(),
                                                   terminatorOf(function)->getOperandTypes()));
  return copy;
}

class Shrinker {
public:
  Shrinker(ModuleOp module, llvm::function_ref<bool(ModuleOp)> fails, int64_t attempts)
      : best(module.clone()), fails(fails), attempts(attempts),
        silence(module.getContext(), [](Diagnostic &) { return success(); }) {}

  OwningOpRef<ModuleOp> run() {
    attempt([](ModuleOp copy) {
      PassManager passes(copy.getContext());
      passes.addPass(createInlinerPass({}, [](OpPassManager &) {}));
      passes.addPass(createSymbolDCEPass());
      return succeeded(passes.run(copy));
    });
    attempt([](ModuleOp copy) {
      ir::FuncOp function = entryOf(copy);
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.removeArgAttr(i, StringAttr::get(copy.getContext(), ir::attr::donated));
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        function.removeResultAttr(i, StringAttr::get(copy.getContext(), ir::attr::tied));
      removeDead(function);
      return true;
    });
    bool changed = true;
    while (changed && attempts > 0) {
      changed = shrinkResults();
      changed |= shrinkOps();
      dropFunctions();
      changed |= shrinkSizes();
    }
    return std::move(best);
  }

private:
  bool accept(OwningOpRef<ModuleOp> candidate) {
    if (attempts-- <= 0 || !candidate || failed(verify(*candidate)) || !fails(*candidate))
      return false;
    best = std::move(candidate);
    return true;
  }

  bool attempt(llvm::function_ref<bool(ModuleOp)> edit) {
    OwningOpRef<ModuleOp> copy(best->clone());
    return edit(*copy) && accept(std::move(copy));
  }

  /// Without those of loops and branches that are gone, since only a single function is resized.
  void dropFunctions() {
    if (llvm::range_size(best->getOps<ir::FuncOp>()) > 1)
      attempt([](ModuleOp copy) {
        PassManager passes(copy.getContext());
        passes.addPass(createSymbolDCEPass());
        return succeeded(passes.run(copy));
      });
  }

  bool shrinkResults() {
    unsigned count = entryOf(*best).getNumResults();
    if (count < 2)
      return false;
    for (unsigned kept = 0; kept < count; ++kept)
      if (attempt([&](ModuleOp copy) {
            eraseResults(entryOf(copy), [&](unsigned i) { return i != kept; });
            return true;
          }))
        return true;
    bool changed = false;
    for (unsigned i = count; i-- > 0 && entryOf(*best).getNumResults() > 1;)
      changed |= attempt([&](ModuleOp copy) {
        eraseResults(entryOf(copy), [&](unsigned r) { return r == i; });
        return true;
      });
    return changed;
  }

  /// The op at `at` in the entry function of a copy.
  static Operation *opAt(ModuleOp module, size_t at) {
    Block &body = entryOf(module).getBody().front();
    return at < body.getOperations().size() ? &*std::next(body.begin(), static_cast<int64_t>(at)) : nullptr;
  }

  bool replaceOp(size_t at, llvm::function_ref<Value(Operation *, Value)> replacement) {
    return attempt([&](ModuleOp copy) {
      Operation *op = opAt(copy, at);
      if (!op || op->hasTrait<OpTrait::IsTerminator>())
        return false;
      for (Value result : op->getResults()) {
        if (result.use_empty())
          continue;
        if (!isa<RankedTensorType>(result.getType()))
          return false;
        Value value = replacement(op, result);
        if (!value)
          return false;
        result.replaceAllUsesWith(value);
      }
      op->erase();
      removeDead(entryOf(copy));
      return true;
    });
  }

  bool shrinkOps() {
    bool changed = false;
    for (size_t at = entryOf(*best).getBody().front().getOperations().size(); at-- > 0;) {
      Operation *op = opAt(*best, at);
      if (!op || op->hasTrait<OpTrait::IsTerminator>())
        continue;
      bool isConstant = isa<ir::ConstantOp>(op);
      auto toArgument = [](Operation *op, Value result) {
        return addArgument(op->getParentOfType<ir::FuncOp>(), result.getType());
      };
      auto toSplat = [](Operation *op, Value result) -> Value {
        auto type = cast<RankedTensorType>(result.getType());
        OpBuilder builder(op);
        auto element = type.getElementType();
        Attribute one = isa<FloatType>(element) ? Attribute(builder.getFloatAttr(element, 1.0))
                                                : Attribute(builder.getIntegerAttr(element, 1));
        return builder.create<ir::ConstantOp>(op->getLoc(), type, DenseElementsAttr::get(type, one));
      };
      bool replaced = false;
      for (unsigned i = 0; !replaced && i < op->getNumOperands(); ++i) // `op` is erased once it is replaced
        replaced = replaceOp(at, [i](Operation *op, Value result) {
          Value operand = op->getOperand(i);
          return operand.getType() == result.getType() ? operand : Value();
        });
      if (!replaced && !isConstant)
        replaced = replaceOp(at, toArgument) || replaceOp(at, toSplat);
      changed |= replaced;
    }
    return changed;
  }

  bool shrinkSizes() {
    bool changed = false;
    for (bool again = true; again && attempts > 0;) {
      again = false;
      std::set<int64_t, std::greater<>> sizes;
      for (Operation &op : entryOf(*best).getBody().front())
        for (Value value : op.getOperands())
          if (auto type = dyn_cast<RankedTensorType>(value.getType()))
            for (int64_t size : type.getShape())
              if (size > 1)
                sizes.insert(size);
      for (int64_t size : sizes) {
        for (int64_t smaller : {int64_t(1), int64_t(2), int64_t(3), size / 2, size - 1})
          if (smaller < size && smaller > 0 && accept(resize(*best, size, smaller))) {
            again = changed = true;
            break;
          }
        if (again)
          break;
      }
    }
    return changed;
  }

  OwningOpRef<ModuleOp> best;
  llvm::function_ref<bool(ModuleOp)> fails;
  int64_t attempts;
  ScopedDiagnosticHandler silence;
};

} // namespace

OwningOpRef<ModuleOp> shrinkProgram(ModuleOp module, llvm::function_ref<bool(ModuleOp)> fails,
                                    int64_t maxAttempts) {
  return Shrinker(module, fails, maxAttempts).run();
}

int64_t countOps(ModuleOp module) {
  return llvm::count_if(entryOf(module).getBody().front(),
                        [](Operation &op) { return !isa<ir::ConstantOp, ir::ReturnOp>(op); });
}

} // namespace weft::randomtest
