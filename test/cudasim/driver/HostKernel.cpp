//===- HostKernel.cpp - Kernels of libraries that the host computes ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/HostKernel.h"

#include "test/cudasim/driver/Ranges.h"
#include "test/cudasim/driver/Settings.h"

namespace weft::cusim {
namespace {

/// A run, as the function that a body calls for its operands knows it.
struct Run {
  const HostKernel &kernel;
  std::vector<bool> isUsed;
  std::vector<std::vector<cudasim::Range>> ranges; ///< of each operand, sorted
  Outcome outcome;
};

std::vector<cudasim::Range> rangesOf(const KernelOperand &operand) {
  std::vector<cudasim::Range> ranges;
  for (uint64_t plane = 0; plane < operand.planes; ++plane)
    for (uint64_t row = 0; row < operand.rows; ++row) {
      const uint64_t begin = operand.address + plane * operand.planePitch + row * operand.rowPitch;
      if (!ranges.empty() && ranges.back().end == begin)
        ranges.back().end += operand.width;
      else
        ranges.push_back({begin, begin + operand.width});
    }
  sortRanges(ranges);
  return ranges;
}

std::string textOf(const KernelOperand &operand) {
  return std::string(operand.name) + " (" + std::to_string(operand.width) + " bytes" +
         (operand.rows > 1 ? " x " + std::to_string(operand.rows) + " rows" : "") +
         (operand.planes > 1 ? " x " + std::to_string(operand.planes) + " planes" : "") + " at " +
         hex(operand.address) + ")";
}

void fail(Run &run, CUresult code, const std::string &why) {
  if (run.outcome.code != CUDA_SUCCESS)
    return;
  run.outcome.code = code;
  run.outcome.message = why;
}

/// Where an operand is on the host; null if a byte of it is not in the allocation of its first one.
std::byte *placeOf(Device &device, const KernelOperand &operand, const std::vector<cudasim::Range> &ranges,
                   std::string &problem) {
  if (state().deviceOf(operand.address) != &device) {
    problem = hex(operand.address) + " is no address of device " + std::to_string(device.ordinal);
    return nullptr;
  }
  const cudasim::Range whole{ranges.front().begin, ranges.back().end};
  if (device.memory.host(whole.begin, whole.end - whole.begin))
    return device.memory.host(operand.address, operand.width);
  // Rows of several allocations are a mistake, too: between them are bytes of nobody.
  problem = "it spans several allocations";
  for (const cudasim::Range &range : ranges)
    if (!device.memory.host(range.begin, range.end - range.begin)) {
      problem = std::to_string(range.end - range.begin) + " bytes at " + hex(range.begin) +
                " are not in an allocation: " + device.memory.describe(range.begin);
      break;
    }
  return nullptr;
}

std::byte *useOperand(void *context, size_t number) {
  Run &run = *static_cast<Run *>(context);
  const KernelOperand &operand = run.kernel.operands[number];
  if (operand.isEmpty())
    return nullptr;
  if (!run.isUsed[number])
    run.ranges[number] = rangesOf(operand);
  std::string problem;
  std::byte *place = placeOf(*run.kernel.device, operand, run.ranges[number], problem);
  if (!place)
    fail(run, CUDA_ERROR_ILLEGAL_ADDRESS, "operand " + textOf(operand) + ": " + problem);
  run.isUsed[number] = true;
  return place;
}

bool isInPlace(const KernelOperand &a, const KernelOperand &b) {
  return a.isInPlace && b.isInPlace && a.address == b.address && a.width == b.width && a.rows == b.rows &&
         a.planes == b.planes && (a.rows == 1 || a.rowPitch == b.rowPitch) &&
         (a.planes == 1 || a.planePitch == b.planePitch);
}

/// What is written must not be written twice, and not be another operand.
void checkOverlaps(Run &run) {
  const std::vector<KernelOperand> &operands = run.kernel.operands;
  for (size_t written = 0; written < operands.size(); ++written) {
    const std::vector<cudasim::Range> &ranges = run.ranges[written];
    for (size_t k = 1; run.isUsed[written] && operands[written].isWritten && k < ranges.size(); ++k)
      if (ranges[k].begin < ranges[k - 1].end)
        return fail(run, CUDA_ERROR_LAUNCH_FAILED,
                    "it writes operand " + textOf(operands[written]) + ", whose rows overlap");
  }
  for (size_t written = 0; written < operands.size(); ++written)
    for (size_t other = 0; other < operands.size(); ++other) {
      const bool isPair = run.isUsed[written] && run.isUsed[other] && operands[written].isWritten &&
                          written != other && (written < other || !operands[other].isWritten);
      if (!isPair || isInPlace(operands[written], operands[other]))
        continue;
      if (const std::optional<cudasim::Range> common = overlap(run.ranges[written], run.ranges[other]))
        fail(run, CUDA_ERROR_LAUNCH_FAILED,
             "it writes operand " + textOf(operands[written]) + ", which overlaps operand " +
                 textOf(operands[other]) + " from " + hex(common->begin) + " on");
    }
}

} // namespace

Outcome runHostKernel(const HostKernel &kernel) {
  const size_t count = kernel.operands.size();
  Run run{kernel, std::vector<bool>(count), std::vector<std::vector<cudasim::Range>>(count), {}};
  kernel.body(kernel.payload.get(), useOperand, &run);
  if (run.outcome.code == CUDA_SUCCESS)
    checkOverlaps(run);
  if (run.outcome.code != CUDA_SUCCESS)
    return std::move(run.outcome);
  Accesses &accesses = run.outcome.accesses;
  for (size_t k = 0; k < count; ++k) {
    const auto &ranges = run.ranges[k];
    if (run.isUsed[k] && kernel.operands[k].isRead)
      accesses.reads.insert(accesses.reads.end(), ranges.begin(), ranges.end());
    if (run.isUsed[k] && kernel.operands[k].isWritten)
      accesses.writes.insert(accesses.writes.end(), ranges.begin(), ranges.end());
  }
  run.outcome.nanoseconds = kernel.nanoseconds;
  return std::move(run.outcome);
}

} // namespace weft::cusim
