//===- RawCompiler.h - The user's CUDA C++ to CUBIN and PTX -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of a kernel that the user wrote is compiled as it is, with the defaults of NVRTC: products and
// sums may be fused, unlike in kernels of Weft. Messages count lines from the beginning of the text.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_RAW_RAWCOMPILER_H
#define WEFT_CODEGEN_CUDA_RAW_RAWCOMPILER_H

#include "codegen/cuda/CudaCompiler.h"

namespace weft::codegen {

class CudaRawCompiler : public CudaTextCompiler {
public:
  /// For a target as "sm_90". An error if there is no NVRTC.
  static Expected<CudaRawCompiler> make(llvm::StringRef target);
  /// What compile() takes: the entry is a part of the text, because the cache goes by that.
  static std::string textOf(llvm::StringRef entry, llvm::StringRef source);

  std::string identity() const override;
  /// A serialized CudaKernel with the resources of the entry; `threads` is the most of its __launch_bounds__.
  Expected<std::vector<char>> compile(llvm::StringRef text, llvm::StringRef name,
                                      CompileStats *stats) const override;

private:
  CudaRawCompiler(const Nvrtc &nvrtc, llvm::StringRef target);
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_RAW_RAWCOMPILER_H
