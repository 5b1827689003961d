//===- Atomics.h - Atomic operations, and spaces of accesses ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_ATOMICS_H
#define WEFT_TEST_CUDASIM_ATOMICS_H

#include "Decoder.h"

namespace weft::cudasim {

/// atom and red.
void decodeAtomic(Decoder &decoder);

/// The space that a modifier names; generic if none does.
Space takeSpace(Decoder &decoder);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_ATOMICS_H
