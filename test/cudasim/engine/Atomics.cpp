//===- Atomics.cpp - Atomic operations -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Atomics.h"

#include "Access.h"
#include "Numeric.h"

#include <algorithm>

namespace weft::cudasim {
namespace {

enum class Operation : uint8_t {
  conjunction,
  disjunction,
  exclusive,
  exchange,
  compareSwap,
  add,
  increment,
  decrement,
  minimum,
  maximum
};
enum AtomicFlags : uint8_t { narrow = 1, releases = 2, flushes = 4 };

int64_t signExtended(uint64_t bits, uint32_t bytes) {
  uint32_t unused = 64 - 8 * bytes;
  return int64_t(bits << unused) >> unused;
}

uint64_t addHalf(const Format &format, uint64_t a, uint64_t b) {
  return encode(format, addOdd(decode(format, uint32_t(a)), decode(format, uint32_t(b))), Rounding::nearest);
}

uint64_t addReal(Type type, uint64_t a, uint64_t b, bool flush) {
  switch (type) {
  case Type::f32: {
    float x = bitsToFloat(uint32_t(a)), y = bitsToFloat(uint32_t(b));
    float sum = flush ? flushed(flushed(x) + flushed(y)) : x + y;
    return floatBits(canonical(sum));
  }
  case Type::f64:
    return std::bit_cast<uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  case Type::f16:
    return addHalf(half, a, b);
  case Type::bf16:
    return addHalf(brain, a, b);
  default: {
    const Format &format = type == Type::f16x2 ? half : brain;
    return addHalf(format, a & 0xFFFF, b & 0xFFFF) | addHalf(format, a >> 16, b >> 16) << 16;
  }
  }
}

uint64_t apply(Operation operation, Type type, uint64_t old, uint64_t b, uint64_t c, bool flush) {
  uint32_t bytes = sizeOf(type);
  bool less = isSigned(type) ? signExtended(b, bytes) < signExtended(old, bytes) : b < old;
  switch (operation) {
  case Operation::conjunction:
    return old & b;
  case Operation::disjunction:
    return old | b;
  case Operation::exclusive:
    return old ^ b;
  case Operation::exchange:
    return b;
  case Operation::compareSwap:
    return old == b ? c : old;
  case Operation::add:
    return isFloat(type) ? addReal(type, old, b, flush) : old + b;
  case Operation::increment:
    return old >= b ? 0 : old + 1;
  case Operation::decrement:
    return old == 0 || old > b ? b : old - 1;
  case Operation::minimum:
    return less ? b : old;
  case Operation::maximum:
    return less ? old : b;
  }
  return old;
}

uint64_t read(Warp &warp, uint32_t offset, uint32_t bytes, uint32_t lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, warp.registers + offset + lane * bytes, bytes);
  return bits;
}

/// Operands: address, b, c, result, 1 + operation, type. The lanes follow each other in order.
void atomic(Warp &warp, const Instruction &i, uint32_t mask) {
  Operation operation = Operation(i.operand[4]);
  Type type = Type(i.operand[5]);
  uint32_t bytes = sizeOf(type);
  if (i.flags & releases)
    warp.block->fenced = true;
  forLanes(mask, [&](uint32_t lane) {
    std::byte *place = locate<Space::generic>(warp, lane, addressOf(warp, i, 0, lane), bytes, Access::atomic);
    uint64_t old = 0;
    std::memcpy(&old, place, bytes);
    uint64_t made = apply(operation, type, old, read(warp, i.operand[1], bytes, lane),
                          read(warp, i.operand[2], bytes, lane), i.flags & flushes);
    std::memcpy(place, &made, bytes);
    std::memcpy(warp.registers + i.operand[3] + lane * bytes, &old, bytes);
  });
}

bool isKnown(Operation operation, Type type) {
  bool word = type == Type::u32 || type == Type::s32, longWord = type == Type::u64 || type == Type::s64;
  switch (operation) {
  case Operation::conjunction:
  case Operation::disjunction:
  case Operation::exclusive:
  case Operation::exchange:
    return type == Type::b32 || type == Type::b64;
  case Operation::compareSwap:
    return type == Type::b16 || type == Type::b32 || type == Type::b64;
  case Operation::add:
    return word || longWord || (isFloat(type) && type != Type::tf32);
  case Operation::increment:
  case Operation::decrement:
    return type == Type::u32;
  default:
    return word || longWord;
  }
}

} // namespace

void decodeAtomic(Decoder &decoder) {
  bool reduces = decoder.base() == "red";
  int order = decoder.takeOneOf({"relaxed", "acquire", "release", "acq_rel"});
  decoder.takeOneOf({"cta", "cluster", "gpu", "sys"});
  Space space = takeSpace(decoder);
  int operation = decoder.takeOneOf({"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"});
  decoder.take("noftz");
  Type type = decoder.takeType();
  if (operation < 0 || !isKnown(Operation(operation), type) ||
      (reduces && (operation == 3 || operation == 4)))
    decoder.fail("this operation or type is not known");
  if (space == Space::param || space == Space::constant || space == Space::local)
    decoder.fail("needs global or shared memory");
  bool swaps = Operation(operation) == Operation::compareSwap;
  decoder.finish((reduces ? 2 : 3) + swaps);
  size_t first = reduces ? 0 : 1;
  // Halves are bits in registers.
  Type bits = !isFloat(type) || type == Type::f32 || type == Type::f64 ? type
              : sizeOf(type) == 2                                      ? Type::b16
                                                                       : Type::b32;
  Address address = decoder.address(decoder.operand(first), space);
  uint32_t b = decoder.source(first + 1, bits), c = swaps ? decoder.source(first + 2, bits) : b;
  uint32_t result = reduces ? decoder.scratch(sizeOf(type)) : decoder.result(0, bits);
  Instruction &made = decoder.emit(atomic, {address.base, b, c, result, uint32_t(operation), uint32_t(type)});
  made.immediate = address.offset;
  made.mode = uint8_t(size_t(address.space) << 4);
  // Subnormals are flushed in global memory and kept in shared memory.
  made.flags = uint8_t((address.narrow ? narrow : 0) | (order >= 2 ? releases : 0) |
                       (type == Type::f32 && address.space != Space::shared ? flushes : 0));
}

} // namespace weft::cudasim
