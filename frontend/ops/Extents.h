//===- Extents.h - Numbers for the extents of images ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_EXTENTS_H
#define WEFT_FRONTEND_OPS_EXTENTS_H

#include "frontend/ops/Ops.h"

#include <string>
#include <vector>

namespace weft::frontend {

/// One number for each extent, from one for all or a list of that length. Throws Error, which names the
/// function and the parameter, for a list of another length and if a number is less than `least`.
inline std::vector<int64_t> atEachExtent(const char *function, const IntList &given, size_t extents,
                                         const char *what, int64_t least, Loc loc) {
  if (given.size() != 1 && given.size() != extents)
    fail(std::string(function) + "(): " + what + " must be one number, or a list of " +
             std::to_string(extents) + ", one for each extent; found " + shapeText(given),
         loc);
  for (int64_t number : given)
    if (number < least)
      fail(std::string(function) + "(): " + what + " must be at least " + std::to_string(least) + ", found " +
               shapeText(given),
           loc);
  return given.size() == 1 ? std::vector<int64_t>(extents, given[0]) : std::vector<int64_t>(given);
}

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_EXTENTS_H
