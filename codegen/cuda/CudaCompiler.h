//===- CudaCompiler.h - Kernel text to CUBIN and PTX -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CUDACOMPILER_H
#define WEFT_CODEGEN_CUDA_CUDACOMPILER_H

#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/PrintKernel.h"
#include "codegen/kernel/KernelCompiler.h"
#include "ir/Size.h"

#include <cstdint>

namespace weft::codegen {

/// What ptxas reports about a kernel.
struct CudaResources {
  uint32_t registers = 0;                           ///< of a thread
  uint32_t stackBytes = 0;                          ///< local memory of a thread
  uint32_t spillStoreBytes = 0, spillLoadBytes = 0; ///< registers that did not suffice
  uint32_t sharedBytes = 0;                         ///< of a block
};

/// The resources that the log of a compilation names; an error if it names none.
Expected<CudaResources> parseResources(llvm::StringRef log);

/// A compiled kernel: what KernelCompiler::compile gives for a GPU.
struct CudaKernel {
  CudaResources resources;
  uint32_t threads = 0;       ///< of a block
  uint32_t dynamicShared = 0; ///< bytes of shared memory that a launch asks for, beside `resources`
  bool usesTable = false, usesChecks = false, usesPredicate = false;
  std::string cubin, ptx;
  std::vector<ir::Size> divisors; ///< as in CudaText

  /// Of what serialize() gives; a part of the identity of each compiler, so that caches have no other.
  static constexpr char format[] = "WEFTCUD2";
  std::vector<char> serialize() const;
  static Expected<CudaKernel> deserialize(llvm::ArrayRef<char> bytes);
};

/// The options with which NVRTC compiles every kernel for a target as "sm_90".
std::vector<std::string> nvrtcOptions(llvm::StringRef target);

/// Compiles kernels whose text is CUDA C++: a kernel `weft_kernel` with `__launch_bounds__`.
class CudaTextCompiler : public KernelCompiler {
public:
  /// For a target as "sm_90". An error if there is no NVRTC.
  static Expected<CudaTextCompiler> make(llvm::StringRef target);

  std::string identity() const override;
  std::string target() const override { return architecture; }
  Expected<std::vector<char>> compile(llvm::StringRef text, llvm::StringRef name,
                                      CompileStats *stats) const override;

protected:
  CudaTextCompiler(const Nvrtc &nvrtc, llvm::StringRef target);
  /// What NVRTC makes of a text.
  Expected<CudaKernel> compileText(const std::string &text, const std::string &name) const;
  const Nvrtc *nvrtc;
  std::string architecture;
  std::vector<std::string> options;
};

/// Compiles kernel IR, which it prints as CUDA C++.
class CudaCompiler : public CudaTextCompiler {
public:
  /// For a target as "sm_90". An error if there is no NVRTC.
  static Expected<CudaCompiler> make(llvm::StringRef target);

  std::string identity() const override;
  Expected<std::vector<char>> compile(llvm::StringRef text, llvm::StringRef name,
                                      CompileStats *stats) const override;

private:
  using CudaTextCompiler::CudaTextCompiler;
};

/// Canonical kernel text as CUDA C++, and what a launch of it has to know.
Expected<CudaText> kernelTextToCuda(llvm::StringRef text, llvm::StringRef name);

/// The assembly of a CUBIN, by nvdisasm.
Expected<std::string> disassemble(const std::string &cubin);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_CUDACOMPILER_H
