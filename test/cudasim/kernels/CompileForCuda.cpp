//===- CompileForCuda.cpp - Programs with kernels for the engine ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CompileForCuda.h"

#include "ExactResults.h"

#include "codegen/CompileCudaKernels.h"
#include "codegen/HostLibrary.h"
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/attention/EmitAttention.h"
#include "codegen/cuda/contractions/EmitContractions.h"
#include "codegen/cuda/contractions/EmitConvolutions.h"
#include "codegen/cuda/skeletons/CudaMapping.h"
#include "codegen/cuda/sorts/EmitSorts.h"
#include "codegen/kernel/KernelCache.h"
#include "codegen/kernel/KernelIR.h"
#include "ir/Schedule.h"
#include "runtime/plan/DeviceImage.h"
#include "runtime/plan/plan_generated.h"
#include "test/random/Generator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
namespace weft::cudasim {

namespace {

/// A kernel as a package has it.
Expected<DeviceKernel> read(const fb::DeviceKernel &packed) {
  DeviceKernel kernel;
  kernel.symbol = packed.symbol()->str();
  kernel.ptx = packed.ptx()->str();
  if (packed.cubin()) // those of PreparedKernels have none
    kernel.cubin.assign(packed.cubin()->begin(), packed.cubin()->end());
  kernel.resources = {.registers = packed.registers(),
                      .stackBytes = packed.local_bytes(),
                      .spillLoadBytes = packed.spill_bytes(),
                      .sharedBytes = packed.static_shared_bytes()};
  kernel.threads = packed.threads();
  kernel.blockTasks = packed.block_tasks();
  kernel.dynamicShared = packed.shared_bytes();
  kernel.usesTable = packed.takes_table();
  kernel.usesChecks = packed.takes_checks();
  kernel.usesPredicate = packed.takes_predicate();
  kernel.sizeCount = packed.sizes();
  kernel.slots.assign(packed.pointers()->begin(), packed.pointers()->end());
  ParseResult parsed = Module::parse(kernel.ptx);
  if (!parsed)
    return Status::error("kernel '" + kernel.symbol + "': " + parsed.error.str());
  kernel.module = std::move(parsed.module);
  return kernel;
}

} // namespace

int64_t residentBlocksOf(ir::FusionOp fusion) {
  const ir::Schedule schedule = fusion.getSchedule()->toSchedule();
  return schedule.has(ir::ScheduleField::resident) ? schedule[ir::ScheduleField::resident] : 1;
}

Status checkRegisters(const DeviceKernel &kernel, int64_t least, const ir::TargetDescription &device) {
  const codegen::CudaResources &used = kernel.resources;
  if (Status status = checkSpills(kernel, device.fullName()); !status)
    return status;
  const int64_t blocks = ir::residentBlocks(device, kernel.threads, used.registers,
                                            int64_t(used.sharedBytes) + kernel.dynamicShared);
  return blocks >= least
             ? Status()
             : Status::error("kernel '" + kernel.symbol + "' has " + std::to_string(used.registers) +
                             " registers a thread, with which " + std::to_string(blocks) +
                             " blocks are resident on a multiprocessor of " + device.fullName() +
                             ", and its schedule says " + std::to_string(least));
}

namespace {

/// Reads the kernels of the package's device.
Status readKernels(CudaProgram &program, const std::string &target, const ir::TargetDescription &device) {
  auto section = program.package->section("image." + target + ".device");
  if (!section)
    return section.status();
  auto image = runtime::DeviceImage::load(*section);
  if (!image)
    return image.status();
  for (const fb::DeviceKernel *packed : *(*image)->content().kernels()) {
    Expected<DeviceKernel> kernel = read(*packed);
    if (!kernel)
      return kernel.status();
    kernel->packed = packed;
    kernel->image = *image;
    const bool isOwn = packed->product() || packed->attention() || packed->sort();
    if (Status status = isOwn ? checkSpills(*kernel, device.fullName()) : Status(); !status)
      return status;
    program.fallbacks += kernel->blockTasks > 1;
    program.kernels.emplace(kernel->symbol, std::move(*kernel));
  }
  return {};
}

/// Whether the kernels of fusions keep to their schedules, and their texts if they are asked for.
Status checkFusions(CudaProgram &program, const codegen::CudaKernels &compiled, const CudaOptions &options,
                    const ir::TargetDescription &device) {
  for (auto [emitted, object] : llvm::zip_equal(compiled.kernels, compiled.objects)) {
    if (!object)
      continue;
    DeviceKernel &kernel = program.kernels.at(emitted.symbol);
    const auto fusion = cast<ir::FusionOp>(emitted.fusions.front());
    const Status status =
        options.fallbacks ? Status() : checkRegisters(kernel, residentBlocksOf(fusion), device);
    if (!status)
      return status;
    if (!options.texts)
      continue;
    Expected<codegen::CudaText> text = codegen::kernelTextToCuda(emitted.text, kernel.symbol);
    if (!text)
      return text.status();
    kernel.text = std::move(text->text);
  }
  return {};
}

/// The texts of the kernels of contractions, attention, convolutions and sorts.
Status addOwnTexts(CudaProgram &program, ModuleOp module, const ir::Target &target) {
  auto contractions = codegen::emitContractions(module, target);
  if (!contractions)
    return contractions.status();
  for (const codegen::EmittedContraction &each : *contractions)
    program.kernels.at(each.symbol).text = each.text;
  auto attention = codegen::emitAttention(module, target);
  if (!attention)
    return attention.status();
  for (const codegen::EmittedAttention &each : *attention)
    program.kernels.at(each.symbol).text = each.text;
  auto convolutions = codegen::emitConvolutions(module, target);
  if (!convolutions)
    return convolutions.status();
  for (const codegen::EmittedConvolution &each : *convolutions)
    program.kernels.at(each.symbol).text = each.text;
  auto sorts = codegen::emitSorts(module, target);
  if (!sorts)
    return sorts.status();
  for (const codegen::EmittedSort &each : *sorts)
    program.kernels.at(each.symbol).text = each.text;
  return {};
}

Status writePackage(CudaProgram &program, ModuleOp module, const ir::CompilerOptions &pipeline,
                    const std::string &target) {
  auto compiled = codegen::compilePlanned(module, pipeline);
  if (!compiled)
    return compiled.status();
  program.compiled += compiled->report.kernelsCompiled;
  auto package = runtime::Package::from_memory(std::move(compiled->package));
  if (!package)
    return package.status();
  program.package = *package;
  program.target = target;
  return {};
}

} // namespace

Expected<ir::Target> targetOf(const CudaOptions &options) {
  std::string problem;
  std::optional<ir::Target> target = ir::Target::parse(options.target, problem);
  if (!target || !target->getCuda())
    return Status::error(target ? "'" + options.target + "' is no target with a GPU" : problem);
  return std::move(*target);
}

Expected<ir::CompilerOptions> lowerForCuda(ModuleOp module, const CudaOptions &options,
                                           const ir::Target &target) {
  ir::CompilerOptions pipeline;
  pipeline.target = options.target;
  pipeline.devices = "cuda:0";
  pipeline.memoryLimit = options.memoryLimit;
  pipeline.threads = options.threads;
  pipeline.library = &codegen::hostLibrary(target.getHost());
  if (Status status = codegen::runPipeline(module, pipeline); !status)
    return status;
  return pipeline;
}

Expected<std::unique_ptr<CudaProgram>> compileForCuda(ModuleOp module, const CudaOptions &options) {
  Expected<ir::Target> target = targetOf(options);
  if (!target)
    return target.status();
  Expected<ir::CompilerOptions> pipeline = lowerForCuda(module, options, *target);
  if (!pipeline)
    return pipeline.status();
  if (options.fallbacks)
    module.walk([&](ir::FusionOp fusion) {
      if (!ir::deviceOf(fusion.getResultTypes().front()).isCpu())
        fusion.setScheduleAttr(ir::chooseFallbackSchedule(fusion, *target->getCuda()));
    });
  const auto before = codegen::KernelCache::global().counters().compiled;
  auto kernels = codegen::compileCudaKernels(module, *target, options.threads);
  if (!kernels)
    return kernels.status();
  auto program = std::make_unique<CudaProgram>();
  program->compiled = static_cast<unsigned>(codegen::KernelCache::global().counters().compiled - before);
  program->exact = exactResults(module.lookupSymbol<ir::FuncOp>(randomtest::kEntry));
  if (Status status = writePackage(*program, module, *pipeline, target->codeName()); !status)
    return status;
  if (Status status = readKernels(*program, target->codeName(), *target->getCuda()); !status)
    return status;
  if (Status status = checkFusions(*program, *kernels, options, *target->getCuda()); !status)
    return status;
  if (Status status = options.texts ? addOwnTexts(*program, module, *target) : Status(); !status)
    return status;
  return program;
}

} // namespace weft::cudasim
