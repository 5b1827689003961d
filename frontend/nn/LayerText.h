//===- LayerText.h - How layers print ---------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_NN_LAYERTEXT_H
#define WEFT_FRONTEND_NN_LAYERTEXT_H

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

inline std::string boolText(bool value) { return value ? "True" : "False"; }

} // namespace weft::frontend

#endif // WEFT_FRONTEND_NN_LAYERTEXT_H
