//===- TraceStateTest.cpp - What traces make and exchange -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trace has values, types and state of its own, which change places with those of the rest of the program
// whenever another thread comes. Here are copies of modules meanwhile, state of optimisers, memory that runs
// out, and references to shapes.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"
#include "Meeting.h"
#include "Memory.h"
#include "SmallTraining.h"
#include "test/unit/TestLevel.h"

#include <functional>
#include <new>
#include <thread>
#include <utility>

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

//===----------------------------------------------------------------------===//
// State of optimisers
//===----------------------------------------------------------------------===//

TEST(TraceState, StateOfAnOptimiserIsSeenOnceTheTraceHasSucceeded) {
  for (const bool fails : {false, true}) {
    Tensor w = full({4}, 2.0).requires_grad_();
    optim::Adam adam({w}, {.lr = 0.1});
    Meeting meeting;
    size_t inTrace = 0, meanwhile = 0;
    auto f = compile([&](Tensor x) {
      (w * x).sum().backward();
      adam.step();
      inTrace = adam.state_dict().size();
      meeting.wait();
      if (fails)
        throw std::runtime_error("after the step");
      return x;
    });
    const auto call = [&] { f(ones({4})); };
    const auto look = [&] { meanwhile = adam.state_dict().size(); };
    if (fails)
      EXPECT_THROW(meeting.run(call, look), std::runtime_error);
    else
      meeting.run(call, look);
    constexpr size_t numbers = 5, pieces = 3;
    EXPECT_EQ(inTrace, numbers + pieces);
    EXPECT_EQ(meanwhile, numbers);
    EXPECT_EQ(adam.state_dict().size(), fails ? numbers : numbers + pieces);
  }
}

TEST(TraceState, StateThatBothMakeIsMadeOnce) {
  const auto run = [](bool beside) {
    SmallTraining training({2});
    Meeting meeting;
    auto f = compile([&] {
      training.step();
      if (beside)
        meeting.wait();
    });
    meeting.call(f, beside, [&] {
      for (int i = 0; i < 3; ++i)
        training.step();
      training.parameters[0].to_vector<float>();
    });
    if (beside) {
      EXPECT_EQ(meeting.traces(), 2);
      EXPECT_EQ(f.variants().size(), 1u);
    }
    f();
    training.step();
    return training.bits();
  };
  EXPECT_EQ(run(true), run(false));
}

