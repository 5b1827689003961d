//===- Cubin.h - What a CUBIN says of its kernels ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_CUBIN_H
#define WEFT_TEST_CUDASIM_DRIVER_CUBIN_H

#include <cstdint>
#include <map>
#include <string>

namespace weft::cusim {

struct KernelResources {
  uint32_t registers = 0;  ///< of a thread
  uint32_t stackBytes = 0; ///< of a thread, in local memory
};

bool isCubin(const void *image);
/// Where the file ends, by its headers; 0 if they are wrong.
uint64_t cubinBytes(const void *image);
/// By the names of kernels. Those of which the file says nothing are left out.
std::map<std::string, KernelResources> resourcesOf(const void *image);
/// The PTX of the trailer; empty if there is none.
std::string trailerOf(const void *image);

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_CUBIN_H
