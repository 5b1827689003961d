//===- ImageRows.cpp - Norms, pooling and resizing of images --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shapes of residual networks and of networks that draw; peer_timing.py has the same.
//
//===----------------------------------------------------------------------===//

#include "LoopRows.h"

namespace weft::bench {

RowResult run_batch_norm() {
  constexpr hand::Images shape = {32, 64, 32, 32};
  const int64_t count = shape.count();
  const Input x(count, {shape.batch, shape.channels, shape.rows, shape.columns}, 1),
      g(count, {shape.batch, shape.channels, shape.rows, shape.columns}, 2),
      weight(shape.channels, {shape.channels}, 3), bias(shape.channels, {shape.channels}, 4);
  Floats y(count), dx(count), dweight(shape.channels), dbias(shape.channels);
  const auto f = compile(
      [](Tensor x, Tensor g, Tensor weight, Tensor bias) {
        for (Tensor *t : {&x, &weight, &bias})
          *t = t->detach().requires_grad_();
        const Tensor y =
            batch_norm(x, {}, {}, {.weight = weight, .bias = bias, .training = true, .eps = normEps});
        std::vector<Tensor> results = grad({y}, {x, weight, bias}, {.grad_outputs = {g}});
        results.push_back(y.detach());
        return results;
      },
      {.name = "batch_norm"});
  const auto ours = [&] { return f(x.tensor, g.tensor, weight.tensor, bias.tensor); };
  const auto loop = [&](Stores stores) {
    hand::batch_norm({x.data(), g.data(), weight.data(), bias.data()},
                     {y.data(), dx.data(), dweight.data(), dbias.data()}, shape, stores);
  };
  loop(Stores::plain);
  const std::vector<Tensor> found = ours();
  compare(found[1], dweight.data(), 1e-3);
  compare(found[2], dbias.data(), 1e-3);
  compare(found[3], y.data(), 1e-5);
  return beside_loop(4 * count * 4, [&] { return ours()[0]; }, loop, dx, true, 1e-5);
}

RowResult run_max_pool() {
  constexpr hand::Images shape = {32, 64, 56, 56};
  const Input x(shape.count(), {shape.batch, shape.channels, shape.rows, shape.columns}, 1);
  Floats out(shape.count() / 4);
  const auto f = compile([](Tensor x) { return max_pool2d(x, {3}, {.stride = {2}, .padding = {1}}); },
                         {.name = "max_pool"});
  return beside_loop(
      5 * shape.count(), [&] { return f(x.tensor); },
      [&](Stores) { hand::max_pool(x.data(), out.data(), shape); }, out, false, 0);
}

RowResult run_bilinear() {
  constexpr hand::Images shape = {16, 64, 64, 64};
  const Input x(shape.count(), {shape.batch, shape.channels, shape.rows, shape.columns}, 1);
  Floats out(4 * shape.count());
  const auto f = compile([](Tensor x) { return interpolate(x, {.scale_factor = {2}, .mode = "bilinear"}); },
                         {.name = "bilinear"});
  return beside_loop(
      20 * shape.count(), [&] { return f(x.tensor); },
      [&](Stores) { hand::bilinear(x.data(), out.data(), shape); }, out, false, 1e-5);
}

} // namespace weft::bench
