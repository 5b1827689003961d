//===- Transfers.cpp - Copies and fills of memory ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Transfers.h"

#include "test/cudasim/driver/Settings.h"

#include <cstring>

namespace weft::cusim {
namespace {

/// The virtual clock moves as many bytes in a nanosecond.
constexpr uint64_t bytesPerNanosecond = 16;

/// The bytes of a row on the host; null, with a message, if they are not in one live allocation of a device.
std::byte *bytesOf(uint64_t address, uint64_t bytes, std::string &problem) {
  Device *device = state().deviceOf(address);
  if (!device) {
    if (address < cudasim::Memory::base)
      return reinterpret_cast<std::byte *>(address);
    problem = hex(address) + " is no address of a device";
    return nullptr;
  }
  std::byte *found = device->memory.host(address, bytes);
  if (!found)
    problem = std::to_string(bytes) + " bytes at " + hex(address) +
              " are not in an allocation: " + device->memory.describe(address);
  return found;
}

/// Calls `act(offset of the row, its address)` for each row, and ends if that is false.
template <class Act> bool forRows(const Box &box, uint64_t rows, uint64_t planes, Act act) {
  for (uint64_t plane = 0; plane < planes; ++plane)
    for (uint64_t row = 0; row < rows; ++row)
      if (!act(plane * rows + row, box.address + plane * box.planePitch + row * box.rowPitch))
        return false;
  return true;
}

/// A message if a row of the box is not allocated; otherwise empty.
std::string problemOf(const Box &box, uint64_t width, uint64_t rows, uint64_t planes) {
  std::string problem;
  if (!box.address)
    return "the address is null";
  forRows(box, rows, planes,
          [&](uint64_t, uint64_t address) { return bytesOf(address, width, problem) != nullptr; });
  return problem;
}

std::vector<cudasim::Range> rangesOf(const Box &box, uint64_t width, uint64_t rows, uint64_t planes) {
  std::vector<cudasim::Range> ranges;
  forRows(box, rows, planes, [&](uint64_t, uint64_t address) {
    if (!ranges.empty() && ranges.back().end == address)
      ranges.back().end += width;
    else
      ranges.push_back({address, address + width});
    return true;
  });
  return ranges;
}

/// Where one side of a copy begins; CUDA_ERROR_NOT_SUPPORTED for an array.
CUresult readSide(CUmemorytype type, const void *host, CUdeviceptr device, Box &box) {
  if (type == CU_MEMORYTYPE_ARRAY)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "arrays are not supported: copy memory");
  box.address = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
  const bool isDevice = state().deviceOf(box.address);
  if (type != CU_MEMORYTYPE_UNIFIED && isDevice != (type == CU_MEMORYTYPE_DEVICE))
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  hex(box.address) + " is no address of the " + (isDevice ? "host" : "device"));
  return CUDA_SUCCESS;
}

void place(Box &box, uint64_t x, uint64_t y, uint64_t z, uint64_t pitch, uint64_t height, const Copy &copy) {
  box.rowPitch = pitch ? pitch : copy.width;
  box.planePitch = box.rowPitch * (height ? height : copy.rows);
  box.address += x + y * box.rowPitch + z * box.planePitch;
}

} // namespace

CUresult readCopy(const CUDA_MEMCPY2D &source, Copy &copy) {
  copy.width = source.WidthInBytes;
  copy.rows = source.Height;
  CUresult code = readSide(source.srcMemoryType, source.srcHost, source.srcDevice, copy.from);
  if (code == CUDA_SUCCESS)
    code = readSide(source.dstMemoryType, source.dstHost, source.dstDevice, copy.to);
  place(copy.from, source.srcXInBytes, source.srcY, 0, source.srcPitch, 0, copy);
  place(copy.to, source.dstXInBytes, source.dstY, 0, source.dstPitch, 0, copy);
  return code;
}

CUresult readCopy(const CUDA_MEMCPY3D &source, Copy &copy) {
  copy.width = source.WidthInBytes;
  copy.rows = source.Height;
  copy.planes = source.Depth;
  CUresult code = readSide(source.srcMemoryType, source.srcHost, source.srcDevice, copy.from);
  if (code == CUDA_SUCCESS)
    code = readSide(source.dstMemoryType, source.dstHost, source.dstDevice, copy.to);
  place(copy.from, source.srcXInBytes, source.srcY, source.srcZ, source.srcPitch, source.srcHeight, copy);
  place(copy.to, source.dstXInBytes, source.dstY, source.dstZ, source.dstPitch, source.dstHeight, copy);
  return code;
}

