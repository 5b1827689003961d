//===- PackedContraction.cpp - Products with copied operands --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/gemm/PackedContraction.h"

#include "runtime/threads/Executor.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::runtime {

ContractionShape packed_shape(const ContractionShape &shape, const Packing &packing) {
  ContractionShape s = shape;
  if (packing.a)
    s.a_strides = {s.m * s.k, s.k, 1};
  if (packing.b)
    s.b_strides = {s.k * s.n, s.n, 1};
  if (packing.c)
    s.c_strides = {s.m * s.n, s.n, 1};
  return s;
}

namespace {

using Strides = std::array<int64_t, 3>;

size_t lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Copies `rows` x `columns` elements. In tiles, so that each cache line of both sides is used completely
/// while it is cached, whichever side is strided.
template <typename T>
void copy_rows(const T *from, int64_t from_row, int64_t from_column, T *to, int64_t to_row, int64_t to_column,
               int64_t rows, int64_t columns) {
  if (from_column == 1 && to_column == 1) {
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(to + i * to_row, from + i * from_row, static_cast<size_t>(columns) * sizeof(T));
    return;
  }
  constexpr int64_t tile = 16;
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t end = std::min(begin + tile, columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = begin; j < end; ++j)
        to[i * to_row + j * to_column] = from[i * from_row + j * from_column];
  }
}

/// Copies a batch of matrices between two layouts.
template <typename T>
void copy_matrices(const void *from, const Strides &from_strides, void *to, const Strides &to_strides,
                   int64_t batch, int64_t rows, int64_t columns, bool serial) {
  constexpr int64_t height = 16, least = 1 << 14; // rows, and elements, of a task
  const int64_t bands = (rows + height - 1) / height;
  const auto body = [&](int64_t begin, int64_t end, int) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t x = task / bands, i = task % bands * height;
      copy_rows(static_cast<const T *>(from) + x * from_strides[0] + i * from_strides[1], from_strides[1],
                from_strides[2], static_cast<T *>(to) + x * to_strides[0] + i * to_strides[1], to_strides[1],
                to_strides[2], std::min(height, rows - i), columns);
    }
  };
  if (serial || batch * rows * columns <= least)
    body(0, batch * bands, 0);
  else
    executor().parallel_for(batch * bands, std::max<int64_t>(1, least / (height * columns)), body);
}

void copy_matrices(DType dtype, const void *from, const Strides &from_strides, void *to,
                   const Strides &to_strides, int64_t batch, int64_t rows, int64_t columns, bool serial) {
  // The library is used for f32 and bf16 only.
  if (itemsize(dtype) == sizeof(uint32_t))
    copy_matrices<uint32_t>(from, from_strides, to, to_strides, batch, rows, columns, serial);
  else
    copy_matrices<uint16_t>(from, from_strides, to, to_strides, batch, rows, columns, serial);
}

class PackedContraction final : public Contraction {
public:
  PackedContraction(const ContractionShape &shape, const Packing &packing,
                    std::shared_ptr<const Contraction> inner)
      : shape_(shape), packed_(packed_shape(shape, packing)), packing_(packing), inner_(std::move(inner)) {}

  size_t scratch_bytes(int width) const override {
    return (packing_.a ? bytes_of_a() : 0) + (packing_.b ? bytes_of_b() : 0) +
           (packing_.c ? bytes_of_c() * (shape_.residual ? 2 : 1) : 0) + inner_->scratch_bytes(width);
  }
  size_t workspace_bytes() const override { return inner_->workspace_bytes(); }
  bool is_one_chain() const override { return inner_->is_one_chain(); }
  std::string implementation() const override {
    return inner_->implementation() + ":packed-" + (packing_.a ? "a" : "") + (packing_.b ? "b" : "") +
           (packing_.c ? "c" : "");
  }

  Status run(const ContractionCall &call, const ContractionPlace &place) const override {
    if (place.stream)
      return refuse_stream(place);
    const ContractionShape &s = shape_, &p = packed_;
    const bool serial = place.serial;
    ContractionCall inner = call;
    auto *next = static_cast<std::byte *>(call.scratch);
    const auto take = [&](size_t bytes) { return static_cast<void *>(std::exchange(next, next + bytes)); };
    if (packing_.a) {
      void *const copy = take(bytes_of_a());
      copy_matrices(s.dtype, call.a, s.a_strides, copy, p.a_strides, s.batch, s.m, s.k, serial);
      inner.a = copy;
    }
    if (packing_.b) {
      void *const copy = take(bytes_of_b());
      copy_matrices(s.dtype, call.b, s.b_strides, copy, p.b_strides, s.batch, s.k, s.n, serial);
      inner.b = copy;
    }
    if (packing_.c)
      inner.c = take(bytes_of_c());
    if (packing_.c && s.residual) {
      void *const copy = take(bytes_of_c());
      copy_matrices(s.dtype, call.residual, s.c_strides, copy, p.c_strides, s.batch, s.m, s.n, serial);
      inner.residual = copy;
    }
    inner.scratch = next;
    if (Status status = inner_->run(inner, place); !status)
      return status;
    if (packing_.c)
      copy_matrices(s.dtype, inner.c, p.c_strides, call.c, s.c_strides, s.batch, s.m, s.n, serial);
    return {};
  }

private:
  size_t bytes(int64_t rows, int64_t columns) const {
    return lines(static_cast<size_t>(shape_.batch * rows * columns) * itemsize(shape_.dtype));
  }
  size_t bytes_of_a() const { return bytes(shape_.m, shape_.k); }
  size_t bytes_of_b() const { return bytes(shape_.k, shape_.n); }
  size_t bytes_of_c() const { return bytes(shape_.m, shape_.n); }

  const ContractionShape shape_, packed_;
  const Packing packing_;
  const std::shared_ptr<const Contraction> inner_;
};

} // namespace

std::shared_ptr<const Contraction> make_packed(const ContractionShape &shape, const Packing &packing,
                                               std::shared_ptr<const Contraction> inner) {
  return std::make_shared<PackedContraction>(shape, packing, std::move(inner));
}

} // namespace weft::runtime
