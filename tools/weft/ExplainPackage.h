//===- ExplainPackage.h - What a package has --------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TOOLS_WEFT_EXPLAINPACKAGE_H
#define WEFT_TOOLS_WEFT_EXPLAINPACKAGE_H

#include "weft/status.hpp"

#include <string>

namespace weft::tool {

/// Prints the sections of a package, and its functions with their signatures, memory and launches, as text or
/// as one JSON object.
Status explainPackage(const std::string &path, bool asJson);

} // namespace weft::tool

#endif // WEFT_TOOLS_WEFT_EXPLAINPACKAGE_H
