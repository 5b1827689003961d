//===- GpuBackend.cpp - Programs through the runtime of a GPU -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "GpuBackend.h"
#include "Backend.h"
#include "Devices.h"
#include "Generator.h"

#include "ir/Dialect.h"

#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
namespace weft::randomtest {

/// Two as launches, one that makes the graph, one in other memory, which changes its nodes, and one more.
static constexpr unsigned callsOfEach = 5;

std::vector<bool> unknownResults(ModuleOp module) {
  auto function = module.lookupSymbol<ir::FuncOp>(kEntry);
  llvm::DenseSet<Value> unknown;
  for (Operation &op : function.getBody().front()) {
    bool depends = isa<ir::UndefOp>(op) ||
                   llvm::any_of(op.getOperands(), [&](Value value) { return unknown.contains(value); });
    if (auto call = dyn_cast<CallOpInterface>(op))
      if (Operation *callee = call.resolveCallable())
        callee->walk([&](ir::UndefOp) { depends = true; });
    if (depends)
      unknown.insert(op.result_begin(), op.result_end());
  }
  std::vector<bool> results;
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    results.push_back(unknown.contains(value));
  return results;
}

static Expected<SmallVector<ir::Literal>> runOnGpu(runtime::Device &gpu, ModuleOp module,
                                                   ArrayRef<ir::Literal> inputs, uint64_t seed) {
  const size_t resultCount = module.lookupSymbol<ir::FuncOp>(kEntry).getNumResults();
  OwningOpRef<ModuleOp> twin(module.clone()), program(module.clone());
  const SmallVector<size_t> shifts = shiftArguments(*program, seed);
  ir::CompilerOptions options;
  options.threads = 1;
  options.target = "cpu+" + std::string(gpu.code());
  options.memoryLimit = seed % 2 ? 0 : -1;
  if (seed % 4 == 1) {
    program = moveToDevice(*program, kEntry);
    if (!program)
      return Status::error("the program cannot be mapped to a device");
  } else {
    options.devices = "cuda:0";
  }
  auto executable = compileAndLoad(*program, options, {{"cuda:0", &gpu}});
  if (!executable)
    return executable.status();
  auto found = callOften(*executable, inputs, seed, resultCount, shifts, callsOfEach, unknownResults(*twin));
  if (found || found.status().info()->check == FailedCheck::none)
    return found;
  const auto expected = runCompiled(*twin, inputs, seed);
  if (expected)
    return Status::error(found.status().message() + ", and not on the CPU");
  if (const std::string difference = differenceOfFailures(*found.status().info(), *expected.status().info());
      !difference.empty())
    return Status::error("beside the CPU, " + difference);
  return expected; // which always has the value that was wrong
}

Backend backendOf(runtime::Device &gpu) {
  return [&gpu](ModuleOp module, ArrayRef<ir::Literal> inputs, uint64_t seed) {
    return runOnGpu(gpu, module, inputs, seed);
  };
}

} // namespace weft::randomtest