/// Two parameters share a count of steps, and the traced step is one of the first parameter only.
TEST(TraceState, ACountThatATraceSplitsGoesOnForOtherThreads) {
  const auto run = [](bool beside) {
    SmallTraining training({2, 3});
    training.step();
    Meeting meeting;
    auto f = compile([&] {
      training.step(1);
      if (beside)
        meeting.wait();
    });
    std::string seen;
    meeting.call(f, beside, [&] {
      for (int i = 0; i < 3; ++i)
        training.step();
      for (const auto &[name, tensor] : training.adam.state_dict())
        if (name.ends_with(".step"))
          seen += name + " " + std::to_string(tensor.item<int64_t>()) + "\n";
    });
    EXPECT_EQ(seen, "param0.step 4\nparam1.step 4\n");
    f();
    training.step();
    return training.bits();
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(TraceState, AnOptimiserMayEndInATrace) {
  Tensor w = full({2}, 1.0).requires_grad_();
  auto adam = std::make_unique<optim::Adam>(std::vector<Tensor>{w}, optim::AdamOptions{.lr = 0.1});
  auto f = compile([&] {
    (w * w).sum().backward();
    adam->step();
    adam.reset();
    throw std::runtime_error("without the optimiser");
  });
  EXPECT_THROW(f(), std::runtime_error);
  EXPECT_EQ(w.to_vector<float>(), Floats(2, 1));
  EXPECT_FALSE(w.grad().defined());
}

//===----------------------------------------------------------------------===//
// What is no value
//===----------------------------------------------------------------------===//

TEST(TraceState, AFunctionSetsBackWhetherATensorRequiresAGradient) {
  Tensor w = ones({2}), v = ones({2}).requires_grad_();
  auto f = compile([&](Tensor x) {
    w.requires_grad_(false); // it does not
    v.requires_grad_();
    return x.detach().requires_grad_() * 2;
  });
  EXPECT_EQ(f(ones({2})).to_vector<float>(), Floats(2, 2));
  // As two networks that are trained against each other: the other one is frozen for a part of the step.
  std::vector<bool> seen;
  auto freezes = compile([&](Tensor x) {
    v.requires_grad_(false);
    Tensor frozen = x.detach().requires_grad_() * v;
    std::thread([&] { seen.push_back(v.requires_grad()); }).join();
    (frozen * frozen).sum().backward();
    v.requires_grad_();
    (x * v).sum().backward();
    return frozen.detach();
  });
  for (int call = 1; call <= 3; ++call) {
    EXPECT_EQ(freezes(full({2}, 3.0)).to_vector<float>(), Floats(2, 3));
    EXPECT_EQ(v.grad().to_vector<float>(), Floats(2, 3.0F * static_cast<float>(call)));
    EXPECT_EQ(v.to_vector<float>(), Floats(2, 1));
  }
  EXPECT_TRUE(v.requires_grad());
  for (const bool requires_grad : {true, false}) {
    Tensor &changed = requires_grad ? w : v;
    auto leaves = compile([&](Tensor x) {
      changed.requires_grad_(requires_grad);
      return x * changed;
    });
    EXPECT_ERROR(leaves(ones({2})), "leaves a tensor from outside with requires_grad");
    EXPECT_EQ(changed.requires_grad(), !requires_grad);
  }
}

TEST(TraceState, WhetherAViewFromOutsideRequiresAGradientCannotChange) {
  Tensor w = ones({2}), view = w.slice(0, 0, 1);
  auto sets = compile([&](Tensor x) {
    view.requires_grad_();
    return x * view;
  });
  EXPECT_ERROR(sets(ones({2})), "requires_grad_() of a view that is older than the call inside a compiled "
                                "function would happen once");
  EXPECT_FALSE(view.requires_grad());
}

TEST(TraceState, WhatAnotherThreadMakesForAnOptimizerStaysBesideATraceThatMakesNothing) {
  Tensor p = ones({2}).requires_grad_(), q = ones({2}).requires_grad_(), s = ones({2}).requires_grad_();
  optim::Adam adam({p, q}, {.lr = 0.5});
  p.sum().backward();
  adam.step(); // p alone has state
  bool isFirst = true;
  auto step = compile([&] {
    p.set_grad({});
    p.sum().backward();
    adam.step();
    if (std::exchange(isFirst, false))
      std::thread([&] {
        q.sum().backward();
        s.sum().backward();
        adam.add_param_group({s}, {.lr = 0.5});
      }).join();
  });
  step();
  adam.step();
  synchronize();
  EXPECT_LT(s.to_vector<float>()[0], 0.9F) << "the group that the other thread added is there";
  EXPECT_LT(q.to_vector<float>()[0], 0.9F);
}

/// The type of a view that a trace cuts off is that of the view for everybody else.
TEST(TraceState, AViewOfAnotherTypeHasThatInTheTraceOnly) {
  nn::Linear layer(2, 2);
  nn::Module holder;
  Tensor part = holder.register_buffer("part", layer.weight.detach().slice(0, 0, 1));
  Meeting meeting;
  DType inTrace = f32, meanwhile = f64, after = f32;
  auto f = compile([&] {
    layer.to(f64);
    holder.to(f16);
    inTrace = part.dtype();
    meeting.wait();
    after = part.dtype();
  });
  meeting.run([&] { f(); }, [&] { meanwhile = part.dtype(); });
  EXPECT_EQ(inTrace, f16);
  EXPECT_EQ(meanwhile, f32);
  EXPECT_EQ(after, f16);
  EXPECT_EQ(part.dtype(), f16);
}

//===----------------------------------------------------------------------===//
// Memory that runs out
//===----------------------------------------------------------------------===//

namespace {
/// State of each kind, and a function that changes all of it.
struct Everything {
  nn::Linear layer{4, 4};
  Tensor w = full({8}, 2.0).requires_grad_(), part = w.detach().slice(0, 0, 4), sum = zeros({8});
  Tensor row = layer.weight.detach().slice(0, 0, 1);
  optim::Adam adam{{w}, {.lr = 0.1}};

  Everything() {
    const NoGradGuard guard;
    layer.weight.fill_(1);
    layer.bias.fill_(0);
  }
  Tensor change(const Tensor &x) {
    Tensor y = x * w + part.sum() + row.sum();
    sum += y.detach();
    (y * x).sum().backward();
    adam.step();
    layer.eval();
    layer.to(f64);
    return y.detach() + row.sum() + part.sum();
  }
  std::vector<std::vector<std::byte>> bits() {
    std::vector<Tensor> all{w, part, sum, row, layer.weight, layer.bias};
    if (Tensor gradient = w.grad(); gradient.defined())
      all.push_back(gradient);
    for (const auto &[name, tensor] : adam.state_dict())
      all.push_back(tensor);
    auto found = bitsOf(all);
    found.push_back({std::byte{layer.is_training()}});
    return found;
  }
};
} // namespace

TEST(TraceState, AnExchangeTakesNoMemory) {
  SKIP_WITHOUT_FAULTS();
  Everything expected, state;
  const Floats wanted = expected.change(full({8}, 3.0)).to_vector<float>();
  const auto before = state.bits();
  Meeting meeting;
  auto f = compile([&](Tensor x) {
    Tensor y = state.change(x);
    meeting.wait();
    memory::refusesAll = true;
    EXPECT_EQ(state.layer.weight.dtype(), f64); // the trace's values come back
    memory::refusesAll = false;
    EXPECT_EQ(state.adam.state_dict().size(), 8u);
    return y;
  });
  Floats found;
  meeting.run([&] { found = f(full({8}, 3.0)).to_vector<float>(); },
              [&] {
                memory::refusesAll = true;
                const DType dtype = state.layer.weight.dtype(); // here they leave
                memory::refusesAll = false;
                EXPECT_EQ(dtype, f32);
                EXPECT_EQ(state.bits(), before);
              });
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(state.bits(), expected.bits());
}

TEST(TraceState, EveryRequestOfATraceMayFail) {
  SKIP_WITHOUT_FAULTS();
  Everything expected;
  const Floats wanted = expected.change(full({8}, 3.0)).to_vector<float>();
  const Tensor x = full({8}, 3.0);
  const long step = weft::testing::testLevel() == "quick" ? 7 : 1;
  long requests = 0;
  for (bool fails = true; fails; requests += step) {
    Everything state;
    const auto before = state.bits();
    auto f = compile([&](Tensor argument) {
      memory::failsAfter = requests;
      Tensor y = state.change(argument);
      fails = memory::failsAfter < 0;
      memory::failsAfter = -1;
      if (fails)
        throw std::runtime_error("a request failed, and the trace went on");
      return y;
    });
    Floats found;
    try {
      found = f(x).to_vector<float>();
    } catch (const std::exception &) {
      fails = true;
      memory::failsAfter = -1;
      ASSERT_EQ(state.bits(), before) << "after " << requests << " requests";
      continue;
    }
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(state.bits(), expected.bits());
  }
  EXPECT_GT(requests, 100);
}

//===----------------------------------------------------------------------===//
// References to shapes
//===----------------------------------------------------------------------===//

TEST(TraceState, AShapeIsWhatItWasAsLongAsTheTensor) {
  Tensor w = full({2}, 1.0).requires_grad_(), v = full({3}, 1.0).requires_grad_();
  optim::Adam adam({w, v}, {.lr = 0.1});
  ((w * w).sum() + (v * v).sum()).backward();
  adam.step();
  adam.zero_grad();
  Tensor steps;
  for (const auto &[name, tensor] : adam.state_dict())
    if (name == "param0.step")
      steps = tensor;
  const Shape &shape = steps.sizes();
  EXPECT_EQ(shape, Shape{});
  (w * w).sum().backward();
  adam.step(); // the count is split, and the old one has another shape from here on
  EXPECT_EQ(steps.sizes(), Shape{0});
  EXPECT_EQ(shape, Shape{});
}

/// A scalar of f32 has the type that a slot without a value has.
TEST(TraceState, AScalarHasSeveralTypesToo) {
  nn::Module module;
  Tensor scalar = module.register_buffer("scalar", full({}, 2.0)), part = scalar.detach();
  module.to(f64);
  EXPECT_EQ(scalar.dtype(), f64);
  EXPECT_EQ(part.dtype(), f32); // it is no view any more
  scalar.fill_(3);
  EXPECT_EQ(part.item<float>(), 2);
  module.to(f32);
  EXPECT_EQ(scalar.dtype(), f32);
  EXPECT_EQ(scalar.item<float>(), 3);
}

TEST(TraceState, AShapeIsReadWhileTypesAreExchanged) {
  nn::Linear layer(3, 5);
  const Tensor row = layer.weight.detach().slice(0, 0, 1);
  const Shape &shape = layer.weight.sizes(), &part = row.sizes();
  std::atomic<bool> isDone{false};
  std::thread reads([&] {
    while (!isDone) {
      EXPECT_EQ(shape, (Shape{5, 3}));
      EXPECT_EQ(part, (Shape{1, 3}));
    }
  });
  std::thread asks([&] {
    while (!isDone)
      EXPECT_EQ(layer.weight.dtype(), f32);
  });
  constexpr int traces = 5, changes = 50;
  for (int i = 0; i < traces; ++i) {
    auto f = compile([&] {
      for (int k = 0; k < changes; ++k) {
        layer.to(k % 2 ? f32 : f64);
        EXPECT_EQ(layer.weight.dtype(), k % 2 ? f32 : f64);
        std::this_thread::yield();
      }
    });
    f();
  }
  isDone = true;
  reads.join();
  asks.join();
}
