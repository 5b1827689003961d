//===- ContractionFixture.h - Products and what they must be -*- C++ -*- -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_RUNTIME_CONTRACTIONFIXTURE_H
#define WEFT_TEST_UNIT_RUNTIME_CONTRACTIONFIXTURE_H

#include "PlanFixture.h"

#include "runtime/gemm/Contraction.h"
#include "runtime/support/CpuLevel.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace weft::runtime::test {

// Element types by DType: storage, reading to double and exactly as the accumulator, writing.
inline uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

struct Matrix {
  DType dtype;
  std::vector<std::byte> bytes;
  Matrix(DType dtype, int64_t count) : dtype(dtype), bytes(static_cast<size_t>(count) * itemsize(dtype)) {}
  template <typename T> T &at(int64_t i) { return reinterpret_cast<T *>(bytes.data())[i]; }
  double get(int64_t i) {
    switch (dtype) {
    case DType::f64:
      return at<double>(i);
    case DType::f32:
      return at<float>(i);
    case DType::f16:
      return static_cast<double>(at<_Float16>(i));
    case DType::bf16:
      return from_bf16(at<uint16_t>(i));
    case DType::i8:
      return at<int8_t>(i);
    case DType::ui8:
      return at<uint8_t>(i);
    case DType::i16:
      return at<int16_t>(i);
    case DType::i32:
      return at<int32_t>(i);
    default:
      return static_cast<double>(at<int64_t>(i));
    }
  }
  void set(int64_t i, double value) {
    switch (dtype) {
    case DType::f64:
      at<double>(i) = value;
      break;
    case DType::f32:
      at<float>(i) = static_cast<float>(value);
      break;
    case DType::f16:
      at<_Float16>(i) = static_cast<_Float16>(value);
      break;
    case DType::bf16:
      at<uint16_t>(i) = to_bf16(static_cast<float>(value));
      break;
    default: {
      const auto whole = static_cast<int64_t>(value);
      std::memcpy(&bytes[static_cast<size_t>(i) * itemsize(dtype)], &whole, itemsize(dtype));
    }
    }
  }
};

struct Problem {
  ContractionShape shape;
  Matrix a, b, bias, residual, c;

  static ContractionShape dense(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k) {
    ContractionShape s;
    s.dtype = dtype;
    s.batch = batch;
    s.m = m;
    s.n = n;
    s.k = k;
    s.a_strides = {m * k, k, 1};
    s.b_strides = {k * n, n, 1};
    s.c_strides = {m * n, n, 1};
    return s;
  }
  static int64_t extent(const std::array<int64_t, 3> &strides, int64_t x, int64_t y, int64_t z) {
    return std::max<int64_t>(x - 1, 0) * strides[0] + std::max<int64_t>(y - 1, 0) * strides[1] +
           std::max<int64_t>(z - 1, 0) * strides[2] + 1;
  }
  explicit Problem(const ContractionShape &s, unsigned seed = 1)
      : shape(s), a(s.dtype, extent(s.a_strides, s.batch, s.m, s.k)),
        b(s.dtype, extent(s.b_strides, s.batch, s.k, s.n)), bias(s.dtype, std::max<int64_t>(s.n, 1)),
        residual(s.dtype, extent(s.c_strides, s.batch, s.m, s.n)),
        c(s.dtype, extent(s.c_strides, s.batch, s.m, s.n)) {
    std::mt19937 random(seed);
    for (Matrix *matrix : {&a, &b, &bias, &residual})
      for (size_t i = 0; i < matrix->bytes.size() / itemsize(s.dtype); ++i) {
        const int value = static_cast<int>(random() % 2001) - 1000;
        matrix->set(static_cast<int64_t>(i), is_floating_point(s.dtype) ? value / 500.0 : value);
      }
    for (std::byte &byte : c.bytes)
      byte = std::byte{0x7f};
  }
  Status run(const Contraction &contraction, bool serial = false) {
    const auto scratch = Buffer::allocate(contraction.scratch_bytes(executor().width())).value_or_throw();
    return contraction.run({a.bytes.data(), b.bytes.data(), c.bytes.data(), bias.bytes.data(),
                            residual.bytes.data(), scratch->data()},
                           {serial});
  }
  // Integers must be equal, with wrapping; floating-point results must be in the bound of a sum of k
  // products.
  void expect_right() {
    const ContractionShape &s = shape;
    const double unit = s.dtype == DType::f64    ? 0x1p-53
                        : s.dtype == DType::f32  ? 0x1p-24
                        : s.dtype == DType::f16  ? 0x1p-11
                        : s.dtype == DType::bf16 ? 0x1p-8
                                                 : 0;
    const double inner = s.dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
    for (int64_t x = 0; x < s.batch; ++x)
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
          const int64_t at = x * s.c_strides[0] + i * s.c_strides[1] + j * s.c_strides[2];
          double sum = s.bias ? bias.get(j) : 0, size = std::fabs(sum);
          if (s.residual) {
            sum += residual.get(at);
            size += std::fabs(residual.get(at));
          }
          uint64_t whole = is_floating_point(s.dtype) ? 0 : static_cast<uint64_t>(static_cast<int64_t>(sum));
          for (int64_t p = 0; p < s.k; ++p) {
            const double left = a.get(x * s.a_strides[0] + i * s.a_strides[1] + p * s.a_strides[2]);
            const double right = b.get(x * s.b_strides[0] + p * s.b_strides[1] + j * s.b_strides[2]);
            sum += left * right;
            size += std::fabs(left * right);
            if (!is_floating_point(s.dtype))
              whole += static_cast<uint64_t>(static_cast<int64_t>(left)) *
                       static_cast<uint64_t>(static_cast<int64_t>(right));
          }
          if (is_floating_point(s.dtype)) {
            const double expected = s.relu ? std::max(sum, 0.0) : sum;
            const double bound =
                (static_cast<double>(s.k) + 3) * inner * size + unit * std::fabs(sum) + 1e-300;
            ASSERT_NEAR(c.get(at), expected, bound) << x << " " << i << " " << j;
          } else {
            Matrix cut(s.dtype, 1);
            std::memcpy(cut.bytes.data(), &whole, itemsize(s.dtype));
            ASSERT_EQ(c.get(at), s.relu ? std::max(cut.get(0), 0.0) : cut.get(0))
                << x << " " << i << " " << j;
          }
        }
  }
};

inline constexpr DType dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i8,
                                   DType::ui8, DType::i16, DType::i32, DType::i64};

/// Whether the runtime has a kernel for a product that the library is asked for.
inline bool has_own_kernel(const ContractionShape &s) {
  return s.dtype == DType::f32 && cpu_level() == CpuLevel::v4;
}

} // namespace weft::runtime::test

#endif // WEFT_TEST_UNIT_RUNTIME_CONTRACTIONFIXTURE_H
