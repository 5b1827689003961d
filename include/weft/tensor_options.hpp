//===- tensor_options.hpp - Parameter types that are not tensors ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types of parameters that are no tensors: shapes and lists of dimensions, source lines, positions,
// options of the functions that make tensors, and the dtypes of C++ types.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TENSOR_OPTIONS_HPP
#define WEFT_TENSOR_OPTIONS_HPP

#include "weft/device.hpp"
#include "weft/dtype.hpp"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

namespace weft {

using Shape = std::vector<int64_t>;

/// A parameter that is a list of integers, sizes or dimensions: a number, numbers in braces, or a vector, as
/// in `x.sum(-1)`, `x.sum({0, 1})`, `zeros(y.sizes())`.
struct IntList : std::vector<int64_t> {
  IntList() = default;
  IntList(std::initializer_list<int64_t> list) : vector(list) {}
  IntList(std::vector<int64_t> list) : vector(std::move(list)) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  IntList(T number) : vector{static_cast<int64_t>(number)} {}
};

/// Options of the functions that make tensors. The dtype is f32 (i64 for integer data, i1 for bool) and the
/// device the CPU where they are left out.
struct TensorOptions {
  std::optional<DType> dtype = {};
  Device device = creation_device();
  bool requires_grad = false;
};

/// Options of the functions that make a tensor like another one, whose dtype and device it has where they are
/// left out.
struct LikeOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
};

/// How a tensor is copied between devices.
struct MoveOptions {
  /// To the host: the copy is made in pinned memory, and does not wait for the work before it. Whoever reads
  /// its value waits for it, as for every value. From the host, a copy out of pinned memory
  /// (Tensor::pin_memory) never waits.
  bool non_blocking = false;
};

/// An index with the source line where it was written, since an operator cannot have a default argument.
struct Position {
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Position(T index, Loc loc = Loc::current()) : index(static_cast<int64_t>(index)), loc(loc) {}
  int64_t index;
  Loc loc;
};

template <typename T> struct dtype_of;
#define WEFT_DTYPE_OF(Type, value)                                                                           \
  template <> struct dtype_of<Type> {                                                                        \
    static constexpr DType value_ = DType::value;                                                            \
  };
WEFT_DTYPE_OF(bool, i1)
WEFT_DTYPE_OF(int8_t, i8)
WEFT_DTYPE_OF(int16_t, i16)
WEFT_DTYPE_OF(int32_t, i32)
WEFT_DTYPE_OF(int64_t, i64)
WEFT_DTYPE_OF(uint8_t, ui8)
WEFT_DTYPE_OF(float, f32)
WEFT_DTYPE_OF(double, f64)
#undef WEFT_DTYPE_OF

} // namespace weft

#endif // WEFT_TENSOR_OPTIONS_HPP
