//===- Compile.cpp -------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/Compile.h"

#include "codegen/CompileCudaKernels.h"
#include "codegen/CudaImage.h"
#include "codegen/HostLibrary.h"
#include "codegen/KernelTargets.h"
#include "codegen/PlanWriter.h"
#include "codegen/cpu/LinkImage.h"
#include "codegen/cpu/LowerKernel.h"
#include "codegen/emit/EmitKernel.h"
#include "codegen/kernel/KernelCache.h"
#include "codegen/kernel/KernelIR.h"
#include "ir/CudaReductions.h"
#include "ir/Decisions.h"
#include "ir/Diagnostics.h"
#include "ir/FunctionAttributes.h"
#include "ir/Target.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/fusion/FusionCost.h"
#include "passes/launch/LaunchList.h"
#include "passes/launch/LaunchStorage.h"
#include "runtime/execution/ProductCandidates.h"
#include "runtime/package/Package.h"
#include "runtime/plan/Image.h"
#include "runtime/plan/KernelSignature.h"
#include "runtime/plan/LoopPlan.h"
#include "runtime/threads/Executor.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

#include <chrono>

using namespace mlir;
using namespace weft::ir;

namespace weft::codegen {

static_assert(passes::mostNestedBodies == runtime::mostNested);

namespace {

/// The kernels of a module: one per different content.
struct Kernels {
  std::vector<KernelText> texts; ///< canonical ones, named as the kernels are
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<FusionOp> fusions; ///< the first with each kernel
  std::vector<unsigned> launches;
  DenseMap<Operation *, std::string> symbols; ///< of each fusion
  std::vector<bool> onDevice;                 ///< the kernels that are code of a GPU; empty if there are none
  CudaImage device;                           ///< these, compiled

