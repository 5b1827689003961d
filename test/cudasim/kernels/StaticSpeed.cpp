//===- StaticSpeed.cpp - What can be said of a kernel's speed -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "StaticSpeed.h"

#include "CheckKernels.h"
#include "EngineDevice.h"
#include "MachineCode.h"

#include "ir/FunctionAttributes.h"
#include "ir/Target.h"
#include "ir/Updates.h"
#include "test/random/Backend.h"
#include "test/random/Generator.h"
#include "test/random/Inputs.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace weft::cudasim {

namespace {

/// Registers are given to warps in units of this many a thread, so less does not change what is resident.
constexpr uint32_t registerUnit = 8;

constexpr const char *heading =
    "                                                                        loads               stores      "
    "      shared\n"
    "kernel               launches   blocks threads registers warps local sectors least moved sectors least "
    "moved "
    "bytes conflicts\n";

/// An error if the machine code uses local memory that ptxas does not report.
Status checkLocalMemory(const DeviceKernel &kernel) {
  const codegen::CudaResources &used = kernel.resources;
  if (used.stackBytes || used.spillStoreBytes || used.spillLoadBytes) // which the table shows
    return {};
  Expected<unsigned> accesses = countLocalAccesses(kernel.cubin);
  if (!accesses)
    return accesses.status();
  return *accesses ? Status::error("kernel '" + kernel.symbol + "' has " + std::to_string(*accesses) +
                                   " instructions for local memory, which ptxas does not report")
                   : Status();
}

/// An error if a kernel divides whole numbers by others that are not known when it is compiled: the compiler
/// makes multiplications of other divisions. Kernels of products and convolutions have one for each block,
/// which gives it its place.
Status checkDivisions(const DeviceKernel &kernel) {
  if (StringRef(kernel.symbol).contains(".contraction.") ||
      StringRef(kernel.symbol).contains(".convolution."))
    return {};
  static const llvm::Regex division("^[ \t]*(@[^ ]+ )?(div|rem)\\.[su](16|32|64)");
  for (StringRef line : llvm::split(kernel.ptx, '\n'))
    if (division.match(line))
      return Status::error("kernel '" + kernel.symbol + "' divides indices: " + line.trim().str());
  return {};
}

double ratio(uint64_t a, uint64_t b) { return b ? double(a) / double(b) : 0; }

/// Sectors a request, the fewest possible, and bytes moved over bytes that were touched.
void print(llvm::raw_ostream &os, const GlobalTraffic &traffic) {
  constexpr uint64_t sectorBytes = 32;
  if (!traffic.requests)
    os << "       -     -     -";
  else
    os << llvm::format(" %7.2f %5.2f %5.2f", ratio(traffic.sectors, traffic.requests),
                       ratio(traffic.leastSectors, traffic.requests),
                       ratio(traffic.sectors * sectorBytes, traffic.uniqueBytes));
}

std::string lineOf(const DeviceKernel &kernel, const KernelTraffic &found,
                   const ir::TargetDescription &device) {
  const codegen::CudaResources &used = kernel.resources;
  const uint32_t sharedBytes = used.sharedBytes + kernel.dynamicShared;
  const int64_t blocks = ir::residentBlocks(device, kernel.threads, used.registers, sharedBytes);
  const int64_t warps = blocks * ((kernel.threads + device.warpThreads - 1) / device.warpThreads);
  std::string line;
  llvm::raw_string_ostream os(line);
  os << llvm::format("%-20s %8llu %8llu %7u %9u %5lld %5u", kernel.symbol.c_str(),
                     static_cast<unsigned long long>(found.launches),
                     static_cast<unsigned long long>(found.blocks), kernel.threads,
                     (used.registers + registerUnit - 1) / registerUnit * registerUnit,
                     static_cast<long long>(warps), used.stackBytes);
  print(os, found.traffic.loads);
  print(os, found.traffic.stores);
  const SharedTraffic &shared = found.traffic.shared;
  if (shared.requests)
    os << llvm::format(" %5u %9.2f", sharedBytes, ratio(shared.wavefronts, shared.leastWavefronts));
  else
    os << llvm::format(" %5u         -", sharedBytes);
  return line + "\n";
}

/// The least extent that whole numbers index, through views of them too; 0 if an op reads them otherwise.
int64_t indexedExtent(Value numbers) {
  std::optional<int64_t> least;
  for (OpOperand &use : numbers.getUses()) {
    Operation *op = use.getOwner();
    int64_t extent = 0;
    if (isa<ir::GatherOp, ir::ScatterOp, ir::IndexUpdateOp>(op) && &use == &ir::indexOperandOf(op))
      extent = ir::indexedSize(op).number().value_or(0);
    else if (auto loss = dyn_cast<ir::CrossEntropyOp>(op); loss && use.get() == loss.getTarget())
      extent = ir::sizesOf(loss.getLogits().getType()).back().number().value_or(0);
    else if (isa<ir::ReshapeOp, ir::TransposeOp, ir::BroadcastInDimOp>(op))
      extent = indexedExtent(op->getResult(0));
    least = std::min(least.value_or(extent), extent);
  }
  return least.value_or(0);
}

/// Lets arguments that are indices have any value that they may have: what a write by index moves depends on
/// how often one repeats.
void nameIndices(ModuleOp module, ir::FuncOp function) {
  for (BlockArgument argument : function.getBody().front().getArguments()) {
    const unsigned i = argument.getArgNumber();
    auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(argument.getType()));
    const int64_t extent = type && type.getWidth() >= 32 ? indexedExtent(argument) : 0;
    if (extent > 0 && ir::roleOf(function, i) == ir::ArgumentRole::argument)
      function.setArgAttr(
          i, ir::attr::name,
          StringAttr::get(module.getContext(), "index:" + std::to_string(i) + ":" + std::to_string(extent)));
  }
}

} // namespace

Expected<std::string> staticSpeed(ModuleOp module, const SpeedOptions &options) {
  auto function = module.lookupSymbol<ir::FuncOp>(randomtest::kEntry);
  nameIndices(module, function);
  nameArguments(module, /*special=*/false);
  const auto inputs = randomtest::makeInputs(function, options.seed);
  const size_t resultCount = function.getNumResults();
  auto program = compileForCuda(module, options.cuda);
  if (!program)
    return program.status();
  EngineDevice &device = EngineDevice::get();
  std::map<std::string, KernelTraffic> traffic;
  device.count(**program, traffic, options.mostBlocks);
  auto executable = runtime::Executable::load((*program)->package, randomtest::kEntry.str(), nullptr,
                                              {{"cuda:0", &device}});
  if (!executable)
    return executable.status();
  auto called = randomtest::callOnce(*executable, inputs, options.seed, resultCount);
  if (!called)
    return called.status();
  std::string problem;
  const auto target = ir::Target::parse(options.cuda.target, problem);
  std::string table = heading;
  for (const auto &[symbol, found] : traffic) {
    const DeviceKernel &kernel = (*program)->kernels.at(symbol);
    if (Status status = checkLocalMemory(kernel); !status)
      return status;
    if (Status status = checkDivisions(kernel); !status)
      return status;
    table += lineOf(kernel, found, *target->getCuda());
  }
  return table;
}

} // namespace weft::cudasim
