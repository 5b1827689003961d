//===- creation.hpp - Making tensors -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without options the dtype is f32, unless the function says otherwise, and the device is the default one
// (set_default_device). Negative sizes, and tensors of more than 2^63 bytes, are errors.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CREATION_HPP
#define WEFT_CREATION_HPP

#include "weft/tensor.hpp"

#include <concepts>
#include <string>
#include <utility>

namespace weft {

/// Numbers as they are written down: one, or a list in braces of numbers or of lists of equal lengths.
class WEFT_API TensorData {
public:
  template <typename T>
    requires(std::is_arithmetic_v<T>)
  TensorData(T number)
      : kind(std::is_floating_point_v<T> ? DType::f32
             : std::is_same_v<T, bool>   ? DType::i1
                                         : DType::i64),
        reals{static_cast<double>(number)}, wholes{0} {
    if constexpr (std::is_integral_v<T>) {
      wholes[0] = static_cast<int64_t>(number);
      if (std::is_unsigned_v<T> && static_cast<uint64_t>(number) > INT64_MAX)
        problem = "the number " + std::to_string(number) + " does not fit in i64";
    }
  }
  TensorData(std::initializer_list<TensorData> rows);

  /// i1 if all are bools, otherwise i64 if all are integers, otherwise f32.
  DType kind = DType::f32;
  Shape shape;
  std::vector<double> reals;
  std::vector<int64_t> wholes;
  /// The error in the lists; empty if there is none.
  std::string problem;
};

/// torch.tensor: `tensor({1., 2.})` is f32, `tensor({1, 2})` i64, `tensor({true})` i1, `tensor({{1, 2}, {3,
/// 4}})` has the shape [2, 2], `tensor(3.)` is 0-dimensional; `options` may give another dtype. Lists of
/// unequal lengths, and numbers that do not fit in the dtype, are errors.
WEFT_API Tensor tensor(const TensorData &data, TensorOptions options = {}, Loc loc = Loc::current());
/// The elements of a vector, with the same dtypes: f32 for reals, i64 for whole numbers, i1 for bool.
template <typename T>
Tensor tensor(const std::vector<T> &data, TensorOptions options = {}, Loc loc = Loc::current()) {
  if (!options.dtype)
    options.dtype = std::is_same_v<T, bool>       ? DType::i1
                    : std::is_floating_point_v<T> ? DType::f32
                                                  : DType::i64;
  return Tensor::from(data, data.size(), options, loc);
}

/// Elements that the program will overwrite; they are zeros, so that every run has the same bits.
WEFT_API Tensor empty(IntList shape, TensorOptions options = {}, Loc loc = Loc::current());
/// 0, or 1, everywhere.
WEFT_API Tensor zeros(IntList shape, TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor ones(IntList shape, TensorOptions options = {}, Loc loc = Loc::current());
/// A number everywhere, or the value of a 0-dimensional tensor: f32 for reals, i64 for whole numbers, i1 for
/// bool, unless another dtype is given.
WEFT_API Tensor full(IntList shape, const Arg &value, TensorOptions options = {}, Loc loc = Loc::current());
/// With the shape, dtype and device of another tensor; no gradient is required. What the options have takes
/// the place of the other tensor's.
WEFT_API Tensor zeros_like(const Tensor &like, Loc loc = Loc::current());
WEFT_API Tensor ones_like(const Tensor &like, Loc loc = Loc::current());
WEFT_API Tensor zeros_like(const Tensor &like, LikeOptions options, Loc loc = Loc::current());
WEFT_API Tensor ones_like(const Tensor &like, LikeOptions options, Loc loc = Loc::current());
/// 0, 1, .. n-1: [n], i64 unless another dtype is given.
WEFT_API Tensor arange(int64_t n, TensorOptions options = {}, Loc loc = Loc::current());
/// The same for a number that each call of a compiled function determines (weft/dim.hpp).
WEFT_API Tensor arange(const Size &n, TensorOptions options = {}, Loc loc = Loc::current());
/// A 0-dimensional tensor.
WEFT_API Tensor scalar(double value, TensorOptions options = {}, Loc loc = Loc::current());
/// start, start + step, .. below `end` (above it, for a negative step): i64, or f32 from real bounds, unless
/// another dtype is given. A step of 0, or away from `end`, is an error.
WEFT_API Tensor arange(const Arg &start, const Arg &end, const Arg &step = Arg(1), TensorOptions options = {},
                       Loc loc = Loc::current());
/// With a step of 1: `arange(0, 5, {.dtype = f64})`.
inline Tensor arange(const Arg &start, const Arg &end, TensorOptions options, Loc loc = Loc::current()) {
  return arange(start, end, Arg(1, loc), options, loc);
}
/// The same from 0 to a real number: 0, 1, .. below `end`, f32 unless another dtype is given.
template <std::floating_point T> Tensor arange(T end, TensorOptions options = {}, Loc loc = Loc::current()) {
  return arange(Arg(0, loc), Arg(end, loc), Arg(1, loc), options, loc);
}
/// `steps` numbers at equal distances from `start` to `end`, both included; [steps], f32 unless another dtype
/// is given. A negative number of steps is an error.
WEFT_API Tensor linspace(double start, double end, int64_t steps, TensorOptions options = {},
                         Loc loc = Loc::current());
/// `steps` powers of `base`, whose exponents are those of linspace.
WEFT_API Tensor logspace(double start, double end, int64_t steps, double base = 10,
                         TensorOptions options = {}, Loc loc = Loc::current());
inline Tensor logspace(double start, double end, int64_t steps, TensorOptions options,
                       Loc loc = Loc::current()) {
  return logspace(start, end, steps, 10, options, loc);
}
/// Ones on the main diagonal of a matrix of n rows and m (or n) columns.
WEFT_API Tensor eye(int64_t n, std::optional<int64_t> m, TensorOptions options, Loc loc = Loc::current());
inline Tensor eye(int64_t n, TensorOptions options = {}, Loc loc = Loc::current()) {
  return eye(n, std::nullopt, options, loc);
}
template <std::convertible_to<std::optional<int64_t>> Columns>
Tensor eye(int64_t n, Columns m, Loc loc = Loc::current()) {
  return eye(n, std::optional<int64_t>(m), TensorOptions(), loc);
}
/// With the shape and, unless the options have others, the dtype and device of another tensor.
WEFT_API Tensor full_like(const Tensor &like, const Arg &value, Loc loc = Loc::current());
WEFT_API Tensor full_like(const Tensor &like, const Arg &value, LikeOptions options,
                          Loc loc = Loc::current());
/// `scalar` by its other name.
inline Tensor scalar_tensor(double value, TensorOptions options = {}, Loc loc = Loc::current()) {
  return scalar(value, options, loc);
}
/// `full_like` by its other name.
inline Tensor fill(const Tensor &a, const Arg &value) { return full_like(a, value, value.loc); }
WEFT_API Tensor empty_like(const Tensor &like, Loc loc = Loc::current());
WEFT_API Tensor empty_like(const Tensor &like, LikeOptions options, Loc loc = Loc::current());

/// A single option, which may be given by itself as the last argument but a source line: `zeros({3}, i64)`,
/// `zeros({3}, device)`. So in random.hpp, too.
template <typename T>
concept SingleOption = std::same_as<T, DType> || std::same_as<T, Device>;
inline TensorOptions optionsOf(DType dtype) { return {.dtype = dtype}; }
inline TensorOptions optionsOf(Device device) { return {.device = device}; }
inline LikeOptions likeOptionsOf(DType dtype) { return {.dtype = dtype}; }
inline LikeOptions likeOptionsOf(Device device) { return {.device = device}; }

#define WEFT_SINGLE_OPTION(name, First)                                                                      \
  template <SingleOption T> Tensor name(First first, T option, Loc loc = Loc::current()) {                   \
    return name(std::move(first), optionsOf(option), loc);                                                   \
  }
WEFT_SINGLE_OPTION(empty, IntList)
WEFT_SINGLE_OPTION(zeros, IntList)
WEFT_SINGLE_OPTION(ones, IntList)
WEFT_SINGLE_OPTION(arange, int64_t)
WEFT_SINGLE_OPTION(tensor, TensorData)
WEFT_SINGLE_OPTION(scalar, double)
template <SingleOption T> Tensor arange(const Size &n, T option, Loc loc = Loc::current()) {
  return arange(n, optionsOf(option), loc);
}
template <std::floating_point End, SingleOption T>
Tensor arange(End end, T option, Loc loc = Loc::current()) {
  return arange(end, optionsOf(option), loc);
}
template <SingleOption T> Tensor full(IntList shape, const Arg &value, T option, Loc loc = Loc::current()) {
  return full(std::move(shape), value, optionsOf(option), loc);
}
template <typename V, SingleOption T>
Tensor tensor(const std::vector<V> &data, T option, Loc loc = Loc::current()) {
  return tensor(data, optionsOf(option), loc);
}
template <SingleOption T>
Tensor arange(const Arg &start, const Arg &end, T option, Loc loc = Loc::current()) {
  return arange(start, end, Arg(1), optionsOf(option), loc);
}
template <SingleOption T>
Tensor arange(const Arg &start, const Arg &end, const Arg &step, T option, Loc loc = Loc::current()) {
  return arange(start, end, step, optionsOf(option), loc);
}
template <SingleOption T>
Tensor linspace(double start, double end, int64_t steps, T option, Loc loc = Loc::current()) {
  return linspace(start, end, steps, optionsOf(option), loc);
}
template <SingleOption T>
Tensor logspace(double start, double end, int64_t steps, T option, Loc loc = Loc::current()) {
  return logspace(start, end, steps, 10, optionsOf(option), loc);
}
template <SingleOption T>
Tensor logspace(double start, double end, int64_t steps, double base, T option, Loc loc = Loc::current()) {
  return logspace(start, end, steps, base, optionsOf(option), loc);
}
template <SingleOption T> Tensor eye(int64_t n, T option, Loc loc = Loc::current()) {
  return eye(n, {}, optionsOf(option), loc);
}
template <SingleOption T> Tensor eye(int64_t n, int64_t m, T option, Loc loc = Loc::current()) {
  return eye(n, m, optionsOf(option), loc);
}
template <SingleOption T> Tensor scalar_tensor(double value, T option, Loc loc = Loc::current()) {
  return scalar(value, optionsOf(option), loc);
}

#define WEFT_SINGLE_LIKE_OPTION(name)                                                                        \
  template <SingleOption T> Tensor name(const Tensor &like, T option, Loc loc = Loc::current()) {            \
    return name(like, likeOptionsOf(option), loc);                                                           \
  }
WEFT_SINGLE_LIKE_OPTION(zeros_like)
WEFT_SINGLE_LIKE_OPTION(ones_like)
WEFT_SINGLE_LIKE_OPTION(empty_like)
template <SingleOption T>
Tensor full_like(const Tensor &like, const Arg &value, T option, Loc loc = Loc::current()) {
  return full_like(like, value, likeOptionsOf(option), loc);
}

} // namespace weft

#endif // WEFT_CREATION_HPP
