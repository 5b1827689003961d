//===- Cifar10.h - Reading CIFAR-10 ----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_CIFAR10_H
#define WEFT_FRONTEND_IO_CIFAR10_H

#include "frontend/io/LabelledImages.h"

namespace weft::io {

/// Reads `data_batch_1.bin` and those that follow it by number, or `test_batch.bin`, from `dir` or its
/// subfolder `cifar-10-batches-bin`, the name that the archive has: images [count, 3, 32, 32].
Expected<LabelledImages> read_cifar10(const std::string &dir, Split split);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_CIFAR10_H
