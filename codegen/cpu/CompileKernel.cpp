//===- CompileKernel.cpp - Kernel IR to machine code of a CPU --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LowerKernel.h"

#include "runtime/package/Kernel.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace weft::codegen {

/// The version of the code generator: increase it when the same kernel text gives other code.
static constexpr const char *generatorVersion = "weft-cpu-5";

std::string CpuCompiler::identity() const {
  return std::string(generatorVersion) + ", kernel abi " + std::to_string(runtime::kernelAbi) +
         ", llvm " LLVM_VERSION_STRING;
}

Expected<std::vector<char>> CpuCompiler::compile(StringRef text, StringRef name, CompileStats *stats) const {
  return compileKernelTextToObject(text, name, level, stats);
}

Expected<std::vector<char>> compileKernelTextToObject(StringRef text, StringRef name, CpuTarget target,
                                                      CompileStats *stats) {
  auto start = std::chrono::steady_clock::now();
  llvm::LLVMContext context;
  auto module = detail::translateKernel(text, canonicalSymbol, name, context);
  if (!module)
    return module.status();
  if (stats)
    stats->lower = millisecondsSince(start);
  return detail::emitKernel(**module, canonicalSymbol, name, target, detail::EmitKind::object, stats);
}

Expected<std::vector<char>> compileKernelToObject(ModuleOp kernel, CpuTarget target, CompileStats *stats) {
  Expected<KernelText> named = namedKernelText(kernel);
  if (!named)
    return named.status();
  return compileKernelTextToObject(named->text, named->name, target, stats);
}

static Expected<std::string> compileToText(ModuleOp kernel, CpuTarget target, detail::EmitKind kind) {
  Expected<std::string> name = kernelSymbol(kernel);
  if (!name)
    return name.status();
  Expected<std::string> text = canonicalKernelText(kernel, *name);
  if (!text)
    return text.status();
  llvm::LLVMContext context;
  auto module = detail::translateKernel(*text, *name, *name, context);
  if (!module)
    return module.status();
  auto bytes = detail::emitKernel(**module, *name, *name, target, kind, nullptr);
  if (!bytes)
    return bytes.status();
  return std::string(bytes->begin(), bytes->end());
}

Expected<std::string> compileKernelToLLVM(ModuleOp kernel, CpuTarget target) {
  return compileToText(kernel, target, detail::EmitKind::llvm);
}

Expected<std::string> compileKernelToAssembly(ModuleOp kernel, CpuTarget target) {
  return compileToText(kernel, target, detail::EmitKind::assembly);
}

} // namespace weft::codegen
