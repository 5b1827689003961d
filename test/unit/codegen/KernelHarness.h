//===- KernelHarness.h - Runs kernels written as MLIR text -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_KERNELHARNESS_H
#define WEFT_TEST_UNIT_CODEGEN_KERNELHARNESS_H

#include "codegen/cpu/LinkImage.h"
#include "codegen/cpu/LowerKernel.h"
#include "runtime/package/Kernel.h"
#include "test/unit/TestLevel.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/bit.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft::testing {

/// An image mapped into this process: writable while it is filled, never writable and executable at once.
class LoadedImage {
public:
  /// Maps the image at `address`, or anywhere if it is null.
  explicit LoadedImage(const codegen::LinkedImage &image, void *address = nullptr);
  ~LoadedImage();
  LoadedImage(const LoadedImage &) = delete;

  runtime::KernelFn function(const std::string &symbol) const;
  char *base() const { return bytes; }

private:
  char *bytes = nullptr;
  size_t size = 0;
  std::map<std::string, uint64_t> symbols;
};

/// A context with the dialects of kernel IR.
mlir::MLIRContext &context();
mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);

/// Whether this processor can run code for the target.
bool canRun(codegen::CpuTarget target);
/// The targets for which tests run kernels: all that this processor can run, or only the first one at the
/// test level `quick`.
std::vector<codegen::CpuTarget> runnableTargets();

/// A kernel that is compiled from text, linked and loaded. An error fails the test, and `fn` is null.
struct Kernel {
  Kernel(const std::string &text, codegen::CpuTarget target);
  /// Runs over `buffers` in slots 0, 1, ...
  void run(std::vector<void *> buffers, int64_t begin, int64_t end, std::vector<int64_t> sizes = {}) const;

  std::unique_ptr<LoadedImage> image;
  runtime::KernelFn fn = nullptr;
  codegen::CompileStats stats;

private:
  void build(const std::string &text, codegen::CpuTarget target);
};

/// The runtime's import table.
void *const *importTable();

/// The text of a kernel that applies `body` to the elements of `arity` arrays. `body` computes %y from %x0
/// and %x1, which are vectors of `lanes` elements, or scalars if `lanes` is 0. The element types are `in` and
/// `out`; in `body`, $T and $U stand for the types.
std::string mapKernel(const std::string &name, const std::string &body, int arity, int lanes,
                      const std::string &in = "f32", const std::string &out = "f32");

inline float fromBits(uint32_t bits) { return llvm::bit_cast<float>(bits); }
inline uint32_t toBits(float x) { return llvm::bit_cast<uint32_t>(x); }

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_KERNELHARNESS_H
