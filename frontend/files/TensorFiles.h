//===- TensorFiles.h - Files of tensors -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_FILES_TENSORFILES_H
#define WEFT_FRONTEND_FILES_TENSORFILES_H

#include "frontend/io/HostArray.h"
#include "weft/tensor.hpp"

namespace weft::frontend {

/// An array that was read from a file, as a tensor.
Tensor toTensor(const io::HostArray &array);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_FILES_TENSORFILES_H