CUresult checkCopy(const Copy &copy) {
  if (copy.isEmpty())
    return CUDA_SUCCESS;
  if (copy.rows > 1 && (copy.to.rowPitch < copy.width || copy.from.rowPitch < copy.width))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the pitch is less than the width of a row");
  for (const Box *side : {&copy.to, &copy.from})
    if (std::string problem = problemOf(*side, copy.width, copy.rows, copy.planes); !problem.empty())
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    std::string(side == &copy.to ? "the destination: " : "the source: ") + problem);
  return CUDA_SUCCESS;
}

CUresult checkFill(const Fill &fill) {
  if (!fill.width || !fill.rows)
    return CUDA_SUCCESS;
  if (fill.to.address % fill.elementBytes)
    return refuse(CUDA_ERROR_INVALID_VALUE, hex(fill.to.address) + " is no multiple of the element's " +
                                                std::to_string(fill.elementBytes) + " bytes");
  if (!state().deviceOf(fill.to.address))
    return refuse(CUDA_ERROR_INVALID_VALUE, hex(fill.to.address) + " is no address of a device");
  if (fill.rows > 1 && fill.to.rowPitch < fill.width * fill.elementBytes)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the pitch is less than the width of a row");
  const std::string problem = problemOf(fill.to, fill.width * fill.elementBytes, fill.rows, 1);
  return problem.empty() ? CUDA_SUCCESS : refuse(CUDA_ERROR_INVALID_VALUE, problem);
}

bool isPageable(const Box &box, const Copy &copy) {
  if (copy.isEmpty() || state().deviceOf(box.address))
    return false;
  return !forRows(box, copy.rows, copy.planes,
                  [&](uint64_t, uint64_t address) { return state().isPinned(address, copy.width); });
}

void stage(Copy &copy) {
  copy.staged.resize(copy.width * copy.rows * copy.planes);
  forRows(copy.from, copy.rows, copy.planes, [&](uint64_t number, uint64_t address) {
    std::memcpy(copy.staged.data() + number * copy.width, reinterpret_cast<const void *>(address),
                copy.width);
    return true;
  });
}

Outcome runCopy(const Copy &copy) {
  Outcome outcome;
  if (copy.isEmpty())
    return outcome;
  std::string problem;
  forRows(copy.to, copy.rows, copy.planes, [&](uint64_t number, uint64_t address) {
    std::byte *to = bytesOf(address, copy.width, problem);
    const std::byte *from = copy.staged.data() + number * copy.width;
    if (copy.staged.empty())
      from = bytesOf(copy.from.address + number / copy.rows * copy.from.planePitch +
                         number % copy.rows * copy.from.rowPitch,
                     copy.width, problem);
    if (to && from)
      std::memmove(to, from, copy.width);
    return to && from;
  });
  if (!problem.empty()) {
    outcome.code = CUDA_ERROR_ILLEGAL_ADDRESS;
    outcome.message = problem;
    return outcome;
  }
  outcome.accesses.writes = rangesOf(copy.to, copy.width, copy.rows, copy.planes);
  if (copy.staged.empty())
    outcome.accesses.reads = rangesOf(copy.from, copy.width, copy.rows, copy.planes);
  outcome.nanoseconds = copy.width * copy.rows * copy.planes / bytesPerNanosecond;
  return outcome;
}

Outcome runFill(const Fill &fill) {
  Outcome outcome;
  const uint64_t bytes = fill.width * fill.elementBytes;
  if (!bytes || !fill.rows)
    return outcome;
  forRows(fill.to, fill.rows, 1, [&](uint64_t, uint64_t address) {
    std::byte *to = bytesOf(address, bytes, outcome.message);
    for (uint64_t k = 0; to && k < fill.width; ++k)
      std::memcpy(to + k * fill.elementBytes, &fill.value, fill.elementBytes);
    return to != nullptr;
  });
  if (!outcome.message.empty()) {
    outcome.code = CUDA_ERROR_ILLEGAL_ADDRESS;
    return outcome;
  }
  outcome.accesses.writes = rangesOf(fill.to, bytes, fill.rows, 1);
  outcome.nanoseconds = bytes * fill.rows / bytesPerNanosecond;
  return outcome;
}

} // namespace weft::cusim
