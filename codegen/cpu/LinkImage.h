//===- LinkImage.h - Links kernels to an image ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CPU_LINKIMAGE_H
#define WEFT_CODEGEN_CPU_LINKIMAGE_H

#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::codegen {

/// One kernel of an image. Equal kernels may share an object, which is then linked once.
struct LinkInput {
  std::string symbol;                              ///< the name in the image
  std::shared_ptr<const std::vector<char>> object; ///< from compileKernelToObject
};

/// Pages of code, constants and variables, in this order. At these distances from each other they run at any
/// page-aligned address without relocation.
struct LinkedImage {
  static constexpr uint64_t pageSize = 4096;
  /// Unused bytes before the first function, because some callers read bytes in front of a function.
  static constexpr uint64_t padding = 64;

  std::vector<char> text, rodata, data;
  uint64_t textOffset = 0, rodataOffset = 0, dataOffset = 0; ///< from the image's base
  uint64_t size = 0;                                         ///< of the whole, in whole pages
  std::vector<std::pair<std::string, uint64_t>> symbols;     ///< name, offset from base; in order of inputs
};

/// Links the kernels. A reference to anything outside the image is an error that names it.
Expected<LinkedImage> linkImage(const std::vector<LinkInput> &inputs);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CPU_LINKIMAGE_H
