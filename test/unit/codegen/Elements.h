//===- Elements.h - Tensors of kernels that tests run -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_ELEMENTS_H
#define WEFT_TEST_UNIT_CODEGEN_ELEMENTS_H

#include "weft/dtype.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace weft::testing {

inline double fromHalf(DType dtype, uint16_t bits) {
  if (dtype == DType::bf16)
    return std::bit_cast<float>(uint32_t(bits) << 16);
  return static_cast<double>(std::bit_cast<_Float16>(bits));
}
inline uint16_t toHalf(DType dtype, float value) {
  if (dtype == DType::f16)
    return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Elements of a tensor as they lie in memory.
struct Elements {
  DType dtype;
  std::vector<std::byte> bytes;

  Elements(DType dtype, size_t count) : dtype(dtype), bytes(count * itemsize(dtype)) {}
  size_t count() const { return bytes.size() / itemsize(dtype); }
  template <typename T> T get(int64_t at) const {
    T value;
    std::memcpy(&value, bytes.data() + static_cast<size_t>(at) * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T> void put(int64_t at, T value) {
    std::memcpy(bytes.data() + static_cast<size_t>(at) * sizeof(T), &value, sizeof(T));
  }
  double real(int64_t at) const {
    return dtype == DType::f32   ? double(get<float>(at))
           : dtype == DType::f64 ? get<double>(at)
                                 : fromHalf(dtype, get<uint16_t>(at));
  }
  void putReal(int64_t at, double value) {
    if (dtype == DType::f32)
      put(at, float(value));
    else if (dtype == DType::f64)
      put(at, value);
    else
      put(at, toHalf(dtype, float(value)));
  }
  /// Sign-extended, except for ui8.
  uint64_t integer(int64_t at) const {
    switch (dtype) {
    case DType::i8:
      return uint64_t(int64_t(get<int8_t>(at)));
    case DType::ui8:
      return get<uint8_t>(at);
    case DType::i16:
      return uint64_t(int64_t(get<int16_t>(at)));
    case DType::i32:
      return uint64_t(int64_t(get<int32_t>(at)));
    default:
      return get<uint64_t>(at);
    }
  }
};

enum class Values { random, smallIntegers };

inline Elements randomElements(DType dtype, int64_t count, Values values, std::mt19937 &random) {
  Elements made(dtype, static_cast<size_t>(count));
  if (!is_floating_point(dtype)) {
    for (std::byte &byte : made.bytes)
      byte = std::byte(random());
    return made;
  }
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < count; ++i)
    made.putReal(i, values == Values::smallIntegers ? double(int(random() % 7) - 3) : normal(random));
  return made;
}

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_ELEMENTS_H
