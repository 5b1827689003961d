//===- Traffic.cpp - What a launch moves between memory and warps --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Traffic.h"

#include <algorithm>

namespace weft::cudasim {

namespace {
constexpr uint64_t sectorBytes = 32, bankBytes = 4, banks = 32;
/// What shared memory gives in one wavefront.
constexpr uint64_t wavefrontBytes = banks * bankBytes;
} // namespace

void TrafficCounter::finishGlobal(std::vector<Lane> &lanes, GlobalTraffic &into, Pages &pages) {
  std::sort(lanes.begin(), lanes.end(), [](const Lane &a, const Lane &b) { return a.address < b.address; });
  uint64_t sectors = 0, bytes = 0, nextSector = 0, end = 0;
  for (const Lane &lane : lanes) {
    const uint64_t last = lane.address + lane.bytes;
    const uint64_t firstSector = std::max(lane.address / sectorBytes, nextSector);
    const uint64_t endSector = (last + sectorBytes - 1) / sectorBytes;
    if (endSector > firstSector) {
      sectors += endSector - firstSector;
      nextSector = endSector;
    }
    for (uint64_t at = std::max(lane.address, end); at < last; ++at) {
      ++bytes;
      auto touched = pages[at / pageBytes][at % pageBytes];
      into.uniqueBytes += !touched;
      touched = true;
    }
    end = std::max(end, last);
  }
  ++into.requests;
  into.sectors += sectors;
  into.leastSectors += (bytes + sectorBytes - 1) / sectorBytes;
  lanes.clear();
}

/// Lanes with accesses of 8 and 16 bytes are served by halves and quarters of a warp: in groups that need one
/// wavefront if no two of them need different words of one bank.
void TrafficCounter::finishShared() {
  ++counted.shared.requests;
  const size_t group = wavefrontBytes / std::max<uint64_t>(shared.front().bytes, bankBytes);
  for (size_t first = 0; first < shared.size(); first += group) {
    std::vector<uint64_t> words;
    for (size_t k = first; k < std::min(shared.size(), first + group); ++k)
      for (uint64_t word = shared[k].address / bankBytes;
           word < (shared[k].address + shared[k].bytes + bankBytes - 1) / bankBytes; ++word)
        words.push_back(word);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    uint64_t inBank[banks] = {};
    for (uint64_t word : words)
      ++inBank[word % banks];
    counted.shared.wavefronts += *std::max_element(inBank, inBank + banks);
    ++counted.shared.leastWavefronts;
  }
  shared.clear();
}

} // namespace weft::cudasim
