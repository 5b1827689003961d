//===- digits.h - Digits to learn from ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EXAMPLES_COMMON_DIGITS_H
#define WEFT_EXAMPLES_COMMON_DIGITS_H

#include <weft/data.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace example {

/// Draws one image of 28 x 28 pixels, white on black, and returns its label. The image depends on `seed` and
/// `index` alone, and its bytes are the same on every machine.
int draw_digit(uint64_t seed, uint64_t index, std::span<uint8_t, 784> pixels);

/// Images that resemble handwritten digits, in MNIST's format: images [count, 28, 28] of ui8, labels [count]
/// of i64. Use them where MNIST is not at hand. The two splits share no image. Throws weft::Error for a
/// negative count.
weft::data::Dataset drawn_digits(weft::data::Split split, int64_t count, uint64_t seed = 0);

/// MNIST from `folder` or its subfolder "mnist". If `folder` is empty, the environment variable WEFT_DATA_DIR
/// names the folder; if that is not set either, the result is drawn digits (8,000 to train, 2,000 to test).
/// `note()` of the result says which.
weft::data::Dataset mnist_or_drawn_digits(const std::string &folder, weft::data::Split split);

} // namespace example

#endif // WEFT_EXAMPLES_COMMON_DIGITS_H
