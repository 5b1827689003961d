//===- Samplers.h - Random ops of each kind ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_SAMPLERS_H
#define WEFT_TEST_RANDOM_SAMPLERS_H

#include "ProgramBuilder.h"

namespace weft::randomtest {

inline bool isFloat(const Entry &e) { return is_floating_point(e.dtype()); }
inline bool isNumber(const Entry &e) { return e.dtype() != DType::i1; }

/// The begin and the end of a random piece of a dimension. It is usually large and seldom empty, so that it
/// can be cut again.
std::pair<int64_t, int64_t> anyPiece(ProgramBuilder &p, int64_t size);

// Making tensors and moving elements.
void sampleBroadcast(ProgramBuilder &p);
void sampleConstant(ProgramBuilder &p);
void sampleDim(ProgramBuilder &p);
void sampleFull(ProgramBuilder &p);
void sampleIota(ProgramBuilder &p);
void samplePad(ProgramBuilder &p);
void sampleReshape(ProgramBuilder &p);
void sampleRngBits(ProgramBuilder &p);
void sampleSlice(ProgramBuilder &p);
void sampleTranspose(ProgramBuilder &p);
/// A chain of views, each of the one before.
void sampleViewChain(ProgramBuilder &p);

// Reading and writing by index, windows, joins.
void sampleBitcast(ProgramBuilder &p);
void sampleConcat(ProgramBuilder &p);
void sampleDynamicSlice(ProgramBuilder &p);
void sampleDynamicUpdateSlice(ProgramBuilder &p);
void sampleGather(ProgramBuilder &p);
void sampleIndexUpdate(ProgramBuilder &p);
void sampleReverse(ProgramBuilder &p);
void sampleScatter(ProgramBuilder &p);
void sampleUndef(ProgramBuilder &p);

// Sliding windows and convolutions.
void sampleConvolution(ProgramBuilder &p);
void sampleOverlapAdd(ProgramBuilder &p);
void sampleWindows(ProgramBuilder &p);
void sampleFft(ProgramBuilder &p);

// Storage, devices, the host, order.
void sampleAlias(ProgramBuilder &p);
void sampleAssert(ProgramBuilder &p);
void sampleCopyInto(ProgramBuilder &p);
void sampleOrder(ProgramBuilder &p);
void sampleToHostScalar(ProgramBuilder &p);
void sampleTransfer(ProgramBuilder &p);

/// Ends a program with a read or write whose index has an element out of range, so that the call fails.
void sampleOutOfRange(ProgramBuilder &p);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_SAMPLERS_H
