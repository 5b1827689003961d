//===- Backend.cpp - Programs through the compiler and the runtime --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "Generator.h"
#include "Inputs.h"

#include "codegen/Compile.h"
#include "runtime/execution/Executable.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/memory/Layout.h"
#include "runtime/package/Package.h"
#include "runtime/queue/Queue.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
namespace weft::randomtest {

/// `toMemory` writes the values of an argument to its memory; `fromMemory` reads them back.
static void toMemory(const ir::Literal &literal, const runtime::TensorInfo &type, void *memory) {
  if (type.strides.empty())
    return literal.toBytes(memory);
  std::vector<std::byte> packed(static_cast<size_t>(literal.count()) * itemsize(type.dtype));
  literal.toBytes(packed.data());
  runtime::scatter(type.shape, type.strides, itemsize(type.dtype), packed.data(),
                   static_cast<std::byte *>(memory));
}
static ir::Literal fromMemory(const runtime::TensorInfo &type, const void *memory) {
  if (type.strides.empty())
    return ir::Literal::fromBytes(type.dtype, type.shape, memory);
  size_t bytes = itemsize(type.dtype); // of the elements, which may be more than lie in memory
  for (const int64_t extent : type.shape)
    bytes *= static_cast<size_t>(extent);
  std::vector<std::byte> packed(bytes);
  runtime::gather(type.shape, type.strides, itemsize(type.dtype), static_cast<const std::byte *>(memory),
                  packed.data());
  return ir::Literal::fromBytes(type.dtype, type.shape, packed.data());
}

namespace {

/// Compares the peak memory of a call with its plan. Nothing else may allocate during the call.
class PeakMemory {
public:
  PeakMemory() {
    runtime::Queue::trim_all(); // a call finds no arena
    runtime::CachingAllocator::get().reset_peak_stats();
    before = requested("current");
  }
  /// Must be called after the call has ended and before anything else is allocated.
  Status compare(const runtime::Executable &executable) const {
    const runtime::PlannedMemory planned = executable.planned_memory();
    const int64_t peak = requested("peak") - before,
                  expected = static_cast<int64_t>(planned.results + planned.temporaries);
    if (peak == expected)
      return {};
    return Status::error("the call took " + std::to_string(peak) +
                         " bytes beside its arguments, planned are " + std::to_string(planned.results) +
                         " of results and " + std::to_string(planned.temporaries) + " of temporaries");
  }

private:
  static int64_t requested(const std::string &metric) {
    return runtime::CachingAllocator::get().stats().at("requested_bytes.all." + metric);
  }
  int64_t before = 0;
};

} // namespace

Expected<SmallVector<ir::Literal>> runCompiled(ModuleOp module, ArrayRef<ir::Literal> inputs, uint64_t seed) {
  return runCompiledFor("cpu", module, inputs, seed);
}

Expected<SmallVector<ir::Literal>> runCompiledFor(const std::string &target, ModuleOp module,
                                                  ArrayRef<ir::Literal> inputs, uint64_t seed) {
  size_t resultCount = module.lookupSymbol<ir::FuncOp>(kEntry).getNumResults();
  ir::CompilerOptions options;
  options.threads = 1;
  options.target = target;
  // Processors with AVX-512 also have AVX2, so one program in four is compiled for x86-64-v3.
  if (seed % 4 == 3)
    options.levels = {"x86-64-v3"};
  options.memoryLimit = seed % 2 ? 0 : -1;
  auto compiled = codegen::compileModule(module, options);
  if (!compiled)
    return compiled.status().context("compilation: ");
  auto package = runtime::Package::from_memory(std::move(compiled->package));
  if (!package)
    return package.status().context("package: ");
  auto executable = runtime::Executable::load(*package, kEntry.str());
  if (!executable)
    return executable.status().context("loading: ");

  return callOnce(*executable, inputs, seed, resultCount);
}

Expected<SmallVector<ir::Literal>> callOnce(std::shared_ptr<runtime::Executable> executable,
                                            ArrayRef<ir::Literal> inputs, uint64_t seed, size_t resultCount,
                                            ArrayRef<size_t> shifts) {
  if (!executable->signature().symbols.empty()) {
    std::vector<std::vector<int64_t>> shapes(executable->signature().arguments.size());
    for (auto [i, input] : llvm::enumerate(inputs))
      shapes[i] = input.shape;
    auto sizes = executable->bind(shapes);
    if (!sizes)
      return sizes.status().context("sizes: ");
    auto sized = executable->at(*sizes);
    if (!sized)
      return sized.status().context("plan for these sizes: ");
    executable = *std::move(sized);
  }
  const runtime::Signature &signature = executable->signature();
  ir::GeneratorState state = makeGenerators(seed).generators[kGenerator];
  std::vector<std::shared_ptr<runtime::Buffer>> arguments, results(signature.results.size());
  for (auto [i, info] : llvm::enumerate(signature.arguments)) {
    const size_t shift = i < shifts.size() ? shifts[i] : 0;
    auto buffer = runtime::Buffer::allocate(info.type.bytes + shift, 0, executable->argument_device(i));
    if (!buffer)
      return buffer.status();
    if (shift)
      *buffer = runtime::Buffer::part(std::move(*buffer), shift, info.type.bytes);
    if (i < inputs.size()) {
      toMemory(inputs[i], info.type, (*buffer)->data());
    } else { // an argument that a pass added for the state of the generator
      int64_t number = StringRef(info.name).ends_with(".key") ? state.key : state.counter;
      std::memcpy((*buffer)->data(), &number, sizeof number);
    }
    arguments.push_back(std::move(*buffer));
  }
  // A call that fails must not change its arguments.
  auto failed = [&](const Status &status, const char *where) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const runtime::TensorInfo &type = signature.arguments[i].type;
      auto after = fromMemory(type, arguments[i]->data());
      if (auto difference = findDifference(inputs[i], after))
        return Status::error("the call failed and changed argument " + std::to_string(i) + ": " +
                             *difference);
    }
    return status.context(where);
  };
  const PeakMemory peak;
  if (Status status = executable->run(arguments, results); !status)
    return failed(status, "call: ");

  SmallVector<ir::Literal> literals;
  for (const std::shared_ptr<runtime::Buffer> &result : results)
    if (Status status = result->wait(); !status)
      return failed(status, "result: ");
  const bool onHost =
      llvm::all_of(signature.arguments, [](const auto &info) { return info.type.device == "cpu"; }) &&
      llvm::all_of(signature.results, [](const auto &info) { return info.type.device == "cpu"; });
  if (onHost)
    if (Status status = peak.compare(*executable); !status)
      return status.context("memory: ");
  for (size_t i = 0; i < std::min(results.size(), resultCount); ++i) {
    const runtime::TensorInfo &type = signature.results[i].type;
    literals.push_back(ir::Literal::fromBytes(type.dtype, type.shape, results[i]->data()));
  }
  // A call must not change arguments that are not donated.
  for (size_t i = 0; i < inputs.size(); ++i) {
    const runtime::ArgumentInfo &info = signature.arguments[i];
    if (info.donated)
      continue;
    auto after = fromMemory(info.type, arguments[i]->data());
    if (auto difference = findDifference(inputs[i], after))
      return Status::error("the call changed argument " + std::to_string(i) +
                           ", which is not donated: " + *difference);
  }
  return literals;
}

} // namespace weft::randomtest
