//===- CompileTogether.cpp - Many kernels in one compilation -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CompileTogether.h"

#include "codegen/cuda/attention/EmitAttention.h"
#include "codegen/cuda/contractions/EmitContractions.h"
#include "codegen/cuda/contractions/EmitConvolutions.h"
#include "codegen/kernel/KernelIR.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace weft::cudasim {

namespace {

constexpr StringRef kKernel = "weft_kernel";
/// More are no faster, and a failure names all of them.
constexpr size_t kTogether = 32;

/// A text as one of many: in a namespace, with a kernel of another name.
std::string numbered(StringRef text, size_t number) {
  const std::string name = (kKernel + "_" + Twine(number)).str();
  std::string changed = "namespace w" + std::to_string(number) + " {\n";
  while (true) {
    auto [before, after] = text.split(kKernel);
    changed += before;
    if (after.data() == nullptr || before.size() == text.size())
      break;
    changed += name;
    text = after;
  }
  return changed + "\n}\n";
}

/// The part of a log of ptxas that is about a kernel; empty if there is none.
StringRef partOf(StringRef log, size_t number) {
  const auto [before, after] = log.split(("entry function '" + kKernel + "_" + Twine(number) + "'").str());
  return after.split("entry function '").first;
}

} // namespace

Expected<CompiledTogether> CompiledTogether::make(const CudaOptions &options) {
  Expected<ir::Target> target = targetOf(options);
  if (!target)
    return target.status();
  Expected<const codegen::Nvrtc *> nvrtc = codegen::Nvrtc::get();
  if (!nvrtc)
    return nvrtc.status();
  return CompiledTogether(options, std::move(*target), **nvrtc);
}

void CompiledTogether::keep(const std::string &text, DeviceKernel kernel, int64_t resident, size_t program) {
  ++programs[program].kernels;
  Kernel &kept =
      texts.insert({text, Kernel{.kernel = kernel, .resident = resident, .programs = {}}}).first->second;
  kept.resident = std::max(kept.resident, resident);
  kept.kernel.dynamicShared = std::max(kept.kernel.dynamicShared, kernel.dynamicShared);
  kept.programs.insert(program);
}

template <typename Emitted>
Status CompiledTogether::keepTexts(const Expected<std::vector<Emitted>> &emitted, size_t program) {
  if (!emitted)
    return emitted.status();
  for (const Emitted &each : *emitted) {
    DeviceKernel kernel;
    kernel.symbol = each.symbol;
    // Their schedules say nothing of resident blocks, and their launches fit by construction.
    keep(each.text, std::move(kernel), 0, program);
  }
  return {};
}

Status CompiledTogether::add(ModuleOp module, size_t program) {
  programs[program] = {};
  if (auto lowered = lowerForCuda(module, options, target); !lowered)
    return lowered.status();
  auto emitted = codegen::emitKernels(module, target);
  if (!emitted)
    return emitted.status();
  for (const codegen::EmittedKernel &each : *emitted) {
    if (each.isOnHost())
      continue;
    Expected<std::string> canonical = codegen::canonicalKernelText(*each.module);
    if (!canonical)
      return canonical.status();
    Expected<codegen::CudaText> text = codegen::kernelTextToCuda(*canonical, each.symbol);
    if (!text)
      return text.status();
    DeviceKernel kernel;
    kernel.symbol = each.symbol;
    kernel.threads = static_cast<uint32_t>(text->threads);
    kernel.dynamicShared = static_cast<uint32_t>(text->dynamicShared);
    keep(text->text, std::move(kernel), residentBlocksOf(cast<ir::FusionOp>(each.fusions.front())), program);
  }
  if (Status status = keepTexts(codegen::emitContractions(module, target), program); !status)
    return status;
  if (Status status = keepTexts(codegen::emitAttention(module, target), program); !status)
    return status;
  return keepTexts(codegen::emitConvolutions(module, target), program);
}

Status CompiledTogether::compile(ArrayRef<std::pair<const std::string, Kernel> *> some) {
  std::string all;
  for (auto [number, each] : llvm::enumerate(some))
    all += numbered(each->first, number);
  const ir::TargetDescription &device = *target.getCuda();
  auto binary = nvrtc->compile(all, "together", codegen::nvrtcOptions(device.name));
  if (!binary)
    return binary.status();
  for (auto [number, each] : llvm::enumerate(some)) {
    Kernel &kernel = each->second;
    Expected<codegen::CudaResources> used = codegen::parseResources(partOf(binary->log, number));
    if (!used)
      return used.status();
    kernel.kernel.resources = *used;
    const Status status = kernel.resident ? checkRegisters(kernel.kernel, kernel.resident, device)
                                          : checkSpills(kernel.kernel, device.fullName());
    if (!status)
      for (size_t program : kernel.programs)
        programs[program].status = status;
  }
  return {};
}

Status CompiledTogether::compile() {
  std::vector<std::pair<const std::string, Kernel> *> some;
  for (auto &each : texts) {
    some.push_back(&each);
    if (some.size() < kTogether)
      continue;
    if (Status status = compile(some); !status)
      return status;
    some.clear();
  }
  return some.empty() ? Status() : compile(some);
}

} // namespace weft::cudasim
