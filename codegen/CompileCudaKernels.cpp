//===- CompileCudaKernels.cpp - The kernels that a GPU runs ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/CompileCudaKernels.h"

#include "ir/CudaSchedule.h"
#include "ir/Decisions.h"
#include "ir/Diagnostics.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace weft::codegen {

namespace {

/// A fusion whose first kernel spilled.
struct Spill {
  CudaResources first;
  ir::ScheduleAttr firstSchedule;
  unsigned tried = 0; ///< schedules after the first
  bool ended = false; ///< every schedule of the list spills
};

class SpillLoop {
public:
  SpillLoop(ModuleOp module, const ir::Target &target, const KernelCompiler &compiler, KernelCache &cache,
            unsigned threads)
      : module(module), target(target), device(*target.getCuda()), compiler(compiler), cache(cache),
        threads(threads) {}
  Expected<CudaKernels> run();

private:
  Expected<CudaKernels> compile();
  Status chooseNext(ir::FusionOp fusion, const CudaResources &used, bool &changed);
  std::string explain(ir::FusionOp fusion, const Spill &spill) const;
  void record(CudaKernels &made);

  ModuleOp module;
  const ir::Target &target;
  const ir::TargetDescription &device;
  const KernelCompiler &compiler;
  KernelCache &cache;
  unsigned threads;
  llvm::MapVector<Operation *, Spill> spills;
};

/// The kernels of the schedules that the fusions have now.
Expected<CudaKernels> SpillLoop::compile() {
  auto emitted = emitKernels(module, target);
  if (!emitted)
    return emitted.status();
  CudaKernels made;
  made.kernels = std::move(*emitted);
  made.objects.resize(made.kernels.size());
  std::vector<ModuleOp> modules;
  std::vector<KernelObject *> objects;
  for (auto [kernel, object] : llvm::zip_equal(made.kernels, made.objects))
    if (!kernel.isOnHost()) {
      modules.push_back(*kernel.module);
      objects.push_back(&object);
    }
  auto compiled = cache.compileKernels(modules, compiler, threads);
  if (!compiled)
    return compiled.status();
  for (auto [object, from] : llvm::zip_equal(objects, *compiled))
    *object = std::move(from);
  return made;
}

/// Gives a fusion whose kernel spilled its next schedule.
Status SpillLoop::chooseNext(ir::FusionOp fusion, const CudaResources &used, bool &changed) {
  ir::DiagnosticCollector said(fusion.getContext());
  SmallVector<int64_t> spilled(fusion.getSpilled().value_or(ArrayRef<int64_t>()));
  const ir::ScheduleAttr chosen = ir::chooseCudaSchedule(fusion, device, spilled);
  if (chosen != fusion.getScheduleAttr())
    return {};
  Spill &spill = spills[fusion];
  if (spill.ended)
    return {};
  if (!spill.firstSchedule) {
    spill.first = used;
    spill.firstSchedule = ir::chooseCudaSchedule(fusion, device, {});
  }
  spilled.push_back(used.registers);
  const ir::ScheduleAttr next = ir::chooseCudaSchedule(fusion, device, spilled);
  if (!next)
    return said.status("a fusion has no schedule after a spill; this is an error of Weft");
  fusion.setSpilled(spilled);
  fusion.setScheduleAttr(next);
  if (failed(verify(fusion)))
    return said.status("a schedule after a spill is wrong; this is an error of Weft");
  spill.ended = next == spill.firstSchedule;
  spill.tried += !spill.ended;
  changed = true;
  return {};
}

std::string SpillLoop::explain(ir::FusionOp fusion, const Spill &spill) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "stores " << spill.first.spillStoreBytes << " and loads " << spill.first.spillLoadBytes
     << " bytes of registers in local memory, with " << spill.first.registers << " registers a thread, on "
     << device.fullName();
  if (!spill.ended)
    os << "; used instead: " << fusion.getScheduleAttr();
  else if (spill.tried == 0)
    os << "; there is no other schedule";
  else
    os << "; every one of " << ir::amountText(spill.tried, "other schedule")
       << " spills too, so the first is used";
  return text;
}

void SpillLoop::record(CudaKernels &made) {
  for (auto function : module.getOps<ir::FuncOp>()) {
    std::vector<ir::Decision> decisions;
    for (auto fusion : function.getOps<ir::FusionOp>()) {
      auto found = spills.find(fusion);
      if (found == spills.end())
        continue;
      std::string text = explain(fusion, found->second);
      decisions.push_back({"WEFT-F012", ir::locationText(fusion.getLoc()),
                           ("weft.fusion " + ir::stringifyFusionKind(fusion.getKind())).str(), "", 0, text});
      made.spills[fusion] = std::move(text);
    }
    ir::recordDecisions(function, decisions);
  }
}

Expected<CudaKernels> SpillLoop::run() {
  // It ends: a fusion changes as often as its list is long.
  while (true) {
    Expected<CudaKernels> made = compile();
    if (!made)
      return made;
    bool changed = false;
    for (auto [kernel, object] : llvm::zip_equal(made->kernels, made->objects)) {
      if (!object)
        continue;
      auto read = CudaKernel::deserialize(*object);
      if (!read)
        return read.status();
      if (read->resources.spillStoreBytes == 0 && read->resources.spillLoadBytes == 0)
        continue;
      for (Operation *fusion : kernel.fusions)
        if (Status status = chooseNext(cast<ir::FusionOp>(fusion), read->resources, changed); !status)
          return status;
    }
    if (!changed) {
      record(*made);
      return made;
    }
  }
}

} // namespace

Expected<CudaKernels> compileCudaKernels(ModuleOp module, const ir::Target &target, unsigned threads) {
  if (!target.getCuda())
    return Status::error("'" + target.name() + "' is no target with a GPU, as cuda:sm_90 is");
  auto compiler = CudaCompiler::make(target.getCuda()->name);
  if (!compiler)
    return compiler.status();
  return compileCudaKernels(module, target, *compiler, KernelCache::global(), threads);
}

Expected<CudaKernels> compileCudaKernels(ModuleOp module, const ir::Target &target,
                                         const KernelCompiler &compiler, KernelCache &cache,
                                         unsigned threads) {
  return SpillLoop(module, target, compiler, cache, threads).run();
}

Expected<std::vector<CudaKernel>> compileCudaTexts(ArrayRef<CudaSource> texts, StringRef architecture,
                                                   unsigned threads) {
  std::vector<CudaKernel> kernels;
  if (texts.empty())
    return kernels;
  auto compiler = CudaTextCompiler::make(architecture);
  if (!compiler)
    return compiler.status();
  std::vector<KernelText> named;
  for (const CudaSource &each : texts)
    named.push_back({each.text, each.symbol});
  auto objects = KernelCache::global().compileTexts(named, *compiler, threads);
  if (!objects)
    return objects.status();
  for (auto [each, object] : llvm::zip_equal(texts, *objects)) {
    Expected<CudaKernel> kernel = CudaKernel::deserialize(*object);
    if (!kernel)
      return kernel.status();
    kernel->dynamicShared = static_cast<uint32_t>(each.sharedBytes);
    kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

} // namespace weft::codegen
