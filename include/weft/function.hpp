//===- function.hpp - Functions with a derivative of the program's own ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FUNCTION_HPP
#define WEFT_FUNCTION_HPP

#include "weft/arguments.hpp"
#include "weft/autograd.hpp"
#include "weft/tree.hpp"

#include <any>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace weft::autograd {

namespace detail {
struct FunctionState;
class FunctionCall;
} // namespace detail

/// What `forward` and `backward` of an `autograd::Function` know of one call.
class WEFT_API AutogradContext {
public:
  /// Keeps tensors for `backward`: arguments, results, or others. What is kept is their present value, so
  /// that a later write in place does not change it. Called again, it replaces them.
  void save_for_backward(const std::vector<Tensor> &tensors, Loc loc = Loc::current());
  /// Those, in order. In `backward`, arguments and results have their history.
  std::vector<Tensor> saved_tensors(Loc loc = Loc::current()) const;
  /// Says in `forward` that no gradient flows through these results.
  void mark_non_differentiable(const std::vector<Tensor> &results);
  /// Whether `backward` gets zeros as the gradient of a result that none reached, which is so unless
  /// `forward` says otherwise. If not, it gets an undefined tensor.
  void set_materialize_grads(bool value);
  /// Whether a gradient is needed for argument `index` of `forward`, the context not counted. False for what
  /// is no tensor, and beyond the last argument.
  bool needs_input_grad(size_t index) const;
  /// Other things that `backward` needs.
  std::map<std::string, std::any> saved_data;

private:
  friend class detail::FunctionCall;
  explicit AutogradContext(std::shared_ptr<detail::FunctionState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::FunctionState> state_;
};

namespace detail {

using Backward = std::vector<Tensor> (*)(AutogradContext *, const std::vector<Tensor> &);

/// One call of a function with a derivative of its own.
class WEFT_API FunctionCall {
public:
  FunctionCall(std::string_view name, Loc loc);
  void addArgument(const Tensor &tensor);
  void addOther();
  static AutogradContext contextOf(std::shared_ptr<FunctionState> state);
  AutogradContext &context() { return context_; }
  /// Replaces the results of `forward` by tensors whose gradient `backward` makes.
  void take(std::vector<Tensor> &results, Backward backward);

private:
  std::string name_;
  Loc loc_;
  AutogradContext context_;
};

/// The name of a type, as it is written.
template <typename T> constexpr std::string_view nameOf() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr size_t begin = text.find("T = ") + 4, end = text.find_first_of(";]", begin);
  constexpr std::string_view whole = text.substr(begin, end - begin);
  return whole.substr(whole.rfind(':') + 1);
}

} // namespace detail

/// A function with a derivative of its own, as torch::autograd::Function of LibTorch:
///
///   struct Cube : autograd::Function<Cube> {
///     static Tensor forward(AutogradContext *ctx, const Tensor &x) {
///       ctx->save_for_backward({x});
///       return x * x * x;
///     }
///     static std::vector<Tensor> backward(AutogradContext *ctx, const std::vector<Tensor> &grads) {
///       return {grads[0] * 3 * ctx->saved_tensors()[0].square()};
///     }
///   };
///   Tensor y = Cube::apply(x);
///
/// `forward` gets the arguments of `apply`, of which there may be twelve, and records no gradients. It
/// returns a tensor, or a tuple, pair, array, vector, optional or registered struct of tensors. `backward`
/// gets a gradient for each tensor of the result, and returns one for each argument of `apply`: of the
/// argument's shape, or one that broadcasts to the gradient's; undefined for what is no tensor, or needs
/// none. What it records has gradients itself under `create_graph`. In a compiled function both are recorded.
/// If the gradients are computed outside of it, `backward` is called there, and `saved_data` must have no
/// tensors that the function computed.
///
/// Throws Error (WEFT-G006) where a gradient does not fit, and (WEFT-G005) in the body of a loop or a branch
/// of `cond` through which a gradient may flow.
template <typename Derived> struct Function {
  template <typename A = frontend::Omitted, typename B = frontend::Omitted, typename C = frontend::Omitted,
            typename D = frontend::Omitted, typename E = frontend::Omitted, typename F = frontend::Omitted,
            typename G = frontend::Omitted, typename H = frontend::Omitted, typename I = frontend::Omitted,
            typename J = frontend::Omitted, typename K = frontend::Omitted, typename L = frontend::Omitted>
  static auto apply(A &&a = A(), B &&b = B(), C &&c = C(), D &&d = D(), E &&e = E(), F &&f = F(), G &&g = G(),
                    H &&h = H(), I &&i = I(), J &&j = J(), K &&k = K(), L &&l = L(),
                    Loc loc = Loc::current()) {
    return frontend::withGiven([&](auto &&...args) { return applyAt(loc, args...); }, std::forward<A>(a),
                               std::forward<B>(b), std::forward<C>(c), std::forward<D>(d), std::forward<E>(e),
                               std::forward<F>(f), std::forward<G>(g), std::forward<H>(h), std::forward<I>(i),
                               std::forward<J>(j), std::forward<K>(k), std::forward<L>(l));
  }

private:
  template <typename... Args> static auto applyAt(Loc loc, Args &...args) {
    detail::FunctionCall call(detail::nameOf<Derived>(), loc);
    (addArgument(call, args), ...);
    using Returned = std::remove_cvref_t<decltype(Derived::forward(&call.context(), args...))>;
    using Result = std::conditional_t<std::is_base_of_v<Tensor, Returned>, Tensor, Returned>;
    static_assert(frontend::isTree<Result>,
                  "forward() of an autograd::Function returns a tensor, or a tuple, "
                  "pair, array, vector, optional or registered struct of them");
    frontend::Flat flat;
    {
      const NoGradGuard guard;
      frontend::Codec<Result>::flatten(Derived::forward(&call.context(), args...), flat);
    }
    call.take(flat.tensors, [](AutogradContext *context, const std::vector<Tensor> &grads) {
      return std::vector<Tensor>(Derived::backward(context, grads));
    });
    frontend::FlatReader reader{flat};
    return frontend::Codec<Result>::build(reader);
  }

  template <typename T> static void addArgument(detail::FunctionCall &call, const T &value) {
    if constexpr (std::is_convertible_v<const T &, const Tensor &>)
      call.addArgument(value);
    else
      call.addOther();
  }
};

} // namespace weft::autograd

#endif // WEFT_FUNCTION_HPP