  bool isOnHost(size_t kernel) const { return onDevice.empty() || !onDevice[kernel]; }
  /// What code of these kernels is bound to.
  std::string allTexts() const {
    std::string all;
    for (const KernelText &kernel : texts)
      all.append(kernel.name).append("\n").append(kernel.text).append("\n");
    return all + device.ownTexts();
  }
};

/// Whether a block of the device has the shared memory that a schedule needs, which may be in text and chosen
/// for another device.
Status checkShared(FusionOp fusion, StringRef symbol, const TargetDescription &device) {
  const Schedule schedule =
      fusion.getSchedule() ? fusion.getSchedule()->toSchedule() : Schedule(fusion.getKind());
  const int64_t bytes = schedule[ScheduleField::scratch];
  if (device.isCpu() || !isShared(schedule) || bytes <= device.blockSharedBytes)
    return {};
  return Status::error("kernel '" + symbol.str() + "' needs " + std::to_string(bytes) +
                       " bytes of shared memory for a block, and one of " + device.name.str() + " has " +
                       std::to_string(device.blockSharedBytes) + "; choose its schedule for this target");
}

Expected<Kernels> collectKernels(ModuleOp module, const Target &target) {
  // Kernel IR is made of dialects that text from outside may not use, so that they are not known before.
  DialectRegistry registry;
  registerBlockKernelDialects(registry);
  module.getContext()->appendDialectRegistry(registry);
  module.getContext()->loadAllAvailableDialects();
  Kernels kernels;
  llvm::StringMap<size_t> byText;
  for (auto function : module.getOps<FuncOp>()) {
    const Alignments alignments(function);
    int64_t check = 1;
    unsigned number = 0;
    for (auto fusion : function.getOps<FusionOp>()) {
      std::string symbol =
          (function.getName() + "." + stringifyFusionKind(fusion.getKind()) + "." + Twine(number++)).str();
      const auto *device = target.find(deviceOf(fusion.getResultTypes().front()));
      const KernelTarget *skeletons = device ? findKernels(*device) : nullptr;
      if (!skeletons)
        return Status::error("the target '" + target.name() + "' has no kernels for '" +
                             deviceOf(fusion.getResultTypes().front()).str() + "'; this is an error of Weft");
      const std::string where = "at " + ir::locationText(fusion.getLoc()) + ": ";
      if (Status status = checkShared(fusion, symbol, *device); !status)
        return status.context(where);
      auto kernel = emitKernel(fusion, symbol, *skeletons, check, alignments);
      if (!kernel)
        return kernel.status().context(where);
      if (!device->isCpu() && passes::writesArgument(fusion))
        (**kernel).lookupSymbol(symbol)->setAttr(predicatedAttribute, UnitAttr::get(module.getContext()));
      check += static_cast<int64_t>(checksOf(fusion).size());
      auto text = canonicalKernelText(**kernel);
      if (!text)
        return text.status();
      auto [it, inserted] = byText.try_emplace(*text, kernels.modules.size());
      if (inserted) {
        kernels.texts.push_back({*std::move(text), symbol});
        kernels.modules.push_back(std::move(*kernel));
        kernels.fusions.push_back(fusion);
        kernels.launches.push_back(0);
      }
      ++kernels.launches[it->second];
      kernels.symbols[fusion] = kernels.texts[it->second].name;
    }
  }
  return kernels;
}

/// The kernels of a module for a target with a GPU, compiled for that.
Expected<Kernels> collectCudaKernels(ModuleOp module, const Target &target, unsigned threads) {
  auto compiled = compileCudaKernels(module, target, threads);
  if (!compiled)
    return compiled.status();
  Kernels kernels;
  if (Status status = kernels.device.add(module, target, *compiled, threads); !status)
    return status;
  for (auto [emitted, object] : llvm::zip_equal(compiled->kernels, compiled->objects)) {
    for (Operation *fusion : emitted.fusions)
      kernels.symbols[fusion] = emitted.symbol;
    kernels.fusions.push_back(cast<FusionOp>(emitted.fusions.front()));
    kernels.launches.push_back(emitted.launches);
    kernels.onDevice.push_back(object != nullptr);
    kernels.texts.push_back({std::move(emitted.text), emitted.symbol});
    kernels.modules.push_back(std::move(emitted.module));
  }
  return kernels;
}

/// The processor levels to compile kernels for: that in the target's name if it has one, otherwise those of
/// the options, or that of this process.
Expected<std::vector<CpuTarget>> levelsOf(const Target &target, const CompilerOptions &options) {
  if (const std::optional<CpuTarget> own = CpuTarget::parse(target.getHost().name))
    return std::vector{*own};
  std::vector<CpuTarget> levels;
  for (const std::string &name : options.levels) {
    const std::optional<CpuTarget> level = CpuTarget::parse(name);
    if (!level)
      return Status::error("kernels are made for x86-64-v3 and x86-64-v4, found '" + name + "'");
    levels.push_back(*level);
  }
  if (levels.empty())
    levels.push_back({runtime::cpu_level() == runtime::CpuLevel::v4 ? CpuTarget::v4 : CpuTarget::v3});
  return levels;
}

std::span<const std::byte> bytesOf(const std::vector<char> &chars) { return std::as_bytes(std::span(chars)); }

/// Compiles all kernels for one level and returns the image section.
Expected<std::vector<std::byte>> makeImage(const Kernels &kernels, std::span<const std::byte> signatures,
                                           uint64_t binding, CpuTarget target, unsigned threads) {
  std::vector<KernelText> texts;
  std::vector<LinkInput> inputs;
  for (auto [i, kernel] : llvm::enumerate(kernels.texts))
    if (kernels.isOnHost(i)) {
      texts.push_back(kernel);
      inputs.push_back({kernel.name, {}});
    }
  auto objects = KernelCache::global().compile(texts, CpuCompiler(target), threads);
  if (!objects)
    return objects.status();
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i].object = (*objects)[i];
  auto linked = linkImage(inputs);
  if (!linked)
    return linked.status();
  runtime::ImageLayout layout;
  layout.level = target.level == CpuTarget::v4 ? runtime::CpuLevel::v4 : runtime::CpuLevel::v3;
  layout.text = bytesOf(linked->text);
  layout.rodata_address = linked->rodataOffset - linked->textOffset;
  layout.rodata = bytesOf(linked->rodata);
  layout.data_address = linked->dataOffset - linked->textOffset;
  layout.data = bytesOf(linked->data);
  for (const auto &[name, address] : linked->symbols)
    layout.symbols.push_back({name, address - linked->textOffset});
  layout.signatures = signatures;
  layout.binding = binding;
  return runtime::build_image(layout);
}

} // namespace

static Status writeText(const std::string &path, ModuleOp module) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    module.print(file);
    file << '\n';
    file.close();
    error = file.error();
    file.clear_error();
  }
  return error ? Status::error("cannot write '" + path + "': " + error.message()) : Status();
}

