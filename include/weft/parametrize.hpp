//===- parametrize.hpp - Weights that are computed from parameters ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch.nn.utils.parametrize and torch.nn.utils.parametrizations:
//
//   nn::Parametrized<nn::Linear> fc =
//       register_module("fc", nn::utils::parametrizations::weight_norm(nn::Linear(3, 4)));
//
// As in PyTorch, "weight" is no parameter any more: "parametrizations.weight.original0" and "..original1" are
// trained and saved, and each call of the module computes the weight from them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PARAMETRIZE_HPP
#define WEFT_PARAMETRIZE_HPP

#include "weft/arguments.hpp"
#include "weft/module.hpp"

#include <memory>

namespace weft::nn {

namespace detail {

/// One step from the tensors that are trained to the weight.
class WEFT_API Mapping {
public:
  virtual ~Mapping() = default;
  virtual Tensor forward(const std::vector<Tensor> &tensors) = 0;
  /// Tensors from which `forward` makes this one.
  virtual std::vector<Tensor> inverse(const Tensor &value) = 0;
  virtual Module registeredIn(Module &list, const std::string &name, Loc loc) = 0;
  virtual std::unique_ptr<Mapping> copy() const = 0;
};

template <typename P> class MappingOf final : public Mapping {
public:
  explicit MappingOf(P module) : module_(std::move(module)) {}
  Tensor forward(const std::vector<Tensor> &tensors) override {
    if constexpr (std::is_invocable_v<P &, const Tensor &>)
      return module_(tensors.at(0));
    else
      return module_(tensors.at(0), tensors.at(1));
  }
  std::vector<Tensor> inverse(const Tensor &value) override {
    if constexpr (!requires { module_.right_inverse(value); }) {
      return {value};
    } else if constexpr (std::is_convertible_v<decltype(module_.right_inverse(value)), Tensor>) {
      return {module_.right_inverse(value)};
    } else {
      auto [first, second] = module_.right_inverse(value);
      return {first, second};
    }
  }
  Module registeredIn(Module &list, const std::string &name, Loc loc) override {
    return list.register_module(name, module_, loc);
  }
  std::unique_ptr<Mapping> copy() const override { return std::make_unique<MappingOf>(module_); }

private:
  P module_;
};

/// A tensor of a module that is computed from others.
struct WEFT_API ParametrizedTensor {
  std::string name;
  Parameter tensor; ///< which the module computes with; it has no value of its own
  std::vector<Parameter> originals;
  std::vector<std::unique_ptr<Mapping>> mappings;
  ParametrizedTensor() = default;
  ParametrizedTensor(const ParametrizedTensor &other);
  ParametrizedTensor(ParametrizedTensor &&) = default;
  ParametrizedTensor &operator=(const ParametrizedTensor &other) { return *this = ParametrizedTensor(other); }
  ParametrizedTensor &operator=(ParametrizedTensor &&) = default;
};

/// Those of one module, which all of its copies share.
class WEFT_API Parametrizations {
public:
  Parametrizations() = default;
  /// Of a clone: the tensors and mappings are those of the clone that is under way.
  Parametrizations(const Parametrizations &other) : tensors_(other.tensors_) {}
  Parametrizations &operator=(const Parametrizations &) = delete;
  static Parametrizations &of(const Module &module);
  void add(Module &module, const std::string &name, std::unique_ptr<Mapping> mapping, Loc loc);
  void remove(Module &module, const std::string &name, bool leave_parametrized, Loc loc);
  bool has(const std::string &name) const;
  bool empty() const;
  Tensor value(const std::string &name, Loc loc) const;

private:
  friend class Substitution;
  /// In a trace: the function depends on which tensors are computed, and how.
  void guard() const;
  void change();
  std::vector<ParametrizedTensor> tensors_;
  std::shared_ptr<bool> unchanged_ = std::make_shared<bool>(true); ///< until the next change
};

/// While it exists, copies of a module that are made on its thread have the computed tensors in place of
/// those that are parametrized.
class WEFT_API Substitution {
public:
  Substitution(const Parametrizations &parametrizations, Loc loc);
  ~Substitution();
  Substitution(const Substitution &) = delete;
  Substitution &operator=(const Substitution &) = delete;
  /// What a copy of the tensor refers to.
  static const Tensor *of(const Tensor &tensor);

private:
  std::vector<std::pair<Tensor, Tensor>> pairs_;
  const Substitution *previous_;
};

} // namespace detail

/// A module of type M that may have tensors which are computed in each call. It is an M otherwise. Outside of
/// calls, a tensor that is parametrized has no value: reading the member is an error (WEFT-G007), and
/// `computed` gives what PyTorch's member does. Copies share the tensors and their parametrizations, and
/// `clone` makes new ones.
template <typename M> class Parametrized : public M {
public:
  explicit Parametrized(M module) : M(std::move(module)) {}

  /// The present value of a parametrized tensor, through which gradients flow. Throws Error for a name that
  /// has no parametrization.
  Tensor computed(const std::string &name, Loc loc = Loc::current()) const {
    return parametrizations().value(name, loc);
  }
  auto operator()(const Tensor &input, Loc loc = Loc::current()) const
    requires std::is_invocable_v<M &, const Tensor &>
  {
    M module = inCall(loc);
    if constexpr (std::is_invocable_v<M &, const Tensor &, Loc>)
      return module(input, loc);
    else
      return module(input);
  }
  /// A call with other arguments than one tensor, of which there may be eight.
  template <typename A = frontend::Omitted, typename B = frontend::Omitted, typename C = frontend::Omitted,
            typename D = frontend::Omitted, typename E = frontend::Omitted, typename F = frontend::Omitted,
            typename G = frontend::Omitted, typename H = frontend::Omitted>
    requires(!(std::is_convertible_v<A, const Tensor &> && std::is_same_v<B, frontend::Omitted>) &&
             frontend::TakesGiven<M &, A, B, C, D, E, F, G, H>)
  auto operator()(A &&a = A(), B &&b = B(), C &&c = C(), D &&d = D(), E &&e = E(), F &&f = F(), G &&g = G(),
                  H &&h = H(), Loc loc = Loc::current()) const {
    return frontend::withGiven(
        [&]<typename... Args>(Args &&...args) {
          M module = inCall(loc);
          if constexpr (std::is_invocable_v<M &, Args..., Loc>)
            return module(std::forward<Args>(args)..., loc);
          else
            return module(std::forward<Args>(args)...);
        },
        std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d), std::forward<E>(e),
        std::forward<F>(f), std::forward<G>(g), std::forward<H>(h));
  }
  detail::Parametrizations &parametrizations() const { return detail::Parametrizations::of(*this); }

private:
  /// The module as one call sees it.
  M inCall(Loc loc) const {
    const detail::Substitution substitution(parametrizations(), loc);
    return M(static_cast<const M &>(*this));
  }
};

