//===- gradcheck.hpp - Derivatives compared with differences ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_GRADCHECK_HPP
#define WEFT_GRADCHECK_HPP

#include "weft/autograd.hpp"
#include "weft/tree.hpp"

#include <functional>
#include <initializer_list>
#include <tuple>

namespace weft::autograd {

/// Options of gradcheck(), as those of torch.autograd.gradcheck.
struct GradcheckOptions {
  double eps = 1e-6;               ///< by which each element of an input is changed, up and down
  double atol = 1e-5, rtol = 1e-3; ///< a derivative may differ by atol + rtol times the difference quotient
  bool raise_exception = true;     ///< otherwise the result says whether they agree
  double nondet_tol = 0;           ///< by which two runs of the derivative may differ
};

/// Options of gradgradcheck(), as those of torch.autograd.gradgradcheck.
struct GradgradcheckOptions {
  /// The gradients of the outputs that require one; none: numbers between -1 and 1.
  std::vector<Tensor> grad_outputs = {};
  double eps = 1e-6;
  double atol = 1e-5, rtol = 1e-3;
  bool raise_exception = true;
  double nondet_tol = 0;
};

/// The arguments of a function that is checked: a tensor, or several.
struct CheckedInputs {
  CheckedInputs(const Tensor &tensor) : tensors{tensor} {}
  CheckedInputs(std::initializer_list<Tensor> list) : tensors(list) {}
  CheckedInputs(std::vector<Tensor> list) : tensors(std::move(list)) {}
  std::vector<Tensor> tensors;
};

namespace detail {

using CheckedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor> &)>;

WEFT_API bool gradcheck(const CheckedFunction &fn, const std::vector<Tensor> &inputs,
                        const GradcheckOptions &options, Loc loc);
WEFT_API bool gradgradcheck(const CheckedFunction &fn, const std::vector<Tensor> &inputs,
                            const GradgradcheckOptions &options, Loc loc);
[[noreturn]] WEFT_API void failOnCount(const char *name, size_t least, size_t most, size_t given, Loc loc);

template <size_t> using Each = const Tensor &;
template <typename Fn, size_t... I> constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<Fn &, Each<I>...>;
}
/// How many tensors a function takes: the least number, from 1 to 12, with which it can be called, or 0. One
/// with parameters that have defaults takes more, too.
template <typename Fn, size_t N = 1> constexpr size_t arity() {
  if constexpr (takes<Fn>(std::make_index_sequence<N>()))
    return N;
  else if constexpr (N < 12)
    return arity<Fn, N + 1>();
  else
    return 0;
}
/// The greatest of the numbers from N on, one after the other, with which it can be called.
template <typename Fn, size_t N> constexpr size_t greatestArity() {
  if constexpr (N < 12 && takes<Fn>(std::make_index_sequence<N + 1>()))
    return greatestArity<Fn, N + 1>();
  else
    return N;
}

template <typename Returned> std::vector<Tensor> tensorsOf(Returned &&returned) {
  using Plain = std::remove_cvref_t<Returned>;
  using Result = std::conditional_t<std::is_base_of_v<Tensor, Plain>, Tensor, Plain>;
  static_assert(frontend::isTree<Result>,
                "gradcheck() takes a function that returns tensors: one, or a tuple, "
                "pair, array, vector, optional or registered struct of them");
  frontend::Flat flat;
  frontend::Codec<Result>::flatten(std::forward<Returned>(returned), flat);
  return flat.tensors;
}

/// Calls a function of N tensors, or of so many more as there are.
template <size_t N, size_t Most, typename Fn>
std::vector<Tensor> callWith(Fn &fn, const std::vector<Tensor> &inputs) {
  if constexpr (N < Most)
    if (inputs.size() > N)
      return callWith<N + 1, Most>(fn, inputs);
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return tensorsOf(fn(inputs[I]...));
  }(std::make_index_sequence<N>());
}

/// The function as one of a list of tensors. A generic lambda is asked for tensors first: to ask it for a
/// vector compiles its body for one.
template <typename Fn> CheckedFunction checked(Fn fn, const char *name, Loc loc) {
  constexpr size_t least = arity<Fn>();
  if constexpr (least > 0) {
    constexpr size_t most = greatestArity<Fn, least>();
    return [=](const std::vector<Tensor> &inputs) mutable {
      if (inputs.size() < least || inputs.size() > most)
        failOnCount(name, least, most, inputs.size(), loc);
      return callWith<least, most>(fn, inputs);
    };
  } else {
    static_assert(std::is_invocable_v<Fn &, const std::vector<Tensor> &>,
                  "gradcheck() takes a function of 1 to 12 tensors, or of a vector of tensors");
    return [=](const std::vector<Tensor> &inputs) mutable { return tensorsOf(fn(inputs)); };
  }
}

} // namespace detail

/// Compares the derivatives of a function with difference quotients, as torch.autograd.gradcheck: those of
/// each output that requires a gradient with respect to each input that does, of which each is f64.
///
///   autograd::gradcheck([](Tensor x, Tensor y) { return x * sin(y); }, {x, y});
///
/// `fn` takes tensors, or a vector of them, and returns tensors. It is called twice for each element of these
/// inputs, which have another value meanwhile; each derivative is computed twice. In the place of an input
/// that is no leaf, it is given a leaf with the input's value. Returns true, or throws
/// Error (WEFT-G011) with the largest difference and its place; if `raise_exception` is false, it returns
/// false instead.
template <typename Fn>
bool gradcheck(Fn fn, const CheckedInputs &inputs, const GradcheckOptions &options = {},
               Loc loc = Loc::current()) {
  return detail::gradcheck(detail::checked(std::move(fn), "gradcheck", loc), inputs.tensors, options, loc);
}

/// The same for the derivatives of the derivatives, with respect to the inputs and to the gradients of the
/// outputs.
template <typename Fn>
bool gradgradcheck(Fn fn, const CheckedInputs &inputs, const GradgradcheckOptions &options = {},
                   Loc loc = Loc::current()) {
  return detail::gradgradcheck(detail::checked(std::move(fn), "gradgradcheck", loc), inputs.tensors, options,
                               loc);
}

} // namespace weft::autograd

#endif // WEFT_GRADCHECK_HPP
