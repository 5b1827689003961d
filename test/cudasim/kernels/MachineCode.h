//===- MachineCode.h - What machine code of a GPU does ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_MACHINECODE_H
#define WEFT_TEST_CUDASIM_KERNELS_MACHINECODE_H

#include "weft/status.hpp"

#include "llvm/ADT/StringRef.h"

namespace weft::cudasim {

/// How many instructions of a CUBIN's kernels load from local memory or store to it, for sm_80 to sm_100. An
/// error if it is no CUBIN. nvdisasm shows them, too, and takes a thousand times as long.
Expected<unsigned> countLocalAccesses(llvm::StringRef cubin);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_MACHINECODE_H
