//===- dim.hpp - Dynamic dimensions -----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that is compiled with a `Dim` in the shape of an argument is compiled once for all its values:
//
//   weft::Dim batch("batch", 1, 4096);
//   auto predict = weft::compile([&](weft::Tensor x) { return model(x); }, {weft::spec({batch, 784})});
//
// In the function such a dimension is a `Size` and no number: `x.sym_size(0)` returns it, and `x.size(0)` is
// an error.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_DIM_HPP
#define WEFT_DIM_HPP

#include "weft/tensor.hpp"

#include <concepts>
#include <initializer_list>

namespace weft {

/// A dimension whose size is determined by each call, from `min` to `max`.
class WEFT_API Dim {
public:
  /// `name` is a letter, then letters, digits and underscores. Two Dims with one name are the same dimension.
  /// Throws Error for other names, and unless 0 <= min <= max.
  Dim(std::string name, int64_t min, int64_t max, Loc loc = Loc::current());
  const std::string &name() const { return name_; }
  int64_t min() const { return min_; }
  int64_t max() const { return max_; }
  friend bool operator==(const Dim &, const Dim &) = default;

private:
  std::string name_;
  int64_t min_, max_;
};

/// A number, a Dim, or a sum or product of these.
class WEFT_API Size {
public:
  /// Throws Error if the number is below -2^61 or above 2^63 - 1.
  template <std::integral T>
  Size(T number)
      : value_(entry_of_number(static_cast<int64_t>(number),
                               number > 0 && static_cast<uint64_t>(number) > INT64_MAX)) {}
  Size(const Dim &dim);

  bool is_number() const;
  /// Throws Error if the size depends on a Dim.
  int64_t number() const;
  /// "128", "784 * batch + 1".
  std::string str() const;
  const std::vector<Dim> &dims() const { return dims_; }
  /// The entry of a shape that stands for it; for a number, the number itself.
  int64_t entry() const { return value_; }
  /// The size that a shape's entry stands for.
  static Size of_entry(int64_t entry);
  friend bool operator==(const Size &a, const Size &b) { return a.value_ == b.value_; }

private:
  friend WEFT_API Size operator+(const Size &a, const Size &b);
  friend WEFT_API Size operator-(const Size &a, const Size &b);
  friend WEFT_API Size operator*(const Size &a, const Size &b);
  static int64_t entry_of_number(int64_t number, bool overflows);
  static Size join(int64_t value, const Size &a, const Size &b);
  int64_t value_;
  std::vector<Dim> dims_;
};
WEFT_API Size operator+(const Size &a, const Size &b);
WEFT_API Size operator-(const Size &a, const Size &b);
WEFT_API Size operator*(const Size &a, const Size &b);

/// A shape for the functions that take one: `x.reshape(weft::shape({x.sym_size(0), -1}))`.
WEFT_API Shape shape(std::initializer_list<Size> sizes);

namespace frontend {
WEFT_API Tensor sizeRange(const Size &start, const Size &end, const TensorOptions &options, Loc loc);
}
/// start, start + 1, .. end-1, where one of the bounds is a Size or a Dim: i64, unless another dtype is asked
/// for. Throws Error unless start <= end for every value of the dimensions.
template <typename A, typename B>
  requires(std::same_as<A, Size> || std::same_as<A, Dim> || std::same_as<B, Size> || std::same_as<B, Dim>)
Tensor arange(const A &start, const B &end, TensorOptions options = {}, Loc loc = Loc::current()) {
  return frontend::sizeRange(Size(start), Size(end), options, loc);
}

/// The type of a tensor argument of a compiled function.
struct ArgumentSpec {
  Shape shape; ///< entries of sizes
  DType dtype = DType::f32;
  Device device;
  std::vector<Dim> dims; ///< those in the shape
};
/// The spec of an argument of this shape; without a device it is on the CPU.
WEFT_API ArgumentSpec spec(std::initializer_list<Size> shape, DType dtype = DType::f32);
WEFT_API ArgumentSpec spec(std::initializer_list<Size> shape, DType dtype, Device device);

} // namespace weft

#endif // WEFT_DIM_HPP
