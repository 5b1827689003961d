//===- HostLibrary.cpp - The contraction library of this process ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/HostLibrary.h"

#include "ir/TargetDescription.h"
#include "runtime/gemm/Contraction.h"

#include <algorithm>

namespace weft::codegen {

namespace {

class HostLibrary final : public ir::ContractionLibrary {
public:
  explicit HostLibrary(const ir::TargetDescription &target) : table(target) {}
  ir::ContractionAnswer ask(const ir::ContractionSignature &signature) const override {
    ir::ContractionAnswer answer = table.ask(signature);
    // What the library supports of a dynamic contraction depends on the sizes of each call.
    if (answer.library.empty() || signature.dynamic)
      return answer;
    runtime::ContractionShape shape = shapeOf(signature);
    const bool residual = signature.dtype == DType::f32;
    shape.residual = residual;
    const runtime::ContractionSupport support = runtime::Contraction::ask_library(shape);
    if (!support.taken)
      return ir::ownAnswer("does not support this contraction (" + support.refusal + ")");
    if (support.workspace_bytes > static_cast<size_t>(answer.workspaceBytes))
      return ir::ownAnswer("needs " + std::to_string(support.workspace_bytes) +
                           " bytes of workspace, and a package reserves at most " +
                           std::to_string(answer.workspaceBytes));
    if (residual && !support.residual)
      std::erase(answer.epilogues, ir::Epilogue::residual);
    return answer;
  }

  ir::ConvolutionAnswer askConvolution(const ir::ConvolutionSignature &signature) const override {
    return table.askConvolution(signature); // the runtime computes what the table has
  }

private:
  ir::TableLibrary table;
};

} // namespace

runtime::ContractionShape shapeOf(const ir::ContractionSignature &signature) {
  runtime::ContractionShape shape;
  shape.dtype = signature.dtype;
  shape.batch = signature.batch;
  shape.m = signature.m;
  shape.n = signature.n;
  shape.k = signature.k;
  shape.a_strides = signature.aStrides;
  shape.b_strides = signature.bStrides;
  shape.c_strides = {signature.m * signature.n, signature.n, 1};
  return shape;
}

const ir::ContractionLibrary &hostLibrary(const ir::TargetDescription &target) {
  // Select by the name of the description: the library's answers do not depend on the number of cores.
  static const std::vector<HostLibrary> all(ir::descriptions().begin(), ir::descriptions().end());
  const auto found = std::find_if(ir::descriptions().begin(), ir::descriptions().end(),
                                  [&](const auto &known) { return known.name == target.name; });
  return all[static_cast<size_t>(found - ir::descriptions().begin())];
}

} // namespace weft::codegen
