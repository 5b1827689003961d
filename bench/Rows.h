//===- Rows.h - The rows of the benchmark -----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_BENCH_ROWS_H
#define WEFT_BENCH_ROWS_H

#include "Timing.h"

#include <cstdint>

namespace weft::bench {

/// The measurements of one row.
struct RowResult {
  std::vector<Samples> samples; ///< "weft", "hand", "copy"
  int64_t bytes = 0;            ///< read and written once; 0 where the row is not about memory
  std::vector<std::pair<std::string, double>> figures; ///< more, by name with the unit
  std::string note;
};

struct Row {
  std::string name;
  RowResult (*run)();
  bool inlineQueue; ///< whether Weft computes on the thread that measures, as what it is compared with does
};

/// In the order in which they are shown.
const std::vector<Row> &rows();

RowResult run_copy();
RowResult run_mul_add();
RowResult run_gelu_sigmoid();
RowResult run_bias_relu();
RowResult run_transpose_add();
RowResult run_softmax();
RowResult run_layer_norm();
RowResult run_residual_norm_gelu();
RowResult run_column_sum();
RowResult run_full_sum();
RowResult run_softmax_middle();
RowResult run_norm_middle();
RowResult run_mean_middle();
RowResult run_var_middle();
RowResult run_one_row();
RowResult run_mlp_step();
RowResult run_deep_step();
RowResult run_lstm_step();
RowResult run_lstm_layers_step();
RowResult run_gpt_step();
RowResult run_gpt_long_step();
RowResult run_gpt_token();
RowResult run_resnet_step();
RowResult run_resnet_fast_step();
RowResult run_adam_300();
RowResult run_adam_3000();
RowResult run_loader_step();
RowResult run_small_call();
RowResult run_alternating();
RowResult run_product_i32();
RowResult run_product_bf16();
RowResult run_product_f16();
RowResult run_product_f64();
RowResult run_conv_3x3();
RowResult run_conv_3x3_deep();
RowResult run_conv_1x1();
RowResult run_conv_7x7();
RowResult run_conv_depthwise();
RowResult run_conv_3x3_gradients();
RowResult run_conv_3x3_deep_gradients();
RowResult run_conv_1x1_gradients();
RowResult run_conv_7x7_gradients();
RowResult run_conv_depthwise_gradients();
RowResult run_batch_norm();
RowResult run_max_pool();
RowResult run_bilinear();
RowResult run_sort();
RowResult run_topk();
RowResult run_topk_1000();
RowResult run_cholesky();
RowResult run_linalg_solve();
RowResult run_qr();
RowResult run_eigh();
RowResult run_svd();
RowResult run_solve_batch();
RowResult run_svd_batch();
RowResult run_fft();
RowResult run_fft_long();
RowResult run_fft_one();
RowResult run_fft_prime();
RowResult run_fft2();
RowResult run_rfft();

/// A step ("mlp_step", "adam_300") in a process that has not compiled anything: how long its first call
/// takes, as JSON.
std::string first_step(const std::string &name);

/// Times the single calls of a step, or of a loop on one thread ("loop:0.5", in milliseconds). Each line of
/// standard input requests a visit: how many seconds it lasts, and the minimum number of calls.
void serve_calls(const std::string &what);

} // namespace weft::bench

#endif // WEFT_BENCH_ROWS_H
