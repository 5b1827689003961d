//===- HostArray.h - A dense array in host memory ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_HOSTARRAY_H
#define WEFT_FRONTEND_IO_HOSTARRAY_H

#include "weft/dtype.hpp"
#include "weft/limits.hpp"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::io {

/// Gives memory aligned for any vector load and leaves it unset: readers overwrite all of it.
template <typename T> struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  AlignedAllocator() = default;
  template <typename U> AlignedAllocator(const AlignedAllocator<U> &) {}
  T *allocate(size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), alignment)); }
  void deallocate(T *pointer, size_t) { ::operator delete(pointer, alignment); }
  template <typename U> void construct(U *pointer) { ::new (static_cast<void *>(pointer)) U; }
  template <typename U, typename... Args> void construct(U *pointer, Args &&...args) {
    ::new (static_cast<void *>(pointer)) U(std::forward<Args>(args)...);
  }
  friend bool operator==(const AlignedAllocator &, const AlignedAllocator &) { return true; }
};
using AlignedBytes = std::vector<std::byte, AlignedAllocator<std::byte>>;

/// The product of `shape`, or an error for a negative dimension, a rank above maxRank, or an overflow. Zero
/// dimensions do not hide an overflow of the others, so that strides can be computed safely as well.
Expected<int64_t> element_count(std::span<const int64_t> shape);

/// The bytes of a dense array, with the checks of `element_count`.
Expected<uint64_t> byte_count(DType dtype, std::span<const int64_t> shape);

/// Row-major elements, little endian, 64-byte aligned; i1 takes a byte that holds 0 or 1.
struct HostArray {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  AlignedBytes bytes;

  /// An array with unset elements; an error if the size overflows or memory runs out.
  static Expected<HostArray> allocate(DType dtype, std::vector<int64_t> shape);

  int64_t elements() const { return static_cast<int64_t>(bytes.size() / itemsize(dtype)); }
  template <typename T> std::span<const T> values() const {
    return {reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T> std::span<T> values() {
    return {reinterpret_cast<T *>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// The input of a writer: elements of a dense row-major array, which the caller owns.
struct ArrayView {
  DType dtype = DType::f32;
  std::span<const int64_t> shape;
  std::span<const std::byte> bytes;

  ArrayView(DType dtype, std::span<const int64_t> shape, std::span<const std::byte> bytes)
      : dtype(dtype), shape(shape), bytes(bytes) {}
  ArrayView(const HostArray &array) : dtype(array.dtype), shape(array.shape), bytes(array.bytes) {}

  /// Whether the number of bytes fits the type and shape.
  Status check() const;
};

struct NamedArray {
  std::string name;
  HostArray array;
};

struct NamedView {
  std::string name;
  ArrayView array;
};

/// The array of this name, or null.
const HostArray *find(std::span<const NamedArray> arrays, std::string_view name);

/// An error if an i1 array holds a byte other than 0 and 1. `where` starts the message; `offset` is where the
/// elements begin in it.
Status check_bools(const HostArray &array, std::string_view where, uint64_t offset);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_HOSTARRAY_H
