//===- Upload.h - Values of the host on a device ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies that are no part of a program. The tensors of a model are many and mostly small, so that one copy
// for each costs more than their bytes; and a loader's batches are copied while programs compute.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_LAZY_UPLOAD_H
#define WEFT_FRONTEND_LAZY_UPLOAD_H

#include "frontend/graph/Graph.h"

#include "runtime/device/Device.h"
#include "runtime/queue/Buffer.h"

#include <memory>
#include <vector>

namespace weft::frontend {

/// Computes values of the host, and copies them to a device that is there, which is not the host. Those of up
/// to 256 KiB are one copy together for every 32 MiB, and each gets memory of its own there. Returns leaves
/// with the same elements.
std::vector<Ref> uploadTogether(const std::vector<Ref> &values, const Device &device, Loc loc);

/// A stream of copies to a device, beside those of calls.
class UploadStream {
public:
  explicit UploadStream(runtime::Device &device, Loc loc);
  /// A leaf on the device with the bytes of pinned memory of the host. Nobody waits: what reads the leaf
  /// waits for the copy on the device, and the pinned memory is kept for it.
  Ref upload(Spec spec, const Device &device, runtime::Buffer &pinned, Loc loc);

private:
  std::unique_ptr<runtime::DeviceStream> stream_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_LAZY_UPLOAD_H
