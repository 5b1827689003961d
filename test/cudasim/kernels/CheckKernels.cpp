//===- CheckKernels.cpp - Whether kernels on the engine are right ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckKernels.h"

#include "ir/Loops.h"

#include "EngineDevice.h"

#include "ir/FunctionAttributes.h"
#include "ir/Specialize.h"
#include "runtime/execution/Executable.h"
#include "test/random/Backend.h"
#include "test/random/Generator.h"
#include "test/random/Inputs.h"
#include "test/random/Lift.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <algorithm>
#include <map>
#include <set>

using namespace mlir;
namespace weft::cudasim {

using randomtest::Failure;

void nameArguments(ModuleOp module, bool special) {
  auto function = module.lookupSymbol<ir::FuncOp>(randomtest::kEntry);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto given = function.getArgAttrOfType<StringAttr>(i, ir::attr::name);
    if (ir::roleOf(function, i) == ir::ArgumentRole::random || (given && given.getValue().contains(':')))
      continue;
    const bool isReal = isa<FloatType>(getElementTypeOrSelf(function.getArgumentTypes()[i]));
    const std::string kind = isReal ? (special ? "special:" : "plain:") : "index:";
    function.setArgAttr(
        i, ir::attr::name,
        StringAttr::get(module.getContext(), kind + std::to_string(i) + (isReal ? "" : ":2")));
  }
}

Status KernelChecker::compare(const CudaProgram &program, ArrayRef<ir::Literal> found,
                              ArrayRef<ir::Literal> expected) {
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    if (!program.exact[i]) {
      ++counted.boundedResults;
      continue;
    }
    ++counted.exactResults;
    if (auto difference = randomtest::findDifference(expected[i], found[i]))
      return Status::error("result " + std::to_string(i) + " has not the bits of the CPU: " + *difference);
  }
  return {};
}

CudaOptions KernelChecker::optionsFor(uint64_t seed) const {
  CudaOptions cuda = options.cuda;
  cuda.memoryLimit = seed % 2 ? 0 : -1;
  return cuda;
}

Expected<SmallVector<ir::Literal>> KernelChecker::run(ModuleOp module, ArrayRef<ir::Literal> inputs,
                                                      uint64_t seed) {
  const size_t resultCount = module.lookupSymbol<ir::FuncOp>(randomtest::kEntry).getNumResults();
  OwningOpRef<ModuleOp> copy(module.clone());
  const SmallVector<size_t> shifts = randomtest::shiftArguments(module, seed);
  auto program = compileForCuda(module, optionsFor(seed));
  if (!program)
    return program.status().context("for the engine: ");
  counted.kernels += (*program)->kernels.size();
  counted.fallbacks += (*program)->fallbacks;
  counted.compiled += (*program)->compiled;
  RunStyle style;
  style.race = options.raceEvery && counted.calls % options.raceEvery == 0;
  style.seed = seed;
  style.spoil = options.spoil;
  ++counted.calls;
  EngineDevice &device = EngineDevice::get();
  device.use(**program, style, options.spoilt, options.mostMultiplyAdds);
  auto executable = runtime::Executable::load((*program)->package, randomtest::kEntry.str(), nullptr,
                                              {{"cuda:0", &device}});
  if (!executable)
    return executable.status().context("loading for the engine: ");
  auto found = randomtest::callOnce(*executable, inputs, seed, resultCount, shifts);
  if (!found && found.status().info()->check == FailedCheck::none)
    return found.status().context("on the engine: ");
  auto expected = randomtest::runCompiled(*copy, inputs, seed);
  if (found.ok() != expected.ok())
    return Status::error(found ? "on the CPU: " + expected.status().message()
                               : "on the engine: " + found.status().message() + ", and not on the CPU");
  if (!found) {
    ++counted.failing;
    const std::string difference =
        randomtest::differenceOfFailures(*found.status().info(), *expected.status().info());
    return difference.empty() ? found.status() : Status::error("on the engine " + difference);
  }
  if (Status status = compare(**program, *found, *expected); !status)
    return device.notes().explain(status);
  return found;
}

std::optional<Failure> KernelChecker::checkStatic(ModuleOp module, uint64_t seed, ModuleOp compiled) {
  randomtest::CheckOptions check;
  check.backend = [&](ModuleOp, ArrayRef<ir::Literal> inputs, uint64_t number) {
    OwningOpRef<ModuleOp> copy(compiled.clone());
    return run(*copy, inputs, number);
  };
  return randomtest::checkProgram(module, seed, check);
}

