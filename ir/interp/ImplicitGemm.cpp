//===- ImplicitGemm.cpp - The meaning of weft.implicit_gemm ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ImplicitGemm.h"
#include "ir/interp/Rules.h"

using namespace mlir;
namespace weft::ir {

/// The linear place of `index` in a view, without its offset.
static int64_t placeOf(ArrayRef<int64_t> strides, ArrayRef<int64_t> index) {
  int64_t at = 0;
  for (auto [stride, i] : llvm::zip_equal(strides, index))
    at += stride * i;
  return at;
}

/// An element after a step, whose vector or residual has the number `by` for it.
static double after(ConvolutionStep step, double element, double by) {
  switch (step) {
  case ConvolutionStep::add:
  case ConvolutionStep::residual:
    return element + by;
  case ConvolutionStep::sub:
    return element - by;
  case ConvolutionStep::mul:
    return element * by;
  case ConvolutionStep::relu:
    return larger(element, 0);
  case ConvolutionStep::wide: // its result is not rounded to halves
    return element;
  }
  llvm_unreachable("all steps are above");
}

LogicalResult ImplicitGemmOp::interpret(ArrayRef<const Literal *> operands,
                                        MutableArrayRef<Literal> results) {
  FailureOr<SmallVector<int64_t>> shape = concreteSizes(*this, resultShapeOf(*this)),
                                  channels = concreteSizes(*this, getShape()[2]);
  if (failed(shape) || failed(channels))
    return failure();
  const Literal &a = *operands[0], &w = *operands[1];
  Literal &out = results[0];
  const MemoryView aView = MemoryView::read(getAView()), wView = MemoryView::read(getWView()),
                   yView = resultViewOf(*this);
  // As in weft.convolution: with zeros between elements, weights meet the elements alone.
  const bool multipliesPadding = llvm::all_of(getBaseDilation(), [](int64_t each) { return each == 1; });
  SmallVector<int64_t> terms{channels->front()};
  llvm::append_range(terms, getWindow());
  const SmallVector<StepOperand> steps = epilogueOf(*this);
  forEachIndex(*shape, [&](ArrayRef<int64_t> place, int64_t) {
    double sum = 0;
    forEachIndex(terms, [&](ArrayRef<int64_t> term, int64_t) {
      SmallVector<int64_t> element{place[0], place[1], term[0]}, weight{place[1], place[2]};
      llvm::append_range(weight, term);
      const double by = w.real[wView.offset + placeOf(wView.strides, weight)];
      for (size_t i = 0; i < getPlaces().size(); ++i) {
        int64_t at = place[3 + i] * getStride()[i] + term[1 + i] * getWindowDilation()[i] - getLow()[i];
        if (at < 0 || at % getBaseDilation()[i] != 0 || at / getBaseDilation()[i] >= getExtents()[i]) {
          if (multipliesPadding)
            sum += 0 * by;
          return;
        }
        element.push_back(at / getBaseDilation()[i]);
      }
      sum += a.real[aView.offset + placeOf(aView.strides, element)] * by;
    });
    const int64_t to = yView.offset + placeOf(yView.strides, place),
                  output = place[1] * (*shape)[2] + place[2];
    out.setReal(to, sum);
    const Literal *const *beside = operands.begin() + 2;
    for (const auto &[step, operand] : steps) {
      const double by = !readsOperand(step)                 ? 0
                        : step == ConvolutionStep::residual ? (*beside++)->real[to]
                                                            : (*beside++)->real[output];
      out.setReal(to, after(step, out.real[to], by));
    }
  });
  return success();
}

} // namespace weft::ir
