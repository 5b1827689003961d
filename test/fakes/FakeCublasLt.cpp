//===- FakeCublasLt.cpp - A library in the place of cuBLASLt --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libcublasLt.so.13 with every function of the table, which computes nothing. Its version is in
// FAKE_CUBLASLT_VERSION. With FAKE_CUBLASLT_LACKS_MATMUL it is built without the product itself.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/CublasLtTable.h"

#include <cstdlib>

#define EXPORTED __attribute__((visibility("default")))

namespace weft::runtime::cublaslt {

#define FAKE(function, result, parameters)                                                                   \
  extern "C" EXPORTED result function parameters { return Status::not_supported; }

WEFT_CUBLASLT_DESCRIPTOR_FUNCTIONS(FAKE)
WEFT_CUBLASLT_ALGORITHM_FUNCTIONS(FAKE)
#ifndef FAKE_CUBLASLT_LACKS_MATMUL
WEFT_CUBLASLT_MATMUL_FUNCTIONS(FAKE)
#endif

extern "C" EXPORTED size_t cublasLtGetVersion() {
  const char *text = std::getenv("FAKE_CUBLASLT_VERSION");
  return text ? static_cast<size_t>(std::atoi(text)) : 130000;
}
extern "C" EXPORTED const char *cublasLtGetStatusName(Status) { return "CUBLAS_STATUS_FAKE"; }
extern "C" EXPORTED const char *cublasLtGetStatusString(Status) { return "a fake status"; }
extern "C" EXPORTED Status cublasLtCreate(Handle *) { return Status::not_initialized; }
extern "C" EXPORTED Status cublasLtDestroy(Handle) { return Status::success; }

} // namespace weft::runtime::cublaslt
