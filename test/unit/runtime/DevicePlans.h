//===- DevicePlans.h - Plans of a separate device ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_RUNTIME_DEVICEPLANS_H
#define WEFT_TEST_UNIT_RUNTIME_DEVICEPLANS_H

#include "PlanFixture.h"

#include "test/unit/codegen/SeparateDevice.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft::runtime::test {

using weft::testing::SeparateDevice;

/// The plan on "cuda:0", which is the separate device.
inline PlanBuilder on_device(PlanBuilder b) {
  for (auto &argument : b.plan.arguments)
    argument->type->device = "cuda:0";
  for (auto &result : b.plan.results)
    result->type->device = "cuda:0";
  auto part = std::make_unique<fb::DevicePartT>();
  part->name = "cuda:0";
  part->arena_bytes = b.plan.arena_bytes;
  b.plan.devices.push_back(std::move(part));
  auto segment = std::make_unique<fb::SegmentT>();
  segment->launches = static_cast<uint32_t>(b.plan.launches.size());
  b.plan.segments.push_back(std::move(segment));
  return b;
}

inline DeviceMap device_map() { return {{"cuda:0", &SeparateDevice::get(0)}}; }

inline std::shared_ptr<Buffer> moved(const std::shared_ptr<Buffer> &from) {
  auto buffer = Buffer::allocate(from->bytes(), 0, SeparateDevice::get(0)).value_or_throw();
  EXPECT_TRUE(
      buffer->write(0, std::as_bytes(std::span(static_cast<const std::byte *>(from->data()), from->bytes())))
          .ok());
  return buffer;
}

inline std::vector<float> read(const Buffer &buffer) {
  std::vector<float> values(buffer.bytes() / sizeof(float));
  EXPECT_TRUE(buffer.read(0, std::as_writable_bytes(std::span(values))).ok());
  return values;
}

} // namespace weft::runtime::test

#endif // WEFT_TEST_UNIT_RUNTIME_DEVICEPLANS_H
