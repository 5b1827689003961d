//===- IndexingSamplers.h - Random joins, windows and indices --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_INDEXINGSAMPLERS_H
#define WEFT_TEST_RANDOM_INDEXINGSAMPLERS_H

#include "ProgramBuilder.h"

namespace weft::randomtest {

void sampleBitcast(ProgramBuilder &p);
void sampleConcat(ProgramBuilder &p);
void sampleDynamicSlice(ProgramBuilder &p);
void sampleDynamicUpdateSlice(ProgramBuilder &p);
void sampleGather(ProgramBuilder &p);
void sampleIndexUpdate(ProgramBuilder &p);
void sampleReverse(ProgramBuilder &p);
void sampleScatter(ProgramBuilder &p);
void sampleUndef(ProgramBuilder &p);

/// Ends a program with a read or write by an index of which an element is out of range: an error of the call.
void sampleOutOfRange(ProgramBuilder &p);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_INDEXINGSAMPLERS_H
