//===- ops_windows.cpp - Convolutions, pooling, norms of channels ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;
using parity::Args;
using parity::Tensors;

// Arguments: input, weight, bias, stride, padding, dilation, groups.
template <typename Function> static parity::Function convolution(Function function) {
  return [function](const Args &a) {
    ConvOptions options{.stride = a.list(3, {1}), .dilation = a.list(5, {1}), .groups = a.whole(6, 1)};
    if (a.has(4) && std::holds_alternative<std::string>(a.values[4]))
      options.padding = a.word(4);
    else
      options.padding = IntList(a.list(4, {0}));
    return Tensors{function(a.tensor(0), a.tensor(1), a.tensorOrNone(2), options, Loc::current())};
  };
}

// Arguments: input, weight, bias, stride, padding, output_padding, groups, dilation.
template <typename Function> static parity::Function transposedConvolution(Function function) {
  return [function](const Args &a) {
    ConvTransposeOptions options{.stride = a.list(3, {1}),
                                 .padding = a.list(4, {0}),
                                 .output_padding = a.list(5, {0}),
                                 .groups = a.whole(6, 1),
                                 .dilation = a.list(7, {1})};
    return Tensors{function(a.tensor(0), a.tensor(1), a.tensorOrNone(2), options, Loc::current())};
  };
}

// Arguments: input, kernel_size, stride, padding, dilation, ceil_mode, return_indices.
template <typename Function> static parity::Function maxPool(Function function) {
  return [function](const Args &a) {
    MaxPoolOptions options{.stride = a.list(2, {}),
                           .padding = a.list(3, {0}),
                           .dilation = a.list(4, {1}),
                           .ceil_mode = a.flag(5)};
    ValuesIndices result = function(a.tensor(0), a.list(1), options, Loc::current());
    return a.flag(6) ? Tensors{result.values, result.indices} : Tensors{result.values};
  };
}

// Arguments: input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override.
template <typename Function> static parity::Function avgPool(Function function) {
  return [function](const Args &a) {
    AvgPoolOptions options{.stride = a.list(2, {}),
                           .padding = a.list(3, {0}),
                           .ceil_mode = a.flag(4),
                           .count_include_pad = a.flag(5, true)};
    if (a.has(6))
      options.divisor_override = a.whole(6);
    return Tensors{function(a.tensor(0), a.list(1), options, Loc::current())};
  };
}

// Arguments: input, output_size.
template <typename Function> static parity::Function adaptiveAvg(Function function) {
  return [function](const Args &a) { return Tensors{function(a.tensor(0), a.list(1), Loc::current())}; };
}

// Arguments: input, output_size, return_indices.
template <typename Function> static parity::Function adaptiveMax(Function function) {
  return [function](const Args &a) {
    ValuesIndices result = function(a.tensor(0), a.list(1), Loc::current());
    return a.flag(2) ? Tensors{result.values, result.indices} : Tensors{result.values};
  };
}

void parity::addWindows(Table &table) {
  table["conv1d"] = convolution(conv1d);
  table["conv2d"] = convolution(conv2d);
  table["conv3d"] = convolution(conv3d);
  table["conv_transpose1d"] = transposedConvolution(conv_transpose1d);
  table["conv_transpose2d"] = transposedConvolution(conv_transpose2d);
  table["conv_transpose3d"] = transposedConvolution(conv_transpose3d);
  table["max_pool1d"] = maxPool(max_pool1d_with_indices);
  table["max_pool2d"] = maxPool(max_pool2d_with_indices);
  table["max_pool3d"] = maxPool(max_pool3d_with_indices);
  table["avg_pool1d"] = avgPool(avg_pool1d);
  table["avg_pool2d"] = avgPool(avg_pool2d);
  table["avg_pool3d"] = avgPool(avg_pool3d);
  table["adaptive_avg_pool1d"] = adaptiveAvg(adaptive_avg_pool1d);
  table["adaptive_avg_pool2d"] = adaptiveAvg(adaptive_avg_pool2d);
  table["adaptive_avg_pool3d"] = adaptiveAvg(adaptive_avg_pool3d);
  table["adaptive_max_pool1d"] = adaptiveMax(adaptive_max_pool1d_with_indices);
  table["adaptive_max_pool2d"] = adaptiveMax(adaptive_max_pool2d_with_indices);
  table["adaptive_max_pool3d"] = adaptiveMax(adaptive_max_pool3d_with_indices);
  // Arguments: input, running_mean, running_var, weight, bias, training, momentum, eps.
  table["batch_norm"] = [](const Args &a) {
    return Tensors{batch_norm(a.tensor(0), a.tensorOrNone(1), a.tensorOrNone(2),
                              {.weight = a.tensorOrNone(3),
                               .bias = a.tensorOrNone(4),
                               .training = a.flag(5),
                               .momentum = a.real(6, 0.1),
                               .eps = a.real(7, 1e-5)})};
  };
  table["group_norm"] = [](const Args &a) {
    return Tensors{
        group_norm(a.tensor(0), a.whole(1), a.tensorOrNone(2), a.tensorOrNone(3), a.real(4, 1e-5))};
  };
}
