//===- Traffic.h - What a launch moves between memory and warps -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts, for each instruction of a warp that accesses memory, the sectors of global memory and the
// wavefronts of shared memory that its lanes need. No cache is modelled: what is read twice is moved twice.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_TRAFFIC_H
#define WEFT_TEST_CUDASIM_TRAFFIC_H

#include "Shadow.h"

#include <bitset>
#include <unordered_map>

namespace weft::cudasim {

class TrafficCounter {
public:
  void touchGlobal(uint64_t address, uint32_t bytes, Access access) {
    (isRead(access) ? loads : stores).push_back({address, bytes});
  }
  void touchShared(uint64_t offset, uint32_t bytes) { shared.push_back({offset, bytes}); }
  /// The instruction whose lanes touched memory has ended.
  void finish() {
    if (!loads.empty())
      finishGlobal(loads, counted.loads, read);
    if (!stores.empty())
      finishGlobal(stores, counted.stores, written);
    if (!shared.empty())
      finishShared();
  }
  const Traffic &traffic() const { return counted; }

private:
  struct Lane {
    uint64_t address;
    uint32_t bytes;
  };
  static constexpr uint64_t pageBytes = 4096;
  /// The bytes that were touched, by page.
  using Pages = std::unordered_map<uint64_t, std::bitset<pageBytes>>;

  void finishGlobal(std::vector<Lane> &lanes, GlobalTraffic &into, Pages &pages);
  void finishShared();

  Traffic counted;
  std::vector<Lane> loads, stores, shared;
  Pages read, written;
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_TRAFFIC_H
