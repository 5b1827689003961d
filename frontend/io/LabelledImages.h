//===- LabelledImages.h - Images and their classes -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_LABELLEDIMAGES_H
#define WEFT_FRONTEND_IO_LABELLEDIMAGES_H

#include "frontend/io/HostArray.h"

#include <string>

namespace weft::io {

enum class Split { train, test };

struct LabelledImages {
  HostArray images; ///< ui8 [count, ..]
  HostArray labels; ///< i64 [count], each 0 to 9
  std::string note; ///< what a user should know about where the data come from; often empty
};

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_LABELLEDIMAGES_H
