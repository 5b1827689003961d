//===- KernelText.cpp - The kernel contract, and canonical text ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/kernel/KernelIR.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft::codegen {

void registerKernelDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
}

void registerBlockKernelDialects(DialectRegistry &registry) {
  registerKernelDialects(registry);
  registry.insert<gpu::GPUDialect>();
}

bool isKernelOp(Operation *op) {
  // clang-format off
  static const llvm::StringSet<> known = {
      "builtin.module", "func.func", "func.call", "func.return",
      "scf.for", "scf.if", "scf.while", "scf.condition", "scf.yield",
      "arith.constant", "arith.select", "arith.bitcast", "arith.index_cast", "arith.cmpi", "arith.cmpf",
      "arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui",
      "arith.andi", "arith.ori", "arith.xori", "arith.shli", "arith.shrui",
      "arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui",
      "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.negf",
      "arith.maximumf", "arith.minimumf",
      "arith.extsi", "arith.extui", "arith.trunci", "arith.extf", "arith.truncf",
      "arith.sitofp", "arith.uitofp", "arith.fptosi",
      "math.absf", "math.absi", "math.ceil", "math.copysign", "math.floor", "math.fma", "math.roundeven",
      "math.sqrt", "math.trunc",
      "math.acos", "math.acosh", "math.asin", "math.asinh", "math.atan", "math.atan2", "math.atanh", "math.cos",
      "math.cosh", "math.erf", "math.exp", "math.exp2", "math.expm1", "math.log", "math.log10", "math.log1p",
      "math.log2", "math.powf", "math.sin", "math.sinh", "math.tan", "math.tanh",
      "memref.alloca", "memref.load", "memref.store", "memref.view", "memref.prefetch", "memref.atomic_rmw",
      "memref.extract_aligned_pointer_as_index",
      "vector.load", "vector.maskedload", "vector.store", "vector.bitcast", "vector.broadcast", "vector.extract",
      "vector.extract_strided_slice", "vector.from_elements", "vector.shuffle",
      "gpu.barrier", "gpu.block_id", "gpu.shuffle", "gpu.thread_id"};
  // clang-format on
  return known.contains(op->getName().getStringRef());
}

namespace {

std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The one public function with a body.
Expected<func::FuncOp> findKernel(ModuleOp module) {
  func::FuncOp kernel;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate())
      continue;
    if (kernel)
      return Status::error("kernel module has two public functions, '" + kernel.getName().str() + "' and '" +
                           function.getName().str() + "': give each kernel a module of its own");
    kernel = function;
  }
  if (!kernel)
    return Status::error("kernel module has no public func.func: nothing to compile");
  return kernel;
}

Status checkContract(func::FuncOp kernel) {
  std::string where = "kernel '" + kernel.getName().str() + "': ";
  if (kernel.isDeclaration())
    return Status::error(where + "it has no body");
  if (kernel.getNumResults() != 0)
    return Status::error(where + "it returns values; kernels write their results into buffers");
  ArrayRef<Type> types = kernel.getArgumentTypes();
  MLIRContext *context = kernel.getContext();
  Type index = IndexType::get(context);
  Type tail[] = {MemRefType::get({ShapedType::kDynamic}, IntegerType::get(context, 8)),
                 MemRefType::get({3}, IntegerType::get(context, 64)), index, index};
  if (types.size() < 4)
    return Status::error(where + "it has " + std::to_string(types.size()) +
                         " arguments; the last four must be scratch, check, begin and end");
  for (size_t i = 0; i < 4; ++i) {
    size_t at = types.size() - 4 + i;
    if (types[at] != tail[i])
      return Status::error(where + "argument " + std::to_string(at) + " has type " + print(types[at]) +
                           ", expected " + print(tail[i]) + " (scratch, check, begin, end come last)");
  }
  size_t buffers = 0;
  for (size_t i = 0; i + 4 < types.size(); ++i) {
    if (types[i] == index)
      continue;
    auto memref = dyn_cast<MemRefType>(types[i]);
    if (!memref || memref.getRank() != 1 || !memref.getLayout().isIdentity() || memref.getMemorySpace())
      return Status::error(where + "argument " + std::to_string(i) + " has type " + print(types[i]) +
                           "; kernels take plain 1-D memrefs and index");
    ++buffers;
  }
  auto slots = kernel->getAttrOfType<DenseI64ArrayAttr>("weft.buffers");
  size_t named = slots ? slots.size() : 0;
  if (named != buffers)
    return Status::error(where + "weft.buffers names " + std::to_string(named) + " slots for " +
                         std::to_string(buffers) + " memref arguments");
  if (slots)
    for (int64_t slot : slots.asArrayRef())
      if (slot < 0 || slot > 65535)
        return Status::error(where + "weft.buffers holds " + std::to_string(slot) +
                             "; a slot is a number from 0 to 65535");
  return {};
}

} // namespace

Expected<std::string> kernelSymbol(ModuleOp module) {
  Expected<func::FuncOp> kernel = findKernel(module);
  if (!kernel)
    return kernel.status();
  if (Status status = checkContract(*kernel); !status)
    return status;
  return kernel->getName().str();
}

Expected<std::string> canonicalKernelText(ModuleOp module, StringRef symbol) {
  Expected<std::string> name = kernelSymbol(module);
  if (!name)
    return name.status();
  // Rename in a clone, so that several threads may compile one kernel.
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  (*copy)->removeAttr(SymbolTable::getSymbolAttrName());
  auto kernel = copy->lookupSymbol<func::FuncOp>(*name);
  if (*name != symbol) {
    if (copy->lookupSymbol(symbol))
      return Status::error("kernel '" + *name + "': its module has a helper named '" + symbol.str() +
                           "', which is reserved");
    if (failed(
            SymbolTable::replaceAllSymbolUses(kernel, StringAttr::get(module.getContext(), symbol), *copy)))
      return Status::error("kernel '" + *name + "': an operation in it cannot be searched for symbols");
    kernel.setName(symbol);
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  copy->print(out, OpPrintingFlags().useLocalScope().assumeVerified());
  return text;
}

Expected<KernelText> namedKernelText(ModuleOp kernel) {
  Expected<std::string> name = kernelSymbol(kernel);
  if (!name)
    return name.status();
  Expected<std::string> text = canonicalKernelText(kernel);
  if (!text)
    return text.status();
  return KernelText{*std::move(text), *std::move(name)};
}

} // namespace weft::codegen
