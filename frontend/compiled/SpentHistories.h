//===- SpentHistories.h - What a used-up history led to -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_SPENTHISTORIES_H
#define WEFT_FRONTEND_COMPILED_SPENTHISTORIES_H

#include "frontend/compiled/Replay.h"
#include "frontend/compiled/Variant.h"
#include "frontend/graph/GradBoundary.h"

namespace weft::frontend {

/// What the values that a call binds were computed from, and what it leaves, as far as histories lead there
/// that the function uses up. Made before the call writes.
class SpentHistories {
public:
  SpentHistories(const Variant &variant, const std::vector<std::shared_ptr<Slot>> &bound,
                 const Replay &recorded);
  /// If a value that the call leaves has such a history, makes a gradient through it to what that leads to an
  /// error. PyTorch gives other gradients, such as that of a factor of the value.
  void mark(const Ref &value, const SpentFrom &from) const;
  /// Called when results are leaves: what is marked leads to those on the way, too.
  void addLeaves(const Replay &recorded) const;

private:
  std::vector<std::shared_ptr<const LostWays>> ways_; ///< of each binding; null where no such history begins
  std::vector<std::shared_ptr<LostWays>> through_;    ///< of each of the `Variant::spentThrough`
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_SPENTHISTORIES_H
