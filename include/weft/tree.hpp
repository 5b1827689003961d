//===- tree.hpp - Structs and containers of tensors -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parameter and result types of compiled functions: Tensor and Scalar; bool, integers, floats and
// enumerations, which are static, that is, part of the signature; and tuples, pairs, arrays, vectors,
// optionals and registered structs of these. A value is flattened into its tensors and a structure, and
// rebuilt from both.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TREE_HPP
#define WEFT_TREE_HPP

#include "weft/tensor.hpp"

#include <array>
#include <cstring>
#include <tuple>
#include <utility>

namespace weft {

/// A number that is an argument of every call of a compiled function: another value compiles nothing. In
/// arithmetic it behaves as a number, which takes the dtype of the other operand.
class WEFT_API Scalar {
public:
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Scalar(T value, Loc loc = Loc::current()) : number_(value, loc) {}
  /// From a 0-dimensional tensor; only the kind of its dtype matters.
  explicit Scalar(const Tensor &value, Loc loc = Loc::current());

  operator Arg() const { return number_; }
  /// As a 0-dimensional tensor: f64, i64 or i1.
  Tensor tensor(Loc loc = Loc::current()) const;

private:
  Arg number_;
};

// A Scalar on the right becomes an Arg; on the left it needs operators of its own.
#define WEFT_SCALAR_OPERATOR(name, symbol)                                                                   \
  template <typename S, std::enable_if_t<std::is_same_v<S, Scalar>, int> = 0>                                \
  Tensor operator symbol(const S &a, const Arg &b) {                                                         \
    return name(a, b);                                                                                       \
  }
WEFT_SCALAR_OPERATOR(add, +)
WEFT_SCALAR_OPERATOR(sub, -)
WEFT_SCALAR_OPERATOR(mul, *)
WEFT_SCALAR_OPERATOR(div, /)
#undef WEFT_SCALAR_OPERATOR

/// Specialised for structs of tensors by WEFT_STRUCT.
template <typename T> struct Fields;

/// Makes a struct of tensors something that compiled functions take and return. Names all of its members, in
/// order: struct Batch { Tensor image, label; }; WEFT_STRUCT(Batch, image, label). At namespace level.
#define WEFT_STRUCT(Type, ...)                                                                               \
  template <> struct weft::Fields<Type> {                                                                    \
    static auto of(Type &value) {                                                                            \
      auto &[__VA_ARGS__] = value;                                                                           \
      return std::tie(__VA_ARGS__);                                                                          \
    }                                                                                                        \
  };

namespace frontend {

/// The parts of a value that are no tensors: static values, sizes of vectors, which optionals are set.
struct StructureEntry {
  enum Kind : uint8_t { boolean, integer, real, enumeration, size, presence, scalar } kind;
  int64_t bits;
  friend bool operator==(const StructureEntry &, const StructureEntry &) = default;
};
using Structure = std::vector<StructureEntry>;

/// A flattened value.
struct Flat {
  std::vector<Tensor> tensors;
  Structure structure;
};

/// The position in a flattened value while it is rebuilt.
struct FlatReader {
  const Flat &flat;
  size_t tensor = 0, entry = 0;
  const Tensor &nextTensor() { return flat.tensors[tensor++]; }
  int64_t nextBits() { return flat.structure[entry++].bits; }
};

template <typename T> struct Codec;

template <typename T>
concept StaticValue = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <typename T>
concept RegisteredStruct = requires(T &value) { Fields<T>::of(value); };

template <typename T> inline constexpr bool isTree = false;
template <> inline constexpr bool isTree<Tensor> = true;
template <> inline constexpr bool isTree<Scalar> = true;
template <StaticValue T> inline constexpr bool isTree<T> = true;
template <typename... Ts> inline constexpr bool isTree<std::tuple<Ts...>> = (isTree<Ts> && ...);
template <typename A, typename B> inline constexpr bool isTree<std::pair<A, B>> = isTree<A> && isTree<B>;
template <typename T, size_t N> inline constexpr bool isTree<std::array<T, N>> = isTree<T>;
template <typename T> inline constexpr bool isTree<std::vector<T>> = isTree<T>;
template <typename T> inline constexpr bool isTree<std::optional<T>> = isTree<T>;
template <RegisteredStruct T> inline constexpr bool isTree<T> = true;

template <> struct Codec<Tensor> {
  static void flatten(const Tensor &value, Flat &flat) { flat.tensors.push_back(value); }
  static Tensor build(FlatReader &reader) { return reader.nextTensor(); }
};

template <> struct Codec<Scalar> {
  static void flatten(const Scalar &value, Flat &flat) { flat.tensors.push_back(value.tensor()); }
  static Scalar build(FlatReader &reader) { return Scalar(reader.nextTensor()); }
};

template <StaticValue T> struct Codec<T> {
  static void flatten(T value, Flat &flat) {
    if constexpr (std::is_floating_point_v<T>) {
      static_assert(sizeof(T) <= sizeof(double), "long double is no static value: use double");
      double wide = value;
      int64_t bits;
      std::memcpy(&bits, &wide, sizeof(bits));
      flat.structure.push_back({StructureEntry::real, bits});
    } else {
      auto kind = std::is_enum_v<T>         ? StructureEntry::enumeration
                  : std::is_same_v<T, bool> ? StructureEntry::boolean
                                            : StructureEntry::integer;
      flat.structure.push_back({kind, static_cast<int64_t>(value)});
    }
  }
  static T build(FlatReader &reader) {
    int64_t bits = reader.nextBits();
    if constexpr (std::is_floating_point_v<T>) {
      double wide;
      std::memcpy(&wide, &bits, sizeof(wide));
      return static_cast<T>(wide);
    } else {
      return static_cast<T>(bits);
    }
  }
};

template <typename... Ts> struct Codec<std::tuple<Ts...>> {
  static void flatten(const std::tuple<Ts...> &value, Flat &flat) {
    std::apply([&](const auto &...parts) { (Codec<Ts>::flatten(parts, flat), ...); }, value);
  }
  static std::tuple<Ts...> build(FlatReader &reader) {
    return std::tuple<Ts...>{Codec<Ts>::build(reader)...}; // in order: these are braces
  }
};

template <typename A, typename B> struct Codec<std::pair<A, B>> {
  static void flatten(const std::pair<A, B> &value, Flat &flat) {
    Codec<A>::flatten(value.first, flat);
    Codec<B>::flatten(value.second, flat);
  }
  static std::pair<A, B> build(FlatReader &reader) {
    return {Codec<A>::build(reader), Codec<B>::build(reader)};
  }
};

template <typename T, size_t N> struct Codec<std::array<T, N>> {
  static void flatten(const std::array<T, N> &value, Flat &flat) {
    for (const T &part : value)
      Codec<T>::flatten(part, flat);
  }
  static std::array<T, N> build(FlatReader &reader) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::array<T, N>{(static_cast<void>(I), Codec<T>::build(reader))...};
    }(std::make_index_sequence<N>());
  }
};