/// Sets the numerics of every function. An error if phases before `from` have already applied other numerics
/// to the text: later phases can neither undo those rewrites nor make up for missing ones.
static Status setNumerics(ModuleOp module, const CompilerOptions &request) {
  if (request.numerics.empty())
    return {};
  if (request.numerics != "eager" && request.numerics != "fast")
    return Status::error("numerics are eager or fast, found '" + request.numerics + "'");
  // The first phase that looks at the mode.
  constexpr llvm::StringLiteral first = "simplification";
  bool seen = false;
  for (const passes::Phase &phase : passes::phases()) {
    if (phase.name == request.from)
      break;
    seen |= phase.name == first;
  }
  for (auto function : module.getOps<FuncOp>()) {
    const std::string applied = hasFastNumerics(function) ? "fast" : "eager";
    if (!request.from.empty() && seen && applied != request.numerics)
      return Status::error("@" + function.getName().str() + " has " + applied +
                           " numerics, which phases before '" + request.from + "' have applied, so that " +
                           request.numerics +
                           " cannot be chosen any more: leave --numerics out, or begin with the text that "
                           "phase '" +
                           first.str() + "' begins with, or an earlier one");
    function->setAttr(attr::numerics, StringAttr::get(module.getContext(), request.numerics));
  }
  return {};
}

Status runPipeline(ModuleOp module, const CompilerOptions &request, const AfterPhase &afterPhase) {
  CompilerOptions options = request;
  options.report = true;
  if (std::string problem = passes::checkPipelineOptions(options); !problem.empty())
    return Status::error(problem);
  if (Status status = setNumerics(module, request); !status)
    return status;
  DiagnosticCollector said(module.getContext());
  // Where someone looks at the phases, the pass is named that breaks a rule. To verify after each pass would
  // be an eighth of the time of a small program.
  const bool isWatched = !request.dumpFolder.empty() || afterPhase;
  if (!request.dumpFolder.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(request.dumpFolder))
      return Status::error("cannot make the folder '" + request.dumpFolder + "': " + error.message());
  for (const passes::Phase &phase : passes::phases(options)) {
    PassManager passes(module.getContext(), module->getName().getStringRef());
    passes::buildPhase(passes, phase.name, options);
    passes.enableVerifier(isWatched);
    if (failed(passes.run(module)) || (!isWatched && failed(verify(module))))
      return said.status("a pass failed without a message; this is an error of Weft");
    if (afterPhase)
      afterPhase(phase.name, module);
    if (request.dumpFolder.empty())
      continue;
    const size_t number = &phase - passes::phases().begin() + 1;
    const std::string path =
        (request.dumpFolder + "/" + (number < 10 ? "0" : "") + Twine(number) + "-" + phase.name + ".mlir")
            .str();
    if (Status status = writeText(path, module); !status)
      return status;
  }
  return {};
}

static Expected<Target> targetNamed(const std::string &name) {
  std::string problem;
  std::optional<Target> target = Target::parse(name, problem);
  return target ? Expected<Target>(*std::move(target)) : Status::error(problem);
}

/// What the functions of a module became, and the kernels that they launch.
static CompileReport reportModule(ModuleOp module, const Kernels &kernels, const Target &target) {
  CompileReport report = reportPlan(module);
  auto reported = report.functions.begin();
  for (auto function : module.getOps<FuncOp>()) {
    if (function.isExternal())
      continue;
    auto launch = reported->launches.begin();
    for (Operation &op : function.getBody().front())
      if (passes::isLaunch(&op)) {
        if (auto it = kernels.symbols.find(&op); it != kernels.symbols.end())
          launch->kernel = it->second;
        if (auto fusion = dyn_cast<FusionOp>(op); fusion && fusion.getSchedule())
          if (const auto *device = target.find(deviceOf(fusion.getResultTypes().front()))) {
            const passes::KernelWork work = passes::workOf(fusion);
            launch->pieces = work.tasks;
            launch->estimatedPs = passes::kernelTime(*device, work);
          }
        ++launch;
      }
    ++reported;
  }
  for (auto [kernel, launches] : llvm::zip_equal(kernels.texts, kernels.launches))
    report.kernels.push_back({kernel.name, kernel.text, launches});
  return report;
}

Expected<CompileReport> explainModule(ModuleOp module, const CompilerOptions &asked) {
  CompilerOptions request = asked;
  auto target = targetNamed(request.target);
  if (!target)
    return target.status();
  if (!request.library)
    request.library = &hostLibrary(target->getHost());
  if (Status status = runPipeline(module, request); !status)
    return status;
  Kernels none;
  Expected<Kernels> kernels =
      target->hasHostCode() ? collectKernels(module, *target) : Expected<Kernels>(std::move(none));
  if (!kernels)
    return kernels.status();
  CompileReport report = reportModule(module, *kernels, *target);
  report.target = target->name();
  return report;
}

