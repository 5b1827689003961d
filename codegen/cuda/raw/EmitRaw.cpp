//===- EmitRaw.cpp - The kernels of a program that the user wrote ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/raw/EmitRaw.h"

#include "codegen/cuda/raw/PtxEntries.h"
#include "codegen/cuda/raw/RawCompiler.h"
#include "codegen/kernel/KernelCache.h"
#include "ir/Decisions.h"
#include "ir/RawKernel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace weft::codegen {

static uint32_t threadsOf(ir::RawKernelOp op) {
  int64_t product = 1;
  for (int64_t extent : op.getBlock())
    product *= extent;
  return static_cast<uint32_t>(product);
}

std::vector<EmittedRaw> emitRawKernels(ModuleOp module, const ir::Target &target) {
  std::vector<EmittedRaw> emitted;
  llvm::StringMap<size_t> byText;
  for (auto function : module.getOps<ir::FuncOp>()) {
    unsigned number = 0;
    for (auto op : function.getOps<ir::RawKernelOp>()) {
      const ir::TargetDescription *device = target.find(ir::deviceOf(op.getResult(0).getType()));
      if (!device || device->isCpu())
        continue;
      auto [it, inserted] =
          byText.try_emplace(CudaRawCompiler::textOf(op.getEntry(), op.getSource()), emitted.size());
      if (inserted) {
        EmittedRaw &made = emitted.emplace_back();
        made.symbol = (function.getName() + ".raw." + Twine(number)).str();
        made.entry = op.getEntry();
        made.text = op.getSource();
      }
      EmittedRaw &kernel = emitted[it->second];
      kernel.threads = std::max(kernel.threads, threadsOf(op));
      kernel.sharedBytes = std::max(kernel.sharedBytes, static_cast<uint32_t>(op.getShared()));
      if (std::string line = ir::locationText(op.getLoc());
          !line.empty() && !llvm::is_contained(kernel.lines, line))
        kernel.lines.push_back(std::move(line));
      kernel.uses.push_back(op);
      ++number;
    }
  }
  return emitted;
}

//===----------------------------------------------------------------------===//
// What is known when a kernel is compiled
//===----------------------------------------------------------------------===//

/// "at step.cpp:40:12: raw kernel 'saxpy', whose text begins at step.cpp:12:20, ".
static std::string namedAt(ir::RawKernelOp op) {
  const std::string line = ir::locationText(op.getLoc());
  return (line.empty() ? "" : "at " + line + ": ") + "raw kernel '" + op.getEntry().str() + "'" +
         (op.getSourceAt() ? ", whose text begins at " + op.getSourceAt()->str() + "," : "") + " ";
}

/// "the address of a tensor", or "2.000000e+00 : f64".
static std::string givenText(ir::RawKernelOp op, size_t parameter) {
  const Attribute attribute = op.getParameters()[parameter];
  if (isa<StringAttr>(attribute))
    return "the address of a tensor, of 8 bytes";
  std::string text = "the number ";
  llvm::raw_string_ostream os(text);
  os << attribute << ", of " << ir::amountText(ir::rawParameters(op)[parameter].bytes, "byte");
  return text;
}

static Status checkParameters(ir::RawKernelOp op, ArrayRef<uint32_t> bytes) {
  const auto given = ir::rawParameters(op);
  if (given.size() != bytes.size()) {
    std::string sizes;
    for (uint32_t each : bytes)
      sizes += (sizes.empty() ? ", of " : ", ") + std::to_string(each);
    return Status::error("takes " + ir::amountText(static_cast<int64_t>(bytes.size()), "parameter") + sizes +
                             (sizes.empty() ? "" : " bytes") + ", and is given " +
                             std::to_string(given.size()) + " (WEFT-K003)",
                         "WEFT-K003");
  }
  for (auto [i, parameter] : llvm::enumerate(given))
    if (parameter.bytes != bytes[i])
      return Status::error("takes " + ir::amountText(bytes[i], "byte") + " for parameter " +
                               std::to_string(i) + ", counted from 0, and is given " + givenText(op, i) +
                               " (WEFT-K003)",
                           "WEFT-K003");
  return {};
}

/// Whether a block of a launch fits on a multiprocessor.
static Status checkBlock(ir::RawKernelOp op, const CudaKernel &kernel, const ir::TargetDescription &device) {
  const auto fail = [](const std::string &message) {
    return Status::error(message + " (WEFT-K005)", "WEFT-K005");
  };
  const ir::SymbolRanges ranges = ir::rangesOf(op);
  for (auto [dimension, blocks] : llvm::enumerate(op.getGrid()))
    if (const int64_t most = ranges.largest(blocks); most > ir::mostGridBlocks[dimension])
      return fail("may be launched with " + ir::sizeText(blocks) + " blocks in dimension " +
                  std::to_string(dimension) + " of its grid, up to " + std::to_string(most) +
                  ", and a grid has at most " + std::to_string(ir::mostGridBlocks[dimension]) +
                  ": lower the largest value of the Dim, or let each thread do more");
  const int64_t threads = threadsOf(op), registers = kernel.resources.registers,
                shared = static_cast<int64_t>(op.getShared()) + kernel.resources.sharedBytes;
  if (kernel.threads && threads > kernel.threads)
    return fail("is launched in blocks of " + std::to_string(threads) +
                " threads, and its __launch_bounds__ allows " + std::to_string(kernel.threads));
  if (shared > device.blockSharedBytes)
    return fail("needs " + std::to_string(shared) + " bytes of shared memory for a block, and one of " +
                device.name.str() + " has " + std::to_string(device.blockSharedBytes));
  if (ir::residentBlocks(device, threads, registers, shared) == 0)
    return fail("needs " + std::to_string(registers) + " registers for each of the " +
                std::to_string(threads) + " threads of a block, and a block of " + device.name.str() +
                " has " + std::to_string(device.coreRegisters) +
                ": use smaller blocks, or declare __launch_bounds__(" + std::to_string(threads) + ")");
  return {};
}

Expected<RawCode> compileRaw(const EmittedRaw &kernel, const ir::TargetDescription &device) {
  Expected<CudaRawCompiler> compiler = CudaRawCompiler::make(device.name);
  if (!compiler)
    return compiler.status().context(namedAt(kernel.uses.front()) + "cannot be compiled: ");
  Expected<KernelObject> object =
      KernelCache::global().get(CudaRawCompiler::textOf(kernel.entry, kernel.text), kernel.entry, *compiler);
  if (!object)
    return object.status().context(namedAt(kernel.uses.front()));
  Expected<CudaKernel> read = CudaKernel::deserialize(**object);
  if (!read)
    return read.status();
  RawCode code{std::move(*read), {}};
  Expected<std::vector<PtxEntry>> entries = readPtxEntries(code.kernel.ptx);
  if (!entries)
    return entries.status();
  for (PtxEntry &entry : *entries)
    if (entry.name == kernel.entry)
      code.parameters = std::move(entry.parameterBytes);
  for (ir::RawKernelOp op : kernel.uses) {
    Status status = checkParameters(op, code.parameters);
    if (status.ok())
      status = checkBlock(op, code.kernel, device);
    if (!status)
      return status.context(namedAt(op));
  }
  // What a launch may ask for.
  code.kernel.threads = kernel.threads;
  code.kernel.dynamicShared = kernel.sharedBytes;
  return code;
}

} // namespace weft::codegen
