//===- ProgramSubject.cpp - A program whose kernels are changed -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ProgramSubject.h"

#include "test/cudasim/kernels/EngineDevice.h"

#include "ir/FunctionAttributes.h"
#include "ir/Parse.h"
#include "ir/Specialize.h"
#include "runtime/execution/Executable.h"
#include "test/random/Backend.h"
#include "test/random/Generator.h"
#include "test/random/Inputs.h"

#include <algorithm>

using namespace mlir;
namespace weft::cudasim {

static constexpr const char *aliases = "#cpu = #weft.device<cpu>\n#n = #weft.device<cpu, [n]>\n";

Expected<std::unique_ptr<Subject>> ProgramSubject::make(MLIRContext &context, const SubjectCase &each,
                                                        bool fallbacks) {
  auto made = std::make_unique<ProgramSubject>();
  for (uint64_t seed : {3, 4, 5, 6}) {
    const bool special = seed % 2 == 0;
    auto module = ir::parseModule(context, std::string(aliases) + each.program, "mutants");
    if (!module)
      return module.status();
    nameArguments(**module, special);
    if (!made->program) {
      OwningOpRef<ModuleOp> copy((*module)->clone());
      auto program = compileForCuda(
          *copy, {.target = std::string("cuda:") + each.target, .texts = true, .fallbacks = fallbacks});
      if (!program)
        return program.status();
      made->program = std::move(*program);
    }
    auto symbols =
        (*module)->lookupSymbol<ir::FuncOp>(randomtest::kEntry)->getAttrOfType<ArrayAttr>(ir::attr::symbols);
    const bool dynamic = symbols && !symbols.empty();
    // Many sizes are many inputs.
    if (dynamic && seed > 4)
      break;
    for (int64_t size : dynamic ? each.sizes : std::vector<int64_t>{1}) {
      OwningOpRef<ModuleOp> twin((*module)->clone());
      if (dynamic && failed(ir::specialize(*twin, {{"n", size}})))
        return Status::error("a mutant's program has another symbol than n");
      if (Status status = made->add(*twin, seed); !status)
        return status;
      if (dynamic)
        if (Status status = made->expectBitsOf(*twin, each); !status)
          return status;
    }
  }
  return std::unique_ptr<Subject>(std::move(made));
}

Status ProgramSubject::add(ModuleOp module, uint64_t seed) {
  OwningOpRef<ModuleOp> kept(module.clone()), copy(module.clone());
  const auto inputs = randomtest::makeInputs(kept->lookupSymbol<ir::FuncOp>(randomtest::kEntry), seed);
  auto expected = randomtest::runCompiled(*copy, inputs, seed);
  if (!expected)
    return expected.status();
  calls.push_back({std::move(kept), seed, std::move(*expected), program->exact});
  return {};
}

/// Sums of floats have the order that the kernels of a length give them.
Status ProgramSubject::expectBitsOf(ModuleOp twin, const SubjectCase &each) {
  OwningOpRef<ModuleOp> copy(twin.clone());
  auto fixed = compileForCuda(*copy, {.target = std::string("cuda:") + each.target});
  if (!fixed)
    return fixed.status();
  Call &call = calls.back();
  auto function = call.module->lookupSymbol<ir::FuncOp>(randomtest::kEntry);
  auto found = runOnEngine(**fixed, call, randomtest::makeInputs(function, call.seed));
  if (!found)
    return found.status();
  call.expected = std::move(*found);
  call.isExact.assign(call.expected.size(), true);
  return {};
}

std::vector<std::pair<std::string, std::string>> ProgramSubject::kernels() const {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto &[symbol, kernel] : program->kernels)
    found.emplace_back(symbol, kernel.text);
  return found;
}

void ProgramSubject::limitSteps() { budget = 20 * mostSteps + 10000; }

Expected<SmallVector<ir::Literal>> ProgramSubject::runOnEngine(CudaProgram &made, const Call &call,
                                                               ArrayRef<ir::Literal> inputs) {
  EngineDevice &device = EngineDevice::get();
  RunStyle style;
  style.race = true;
  style.seed = call.seed;
  style.budget = budget;
  device.use(made, style);
  auto executable =
      runtime::Executable::load(made.package, randomtest::kEntry.str(), nullptr, {{"cuda:0", &device}});
  if (!executable)
    return executable.status();
  auto found = randomtest::callOnce(*executable, inputs, call.seed, call.expected.size());
  mostSteps = std::max(mostSteps, device.notes().steps);
  return found;
}

Status ProgramSubject::check(const Call &call) {
  randomtest::CheckOptions options;
  options.backend = [&](ModuleOp, ArrayRef<ir::Literal> inputs,
                        uint64_t) -> Expected<SmallVector<ir::Literal>> {
    auto found = runOnEngine(*program, call, inputs);
    for (size_t i = 0; found && i < found->size(); ++i)
      if (call.isExact[i])
        if (auto difference = randomtest::findDifference(call.expected[i], (*found)[i]))
          return Status::error("wrong: result " + std::to_string(i) +
                               " has not the bits that it has to have: " + *difference);
    return found;
  };
  const auto failure = randomtest::checkProgram(*call.module, call.seed, options);
  return failure ? Status::error(failure->message) : Status();
}

Status ProgramSubject::run(const std::string &symbol, std::shared_ptr<Module> module) {
  DeviceKernel &kernel = program->kernels.at(symbol);
  std::swap(kernel.module, module);
  Status status;
  for (const Call &call : calls)
    if (status = check(call); !status)
      break;
  std::swap(kernel.module, module);
  return status;
}

} // namespace weft::cudasim
