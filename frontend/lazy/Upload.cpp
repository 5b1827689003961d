//===- Upload.cpp - Values of the host on a device -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/lazy/Upload.h"

#include "frontend/graph/Devices.h"
#include "frontend/graph/Undo.h"
#include "frontend/lazy/Lazy.h"

#include <cstring>
#include <span>

namespace weft::frontend {

using runtime::Buffer;
using runtime::CopyDirection;

static std::unique_ptr<runtime::DeviceStream> streamOf(runtime::Device &device, Loc loc) {
  auto stream = device.make_stream();
  if (!stream)
    fail(stream.status(), loc);
  return *std::move(stream);
}

namespace {

/// Copies values, the small ones by way of memory that all of them share.
class PackedUpload {
public:
  PackedUpload(runtime::Device &device, Loc loc)
      : device_(device), loc_(loc), stream_(streamOf(device, loc)) {}

  void add(const Buffer &from, const Buffer &to) {
    constexpr size_t mostPacked = size_t(256) << 10, mostTogether = size_t(32) << 20;
    if (from.bytes() == 0)
      return;
    if (from.bytes() > mostPacked) {
      check(stream_->copy(to.data(), from.data(), from.bytes(), CopyDirection::host_to_device));
      return;
    }
    if (bytes_ + from.bytes() > mostTogether)
      send();
    parts_.push_back({&from, &to, bytes_});
    bytes_ += (from.bytes() + alignment - 1) / alignment * alignment;
  }

  /// Waits for all copies.
  void finish() {
    send();
    const Expected<runtime::Point> end = stream_->record();
    check(end.status());
    check(end->wait());
  }

private:
  static constexpr size_t alignment = 256;
  struct Part {
    const Buffer *from, *to;
    size_t offset;
  };

  void check(const Status &status) const { throwAt(status, loc_); }

  void send() {
    if (parts_.empty())
      return;
    auto pinned = Buffer::allocate_pinned(bytes_, device_), there = Buffer::allocate(bytes_, 0, device_);
    check(pinned.status());
    check(there.status());
    auto *const packed = static_cast<std::byte *>((*pinned)->data());
    auto *const at = static_cast<std::byte *>((*there)->data());
    for (const Part &part : parts_)
      std::memcpy(packed + part.offset, part.from->data(), part.from->bytes());
    check(stream_->copy(at, packed, bytes_, CopyDirection::host_to_device));
    for (const Part &part : parts_)
      check(stream_->copy(part.to->data(), at + part.offset, part.from->bytes(),
                          CopyDirection::device_to_device));
    parts_.clear();
    bytes_ = 0;
    kept_.push_back(*std::move(pinned));
    kept_.push_back(*std::move(there));
  }

  runtime::Device &device_;
  const Loc loc_;
  std::vector<std::shared_ptr<Buffer>> kept_; ///< until the copies have ended
  std::unique_ptr<runtime::DeviceStream> stream_;
  std::vector<Part> parts_;
  size_t bytes_ = 0;
};

} // namespace

std::vector<Ref> uploadTogether(const std::vector<Ref> &values, const Device &device, Loc loc) {
  flush(values);
  std::vector<Ref> moved;
  PackedUpload upload(backendOf(device, loc), loc);
  for (const Ref &value : values) {
    await(*value.buffer(), value.node->loc);
    Spec spec = value.spec();
    spec.device = device;
    auto buffer = allocateTensor(device, spec.bytes(), value.node->loc);
    upload.add(*value.buffer(), *buffer);
    moved.push_back(leaf(spec, std::move(buffer), value.node->loc));
  }
  upload.finish();
  return moved;
}

UploadStream::UploadStream(runtime::Device &device, Loc loc) : stream_(streamOf(device, loc)) {}

Ref UploadStream::upload(Spec spec, const Device &device, Buffer &pinned, Loc loc) {
  spec.device = device;
  auto buffer = allocateTensor(device, pinned.bytes(), loc);
  if (pinned.bytes() > 0) {
    throwAt(stream_->copy(buffer->data(), pinned.data(), pinned.bytes(), CopyDirection::host_to_device), loc);
    const Expected<runtime::Point> end = stream_->record();
    throwAt(end.status(), loc);
    pinned.note_point(stream_->id(), *end);
    buffer->note_ready(stream_->id(), *end);
  }
  return leaf(spec, std::move(buffer), loc);
}

} // namespace weft::frontend
