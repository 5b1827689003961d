//===- compile.hpp - Whole functions, traced and compiled -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `compile(fn)` returns a callable of the same signature. The first call with a signature (shapes, dtypes,
// devices, static arguments, train or eval, which gradients exist, which arguments are the same tensor)
// traces `fn` and compiles the trace. Every parameter and state that the function touched is a hidden input,
// and, if the function wrote it, a result in the same storage. Later calls with the signature run the
// compiled code.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_COMPILE_HPP
#define WEFT_COMPILE_HPP

#include "weft/dim.hpp"
#include "weft/tree.hpp"

#include <functional>
#include <optional>

namespace weft {

/// Which findings are errors instead of notes in `explain()`; combine with `|`.
enum class Strict : unsigned {
  none = 0,
  fusion = 1,    ///< ops that could not be fused (codes F)
  donate = 2,    ///< copies of tensors that could be written in place (D)
  capture = 4,   ///< launches that cut a captured graph (C)
  recompile = 8, ///< a call that would compile a second variant (R)
};
constexpr Strict operator|(Strict a, Strict b) {
  return static_cast<Strict>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(Strict set, Strict one) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(one)) != 0;
}
inline constexpr Strict recompile = Strict::recompile;

/// Whether a compiled function may change the bits of results.
enum class Numerics {
  eager, ///< no: each operation rounds as if alone, so the bits are those without `compile`
  fast,  ///< as docs/numerics.md lists, within the error bounds given there
};

struct CompileOptions {
  /// The function's name in text, packages and messages; not empty.
  std::string name = "main";
  /// Whether results have the bits of the single operations. A compiled function may only call compiled
  /// functions with the same setting; another one is an error while it is traced.
  Numerics numerics = Numerics::eager;
  /// Which findings are errors instead of notes.
  Strict strict = Strict::none;
  /// The bytes that temporaries should take at most at one time. If the order of the program needs more,
  /// launches run in another order that keeps the limit, or in the best order found; `explain()` says which.
  /// No result changes, and no call fails because of the limit. Without a limit: the order of the program.
  std::optional<uint64_t> memory_limit = {};
  /// The types of the tensor arguments, in order. Empty: each call determines them.
  std::vector<ArgumentSpec> specs = {};
};

struct SaveOptions {
  /// What the package can run on: "cpu", with code for x86-64-v3 and v4, or one of these levels by its name;
  /// "cpu:16" cuts work for so many threads; "cuda:sm_90", or "cpu:16+cuda:sm_90", has kernels of a GPU for
  /// the parts of the program that are on one. Each has a plan of its own; loading takes the best that the
  /// devices that are there can run.
  std::vector<std::string> targets = {"cpu"};
  /// Which variant, by `VariantInfo::number`; none: the one that ran most, of equals the one that ran last.
  std::optional<size_t> variant = {};
};

struct MlirOptions {
  /// Which variant, as in SaveOptions.
  std::optional<size_t> variant = {};
};

struct ExplainOptions {
  /// Which variant, by `VariantInfo::number`; none: the one that ran most, of equals the one that ran last.
  std::optional<size_t> variant = {};
  /// Every launch with its slices, and every decision, after what `explain()` prints. A page has these
  /// always.
  bool full = false;
};

/// One compiled signature of a function, as `variants()` lists them.
struct VariantInfo {
  size_t number = 0;     ///< in the order in which they were compiled, from 0 on
  std::string signature; ///< "(tensor<128x28x28xui8, cpu>, tensor<128xi64, cpu>) train"
  std::string reason;    ///< which guard missed, old and new value; empty for the first
  std::string code;      ///< of the reason, "WEFT-R001"
  Loc loc;               ///< the call that compiled it
  double compile_ms = 0;
  uint64_t calls = 0;
};

/// How many functions this process has compiled, lazy programs included. A steady loop does not increase it.
WEFT_API uint64_t compile_count();