template <typename T> struct Codec<std::vector<T>> {
  static void flatten(const std::vector<T> &value, Flat &flat) {
    flat.structure.push_back({StructureEntry::size, static_cast<int64_t>(value.size())});
    for (const T &part : value)
      Codec<T>::flatten(part, flat);
  }
  static std::vector<T> build(FlatReader &reader) {
    std::vector<T> value;
    for (int64_t left = reader.nextBits(); left > 0; --left)
      value.push_back(Codec<T>::build(reader));
    return value;
  }
};

template <typename T> struct Codec<std::optional<T>> {
  static void flatten(const std::optional<T> &value, Flat &flat) {
    flat.structure.push_back({StructureEntry::presence, value.has_value()});
    if (value)
      Codec<T>::flatten(*value, flat);
  }
  static std::optional<T> build(FlatReader &reader) {
    if (reader.nextBits() == 0)
      return std::nullopt;
    return Codec<T>::build(reader);
  }
};

template <RegisteredStruct T> struct Codec<T> {
  static void flatten(const T &value, Flat &flat) {
    auto members = Fields<T>::of(const_cast<T &>(value)); // reads only
    std::apply(
        [&](const auto &...parts) { (Codec<std::decay_t<decltype(parts)>>::flatten(parts, flat), ...); },
        members);
  }
  static T build(FlatReader &reader) {
    T value;
    auto members = Fields<T>::of(value);
    std::apply([&](auto &...parts) { ((parts = Codec<std::decay_t<decltype(parts)>>::build(reader)), ...); },
               members);
    return value;
  }
};

} // namespace frontend
} // namespace weft

#endif // WEFT_TREE_HPP
