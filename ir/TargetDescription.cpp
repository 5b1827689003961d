//===- TargetDescription.cpp - The description of a device ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/TargetDescription.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace weft::ir {

// CMake makes one initialiser from each file in ir/devices, so a field that is missing, misspelt or out of
// order is an error of the build.
static constexpr TargetDescription table[] = {
#include "ir/Devices.inc"
};
static_assert(std::string_view(table[0].name) == "cpu");

llvm::ArrayRef<TargetDescription> descriptions() { return table; }

const TargetDescription &cpuDescription() { return table[0]; }

int64_t TargetDescription::architecture() const {
  llvm::StringRef digits = name;
  int64_t number = 0;
  return digits.consume_front("sm_") && !digits.getAsInteger(10, number) ? number : 0;
}

std::string TargetDescription::fullName() const {
  if (!isCpu())
    return "cuda:" + name.str();
  return name.str() + (namedCores ? ":" + std::to_string(namedCores) : "");
}

/// Changes a description to `cores` cores. They move bytes in proportion to the cores of the file, but at
/// least as many as one core alone, and at most as many as each core alone or the memory can.
static void setCores(TargetDescription &cpu, int64_t cores) {
  const int64_t inProportion = cpu.dramBytesPerUs * cores / cpu.cores;
  cpu.dramBytesPerUs =
      std::min({cpu.coreBytesPerUs * cores, std::max(inProportion, cpu.coreBytesPerUs), cpu.mostBytesPerUs});
  cpu.cores = cpu.namedCores = cores;
}

std::optional<TargetDescription> findDescription(llvm::StringRef name) {
  const bool cuda = name.consume_front("cuda:");
  const auto [base, suffix] = cuda ? std::pair(name, llvm::StringRef()) : name.split(':');
  for (const TargetDescription &entry : table) {
    if (entry.name != base || (cuda && entry.isCpu()))
      continue;
    if (base.size() == name.size())
      return entry;
    int64_t cores = 0;
    // Accept only the shortest form of the number, so that a target has one name.
    if (!entry.isCpu() || suffix.getAsInteger(10, cores) || cores < 1 || cores > mostCores ||
        std::to_string(cores) != suffix)
      return std::nullopt;
    TargetDescription made = entry;
    setCores(made, cores);
    return made;
  }
  return std::nullopt;
}

std::string targetNames() {
  return llvm::join(llvm::map_range(table, [](const TargetDescription &entry) { return entry.fullName(); }),
                    ", ") +
         "; a CPU with a number of cores, as cpu:16; or a host and its devices, as cpu:16+cuda:sm_90";
}

int64_t residentBlocks(const TargetDescription &cuda, int64_t threads, int64_t registersPerThread,
                       int64_t sharedBytes) {
  if (threads > cuda.blockThreads || registersPerThread > cuda.threadRegisters ||
      sharedBytes > cuda.blockSharedBytes)
    return 0;
  const int64_t warps = (threads + cuda.warpThreads - 1) / cuda.warpThreads;
  int64_t blocks = std::min(cuda.coreBlocks, cuda.coreWarps / warps);
  if (registersPerThread > 0) {
    // A multiprocessor has four parts, each with registers of its own.
    constexpr int64_t parts = 4;
    const auto ofWarp =
        static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(registersPerThread * cuda.warpThreads),
                                           static_cast<uint64_t>(cuda.warpRegisterUnit)));
    blocks = std::min(blocks, cuda.coreRegisters / parts / ofWarp * parts / warps);
  }
  if (const int64_t shared = sharedBytes + cuda.reservedSharedBytes; shared > 0)
    blocks = std::min(blocks, cuda.coreSharedBytes / shared);
  return blocks;
}

} // namespace weft::ir
