//===- Mnist.h - Finding and reading MNIST -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_MNIST_H
#define WEFT_FRONTEND_IO_MNIST_H

#include "frontend/io/HostArray.h"

#include <string>

namespace weft::io {

enum class Split { train, test };

struct LabelledImages {
  HostArray images; ///< ui8 [count, 28, 28]
  HostArray labels; ///< i64 [count], each 0 to 9
  std::string note; ///< what a user should know about where the data come from; often empty
};

/// Reads `train-images-idx3-ubyte`, `train-labels-idx1-ubyte` and their `t10k-` twins, each plain or with
/// `.gz`, from `dir`. If there are `t10k-` files only, their first 8,000 images are the training set, the
/// last 2,000 are the test set, and the note says so.
Expected<LabelledImages> read_mnist(const std::string &dir, Split split);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_MNIST_H
