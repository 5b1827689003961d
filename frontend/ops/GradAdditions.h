//===- GradAdditions.h - What one backward() adds to gradients ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_GRADADDITIONS_H
#define WEFT_FRONTEND_OPS_GRADADDITIONS_H

#include "frontend/graph/Graph.h"

namespace weft::frontend {

/// What one `backward` adds to gradients. Those of leaves are written when all of it is known. A gradient
/// that a tensor retains is written before the hooks of older values are called, which may read it. If the
/// `backward` fails, that is taken back, so that it has added nothing.
class GradAdditions {
public:
  GradAdditions(bool create_graph, Loc loc) : createGraph_(create_graph), loc_(loc) {}

  /// Adds to the gradient of a leaf. Throws the error of an addition that cannot be.
  void add(const std::shared_ptr<GradAccumulator> &accumulator, const Ref &value) {
    add(accumulator, value, 0);
  }
  /// Adds to the gradient that a tensor retains, which is that of the value `of`.
  void addRetained(const std::shared_ptr<GradAccumulator> &accumulator, const Ref &value, const Ref &of) {
    add(accumulator, value, of.node->serial);
  }
  /// Writes the gradients that are retained of values with a serial number above `reach`, to which no more
  /// gradients flow.
  void writeRetained(uint64_t reach);
  /// Writes all that is left.
  void write() const;
  /// Takes back what was written before the end.
  void takeBack();

private:
  struct Addition {
    std::shared_ptr<GradAccumulator> accumulator;
    Ref value;
    uint64_t serial; ///< of the value whose gradient is retained; 0 for a leaf
  };
  /// What there was before a gradient was written early.
  struct Written {
    std::shared_ptr<Slot> owner, gradient;
    Tensor before;
  };
  void add(const std::shared_ptr<GradAccumulator> &accumulator, const Ref &value, uint64_t serial);

  const bool createGraph_;
  const Loc loc_;
  std::vector<Addition> list_;
  std::vector<Written> early_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_GRADADDITIONS_H
