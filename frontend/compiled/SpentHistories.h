//===- SpentHistories.h - What a used-up history led to -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_SPENTHISTORIES_H
#define WEFT_FRONTEND_COMPILED_SPENTHISTORIES_H

#include "frontend/compiled/Variant.h"
#include "frontend/graph/GradBoundary.h"

namespace weft::frontend {

/// What the values that a call binds were computed from, as far as histories begin there that the function
/// uses up. Made before the call writes.
class SpentHistories {
public:
  SpentHistories(const Variant &variant, const std::vector<std::shared_ptr<Slot>> &bound);
  /// If a value that the call leaves has such a history, makes a gradient through it to what that began at an
  /// error. PyTorch gives other gradients, such as that of a factor of the value.
  void mark(const Ref &value, const SpentFrom &from) const;

private:
  std::vector<std::shared_ptr<const LostWays>> ways_; ///< of each binding; null where no such history begins
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_SPENTHISTORIES_H
