//===- fuzz_npy.cpp - Any bytes to the npy and npz readers ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Npy.h"
#include "frontend/io/Npz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace weft::io;
  const MemorySource source("fuzz.npy", std::as_bytes(std::span(data, size)));
  const weft::Expected<HostArray> array = read_npy(source);
  if (array ? !ArrayView(*array).check().ok() : array.status().message().empty())
    __builtin_trap();
  const weft::Expected<std::vector<NamedArray>> arrays = read_npz(source);
  if (!arrays)
    return arrays.status().message().empty() ? (__builtin_trap(), 0) : 0;
  for (const NamedArray &entry : *arrays)
    if (!ArrayView(entry.array).check().ok())
      __builtin_trap();
  return 0;
}
