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
#include "ir/Alignment.h"
#include "ir/FunctionAttributes.h"
#include "runtime/execution/Executable.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/memory/Layout.h"
#include "runtime/package/Package.h"
#include "runtime/queue/Queue.h"

#include <algorithm>
#include <optional>
#include <span>

using namespace mlir;
namespace weft::randomtest {

/// The bytes of an argument in its memory, whose elements may lie with strides; what is between them is zero.
static std::vector<std::byte> bytesOf(const ir::Literal &literal, const runtime::TensorInfo &type) {
  std::vector<std::byte> packed(static_cast<size_t>(literal.count()) * itemsize(type.dtype));
  literal.toBytes(packed.data());
  if (type.strides.empty())
    return packed;
  std::vector<std::byte> memory(type.bytes);
  runtime::scatter(type.shape, type.strides, itemsize(type.dtype), packed.data(), memory.data());
  return memory;
}
/// The same in the other direction.
static ir::Literal literalOf(const runtime::TensorInfo &type, const std::vector<std::byte> &memory) {
  if (type.strides.empty())
    return ir::Literal::fromBytes(type.dtype, type.shape, memory.data());
  size_t bytes = itemsize(type.dtype); // of the elements, which may be more than lie in memory
  for (const int64_t extent : type.shape)
    bytes *= static_cast<size_t>(extent);
  std::vector<std::byte> packed(bytes);
  runtime::gather(type.shape, type.strides, itemsize(type.dtype), memory.data(), packed.data());
  return ir::Literal::fromBytes(type.dtype, type.shape, packed.data());
}

/// What lies in a buffer.
static Expected<std::vector<std::byte>> read(const runtime::Buffer &buffer) {
  std::vector<std::byte> bytes(buffer.bytes());
  if (Status status = buffer.read(0, bytes); !status)
    return status;
  return bytes;
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

/// A call of a function whose sizes are numbers, with the memory of its arguments and results.
class Call {
public:
  explicit Call(runtime::Executable &executable)
      : executable(executable), signature(executable.signature()), results(signature.results.size()) {}

  /// Allocates the arguments and writes their values.
  Status prepare(ArrayRef<ir::Literal> inputs, uint64_t seed, ArrayRef<size_t> shifts);
  /// Runs the function and waits for its results.
  Status run();
  /// Whether the arguments that may not change have the values of `inputs`: all of them if the call has
  /// failed, else those that are not donated.
  Status checkArguments(ArrayRef<ir::Literal> inputs, bool hasFailed) const;
  /// The bytes of all results, those that the passes have added too.
  Expected<std::vector<std::vector<std::byte>>> bytes() const;

private:
  runtime::Executable &executable;
  const runtime::Signature &signature;
  std::vector<std::shared_ptr<runtime::Buffer>> arguments, results;
};

Status Call::prepare(ArrayRef<ir::Literal> inputs, uint64_t seed, ArrayRef<size_t> shifts) {
  ir::GeneratorState state = makeGenerators(seed).generators[kGenerator];
  for (auto [i, info] : llvm::enumerate(signature.arguments)) {
    const size_t shift = i < shifts.size() ? shifts[i] : 0;
    auto buffer = runtime::Buffer::allocate(info.type.bytes + shift, 0, executable.argument_device(i));
    if (!buffer)
      return buffer.status();
    if (shift)
      *buffer = runtime::Buffer::part(std::move(*buffer), shift, info.type.bytes);
    // An argument that a pass added is for the state of the generator.
    const int64_t number = StringRef(info.name).ends_with(".key") ? state.key : state.counter;
    const Status written = i < inputs.size() ? (*buffer)->write(0, bytesOf(inputs[i], info.type))
                                             : (*buffer)->write(0, std::as_bytes(std::span(&number, 1)));
    if (!written)
      return written;
    arguments.push_back(std::move(*buffer));
  }
  return {};
}

Status Call::run() {
  const bool onHost =
      llvm::all_of(signature.arguments, [](const auto &info) { return info.type.device == "cpu"; }) &&
      llvm::all_of(signature.results, [](const auto &info) { return info.type.device == "cpu"; });
  const PeakMemory peak;
  if (Status status = executable.run(arguments, results); !status)
    return status.context("call: ");
  for (const std::shared_ptr<runtime::Buffer> &result : results)
    if (Status status = result->wait(); !status)
      return status.context("result: ");
  if (onHost)
    if (Status status = peak.compare(executable); !status)
      return status.context("memory: ");
  return {};
}

Status Call::checkArguments(ArrayRef<ir::Literal> inputs, bool hasFailed) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const runtime::ArgumentInfo &info = signature.arguments[i];
    if (info.donated && !hasFailed)
      continue;
    auto memory = read(*arguments[i]);
    if (!memory)
      return memory.status();
    if (auto difference = findDifference(inputs[i], literalOf(info.type, *memory)))
      return Status::error(
          hasFailed
              ? "the call failed and changed argument " + std::to_string(i) + ": " + *difference
              : "the call changed argument " + std::to_string(i) + ", which is not donated: " + *difference);
  }
  return {};
}

