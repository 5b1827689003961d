//===- Digits.h - Digits that the program draws itself -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_DIGITS_H
#define WEFT_FRONTEND_IO_DIGITS_H

#include "frontend/io/HostArray.h"
#include "frontend/io/Mnist.h"

namespace weft::io {

/// Draws `count` handwriting-like digits in MNIST's format, for use where no data are at hand. Image i
/// depends on `seed` and `first + i` alone, bit by bit on every machine, so ranges can be drawn in any order
/// and a test set is a range that training does not touch.
Expected<LabelledImages> draw_digits(uint64_t seed, int64_t first, int64_t count);

/// One image of 28 x 28 pixels into `pixels`, white on black; returns its label.
int draw_digit(uint64_t seed, uint64_t index, std::span<uint8_t, 784> pixels);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_DIGITS_H