bool EmittedKernel::isOnHost() const { return deviceOf(fusions.front()->getResult(0).getType()).isCpu(); }

Expected<std::vector<EmittedKernel>> emitKernels(ModuleOp module, const Target &target) {
  auto kernels = collectKernels(module, target);
  if (!kernels)
    return kernels.status();
  std::vector<EmittedKernel> emitted;
  for (size_t i = 0; i < kernels->modules.size(); ++i) {
    EmittedKernel &made = emitted.emplace_back();
    made.symbol = kernels->texts[i].name;
    made.text = std::move(kernels->texts[i].text);
    made.module = std::move(kernels->modules[i]);
    made.launches = kernels->launches[i];
  }
  llvm::StringMap<EmittedKernel *> bySymbol;
  for (EmittedKernel &kernel : emitted)
    bySymbol[kernel.symbol] = &kernel;
  for (auto function : module.getOps<FuncOp>())
    for (auto fusion : function.getOps<FusionOp>()) {
      EmittedKernel &made = *bySymbol.lookup(kernels->symbols.lookup(fusion));
      made.fusions.push_back(fusion);
      for (Operation &op : fusion.getBody().front().without_terminator())
        if (std::string line = ir::locationText(op.getLoc());
            !line.empty() && !llvm::is_contained(made.lines, line))
          made.lines.push_back(std::move(line));
    }
  return emitted;
}

namespace {

/// Collects the sections of a package, one target after the other.
class PackageBuilder {
public:
  explicit PackageBuilder(const CompilerOptions &options) : options(options) {}
  /// Runs the pipeline on `module`, which it changes, and adds plans and kernels for the target.
  Status add(ModuleOp module, const Target &target, const AfterPhase &afterPhase);
  /// The same for a module after the pipeline.
  Status addPlanned(ModuleOp module, const Target &target);
  Expected<CompiledModule> finish();

private:
  Status addSections(ModuleOp module, const Kernels &kernels, const Target &target,
                     ArrayRef<CpuTarget> levels);
  unsigned threads() const {
    return options.threads ? options.threads : static_cast<unsigned>(runtime::default_width());
  }

