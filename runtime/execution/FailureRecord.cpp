//===- FailureRecord.cpp - The first violation of a call --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/FailureRecord.h"

#include <algorithm>
#include <atomic>
#include <span>

namespace weft::runtime {

void FailureRecord::reset() {
  key = noKey;
  appended = 0;
}

bool FailureRecord::lower(uint64_t to) {
  const std::atomic_ref<uint64_t> shared(key);
  uint64_t before = shared.load(std::memory_order_relaxed);
  while (to < before)
    if (shared.compare_exchange_weak(before, to, std::memory_order_relaxed))
      return true;
  return false;
}

void FailureRecord::note(uint64_t with, int64_t value) {
  if (!lower(with))
    return;
  const uint64_t place = std::atomic_ref<uint64_t>(appended).fetch_add(1, std::memory_order_relaxed);
  if (place < logEntries)
    log[place] = {with, value};
}

void FailureRecord::merge(uint32_t devices) {
  for (uint32_t i = 0; i < maxPlanDevices; ++i)
    if (devices >> i & 1)
      (void)lower(foreign[i]);
}

std::optional<int64_t> FailureRecord::value_of(uint64_t with) const {
  for (const Entry &entry : std::span(log).first(std::min(appended, logEntries)))
    if (entry.key == with)
      return entry.value;
  return std::nullopt;
}

} // namespace weft::runtime
