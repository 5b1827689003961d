//===- lazy_tensors.cpp - Just compute: nothing is compiled by hand ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

int main() {
  std::vector<float> host_data(4096 * 1024);
  for (size_t i = 0; i < host_data.size(); ++i)
    host_data[i] = static_cast<float>(i % 1000) / 1000;

  Tensor x = Tensor::from(host_data, {4096, 1024}).to(default_device());
  Tensor y = softmax(x * 2.0f + 1.0f, -1);
  std::vector<float> out = y.to_vector<float>(); // compiles one fused kernel, runs, copies
  print(y);                                      // PyTorch's layout: 4 digits, summarised above 1000 elements

  double sum = 0;
  for (float value : out)
    sum += value;
  std::printf("%d rows sum to %.3f\n", 4096, sum);
  return sum > 4095.9 && sum < 4096.1 ? 0 : 1;
}
