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
#include "codegen/PlanWriter.h"
#include "codegen/cpu/LinkImage.h"
#include "codegen/cpu/LowerKernel.h"
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/skeletons/CudaMapping.h"
#include "codegen/kernel/KernelCache.h"
#include "codegen/kernel/KernelIR.h"
#include "ir/Schedule.h"
#include "runtime/plan/Image.h"
#include "runtime/plan/KernelSignature.h"
#include "runtime/plan/plan_generated.h"
#include "test/random/Generator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
namespace weft::cudasim {

namespace {

using codegen::EmittedKernel;

std::span<const std::byte> bytesOf(const std::vector<char> &chars) { return std::as_bytes(std::span(chars)); }

/// The kernels of the host, and a function that nobody calls under the names of the others.
Expected<std::vector<std::byte>> makeImage(ArrayRef<EmittedKernel> kernels,
                                           std::span<const std::byte> signatures) {
  constexpr char nothing[] = {'\xC3'}; // ret
  std::vector<ModuleOp> modules;
  std::vector<codegen::LinkInput> inputs;
  const bool isV4 = runtime::cpu_level() == runtime::CpuLevel::v4;
  const codegen::CpuCompiler compiler({isV4 ? codegen::CpuTarget::v4 : codegen::CpuTarget::v3});
  for (const EmittedKernel &kernel : kernels)
    if (kernel.isOnHost()) {
      auto object = codegen::KernelCache::global().get(*kernel.module, compiler);
      if (!object)
        return object.status();
      inputs.push_back({kernel.symbol, *object});
    }
  runtime::ImageLayout layout;
  layout.level = isV4 ? runtime::CpuLevel::v4 : runtime::CpuLevel::v3;
  codegen::LinkedImage linked;
  if (inputs.empty()) {
    linked.text.assign(nothing, nothing + 1);
    linked.rodataOffset = linked.dataOffset = codegen::LinkedImage::pageSize;
  } else {
    auto made = codegen::linkImage(inputs);
    if (!made)
      return made.status();
    linked = std::move(*made);
  }
  for (const auto &[name, address] : linked.symbols)
    layout.symbols.push_back({name, address - linked.textOffset});
  const uint64_t any = layout.symbols.empty() ? 0 : layout.symbols.front().address;
  for (const EmittedKernel &kernel : kernels)
    if (!kernel.isOnHost())
      layout.symbols.push_back({kernel.symbol, any});
  layout.text = bytesOf(linked.text);
  layout.rodata_address = linked.rodataOffset - linked.textOffset;
  layout.rodata = bytesOf(linked.rodata);
  layout.data_address = linked.dataOffset - linked.textOffset;
  layout.data = bytesOf(linked.data);
  layout.signatures = signatures;
  return runtime::build_image(layout);
}

/// How many tasks a block has.
int64_t blockTasks(ir::FusionOp fusion) {
  return ir::isFallback(fusion.getSchedule()->toSchedule()) ? ir::fallbackThreads : 1;
}

Expected<DeviceKernel> readFusion(const EmittedKernel &emitted, const std::vector<char> &object) {
  Expected<DeviceKernel> kernel = readKernel(emitted.symbol, object);
  if (!kernel)
    return kernel.status();
  ModuleOp module = *emitted.module;
  auto function = module.lookupSymbol<func::FuncOp>(*codegen::kernelSymbol(module));
  llvm::append_range(kernel->slots, function->getAttrOfType<DenseI64ArrayAttr>("weft.buffers").asArrayRef());
  constexpr unsigned ownArguments = 4; // of a kernel of a CPU
  kernel->sizeCount = function.getNumArguments() - static_cast<unsigned>(kernel->slots.size()) - ownArguments;
  kernel->blockTasks = blockTasks(cast<ir::FusionOp>(emitted.fusions.front()));
  return kernel;
}

/// Whether a kernel keeps to what its schedule gives each thread: no register spills, and so many blocks are
/// resident as the schedule says.
Status checkRegisters(const DeviceKernel &kernel, ir::FusionOp fusion, const ir::TargetDescription &device) {
  const codegen::CudaResources &used = kernel.resources;
  if (Status status = checkSpills(kernel, device.fullName()); !status)
    return status;
  const ir::Schedule schedule = fusion.getSchedule()->toSchedule();
  const int64_t least = schedule.has(ir::ScheduleField::resident) ? schedule[ir::ScheduleField::resident] : 1;
  const int64_t blocks = ir::residentBlocks(device, kernel.threads, used.registers,
                                            int64_t(used.sharedBytes) + kernel.dynamicShared);
  return blocks >= least
             ? Status()
             : Status::error("kernel '" + kernel.symbol + "' has " + std::to_string(used.registers) +
                             " registers a thread, with which " + std::to_string(blocks) +
                             " blocks are resident on a multiprocessor of " + device.fullName() +
                             ", and its schedule says " + std::to_string(least));
}

Status addKernels(CudaProgram &program, const codegen::CudaKernels &compiled, const CudaOptions &options,
                  const ir::TargetDescription &device) {
  for (auto [emitted, object] : llvm::zip_equal(compiled.kernels, compiled.objects)) {
    if (!object)
      continue;
    Expected<DeviceKernel> kernel = readFusion(emitted, *object);
    if (!kernel)
      return kernel.status();
    const auto fusion = cast<ir::FusionOp>(emitted.fusions.front());
    if (Status status = options.fallbacks ? Status() : checkRegisters(*kernel, fusion, device); !status)
      return status;
    program.fallbacks += kernel->blockTasks > 1;
    if (options.texts) {
      Expected<std::string> text = codegen::canonicalKernelText(*emitted.module);
      if (text)
        text = codegen::kernelTextToCuda(*text, kernel->symbol);
      if (!text)
        return text.status();
      kernel->text = std::move(*text);
    }
    program.kernels.emplace(kernel->symbol, std::move(*kernel));
  }
  return {};
}

/// The plans, under the name of a target of the host, so that the runtime takes them.
Status writePackage(CudaProgram &program, ModuleOp module, ArrayRef<EmittedKernel> kernels) {
  DenseMap<Operation *, std::string> symbols;
  for (const EmittedKernel &kernel : kernels)
    for (Operation *fusion : kernel.fusions)
      symbols[fusion] = kernel.symbol;
  runtime::PackageWriter writer;
  runtime::KernelSigner signer;
  for (auto function : module.getOps<ir::FuncOp>()) {
    auto bytes = codegen::writePlan(function, "cpu", symbols, signer);
    if (!bytes)
      return bytes.status();
    const std::string suffix = "." + function.getName().str() + ".cpu";
    const uint64_t seal = runtime::plan_seal(bytes->plan, 0);
    writer.add("plan" + suffix, bytes->plan);
    writer.add("seal" + suffix, std::as_bytes(std::span(&seal, 1)));
    if (!bytes->constants.empty())
      writer.add("constants" + suffix, bytes->constants);
    if (function.getName() == randomtest::kEntry)
      program.plan = std::move(bytes->plan);
  }
  const std::vector<std::byte> signatures = signer.bytes();
  auto image = makeImage(kernels, signatures);
  if (!image)
    return image.status();
  writer.add(std::string("image.cpu.") +
                 (runtime::cpu_level() == runtime::CpuLevel::v4 ? "x86-64-v4" : "x86-64-v3"),
             *image);
  auto bytes = writer.finish();
  if (!bytes)
    return bytes.status();
  auto package = runtime::Package::from_memory(std::move(*bytes));
  if (!package)
    return package.status();
  program.package = *package;
  return {};
}

} // namespace

Expected<std::unique_ptr<CudaProgram>> compileForCuda(ModuleOp module, const CudaOptions &options) {
  std::string problem;
  const std::optional<ir::Target> target = ir::Target::parse(options.target, problem);
  if (!target || !target->getCuda())
    return Status::error(target ? "'" + options.target + "' is no target with a GPU" : problem);
  ir::CompilerOptions pipeline;
  pipeline.target = options.target;
  pipeline.devices = "cuda:0";
  pipeline.memoryLimit = options.memoryLimit;
  pipeline.library = &codegen::hostLibrary(target->getHost());
  if (Status status = codegen::runPipeline(module, pipeline); !status)
    return status;
  if (options.fallbacks)
    module.walk([&](ir::FusionOp fusion) {
      if (!ir::deviceOf(fusion.getResultTypes().front()).isCpu())
        fusion.setScheduleAttr(ir::chooseFallbackSchedule(fusion, *target->getCuda()));
    });
  // A product that is too large for the engine is computed by the host, with the library that it has.
  module.walk([](ir::DotGeneralOp dot) { dot.removeLibraryAttr(); });
  const auto before = codegen::KernelCache::global().counters().compiled;
  auto kernels = codegen::compileCudaKernels(module, *target, options.threads);
  if (!kernels)
    return kernels.status();
  auto program = std::make_unique<CudaProgram>();
  program->compiled = static_cast<unsigned>(codegen::KernelCache::global().counters().compiled - before);
  program->exact = exactResults(module.lookupSymbol<ir::FuncOp>(randomtest::kEntry));
  if (Status status = addKernels(*program, *kernels, options, *target->getCuda()); !status)
    return status;
  if (Status status = writePackage(*program, module, kernels->kernels); !status)
    return status;
  auto library =
      compileLibraryKernels(module, randomtest::kEntry, *fb::GetPlan(program->plan.data()), *target);
  if (!library)
    return library.status();
  program->kernels.merge(library->kernels);
  program->library = std::move(library->launches);
  program->compiled += library->compiled;
  return program;
}

} // namespace weft::cudasim