Expected<std::vector<std::vector<std::byte>>> Call::bytes() const {
  std::vector<std::vector<std::byte>> all;
  for (auto [result, info] : llvm::zip_equal(results, signature.results)) {
    auto memory = read(*result);
    if (!memory)
      return memory.status();
    all.push_back(std::move(*memory));
  }
  return all;
}

/// The executable for the sizes of these arguments.
Expected<std::shared_ptr<runtime::Executable>> sizedFor(std::shared_ptr<runtime::Executable> executable,
                                                        ArrayRef<ir::Literal> inputs) {
  if (executable->signature().symbols.empty())
    return executable;
  std::vector<std::vector<int64_t>> shapes(executable->signature().arguments.size());
  for (auto [i, input] : llvm::enumerate(inputs))
    shapes[i] = input.shape;
  auto sizes = executable->bind(shapes);
  if (!sizes)
    return sizes.status().context("sizes: ");
  auto sized = executable->at(*sizes);
  if (!sized)
    return sized.status().context("plan for these sizes: ");
  return sized;
}

/// Where the bytes of two calls differ first; empty if they are equal.
std::string differenceOf(const std::vector<std::vector<std::byte>> &found,
                         const std::vector<std::vector<std::byte>> &expected,
                         const std::vector<bool> &unknown) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (i < unknown.size() && unknown[i])
      continue;
    const auto [at, ignored] = std::ranges::mismatch(expected[i], found[i]);
    if (at != expected[i].end())
      return "result " + std::to_string(i) + " differs from that of the first call at byte " +
             std::to_string(at - expected[i].begin());
  }
  return {};
}

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
  auto executable = compileAndLoad(module, options);
  if (!executable)
    return executable.status();
  return callOnce(*executable, inputs, seed, resultCount);
}

Expected<std::shared_ptr<runtime::Executable>>
compileAndLoad(ModuleOp module, const ir::CompilerOptions &options, const runtime::DeviceMap &devices) {
  auto compiled = codegen::compileModule(module, options);
  if (!compiled)
    return compiled.status().context("compilation: ");
  auto package = runtime::Package::from_memory(std::move(compiled->package));
  if (!package)
    return package.status().context("package: ");
  auto executable = runtime::Executable::load(*package, kEntry.str(), nullptr, devices);
  return executable ? std::move(executable) : executable.status().context("loading: ");
}

Expected<SmallVector<ir::Literal>> callOnce(std::shared_ptr<runtime::Executable> executable,
                                            ArrayRef<ir::Literal> inputs, uint64_t seed, size_t resultCount,
                                            ArrayRef<size_t> shifts) {
  return callOften(std::move(executable), inputs, seed, resultCount, shifts, 1);
}

