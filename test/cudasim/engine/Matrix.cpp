//===- Matrix.cpp - mma.sync and ldmatrix --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products are exact, and their sum with the accumulator is formed in double precision and rounded once. How
// a GPU rounds between is not documented.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Lanes.h"
#include "Numeric.h"

namespace weft::cudasim {
namespace {

/// One form of mma: rows of A are 16 (8 for f64), columns of B are 8, `depth` is what is summed over.
struct Shape {
  std::string_view name;
  Type a, b;
  uint32_t rows, depth;
};
constexpr Shape shapes[] = {
    {"m16n8k8", Type::f16, Type::f16, 16, 8},   {"m16n8k16", Type::f16, Type::f16, 16, 16},
    {"m16n8k8", Type::bf16, Type::bf16, 16, 8}, {"m16n8k16", Type::bf16, Type::bf16, 16, 16},
    {"m16n8k4", Type::tf32, Type::tf32, 16, 4}, {"m16n8k8", Type::tf32, Type::tf32, 16, 8},
    {"m16n8k16", Type::s8, Type::s8, 16, 16},   {"m16n8k32", Type::s8, Type::s8, 16, 32},
    {"m16n8k16", Type::u8, Type::u8, 16, 16},   {"m16n8k32", Type::u8, Type::u8, 16, 32},
    {"m16n8k16", Type::s8, Type::u8, 16, 16},   {"m16n8k32", Type::s8, Type::u8, 16, 32},
    {"m16n8k16", Type::u8, Type::s8, 16, 16},   {"m16n8k32", Type::u8, Type::s8, 16, 32},
    {"m8n8k4", Type::f64, Type::f64, 8, 4},
};
constexpr uint32_t columns = 8;

uint32_t bytesOf(Type type) { return type == Type::tf32 ? 4 : sizeOf(type); }

/// Where an element of a fragment is: its lane, and its byte in the lane's registers beside each other. A row
/// of A, or a column of B, belongs to four lanes; each has `part` elements beside each other, then those of
/// the second half of the depth.
struct Place {
  uint32_t lane, number; ///< number of the element among those of the lane
};
Place placeOfA(const Shape &shape, uint32_t row, uint32_t k) {
  uint32_t part = std::max(1u, 4 / bytesOf(shape.a)), group = k / part;
  uint32_t rowHalves = shape.rows / 8;
  return {row % 8 * 4 + group % 4, (group / 4 * rowHalves + row / 8) * part + k % part};
}
Place placeOfB(const Shape &shape, uint32_t k, uint32_t column) {
  uint32_t part = std::max(1u, 4 / bytesOf(shape.b)), group = k / part;
  return {column * 4 + group % 4, group / 4 * part + k % part};
}
Place placeOfC(uint32_t row, uint32_t column) { return {row % 8 * 4 + column / 2, row / 8 * 2 + column % 2}; }

/// The bits of element `number` of a lane: elements fill registers of 4 bytes (8 for f64) from `first` on.
uint64_t element(Warp &warp, const uint32_t *first, Place place, uint32_t bytes) {
  uint32_t width = std::max(bytes, 4u), perRegister = width / bytes;
  uint64_t bits = 0;
  std::memcpy(&bits,
              warp.registers + first[place.number / perRegister] + place.lane * width +
                  place.number % perRegister * bytes,
              bytes);
  return bits;
}

double realElement(Type type, uint64_t bits) {
  switch (type) {
  case Type::f16:
    return decode(half, uint32_t(bits));
  case Type::bf16:
    return decode(brain, uint32_t(bits));
  case Type::tf32: // the lower 13 bits do not count
    return double(bitsToFloat(uint32_t(bits) & 0xFFFFE000));
  case Type::f32:
    return double(bitsToFloat(uint32_t(bits)));
  default:
    return std::bit_cast<double>(bits);
  }
}
int64_t integerElement(Type type, uint64_t bits) {
  return type == Type::s8 ? int8_t(bits) : int64_t(bits & 255);
}

struct Fragments {
  const Shape *shape;
  const uint32_t *d, *a, *b, *c;
  Type accumulator;
  bool saturates;
};

/// The 16 operands of the instruction, and what the mode says.
Fragments fragmentsOf(const Instruction &i) {
  const Shape &shape = shapes[i.mode];
  Type accumulator = Type(i.target & 255);
  uint32_t width = std::max(4u, bytesOf(shape.a));
  uint32_t forA = shape.rows * shape.depth * bytesOf(shape.a) / lanesOfWarp / width;
  uint32_t forB = columns * shape.depth * bytesOf(shape.b) / lanesOfWarp / width;
  uint32_t forC =
      shape.rows * columns * sizeOf(accumulator) / lanesOfWarp / std::max(4u, sizeOf(accumulator));
  const uint32_t *first = i.operand.data();
  return {&shape,      first,       first + forC, first + forC + forA, first + forC + forA + forB,
          accumulator, i.flags != 0};
}

uint64_t sumOf(Warp &warp, const Fragments &f, uint32_t row, uint32_t column) {
  const Shape &shape = *f.shape;
  uint64_t bits = element(warp, f.c, placeOfC(row, column), sizeOf(f.accumulator));
  if (f.accumulator == Type::s32) {
    int64_t sum = int32_t(bits);
    for (uint32_t k = 0; k < shape.depth; ++k)
      sum += integerElement(shape.a, element(warp, f.a, placeOfA(shape, row, k), 1)) *
             integerElement(shape.b, element(warp, f.b, placeOfB(shape, k, column), 1));
    return uint64_t(f.saturates ? std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX) : sum);
  }
  double sum = realElement(f.accumulator, bits);
  for (uint32_t k = 0; k < shape.depth; ++k) {
    double a = realElement(shape.a, element(warp, f.a, placeOfA(shape, row, k), bytesOf(shape.a)));
    double b = realElement(shape.b, element(warp, f.b, placeOfB(shape, k, column), bytesOf(shape.b)));
    sum = f.accumulator == Type::f64 ? __builtin_fma(a, b, sum) : sum + a * b;
  }
  if (f.accumulator == Type::f64)
    return std::bit_cast<uint64_t>(sum);
  if (f.accumulator == Type::f32)
    return floatBits(canonical(float(sum)));
  return encode(half, sum, Rounding::nearest);
}

void multiplyMatrices(Warp &warp, const Instruction &i, uint32_t mask) {
  if (mask != allLanes)
    raise(warp, FaultKind::warpMask, uint32_t(__builtin_ctz(mask)), "mma.sync without all lanes of the warp");
  Fragments f = fragmentsOf(i);
  uint64_t results[16][columns];
  for (uint32_t row = 0; row < f.shape->rows; ++row)
    for (uint32_t column = 0; column < columns; ++column)
      results[row][column] = sumOf(warp, f, row, column);
  uint32_t bytes = sizeOf(f.accumulator), width = std::max(bytes, 4u), perRegister = width / bytes;
  for (uint32_t row = 0; row < f.shape->rows; ++row)
    for (uint32_t column = 0; column < columns; ++column) {
      Place place = placeOfC(row, column);
      std::memcpy(warp.registers + f.d[place.number / perRegister] + place.lane * width +
                      place.number % perRegister * bytes,
                  &results[row][column], bytes);
    }
}

void decodeMultiply(Decoder &decoder) {
  bool known = decoder.take("sync") && decoder.take("aligned");
  known &= decoder.take("row") && decoder.take("col");
  bool saturates = decoder.take("satfinite");
  Type types[4];
  for (Type &type : types)
    type = decoder.takeType();
  size_t number = 0;
  while (number < std::size(shapes) &&
         !(shapes[number].a == types[1] && shapes[number].b == types[2] && decoder.has(shapes[number].name)))
    ++number;
  Type accumulator = types[0];
  bool integers = types[1] == Type::s8 || types[1] == Type::u8;
  bool fits = integers ? accumulator == Type::s32
              : types[1] == Type::f64
                  ? accumulator == Type::f64
                  : accumulator == Type::f32 || (accumulator == Type::f16 && types[1] == Type::f16);
  if (!known || number == std::size(shapes) || types[3] != accumulator || !fits || (saturates && !integers))
    decoder.fail("this shape or these types are not known");
  decoder.take(shapes[number].name);
  decoder.finish(4);
  Instruction made;
  made.mode = uint8_t(number);
  made.target = uint32_t(accumulator);
  Fragments f = fragmentsOf(made);
  // The text has the accumulators last, and so has the instruction: d, a, b, c.
  size_t counts[] = {size_t(f.a - f.d), size_t(f.b - f.a), size_t(f.c - f.b), size_t(f.a - f.d)};
  size_t places[] = {0, size_t(f.a - f.d), size_t(f.b - f.d), size_t(f.c - f.d)};
  Type operandTypes[] = {accumulator, types[1], types[2], accumulator};
  for (size_t k = 0; k < 4; ++k) {
    const Operand &list = decoder.operand(k);
    size_t size = list.kind == Operand::Kind::vector ? list.elements.size() : 1;
    if (size != counts[k])
      decoder.fail("operand " + std::to_string(k + 1) + " needs " + std::to_string(counts[k]) + " registers");
    Type bits = sizeOf(operandTypes[k]) == 8 ? Type::f64 : Type::b32;
    for (size_t n = 0; n < size; ++n) {
      const Operand &one = list.kind == Operand::Kind::vector ? list.elements[n] : list;
      made.operand[places[k] + n] = k ? decoder.sourceOf(one, bits) : decoder.resultOf(one, bits);
    }
  }
  Instruction &emitted = decoder.emit(multiplyMatrices);
  emitted.operand = made.operand;
  emitted.mode = made.mode;
  emitted.flags = saturates;
  emitted.target = made.target;
}

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

/// Operands: address, registers. Mode: the space above, the number of matrices below. Flags: 1 narrow, 2
/// transposed.
void loadMatrices(Warp &warp, const Instruction &i, uint32_t mask) {
  if (mask != allLanes)
    raise(warp, FaultKind::warpMask, uint32_t(__builtin_ctz(mask)), "ldmatrix without all lanes of the warp");
  uint32_t count = i.mode & 15;
  uint32_t values[4][lanesOfWarp];
  for (uint32_t matrix = 0; matrix < count; ++matrix)
    for (uint32_t row = 0; row < 8; ++row) {
      uint32_t from = matrix * 8 + row;
      const std::byte *bytes =
          locate<Space::generic>(warp, from, addressOf(warp, i, 0, from), 16, Access::read);
      for (uint32_t column = 0; column < 8; ++column) {
        uint16_t value;
        std::memcpy(&value, bytes + 2 * column, 2);
        uint32_t r = (i.flags & 2) ? column : row, c = (i.flags & 2) ? row : column;
        std::memcpy(reinterpret_cast<std::byte *>(&values[matrix][r * 4 + c / 2]) + c % 2 * 2, &value, 2);
      }
    }
  for (uint32_t matrix = 0; matrix < count; ++matrix)
    store(warp.at<uint32_t>(i.operand[1 + matrix]), values[matrix], mask);
}

void decodeLoad(Decoder &decoder) {
  bool known = decoder.take("sync") && decoder.take("aligned") && decoder.take("m8n8");
  int number = decoder.takeOneOf({"x1", "x2", "x4"});
  bool transposed = decoder.take("trans");
  bool shared = decoder.takeOneOf({"shared", "shared::cta"}) >= 0;
  known &= number >= 0 && decoder.takeType() == Type::b16;
  decoder.finish(2);
  if (!known)
    decoder.fail("this form is not known");
  uint32_t count = 1u << number;
  const Operand &list = decoder.operand(0);
  if (list.kind != Operand::Kind::vector || list.elements.size() != count)
    decoder.fail("needs " + std::to_string(count) + " registers in braces");
  Address address = decoder.address(decoder.operand(1), shared ? Space::shared : Space::generic);
  Instruction &made = decoder.emit(loadMatrices, {address.base});
  for (uint32_t k = 0; k < count; ++k)
    made.operand[1 + k] = decoder.resultOf(list.elements[k], Type::b32);
  made.immediate = address.offset;
  made.mode = uint8_t(size_t(address.space) << 4 | count);
  made.flags = uint8_t((address.narrow ? 1 : 0) | (transposed ? 2 : 0));
}

constexpr OpcodeRow rows[] = {
    {"mma", decodeMultiply},
    {"ldmatrix", decodeLoad},
};

} // namespace

std::span<const OpcodeRow> matrixOpcodes() { return rows; }

} // namespace weft::cudasim
