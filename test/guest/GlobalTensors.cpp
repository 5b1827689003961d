//===- GlobalTensors.cpp - Handles that outlive main ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors, modules and streams in global variables are destroyed after main, in any order with the library's
// own statics. Linked with the leak sanitizer: neither a crash nor a leak.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>
#include <optional>

using namespace weft;

static Tensor computed, pending, early = ones({8, 8});
static std::optional<nn::Linear> layer;
static std::optional<optim::SGD> sgd;
static std::optional<Stream> stream;
static Event event;

int main() {
  layer.emplace(8, 4);
  sgd.emplace(layer->parameters(), optim::SGDOptions{.lr = 0.1});
  stream.emplace();
  auto step = compile([&](Tensor x) {
    Tensor loss = (*layer)(x).sum();
    loss.backward();
    sgd->step();
    sgd->zero_grad();
    return loss;
  });
  for (int i = 0; i < 3; ++i) {
    StreamGuard guard(*stream);
    computed = step(early);
  }
  event.record(*stream);
  pending = early * 3 + 1; // never read
  std::printf("%g\n", static_cast<double>(computed.item<float>()));
}
