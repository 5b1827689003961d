//===- Access.h - Checked accesses to memory -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_ACCESS_H
#define WEFT_TEST_CUDASIM_ACCESS_H

#include "Shadow.h"
#include "Traffic.h"

namespace weft::cudasim {

/// Ends the launch because of an access that is not allowed.
[[noreturn]] void raiseAccess(const Warp &warp, FaultKind kind, uint32_t lane, Space space, uint64_t address,
                              uint32_t bytes, Access access);

/// What a read gives whose value must not be used; nothing writes it.
inline std::array<std::byte, 32> poison = [] {
  std::array<std::byte, 32> bytes;
  bytes.fill(std::byte(0xFF));
  return bytes;
}();

/// Where `bytes` bytes of an access are. Their number is a power of two, and the address must be a multiple.
inline std::byte *locateGlobal(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access) {
  if (address & (bytes - 1)) [[unlikely]]
    raiseAccess(warp, FaultKind::misaligned, lane, Space::global, address, bytes, access);
  std::byte *found = warp.block->memory->access(address, bytes);
  if (!found) [[unlikely]]
    raiseAccess(warp, warp.block->memory->isFreed(address) ? FaultKind::useAfterFree : FaultKind::outOfBounds,
                lane, Space::global, address, bytes, access);
  if (warp.block->traffic) [[unlikely]]
    warp.block->traffic->touchGlobal(address, bytes, access);
  if (warp.block->globalShadow) [[unlikely]]
    if (!warp.block->globalShadow->touch(warp, lane, address, bytes, access)) [[unlikely]]
      return poison.data();
  if (access == Access::write)
    warp.block->fenced = false;
  return found;
}

inline std::byte *locateShared(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access) {
  Block &block = *warp.block;
  if (address & (bytes - 1)) [[unlikely]]
    raiseAccess(warp, FaultKind::misaligned, lane, Space::shared, address, bytes, access);
  if (address >= block.sharedBytes || block.sharedBytes - address < bytes || !block.sharedValid[address] ||
      !block.sharedValid[address + bytes - 1]) [[unlikely]]
    raiseAccess(warp, FaultKind::outOfBounds, lane, Space::shared, address, bytes, access);
  if (block.shadow) [[unlikely]]
    block.shadow->touch(warp, lane, uint32_t(address), bytes, access);
  if (block.traffic) [[unlikely]]
    block.traffic->touchShared(address, bytes);
  return block.shared + address;
}

inline std::byte *locateLocal(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access) {
  if (address & (bytes - 1)) [[unlikely]]
    raiseAccess(warp, FaultKind::misaligned, lane, Space::local, address, bytes, access);
  if (address >= warp.localStride || warp.localStride - address < bytes || !warp.localValid[address] ||
      !warp.localValid[address + bytes - 1]) [[unlikely]]
    raiseAccess(warp, FaultKind::outOfBounds, lane, Space::local, address, bytes, access);
  return warp.local + size_t(lane) * warp.localStride + address;
}

/// The same for a generic address, or an offset in any space.
std::byte *locateGeneric(Warp &warp, uint32_t lane, Space space, uint64_t address, uint32_t bytes,
                         Access access);

template <Space space>
inline std::byte *locate(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access) {
  if constexpr (space == Space::global)
    return locateGlobal(warp, lane, address, bytes, access);
  else if constexpr (space == Space::shared)
    return locateShared(warp, lane, address, bytes, access);
  else
    return locateGeneric(warp, lane, Space(warp.current->mode >> 4), address, bytes, access);
}

/// The address that operand `number` gives a lane; bit 0 of the flags says that its register has 32 bits.
inline uint64_t addressOf(Warp &warp, const Instruction &i, uint32_t number, uint32_t lane) {
  if (i.flags & 1)
    return uint32_t(warp.at<uint32_t>(i.operand[number])[lane] + uint64_t(i.immediate));
  return warp.at<uint64_t>(i.operand[number])[lane] + uint64_t(i.immediate);
}

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_ACCESS_H
