//===- Attributes.h - Values of a size that is checked ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_CUBLASLT_ATTRIBUTES_H
#define WEFT_TEST_CUDASIM_CUBLASLT_ATTRIBUTES_H

#include "test/cudasim/cublaslt/Library.h"

#include <cstring>

namespace weft::cusim::lt {

inline Status refuseAttribute(int number) {
  return refuse(Status::invalid_value, "attribute " + std::to_string(number) + " is not known");
}

inline Status refuseSize(size_t bytes, size_t right) {
  return refuse(Status::invalid_value,
                "the attribute has " + std::to_string(right) + " bytes, and not " + std::to_string(bytes));
}

template <class T> Status setAttribute(T &attribute, const void *value, size_t bytes) {
  if (!value)
    return refuse(Status::invalid_value, "the value is null");
  if (bytes != sizeof attribute)
    return refuseSize(bytes, sizeof attribute);
  std::memcpy(&attribute, value, bytes);
  return Status::success;
}

/// With no bytes to write, it says how many there are.
template <class T> Status getAttribute(const T &attribute, void *value, size_t bytes, size_t *written) {
  if (bytes ? !value : !written)
    return refuse(Status::invalid_value, "the place for the value is null");
  if (bytes && bytes != sizeof attribute)
    return refuseSize(bytes, sizeof attribute);
  if (bytes)
    std::memcpy(value, &attribute, bytes);
  if (written)
    *written = sizeof attribute;
  return Status::success;
}

} // namespace weft::cusim::lt

#endif // WEFT_TEST_CUDASIM_CUBLASLT_ATTRIBUTES_H
