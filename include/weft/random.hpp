//===- random.hpp - Random numbers ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RANDOM_HPP
#define WEFT_RANDOM_HPP

#include "weft/creation.hpp"
#include "weft/module.hpp"

#include <concepts>

namespace weft {

/// A Philox4x32-10 stream (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011): a key and a
/// counter of blocks, both state that a compiled function advances. The numbers that it gives depend on
/// neither device, fusion nor thread count, and are the same inside and outside of compiled functions. The
/// counter lies on the device that drew last. A shared handle: copies are the same stream.
class WEFT_API Generator {
public:
  Generator() : Generator(0, Seed{}) {}
  template <std::integral T> explicit Generator(T seed) : Generator(unsignedSeed(seed), Seed{}) {}

  /// Starts the stream of this seed. As in PyTorch a negative seed v stands for 0xffffffffffffffff + v.
  template <std::integral T> Generator &manual_seed(T seed, Loc loc = Loc::current()) {
    return start(unsignedSeed(seed), loc);
  }
  /// Starts the stream of a seed that the operating system draws; returns it.
  uint64_t seed(Loc loc = Loc::current());
  /// The seed that the stream was started with.
  uint64_t initial_seed() const;

  /// Key and counter as an i64 tensor of two elements, on which all later numbers depend.
  Tensor get_state(Loc loc = Loc::current()) const;
  /// Continues a stream from what `get_state` returned; throws Error for another shape or dtype.
  void set_state(const Tensor &state, Loc loc = Loc::current());
  /// A generator of its own, whose seed is the next 64 bits of this one. Not in compiled functions.
  Generator fork(Loc loc = Loc::current());

  /// 0-dimensional i64 tensors: the slots themselves.
  Tensor key() const { return key_; }
  Tensor counter() const { return counter_; }

  /// \name State under names, for checkpoints: "key" and "counter"
  /// @{
  StateDict state_dict() const { return {{"key", key_}, {"counter", counter_}}; }
  void load_state_dict(const StateDict &state, Loc loc = Loc::current());
  std::vector<std::string> check_state_dict(const StateDict &state) const;
  /// @}

private:
  struct Seed {};
  Generator(uint64_t seed, Seed);
  template <std::integral T> static uint64_t unsignedSeed(T seed) {
    // For a negative seed, 0xffffffffffffffff + v is two's complement minus one.
    return static_cast<uint64_t>(seed) - (seed < T(0) ? 1 : 0);
  }
  Generator &start(uint64_t seed, Loc loc);
  Tensor key_, counter_;
};

/// The generator of functions that are given none; the process has one.
WEFT_API Generator &default_generator();
/// Seeds the default generator; the next draw is the first of its stream.
template <std::integral T> Generator &manual_seed(T seed, Loc loc = Loc::current()) {
  return default_generator().manual_seed(seed, loc);
}

/// Restores the state of the default generator at the end of its scope, so that draws in between have no
/// lasting effect.
class WEFT_API ForkRngGuard {
public:
  explicit ForkRngGuard(Loc loc = Loc::current()) : state_(default_generator().get_state(loc)) {}
  ~ForkRngGuard();
  ForkRngGuard(const ForkRngGuard &) = delete;
  ForkRngGuard &operator=(const ForkRngGuard &) = delete;

private:
  Tensor state_;
};

//===----------------------------------------------------------------------===//
// Functions that draw. Without a generator they use the default one. A shape with negative sizes, and a dtype
// that the distribution does not support, are errors.
//===----------------------------------------------------------------------===//

/// Uniform in [0, 1), in a floating-point dtype, f32 unless another one is given: multiples of 2^-24, which
/// f16 and bf16 round; of f64 multiples of 2^-53.
WEFT_API Tensor rand(IntList shape, TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor rand(IntList shape, Generator &generator, TensorOptions options = {},
                     Loc loc = Loc::current());
/// With the shape and, unless the options have others, the dtype and device of another tensor.
WEFT_API Tensor rand_like(const Tensor &like, Loc loc = Loc::current());
WEFT_API Tensor rand_like(const Tensor &like, LikeOptions options, Loc loc = Loc::current());
/// Standard normal, by the method of Box and Muller (1958), computed in f32.
WEFT_API Tensor randn(IntList shape, TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor randn(IntList shape, Generator &generator, TensorOptions options = {},
                      Loc loc = Loc::current());
WEFT_API Tensor randn_like(const Tensor &like, Loc loc = Loc::current());
WEFT_API Tensor randn_like(const Tensor &like, LikeOptions options, Loc loc = Loc::current());
WEFT_SINGLE_OPTION(rand, IntList)
WEFT_SINGLE_OPTION(randn, IntList)
WEFT_SINGLE_LIKE_OPTION(rand_like)
WEFT_SINGLE_LIKE_OPTION(randn_like)
/// Normal with this mean and deviation, which must not be negative.
WEFT_API Tensor normal(double mean, double std, IntList shape, TensorOptions options = {},
                       Loc loc = Loc::current());
/// Integers in [low, high), i64 unless another dtype is asked for; high - low is from 1 to 2^31.
WEFT_API Tensor randint(int64_t low, int64_t high, IntList shape, TensorOptions options = {},
                        Loc loc = Loc::current());
WEFT_API Tensor randint(int64_t low, int64_t high, IntList shape, Generator &generator,
                        TensorOptions options = {}, Loc loc = Loc::current());
/// Integers in [0, high).
WEFT_API Tensor randint(int64_t high, IntList shape, TensorOptions options = {}, Loc loc = Loc::current());
/// A permutation of 0 to n-1: [n], i64 unless another dtype is given; by the shuffle of Fisher and Yates.
/// Made on the host, which reads the generator: an error (WEFT-C013) in compiled functions.
WEFT_API Tensor randperm(int64_t n, TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor randperm(int64_t n, Generator &generator, TensorOptions options = {},
                         Loc loc = Loc::current());
template <SingleOption T>
Tensor normal(double mean, double std, IntList shape, T option, Loc loc = Loc::current()) {
  return normal(mean, std, std::move(shape), optionsOf(option), loc);
}
template <SingleOption T>
Tensor randint(int64_t low, int64_t high, IntList shape, T option, Loc loc = Loc::current()) {
  return randint(low, high, std::move(shape), optionsOf(option), loc);
}
template <SingleOption T> Tensor randint(int64_t high, IntList shape, T option, Loc loc = Loc::current()) {
  return randint(high, std::move(shape), optionsOf(option), loc);
}
WEFT_SINGLE_OPTION(randperm, int64_t)
/// 1 with the probability that the element of `p` says, else 0; in the dtype of `p`. A probability outside of
/// [0, 1] is an error (in a compiled function, an error of the call); with dynamic sizes it is not checked.
WEFT_API Tensor bernoulli(const Tensor &p, Loc loc = Loc::current());
WEFT_API Tensor bernoulli(const Tensor &p, Generator &generator, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_RANDOM_HPP
