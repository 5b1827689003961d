//===- LowerKernel.h - Kernel IR to machine code ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel module has the form that codegen/kernel/KernelIR.h describes. Its buffers are those of
// KernelFrame, its sizes KernelFrame::sizes. Argument attributes `llvm.noalias`, `llvm.align` and
// `llvm.readonly` are honoured, no alignment beyond the element's is assumed without them. The unit attribute
// `weft.vectorize` lets LLVM's loop vectoriser at the kernel, which is otherwise taken as it is.
// Out comes `extern "C" void name(const KernelFrame *, int64_t begin, int64_t end)`
// (runtime/package/Kernel.h).
//
// All functions may be called from several threads at once: each call works in its own contexts, on the
// kernel's canonical text, which is also the key of the kernel cache.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CPU_LOWERKERNEL_H
#define WEFT_CODEGEN_CPU_LOWERKERNEL_H

#include "codegen/kernel/KernelCompiler.h"
#include "codegen/kernel/KernelIR.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace weft::codegen {

/// The level of processors that code is made for. It does not depend on the machine that compiles, unless the
/// caller passes that machine's level.
struct CpuTarget {
  enum Level { v3, v4 };
  Level level = v4;

  /// The target named "x86-64-v3" or "x86-64-v4"; none for other names.
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

/// LLVM, for one processor.
class CpuCompiler final : public KernelCompiler {
public:
  explicit CpuCompiler(CpuTarget target) : level(target) {}
  std::string identity() const override;
  std::string target() const override { return level.cpu(); }
  Expected<std::vector<char>> compile(llvm::StringRef text, llvm::StringRef name,
                                      CompileStats *stats) const override;

private:
  CpuTarget level;
};

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

/// Translates canonical text to LLVM IR, before the mid-end. The only external definition is `symbol`.
Expected<std::unique_ptr<llvm::Module>> translateKernel(llvm::StringRef text, llvm::StringRef symbol,
                                                        llvm::StringRef name, llvm::LLVMContext &context);

enum class EmitKind { object, assembly, llvm };

/// Mid-end, checks, code generation.
Expected<std::vector<char>> emitKernel(llvm::Module &module, llvm::StringRef symbol, llvm::StringRef name,
                                       CpuTarget target, EmitKind kind, CompileStats *stats);

} // namespace detail
} // namespace weft::codegen

#endif // WEFT_CODEGEN_CPU_LOWERKERNEL_H
