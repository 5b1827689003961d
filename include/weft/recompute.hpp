//===- recompute.hpp - Activations that are computed again ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RECOMPUTE_HPP
#define WEFT_RECOMPUTE_HPP

#include "weft/arguments.hpp"
#include "weft/layers.hpp"
#include "weft/tree.hpp"

#include <functional>
#include <type_traits>

namespace weft::utils {

namespace detail {

/// What was recorded since it was made is recorded again where a gradient flows through the results.
class WEFT_API Recomputed {
public:
  explicit Recomputed(Loc loc) : begin_(begin()), loc_(loc) {}
  /// Gives the results that have a history this one.
  void take(const std::vector<Tensor> &results) const;

private:
  static uint64_t begin();
  uint64_t begin_;
  Loc loc_;
};

} // namespace detail

namespace detail {

/// `checkpoint` of any number of arguments.
template <typename F, typename... Args> auto checkpointAt(Loc loc, F &&function, Args &&...args) {
  using Returned = std::remove_cvref_t<std::invoke_result_t<F, Args...>>;
  using Result = std::conditional_t<std::is_base_of_v<Tensor, Returned>, Tensor, Returned>;
  if constexpr (std::is_void_v<Result>) {
    std::invoke(std::forward<F>(function), std::forward<Args>(args)...);
  } else {
    static_assert(frontend::isTree<Result>, "checkpoint() takes a function that returns tensors, or a tuple, "
                                            "pair, array, vector, optional or registered struct of them");
    const Recomputed recomputed(loc);
    frontend::Flat flat;
    frontend::Codec<Result>::flatten(std::invoke(std::forward<F>(function), std::forward<Args>(args)...),
                                     flat);
    recomputed.take(flat.tensors);
    frontend::FlatReader reader{flat};
    return frontend::Codec<Result>::build(reader);
  }
}

} // namespace detail

/// The result of `function(a, b, ..)`, whose activations are not kept for the gradient
/// (torch.utils.checkpoint). The derivative computes them again when it needs them: of the whole function no
/// more is kept than the tensors that it reads. It gives the same bits as `function(a, b, ..)`, and so do the
/// gradients.
///
/// The function takes up to eight arguments, and is called once. What it records is recorded again, so that
/// random numbers are the same, and effects, writes and draws of numbers happen once. It may return a Tensor,
/// or what a compiled function may return. Checkpoints may be nested. In the body of a loop (scan) it is the
/// same as a plain call.
template <typename Fn, typename A = frontend::Omitted, typename B = frontend::Omitted,
          typename C = frontend::Omitted, typename D = frontend::Omitted, typename E = frontend::Omitted,
          typename F = frontend::Omitted, typename G = frontend::Omitted, typename H = frontend::Omitted>
auto checkpoint(Fn &&function, A &&a = A(), B &&b = B(), C &&c = C(), D &&d = D(), E &&e = E(), F &&f = F(),
                G &&g = G(), H &&h = H(), Loc loc = Loc::current()) {
  return frontend::withGiven(
      [&]<typename... Args>(Args &&...args) {
        return detail::checkpointAt(loc, std::forward<Fn>(function), std::forward<Args>(args)...);
      },
      std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d), std::forward<E>(e),
      std::forward<F>(f), std::forward<G>(g), std::forward<H>(h));
}

/// Calls the layers one after the other, in `segments` parts of about equal numbers of layers, with a
/// checkpoint for each part but the last, whose activations the derivative needs at once
/// (torch.utils.checkpoint.checkpoint_sequential). Throws Error unless 1 <= segments <= layers.size().
WEFT_API Tensor checkpoint_sequential(const nn::Sequential &layers, int64_t segments, const Tensor &input,
                                      Loc loc = Loc::current());
/// The same for functions.
WEFT_API Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor &)>> &functions,
                                      int64_t segments, const Tensor &input, Loc loc = Loc::current());

} // namespace weft::utils

#endif // WEFT_RECOMPUTE_HPP
