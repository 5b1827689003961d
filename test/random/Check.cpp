//===- Check.cpp - Whether a program means the same everywhere ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Check.h"
#include "Devices.h"
#include "Generator.h"
#include "Inputs.h"
#include "Lift.h"
#include "WhileLoops.h"

#include "ir/FunctionAttributes.h"
#include "ir/Specialize.h"

#include "passes/Passes.h"
#include "passes/Pipeline.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <atomic>
#include <cmath>

using namespace mlir;
namespace weft::randomtest {

namespace {

/// Collects the diagnostics of a context during its lifetime.
class Diagnostics {
public:
  explicit Diagnostics(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            text += (text.empty() ? "" : "; ") + diagnostic.str();
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};

ir::FuncOp entryOf(ModuleOp module) { return module.lookupSymbol<ir::FuncOp>(kEntry); }

template <typename Op> bool hasOp(ModuleOp module) {
  return module.walk([](Op) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool hasGradient(ir::FuncOp function) { return hasOp<ir::GradientOp>(function->getParentOfType<ModuleOp>()); }

/// The results of a program with their bounds, or its error.
struct Expectation {
  std::string error; ///< the start of the message if an index is out of range, so that the call fails
  SmallVector<Bounded> results;
  int64_t counter = 0;                        ///< of the generator, after the call
  WrittenTrips trips = WrittenTrips::selects; ///< of the program of which these are the results
};

/// What an assertion says that stands for the check of an index which it does not name.
constexpr llvm::StringLiteral kSomeIndex = "an index";

/// "index 7" if a diagnostic reports this index as out of range, or "Target 7", as calls report a class
/// number; else empty.
std::string outOfRange(StringRef text) {
  if (text.contains((kSomeIndex + " is out of bounds").str())) // for a dimension without elements
    return kSomeIndex.str();
  if (!text.contains("is outside [0, "))
    return {};
  for (const auto &[said, name] :
       {std::pair("Target ", "Target "), std::pair(" target ", "Target "), std::pair("index ", "index ")}) {
    const StringRef rest = text.split(said).second;
    const StringRef number = rest.take_while([](char c) { return c == '-' || llvm::isDigit(c); });
    if (!number.empty())
      return (name + number).str();
  }
  return {};
}

/// Whether a program fails as expected: the check of a dimension without elements names no index.
bool failsAs(const std::string &expected, const std::string &found) {
  return found == expected || (!found.empty() && (expected == kSomeIndex || found == kSomeIndex));
}

/// Whether the pass may change the interpreter's results, which are rounded in the order of the ops. The
/// interpreter rounds a sum of products once; kernels round each of its products, as bounds of the backend
/// expect.
bool mayRound(StringRef pass) {
  return llvm::is_contained({"weft-decompose-composites", "weft-split-reductions",
                             "weft-canonicalize-contractions", "weft-attach-epilogues",
                             "weft-merge-sums-of-contractions", "weft-unroll-windows"},
                            pass);
}

/// Inlines calls, and writes out gradients, conditions and loops, because the analysis has no rules for them.
/// Both branches of a condition are then computed, so that what they check is moved behind them first.
LogicalResult flatten(ModuleOp module, WrittenTrips trips) {
  PassManager first(module.getContext());
  first.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  first.addPass(createSymbolDCEPass());
  first.addPass(passes::createCarryChecks());
  if (failed(first.run(module)))
    return failure();
  writeOutWhileLoops(module, trips);
  PassManager passes(module.getContext());
  passes.addPass(passes::createDifferentiate());
  passes.addPass(passes::createSelectBranches({.always = true}));
  passes.addPass(passes::createUnrollScans({.leastTrips = INT64_MAX}));
  passes.addPass(createSymbolDCEPass());
  return passes.run(module);
}

/// Interprets the entry function after every pass. If it has gradients, a copy in which they are written out
/// is interpreted, so that the passes before differentiation are checked too.
class CheckAfterPass : public PassInstrumentation {
public:
  CheckAfterPass(ModuleOp module, uint64_t seed, const Expectation &expected, std::optional<Failure> &failure,
                 int64_t &stages, std::string where)
      : module(module), seed(seed), expected(expected), failure(failure), stages(stages),
        where(std::move(where)) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto function = dyn_cast<ir::FuncOp>(op);
    if (failure || pass->getArgument().empty())
      return;
    if (function && function.getName() != kEntry) { // perhaps a body, with which results change
      rounded = rounded || mayRound(pass->getArgument());
      return;
    }
    function = entryOf(module);
    if (!function)
      return;
    ++stages;
    auto report = [&](std::string message) {
      failure = Failure{"after " + pass->getArgument().str() + where, std::move(message)};
    };
    Diagnostics diagnostics(module.getContext());
    if (failed(verify(module)))
      return report("does not verify: " + diagnostics.text);
    OwningOpRef<ModuleOp> written;
    if (hasGradient(function)) {
      written = module.clone();
      if (failed(flatten(*written, expected.trips)))
        return report("cannot be differentiated: " + diagnostics.text);
      function = entryOf(*written);
    }
    ir::InterpreterOptions options = makeGenerators(seed);
    auto results = ir::interpretFunction(function, makeInputs(function, seed), options);
    if (!expected.error.empty()) {
      if (succeeded(results) || !failsAs(expected.error, outOfRange(diagnostics.text)))
        report("must fail for " + expected.error +
               (succeeded(results) ? ", and does not" : ": " + diagnostics.text));
      return;
    }
    if (failed(results))
      return report("cannot be interpreted: " + diagnostics.text);
    if (results->size() < expected.results.size())
      return report("lost a result");
    for (auto [i, bounded] : llvm::enumerate(expected.results)) {
      std::string prefix = "result " + std::to_string(i) + ", ";
      if (auto mismatch = findMismatch(bounded, (*results)[i]))
        return report(prefix + *mismatch);
      if (!previous.empty() && !rounded && !mayRound(pass->getArgument()))
        if (auto difference = findDifference(previous[i], (*results)[i]))
          return report(prefix + "must keep every bit: " + *difference);
    }
    // Once the state of the generator is an argument, it is also the last result.
    int64_t counter = results->size() > expected.results.size() ? results->back().whole[0]
                                                                : options.generators[kGenerator].counter;
    if (counter != expected.counter)
      return report("the generator stands at " + std::to_string(counter) + ", expected " +
                    std::to_string(expected.counter));
    previous = std::move(*results);
    rounded = false;
  }

private:
  ModuleOp module;
  uint64_t seed;
  const Expectation &expected;
  std::optional<Failure> &failure;
  int64_t &stages;
  std::string where; ///< ", for sm_90", or empty
  SmallVector<ir::Literal> previous;
  std::atomic<bool> rounded = false; ///< a pass that may round has changed another function since
};

std::optional<Failure> checkPasses(ModuleOp module, uint64_t seed, const Expectation &expected,
                                   int64_t &stages, const CheckOptions &check,
                                   const std::string &target = "cpu") {
  const std::string where = target == "cpu" ? "" : ", for " + target;
  OwningOpRef<ModuleOp> copy(module.clone());
  std::optional<Failure> failure;
  PassManager passes(module.getContext());
  // Half of the programs are reordered for less memory.
  ir::CompilerOptions options;
  options.memoryLimit = seed % 2 ? 0 : -1;
  options.target = target;
  if (check.before)
    check.before(passes);
  passes::buildPipeline(passes, options);
  passes.addInstrumentation(std::make_unique<CheckAfterPass>(*copy, seed, expected, failure, stages, where));
  Diagnostics diagnostics(module.getContext());
  if (failed(passes.run(*copy)) && !failure)
    failure = Failure{"pipeline" + where, diagnostics.text};
  return failure;
}

/// Compares a program with a dynamic dimension with its twin, in which the size is a number, bit for bit.
std::optional<Failure> checkTwin(ModuleOp lifted, ModuleOp twin, uint64_t seed, const std::string &stage,
                                 const Backend &backend) {
  Diagnostics diagnostics(lifted.getContext());
  OwningOpRef<ModuleOp> copy(lifted.clone()), copyOfTwin(twin.clone());
  SmallVector<ir::Literal> inputs = makeInputs(entryOf(twin), seed);
  auto found = backend(*copy, inputs, seed), expected = backend(*copyOfTwin, inputs, seed);
  // At another size an index may be out of range. Then both programs must fail.
  if (!found || !expected) {
    if (found.ok() == expected.ok())
      return std::nullopt;
    return Failure{
        stage, (found ? "the static twin fails: " + expected.status().message() : found.status().message()) +
                   diagnostics.text};
  }
  for (auto [i, literal] : llvm::enumerate(*expected))
    if (auto difference = findDifference(literal, (*found)[i]))
      return Failure{stage, "result " + std::to_string(i) + ", " + *difference};
  return std::nullopt;
}

/// Compares a program with a dynamic dimension with static programs of some sizes.
std::optional<Failure> checkDynamic(ModuleOp lifted, uint64_t seed, const CheckOptions &options) {
  for (int64_t size : {1, 2, 7, 16, 33}) {
    std::string stage = "dynamic, n = " + std::to_string(size);
    OwningOpRef<ModuleOp> twin(lifted.clone());
    {
      Diagnostics diagnostics(lifted.getContext());
      if (failed(ir::specialize(*twin, {{"n", size}})) || failed(verify(*twin)))
        return Failure{stage, "the static twin does not verify: " + diagnostics.text};
    }
    const bool onlyBounds = options.roundsBySize && (size == 1 || attends(lifted));
    // With this size an index that nothing checks may be out of range.
    if (options.roundsBySize && assumesIndices(*twin))
      continue;
    if (!onlyBounds) {
      if (auto failure = checkTwin(lifted, *twin, seed, stage, options.backend))
        return failure;
      continue;
    }
    CheckOptions within;
    within.backend = [&](ModuleOp, ArrayRef<ir::Literal> inputs, uint64_t number) {
      OwningOpRef<ModuleOp> copy(lifted.clone());
      return options.backend(*copy, inputs, number);
    };
    if (auto failure = checkProgram(*twin, seed, within))
      return Failure{failure->stage + ", " + stage, failure->message};
  }
  return std::nullopt;
}

/// Whether a result has no infinities and no NaN.
bool isFinite(const Bounded &result) {
  return llvm::all_of(result.value.real, [](double number) { return std::isfinite(number); });
}

/// Computes what a program returns, with its loops written out as `expected` says.
std::optional<Failure> expect(ModuleOp module, ArrayRef<ir::Literal> inputs, uint64_t seed,
                              Expectation &expected) {
  Diagnostics diagnostics(module.getContext());
  if (failed(verify(module)))
    return Failure{"generator", "does not verify: " + diagnostics.text};
  OwningOpRef<ModuleOp> flat(module.clone());
  if (failed(flatten(*flat, expected.trips)))
    return Failure{"differentiation", diagnostics.text};
  SmallVector<Bounded> arguments;
  for (const ir::Literal &input : inputs)
    arguments.emplace_back(input);
  ir::InterpreterOptions generators = makeGenerators(seed);
  // Fast numerics may leave out a rounding that the interpreter does.
  const bool isFast = ir::hasFastNumerics(entryOf(module));
  const Reference reference = isFast ? Reference::realNumbers : Reference::interpreter;
  auto results = interpretWithBounds(entryOf(*flat), arguments, generators, reference);
  expected.error = failed(results) ? outOfRange(diagnostics.text) : std::string();
  if (failed(results) && expected.error.empty())
    return Failure{"interpreter", diagnostics.text};
  if (succeeded(results))
    expected.results = std::move(*results);
  // A quotient by a number may be a product with its reciprocal, which rounds twice, even where the quotient
  // needs no rounding.
  if (isFast)
    for (Bounded &result : expected.results)
      for (size_t i = 0; result.value.isReal() && i < result.error.size(); ++i)
        result.error[i] = 2 * result.error[i] + ulp(result.value.dtype, std::fabs(result.value.real[i]));
  expected.counter = generators.generators[kGenerator].counter;
  return std::nullopt;
}

} // namespace

std::optional<Failure> checkProgram(ModuleOp module, uint64_t seed, const CheckOptions &options,
                                    Statistics *statistics) {
  Statistics ignored;
  Statistics &count = statistics ? *statistics : ignored;
  ir::FuncOp function = entryOf(module);
  SmallVector<ir::Literal> inputs = makeInputs(function, seed);

  Expectation expected;
  if (auto failure = expect(module, inputs, seed, expected))
    return failure;
  if (hasOp<ir::WhileOp>(module) && !llvm::all_of(expected.results, isFinite)) {
    expected.trips = WrittenTrips::conditions;
    if (auto failure = expect(module, inputs, seed, expected))
      return failure;
  }
  count.failing += !expected.error.empty();
  for (const Bounded &result : expected.results) {
    count.elements += result.value.count();
    count.unknown += llvm::count_if(result.error, [](double error) { return !(error < HUGE_VAL); });
  }

  if (options.record && expected.error.empty())
    options.record(module, inputs, expected.results);

  // The plain interpreter, with calls and without bounds.
  if (!hasGradient(function)) {
    Diagnostics diagnostics(module.getContext());
    ir::InterpreterOptions generators = makeGenerators(seed);
    auto results = ir::interpretFunction(function, inputs, generators);
    if (failed(results) != !expected.error.empty() ||
        (failed(results) && !failsAs(expected.error, outOfRange(diagnostics.text))))
      return Failure{"interpreter", diagnostics.text};
    for (auto [i, bounded] : llvm::enumerate(expected.results))
      if (auto difference = findDifference(bounded.value, (*results)[i]))
        return Failure{"interpreter", "result " + std::to_string(i) + ", without calls: " + *difference};
  }

  if (options.passes) {
    if (auto failure = checkPasses(module, seed, expected, count.stages, options))
      return failure;
    // Moves values to a second device, so that the program has copies, queues and events.
    Diagnostics diagnostics(module.getContext());
    OwningOpRef<ModuleOp> moved = moveToDevice(module, kEntry);
    if (!moved)
      return Failure{"device", "the program cannot be mapped to a device: " + diagnostics.text};
    ++count.moved;
    if (auto failure = checkPasses(*moved, seed, expected, count.stages, options, "sm_90"))
      return failure;
  }

  if (options.backend) {
    Diagnostics diagnostics(module.getContext());
    OwningOpRef<ModuleOp> copy(module.clone());
    auto results = options.backend(*copy, inputs, seed);
    if (!expected.error.empty()) {
      std::string said = results ? std::string() : results.status().message();
      if (failsAs(expected.error, outOfRange(said)) ||
          said.find(expected.error + " is out of bounds") != std::string::npos)
        return std::nullopt;
      return Failure{"backend",
                     "must fail for " + expected.error + (results ? ", and does not" : ": " + said)};
    }
    if (!results)
      return Failure{"backend", results.status().message() + diagnostics.text};
    for (auto [i, bounded] : llvm::enumerate(expected.results))
      if (auto mismatch = findMismatch(bounded, (*results)[i]))
        return Failure{"backend", "result " + std::to_string(i) + ", " + *mismatch};
  }

  if (options.backend && options.dynamic) {
    bool last = seed / 10 % 2;
    auto lifted = liftProgram(module, last);
    if (!lifted)
      lifted = liftProgram(module, !last);
    if (lifted) {
      ++count.lifted;
      if (auto failure = checkDynamic(*lifted, seed, options))
        return failure;
    }
  }
  return std::nullopt;
}

} // namespace weft::randomtest
