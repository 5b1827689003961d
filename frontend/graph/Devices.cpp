//===- Devices.cpp ---------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Devices.h"

#include "runtime/device/Registry.h"

#include <cstring>

namespace weft::frontend {

bool isThere(const Device &device) {
  if (device.is_cpu())
    return true;
  const Status status = runtime::open_device(resolve(device).str()).status();
  // One that is there and cannot be opened may be opened later.
  if (!status.ok() && status.code() != "WEFT-E001")
    status.throw_if_failed();
  return status.ok();
}

runtime::Device &backendOf(const Device &device, Loc loc) {
  if (device.is_cpu())
    return runtime::host_device();
  const Expected<runtime::Device *> found = runtime::open_device(resolve(device).str());
  if (!found)
    fail(found.status(), loc);
  return **found;
}

std::shared_ptr<runtime::Buffer> allocateOn(const Device &device, size_t bytes, Loc loc) {
  auto buffer = runtime::Buffer::allocate(bytes, 0, backendOf(device, loc));
  if (!buffer)
    fail(buffer.status(), loc);
  return *std::move(buffer);
}

std::shared_ptr<runtime::Buffer> allocateTensor(const Device &device, size_t bytes, Loc loc) {
  runtime::Device &backend = backendOf(device, loc);
  const bool isOfProgram = loc.line() > 0; // otherwise there is no line that a message should name
  const std::string place = str(loc);
  const runtime::MemoryLabel label = isOfProgram
                                         ? runtime::MemoryLabel{"tensor", place, loc.file_name(), loc.line()}
                                         : runtime::MemoryLabel{"state of a generator"};
  auto buffer = runtime::Buffer::allocate(bytes, backend.allocator().intern_label(label), backend);
  if (!buffer)
    fail(buffer.status(), loc);
  return *std::move(buffer);
}

std::shared_ptr<runtime::Buffer> inHostMemory(std::shared_ptr<runtime::Buffer> buffer, Loc loc) {
  if (buffer->device().is_host())
    return buffer;
  auto copy = runtime::Buffer::allocate_pinned(buffer->bytes(), buffer->device());
  if (!copy)
    fail(copy.status(), loc);
  throwAt(buffer->read(0, {static_cast<std::byte *>((*copy)->data()), buffer->bytes()}), loc);
  return *std::move(copy);
}

void fillBuffer(runtime::Buffer &buffer, const void *data, size_t bytes, Loc loc) {
  if (buffer.device().is_host() && bytes > 0)
    std::memcpy(buffer.data(), data, bytes); // the numbers of every lazy program come by
  else
    throwAt(buffer.write(0, {static_cast<const std::byte *>(data), bytes}), loc);
}

} // namespace weft::frontend
