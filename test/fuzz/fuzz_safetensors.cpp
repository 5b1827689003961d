//===- fuzz_safetensors.cpp - Any bytes to the safetensors reader --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace weft::io;
  const MemorySource source("fuzz.safetensors", std::as_bytes(std::span(data, size)));
  const weft::Expected<Safetensors> file = read_safetensors(source);
  if (!file)
    return file.status().message().empty() ? (__builtin_trap(), 0) : 0;
  // In an accepted file, the header and the tensors together fill all bytes.
  uint64_t bytes = 8 + load_le<uint64_t>(reinterpret_cast<const std::byte *>(data));
  for (const NamedArray &entry : file->tensors) {
    if (!ArrayView(entry.array).check().ok())
      __builtin_trap();
    bytes += entry.array.bytes.size();
  }
  if (bytes != size)
    __builtin_trap();
  return 0;
}
