//===- ops_fft.cpp - Fourier transforms for test_fft.py ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

static std::optional<int64_t> wholeOrNone(const parity::Args &a, size_t i) {
  return a.has(i) ? std::optional(a.whole(i)) : std::nullopt;
}

void parity::addFft(Table &table) {
  // Arguments: tensor, n, dim, norm; of several dimensions s and dims.
#define WEFT_FFT(name)                                                                                       \
  table["fft_" #name] = [](const Args &a) {                                                                  \
    return Tensors{fft::name(a.tensor(0), wholeOrNone(a, 1), a.whole(2, -1), a.word(3, "backward"))};        \
  };                                                                                                         \
  table["fft_" #name "n"] = [](const Args &a) {                                                              \
    return Tensors{fft::name##n(a.tensor(0), a.list(1, {}), a.list(2, {}), a.word(3, "backward"))};          \
  };                                                                                                         \
  table["fft_" #name "2"] = [](const Args &a) {                                                              \
    return Tensors{fft::name##2(a.tensor(0), a.list(1, {}), a.list(2, {-2, -1}), a.word(3, "backward"))};    \
  };
  WEFT_FFT(fft)
  WEFT_FFT(ifft)
  WEFT_FFT(rfft)
  WEFT_FFT(irfft)
  WEFT_FFT(hfft)
  WEFT_FFT(ihfft)
#undef WEFT_FFT
  table["fft_shift"] = [](const Args &a) { return Tensors{fft::fftshift(a.tensor(0), a.list(1, {}))}; };
  table["fft_unshift"] = [](const Args &a) { return Tensors{fft::ifftshift(a.tensor(0), a.list(1, {}))}; };
  table["fft_freq"] = [](const Args &a) {
    return Tensors{fft::fftfreq(a.whole(0), a.real(1)), fft::rfftfreq(a.whole(0), a.real(1))};
  };
  table["fft_polar"] = [](const Args &a) { return Tensors{polar(a.tensor(0), a.tensor(1))}; };
  // Arguments: tensor, n_fft, hop_length, win_length, window, center, pad_mode, normalized; then the length.
  auto options = [](const Args &a) {
    return StftOptions{.hop_length = wholeOrNone(a, 2),
                       .win_length = wholeOrNone(a, 3),
                       .window = a.tensorOrNone(4),
                       .center = a.flag(5, true),
                       .pad_mode = a.word(6, "reflect"),
                       .normalized = a.flag(7)};
  };
  table["fft_stft"] = [=](const Args &a) { return Tensors{stft(a.tensor(0), a.whole(1), options(a))}; };
  table["fft_istft"] = [=](const Args &a) {
    return Tensors{istft(a.tensor(0), a.whole(1), options(a), wholeOrNone(a, 8))};
  };
}
