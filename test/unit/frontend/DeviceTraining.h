//===- DeviceTraining.h - A training whose tensors lie on one device -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_FRONTEND_DEVICETRAINING_H
#define WEFT_TEST_FRONTEND_DEVICETRAINING_H

#include "Helpers.h"

namespace weft::testing {

/// f32 numbers from -1 to 1 on the host, pending.
inline Tensor numbers(int64_t count) { return sin(arange(count).to(f32)); }

struct DeviceNet : TwoLayers {
  DeviceNet() : TwoLayers(6, 8, 3) {}
};

/// A model, Adam and its data on one device.
struct DeviceTraining {
  explicit DeviceTraining(Device on) : on(on) {
    model.to(on);
    adam.emplace(model.parameters(), optim::AdamOptions{.lr = 0.01});
  }
  Tensor body(Tensor x, Tensor classes) {
    Tensor loss = nn::cross_entropy(model(x), classes);
    loss.backward();
    adam->step();
    adam->zero_grad();
    return loss;
  }
  Tensor images() { return numbers(16 * 6).reshape({16, 6}).to(on); }
  Tensor labels() { return (arange(16) % 3).to(on); }

  Device on;
  DeviceNet model;
  std::optional<optim::Adam> adam;
};

/// The seed makes runs on all devices begin with the same numbers.
inline DeviceTraining seeded(Device on) {
  manual_seed(3);
  return DeviceTraining(on);
}

} // namespace weft::testing

#endif // WEFT_TEST_FRONTEND_DEVICETRAINING_H
