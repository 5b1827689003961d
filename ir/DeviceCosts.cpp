//===- DeviceCosts.cpp - Numbers of the machines that code is made for ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/DeviceCosts.h"

namespace weft::ir {

// `cpu` is a server core pair with AVX-512: 60 GB/s of copy on two cores, 5 us to hand work to a team of
// threads and about a third of that for a launch that stays on its thread. The limits are those of every
// target.
static const DeviceCosts table[] = {
    {.name = "cpu",
     .launchPs = 2'000'000,
     .dramBytesPerUs = 60'000,
     .coreBytesPerUs = 36'000,
     .cacheBytesPerUs = 90'000,
     .cacheBytes = 1 << 20,
     .cores = 2,
     .coreFlopsPerUs = 24'000,
     .loopTaskElements = 16'384,
     .maxOperands = 96,
     .maxOps = 512,
     .maxReductions = 8},
};

const DeviceCosts *findDeviceCosts(llvm::StringRef name) {
  for (const DeviceCosts &entry : table)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

llvm::StringRef deviceCostNames() { return "cpu"; }

} // namespace weft::ir
