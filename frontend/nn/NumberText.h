//===- NumberText.h - Numbers in the texts of modules -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_NN_NUMBERTEXT_H
#define WEFT_FRONTEND_NN_NUMBERTEXT_H

#include <cstdio>
#include <string>

namespace weft::frontend {

/// A number as Python prints it: "0.01", "1.0".
inline std::string numberText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  std::string result = text;
  return result.find_first_of(".einf") == std::string::npos ? result + ".0" : result;
}

} // namespace weft::frontend

#endif // WEFT_FRONTEND_NN_NUMBERTEXT_H
