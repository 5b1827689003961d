//===- PtxEntries.h - The kernels of a PTX text -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_RAW_PTXENTRIES_H
#define WEFT_CODEGEN_CUDA_RAW_PTXENTRIES_H

#include "weft/status.hpp"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::codegen {

/// A kernel as PTX declares it.
struct PtxEntry {
  std::string name;
  std::vector<uint32_t> parameterBytes;
  uint32_t mostThreads = 0; ///< of a block, by __launch_bounds__; 0 without
};

/// The kernels of a text that NVRTC made, in its order. An error if their declarations cannot be read.
Expected<std::vector<PtxEntry>> readPtxEntries(llvm::StringRef ptx);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_RAW_PTXENTRIES_H
