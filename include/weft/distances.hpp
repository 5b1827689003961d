//===- distances.hpp - Distances and directions of vectors ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's functions of the same names, of floating-point tensors.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_DISTANCES_HPP
#define WEFT_DISTANCES_HPP

#include "weft/tensor.hpp"

namespace weft {

/// `a` divided by its p-norm over `dims`, or by `eps` where the norm is smaller.
WEFT_API Tensor normalize(const Tensor &a, double p = 2, IntList dims = {1}, double eps = 1e-12,
                          Loc loc = Loc::current());
/// The cosine of the angle between vectors along `dim`; norms below `eps` count as `eps`. Shapes broadcast.
WEFT_API Tensor cosine_similarity(const Tensor &a, const Tensor &b, int64_t dim = 1, double eps = 1e-8,
                                  Loc loc = Loc::current());
/// The p-norm of a - b + eps over the last dimension. Shapes broadcast; differences of integers
/// count as f32.
WEFT_API Tensor pairwise_distance(const Tensor &a, const Tensor &b, double p = 2, double eps = 1e-6,
                                  bool keepdim = false, Loc loc = Loc::current());
/// [.., n, k] and [.., m, k]: the p-norm of the difference of every two rows, [.., n, m]. Batches broadcast.
WEFT_API Tensor cdist(const Tensor &a, const Tensor &b, double p = 2, Loc loc = Loc::current());
/// The p-norms of the differences of every two rows of a matrix, in the order of the pairs (0, 1), (0, 2), ..
WEFT_API Tensor pdist(const Tensor &a, double p = 2, Loc loc = Loc::current());
/// `a` with each slice along `dim` whose p-norm is larger than `maxnorm` scaled down to that.
WEFT_API Tensor renorm(const Tensor &a, double p, int64_t dim, double maxnorm, Loc loc = Loc::current());
/// The p-norm of a - b over all elements. Shapes broadcast.
WEFT_API Tensor dist(const Tensor &a, const Tensor &b, double p = 2, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_DISTANCES_HPP
