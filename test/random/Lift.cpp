//===- Lift.cpp -----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lift.h"
#include "Generator.h"

#include "ir/FunctionAttributes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
namespace weft::randomtest {

namespace {

constexpr StringLiteral kSymbol = "n";

class Lifter {
public:
  Lifter(ModuleOp module, int64_t size, bool last)
      : module(module), size(size), last(last), n(ir::Size::symbol(kSymbol.str())) {}
  OwningOpRef<ModuleOp> run();

private:
  /// The dimension that is lifted in shapes that are not inferred from operands: the first or the last.
  int64_t place(ArrayRef<ir::Size> shape) const { return last ? static_cast<int64_t>(shape.size()) - 1 : 0; }
  SmallVector<ir::Size> lifted(ArrayRef<ir::Size> shape) const {
    SmallVector<ir::Size> sizes(shape);
    if (!sizes.empty() && sizes[place(shape)] == size)
      sizes[place(shape)] = n;
    return sizes;
  }
  Type lifted(Type type) const {
    return ir::withShape(cast<RankedTensorType>(type), lifted(ir::sizesOf(type)));
  }
  void adjust(Operation *op) const;
  LogicalResult infer(Operation *op) const;

  ModuleOp module;
  int64_t size;
  bool last;
  ir::Size n;
};

/// Changes sizes in attributes so that they fit the operands.
void Lifter::adjust(Operation *op) const {
  if (auto broadcast = dyn_cast<ir::BroadcastInDimOp>(op)) {
    SmallVector<ir::Size> shape(broadcast.getShape());
    if (!llvm::is_contained(broadcast.getDims(), place(shape)))
      shape = lifted(shape);
    for (auto [from, to] : llvm::zip(ir::sizesOf(broadcast.getA().getType()), broadcast.getDims()))
      if (from.isSymbolic())
        shape[to] = from;
    broadcast.setShape(shape);
  } else if (auto reshape = dyn_cast<ir::ReshapeOp>(op)) {
    SmallVector<ir::Size> shape(reshape.getShape());
    ir::Size count = ir::elementsOf(reshape.getA().getType());
    for (ir::Size &entry : shape) {
      ir::Size was = entry;
      std::optional<ir::Size> times = ir::divide(entry, size);
      if (!count.isSymbolic() || !times)
        continue;
      entry = *times * n;
      if (ir::productOf(shape) == count)
        break;
      entry = was;
    }
    reshape.setShape(shape);
  } else if (auto slice = dyn_cast<ir::SliceOp>(op)) {
    SmallVector<ir::Size> limit(slice.getLimit());
    for (auto [d, entry] : llvm::enumerate(ir::sizesOf(slice.getA().getType())))
      if (entry.isSymbolic() && limit[d] == size)
        limit[d] = entry;
    slice.setLimit(limit);
  } else if (auto window = dyn_cast<ir::DynamicSliceOp>(op)) {
    SmallVector<ir::Size> sizes(window.getSizes());
    for (auto [d, entry] : llvm::enumerate(ir::sizesOf(window.getA().getType())))
      if (entry.isSymbolic() && sizes[d] == size)
        sizes[d] = entry;
    window.setSizes(sizes);
  } else if (auto full = dyn_cast<ir::FullOp>(op)) {
    full.setShape(lifted(full.getShape()));
  } else if (auto draw = dyn_cast<ir::RngBitsPhiloxOp>(op)) {
    draw.setShape(lifted(draw.getShape()));
  } else if (auto iota = dyn_cast<ir::IotaOp>(op)) {
    op->getResult(0).setType(cast<RankedTensorType>(lifted(iota.getType())));
  } else if (auto constant = dyn_cast<ir::ConstantOp>(op)) {
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue())) {
      auto type = cast<RankedTensorType>(lifted(constant.getType()));
      op->getResult(0).setType(type);
      constant.setValueAttr(ir::splatOf(type, splat.getSplatValue<Attribute>()));
    }
  }
}

LogicalResult Lifter::infer(Operation *op) const {
  // Attention with dynamic sizes is several kernels (WEFT-N009), which are rounded differently from the one
  // launch for static sizes. Attention.DynamicSizesDecompose compares both within a bound.
  auto isDynamic = [](Value value) { return ir::isDynamic(value.getType()); };
  if (isa<ir::SdpaOp, ir::SdpaBackwardOp>(op) && llvm::any_of(op->getOperands(), isDynamic))
    return failure();
  // So is a convolution (WEFT-N011): one launch for static sizes adds products in chains of its own.
  if (isa<ir::ConvolutionOp>(op) && llvm::any_of(op->getOperands(), isDynamic))
    return failure();
  auto inference = dyn_cast<InferTypeOpInterface>(op);
  if (!inference)
    return success();
  SmallVector<Type> types;
  if (failed(inference.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                        op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
                                        op->getRegions(), types)) ||
      types.size() != op->getNumResults())
    return failure();
  for (auto [result, type] : llvm::zip(op->getResults(), types))
    result.setType(type);
  return success();
}

OwningOpRef<ModuleOp> Lifter::run() {
  OwningOpRef<ModuleOp> copy(module.clone());
  auto function = copy->lookupSymbol<ir::FuncOp>(kEntry);
  MLIRContext *context = module.getContext();
  function->setAttr(ir::attr::symbols,
                    ArrayAttr::get(context, {ir::SymbolAttr::get(context, kSymbol, 1, 64)}));
  Block &body = function.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    argument.setType(lifted(argument.getType()));
    // Arguments with dynamic sizes are row-major.
    function.removeArgAttr(argument.getArgNumber(), ir::attr::strides);
  }
  auto setType = [&] {
    function.setFunctionType(
        FunctionType::get(context, body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  };
  setType();
  for (Operation &op : body) {
    adjust(&op);
    if (failed(infer(&op)) || (!isa<ir::ReturnOp>(op) && failed(verify(&op))))
      return nullptr;
  }
  setType();
  if (failed(verify(*copy)))
    return nullptr;
  return copy;
}

} // namespace

OwningOpRef<ModuleOp> liftProgram(ModuleOp module, bool last) {
  // Sizes are tried until the verifiers accept the program, so diagnostics are dropped.
  ScopedDiagnosticHandler silence(module.getContext(), [](Diagnostic &) { return success(); });
  if (!llvm::hasSingleElement(module.getOps<ir::FuncOp>()))
    return nullptr;
  // The elements of an undef may differ between two functions.
  if (module.walk([](ir::UndefOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return nullptr;
  SmallVector<int64_t> tried;
  for (Type type : module.lookupSymbol<ir::FuncOp>(kEntry).getArgumentTypes()) {
    ArrayRef<ir::Size> sizes = ir::sizesOf(type);
    int64_t size = sizes.empty() ? 0 : (last ? sizes.back() : sizes.front()).number().value_or(0);
    if (size < 2 || llvm::is_contained(tried, size))
      continue;
    tried.push_back(size);
    if (auto made = Lifter(module, size, last).run())
      return made;
  }
  return nullptr;
}

bool attends(ModuleOp module) {
  bool found = false;
  module.walk([&](Operation *op) { found |= isa<ir::SdpaOp, ir::SdpaBackwardOp>(op); });
  return found;
}

bool assumesIndices(ModuleOp module) {
  bool assumes = false;
  module.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op).Case<ir::GatherOp, ir::ScatterOp, ir::IndexUpdateOp>(
        [&](auto each) { assumes |= each.getMode() == ir::IndexMode::assume; });
  });
  return assumes;
}

} // namespace weft::randomtest
