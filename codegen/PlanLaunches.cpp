//===- PlanLaunches.cpp ---------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/PlanLaunches.h"

#include "ir/Attention.h"
#include "ir/ImplicitGemm.h"
#include "runtime/plan/plan_generated.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::codegen {

namespace rt = weft::fb;

rt::AttentionLaunchT attentionLaunch(AttentionOp op) {
  const AttentionExtents extents(op.getShape());
  rt::AttentionLaunchT attention;
  attention.dtype = static_cast<uint8_t>(dtypeOf(op.getQ().getType()));
  attention.batch.assign(extents.batch.begin(), extents.batch.end());
  attention.rows = extents.rows;
  attention.keys = extents.keys;
  attention.features = extents.features;
  attention.values = extents.values;
  attention.backward = static_cast<bool>(op.getGrad());
  attention.causal = op.getCausal();
  attention.scale = op.getScale().convertToDouble();
  for (const AttentionPart &part : partsOf(op)) {
    auto &place = attention.places.emplace_back(std::make_unique<rt::MatrixPlaceT>());
    place->offset = part.view.offset;
    place->strides.assign(part.view.strides.begin(), part.view.strides.end());
  }
  if (Value mask = op.getMask()) {
    attention.masked = true;
    attention.mask_dtype = static_cast<uint8_t>(dtypeOf(mask.getType()));
  }
  return attention;
}

rt::ConvolutionLaunchT convolutionLaunch(ImplicitGemmOp op) {
  constexpr int64_t ofCall = -1;
  ArrayRef<Size> shape = op.getShape();
  rt::ConvolutionLaunchT convolution;
  convolution.dtype = static_cast<uint8_t>(dtypeOf(op.getA().getType()));
  convolution.batch = shape[0].number().value_or(ofCall);
  convolution.groups = shape[1].asNumber();
  convolution.channels = shape[2].number().value_or(ofCall);
  convolution.outputs = shape[3].asNumber();
  convolution.extents = op.getExtents().vec();
  convolution.window = op.getWindow().vec();
  convolution.places = op.getPlaces().vec();
  convolution.stride = op.getStride().vec();
  convolution.low = op.getLow().vec();
  convolution.base_dilation = op.getBaseDilation().vec();
  convolution.window_dilation = op.getWindowDilation().vec();
  const auto place = [](const MemoryView &view) {
    auto made = std::make_unique<rt::MatrixPlaceT>();
    made->offset = view.offset;
    made->strides.assign(view.strides.begin(), view.strides.end());
    return made;
  };
  convolution.winograd = op.getWinograd();
  convolution.a = place(MemoryView::read(op.getAView()));
  convolution.w = place(MemoryView::read(op.getWView()));
  convolution.y = place(resultViewOf(op));
  for (const StepOperand &each : epilogueOf(op))
    convolution.steps.push_back(static_cast<uint8_t>(each.step));
  return convolution;
}

} // namespace weft::codegen
