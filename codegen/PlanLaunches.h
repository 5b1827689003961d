//===- PlanLaunches.h - Launches as plans and images have them --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_PLANLAUNCHES_H
#define WEFT_CODEGEN_PLANLAUNCHES_H

#include "ir/Dialect.h"

namespace weft::fb {
struct AttentionLaunchT;
struct ConvolutionLaunchT;
} // namespace weft::fb

namespace weft::codegen {

/// The launch of an attention op, with the places of its parts but not their buffers.
fb::AttentionLaunchT attentionLaunch(ir::AttentionOp op);
/// The same of a convolution; a batch or channels that only the call knows are -1.
fb::ConvolutionLaunchT convolutionLaunch(ir::ImplicitGemmOp op);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_PLANLAUNCHES_H
