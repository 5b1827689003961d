//===- Pipeline.cpp - The passes in order ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Pipeline.h"
#include "passes/Passes.h"

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace weft::passes {

/// Folds, removes equal and dead ops. Between stages, because each leaves such ops behind.
static void addCleanup(OpPassManager &passes) {
  OpPassManager &function = passes.nest<ir::FuncOp>();
  function.addPass(createCanonicalize());
  function.addPass(createCSEPass());
}

void buildPipeline(OpPassManager &passes, const PipelineOptions &options) {
  bool report = options.report || !options.strict.empty();
  // Inlining. A compiled function called under a trace contributes its ops; what is private and no longer
  // called goes.
  // Nothing else changes yet: the inliner's own canonicalisation is left out.
  passes.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  passes.addPass(createSymbolDCEPass());

  // Placement: the rule is checked on the whole program before logical devices become those of the target.
  // Storage and mixtures of devices become facts of results and copies; what follows knows only values.
  passes.addPass(createVerifyPlacement());
  passes.nest<ir::FuncOp>().addPass(createSettleStorage());
  passes.nest<ir::FuncOp>().addPass(createPlaceHostOperands());
  passes.addPass(createMapDevices(MapDevicesOptions{options.target}));

  // State of random generators becomes arguments and tied results.
  passes.nest<ir::FuncOp>().addPass(createMaterializeRngState());

  // Differentiation, on the program as it was written: composites are whole and have rules of their own.
  passes.nest<ir::FuncOp>().addPass(createDifferentiate());
  addCleanup(passes);

  // Algebra that keeps every bit, and the shapes that later stages want.
  passes.nest<ir::FuncOp>().addPass(createSimplify());
  passes.nest<ir::FuncOp>().addPass(createCleanTransfers());
  addCleanup(passes);
  if (options.stopBeforeDecomposition)
    return;

  // Decomposition as late as fusion. Splitting reductions and canonicalising contractions fix the order in
  // which operands are read, from shapes alone, before anything is fused; between them the parts of
  // composites are simplified, and reshapes of split reductions move up to where they are views.
  passes.nest<ir::FuncOp>().addPass(createDecomposeComposites());
  passes.nest<ir::FuncOp>().addPass(createSplitReductions());
  passes.nest<ir::FuncOp>().addPass(createSimplify());
  passes.nest<ir::FuncOp>().addPass(createCanonicalizeContractions());
  addCleanup(passes);

  // Fusion. Contractions take their epilogues first, so that what is left over is fused with its neighbours.
  passes.nest<ir::FuncOp>().addPass(createAttachEpilogues(AttachEpiloguesOptions{report}));
  passes.nest<ir::FuncOp>().addPass(createFuseOptimizerSteps());
  passes.nest<ir::FuncOp>().addPass(createFuse(FuseOptions{options.target, report}));

  // The launch list: in which order and on which queue, where each value lives, what orders the queues, the
  // proof of all that, and how each fusion becomes a kernel. Schedules come after the plan because it adds
  // copies, which need one too.
  passes.nest<ir::FuncOp>().addPass(createAssignQueues());
  passes.nest<ir::FuncOp>().addPass(createPlanMemory());
  passes.nest<ir::FuncOp>().addPass(createScheduleLaunches());
  passes.nest<ir::FuncOp>().addPass(createVerifyMemoryPlan());
  passes.nest<ir::FuncOp>().addPass(createAttachSchedules(AttachSchedulesOptions{options.target}));
  passes.nest<ir::FuncOp>().addPass(createPartitionCapture(PartitionCaptureOptions{3, report}));
  if (!options.strict.empty())
    passes.nest<ir::FuncOp>().addPass(createEnforceStrict(EnforceStrictOptions{options.strict}));
}

namespace {
struct PipelineCliOptions : PassPipelineOptions<PipelineCliOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("what the program is compiled for"),
                             llvm::cl::init(PipelineOptions().target)};
  Option<bool> report{*this, "report", llvm::cl::desc("record every decision in the text"),
                      llvm::cl::init(false)};
  Option<std::string> strict{*this, "strict",
                             llvm::cl::desc("families of refusals that are errors: fusion,donate,capture"),
                             llvm::cl::init("")};
  Option<bool> stopBeforeDecomposition{*this, "stop-before-decomposition",
                                       llvm::cl::desc("stop while composites are whole"),
                                       llvm::cl::init(false)};
};
} // namespace

void registerPipeline() {
  PassPipelineRegistration<PipelineCliOptions>(
      "weft-pipeline", "every pass from a traced module to its launch list",
      [](OpPassManager &passes, const PipelineCliOptions &options) {
        buildPipeline(passes,
                      {options.target, options.report, options.stopBeforeDecomposition, options.strict});
      });
}

} // namespace weft::passes