/// Whether a program gives the bits of its twin, in which symbols are numbers; else what differs.
std::optional<std::string> KernelChecker::checkSameBits(ModuleOp module, ModuleOp twin, uint64_t seed) {
  // Whether the gradient of a matrix in a loop is a sum or a product of all trips follows from bytes, which
  // are numbers in one of them alone.
  const bool hasLoops = module.walk([](ir::ScanOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (hasLoops || randomtest::attends(module))
    return std::nullopt;
  const auto inputs = randomtest::makeInputs(twin.lookupSymbol<ir::FuncOp>(randomtest::kEntry), seed);
  OwningOpRef<ModuleOp> copy(module.clone()), copyOfTwin(twin.clone());
  auto found = run(*copy, inputs, seed), expected = run(*copyOfTwin, inputs, seed);
  if (!found || !expected)
    return found.ok() == expected.ok() ? std::nullopt
                                       : std::optional((found ? expected : found).status().message());
  for (size_t i = 0; i < expected->size(); ++i)
    if (auto difference = randomtest::findDifference((*expected)[i], (*found)[i]))
      return "result " + std::to_string(i) + " differs from that of numbers as sizes: " + *difference;
  return std::nullopt;
}

/// Erases what nothing uses. With other sizes an index may be out of range, and a check belongs to a value:
/// of one that is not used none has to remain.
static void eraseUnused(ModuleOp module) {
  Block &body = module.lookupSymbol<ir::FuncOp>(randomtest::kEntry).getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {

/// A program with numbers for its symbols.
struct Twin {
  std::string stage; ///< "with sizes 1, 2"
  bool hasOne = false;
  OwningOpRef<ModuleOp> module; ///< null if it does not verify
};

std::vector<Twin> twinsOf(ModuleOp module, ArrayAttr symbols) {
  static constexpr int64_t sizes[] = {0, 1, 2, 7, 33};
  std::set<std::map<std::string, int64_t>> tried;
  std::vector<Twin> twins;
  for (size_t first = 0; first < std::size(sizes); ++first) {
    // Several symbols have different sizes.
    std::map<std::string, int64_t> values;
    Twin twin;
    twin.stage = "with sizes";
    for (auto [i, symbol] : llvm::enumerate(symbols.getAsRange<ir::SymbolAttr>())) {
      const int64_t size =
          std::clamp(sizes[(first + i) % std::size(sizes)], symbol.getMin(), symbol.getMax());
      values[symbol.getName().str()] = size;
      twin.stage += (i ? ", " : " ") + std::to_string(size);
      twin.hasOne |= size == 1;
    }
    if (!tried.insert(values).second)
      continue;
    twin.module = module.clone();
    if (failed(ir::specialize(*twin.module, values)) || failed(verify(*twin.module)))
      twin.module = nullptr;
    // With these sizes an index may be out of range.
    else if (randomtest::assumesIndices(*twin.module))
      continue;
    twins.push_back(std::move(twin));
  }
  return twins;
}

/// The symbols of a program; null if it has none.
ArrayAttr symbolsOf(ModuleOp module) {
  auto symbols =
      module.lookupSymbol<ir::FuncOp>(randomtest::kEntry)->getAttrOfType<ArrayAttr>(ir::attr::symbols);
  return symbols && !symbols.empty() ? symbols : ArrayAttr();
}

} // namespace

void KernelChecker::prepare(ModuleOp given, uint64_t seed, PreparedKernels &kernels) const {
  auto add = [&](ModuleOp module) {
    OwningOpRef<ModuleOp> copy(module.clone());
    randomtest::shiftArguments(*copy, seed);
    kernels.add(*copy, optionsFor(seed));
  };
  const ArrayAttr symbols = symbolsOf(given);
  if (!symbols)
    return add(given);
  OwningOpRef<ModuleOp> module(given.clone());
  eraseUnused(*module);
  add(*module);
  for (Twin &twin : twinsOf(*module, symbols))
    if (twin.module)
      add(*twin.module);
}

std::optional<Failure> KernelChecker::check(ModuleOp given, uint64_t seed) {
  const ArrayAttr symbols = symbolsOf(given);
  if (!symbols)
    return checkStatic(given, seed, given);
  OwningOpRef<ModuleOp> used(given.clone());
  ModuleOp module = *used;
  eraseUnused(module);
  for (Twin &twin : twinsOf(module, symbols)) {
    if (!twin.module)
      return Failure{twin.stage, "the program with these sizes does not verify"};
    for (ModuleOp compiled : {*twin.module, module})
      if (auto failure = checkStatic(*twin.module, seed, compiled))
        return Failure{failure->stage + ", " + twin.stage +
                           (compiled == module ? "" : ", which it was compiled for"),
                       failure->message};
    // A dimension of one element is dropped where it is a number, so that a reduction of columns may become
    // one of rows, which adds in another order: such results are only within the bounds.
    if (twin.hasOne)
      continue;
    if (auto failure = checkSameBits(module, *twin.module, seed))
      return Failure{twin.stage, *failure};
  }
  return std::nullopt;
}

} // namespace weft::cudasim
