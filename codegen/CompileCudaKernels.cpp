//===- CompileCudaKernels.cpp - The kernels that a GPU runs ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/CompileCudaKernels.h"

#include "codegen/cuda/attention/EmitAttention.h"
#include "codegen/cuda/contractions/EmitContractions.h"
#include "codegen/cuda/contractions/EmitConvolutions.h"
#include "codegen/cuda/sorts/EmitSorts.h"
#include "ir/CudaSchedule.h"
#include "ir/Decisions.h"
#include "ir/Diagnostics.h"
#include "ir/SpilledKernels.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace weft::codegen {

namespace {

/// A fusion, or a product, attention or a convolution, whose first kernel spilled.
struct Spill {
  CudaResources first;
  ir::ScheduleAttr firstSchedule; ///< of a fusion
  unsigned tried = 0;             ///< schedules after the first
  bool ended = false;             ///< every schedule of the list spills
  std::string used;               ///< the schedule now, in words
};

/// An op, and which of its kernels.
using Place = std::pair<Operation *, unsigned>;

class SpillLoop {
public:
  SpillLoop(ModuleOp module, const ir::Target &target, const KernelCompiler &compiler,
            const KernelCompiler &ofTexts, KernelCache &cache, unsigned threads)
      : module(module), target(target), device(*target.getCuda()), compiler(compiler), ofTexts(ofTexts),
        cache(cache), threads(threads) {}
  Expected<CudaKernels> run();

private:
  Expected<std::vector<KernelText>> firstTexts();
  Expected<CudaKernels> compile(ArrayRef<KernelText> texts);
  Status settleFusions(CudaKernels &made);
  template <typename Emit> Status settleTexts(Emit emit, CudaKernels &made);
  Status chooseNext(ir::FusionOp fusion, const CudaResources &used, bool &changed);
  template <typename Emitted>
  Status chooseNextText(Place place, const Emitted &emitted, const CudaResources &used, bool &changed);
  std::string explain(const Spill &spill) const;
  void record(CudaKernels &made);

  ModuleOp module;
  const ir::Target &target;
  const ir::TargetDescription &device;
  const KernelCompiler &compiler, &ofTexts;
  KernelCache &cache;
  unsigned threads;
  llvm::MapVector<Place, Spill> spills;
};

/// Whether ptxas kept registers in memory.
bool hasSpilled(const CudaResources &used) { return used.spillStoreBytes || used.spillLoadBytes; }

Place placeOf(const ContractionUse &use) { return {use.op, use.product}; }
Place placeOf(ir::AttentionOp op) { return {op, 0}; }
Place placeOf(ir::ImplicitGemmOp op) { return {op, 0}; }

Expected<ContractionSchedule> chooseText(const EmittedContraction &emitted,
                                         const ir::TargetDescription &device, size_t spilled) {
  return chooseContractionSchedule(emitted.contraction, device, spilled);
}
Expected<ContractionSchedule> chooseText(const EmittedConvolution &emitted,
                                         const ir::TargetDescription &device, size_t spilled) {
  return chooseContractionSchedule(emitted.contraction, device, spilled);
}
Expected<AttentionSchedule> chooseText(const EmittedAttention &emitted, const ir::TargetDescription &device,
                                       size_t spilled) {
  return chooseAttentionSchedule(emitted.attention, device, spilled);
}

/// The kernels of products, attention, convolutions and sorts, by their first schedules.
Expected<std::vector<KernelText>> SpillLoop::firstTexts() {
  std::vector<KernelText> texts;
  auto contractions = emitContractions(module, target);
  if (!contractions)
    return contractions.status();
  auto attentions = emitAttention(module, target);
  if (!attentions)
    return attentions.status();
  auto convolutions = emitConvolutions(module, target);
  if (!convolutions)
    return convolutions.status();
  auto sorts = emitSorts(module, target);
  if (!sorts)
    return sorts.status();
  for (const EmittedContraction &each : *contractions)
    texts.push_back({each.text, each.symbol});
  for (const EmittedAttention &each : *attentions)
    texts.push_back({each.text, each.symbol});
  for (const EmittedConvolution &each : *convolutions)
    texts.push_back({each.text, each.symbol});
  for (const EmittedSort &each : *sorts)
    texts.push_back({each.text, each.symbol});
  return texts;
}

/// The kernels of the schedules that the fusions have now. The texts are compiled beside them, for what reads
/// them from the cache.
Expected<CudaKernels> SpillLoop::compile(ArrayRef<KernelText> texts) {
  auto emitted = emitKernels(module, target);
  if (!emitted)
    return emitted.status();
  CudaKernels made;
  made.kernels = std::move(*emitted);
  made.objects.resize(made.kernels.size());
  std::vector<KernelText> kernels;
  std::vector<KernelObject *> objects;
  for (auto [kernel, object] : llvm::zip_equal(made.kernels, made.objects))
    if (!kernel.isOnHost()) {
      kernels.push_back({kernel.text, kernel.symbol});
      objects.push_back(&object);
    }
  auto compiled = cache.compile(kernels, compiler, texts, ofTexts, threads);
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
  Spill &spill = spills[{fusion, 0}];
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
  spill.used.clear();
  llvm::raw_string_ostream(spill.used) << next;
  changed = true;
  return {};
}

/// The same for a product, attention or a convolution, whose kernel is a text.
template <typename Emitted>
Status SpillLoop::chooseNextText(Place place, const Emitted &emitted, const CudaResources &used,
                                 bool &changed) {
  auto [op, product] = place;
  Spill &spill = spills[place];
  if (spill.ended)
    return {};
  const auto first = chooseText(emitted, device, 0);
  const auto next = chooseText(emitted, device, ir::spilledKernels(op, product).size() + 1);
  if (!first || !next)
    return (first ? next : first).status();
  if (spill.used.empty())
    spill.first = used;
  ir::addSpilledKernel(op, product, used.registers);
  spill.used = next->str();
  spill.ended = spill.used == first->str();
  spill.tried += !spill.ended;
  changed = true;
  return {};
}

std::string SpillLoop::explain(const Spill &spill) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "stores " << spill.first.spillStoreBytes << " and loads " << spill.first.spillLoadBytes
     << " bytes of registers in local memory, with " << spill.first.registers << " registers a thread, on "
     << device.fullName();
  if (!spill.ended)
    os << "; used instead: " << spill.used;
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
    for (const auto &[place, spill] : spills) {
      Operation *op = place.first;
      if (op->getParentOfType<ir::FuncOp>() != function)
        continue;
      std::string text = explain(spill), name = op->getName().getStringRef().str();
      if (auto fusion = dyn_cast<ir::FusionOp>(op)) {
        name += (" " + ir::stringifyFusionKind(fusion.getKind())).str();
        made.spills[op] = text;
      }
      decisions.push_back({"WEFT-F012", ir::locationText(op->getLoc()), name, "", 0, std::move(text)});
    }
    ir::recordDecisions(function, decisions);
  }
}

