//===- CudaHarness.cpp - Kernels of fusions on the PTX engine -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaHarness.h"

#include "codegen/KernelTargets.h"
#include "codegen/emit/EmitKernel.h"
#include "codegen/kernel/KernelIR.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

#include <array>
#include <cstring>

using namespace mlir;
namespace weft::testing {

const ir::TargetDescription &hopper() {
  static const ir::TargetDescription found = *ir::findDescription("cuda:sm_90");
  return found;
}

std::string whyNoEngine() {
  if (auto nvrtc = codegen::Nvrtc::get(); !nvrtc)
    return nvrtc.status().message();
  return cudasim::processorSuffices() ? "" : "the engine is compiled for x86-64-v3";
}

OwningOpRef<ModuleOp> emitForHopper(ir::FusionOp fusion) {
  auto kernel = codegen::emitKernel(fusion, "kernel", *codegen::findKernels(hopper()));
  if (!kernel) {
    ADD_FAILURE() << kernel.status().message();
    return {};
  }
  return std::move(*kernel);
}

std::optional<EngineKernel> compileForEngine(ir::FusionOp fusion) {
  OwningOpRef<ModuleOp> emitted = emitForHopper(fusion);
  if (!emitted)
    return std::nullopt;
  auto text = codegen::canonicalKernelText(*emitted);
  auto compiler = codegen::CudaCompiler::make("sm_90");
  if (!text || !compiler) {
    ADD_FAILURE() << (text ? compiler.status() : text.status()).message();
    return std::nullopt;
  }
  auto object = compiler->compile(*text, "kernel", nullptr);
  if (!object) {
    ADD_FAILURE() << object.status().message() << "\n" << *text;
    return std::nullopt;
  }
  EngineKernel made;
  made.kernel = *codegen::CudaKernel::deserialize(*object);
  auto function = emitted->lookupSymbol<func::FuncOp>("kernel");
  made.slots = llvm::to_vector(function->getAttrOfType<DenseI64ArrayAttr>("weft.buffers").asArrayRef());
  cudasim::ParseResult parsed = cudasim::Module::parse(made.kernel.ptx);
  if (!parsed) {
    ADD_FAILURE() << parsed.error.str();
    return std::nullopt;
  }
  made.module = std::move(parsed.module);
  return made;
}

std::string EngineMode::str() const {
  static constexpr std::array<const char *, 3> names = {"forward", "reverse", "shuffled"};
  return std::string(names.at(static_cast<size_t>(order))) + (race ? " in race mode" : "");
}

std::span<const EngineMode> everyEngineMode() {
  using enum cudasim::Order;
  static constexpr std::array<EngineMode, 6> modes = {{{forward, false},
                                                       {forward, true},
                                                       {reverse, false},
                                                       {reverse, true},
                                                       {shuffled, false},
                                                       {shuffled, true}}};
  return modes;
}

void KernelParameters::add(uint64_t word) {
  bytes.resize(bytes.size() + sizeof word);
  std::memcpy(bytes.data() + bytes.size() - sizeof word, &word, sizeof word);
}

cudasim::LaunchResult launchBlocks(const EngineKernel &kernel, cudasim::Memory &memory, int64_t blocks,
                                   const EngineMode &mode, const KernelParameters &parameters) {
  EXPECT_TRUE(kernel.module->load(memory));
  return launch(*kernel.module, codegen::canonicalSymbol.str(), memory,
                {.grid = {static_cast<uint32_t>(blocks)},
                 .block = {kernel.kernel.threads},
                 .dynamicShared = kernel.kernel.dynamicShared,
                 .order = mode.order,
                 .seed = 7,
                 .race = mode.race},
                parameters.bytes);
}

} // namespace weft::testing
