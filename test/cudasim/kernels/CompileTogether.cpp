//===- CompileTogether.cpp - Many kernels in one compilation -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CompileTogether.h"

using namespace mlir;
namespace weft::cudasim {

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

Status CompiledTogether::add(ModuleOp module, size_t program) {
  programs[program] = {};
  auto kernels = cudasim::kernelsOf(module, options, target);
  if (!kernels)
    return kernels.status();
  for (KernelOfProgram &each : *kernels)
    keep(each.text, std::move(each.kernel), each.resident, program);
  return {};
}

Status CompiledTogether::compile(ArrayRef<std::pair<const std::string, Kernel> *> some) {
  const ir::TargetDescription &device = *target.getCuda();
  std::vector<StringRef> together;
  for (const auto *each : some)
    together.push_back(each->first);
  auto binaries = compileTogether(*nvrtc, codegen::nvrtcOptions(device.name), together);
  if (!binaries)
    return binaries.status();
  for (auto [each, binary] : llvm::zip_equal(some, *binaries)) {
    Kernel &kernel = each->second;
    Expected<codegen::CudaResources> used = codegen::parseResources(binary.log);
    if (!used)
      return used.status();
    kernel.kernel.resources = *used;
    kernel.kernel.ptx = std::move(binary.ptx);
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
    if (some.size() < mostTogether)
      continue;
    if (Status status = compile(some); !status)
      return status;
    some.clear();
  }
  return some.empty() ? Status() : compile(some);
}

} // namespace weft::cudasim
