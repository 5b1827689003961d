//===- DeviceImageBytes.h - A section of a package -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RUNTIME_DEVICEIMAGEBYTES_H
#define WEFT_TEST_RUNTIME_DEVICEIMAGEBYTES_H

#include "runtime/plan/plan_generated.h"

#include <cstddef>
#include <vector>

namespace weft::runtime {

/// The kernels of a GPU as a package has them.
inline std::vector<std::byte> bytes_of(const fb::DeviceImageT &image) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::DeviceImage::Pack(builder, &image));
  const auto *data = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  return {data, data + builder.GetSize()};
}

} // namespace weft::runtime

#endif // WEFT_TEST_RUNTIME_DEVICEIMAGEBYTES_H
