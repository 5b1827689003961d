//===- philox.hpp - Counter-based random numbers -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011): ten
// rounds over a 128-bit counter and a 64-bit key. The same bits on every device, whatever the order in which
// they are asked for. The counter's low 64 bits are the block number and its high 64 bits the stream, so
// streams never overlap.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PHILOX_HPP
#define WEFT_PHILOX_HPP

#include <array>
#include <cstdint>

namespace weft {

/// The four lanes of one block for a counter and a key given as 32-bit words, lowest first.
constexpr std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter,
                                                std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t odd = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(even)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// The same for 64-bit halves: block `block` of stream `stream` under `key`.
constexpr std::array<uint32_t, 4> philox_block(uint64_t key, uint64_t stream, uint64_t block) {
  return philox4x32_10({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                        static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                       {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
}

/// Uniform in [0, 1): the 24 high bits times 2^-24, exact in f32.
constexpr float philox_uniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

/// Uniform in [0, bound): the high half of the 128-bit product. `bound` must not be 0.
constexpr uint64_t philox_below(uint64_t bits, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * bound) >> 64);
}

/// Reads one stream from its first block on, lane by lane.
class PhiloxSequence {
public:
  constexpr PhiloxSequence(uint64_t key, uint64_t stream) : key_(key), stream_(stream) {}

  constexpr uint32_t next32() {
    if (lane_ == 4) {
      lanes_ = philox_block(key_, stream_, block_++);
      lane_ = 0;
    }
    return lanes_[lane_++];
  }
  /// Two lanes, the first in the low half.
  constexpr uint64_t next64() {
    const uint64_t low = next32();
    return low | uint64_t{next32()} << 32;
  }
  constexpr float uniform() { return philox_uniform(next32()); }
  constexpr uint64_t below(uint64_t bound) { return philox_below(next64(), bound); }

private:
  uint64_t key_, stream_, block_ = 0;
  std::array<uint32_t, 4> lanes_{};
  unsigned lane_ = 4;
};

} // namespace weft

#endif // WEFT_PHILOX_HPP
