//===- Devices.h - Where values are kept ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frontend follows the address of a buffer only once inHostMemory() has returned it, or if it made the
// buffer for the host: other devices have memory that the host cannot read.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_DEVICES_H
#define WEFT_FRONTEND_GRAPH_DEVICES_H

#include "frontend/graph/Message.h"
#include "runtime/queue/Buffer.h"

namespace weft::frontend {

/// Whether this process has the device. Throws Error (WEFT-E006) if it does and cannot open it.
bool isThere(const Device &device);
/// The backend's device. Throws WEFT-E001, with the reason, if there is none.
runtime::Device &backendOf(const Device &device, Loc loc);
/// Uninitialised memory on a device.
std::shared_ptr<runtime::Buffer> allocateOn(const Device &device, size_t bytes, Loc loc);
/// The same, which reports of memory call a tensor that was made at `loc`.
std::shared_ptr<runtime::Buffer> allocateTensor(const Device &device, size_t bytes, Loc loc);
/// The buffer itself if the host can read it, else a copy. The caller has waited for what writes it.
std::shared_ptr<runtime::Buffer> inHostMemory(std::shared_ptr<runtime::Buffer> buffer, Loc loc);
/// Copies from memory of the host to the start of a buffer that nothing uses.
void fillBuffer(runtime::Buffer &buffer, const void *data, size_t bytes, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_DEVICES_H
