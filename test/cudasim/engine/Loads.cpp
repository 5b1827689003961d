//===- Loads.cpp - Loads, stores, prefetches, cp.async -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Atomics.h"

#include "Access.h"
#include "Lanes.h"

#include <utility>

namespace weft::cudasim {

void raiseAccess(const Warp &warp, FaultKind kind, uint32_t lane, Space space, uint64_t address,
                 uint32_t bytes, Access access) {
  constexpr std::string_view spaces[] = {"generic", "global", "constant", "shared", "local", "parameter"};
  std::string what(spaces[size_t(space)]);
  what += isRead(access) ? " read" : access == Access::write ? " write" : " atomic";
  if (kind != FaultKind::misaligned && space == Space::global)
    what += " (" + warp.block->memory->describe(address) + ")";
  raise(warp, kind, lane, std::move(what), bytes, address);
}

std::byte *locateGeneric(Warp &warp, uint32_t lane, Space space, uint64_t address, uint32_t bytes,
                         Access access) {
  if (space == Space::shared)
    return locateShared(warp, lane, address, bytes, access);
  if (space == Space::local)
    return locateLocal(warp, lane, address, bytes, access);
  if (space == Space::global)
    return locateGlobal(warp, lane, address, bytes, access);
  if (space == Space::constant) {
    // Constants have a cache of their own, and are not counted.
    TrafficCounter *traffic = std::exchange(warp.block->traffic, nullptr);
    std::byte *found = locateGlobal(warp, lane, address, bytes, access);
    warp.block->traffic = traffic;
    return found;
  }
  if (space == Space::generic) {
    if (address - sharedWindow < windowBytes)
      return locateShared(warp, lane, address - sharedWindow, bytes, access);
    if (address - localWindow < windowBytes)
      return locateLocal(warp, lane, address - localWindow, bytes, access);
    if (address - paramWindow >= windowBytes)
      return locateGlobal(warp, lane, address, bytes, access);
    address -= paramWindow;
  }
  if (address & (bytes - 1))
    raiseAccess(warp, FaultKind::misaligned, lane, Space::param, address, bytes, access);
  if (!isRead(access))
    raiseAccess(warp, FaultKind::readOnly, lane, Space::param, address, bytes, access);
  if (address >= warp.block->parameterBytes || warp.block->parameterBytes - address < bytes)
    raiseAccess(warp, FaultKind::outOfBounds, lane, Space::param, address, bytes, access);
  // Nothing writes here: the access was refused above.
  return const_cast<std::byte *>(warp.block->parameters + address);
}

namespace {

enum LoadFlags : uint8_t { narrow = 1, synchronizes = 2, releases = 4 };

/// Operands: address, registers. Mode: the space, above the lower four bits.
template <class T, uint32_t count, Space space> void load(Warp &warp, const Instruction &i, uint32_t mask) {
  Access access = (i.flags & synchronizes) ? Access::atomicRead : Access::read;
  forLanes(mask, [&](uint32_t lane) {
    const std::byte *from = locate<space>(warp, lane, addressOf(warp, i, 0, lane), count * sizeof(T), access);
    for (uint32_t k = 0; k < count; ++k)
      std::memcpy(&warp.at<T>(i.operand[1 + k])[lane], from + k * sizeof(T), sizeof(T));
  });
}

template <class T, uint32_t count, Space space>
void storeLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  Access access = (i.flags & synchronizes) ? Access::atomic : Access::write;
  if (i.flags & releases)
    warp.block->fenced = true;
  forLanes(mask, [&](uint32_t lane) {
    std::byte *to = locate<space>(warp, lane, addressOf(warp, i, 0, lane), count * sizeof(T), access);
    for (uint32_t k = 0; k < count; ++k)
      std::memcpy(to + k * sizeof(T), &warp.at<T>(i.operand[1 + k])[lane], sizeof(T));
  });
}

/// A kernel's parameter is the same for all lanes.
template <class T> void loadParameter(Warp &warp, const Instruction &i, uint32_t mask) {
  for (uint32_t k = 0; k < i.mode; ++k) {
    T value, values[lanesOfWarp];
    std::memcpy(&value, warp.block->parameters + i.immediate + k * sizeof(T), sizeof(T));
    for (T &one : values)
      one = value;
    store(warp.at<T>(i.operand[1 + k]), values, mask);
  }
}

template <class T, uint32_t count> Handler accessIn(Space space, bool loads) {
  if (space == Space::global)
    return loads ? load<T, count, Space::global> : storeLanes<T, count, Space::global>;
  if (space == Space::shared)
    return loads ? load<T, count, Space::shared> : storeLanes<T, count, Space::shared>;
  return loads ? load<T, count, Space::generic> : storeLanes<T, count, Space::generic>;
}
template <class T> Handler accessOf(uint32_t count, Space space, bool loads) {
  switch (count) {
  case 1:
    return accessIn<T, 1>(space, loads);
  case 2:
    return accessIn<T, 2>(space, loads);
  case 4:
    return accessIn<T, 4>(space, loads);
  default:
    return accessIn<T, 8>(space, loads);
  }
}
Handler accessHandler(uint32_t bytes, uint32_t count, Space space, bool loads) {
  switch (bytes) {
  case 1:
    return accessOf<uint8_t>(count, space, loads);
  case 2:
    return accessOf<uint16_t>(count, space, loads);
  case 4:
    return accessOf<uint32_t>(count, space, loads);
  default:
    return accessOf<uint64_t>(count, space, loads);
  }
}
Handler parameterHandler(uint32_t bytes) {
  switch (bytes) {
  case 1:
    return loadParameter<uint8_t>;
  case 2:
    return loadParameter<uint16_t>;
  case 4:
    return loadParameter<uint32_t>;
  default:
    return loadParameter<uint64_t>;
  }
}

/// What caches do has no effect here.
void takeCacheHints(Decoder &decoder) {
  for (std::string_view hint :
       {"ca", "cg", "cs", "lu", "cv", "nc", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged",
        "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::evict_normal", "L2::evict_first",
        "L2::evict_last", "L2::64B", "L2::128B", "L2::256B"})
    decoder.take(hint);
}

void decodeAccess(Decoder &decoder) {
  bool loads = decoder.base() != "st";
  int order = decoder.takeOneOf({"weak", "relaxed", "acquire", "release", "volatile"});
  if (order > 0)
    decoder.takeOneOf({"cta", "cluster", "gpu", "sys"});
  Space space = takeSpace(decoder);
  takeCacheHints(decoder);
  uint32_t count = 1;
  if (int vector = decoder.takeOneOf({"v2", "v4", "v8"}); vector >= 0)
    count = 2u << vector;
  Type type = decoder.takeType();
  uint32_t bytes = sizeOf(type);
  if (!bytes || bytes > 8 || bytes * count > 32 || (isFloat(type) && type != Type::f32 && type != Type::f64))
    decoder.failType(type);
  decoder.finish(2);
  Address address = decoder.address(decoder.operand(loads ? 1 : 0), space);
  if (address.space == Space::param && !loads)
    decoder.fail("parameters of a kernel are read only");
  const Operand &list = decoder.operand(loads ? 0 : 1);
  if ((list.kind == Operand::Kind::vector ? list.elements.size() : 1) != count)
    decoder.fail("needs " + std::to_string(count) + " registers");
  std::array<uint32_t, 16> operands{address.base};
  std::vector<Decoder::Wide> wide;
  for (uint32_t k = 0; k < count; ++k) {
    const Operand &one = list.kind == Operand::Kind::vector ? list.elements[k] : list;
    if (loads) {
      wide.push_back(decoder.wideResult(one, type));
      operands[1 + k] = wide.back().offset;
    } else {
      operands[1 + k] = decoder.narrowSource(one, type);
    }
  }
  // A parameter's place is known now; a register with an address in parameter space is not.
  bool isKnown = address.space == Space::param && decoder.symbol(decoder.operand(1).name);
  uint64_t place = isKnown ? decoder.symbol(decoder.operand(1).name)->offset + uint64_t(address.offset) : 0;
  if (isKnown && (place > decoder.code().info.parameterBytes ||
                  decoder.code().info.parameterBytes - place < uint64_t(bytes) * count))
    decoder.fail("reads beyond the parameters");
  Instruction &made =
      decoder.emit(isKnown ? parameterHandler(bytes) : accessHandler(bytes, count, address.space, loads));
  made.operand = operands;
  made.immediate = isKnown ? int64_t(place) : address.offset;
  made.mode = isKnown ? uint8_t(count) : uint8_t(size_t(address.space) << 4);
  made.flags =
      uint8_t((address.narrow ? narrow : 0) | (order > 0 ? synchronizes : 0) | (order == 3 ? releases : 0));
  for (const Decoder::Wide &one : wide)
    decoder.widen(one);
}

/// Prefetches read nothing, and an address outside of every allocation is not an error.
void decodePrefetch(Decoder &decoder) {
  takeSpace(decoder);
  for (std::string_view level : {"L1", "L2", "L2::evict_last", "L2::evict_normal"})
    decoder.take(level);
  decoder.finish(1);
  decoder.address(decoder.operand(0), Space::generic);
}

//===----------------------------------------------------------------------===//
// isspacep
//===----------------------------------------------------------------------===//

void isInWindow(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t *to = warp.at<uint32_t>(i.operand[0]);
  forLanes(mask, [&](uint32_t lane) {
    uint64_t address = warp.at<uint64_t>(i.operand[1])[lane];
    bool windows[] = {address - sharedWindow < windowBytes, address - localWindow < windowBytes,
                      address - paramWindow < windowBytes};
    uint32_t inside = i.mode ? windows[i.mode - 1] : !windows[0] && !windows[1] && !windows[2];
    *to = (*to & ~(1u << lane)) | inside << lane;
  });
}
void decodeIsSpace(Decoder &decoder) {
  int space = decoder.takeOneOf({"global", "shared", "local", "param"});
  if (space < 0)
    decoder.fail("the space is not known");
  decoder.finish(2);
  uint32_t a = decoder.source(1, Type::b64);
  decoder.emit(isInWindow, {decoder.resultPredicate(decoder.operand(0)), a}).mode = uint8_t(space);
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

/// Operands: destination, source, bytes to read. Mode: bytes; the target is the second address's offset.
void copyAsync(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) {
    uint64_t to = addressOf(warp, i, 0, lane);
    if (!(i.flags & narrow) && to - sharedWindow < windowBytes)
      to -= sharedWindow;
    uint64_t from = warp.at<uint64_t>(i.operand[1])[lane] + uint64_t(int64_t(int32_t(i.target)));
    uint32_t bytes = std::min<uint32_t>(warp.at<uint32_t>(i.operand[2])[lane], i.mode);
    if (from % i.mode) // whatever is read
      raiseAccess(warp, FaultKind::misaligned, lane, Space::global, from, i.mode, Access::read);
    PendingCopy copy{lane, uint32_t(to), i.mode, warp.copyGroup[lane], i.line, {}};
    if (bytes)
      for (uint32_t k = 0; k < bytes;) {
        uint32_t part = bytes == i.mode ? bytes : 1;
        std::memcpy(copy.data.data() + k, locateGlobal(warp, lane, from + k, part, Access::read), part);
        k += part;
      }
    // Until the wait, the destination is poison.
    Shadow *shadow = warp.block->shadow;
    warp.block->shadow = nullptr;
    std::byte *place = locateShared(warp, lane, to, i.mode, Access::write);
    warp.block->shadow = shadow;
    std::memset(place, 0xFF, i.mode);
    if (shadow)
      shadow->expect(warp, lane, uint32_t(to), i.mode);
    warp.copies.push_back(copy);
  });
}