namespace detail {

template <typename M> struct WithParametrizationsOf {
  using Type = Parametrized<M>;
};
template <typename M> struct WithParametrizationsOf<Parametrized<M>> {
  using Type = Parametrized<M>;
};
/// Parametrized<M>, once.
template <typename M> using WithParametrizations = typename WithParametrizationsOf<M>::Type;

/// The tensor of a module that gets a parametrization, or a further one.
WEFT_API Tensor tensorToParametrize(const Module &module, const std::string &name, Loc loc);
template <typename M>
Tensor tensorToParametrize(const Parametrized<M> &module, const std::string &name, Loc loc) {
  return module.parametrizations().has(name)
             ? module.computed(name, loc).detach(loc)
             : tensorToParametrize(static_cast<const Module &>(module), name, loc);
}
/// 1 for a transposed convolution, whose outputs are the second dimension of its weight; otherwise 0.
WEFT_API int64_t dimOfOutputs(const Module &module);

} // namespace detail

namespace utils::parametrize {

/// Makes a parameter of the module, of this name, one that each call computes: by `parametrization`, a module
/// that is called with the tensor that is trained instead, and returns one of the same shape, dtype and
/// device. That tensor is registered as "parametrizations.NAME.original". If the parametrization has a member
/// `right_inverse`, the tensor begins as `right_inverse(weight)`, and otherwise as the weight. One of two
/// tensors has them as "original0" and "original1", and its `right_inverse` returns a pair. A tensor that is
/// parametrized already gets a further step.
///
/// Throws Error for a name that the module does not have itself, where the shape or dtype would change, for a
/// parameter that another module of the network has too (WEFT-G007), and in a compiled function. Optimisers
/// are made afterwards. What is trained requires a gradient if the parameter did.
template <typename M, typename P>
void register_parametrization(Parametrized<M> &module, const std::string &name, P parametrization,
                              Loc loc = Loc::current()) {
  module.parametrizations().add(module, name,
                                std::make_unique<detail::MappingOf<P>>(std::move(parametrization)), loc);
}
template <typename M, typename P>
detail::WithParametrizations<M> register_parametrization(M module, const std::string &name, P parametrization,
                                                         Loc loc = Loc::current()) {
  detail::WithParametrizations<M> made(std::move(module));
  register_parametrization(made, name, std::move(parametrization), loc);
  return made;
}

/// Makes it a parameter again: with the present value, or else, which only a single original allows, with
/// that of the original. It requires a gradient if an original does.
template <typename M>
void remove_parametrizations(Parametrized<M> &module, const std::string &name, bool leave_parametrized = true,
                             Loc loc = Loc::current()) {
  module.parametrizations().remove(module, name, leave_parametrized, loc);
}

/// Whether the module has a tensor that is parametrized, or this one is.
template <typename M> bool is_parametrized(const M &) { return false; }
template <typename M> bool is_parametrized(const M &, const std::string &) { return false; }
template <typename M> bool is_parametrized(const Parametrized<M> &module) {
  return !module.parametrizations().empty();
}
template <typename M> bool is_parametrized(const Parametrized<M> &module, const std::string &name) {
  return module.parametrizations().has(name);
}

} // namespace utils::parametrize

