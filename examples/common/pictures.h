//===- pictures.h - Images in files ------------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EXAMPLES_COMMON_PICTURES_H
#define WEFT_EXAMPLES_COMMON_PICTURES_H

#include <weft/data.hpp>

#include <string>

namespace example {

/// Writes images [count, channels, rows, columns] of numbers from 0 to 1, with 1 or 3 channels, beside and
/// below each other, `in_a_row` of them in each row, as a PPM file (binary, 8 bits). Throws weft::Error for
/// another shape, and if the file cannot be written.
void save_pictures(const std::string &path, const weft::Tensor &images, int64_t in_a_row = 8);

/// CIFAR-10 from `folder` or its subfolder "cifar10". If `folder` is empty, the environment variable
/// WEFT_DATA_DIR names the folder; if that is not set either, the result is drawn digits in its format, 8,000
/// to train and 2,000 to test.
weft::data::Dataset cifar10_or_drawn_digits(const std::string &folder, weft::data::Split split);

} // namespace example

#endif // WEFT_EXAMPLES_COMMON_PICTURES_H