Expected<SmallVector<ir::Literal>> callOften(std::shared_ptr<runtime::Executable> executable,
                                             ArrayRef<ir::Literal> inputs, uint64_t seed, size_t resultCount,
                                             ArrayRef<size_t> shifts, unsigned times,
                                             const std::vector<bool> &unknown) {
  auto sized = sizedFor(std::move(executable), inputs);
  if (!sized)
    return sized.status();
  std::vector<std::vector<std::byte>> first;
  Status failure;
  // Every second call finds the memory of the one before still in use, and gets some elsewhere.
  std::optional<Call> kept;
  for (unsigned time = 0; time < times; ++time) {
    const std::string which = times == 1 ? "" : "call number " + std::to_string(time + 1) + ": ";
    Call call(**sized);
    if (Status status = call.prepare(inputs, seed, shifts); !status)
      return status;
    const Status ran = call.run();
    // A call that fails must not change its arguments, and no call those that are not donated.
    if (Status status = call.checkArguments(inputs, !ran.ok()); !status)
      return status.context(which);
    if (time > 0 && ran.ok() != failure.ok())
      return Status::error(which + (ran.ok() ? "works, and the first one failed: " + failure.message()
                                             : ran.message() + ", and the first one worked"));
    if (!ran.ok()) {
      if (time > 0 && !ran.info() != !failure.info())
        return ran.context(which);
      if (time > 0 && ran.info())
        if (const std::string difference = differenceOfFailures(*ran.info(), *failure.info());
            !difference.empty())
          return Status::error(which + difference);
      if (time == 0)
        failure = ran;
      continue;
    }
    auto bytes = call.bytes();
    if (!bytes)
      return bytes.status();
    if (time == 0)
      first = std::move(*bytes);
    else if (const std::string difference = differenceOf(*bytes, first, unknown); !difference.empty())
      return Status::error(which + difference);
    if (time % 2)
      kept.emplace(std::move(call));
    else
      kept.reset();
  }
  if (!failure)
    return failure;
  SmallVector<ir::Literal> literals;
  const runtime::Signature &signature = (*sized)->signature();
  for (size_t i = 0; i < std::min(first.size(), resultCount); ++i) {
    const runtime::TensorInfo &type = signature.results[i].type;
    literals.push_back(ir::Literal::fromBytes(type.dtype, type.shape, first[i].data()));
  }
  return literals;
}

std::string differenceOfFailures(const FailureInfo &found, const FailureInfo &expected) {
  const bool sameValue = !found.value_known || !expected.value_known || found.value == expected.value;
  if (found.check == expected.check && found.position == expected.position && sameValue &&
      found.dimension == expected.dimension && found.size == expected.size &&
      found.location == expected.location && found.subject == expected.subject)
    return {};
  return "the call fails with '" + found.str() + "' at element " + std::to_string(found.position) +
         ", expected '" + expected.str() + "' at element " + std::to_string(expected.position);
}

SmallVector<size_t> shiftArguments(ModuleOp module, uint64_t seed) {
  auto function = module.lookupSymbol<ir::FuncOp>(kEntry);
  SmallVector<size_t> shifts;
  for (unsigned i = 0; i < function.getNumArguments() && seed % 3 == 0; ++i) {
    const auto bytes = static_cast<size_t>(ir::leastAlignment(function, i));
    const auto role = ir::roleOf(function, i);
    const bool isShifted =
        (seed + i) % 2 == 0 && (role == ir::ArgumentRole::argument || role == ir::ArgumentRole::state);
    shifts.push_back(isShifted ? bytes : 0);
    if (isShifted)
      function.setArgAttr(
          i, ir::attr::alignment,
          IntegerAttr::get(IntegerType::get(module.getContext(), 64), static_cast<int64_t>(bytes)));
  }
  return shifts;
}

} // namespace weft::randomtest
