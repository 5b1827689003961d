//===- Recompilation.h - Lines that are recompiled too often --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_LAZY_RECOMPILATION_H
#define WEFT_FRONTEND_LAZY_RECOMPILATION_H

#include "frontend/graph/Region.h"

namespace weft::frontend {

/// Called when a lazy program is compiled for this region. If one source line needs ever new programs, prints
/// once what changes between them.
void noteLazyCompile(const Region &region, Loc wanted);

/// While it exists, nothing is printed of programs that this thread compiles: a check runs many once.
class QuietCompiles {
public:
  QuietCompiles();
  ~QuietCompiles();
  QuietCompiles(const QuietCompiles &) = delete;
  QuietCompiles &operator=(const QuietCompiles &) = delete;

private:
  const bool before_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_LAZY_RECOMPILATION_H