void commitGroup(Warp &warp, const Instruction &, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) { ++warp.copyGroup[lane]; });
}

/// All groups of a lane but its last `immediate` ones have arrived; with flags also what is in no group.
void waitGroup(Warp &warp, const Instruction &i, uint32_t mask) {
  auto waits = [&](const PendingCopy &copy) {
    return (mask >> copy.lane & 1) &&
           (i.flags || int64_t(copy.group) + i.immediate < int64_t(warp.copyGroup[copy.lane]));
  };
  // What arrives was counted when it was issued.
  TrafficCounter *traffic = std::exchange(warp.block->traffic, nullptr);
  for (const PendingCopy &copy : warp.copies)
    if (waits(copy)) {
      std::byte *to = locateShared(warp, copy.lane, copy.destination, copy.bytes, Access::write);
      std::memcpy(to, copy.data.data(), copy.bytes);
    }
  warp.block->traffic = traffic;
  std::erase_if(warp.copies, waits);
}

void decodeCopy(Decoder &decoder) {
  if (!decoder.take("async"))
    decoder.fail("is known as cp.async only");
  if (decoder.take("commit_group")) {
    decoder.finish(0);
    decoder.emit(commitGroup);
    return;
  }
  bool all = decoder.take("wait_all");
  if (all || decoder.take("wait_group")) {
    decoder.finish(all ? 0 : 1);
    int64_t groups = all ? 0 : decoder.constantInteger(0);
    if (groups < 0 || groups > 1 << 20)
      decoder.fail("the number of groups is not allowed");
    Instruction &made = decoder.emit(waitGroup);
    made.immediate = groups;
    made.flags = all;
    return;
  }
  bool known = decoder.takeOneOf({"ca", "cg"}) >= 0 && decoder.takeOneOf({"shared", "shared::cta"}) >= 0 &&
               decoder.take("global");
  for (std::string_view hint : {"L2::64B", "L2::128B", "L2::256B"})
    decoder.take(hint);
  decoder.finish(3, 4);
  int64_t bytes = decoder.constantInteger(2);
  if (!known || (bytes != 4 && bytes != 8 && bytes != 16))
    decoder.fail("this form is not known");
  Address to = decoder.address(decoder.operand(0), Space::shared);
  Address from = decoder.address(decoder.operand(1), Space::global);
  if (from.narrow || from.offset != int32_t(from.offset))
    decoder.fail("the source's address is not known in this form");
  uint32_t size =
      decoder.operandCount() == 4 ? decoder.source(3, Type::u32) : decoder.constant(uint64_t(bytes), 4);
  Instruction &made = decoder.emit(copyAsync, {to.base, from.base, size});
  made.immediate = to.offset;
  made.target = uint32_t(from.offset);
  made.mode = uint8_t(bytes);
  made.flags = to.narrow ? narrow : 0;
}

constexpr OpcodeRow rows[] = {
    {"ld", decodeAccess},         {"ldu", decodeAccess},         {"st", decodeAccess},
    {"prefetch", decodePrefetch}, {"prefetchu", decodePrefetch}, {"isspacep", decodeIsSpace},
    {"cp", decodeCopy},           {"atom", decodeAtomic},        {"red", decodeAtomic},
};

} // namespace

Space takeSpace(Decoder &decoder) {
  int space = decoder.takeOneOf(
      {"global", "const", "shared", "shared::cta", "local", "param", "param::entry", "param::func"});
  constexpr Space spaces[] = {Space::global, Space::constant, Space::shared, Space::shared,
                              Space::local,  Space::param,    Space::param,  Space::param};
  return space < 0 ? Space::generic : spaces[space];
}

std::span<const OpcodeRow> memoryOpcodes() { return rows; }

} // namespace weft::cudasim
