//===- fft.hpp - Fourier transforms ------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of torch.fft. There are no complex dtypes: a complex tensor is one of f32 or f64 whose last
// dimension has two elements, the real and the imaginary part, as torch.view_as_real gives it; `complex`
// makes one. Dimensions count without that last one: -1 is the one before it. Real tensors of integers count
// as f32; halves are an error.
//
// `n` (`s` for several dimensions) is the length of the result of fft and ifft, of the operand of rfft, and
// of the result of irfft: the operand is cut or extended by zeros. `norm` is "backward" (the inverse is
// divided by the length), "forward" (the other one is), or "ortho" (both, by its root). Any length is
// computed in n log n steps, and every function has derivatives of every order.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FFT_HPP
#define WEFT_FFT_HPP

#include "weft/tensor.hpp"

namespace weft {

/// The complex tensor of two real ones of equal shape and dtype, and of absolute values and angles.
WEFT_API Tensor complex(const Tensor &real, const Tensor &imag, Loc loc = Loc::current());
WEFT_API Tensor polar(const Tensor &abs, const Tensor &angle, Loc loc = Loc::current());

namespace fft {

/// \name Along one dimension: complex to complex, real to the first n / 2 + 1 of its complex values, back,
/// and the same for signals that are real in the other domain
/// @{
#define WEFT_FFT(name)                                                                                       \
  WEFT_API Tensor name(const Tensor &x, std::optional<int64_t> n = {}, int64_t dim = -1,                     \
                       const std::string &norm = "backward", Loc loc = Loc::current());
WEFT_FFT(fft)
WEFT_FFT(ifft)
WEFT_FFT(rfft)
WEFT_FFT(irfft)
WEFT_FFT(hfft)
WEFT_FFT(ihfft)
#undef WEFT_FFT
/// @}

/// \name Along several dimensions, all or the last of `s` if none are given; real ones have their halves in
/// the last of `dims`
/// @{
#define WEFT_FFT(name, all)                                                                                  \
  WEFT_API Tensor name(const Tensor &x, IntList s = {}, IntList dims = all,                                  \
                       const std::string &norm = "backward", Loc loc = Loc::current());
#define WEFT_LAST_TWO {-2, -1}
WEFT_FFT(fftn, {})
WEFT_FFT(ifftn, {})
WEFT_FFT(rfftn, {})
WEFT_FFT(irfftn, {})
WEFT_FFT(hfftn, {})
WEFT_FFT(ihfftn, {})
WEFT_FFT(fft2, WEFT_LAST_TWO)
WEFT_FFT(ifft2, WEFT_LAST_TWO)
WEFT_FFT(rfft2, WEFT_LAST_TWO)
WEFT_FFT(irfft2, WEFT_LAST_TWO)
WEFT_FFT(hfft2, WEFT_LAST_TWO)
WEFT_FFT(ihfft2, WEFT_LAST_TWO)
#undef WEFT_LAST_TWO
#undef WEFT_FFT
/// @}

/// The frequencies of the values of fft (of rfft), in cycles per unit, for samples `d` apart. An error for a
/// `n` below 1.
WEFT_API Tensor fftfreq(int64_t n, double d = 1, TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor rfftfreq(int64_t n, double d = 1, TensorOptions options = {}, Loc loc = Loc::current());
/// The frequency 0 in the middle of these dimensions, and back. The tensor is taken as real: name the
/// dimensions of a complex one.
WEFT_API Tensor fftshift(const Tensor &x, IntList dims = {}, Loc loc = Loc::current());
WEFT_API Tensor ifftshift(const Tensor &x, IntList dims = {}, Loc loc = Loc::current());

} // namespace fft

struct StftOptions {
  std::optional<int64_t> hop_length = {}; ///< n_fft / 4
  std::optional<int64_t> win_length = {}; ///< n_fft
  Tensor window = {};                     ///< [win_length]; ones
  bool center = true;               ///< whether frame i is around i times hop_length, and else begins there
  std::string pad_mode = "reflect"; ///< as of `pad`, for what frames need beyond the ends
  bool normalized = false;          ///< divided by the root of n_fft
};
/// Transforms of frames of a real signal [length] or [batch, length]: [.., n_fft / 2 + 1, frames, 2]. An
/// error for lengths that do not fit.
WEFT_API Tensor stft(const Tensor &x, int64_t n_fft, StftOptions options = {}, Loc loc = Loc::current());
/// The signal with these transforms, of `length` if it is given; where frames overlap, the one that is
/// nearest in least squares (Griffin and Lim, 1984). An error in a compiled function has no check that the
/// windows cover all places, where the result is infinite or NaN.
WEFT_API Tensor istft(const Tensor &x, int64_t n_fft, StftOptions options = {},
                      std::optional<int64_t> length = {}, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_FFT_HPP
