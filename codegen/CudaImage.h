//===- CudaImage.h - The kernels of a GPU in a package ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime's DeviceImage reads (runtime/plan/DeviceImage.h): the kernels of fusions, those of our own
// for contractions and attention, and those that the user wrote, each with how it is launched.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDAIMAGE_H
#define WEFT_CODEGEN_CUDAIMAGE_H

#include "codegen/CompileCudaKernels.h"
#include "codegen/PlanWriter.h"
#include "ir/Target.h"

#include <map>

namespace weft::fb {
struct DeviceKernelT;
} // namespace weft::fb

namespace weft::codegen {

class CudaImage {
public:
  CudaImage();
  ~CudaImage();
  CudaImage(CudaImage &&) noexcept;

  /// Adds the kernels of the fusions of a module, and compiles those of its contractions, attention and
  /// convolutions, which are on the GPU of the target, with so many threads, and those of the user. An error
  /// names a kernel that NVRTC refuses.
  Status add(mlir::ModuleOp module, const ir::Target &target, const CudaKernels &fusions, unsigned threads);
  /// What the launch of each contraction, attention, convolution and raw kernel op says of its kernels.
  const OwnKernels &own() const { return ownKernels; }
  /// The texts of own kernels, with their symbols.
  const std::string &ownTexts() const { return texts; }
  /// The section of the package.
  std::vector<std::byte> bytes(const ir::Target &target, llvm::ArrayRef<std::byte> signatures,
                               uint64_t binding) const;

private:
  Status addFusion(const EmittedKernel &emitted, const KernelObject &object);
  /// Compiles texts. `fill(emitted, kernel)` says what is special about each.
  template <typename Emitted, typename Fill>
  Status addTexts(Expected<std::vector<Emitted>> emitted, const ir::Target &target, unsigned threads,
                  Fill &&fill);
  Status addContractions(mlir::ModuleOp module, const ir::Target &target, unsigned threads);
  Status addAttention(mlir::ModuleOp module, const ir::Target &target, unsigned threads);
  Status addConvolutions(mlir::ModuleOp module, const ir::Target &target, unsigned threads);
  Status addSorts(mlir::ModuleOp module, const ir::Target &target, unsigned threads);
  Status addRawKernels(mlir::ModuleOp module, const ir::Target &target);

  std::map<std::string, std::unique_ptr<fb::DeviceKernelT>> kernels; ///< by symbol
  OwnKernels ownKernels;
  std::string texts;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDAIMAGE_H
