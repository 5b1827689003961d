//===- Library.h - Calls of the library, and its objects -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libcublasLt.so.13 that computes products on the software driver (docs/cudasim.md). Its functions, types
// and constants are those that the runtime declares. Each object is one of the driver, too, which counts it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_CUBLASLT_LIBRARY_H
#define WEFT_TEST_CUDASIM_CUBLASLT_LIBRARY_H

#include "runtime/cuda/CublasLtTable.h"
#include "test/cudasim/driver/Extension.h"

#include <string>

namespace weft::cusim::lt {

using namespace runtime::cublaslt;

/// The driver that this process has loaded; null, after a complaint, if it is not the software driver.
const Extension *driver();

/// Says why a call is refused, and gives the status.
Status refuse(Status status, const std::string &why);

// What the handles stand for: a field for each attribute.
#define CUSIM_FIELD(name, original, number, type) type name{};
struct LtHandle {
  static constexpr const char *kind = "cublasLt handle";
  uint64_t memory = 0;
};
struct Description {
  static constexpr const char *kind = "product description";
  WEFT_CUBLASLT_MATMUL_DESC_ATTRIBUTE(CUSIM_FIELD)
};
struct Layout {
  static constexpr const char *kind = "matrix layout";
  WEFT_CUBLASLT_MATRIX_LAYOUT_ATTRIBUTE(CUSIM_FIELD)
};
struct Preference {
  static constexpr const char *kind = "product preference";
  WEFT_CUBLASLT_MATMUL_PREFERENCE_ATTRIBUTE(CUSIM_FIELD)
};
#undef CUSIM_FIELD

/// What a handle stands for; null, after a complaint, if there is no such object.
template <class T> T *find(const void *handle) {
  T *found = static_cast<T *>(driver()->payloadOf(handle, T::kind));
  if (!found)
    refuse(Status::invalid_value, std::string("the ") + T::kind + " does not exist, or was destroyed");
  return found;
}

// Each function of the table as it works once the call has begun.
namespace functions {
#define CUSIM_DECLARE(function, result, parameters) result function parameters;
WEFT_CUBLASLT_FUNCTIONS(CUSIM_DECLARE)
#undef CUSIM_DECLARE
} // namespace functions

} // namespace weft::cusim::lt

#endif // WEFT_TEST_CUDASIM_CUBLASLT_LIBRARY_H
