//===- raw_kernel.hpp - Kernels in CUDA C++ -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that the program brings as text, as CuPy's RawKernel: compiled by NVRTC, launched with explicit
// blocks and threads on tensors. Calls are recorded like other operations, so they are lazy, are part of
// compiled functions and their graphs, and are saved with them. docs/cuda.md says what a kernel may do.
//
//   const RawKernel saxpy(R"(
//     extern "C" __global__ void saxpy(const float *x, float *y, float a, long long n) {
//       const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
//       if (i < n)
//         y[i] += a * x[i];
//     })", "saxpy");
//   saxpy({.grid = {(n + 255) / 256}, .block = {256}}, {x, raw::in_out(y), 2.0f, n});
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RAW_KERNEL_HPP
#define WEFT_RAW_KERNEL_HPP

#include "weft/dim.hpp"
#include "weft/tensor.hpp"

#include <concepts>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace weft {

/// How a kernel is launched.
struct RawLaunch {
  /// Blocks, in up to three dimensions. `raw::blocks` makes such a number of a size that a call chooses; if
  /// that is 0, nothing is launched.
  IntList grid = 1;
  IntList block = 1;        ///< threads of a block, in up to three dimensions
  int64_t shared_bytes = 0; ///< dynamic shared memory of a block
  /// Where a kernel without a tensor that it reads or changes runs; others run where these tensors are.
  Device device = creation_device();
};

/// What a kernel is given for one of its parameters: a tensor to read, which is the address of its elements
/// in row-major order, or a number by value. A number has the bytes of its C++ type: 2.0f is a float, 2 an
/// int, int64_t(2) a long long; so is a Size, whatever the call chooses. Others are made by the functions of
/// `weft::raw`.
class RawArgument {
public:
  enum class Role : uint8_t { in, out, zeroed, in_out, number, size };

  RawArgument(const Tensor &tensor) : role(Role::in), tensor(tensor) {}
  template <typename T>
    requires(std::is_arithmetic_v<T> && sizeof(T) <= sizeof(uint64_t))
  RawArgument(T number) : role(Role::number), dtype(dtypeOfNumber<T>()) {
    std::memcpy(&bits, &number, sizeof number);
  }

  RawArgument(const Size &size) : role(Role::size), dtype(DType::i64) {
    bits = static_cast<uint64_t>(size.entry());
  }

  Role role;
  Tensor tensor;
  Shape shape; ///< of a new tensor
  DType dtype = DType::f32;
  uint64_t bits = 0; ///< of a number, in its lowest bytes; the entry of a size

private:
  friend RawArgument makeRawArgument(Role role, Tensor tensor, Shape shape, DType dtype);
  explicit RawArgument(Role role) : role(role) {}
  template <typename T> static constexpr DType dtypeOfNumber() {
    if constexpr (std::is_same_v<T, bool>)
      return DType::i1;
    else if constexpr (std::is_floating_point_v<T>)
      return sizeof(T) == sizeof(float) ? DType::f32 : DType::f64;
    else
      return sizeof(T) == 1   ? DType::i8
             : sizeof(T) == 2 ? DType::i16
             : sizeof(T) == 4 ? DType::i32
                              : DType::i64;
  }
};

inline RawArgument makeRawArgument(RawArgument::Role role, Tensor tensor, Shape shape, DType dtype) {
  RawArgument made(role);
  made.tensor = std::move(tensor);
  made.shape = std::move(shape);
  made.dtype = dtype;
  return made;
}

namespace raw {

/// The blocks of `threads` threads each that `elements` need, for a grid: `elements / threads`, rounded up.
/// Throws Error unless `threads` is above 0.
WEFT_API int64_t blocks(const Size &elements, int64_t threads, Loc loc = Loc::current());

/// A new tensor that the kernel writes, a result of the call. Elements that it does not write have any
/// values.
inline RawArgument out(IntList shape, DType dtype = DType::f32) {
  return makeRawArgument(RawArgument::Role::out, {}, std::move(shape), dtype);
}
/// The same, full of zeros when the kernel begins.
inline RawArgument zeroed(IntList shape, DType dtype = DType::f32) {
  return makeRawArgument(RawArgument::Role::zeroed, {}, std::move(shape), dtype);
}
/// A tensor that the kernel changes. As with `y.add_(x)`, all handles and views of it see the new value, and
/// what was recorded before has the old one. The kernel works on a copy where something needs the old one.
inline RawArgument in_out(const Tensor &tensor) {
  return makeRawArgument(RawArgument::Role::in_out, tensor, {}, DType::f32);
}

} // namespace raw

/// The tensors of `raw::out` and `raw::zeroed`, in the order of the kernel's parameters.
class RawResults : public std::vector<Tensor> {
public:
  using vector::vector;
  /// The only one; throws Error if there are more, or none.
  WEFT_API operator Tensor() const;
};

class WEFT_API RawKernel {
public:
  /// `text` is CUDA C++ with a kernel `entry`, declared `extern "C" __global__ void`. It is compiled when the
  /// first program that calls it is; errors show the line of the text.
  RawKernel(std::string text, std::string entry, Loc loc = Loc::current());

  /// Records a launch. The arguments are the kernel's parameters, in order. Throws Error if they or the
  /// launch cannot be (WEFT-K004, WEFT-K005). What only the compiled text shows is thrown when a value is
  /// read.
  RawResults operator()(const RawLaunch &launch, std::vector<RawArgument> arguments,
                        Loc loc = Loc::current()) const;

private:
  std::string text_, entry_, place_;
};

} // namespace weft

#endif // WEFT_RAW_KERNEL_HPP
