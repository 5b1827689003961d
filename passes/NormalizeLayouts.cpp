//===- NormalizeLayouts.cpp - Makes strided arguments row-major -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Later passes handle row-major values only. An argument that calls pass with strides is a view of row-major
// memory. This pass expresses the view by ops, so that the argument is read in place like any other view:
// fusion turns it into index arithmetic, and a contraction absorbs a transposition.
//
//===----------------------------------------------------------------------===//
#include "ir/FunctionAttributes.h"
#include "ir/StridedLayout.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_NORMALIZELAYOUTS
#include "passes/Passes.h.inc"

namespace {

/// The tensor of `shape` that `layout` selects from `storage`.
Value readThrough(Value storage, const StridedLayout &layout, ArrayRef<int64_t> shape, OpBuilder &builder) {
  Location loc = storage.getLoc();
  Value value = storage;
  size_t rank = layout.storage.size();
  SmallVector<Size> limit;
  for (size_t i = 0; i < rank; ++i)
    limit.push_back((layout.counts[i] - 1) * layout.steps[i] + 1);
  if (layout.counts != layout.storage)
    value = builder.create<SliceOp>(loc, value, SmallVector<Size>(rank, 0), limit, layout.steps);
  // The dimensions with a stride, in the order of the tensor.
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(rank)));
  llvm::sort(perm, [&](int64_t a, int64_t b) { return layout.dims[a] < layout.dims[b]; });
  if (!llvm::is_sorted(perm))
    value = builder.create<TransposeOp>(loc, value, perm);
  if (rank == shape.size())
    return value;
  SmallVector<int64_t> dims(layout.dims.begin(), layout.dims.end());
  llvm::sort(dims);
  return builder.create<BroadcastInDimOp>(loc, value, dims, toSizes(shape));
}

struct NormalizeLayouts : impl::NormalizeLayoutsBase<NormalizeLayouts> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Block &body = func.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    SmallVector<Type> inputs(func.getArgumentTypes());
    // The attributes of all arguments are set at once: MLIR copies all of them for each that is set.
    SmallVector<DictionaryAttr> attributes;
    func.getAllArgAttrs(attributes);
    bool changed = false;
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      NamedAttrList own(attributes[i]);
      auto strides = dyn_cast_or_null<DenseI64ArrayAttr>(own.get(attr::strides));
      if (!strides || own.get(attr::callerShape))
        continue;
      changed = true;
      BlockArgument argument = body.getArgument(i);
      auto type = cast<RankedTensorType>(argument.getType());
      // The verifier has checked that its sizes are numbers and that it has a layout.
      SmallVector<int64_t> shape(type.getShape());
      if (isRowMajor(shape, strides.asArrayRef())) {
        own.erase(attr::strides);
        attributes[i] = own.getDictionary(&getContext());
        continue;
      }
      StridedLayout layout = *stridedLayout(shape, strides.asArrayRef());
      inputs[i] = withShape(type, toSizes(layout.storage));
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : argument.getUses())
        uses.push_back(&use);
      argument.setType(inputs[i]);
      Value read = readThrough(argument, layout, shape, builder);
      for (OpOperand *use : uses)
        use->set(read);
      own.set(attr::callerShape, builder.getDenseI64ArrayAttr(shape));
      attributes[i] = own.getDictionary(&getContext());
    }
    if (!changed)
      return markAllAnalysesPreserved();
    func.setAllArgAttrs(attributes);
    func.setFunctionType(builder.getFunctionType(inputs, func.getResultTypes()));
  }
};

} // namespace
} // namespace weft::passes
