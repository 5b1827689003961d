//===- Mnist.h - Finding and reading MNIST -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_MNIST_H
#define WEFT_FRONTEND_IO_MNIST_H

#include "frontend/io/LabelledImages.h"

namespace weft::io {

/// Reads `train-images-idx3-ubyte`, `train-labels-idx1-ubyte` and their `t10k-` twins, each plain or with
/// `.gz`, from `dir`: images [count, 28, 28]. If there are `t10k-` files only, their first 8,000 images are
/// the training set, the last 2,000 are the test set, and the note says so.
Expected<LabelledImages> read_mnist(const std::string &dir, Split split);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_MNIST_H
