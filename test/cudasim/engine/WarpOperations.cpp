//===- WarpOperations.cpp - Lanes that work together ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each instruction has a mask of member lanes. All members must execute it together; a lane that executes it
// must be a member. Lanes with different masks form groups of their own.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "Shadow.h"

#include <bit>

namespace weft::cudasim {
namespace {

std::string hexadecimal(uint32_t value) {
  std::string text = "0x";
  for (int digit = 28; digit >= 0; digit -= 4)
    text += "0123456789abcdef"[value >> digit & 15];
  return text;
}

/// Checks the mask of a lane. Lanes that have ended may be named, except in shuffles.
uint32_t members(const Warp &warp, uint32_t named, uint32_t lane, uint32_t mask, bool mayHaveEnded) {
  if (!(named >> lane & 1))
    raise(warp, FaultKind::warpMask, lane,
          "mask " + hexadecimal(named) + " without the lane that executes it");
  uint32_t needed = mayHaveEnded ? named & warp.live : named;
  if (needed & ~mask)
    raise(warp, FaultKind::warpMask, lane,
          "mask " + hexadecimal(named) + " names lane " + std::to_string(__builtin_ctz(needed & ~mask)) +
              ", which does not take part");
  return named & mask;
}

/// Calls `function(group, first lane)` for each group of lanes with one mask. False if members are still on
/// their way: then the lanes wait for them, and execute the instruction again.
template <class F>
bool forGroups(Warp &warp, const Instruction &i, uint32_t operand, uint32_t mask, bool mayHaveEnded,
               F function) {
  const uint32_t *named = warp.at<uint32_t>(operand);
  uint32_t rest = mask, missing = 0;
  forLanes(mask, [&](uint32_t lane) { missing |= named[lane] & warp.live & ~mask; });
  if (missing && warp.park(mask))
    return false;
  while (rest) {
    uint32_t first = uint32_t(__builtin_ctz(rest));
    uint32_t group = members(warp, named[first], first, mask, mayHaveEnded);
    forLanes(group, [&](uint32_t lane) {
      if (named[lane] != named[first])
        raise(warp, FaultKind::warpMask, lane,
              "mask " + hexadecimal(named[lane]) + " where a member has " + hexadecimal(named[first]));
    });
    function(group, first);
    rest &= ~group;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// shfl.sync
//===----------------------------------------------------------------------===//

enum class Shuffle : uint8_t { up, down, butterfly, index };

/// Operands: result, predicate, value, lane, clamp, mask.
void shuffle(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t values[lanesOfWarp] = {}, inside = 0;
  const uint32_t *from = warp.at<uint32_t>(i.operand[2]), *by = warp.at<uint32_t>(i.operand[3]);
  const uint32_t *clamps = warp.at<uint32_t>(i.operand[4]);
  bool complete = forGroups(warp, i, i.operand[5], mask, false, [&](uint32_t group, uint32_t) {
    forLanes(group, [&](uint32_t lane) {
      int32_t clamp = int32_t(clamps[lane] & 31), segment = int32_t(clamps[lane] >> 8 & 31);
      int32_t self = int32_t(lane), step = int32_t(by[lane] & 31);
      int32_t last = (self & segment) | (clamp & ~segment), first = self & segment;
      int32_t source = self;
      bool valid = false;
      switch (Shuffle(i.mode)) {
      case Shuffle::up:
        source = self - step;
        valid = source >= last;
        break;
      case Shuffle::down:
        source = self + step;
        valid = source <= last;
        break;
      case Shuffle::butterfly:
        source = self ^ step;
        valid = source <= last;
        break;
      case Shuffle::index:
        source = first | (step & ~segment);
        valid = source <= last;
        break;
      }
      if (!valid)
        source = self;
      if (!(group >> source & 1))
        raise(warp, FaultKind::warpMask, lane,
              "shuffle from lane " + std::to_string(source) + ", which is not in the mask");
      values[lane] = from[source];
      inside |= uint32_t(valid) << lane;
    });
  });
  if (!complete)
    return;
  store(warp.at<uint32_t>(i.operand[0]), values, mask);
  uint32_t *predicate = warp.at<uint32_t>(i.operand[1]);
  *predicate = (*predicate & ~mask) | inside;
}

void decodeShuffle(Decoder &decoder) {
  bool sync = decoder.take("sync");
  int mode = decoder.takeOneOf({"up", "down", "bfly", "idx"});
  if (!sync || mode < 0 || decoder.takeType() != Type::b32)
    decoder.fail("is not of the form shfl.sync.MODE.b32");
  decoder.finish(5);
  const Operand &result = decoder.operand(0);
  bool pair = result.kind == Operand::Kind::pair;
  uint32_t value = decoder.source(1, Type::b32), by = decoder.source(2, Type::b32);
  uint32_t clamp = decoder.source(3, Type::b32), mask = decoder.source(4, Type::b32);
  uint32_t to = decoder.resultOf(pair ? result.elements[0] : result, Type::b32);
  uint32_t predicate = pair ? decoder.resultPredicate(result.elements[1]) : decoder.scratch(0);
  decoder.emit(shuffle, {to, predicate, value, by, clamp, mask}).mode = uint8_t(mode);
}

//===----------------------------------------------------------------------===//
// vote, match, redux, activemask, elect
//===----------------------------------------------------------------------===//

enum class Vote : uint8_t { all, any, uniform, ballot };

/// Operands: result, predicate, mask.
void vote(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t holds = *warp.at<uint32_t>(i.operand[1]) ^ (i.flags ? allLanes : 0), result = 0;
  uint32_t values[lanesOfWarp] = {};
  bool complete = forGroups(warp, i, i.operand[2], mask, true, [&](uint32_t group, uint32_t) {
    uint32_t yes = holds & group;
    bool value = Vote(i.mode) == Vote::all   ? yes == group
                 : Vote(i.mode) == Vote::any ? yes
                                             : !yes || yes == group;
    result |= value ? group : 0;
    forLanes(group, [&](uint32_t lane) { values[lane] = yes; });
  });
  if (!complete)
    return;
  uint32_t *to = warp.at<uint32_t>(i.operand[0]);
  if (Vote(i.mode) == Vote::ballot)
    store(to, values, mask);
  else
    *to = (*to & ~mask) | result;
}

void decodeVote(Decoder &decoder) {
  bool sync = decoder.take("sync");
  int mode = decoder.takeOneOf({"all", "any", "uni", "ballot"});
  Type type = decoder.takeType();
  bool ballot = mode == int(Vote::ballot);
  if (!sync || mode < 0 || type != (ballot ? Type::b32 : Type::pred))
    decoder.fail("is not of the form vote.sync.MODE.pred or vote.sync.ballot.b32");
  decoder.finish(3);
  bool negated;
  uint32_t predicate = decoder.predicate(decoder.operand(1), negated), mask = decoder.source(2, Type::b32);
  uint32_t to = ballot ? decoder.result(0, Type::b32) : decoder.resultPredicate(decoder.operand(0));
  Instruction &made = decoder.emit(vote, {to, predicate, mask});
  made.mode = uint8_t(mode);
  made.flags = negated;
}

/// Operands: result, predicate, value, mask. Flags: all of the group.
template <class T> void match(Warp &warp, const Instruction &i, uint32_t mask) {
  const T *a = warp.at<T>(i.operand[2]);
  uint32_t values[lanesOfWarp] = {}, equal = 0;
  bool complete = forGroups(warp, i, i.operand[3], mask, true, [&](uint32_t group, uint32_t) {
    forLanes(group, [&](uint32_t lane) {
      uint32_t same = 0;
      forLanes(group, [&](uint32_t other) { same |= uint32_t(a[other] == a[lane]) << other; });
      values[lane] = i.flags && same != group ? 0 : same;
      equal |= uint32_t(same == group) << lane;
    });
  });
  if (!complete)
    return;
  store(warp.at<uint32_t>(i.operand[0]), values, mask);
  uint32_t *predicate = warp.at<uint32_t>(i.operand[1]);
  *predicate = (*predicate & ~mask) | equal;
}

void decodeMatch(Decoder &decoder) {
  bool all = decoder.take("all"), any = decoder.take("any"), sync = decoder.take("sync");
  Type type = decoder.takeType();
  if (all == any || !sync || (type != Type::b32 && type != Type::b64))
    decoder.fail("is not of the form match.any or .all, .sync, .b32 or .b64");
  decoder.finish(3);
  const Operand &result = decoder.operand(0);
  bool pair = result.kind == Operand::Kind::pair;
  uint32_t value = decoder.source(1, type), mask = decoder.source(2, Type::b32);
  uint32_t to = decoder.resultOf(pair ? result.elements[0] : result, Type::b32);
  uint32_t predicate = pair ? decoder.resultPredicate(result.elements[1]) : decoder.scratch(0);
  decoder.emit(type == Type::b32 ? match<uint32_t> : match<uint64_t>, {to, predicate, value, mask}).flags =
      all;
}

enum class Reduction : uint8_t { add, minimum, maximum, conjunction, disjunction, exclusive };

/// Operands: result, value, mask. Flags: signed.
void reduce(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.at<uint32_t>(i.operand[1]);
  uint32_t values[lanesOfWarp] = {};
  auto combine = [&](uint32_t x, uint32_t y) -> uint32_t {
    bool less = i.flags ? int32_t(y) < int32_t(x) : y < x;
    switch (Reduction(i.mode)) {
    case Reduction::add:
      return x + y;
    case Reduction::minimum:
      return less ? y : x;
    case Reduction::maximum:
      return less ? x : y;
    case Reduction::conjunction:
      return x & y;
    case Reduction::disjunction:
      return x | y;
    default:
      return x ^ y;
    }
  };
  bool complete = forGroups(warp, i, i.operand[2], mask, true, [&](uint32_t group, uint32_t first) {
    uint32_t value = a[first];
    forLanes(group & ~(1u << first), [&](uint32_t lane) { value = combine(value, a[lane]); });
    forLanes(group, [&](uint32_t lane) { values[lane] = value; });
  });
  if (!complete)
    return;
  store(warp.at<uint32_t>(i.operand[0]), values, mask);
}

void decodeReduction(Decoder &decoder) {
  bool sync = decoder.take("sync");
  int mode = decoder.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  Type type = decoder.takeType();
  bool bits = mode >= int(Reduction::conjunction);
  if (!sync || mode < 0 || (bits ? type != Type::b32 : type != Type::u32 && type != Type::s32))
    decoder.fail("the operation or type is not known");
  decoder.finish(3);
  uint32_t value = decoder.source(1, Type::b32), mask = decoder.source(2, Type::b32);
  Instruction &made = decoder.emit(reduce, {decoder.result(0, Type::b32), value, mask});
  made.mode = uint8_t(mode);
  made.flags = isSigned(type);
}

void activeMask(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) { warp.at<uint32_t>(i.operand[0])[lane] = mask; });
}
void decodeActiveMask(Decoder &decoder) {
  if (decoder.takeType() != Type::b32)
    decoder.fail("the type must be b32");
  decoder.finish(1);
  decoder.emit(activeMask, {decoder.result(0, Type::b32)});
}

/// Operands: result, predicate, mask. The lowest member is elected.
void elect(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t values[lanesOfWarp] = {}, chosen = 0;
  bool complete = forGroups(warp, i, i.operand[2], mask, true, [&](uint32_t group, uint32_t first) {
    forLanes(group, [&](uint32_t lane) { values[lane] = first; });
    chosen |= 1u << first;
  });
  if (!complete)
    return;
  store(warp.at<uint32_t>(i.operand[0]), values, mask);
  uint32_t *predicate = warp.at<uint32_t>(i.operand[1]);
  *predicate = (*predicate & ~mask) | chosen;
}
void decodeElect(Decoder &decoder) {
  if (!decoder.take("sync"))
    decoder.fail("is known as elect.sync only");
  decoder.finish(2);
  const Operand &result = decoder.operand(0);
  if (result.kind != Operand::Kind::pair)
    decoder.fail("two results are needed");
  uint32_t mask = decoder.source(1, Type::b32), to = decoder.resultOf(result.elements[0], Type::b32);
  decoder.emit(elect, {to, decoder.resultPredicate(result.elements[1]), mask});
}

void warpBarrier(Warp &warp, const Instruction &i, uint32_t mask) {
  bool complete = forGroups(warp, i, i.operand[0], mask, true, [](uint32_t, uint32_t) {});
  if (!complete)
    return;
  ++warp.epoch;
  if (warp.block->globalShadow)
    warp.block->globalShadow->endWarpEpoch(warp);
}

constexpr OpcodeRow rows[] = {
    {"shfl", decodeShuffle},          {"vote", decodeVote},
    {"match", decodeMatch},           {"redux", decodeReduction},
    {"activemask", decodeActiveMask}, {"elect", decodeElect},
};

} // namespace

void decodeWarpBarrier(Decoder &decoder) {
  decoder.finish(1);
  decoder.emit(warpBarrier, {decoder.source(0, Type::b32)});
}

std::span<const OpcodeRow> warpOpcodes() { return rows; }

} // namespace weft::cudasim
