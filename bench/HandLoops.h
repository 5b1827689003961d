//===- HandLoops.h - What a person would write by hand ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One loop for each memory-bound row, vectorised and threaded, over memory that was touched before: the bar
// that compiled kernels are held to. Each exists with streaming and with plain stores, and the benchmark
// takes the faster. Built with -O3 -march=native -ffp-contract=off.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_BENCH_HANDLOOPS_H
#define WEFT_BENCH_HANDLOOPS_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::bench {

/// Floats on huge pages where the system gives them, aligned to 2 MiB, every page touched.
class Floats {
public:
  explicit Floats(int64_t count);
  ~Floats();
  Floats(const Floats &) = delete;
  Floats &operator=(const Floats &) = delete;
  float *data() { return data_; }
  const float *data() const { return data_; }
  int64_t size() const { return count_; }

private:
  float *data_;
  int64_t count_;
};

/// The constant that Weft and the loops add to a variance.
inline constexpr double normEps = 1e-5;

/// How the results are written.
enum class Stores { streaming, plain };

namespace hand {

/// to = from
void copy(const float *from, float *to, int64_t n, Stores stores);
/// out = x * 2 + y * y - x
void mul_add(const float *x, const float *y, float *out, int64_t n, Stores stores);
/// out = gelu_tanh(x * y + z) * sigmoid(z)
void gelu_sigmoid(const float *x, const float *y, const float *z, float *out, int64_t n, Stores stores);
/// out[i][j] = relu((x[i][j] + row[j]) * column[i])
void bias_relu(const float *x, const float *row, const float *column, float *out, int64_t rows,
               int64_t columns, Stores stores);
/// out[i][j] = x[j][i] + y[i][j]; the side is a multiple of 64.
void transpose_add(const float *x, const float *y, float *out, int64_t side, Stores stores);
/// Softmax of each row, which is read from memory once; at most 4,096 columns.
void softmax(const float *x, float *out, int64_t rows, int64_t columns, Stores stores);
/// Each row less its mean, over its standard deviation, times the weight, plus the bias; the row is read from
/// memory once.
void layer_norm(const float *x, const float *weight, const float *bias, float *out, int64_t rows,
                int64_t columns, Stores stores);
/// out = gelu_tanh(layer_norm(x + residual)); rows are read from memory once; at most 4,096 columns.
void residual_norm_gelu(const float *x, const float *residual, const float *weight, const float *bias,
                        float *out, int64_t rows, int64_t columns, Stores stores);
/// out[j] = sum over i of x[i][j]^2; at most 4,096 columns.
void column_sum(const float *x, float *out, int64_t rows, int64_t columns);
/// *out = sum of x^2
void full_sum(const float *x, float *out, int64_t n);

/// Matrices of `middle` rows and `inner` columns, `outer` of them. At most 256 rows; the columns are a
/// multiple of 128.
struct Middle {
  int64_t outer, middle, inner;
};
/// \name Over the rows of each matrix, which are read from memory once
/// @{
void softmax_middle(const float *x, float *out, const Middle &shape, Stores stores);
/// Each column less its mean, over its standard deviation.
void norm_middle(const float *x, float *out, const Middle &shape, Stores stores);
void mean_middle(const float *x, float *out, const Middle &shape);
/// With Bessel's correction.
void var_middle(const float *x, float *out, const Middle &shape);
/// @}

/// Images [batch, channels, rows, columns]; for batch_norm, a multiple of 64 pixels.
struct Images {
  int64_t batch, channels, rows, columns;
  int64_t pixels() const { return rows * columns; }
  int64_t count() const { return batch * channels * pixels(); }
};
struct NormOperands {
  const float *x, *grad; ///< of all elements; `grad` is the cotangent of the result
  const float *weight, *bias;
};
struct NormResults {
  float *y, *dx, *dweight, *dbias;
};
/// The result in training and its derivative. A channel is read from memory once.
void batch_norm(const NormOperands &operands, const NormResults &results, const Images &shape, Stores stores);
/// Windows of 3 x 3 with a stride of 2 and a padding of 1; extents are even.
void max_pool(const float *x, float *out, const Images &shape);
/// Twice as many rows and columns, with the centres of pixels in their places.
void bilinear(const float *x, float *out, const Images &shape);

} // namespace hand
} // namespace weft::bench

#endif // WEFT_BENCH_HANDLOOPS_H
