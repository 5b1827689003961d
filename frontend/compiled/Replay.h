//===- Replay.h - Gradients through the call of a compiled function -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_REPLAY_H
#define WEFT_FRONTEND_COMPILED_REPLAY_H

#include "frontend/compiled/Variant.h"

namespace weft::frontend {

/// Decides which values that a call computes have a history, and keeps the operations of these. A value whose
/// history a gradient inside of the function has used up has none, as PyTorch frees that: what `backward()`
/// went through requires no gradient, and a gradient through another value that was computed from that is an
/// error (WEFT-G009). `results` are those of the function. The written values and gradients of the bindings
/// become null where they have no history. A leaf that the function wrote keeps its value if what has a
/// history reads that.
void keepHistories(Variant &variant, const std::vector<Ref> &results, const Trace &trace);

/// The variant's operations, recorded again on the present values of its bindings: the values of the results,
/// the gradients with which these are returned, and, of each binding, the value that the call writes and the
/// gradient that it leaves. Null for those that have no history. A value for a leaf, or for one of
/// `Variant::spentParts`, has no storage yet.
struct Replay {
  std::vector<Ref> results, resultGradients, written, gradients;
  std::vector<Ref> spentParts;
  std::vector<std::shared_ptr<Node>> spentThrough; ///< the copies of `Variant::spentThrough`
  std::vector<Ref> reread; ///< of each binding that is a view which the function read again: that value
};
Replay replay(const Variant &variant, const std::vector<std::shared_ptr<Slot>> &bound,
              const SizeValues &sizes);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_REPLAY_H
