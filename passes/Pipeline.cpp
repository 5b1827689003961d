//===- Pipeline.cpp - The passes in order ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Pipeline.h"
#include "ir/Target.h"
#include "passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace weft::passes {

static constexpr Phase phaseTable[] = {
    {"inline", "calls of functions of the module contribute their ops"},
    {"placement", "the device of every value; storage and host operands become facts of results and copies"},
    {"differentiation", "generator state becomes arguments; gradients become ops"},
    {"simplification", "algebra that keeps every value; fewer copies between devices"},
    {"decomposition", "composites become primitives; the order of reductions and contractions is fixed"},
    {"fusion", "ops become kernels"},
    {"memory", "the order of launches, and where each value lives"},
    {"scheduling", "events between queues, schedules of kernels, captured graphs"},
};

ArrayRef<Phase> phases() { return phaseTable; }

ArrayRef<Phase> phases(const ir::CompilerOptions &options) {
  const auto indexOf = [](StringRef name) {
    return llvm::find_if(phases(), [&](const Phase &phase) { return phase.name == name; }) - phases().begin();
  };
  const ptrdiff_t first = options.from.empty() ? 0 : indexOf(options.from);
  const ArrayRef<Phase> until =
      phases().take_front(options.to.empty() ? phases().size() : indexOf(options.to) + 1);
  return until.drop_front(std::min<size_t>(first, until.size()));
}

namespace {
/// Adds passes, except those that are disabled.
class Adder {
public:
  Adder(OpPassManager &passes, const ir::CompilerOptions &options, llvm::StringSet<> *seen)
      : passes(passes), options(options), seen(seen) {}
  void module(std::unique_ptr<Pass> pass) {
    if (isWanted(*pass))
      passes.addPass(std::move(pass));
  }
  void function(std::unique_ptr<Pass> pass) {
    if (isWanted(*pass))
      passes.nest<ir::FuncOp>().addPass(std::move(pass));
  }
  /// Folds, and removes equal and dead ops. Used between stages, because each leaves such ops behind.
  void cleanup() {
    function(createCanonicalize());
    function(createCSEPass());
  }

private:
  bool isWanted(const Pass &pass) const {
    if (seen)
      seen->insert(pass.getArgument());
    return !llvm::is_contained(options.disabled, pass.getArgument().str());
  }
  OpPassManager &passes;
  const ir::CompilerOptions &options;
  llvm::StringSet<> *seen;
};
} // namespace

/// The fewest launches of a captured graph. Launching a graph costs about as much as two launches.
static constexpr int64_t leastCaptured = 3;

/// Derivatives, and loops and conditions that are none in the plan.
static void addDifferentiation(Adder &add, const ir::CompilerOptions &options, bool report) {
  // Checks move out of branches and loops, or, in a loop that is none in the plan, to each of its trips.
  // Record the checks before anything is folded, so that no fold removes a check.
  UnrollScansOptions unrolling;
  unrolling.report = report;
  unrolling.mayFail = true;
  add.module(createUnrollScans(unrolling));
  add.module(createCarryChecks());
  add.function(createRecordChecks());
  // Differentiate the program as it was written, while composites, which have derivatives, are whole.
  add.function(createMaterializeRngState());
  add.module(createDifferentiate());
  SelectBranchesOptions selecting;
  selecting.report = report;
  add.module(createSelectBranches(selecting));
  unrolling.mayFail = false;
  add.module(createUnrollScans(unrolling));
  add.module(createSymbolDCEPass());
  add.cleanup();
}