namespace detail {

/// g v / |v|, with a norm for each index of `dim`, or one of all.
class WEFT_API WeightNorm : public Module {
public:
  WeightNorm(std::optional<int64_t> dim, Loc loc);
  Tensor operator()(const Tensor &g, const Tensor &v) const;
  std::pair<Tensor, Tensor> right_inverse(const Tensor &weight) const;

private:
  Tensor norm(const Tensor &v) const;
  std::optional<int64_t> dim_;
  Loc loc_;
};

/// The weight divided by its largest singular value, which iterations of the power method estimate: in each
/// call in training mode, from the vectors of the call before.
class WEFT_API SpectralNorm : public Module {
public:
  SpectralNorm(const Tensor &weight, int64_t iterations, int64_t dim, double eps, Loc loc);
  Tensor operator()(const Tensor &weight) const;

private:
  Tensor matrix(const Tensor &weight) const;
  void iterate(const Tensor &matrix, int64_t times) const;
  int64_t iterations_, dim_;
  double eps_;
  Loc loc_;
  Parameter u_, v_;
};

/// A matrix with orthonormal columns, or rows if it has more columns.
class WEFT_API Orthogonal : public Module {
public:
  Orthogonal(const Tensor &weight, std::string map, bool trivializes, Loc loc);
  Tensor operator()(const Tensor &x) const;
  Tensor right_inverse(const Tensor &weight) const;

private:
  std::string map_;
  Loc loc_;
  Parameter base_;
};

} // namespace detail

namespace utils::parametrizations {

/// Salimans and Kingma (2016): the weight is g v / |v|; g ("original0") has a norm for each index of `dim`,
/// or one of the whole tensor if `dim` is empty or, as in PyTorch, -1; v is "original1".
template <typename M>
detail::WithParametrizations<M> weight_norm(M module, const std::string &name = "weight",
                                            std::optional<int64_t> dim = 0, Loc loc = Loc::current()) {
  return parametrize::register_parametrization(std::move(module), name, detail::WeightNorm(dim, loc), loc);
}

/// Miyato et al. (2018): the weight divided by its spectral norm, where it is seen as a matrix with the rows
/// of `dim`. Each call in training mode makes `n_power_iterations` of the estimate, whose vectors are the
/// buffers "0._u" and "0._v". A tensor of one dimension is divided by its norm. `dim` is 1 by default
/// for a transposed convolution, and otherwise 0.
template <typename M>
detail::WithParametrizations<M> spectral_norm(M module, const std::string &name = "weight",
                                              int64_t n_power_iterations = 1, double eps = 1e-12,
                                              std::optional<int64_t> dim = {}, Loc loc = Loc::current()) {
  const Tensor weight = detail::tensorToParametrize(module, name, loc);
  const int64_t rows = dim ? *dim : detail::dimOfOutputs(module);
  return parametrize::register_parametrization(
      std::move(module), name, detail::SpectralNorm(weight, n_power_iterations, rows, eps, loc), loc);
}

/// Lezcano-Casado (2019): a matrix, or a batch of them, with orthonormal columns, or rows if there are more
/// columns. `orthogonal_map` is "matrix_exp", which is the default for square matrices, "cayley" or
/// "householder". With `use_trivialization`, what the map makes is multiplied by the buffer "0.base", the
/// orthogonal matrix that the weight began as; without, only "householder" is there.
template <typename M>
detail::WithParametrizations<M> orthogonal(M module, const std::string &name = "weight",
                                           const std::string &orthogonal_map = "",
                                           bool use_trivialization = true, Loc loc = Loc::current()) {
  const Tensor weight = detail::tensorToParametrize(module, name, loc);
  return parametrize::register_parametrization(
      std::move(module), name, detail::Orthogonal(weight, orthogonal_map, use_trivialization, loc), loc);
}

} // namespace utils::parametrizations

} // namespace weft::nn

#endif // WEFT_PARAMETRIZE_HPP
