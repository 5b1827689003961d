//===- streams.cpp - Two streams and an event -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batches are prepared on one stream while the batch before is used on another. No program has to wait for
// the order of tensors: what reads a tensor comes after what writes it, on whichever streams. Events are for
// what tensors do not say: here, how long the work takes, and that no more than two batches are prepared
// ahead.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace weft;

int main() {
  const Device device = default_device(); // cuda:0 if there is a GPU
  constexpr int batches = 8, ahead = 2;
  manual_seed(1);
  Tensor mixing = randn({64, 64}, {.device = device}) / 8.0;
  const Stream preparing(device), computing(device);

  auto prepare = compile([](Tensor seeds) { return sin(seeds * 12.9898) * 0.5 + cos(seeds * 78.233) * 0.5; });
  auto use = compile([&](Tensor batch) { return tanh(matmul(batch, mixing)).square().mean(); });

  std::vector<Event> used; // an Event is a handle, so each is made by itself
  for (int i = 0; i < batches; ++i)
    used.emplace_back();
  Event begin(/*enable_timing=*/true), end(/*enable_timing=*/true);
  std::vector<Tensor> results;
  begin.record(computing);
  for (int i = 0; i < batches; ++i) {
    Tensor batch;
    {
      const StreamGuard guard(preparing);
      if (i >= ahead)
        used[static_cast<size_t>(i - ahead)].wait(preparing);
      batch = prepare(arange(i * 4096, (i + 1) * 4096).to(device).to(f32).reshape({64, 64}) / 4096.0);
    }
    const StreamGuard guard(computing);
    results.push_back(use(batch)); // waits for the batch on its stream, the host does not
    used[static_cast<size_t>(i)].record(computing);
  }
  end.record(computing);
  end.synchronize();

  double sum = 0;
  for (const Tensor &result : results)
    sum += result.item<double>();
  std::printf("%d batches on '%s', mean %.4f\n", batches, device.str().c_str(), sum / batches);
  // The same, on one stream.
  double expected = 0;
  for (int i = 0; i < batches; ++i)
    expected += use(prepare(arange(i * 4096, (i + 1) * 4096).to(device).to(f32).reshape({64, 64}) / 4096.0))
                    .item<double>();
  const double milliseconds = begin.elapsed_time(end);
  std::printf("in order on one stream: %.4f; events passed: %s\n", expected / batches,
              used.back().query() && milliseconds >= 0 ? "yes" : "no");
  return sum == expected && used.back().query() ? 0 : 1;
}
