//===- autograd.hpp - Gradients as functions --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_AUTOGRAD_HPP
#define WEFT_AUTOGRAD_HPP

#include "weft/tensor.hpp"

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

/// The gradients of `output`, which has one element, with respect to `inputs`: leaves, or tensors that it was
/// computed from. Nothing is written to `.grad()`, and no gradient flows through the results. An input that
/// does not require a gradient, or that `output` does not depend on, is an error.
WEFT_API std::vector<Tensor> grad(const Tensor &output, const std::vector<Tensor> &inputs,
                                  Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_AUTOGRAD_HPP
