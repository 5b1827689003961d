//===- TraceStateTest.cpp - What traces make and exchange -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trace has values, types and state of its own, which change places with those of the rest of the program
// whenever another thread comes. Here are copies of modules meanwhile.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"
#include "Meeting.h"

#include <functional>

using namespace weft;

namespace {
/// A member that runs something when it is copied.
struct Copied {
  std::function<void()> *run;
  explicit Copied(std::function<void()> &run) : run(&run) {}
  Copied(const Copied &other) : run(other.run) { (*run)(); }
  Copied &operator=(const Copied &) = delete;
};

/// A module in whose copy there is time for other threads.
struct Slow : nn::Module {
  nn::Linear layer{4, 4};
  Copied between;
  explicit Slow(std::function<void()> &run) : between(run) { register_module("layer", layer); }
};

/// One with a list of tensors, which a copy would share.
struct Sharing : nn::Module {
  std::vector<Tensor> list{register_parameter("weight", ones({2}))};
  Copied between;
  explicit Sharing(std::function<void()> &run) : between(run) {}
};
} // namespace

//===----------------------------------------------------------------------===//
// Copies of modules
//===----------------------------------------------------------------------===//

TEST(TraceState, AModuleIsCopiedWhileAnotherThreadTracesIt) {
  std::atomic<bool> isTraced{false}, isCopied{false};
  std::thread other;
  std::vector<Tensor> held;
  std::function<void()> meanwhile = [] {};
  Slow module(meanwhile);
  const Floats before = module.layer.weight.to_vector<float>();
  auto f = compile([&](Tensor x) {
    {
      const NoGradGuard guard;
      module.layer.weight += 1;
    }
    held.assign({module.layer.weight, module.layer.bias});
    Tensor y = module.layer(x);
    isTraced = true;
    await(isCopied);
    return y;
  });
  meanwhile = [&] {
    other = std::thread([&] { f(ones({1, 4})); });
    await(isTraced);
  };
  const Slow copy = clone(module);
  const Floats copied = copy.layer.weight.to_vector<float>();
  isCopied = true;
  other.join();
  EXPECT_EQ(copied, before);
  EXPECT_NE(module.layer.weight.to_vector<float>(), before);
  EXPECT_EQ(copy.layer.weight.to_vector<float>(), before);
}

TEST(TraceState, ACopyThatWouldShareATensorIsFoundWhateverOtherThreadsDrop) {
  std::vector<Tensor> held;
  std::function<void()> meanwhile = [&] { std::thread([&] { held.clear(); }).join(); };
  const Sharing module(meanwhile);
  held.assign({module.list[0], module.list[0]});
  EXPECT_ERROR(clone(module), "would share 'weight' with the original");
  EXPECT_TRUE(held.empty());
}
