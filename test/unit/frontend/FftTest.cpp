//===- FftTest.cpp - Fourier transforms ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/parity/test_fft.py compares values and gradients with PyTorch's; here are long signals, compiled
// functions and errors.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <numbers>

using namespace weft;

namespace {
/// The largest difference of two tensors.
double distance(const Tensor &a, const Tensor &b) { return (a - b).abs().amax().item<double>(); }
Tensor signal(int64_t n) { return sin(arange(n, f64) * 0.37 + 1); }
} // namespace

// A wave of frequency 5 has two values. 100,003 is a prime.
TEST(Fft, LongSignals) {
  for (int64_t n : {100003, 65536, 90000}) {
    Tensor x = cos(arange(n, f64) * (2 * std::numbers::pi * 5 / static_cast<double>(n)));
    Tensor values = fft::rfft(x);
    EXPECT_EQ(values.sizes(), (Shape{n / 2 + 1, 2}));
    Tensor magnitude = values.norm(2, {-1});
    EXPECT_NEAR(magnitude[5].item<double>(), static_cast<double>(n) / 2, 1e-7);
    EXPECT_LT(magnitude.slice(0, 6).amax().item<double>(), 1e-6);
    EXPECT_LT(distance(fft::irfft(values, n), x), 1e-12);
  }
}

TEST(Fft, CompiledFunctionsAndGradients) {
  Tensor x = signal(60).requires_grad_();
  auto energy =
      compile([](Tensor t) { return fft::fft(complex(t, zeros_like(t)), {}, -1, "ortho").square().sum(); });
  Tensor sum = energy(x);
  EXPECT_NEAR(sum.item<double>(), x.detach().square().sum().item<double>(), 1e-12); // Parseval
  sum.backward();
  EXPECT_LT(distance(x.grad(), x.detach() * 2), 1e-12);
}

namespace {
using Transform = Tensor (*)(const Tensor &, std::optional<int64_t>, int64_t, const std::string &, Loc);
struct Case {
  Transform function;
  bool takesReal, givesReal;
};
const Case cases[] = {{fft::fft, false, false},  {fft::ifft, false, false}, {fft::rfft, true, false},
                      {fft::ihfft, true, false}, {fft::irfft, false, true}, {fft::hfft, false, true}};
} // namespace

// Of s = sum w y^2 with y = F x, the product of the second derivative and v is 2 F^T (w F v).
TEST(Fft, DerivativesOfDerivatives) {
  for (const Case &each : cases)
    for (int64_t n : {1, 2, 7, 8, 300}) {
      const int64_t size = each.givesReal ? n / 2 + 1 : n;
      Shape shape{2, size};
      if (!each.takesReal)
        shape.push_back(2);
      int64_t count = 1;
      for (int64_t extent : shape)
        count *= extent;
      Tensor x = signal(count).reshape(shape).requires_grad_(), v = cos(arange(count, f64)).reshape(shape);
      const auto transformed = [&](const Tensor &t) {
        return each.function(t, n, -1, "ortho", Loc::current());
      };
      Tensor y = transformed(x);
      const Tensor w = sin(arange(y.numel(), f64)).reshape(y.sizes());
      const Tensor first = autograd::grad((w * y * y).sum(), {x}, {.create_graph = true})[0];
      const Tensor second = autograd::grad((first * v).sum(), {x})[0];
      const Tensor expected = autograd::grad((w * 2 * transformed(v) * transformed(x)).sum(), {x})[0];
      EXPECT_LT(distance(second, expected), 1e-12) << n;
    }
}

// A compiled function is made once for any number of signals.
TEST(Fft, BatchesOfAnySize) {
  for (const Case &each : cases) {
    const auto f = [&](Tensor t) { return each.function(t, {}, -1, "backward", Loc::current()).square(); };
    const auto of = each.takesReal ? spec({Dim("n", 0, 64), 20}, f64) : spec({Dim("n", 0, 64), 20, 2}, f64);
    auto compiled = compile(f, {of});
    for (int64_t batch : {1, 5, 40}) {
      Tensor x = signal(batch * 40).reshape({batch, 20, 2});
      if (each.takesReal)
        x = x.select(-1, 0);
      EXPECT_EQ(distance(compiled(x), f(x)), 0);
    }
    Tensor none = each.takesReal ? zeros({0, 20}, f64) : zeros({0, 20, 2}, f64);
    EXPECT_EQ(compiled(none).size(0), 0);
  }
}

