//===- HostConvert.cpp ---------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/HostConvert.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace weft::frontend {

namespace {
/// The upper half of an f32.
struct Bf16 {
  uint16_t bits;
};

float widen(Bf16 value) {
  uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

Bf16 narrowToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

template <typename T> constexpr bool isReal = std::is_floating_point_v<T> || std::is_same_v<T, _Float16>;

template <typename To, typename From> To convertOne(From value) {
  if constexpr (std::is_same_v<From, Bf16>) {
    if constexpr (std::is_same_v<To, Bf16>)
      return value;
    else
      return convertOne<To>(widen(value));
  } else if constexpr (std::is_same_v<To, Bf16>) {
    return narrowToBf16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (isReal<From> && !isReal<To>) {
    auto wide = static_cast<double>(value);
    if (std::isnan(wide))
      return 0;
    if (wide >= std::ldexp(1.0, std::numeric_limits<To>::digits))
      return std::numeric_limits<To>::max();
    if (wide <= static_cast<double>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    return static_cast<To>(wide);
  } else {
    return static_cast<To>(value);
  }
}

template <typename Visitor> void visit(DType dtype, Visitor visitor) {
  switch (dtype) {
  case DType::i1:
    return visitor(bool());
  case DType::i8:
    return visitor(int8_t());
  case DType::i16:
    return visitor(int16_t());
  case DType::i32:
    return visitor(int32_t());
  case DType::i64:
    return visitor(int64_t());
  case DType::ui8:
    return visitor(uint8_t());
  case DType::f16:
    return visitor(_Float16());
  case DType::bf16:
    return visitor(Bf16());
  case DType::f32:
    return visitor(float());
  case DType::f64:
    return visitor(double());
  }
}
} // namespace

void convertElements(DType from, const void *source, DType to, void *target, size_t count) {
  if (from == to) {
    if (count)
      std::memcpy(target, source, count * itemsize(from));
    return;
  }
  visit(from, [&](auto fromTag) {
    visit(to, [&](auto toTag) {
      using From = decltype(fromTag);
      using To = decltype(toTag);
      const auto *in = static_cast<const From *>(source);
      auto *out = static_cast<To *>(target);
      for (size_t i = 0; i < count; ++i)
        out[i] = convertOne<To>(in[i]);
    });
  });
}

} // namespace weft::frontend
