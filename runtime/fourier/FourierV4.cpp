//===- FourierV4.cpp - Fourier transforms, level x86-64-v4 ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/fourier/FourierKernels.h"

namespace weft::runtime {
namespace {
#define FOURIER_VECTOR_BYTES 64
#include "runtime/fourier/FourierVectors.inc"

#include "runtime/fourier/FourierKernels.inc"
} // namespace
const FourierTable fourierV4 = {make_kernels<float>(), make_kernels<double>()};
} // namespace weft::runtime
