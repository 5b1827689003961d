//===- LowerKernel.h - Kernel IR to machine code ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel module holds one public function
//
//   func.func @name(%b0: memref<?xf32>, ..., [%s0: index, ...,]
//                   %scratch: memref<?xi8>, %check: memref<3xi64>, %begin: index, %end: index)
//       attributes {weft.buffers = array<i64: ...>}
//
// in the dialects func, arith, math, scf, cf, memref and vector, and private helpers. `weft.buffers` says
// for each memref argument which of KernelFrame::buffers it is; `index` arguments before `%scratch` are
// KernelFrame::sizes in order. Where only the run says which buffer is meant, the kernel asks for it by its
// place in KernelFrame::buffers, and for one of KernelFrame::sizes by its own, from these declarations
// (the public function only):
//
//   func.func private @weft.buffer.f32(index) -> memref<?xf32>
//   func.func private @weft.size(index) -> index
//
// Argument attributes `llvm.noalias`, `llvm.align` and `llvm.readonly` are
// honoured, no alignment beyond the element's is assumed without them. The unit attribute
// `weft.vectorize` lets LLVM's loop vectoriser at the kernel, which is otherwise taken as it is.
// Out comes `extern "C" void name(const KernelFrame *, int64_t begin, int64_t end)`
// (runtime/package/Kernel.h).
//
// Everything here may be called from several threads at once: each call works in contexts of its own on
// the kernel's canonical text, which is also what kernels are cached by.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CPU_LOWERKERNEL_H
#define WEFT_CODEGEN_CPU_LOWERKERNEL_H

#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace weft::codegen {

/// The processor that code is made for. It is never that of the compiling machine, unless the caller asks for
/// that.
struct CpuTarget {
  enum Level { v3, v4 };
  Level level = v4;

  /// The target with that name, if there is one.
  static std::optional<CpuTarget> parse(llvm::StringRef name) {
    for (CpuTarget target : {CpuTarget{v3}, CpuTarget{v4}})
      if (name == target.cpu())
        return target;
    return std::nullopt;
  }
  /// "x86-64-v3" or "x86-64-v4".
  const char *cpu() const { return level == v4 ? "x86-64-v4" : "x86-64-v3"; }
  bool operator==(const CpuTarget &other) const { return level == other.level; }
};

/// Where the time of one compilation went, in milliseconds.
struct CompileStats {
  double lower = 0;    ///< text to LLVM IR
  double optimise = 0; ///< mid-end
  double generate = 0; ///< code generation
  size_t objectBytes = 0;
  double total() const { return lower + optimise + generate; }
};

/// The kernel's function has this name in canonical text and in objects made from it; linking gives it
/// the name it is known by (codegen/cpu/LinkImage.h).
inline constexpr llvm::StringLiteral canonicalSymbol = "weft_kernel";

/// What kernel IR calls a buffer by its place, after this prefix any name, and a run-time size by its.
inline constexpr llvm::StringLiteral bufferPrefix = "weft.buffer.", sizeFunction = "weft.size";

/// The dialects of kernel IR.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// The name of the module's public function; an error if the module breaks the contract above.
Expected<std::string> kernelSymbol(mlir::ModuleOp kernel);

/// The module as text without locations, its public function renamed to `symbol`.
Expected<std::string> canonicalKernelText(mlir::ModuleOp kernel, llvm::StringRef symbol = canonicalSymbol);

/// Kernel IR to an ELF object that exports `canonicalSymbol` and refers to nothing outside.
Expected<std::vector<char>> compileKernelToObject(mlir::ModuleOp kernel, CpuTarget target,
                                                  CompileStats *stats = nullptr);
/// The same from canonical text; `name` is for messages.
Expected<std::vector<char>> compileKernelTextToObject(llvm::StringRef text, llvm::StringRef name,
                                                      CpuTarget target, CompileStats *stats = nullptr);

/// Optimised LLVM IR, and assembly, under the kernel's own name.
Expected<std::string> compileKernelToLLVM(mlir::ModuleOp kernel, CpuTarget target);
Expected<std::string> compileKernelToAssembly(mlir::ModuleOp kernel, CpuTarget target);

namespace detail {

/// Canonical text to LLVM IR before the mid-end, its only external definition `symbol`.
Expected<std::unique_ptr<llvm::Module>> translateKernel(llvm::StringRef text, llvm::StringRef symbol,
                                                        llvm::StringRef name, llvm::LLVMContext &context);

enum class EmitKind { object, assembly, llvm };

/// Mid-end, checks, code generation.
Expected<std::vector<char>> emitKernel(llvm::Module &module, llvm::StringRef symbol, llvm::StringRef name,
                                       CpuTarget target, EmitKind kind, CompileStats *stats);

} // namespace detail
} // namespace weft::codegen

#endif // WEFT_CODEGEN_CPU_LOWERKERNEL_H
