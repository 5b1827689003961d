//===- random.hpp - Random numbers ------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RANDOM_HPP
#define WEFT_RANDOM_HPP

#include "weft/tensor.hpp"

namespace weft {

/// A Philox4x32-10 stream: a key and a counter, both state that a compiled function advances. The numbers
/// that it gives depend on neither device, fusion nor thread count.
class WEFT_API Generator {
public:
  explicit Generator(uint64_t seed = 0);
  void manual_seed(uint64_t seed);
  /// 0-dimensional i64 tensors.
  Tensor key() const { return key_; }
  Tensor counter() const { return counter_; }

private:
  Tensor key_, counter_;
};

WEFT_API Generator &default_generator();
/// Seeds the default generator; the next draw is the first of its stream.
WEFT_API void manual_seed(uint64_t seed);

/// Uniform in [0, 1).
WEFT_API Tensor rand(Shape shape, TensorOptions options = {}, Loc loc = Loc::current());
/// Standard normal, by Box-Muller.
WEFT_API Tensor randn(Shape shape, TensorOptions options = {}, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_RANDOM_HPP