namespace frontend {
class CompiledImpl;
using TracedFn = std::function<Flat(const Flat &)>;
} // namespace frontend

/// The members of every CompiledFunction, whatever its signature.
class WEFT_API CompiledBase {
public:
  /// A report on a variant, in a few screens: five lines first (launches, kernels, bytes moved, peak of the
  /// arena, the costliest refusals), then launches by source line, and refusals with their codes, one row for
  /// each pair of kernels that did not fuse. If there are several variants, it begins with a line for each.
  /// Throws Error if there is no variant with that number.
  std::string explain(const ExplainOptions &options = {}, Loc loc = Loc::current()) const;
  /// The same and everything else as a page of HTML, which needs nothing but a browser: refusals, source
  /// lines, launches and kernels with links between them, and a filter. Throws Error as `explain` does.
  std::string explain_html(const ExplainOptions &options = {}, Loc loc = Loc::current()) const;
  /// A variant as text: "trace" as recorded, "plan" with fusions, schedules and memory. If there are several
  /// variants, a comment in the first line says which it is. Throws Error for another stage, and if there is
  /// no variant with that number.
  std::string mlir(const std::string &stage = "trace", const MlirOptions &options = {},
                   Loc loc = Loc::current()) const;
  /// Most recently used first; at most 64 are kept.
  std::vector<VariantInfo> variants() const;
  /// Compiles now, for the specs of the arguments; without this the first call, `mlir` or `save` does.
  void compile(Loc loc = Loc::current()) const;
  /// Writes a variant as a package that needs no compiler to run, with the values that its state has now:
  /// parameters, optimiser state, random state and run-time scalars, each under the name that it has in
  /// messages and state dicts. `include/weft/weft.h` loads it. If there are several variants, a line on
  /// standard error says which one is saved. A gradient that the function clears at its start and uses
  /// itself, as a training step does, is no result of the package. Throws Error for an unknown target
  /// (WEFT-L013), if kernels of a GPU are to be compiled and there is no NVRTC, if the file cannot be written
  /// (WEFT-L001), if there is no variant with that number, or if its state has changed its type.
  void save(const std::string &path, const SaveOptions &options = {}, Loc loc = Loc::current()) const;

protected:
  /// `only_tensors`: all parameters are tensors, so that specs describe them completely.
  CompiledBase(frontend::TracedFn fn, CompileOptions options, bool only_tensors, Loc loc);
  frontend::Flat call(frontend::Flat arguments, Loc loc) const;
  std::shared_ptr<frontend::CompiledImpl> impl_;
};

namespace frontend {

/// Whether a parameter is a reference through which the function would rebind its caller's handle.
template <typename A>
inline constexpr bool isRebindable =
    std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>;

template <typename F> struct Callable : Callable<decltype(&F::operator())> {};
template <typename C, typename R, typename... As> struct Callable<R (C::*)(As...) const> {
  using Result = std::decay_t<R>;
  using Arguments = std::tuple<std::decay_t<As>...>;
  static constexpr bool takesReferences = (isRebindable<As> || ...);
};
template <typename C, typename R, typename... As>
struct Callable<R (C::*)(As...)> : Callable<R (C::*)(As...) const> {};
template <typename R, typename... As> struct Callable<R (*)(As...)> {
  using Result = std::decay_t<R>;
  using Arguments = std::tuple<std::decay_t<As>...>;
  static constexpr bool takesReferences = (isRebindable<As> || ...);
};
template <typename T>
concept HasSignature = std::is_pointer_v<T> || requires { &T::operator(); };

/// Whether a type consists of a fixed number of tensors and nothing else.
template <typename T> inline constexpr bool holdsOnlyTensors = std::is_same_v<T, Tensor>;
template <typename... Ts>
inline constexpr bool holdsOnlyTensors<std::tuple<Ts...>> = (holdsOnlyTensors<Ts> && ...);
template <typename A, typename B>
inline constexpr bool holdsOnlyTensors<std::pair<A, B>> = holdsOnlyTensors<A> && holdsOnlyTensors<B>;
template <typename T, size_t N>
inline constexpr bool holdsOnlyTensors<std::array<T, N>> = holdsOnlyTensors<T>;
} // namespace frontend

