//===- Spec.cpp - The type of a value ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Spec.h"

#include "frontend/graph/Symbols.h"

namespace weft::frontend {

int64_t Spec::count() const {
  ir::Size product = 1;
  for (int64_t size : shape)
    product *= sizeOf(size);
  return entryOf(product);
}

std::string Spec::bytesText() const { return ir::sizeText(sizeOf(count()) * itemsize(dtype)); }

std::string Spec::str() const {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += sizeText(size) + "x";
  return text + std::string(name(dtype)) + ", " + device.str() + ">";
}

} // namespace weft::frontend
