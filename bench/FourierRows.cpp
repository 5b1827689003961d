//===- FourierRows.cpp - Fourier transforms ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Complex transforms of f32, and real ones; peer_torch.py has the same rows.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include <weft/weft.hpp>

#include <functional>
#include <stdexcept>

namespace weft::bench {
namespace {

using Function = std::function<Tensor(Tensor)>;

/// A transform of random numbers, which `inverse` makes of its result again.
RowResult run(const Shape &shape, const Function &body, const Function &inverse) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float &value : values)
    value = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
  const Tensor x = Tensor::from(values, shape);
  const auto compiled = compile(body, {.name = "transform"});
  const double found = (inverse(compiled(x)) - x).abs().max().item<double>();
  if (!(found < 1e-4))
    throw std::runtime_error("the inverse of a transform is off by " + std::to_string(found));
  RowResult row;
  row.samples = alternate({{"weft", [&] {
                              compiled(x);
                              synchronize();
                            }}});
  return row;
}

RowResult run_complex(int64_t batch, int64_t n) {
  return run({batch, n, 2}, [](Tensor x) { return fft::fft(x); }, [](Tensor y) { return fft::ifft(y); });
}

} // namespace

RowResult run_fft() { return run_complex(64, 1024); }
RowResult run_fft_long() { return run_complex(64, 65536); }
RowResult run_fft_one() { return run_complex(1, int64_t(1) << 20); }
RowResult run_fft_prime() { return run_complex(64, 1009); }
RowResult run_fft2() {
  return run({512, 512, 2}, [](Tensor x) { return fft::fft2(x); }, [](Tensor y) { return fft::ifft2(y); });
}
RowResult run_rfft() {
  return run({64, 65536}, [](Tensor x) { return fft::rfft(x); }, [](Tensor y) { return fft::irfft(y); });
}

} // namespace weft::bench
