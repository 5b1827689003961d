//===- LowerConvolutions.cpp - Makes launches of convolutions -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ContractionLibrary.h"
#include "ir/Decisions.h"
#include "ir/ImplicitGemm.h"
#include "ir/Target.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_LOWERCONVOLUTIONS
#include "passes/Passes.h.inc"

namespace {

ConvolutionSignature signatureOf(ConvolutionOp op) {
  const SymbolRanges ranges = rangesOf(op);
  ArrayRef<Size> a = sizesOf(op.getA()), w = sizesOf(op.getW()), y = sizesOf(op.getResult());
  const auto groups = static_cast<int64_t>(op.getGroups());
  ConvolutionSignature signature;
  signature.dtype = dtypeOf(op.getA().getType());
  signature.groups = groups;
  signature.batch = ranges.largest(a[0]);
  signature.channels = ranges.largest(w[1]);
  signature.outputs = ranges.largest(*divide(w[0], groups));
  signature.window = ranges.largest(w.drop_front(2));
  signature.places = ranges.largest(y.drop_front(2));
  signature.stride.assign(op.getStride().begin(), op.getStride().end());
  signature.baseDilation.assign(op.getBaseDilation().begin(), op.getBaseDilation().end());
  signature.dynamic = isDynamic(op.getA().getType()) || isDynamic(op.getW().getType()) ||
                      anySymbolic(op.getLow()) || anySymbolic(op.getHigh());
  return signature;
}

/// Why no launch has these numbers; empty if one has. The library's answer is about what it computes.
std::string whyNoLaunch(ConvolutionOp op) {
  if (elementsOf(op.getA().getType()) == 0 || elementsOf(op.getW().getType()) == 0 ||
      elementsOf(op.getType()) == 0)
    return "there is nothing to multiply";
  ArrayRef<Size> a = sizesOf(op.getA()), w = sizesOf(op.getW()), y = sizesOf(op.getResult());
  Size work = productOf(y) * productOf(w.drop_front(1));
  SmallVector<ConvolutionReach> reaches;
  for (size_t i = 0; i < op.getStride().size(); ++i)
    reaches.push_back({a[2 + i], w[2 + i], y[2 + i], op.getStride()[i], op.getLow()[i].asNumber(),
                       op.getBaseDilation()[i], op.getWindowDilation()[i]});
  const bool fits = work.number().value_or(INT64_MAX) <= maxProductWork && fitsLaunch(reaches);
  return fits ? "" : "it is larger than any launch";
}

/// The transposition that is all that reads the result, or null.
TransposeOp onlyTranspose(Value result) {
  return result.hasOneUse() ? dyn_cast<TransposeOp>(*result.getUsers().begin()) : TransposeOp();
}

void lowerToLaunch(ConvolutionOp op) {
  OpBuilder b(op);
  SmallVector<int64_t> a = *numbersOf(sizesOf(op.getA())), w = *numbersOf(sizesOf(op.getW())),
                       y = *numbersOf(sizesOf(op.getResult())), low = *numbersOf(op.getLow());
  const auto groups = static_cast<int64_t>(op.getGroups());
  SmallVector<int64_t> operand{a[0], groups, w[1]}, weights{groups, w[0] / groups, w[1]};
  llvm::append_range(operand, ArrayRef(a).drop_front(2));
  llvm::append_range(weights, ArrayRef(w).drop_front(2));
  ViewedValue from = sourceOf(op.getA(), operand, true), by = sourceOf(op.getW(), weights, true);
  TransposeOp transposed = onlyTranspose(op.getResult());
  SmallVector<int64_t> order =
      transposed ? SmallVector<int64_t>(transposed.getPerm()) : orderOf(rowMajorView(y));
  auto list = [&](ArrayRef<int64_t> numbers) { return b.getDenseI64ArrayAttr(numbers); };
  auto launch = b.create<ImplicitGemmOp>(
      op.getLoc(), from.base, by.base, list({a[0], groups, w[1], w[0] / groups}),
      list(ArrayRef(a).drop_front(2)), list(ArrayRef(w).drop_front(2)), list(ArrayRef(y).drop_front(2)),
      op.getStrideAttr(), list(low), op.getBaseDilationAttr(), op.getWindowDilationAttr(), list(order),
      list(from.view.write()), list(by.view.write()));
  if (transposed) {
    transposed.getResult().replaceAllUsesWith(launch.getResult());
    transposed.erase();
  } else {
    op.getResult().replaceAllUsesWith(launch.getResult());
  }
  op.erase();
}

struct LowerConvolutions : impl::LowerConvolutionsBase<LowerConvolutions> {
  using LowerConvolutionsBase::LowerConvolutionsBase;
  const ContractionLibrary *library = nullptr;

  /// Why a convolution stays; empty if a launch computes it.
  std::string whyNot(ConvolutionOp op, const TargetDescription &description) const {
    const ConvolutionSignature signature = signatureOf(op);
    const ConvolutionAnswer answer = library && description.isCpu()
                                         ? library->askConvolution(signature)
                                         : TableLibrary(description).askConvolution(signature);
    return answer.refusal.empty() ? whyNoLaunch(op) : answer.refusal;
  }

  void runOnOperation() override {
    const std::optional<Target> machine = parseTarget(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    SmallVector<ConvolutionOp> ops;
    getOperation().walk([&](ConvolutionOp op) { ops.push_back(op); });
    if (ops.empty())
      return markAllAnalysesPreserved();
    std::vector<Decision> decisions;
    for (ConvolutionOp op : ops) {
      const TargetDescription *description = describe(op, deviceOf(op.getType()), *machine);
      if (!description)
        return signalPassFailure();
      const std::string refusal = whyNot(op, *description);
      if (refusal.empty())
        lowerToLaunch(op);
      else if (report)
        decisions.push_back({"WEFT-N011", locationText(op.getLoc()), "", op->getName().getStringRef().str(),
                             0, refusal + "; it is several kernels, and may store all windows"});
    }
    recordDecisions(getOperation(), decisions);
  }
};

} // namespace

std::unique_ptr<Pass> createLowerConvolutions(const LowerConvolutionsOptions &options,
                                              const ContractionLibrary *library) {
  auto pass = std::make_unique<LowerConvolutions>(options);
  pass->library = library;
  return pass;
}

} // namespace weft::passes
