//===- autograd.hpp - Gradients as functions --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_AUTOGRAD_HPP
#define WEFT_AUTOGRAD_HPP

#include "weft/tensor.hpp"

#include <optional>
#include <utility>

namespace weft {

/// While it exists, operations on its thread record no gradients.
class WEFT_API NoGradGuard {
public:
  NoGradGuard();
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard &) = delete;
  NoGradGuard &operator=(const NoGradGuard &) = delete;

private:
  bool previous_;
};

/// Runs `body` while operations on this thread record no gradients, and returns its result.
template <typename Body> decltype(auto) no_grad(Body &&body) {
  NoGradGuard guard;
  return std::forward<Body>(body)();
}

/// Options of grad(), as those of torch.autograd.grad.
struct GradOptions {
  /// What each output's gradient is multiplied by, of its shape; undefined, or none at all: 1 for an output
  /// of one element, and an error for others.
  std::vector<Tensor> grad_outputs = {};
  /// Whether gradients may flow through the same operations once more; none: if `create_graph`. Outside of
  /// compiled functions they always may: a graph lives as long as its results. The call of a compiled
  /// function keeps what was asked for (WEFT-G009).
  std::optional<bool> retain_graph = {};
  /// Whether gradients flow through the results: for derivatives of derivatives.
  bool create_graph = false;
  /// Whether an input that no output depends on has an undefined gradient, instead of being an error.
  bool allow_unused = false;
  /// Whether such a gradient is zeros; includes `allow_unused`.
  bool materialize_grads = false;
};

/// The sums of the gradients of `outputs` with respect to each of `inputs`: leaves, or tensors that the
/// outputs were computed from. Nothing is written to `.grad()`. An input that does not require a gradient is
/// an error, as is an output that has none.
WEFT_API std::vector<Tensor> grad(const std::vector<Tensor> &outputs, const std::vector<Tensor> &inputs,
                                  const GradOptions &options = {}, Loc loc = Loc::current());
/// Of one output.
WEFT_API std::vector<Tensor> grad(const Tensor &output, const std::vector<Tensor> &inputs,
                                  const GradOptions &options = {}, Loc loc = Loc::current());

/// torch.autograd.grad
namespace autograd {
using weft::grad;
}

} // namespace weft

#endif // WEFT_AUTOGRAD_HPP
