//===- dtype.hpp - Element types -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_DTYPE_HPP
#define WEFT_DTYPE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// The element types of a tensor. The numbers are part of the package format: append only.
enum class DType : uint8_t {
  i1 = 0,
  i8 = 1,
  i16 = 2,
  i32 = 3,
  i64 = 4,
  ui8 = 5,
  f16 = 6,
  bf16 = 7,
  f32 = 8,
  f64 = 9
};

inline constexpr DType i1 = DType::i1, i8 = DType::i8, i16 = DType::i16, i32 = DType::i32, i64 = DType::i64,
                       u8 = DType::ui8, f16 = DType::f16, bf16 = DType::bf16, f32 = DType::f32,
                       f64 = DType::f64;

/// \name PyTorch's names; torch.bool is `i1`
/// @{
inline constexpr DType int8 = i8, int16 = i16, int32 = i32, int64 = i64, uint8 = u8, float16 = f16,
                       bfloat16 = bf16, float32 = f32, float64 = f64;
/// @}

/// Bytes of one element in memory; i1 takes a byte that holds 0 or 1.
constexpr size_t itemsize(DType type) {
  switch (type) {
  case DType::i1:
  case DType::i8:
  case DType::ui8:
    return 1;
  case DType::i16:
  case DType::f16:
  case DType::bf16:
    return 2;
  case DType::i32:
  case DType::f32:
    return 4;
  case DType::i64:
  case DType::f64:
    return 8;
  }
  return 0;
}

constexpr bool is_floating_point(DType type) { return type >= DType::f16; }

/// The name as the IR spells it: "f32", "ui8", ...
constexpr std::string_view name(DType type) {
  constexpr std::string_view names[] = {"i1", "i8", "i16", "i32", "i64", "ui8", "f16", "bf16", "f32", "f64"};
  return names[static_cast<size_t>(type)];
}

/// The type that `name` names, or nothing.
constexpr std::optional<DType> parse_dtype(std::string_view text) {
  for (uint8_t i = 0; i <= static_cast<uint8_t>(DType::f64); ++i)
    if (name(static_cast<DType>(i)) == text)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace weft

#endif // WEFT_DTYPE_HPP