  const CompilerOptions &options;
  /// About the first target; its times and numbers of kernels are those of all targets.
  CompileReport report;
  runtime::PackageWriter writer;
  bool isFirst = true;
};

/// Writes the plans before the images, because an image has the signatures of its kernels' launches.
Status PackageBuilder::addSections(ModuleOp module, const Kernels &kernels, const Target &target,
                                   ArrayRef<CpuTarget> levels) {
  const std::string name = target.codeName(), image = "image." + name;
  runtime::KernelSigner signer;
  struct NamedPlan {
    std::string kind, suffix;
    PlanBytes bytes;
  };
  std::vector<NamedPlan> plans;
  for (auto function : module.getOps<FuncOp>()) {
    auto bytes = writePlan(function, name, kernels.symbols, signer, kernels.device.own());
    if (!bytes)
      return bytes.status();
    // The body of a loop is no function that callers see.
    plans.push_back({function.isPrivate() ? "body" : "plan", "." + function.getName().str() + "." + name,
                     std::move(*bytes)});
  }
  const std::vector<std::byte> signatures = signer.bytes();
  // Checksum the signatures and the kernel IR, so that the binding does not depend on the processor level.
  uint64_t binding = 0;
  if (const std::string texts = kernels.allTexts(); !texts.empty()) {
    const uint64_t parts[] = {runtime::checksum64(signatures),
                              runtime::checksum64(std::as_bytes(std::span(texts)))};
    binding = runtime::checksum64(std::as_bytes(std::span(parts)));
  }
  bool anyOnHost = !target.getCuda();
  for (size_t i = 0; i < kernels.modules.size(); ++i)
    anyOnHost |= kernels.isOnHost(i);
  for (CpuTarget level : anyOnHost ? levels : ArrayRef<CpuTarget>()) {
    auto made = makeImage(kernels, signatures, binding, level, threads());
    if (!made)
      return made.status();
    writer.add(image + "." + level.cpu(), *made);
  }
  if (target.getCuda())
    writer.add(image + ".device", kernels.device.bytes(target, signatures, binding));
  for (const auto &[kind, suffix, bytes] : plans) {
    // A package for others has what the library of a GPU here proposes. A program of this process asks it.
    const bool isShipped = target.getCuda() && !options.targets.empty();
    const std::vector<std::byte> plan = isShipped ? runtime::with_candidates(bytes.plan, name) : bytes.plan;
    const uint64_t seal = runtime::plan_seal(plan, bytes.launchesKernels ? binding : 0);
    writer.add(kind + suffix, plan);
    writer.add("seal" + suffix, std::as_bytes(std::span(&seal, 1)));
    if (!bytes.constants.empty())
      writer.add("constants" + suffix, bytes.constants);
  }
  return {};
}

Status PackageBuilder::add(ModuleOp module, const Target &target, const AfterPhase &afterPhase) {
  CompilerOptions own = options;
  own.target = target.name();
  if (!own.dumpFolder.empty() && options.targets.size() > 1)
    own.dumpFolder += "/" + own.target;
  if (!own.library)
    own.library = &hostLibrary(target.getHost());
  const auto start = std::chrono::steady_clock::now();
  if (Status status = runPipeline(module, own, afterPhase); !status)
    return status;
  report.passMs += millisecondsSince(start);
  return addPlanned(module, target);
}

Status PackageBuilder::addPlanned(ModuleOp module, const Target &target) {
  auto levels = levelsOf(target, options);
  if (!levels)
    return levels.status();
  const auto start = std::chrono::steady_clock::now();
  const auto before = KernelCache::global().counters();
  auto kernels =
      target.getCuda() ? collectCudaKernels(module, target, threads()) : collectKernels(module, target);
  if (!kernels)
    return kernels.status();
  if (isFirst) {
    const double passMs = report.passMs;
    report = reportModule(module, *kernels, target);
    report.target = target.name();
    report.passMs = passMs;
  }
  isFirst = false;
  if (Status status = addSections(module, *kernels, target, *levels); !status)
    return status;
  const auto after = KernelCache::global().counters();
  report.kernelsCompiled += after.compiled - before.compiled;
  report.kernelsFromCache += after.memoryHits + after.diskHits - before.memoryHits - before.diskHits;
  report.kernelMs += millisecondsSince(start);
  return {};
}

Expected<CompiledModule> PackageBuilder::finish() {
  auto package = writer.finish();
  if (!package)
    return package.status();
  return CompiledModule{std::move(*package), std::move(report)};
}

/// The targets of a package, each once.
Expected<std::vector<Target>> targetsOf(const CompilerOptions &options) {
  std::vector<std::string> names = options.targets;
  if (names.empty())
    names.push_back(options.target);
  std::vector<Target> targets;
  for (const std::string &name : names) {
    auto target = targetNamed(name);
    if (!target)
      return target.status();
    auto known =
        llvm::find_if(targets, [&](const Target &other) { return other.codeName() == target->codeName(); });
    if (known == targets.end())
      targets.push_back(*std::move(target));
    else if (known->name() != target->name())
      return Status::error("the targets '" + known->name() + "' and '" + target->name() +
                           "' have plans of one name, '" + target->codeName() + "': make a package for each");
  }
  return targets;
}

} // namespace

Expected<CompiledModule> compileModule(ModuleOp module, const CompilerOptions &options,
                                       const AfterPhase &afterPhase) {
  if (!options.to.empty() && options.to != passes::phases().back().name)
    return Status::error("a package needs all phases, and --to stops after '" + options.to + "'");
  auto targets = targetsOf(options);
  if (!targets)
    return targets.status();
  // The passes change the module that they run on, so every target needs a module of its own.
  std::vector<OwningOpRef<ModuleOp>> copies(targets->size());
  for (size_t i = 1; i < copies.size(); ++i)
    copies[i] = module.clone();
  PackageBuilder builder(options);
  for (auto [i, target] : llvm::enumerate(*targets)) {
    Status status =
        i == 0 ? builder.add(module, target, afterPhase) : builder.add(*copies[i], target, nullptr);
    if (!status)
      return targets->size() > 1 ? status.context("for the target '" + target.name() + "': ") : status;
    copies[i] = {};
  }
  return builder.finish();
}

Expected<CompiledModule> compilePlanned(ModuleOp module, const CompilerOptions &options) {
  auto target = targetNamed(options.target);
  if (!target)
    return target.status();
  PackageBuilder builder(options);
  if (Status status = builder.addPlanned(module, *target); !status)
    return status;
  return builder.finish();
}

std::string hostTarget(const CompilerOptions &options) {
  const int64_t threads = runtime::default_width();
  const TargetDescription &plain = cpuDescription();
  if (options.numerics.empty() || options.numerics == "eager")
    for (int64_t cores : {64, 16})
      if (threads >= cores)
        return findDescription(plain.name.str() + ":" + std::to_string(cores))->fullName();
  return plain.fullName();
}

} // namespace weft::codegen