Status SpillLoop::settleFusions(CudaKernels &made) {
  auto texts = firstTexts();
  if (!texts)
    return texts.status();
  // It ends: a fusion changes as often as its list is long.
  while (true) {
    Expected<CudaKernels> compiled = compile(*texts);
    if (!compiled)
      return compiled.status();
    made = std::move(*compiled);
    bool changed = false;
    for (auto [kernel, object] : llvm::zip_equal(made.kernels, made.objects)) {
      if (!object)
        continue;
      auto read = CudaKernel::deserialize(*object);
      if (!read)
        return read.status();
      if (!hasSpilled(read->resources))
        continue;
      for (Operation *fusion : kernel.fusions)
        if (Status status = chooseNext(cast<ir::FusionOp>(fusion), read->resources, changed); !status)
          return status;
    }
    if (!changed)
      return {};
  }
}

template <typename Emit> Status SpillLoop::settleTexts(Emit emit, CudaKernels &made) {
  while (true) {
    auto emitted = emit(module, target);
    if (!emitted)
      return emitted.status();
    std::vector<KernelText> texts;
    for (const auto &each : *emitted)
      texts.push_back({each.text, each.symbol});
    auto objects = cache.compile(texts, ofTexts, threads);
    if (!objects)
      return objects.status();
    bool changed = false;
    for (const auto &[each, object] : llvm::zip_equal(*emitted, *objects)) {
      auto read = CudaKernel::deserialize(*object);
      if (!read)
        return read.status();
      if (hasSpilled(read->resources))
        for (const auto &use : each.uses)
          if (Status status = chooseNextText(placeOf(use), each, read->resources, changed); !status)
            return status;
    }
    if (changed)
      continue;
    for (const auto &each : *emitted)
      if (auto found = spills.find(placeOf(each.uses.front())); found != spills.end())
        made.textSpills[each.symbol] = explain(found->second);
    return {};
  }
}

Expected<CudaKernels> SpillLoop::run() {
  CudaKernels made;
  if (Status status = settleFusions(made); !status)
    return status;
  if (Status status = settleTexts(emitContractions, made); !status)
    return status;
  if (Status status = settleTexts(emitAttention, made); !status)
    return status;
  if (Status status = settleTexts(emitConvolutions, made); !status)
    return status;
  record(made);
  return made;
}

} // namespace

Expected<CudaKernels> compileCudaKernels(ModuleOp module, const ir::Target &target, unsigned threads) {
  if (!target.getCuda())
    return Status::error("'" + target.name() + "' is no target with a GPU, as cuda:sm_90 is");
  auto compiler = CudaCompiler::make(target.getCuda()->name);
  if (!compiler)
    return compiler.status();
  auto ofTexts = CudaTextCompiler::make(target.getCuda()->name);
  if (!ofTexts)
    return ofTexts.status();
  return compileCudaKernels(module, target, *compiler, *ofTexts, KernelCache::global(), threads);
}

Expected<CudaKernels> compileCudaKernels(ModuleOp module, const ir::Target &target,
                                         const KernelCompiler &compiler, const KernelCompiler &ofTexts,
                                         KernelCache &cache, unsigned threads) {
  return SpillLoop(module, target, compiler, ofTexts, cache, threads).run();
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
  auto objects = KernelCache::global().compile(named, *compiler, threads);
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
