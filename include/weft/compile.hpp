//===- compile.hpp - Whole functions, traced and compiled -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `compile(fn)` returns a callable of the same signature. The first call with a signature (shapes, dtypes,
// devices, train or eval, which gradients exist) traces `fn` and compiles what it did, with every parameter
// and state that it touched as hidden input and, where written, as result in the same storage; later calls
// run that.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_COMPILE_HPP
#define WEFT_COMPILE_HPP

#include "weft/tensor.hpp"

#include <array>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

namespace weft {

struct CompileOptions {
  /// The function's name in text, packages and messages.
  std::string name = "main";
};

struct SaveOptions {
  /// What the package can run on. This version has "cpu": code for x86-64-v3 and v4.
  std::vector<std::string> targets = {"cpu"};
};

/// One compiled signature of a function, as `variants()` lists them.
struct VariantInfo {
  std::string signature; ///< "(tensor<128x28x28xui8, cpu>, tensor<128xi64, cpu>) train"
  std::string reason;    ///< which guard missed, old and new value; empty for the first
  double compile_ms = 0;
  uint64_t calls = 0;
};

/// How many functions this process compiled, lazy flushes among them: a steady loop adds nothing.
WEFT_API uint64_t compile_count();

namespace frontend {
class CompiledImpl;
using TracedFn = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
} // namespace frontend

/// What every CompiledFunction has, whatever its signature.
class WEFT_API CompiledBase {
public:
  /// Fusions, refusals with their codes, kernels and memory plan of the last variant that ran, by source
  /// line.
  std::string explain() const;
  /// The last variant as text: "trace" as recorded, "plan" with fusions, schedules and memory.
  std::string mlir(const std::string &stage = "trace") const;
  std::vector<VariantInfo> variants() const;
  /// Writes the last variant that ran as a package that needs no compiler to run, with the values that its
  /// state has now: parameters, optimiser state, random state and run-time scalars, each under the name that
  /// it has in messages and state dicts. `include/weft/weft.h` loads it. Throws Error: WEFT-L013 for an
  /// unknown target, WEFT-E001 for one that this build has no backend for, WEFT-L001 where the file cannot be
  /// written.
  void save(const std::string &path, const SaveOptions &options = {}, Loc loc = Loc::current()) const;

protected:
  CompiledBase(frontend::TracedFn fn, CompileOptions options, Loc loc);
  std::vector<Tensor> call(std::span<const Tensor> arguments, Loc loc) const;
  std::shared_ptr<frontend::CompiledImpl> impl_;
};

namespace frontend {

// How a C++ result becomes tensors and back: Tensor, void, and tuples, pairs and arrays of Tensor.
template <typename R> struct ResultCodec {
  static_assert(
      std::is_same_v<R, Tensor>,
      "a compiled function returns Tensor, void, or a std::tuple, std::pair or std::array of Tensor");
  static std::vector<Tensor> flatten(R value) { return {std::move(value)}; }
  static R build(std::vector<Tensor> values) { return std::move(values[0]); }
};
template <> struct ResultCodec<void> {};
template <typename... Ts> struct ResultCodec<std::tuple<Ts...>> {
  static_assert((std::is_same_v<Ts, Tensor> && ...), "every element of the tuple must be a Tensor");
  static std::vector<Tensor> flatten(std::tuple<Ts...> value) {
    return std::apply([](auto &&...ts) { return std::vector<Tensor>{std::move(ts)...}; }, std::move(value));
  }
  static std::tuple<Ts...> build(std::vector<Tensor> values) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple<Ts...>(std::move(values[I])...);
    }(std::index_sequence_for<Ts...>());
  }
};
template <> struct ResultCodec<std::pair<Tensor, Tensor>> {
  static std::vector<Tensor> flatten(std::pair<Tensor, Tensor> v) {
    return {std::move(v.first), std::move(v.second)};
  }
  static std::pair<Tensor, Tensor> build(std::vector<Tensor> v) { return {std::move(v[0]), std::move(v[1])}; }
};
template <size_t N> struct ResultCodec<std::array<Tensor, N>> {
  static std::vector<Tensor> flatten(std::array<Tensor, N> v) { return {v.begin(), v.end()}; }
  static std::array<Tensor, N> build(std::vector<Tensor> v) {
    std::array<Tensor, N> out;
    for (size_t i = 0; i < N; ++i)
      out[i] = std::move(v[i]);
    return out;
  }
};

template <typename F> struct Callable : Callable<decltype(&F::operator())> {};
template <typename C, typename R, typename... As> struct Callable<R (C::*)(As...) const> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<As>...>;
};
template <typename C, typename R, typename... As>
struct Callable<R (C::*)(As...)> : Callable<R (C::*)(As...) const> {};
template <typename R, typename... As> struct Callable<R (*)(As...)> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<As>...>;
};
template <typename T>
concept HasSignature = std::is_pointer_v<T> || requires { &T::operator(); };

template <typename Tuple> inline constexpr bool allTensors = false;
template <typename... Ts>
inline constexpr bool allTensors<std::tuple<Ts...>> = (std::is_same_v<Ts, Tensor> && ...);

} // namespace frontend

template <typename R, typename Arguments> class CompiledFunction;
template <typename R, typename... Ts> class CompiledFunction<R, std::tuple<Ts...>> : public CompiledBase {
public:
  template <typename Fn>
  CompiledFunction(Fn fn, CompileOptions options, Loc loc)
      : CompiledBase(erase(std::move(fn)), options, loc) {}

  R operator()(Ts... arguments) const {
    std::array<Tensor, sizeof...(Ts)> list{std::move(arguments)...};
    std::vector<Tensor> results = call(list, Loc::current());
    if constexpr (!std::is_void_v<R>)
      return frontend::ResultCodec<R>::build(std::move(results));
  }

private:
  template <typename Fn> static frontend::TracedFn erase(Fn fn) {
    return [fn = std::move(fn)](std::span<const Tensor> in) mutable -> std::vector<Tensor> {
      return [&]<size_t... I>(std::index_sequence<I...>) -> std::vector<Tensor> {
        if constexpr (std::is_void_v<R>) {
          fn(in[I]...);
          return {};
        } else {
          return frontend::ResultCodec<R>::flatten(fn(in[I]...));
        }
      }(std::index_sequence_for<Ts...>());
    };
  }
};

/// Compiles `fn`, a lambda or function of Tensors that returns Tensor, void, or a tuple of Tensors.
template <typename Fn> auto compile(Fn fn, CompileOptions options = {}, Loc loc = Loc::current()) {
  static_assert(
      frontend::HasSignature<Fn>,
      "weft::compile needs a function whose parameter types are spelled out: write (Tensor x), not (auto x)");
  using Signature = frontend::Callable<Fn>;
  static_assert(frontend::allTensors<typename Signature::Arguments>,
                "the parameters of a compiled function are Tensors; capture everything else");
  return CompiledFunction<typename Signature::Result, typename Signature::Arguments>(std::move(fn), options,
                                                                                     loc);
}

} // namespace weft

#endif // WEFT_COMPILE_HPP