template <typename R, typename Arguments> class CompiledFunction;
template <typename R, typename... Ts> class CompiledFunction<R, std::tuple<Ts...>> : public CompiledBase {
public:
  template <typename Fn>
  CompiledFunction(Fn fn, CompileOptions options, Loc loc)
      : CompiledBase(erase(std::move(fn)), std::move(options), frontend::holdsOnlyTensors<std::tuple<Ts...>>,
                     loc) {}

  R operator()(Ts... arguments, Loc loc = Loc::current()) const {
    frontend::Flat flat;
    flat.tensors.reserve(sizeof...(Ts));
    (frontend::Codec<Ts>::flatten(arguments, flat), ...);
    frontend::Flat results = call(std::move(flat), loc);
    if constexpr (!std::is_void_v<R>) {
      frontend::FlatReader reader{results};
      return frontend::Codec<R>::build(reader);
    }
  }

private:
  template <typename Fn> static frontend::TracedFn erase(Fn fn) {
    return [fn = std::move(fn)](const frontend::Flat &in) mutable {
      [[maybe_unused]] frontend::FlatReader reader{in}; // a function may have no parameters
      std::tuple<Ts...> arguments{frontend::Codec<Ts>::build(reader)...};
      frontend::Flat out;
      if constexpr (std::is_void_v<R>)
        std::apply(fn, std::move(arguments));
      else
        frontend::Codec<R>::flatten(std::apply(fn, std::move(arguments)), out);
      return out;
    };
  }
};

/// Compiles `fn`, a lambda or function whose parameters and result are Tensor, Scalar, static values, or
/// tuples, pairs, arrays, vectors, optionals and registered structs (WEFT_STRUCT) of these. The result may be
/// void.
template <typename Fn> auto compile(Fn fn, CompileOptions options = {}, Loc loc = Loc::current()) {
  static_assert(
      frontend::HasSignature<Fn>,
      "weft::compile needs a function whose parameter types are spelled out: write (Tensor x), not (auto x)");
  if constexpr (frontend::HasSignature<Fn>) {
    using Signature = frontend::Callable<Fn>;
    using Result = typename Signature::Result;
    static_assert(frontend::isTree<typename Signature::Arguments>,
                  "a parameter of a compiled function is a Tensor, a Scalar, a bool, integer, float or "
                  "enumeration, or a tuple, array, vector, optional or WEFT_STRUCT of these; capture "
                  "everything else");
    static_assert(std::is_void_v<Result> || frontend::isTree<Result>,
                  "a compiled function returns void, a Tensor, or a tuple, array, vector, optional or "
                  "WEFT_STRUCT of them");
    static_assert(!Signature::takesReferences,
                  "a parameter of a compiled function is no reference that can be rebound: write (Tensor x) "
                  "or (const Tensor &x) instead of (Tensor &x). Writing it, as x += 1 does, writes the "
                  "caller's tensor anyway");
    if constexpr (!Signature::takesReferences)
      return CompiledFunction<Result, typename Signature::Arguments>(std::move(fn), std::move(options), loc);
  }
}

/// The same for arguments of these types, with dynamic dimensions where a spec has a Dim (weft/dim.hpp): one
/// variant serves all sizes in range, and a call with another dtype, device or shape is an error.
template <typename Fn>
auto compile(Fn fn, std::initializer_list<ArgumentSpec> specs, CompileOptions options = {},
             Loc loc = Loc::current()) {
  options.specs = specs;
  return compile(std::move(fn), std::move(options), loc);
}

} // namespace weft

#endif // WEFT_COMPILE_HPP
