//===- Safetensors.h - The safetensors format ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_SAFETENSORS_H
#define WEFT_FRONTEND_IO_SAFETENSORS_H

#include "frontend/io/ByteSource.h"
#include "frontend/io/HostArray.h"

#include <utility>

namespace weft::io {

using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A tensor as the header describes it.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  uint64_t offset = 0, bytes = 0; ///< in the file
};

struct SafetensorsIndex {
  std::vector<SafetensorsEntry> entries; ///< in the header's order
  Metadata metadata;                     ///< `__metadata__`
  const SafetensorsEntry *find(std::string_view name) const;
};

struct Safetensors {
  std::vector<NamedArray> tensors;
  Metadata metadata;
};

/// Reads and checks the header: the tensors must fill the rest of the file without overlap or gap.
Expected<SafetensorsIndex> read_safetensors_index(const ByteSource &source);
/// Reads the elements of one tensor of the index.
Expected<HostArray> read_safetensor(const ByteSource &source, const SafetensorsEntry &entry);

/// Reads everything.
Expected<Safetensors> read_safetensors(const std::string &path);
Expected<Safetensors> read_safetensors(const ByteSource &source);

/// Writes to a temporary file first. Larger element types come first, and names in order among equals, so
/// every tensor is aligned to its element and the same tensors give the same bytes.
Status write_safetensors(const std::string &path, std::span<const NamedView> tensors,
                         const Metadata &metadata = {});

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_SAFETENSORS_H
