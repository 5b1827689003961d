//===- Checks.h - Options that a model refuses -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MODELS_CHECKS_H
#define WEFT_MODELS_CHECKS_H

#include "weft/status.hpp"

#include <string>
#include <vector>

namespace weft::models {

/// Throws Error unless there are `count` numbers above 0.
inline void checkCounts(const char *model, const char *what, const std::vector<int64_t> &numbers,
                        size_t count) {
  bool fits = numbers.size() == count;
  std::string found;
  for (int64_t number : numbers) {
    fits &= number > 0;
    found += (found.empty() ? "" : ", ") + std::to_string(number);
  }
  if (!fits)
    throw Error(std::string("models::") + model + " needs " + std::to_string(count) + " " + what +
                " above 0, found [" + found + "]");
}

} // namespace weft::models

#endif // WEFT_MODELS_CHECKS_H