// Whatever dimension, a view or a copy.
TEST(Fft, OtherDimensionsAndViews) {
  Tensor x = signal(3 * 300 * 20 * 2).reshape({3, 300, 20, 2});
  for (int64_t dim : {0, 1, 2}) {
    const Tensor last = fft::fft(x.movedim(dim, 2).contiguous());
    EXPECT_LT(distance(fft::fft(x, {}, dim), last.movedim(2, dim)), 1e-11) << dim;
    EXPECT_EQ(distance(fft::fft(x.transpose(0, 2), {}, 2 - dim),
                       fft::fft(x.transpose(0, 2).contiguous(), {}, 2 - dim)),
              0);
  }
  EXPECT_EQ(fft::fft(zeros({0, 4, 2})).sizes(), (Shape{0, 4, 2}));
}

TEST(Fft, FramesAndBack) {
  Tensor x = signal(400), window = hann_window(64, true, {.dtype = f64});
  Tensor frames = stft(x, 64, {.hop_length = 16, .window = window});
  EXPECT_EQ(frames.sizes(), (Shape{33, 26, 2}));
  EXPECT_LT(distance(istft(frames, 64, {.hop_length = 16, .window = window}, 400), x), 1e-12);
  EXPECT_EQ(istft(frames, 64, {.hop_length = 16, .window = window}, 500).sizes(), (Shape{500}));
}

TEST(Fft, ShiftsAndFrequencies) {
  EXPECT_EQ(floats(fft::fftfreq(4)), (Floats{0, 0.25, -0.5, -0.25}));
  EXPECT_EQ(floats(fft::rfftfreq(4, 0.5)), (Floats{0, 0.5, 1}));
  EXPECT_EQ(floats(fft::fftshift(countTo(5))), (Floats{3, 4, 0, 1, 2}));
  EXPECT_EQ(floats(fft::ifftshift(fft::fftshift(countTo(5)))), floats(countTo(5)));
}

TEST(Fft, Errors) {
  Tensor x = ones({4, 3}), z = ones({4, 3, 2});
  EXPECT_ERROR(fft::fft(x), "takes a complex tensor: the last dimension has the real and the imaginary part");
  EXPECT_ERROR(fft::rfft(x.to(f16)), "rfft takes f32 or f64, found f16");
  EXPECT_ERROR(fft::fft(z, 0), "Invalid number of data points (0) specified");
  EXPECT_ERROR(fft::irfft(ones({1, 2})), "Invalid number of data points (0) specified");
  EXPECT_ERROR(fft::fft(z, {}, 2), "dimension 2 is out of range");
  EXPECT_ERROR(fft::fft(z, {}, -1, "none"), "\"backward\", \"forward\" or \"ortho\"");
  EXPECT_ERROR(fft::fftn(z, {2, 2}, {0}), "same length");
  EXPECT_ERROR(fft::fftn(z, {2, 2, 2}), "Got shape with 3 values but input tensor has 2 dimensions");
  EXPECT_ERROR(fft::fftn(z, {}, {0, -2}), "must be unique");
  EXPECT_ERROR(fft::rfftn(ones({})), "at least one axis");
  EXPECT_ERROR(fft::fftfreq(0), "at least 1");
  EXPECT_ERROR(complex(x, x.to(f64)), "one floating-point dtype");
  EXPECT_ERROR(stft(ones({10}), 16, {.center = false}), "as long as a frame");
  EXPECT_ERROR(stft(ones({10}), 4, {.window = ones({3})}), "a window of shape [4]");
  EXPECT_ERROR(stft(ones({10}), 4, {.hop_length = 0}), "at least 1");
  EXPECT_ERROR(stft(ones({1, 1, 10}), 4), "[batch, length]");
  EXPECT_ERROR(istft(ones({4, 3, 2}), 4), "n_fft / 2 + 1");
}