static void buildPhase(OpPassManager &passes, StringRef phase, const ir::CompilerOptions &options,
                       llvm::StringSet<> *seen) {
  Adder add(passes, options, seen);
  bool report = options.report || !options.strict.empty();
  if (phase == "inline") {
    // Inlines compiled functions that are called under a trace, and removes private functions that are no
    // longer called. Nothing else changes yet, so the inliner's own canonicalisation is left out. Calls that
    // would not end, or would grow beyond bounds, are refused before.
    add.module(createSymbolDCEPass());
    add.module(createCheckCalls());
    add.module(createInlinerPass({}, [](OpPassManager &) {}));
    add.module(createSymbolDCEPass());
  } else if (phase == "placement") {
    // Checks placement in the whole program before logical devices become those of the target. Then layouts
    // become views, storage becomes attributes of results, and mixtures of devices become copies. Later
    // passes see only row-major values.
    add.module(createVerifyPlacement());
    add.function(createNormalizeLayouts());
    add.function(createTieResults());
    add.function(createPlaceHostOperands());
    add.module(createMapDevices(MapDevicesOptions{options.target, options.devices}));
  } else if (phase == "differentiation") {
    addDifferentiation(add, options, report);
  } else if (phase == "simplification") {
    add.function(createSimplify());
    add.function(createCleanTransfers());
    add.cleanup();
  } else if (phase == "decomposition") {
    // Just before fusion. Splitting reductions and canonicalising contractions determine, from shapes alone,
    // the order in which operands are read. Between the two, the parts of composites are simplified, and
    // reshapes of split reductions move up to where they are views.
    add.function(createLowerAttention(LowerAttentionOptions{options.target, report}));
    add.function(createLowerConvolutions(LowerConvolutionsOptions{options.target, report}, options.library));
    add.function(createDecomposeComposites(DecomposeCompositesOptions{options.target}));
    add.function(createSplitReductions());
    add.function(createUnrollWindows());
    add.function(createSimplify());
    add.function(createCancelTranspositions());
    add.function(createCanonicalizeContractions());
    add.function(createMergeSlicedContractions(MergeSlicedContractionsOptions{report}));
    add.cleanup();
    // Equal values have been merged, and nothing is folded from here on.
    add.function(createElideChecks());
  } else if (phase == "fusion") {
    // Records which implementation computes each product. Contractions then take their epilogues, before
    // fusion merges the remaining ops with their neighbours.
    add.function(createQueryLibraries(QueryLibrariesOptions{options.target, report}, options.library));
    add.function(createAttachEpilogues(AttachEpiloguesOptions{options.target, report}));
    add.function(createFuseOptimizerSteps());
    add.function(createFuse(FuseOptions{options.target, report}));
    add.function(createFuseResultCopies());
    add.function(createMergeSumsOfContractions(MergeSumsOfContractionsOptions{report}));
    add.function(createParametrizeSlices());
  } else if (phase == "memory") {
    // Find the order with the fewest graphs first. A memory limit may then change it.
    add.function(createAssignQueues());
    add.function(createGatherCapturable(GatherCapturableOptions{leastCaptured, report}));
    add.function(createOrderLaunches(OrderLaunchesOptions{options.memoryLimit, report}));
    add.function(createPlanMemory(PlanMemoryOptions{true, options.target}));
    add.function(createVerifyMemoryPlan());
  } else if (phase == "scheduling") {
    // Order the queues after the memory plan, because the reuse of bytes needs an order between queues, and
    // because the plan adds copies. The verifier then proves the order as well.
    add.function(createScheduleLaunches());
    add.function(createVerifyMemoryPlan());
    add.function(createChooseSchedules(ChooseSchedulesOptions{options.target, report}));
    add.function(createPartitionCapture(PartitionCaptureOptions{leastCaptured, report}));
    add.module(createAlignLoopBodies());
    if (!options.strict.empty())
      add.function(createEnforceStrict(EnforceStrictOptions{options.strict}));
  }
}

void buildPhase(OpPassManager &passes, StringRef phase, const ir::CompilerOptions &options) {
  buildPhase(passes, phase, options, nullptr);
}

void buildPipeline(OpPassManager &passes, const ir::CompilerOptions &options) {
  for (const Phase &phase : phases(options))
    buildPhase(passes, phase.name, options);
}

/// The first of some passes that is none of the pipeline's, with those that there are.
static std::string checkPassNames(ArrayRef<std::string> passes) {
  llvm::StringSet<> known;
  OpPassManager all(ModuleOp::getOperationName());
  for (const Phase &phase : phases())
    buildPhase(all, phase.name, ir::CompilerOptions(), &known);
  for (const std::string &pass : passes)
    if (!known.contains(pass)) {
      std::vector<std::string> names;
      for (const auto &entry : known)
        names.push_back(entry.getKey().str());
      llvm::sort(names);
      return "there is no pass '" + pass + "' to disable; those of the pipeline are " +
             llvm::join(names, ", ");
    }
  return {};
}

std::string checkPipelineOptions(const ir::CompilerOptions &options) {
  std::string names;
  for (const Phase &phase : phases())
    names += (names.empty() ? "" : ", ") + phase.name.str();
  auto isPhase = [](StringRef name) {
    return name.empty() || llvm::any_of(phases(), [&](const Phase &phase) { return phase.name == name; });
  };
  for (StringRef name : {StringRef(options.from), StringRef(options.to)})
    if (!isPhase(name))
      return "there is no phase '" + name.str() + "'; there are " + names;
  if (phases(options).empty())
    return "phase '" + options.from + "' comes after '" + options.to + "'; in order they are " + names;
  // To ask which passes there are makes them all.
  if (!options.disabled.empty())
    if (std::string problem = checkPassNames(options.disabled); !problem.empty())
      return problem;
  std::string problem;
  (void)ir::Target::parse(options.target, problem);
  return problem;
}

namespace {
/// The options of `--weft-pipeline` on the command line.
struct PipelineCliOptions : PassPipelineOptions<PipelineCliOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("what the program is compiled for"),
                             llvm::cl::init(ir::CompilerOptions().target)};
  Option<std::string> devices{*this, "devices", llvm::cl::desc("where devices of the program are mapped to"),
                              llvm::cl::init("")};
  Option<bool> report{*this, "report", llvm::cl::desc("record every decision in the text"),
                      llvm::cl::init(false)};
  Option<int64_t> memoryLimit{*this, "memory-limit",
                              llvm::cl::desc("bytes of temporaries from which launches are reordered"),
                              llvm::cl::init(ir::CompilerOptions().memoryLimit)};
  Option<std::string> from{*this, "from", llvm::cl::desc("first phase"), llvm::cl::init("")};
  Option<std::string> to{*this, "to", llvm::cl::desc("last phase"), llvm::cl::init("")};
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
        ir::CompilerOptions made;
        made.target = options.target;
        made.devices = options.devices;
        made.report = options.report;
        made.from = options.from;
        made.to = options.stopBeforeDecomposition ? "simplification" : options.to.getValue();
        made.strict = options.strict;
        made.memoryLimit = options.memoryLimit;
        buildPipeline(passes, made);
      });
}

} // namespace weft::passes
