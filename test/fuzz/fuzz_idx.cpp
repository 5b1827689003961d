//===- fuzz_idx.cpp - Any bytes to the IDX reader ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace weft::io;
  const MemorySource source("fuzz.idx", std::as_bytes(std::span(data, size)));
  const weft::Expected<HostArray> array = read_idx(source);
  // An accepted file must be consistent; a refused one must have a message.
  if (array ? !ArrayView(*array).check().ok() : array.status().message().empty())
    __builtin_trap();
  return 0;
}
