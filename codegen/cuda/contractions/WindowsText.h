//===- WindowsText.h - How a product reads windows --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is the kernel of a product whose operand b are the windows of images. They are never stored:
// where the kernel copies an element of a tile of b to shared memory, the element lies at a sum of what its
// column says, which is the first element of a window, and of what its step says, which is how far the step
// is from there. Both are computed once for all accesses that share them. Quotients are by numbers, for which
// the compiler has multiplications.
//
// With zeros between the elements of images, a block has the places of one remainder. The part of the window
// that they meet follows from that, and is the same for all of the block's threads.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CONTRACTIONS_WINDOWSTEXT_H
#define WEFT_CODEGEN_CUDA_CONTRACTIONS_WINDOWSTEXT_H

#include "codegen/cuda/contractions/ContractionSchedule.h"
#include "codegen/cuda/contractions/DeviceText.h"

#include <string>

namespace weft::codegen {

/// What a kernel has before its copies: functions for the place of a step in the weights, of a column and a
/// step in the images, and of a column in the result.
std::string windowFunctions(const CudaContraction &contraction, const ContractionSchedule &schedule);

/// Whether some remainders have fewer places than others, whose columns then say whether they are places.
bool leavesPlacesOut(const CudaWindows &windows);

/// What a copy of a tile of `operand`, "A" or "B", says of its elements: BEFORE its loop and WHERE it copies
/// one, FROM which address it reads, and how many elements are VALID.
void describeWindowCopy(const CudaContraction &contraction, const ContractionSchedule &schedule,
                        const std::string &operand, Words &words);

/// The steps of the epilogue: how a thread moves to its group (MATRIX), what it READs for a column, and what
/// becomes of `value` (EPILOGUE).
struct EpilogueText {
  std::string matrix, read, epilogue;
};
EpilogueText epilogueText(const CudaContraction &contraction);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_CONTRACTIONS_WINDOWSTEXT_H
