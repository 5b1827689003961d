//===- fuzz_plan.cpp - Any bytes as the plan of a package -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PlanVerifier.h"

#include <cstring>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace weft::runtime;
  // FlatBuffers relies on alignment. In a package, sections begin on a page.
  std::vector<uint64_t> storage(size / 8 + 1);
  std::memcpy(storage.data(), data, size);
  const auto plan = read_plan(std::as_bytes(std::span(storage)).first(size));
  if (!plan.ok()) {
    if (plan.status().message().empty())
      __builtin_trap();
    return 0;
  }
  const weft::Status status = verify_plan(**plan, 4096, nullptr);
  if (!status.ok() && status.message().empty())
    __builtin_trap();
  return 0;
}
