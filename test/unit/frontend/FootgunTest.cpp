//===- FootgunTest.cpp - What surprises people ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each surprise is asserted as it is, with the value that one would expect beside it; the test after it is
// the way around. Hard to find first:
//
// clang-format off
// name                       | how it shows      | remark
// ---------------------------+-------------------+---------------------------------------------------------
// captured number            | silent            | read once, at the trace; capture a tensor, or take a Scalar;
//                            |                   | WEFT_CHECK_CAPTURES=1 finds it, and the next two
// captured flag, loop bound  | silent            | the branch of the trace stays; take a static parameter
// C++ side effects           | silent            | happen once a variant, not once a call
// host random numbers        | silent            | std::mt19937 is C++ too; rand() draws anew at every call
// handle rebound outside     | silent            | the compiled function keeps the slot, not the name: copy_
// row = y                    | silent            | rebinds the handle `row`; x[0] = y writes
// view after a step          | silent            | sees the new values; clone() keeps the old ones
// detach                     | silent            | shares the elements; clone()
// reshape of a transposition | silent            | is a copy, and writes to it are lost; view() raises
// module copied              | silent            | a copy is another handle on the same parameters
// sum of losses              | silent, grows     | keeps the graph of every step; detach() or item()
// result of a view           | silent, a D code  | a compiled function returns copies
// float parameter            | slow, says so     | every value is a variant; Scalar
// growing list of shapes     | slow, says so     | every size is a variant; a Dim
// value read inside          | raises            | WEFT-C001
// branch on a value          | raises            | the same; where()
// boolean mask               | raises            | WEFT-C001
// value kept from a trace    | raises            | return it
// captured handle rebound    | raises, later     | it then names a value of the trace
// write to an expansion      | raises            | clone() first
// leaf written in place      | raises            | NoGradGuard
// learning rate set inside   | raises            | set it between the calls
// part of written state      | raises            | as an argument of the function that captured and writes it
// clang-format on
//
// No surprises here, though elsewhere they are: results are never overwritten by later calls, one tensor may
// be passed twice, what a gradient needs may be overwritten, arguments may be written, and a loop over the
// rows of a tensor compiles once.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <random>

using namespace weft;
using namespace weft::indexing;

static Tensor one() { return ones({1}); }

//===----------------------------------------------------------------------===//
// Silent
//===----------------------------------------------------------------------===//

TEST(Footgun, CapturedNumber) {
  double factor = 2;
  auto f = compile([&](Tensor x) { return x * factor; });
  f(one());
  factor = 3;
  EXPECT_EQ(floats(f(one())), Floats({2})); // one would expect 3
}

TEST(Footgun, CapturedNumberAround) {
  Tensor factor = scalar(2);
  auto f = compile([&](Tensor x) { return x * factor; });
  auto g = compile([](Tensor x, Scalar number) { return x * number; });
  f(one());
  factor.fill_(3);
  EXPECT_EQ(floats(f(one())), Floats({3}));
  g(one(), 2);
  EXPECT_EQ(floats(g(one(), 3)), Floats({3}));
}

TEST(Footgun, CapturedFlagAndLoopBound) {
  bool negate = false;
  int times = 1;
  auto f = compile([&](Tensor x) {
    for (int i = 0; i < times; ++i)
      x = x * 2;
    return negate ? -x : x;
  });
  f(one());
  negate = true;
  times = 2;
  EXPECT_EQ(floats(f(one())), Floats({2})); // one would expect -4
}

TEST(Footgun, CapturedFlagAndLoopBoundAround) {
  auto f = compile([](Tensor x, bool negate, int64_t times) {
    for (int64_t i = 0; i < times; ++i)
      x = x * 2;
    return negate ? -x : x;
  });
  EXPECT_EQ(floats(f(one(), false, 1)), Floats({2}));
  EXPECT_EQ(floats(f(one(), true, 2)), Floats({-4}));
}

TEST(Footgun, SideEffects) {
  int calls = 0;
  auto f = compile([&](Tensor x) {
    ++calls;
    return x;
  });
  for (int i = 0; i < 5; ++i)
    f(one());
  EXPECT_EQ(calls, 1); // one would expect 5
}

TEST(Footgun, SideEffectsAround) {
  Tensor calls = zeros({}, {.dtype = i64});
  auto f = compile([&](Tensor x) {
    calls += 1;
    return x;
  });
  for (int i = 0; i < 5; ++i)
    f(one());
  EXPECT_EQ(calls.item<int64_t>(), 5);
}

TEST(Footgun, HostRandomNumbers) {
  std::mt19937 engine(1);
  auto f = compile([&](Tensor x) { return x * static_cast<double>(engine() % 1000); });
  Floats first = floats(f(one()));
  EXPECT_EQ(floats(f(one())), first); // one would expect another number
}

TEST(Footgun, HostRandomNumbersAround) {
  auto f = compile([](Tensor x) { return x * rand({1}); });
  Floats first = floats(f(one()));
  EXPECT_NE(floats(f(one())), first);
}

TEST(Footgun, HandleReboundOutside) {
  Tensor w = full({1}, 2.0);
  auto f = compile([&](Tensor x) { return x * w; });
  f(one());
  const Tensor first = w;
  w = full({1}, 3.0);
  EXPECT_EQ(floats(f(one())), Floats({2})); // one would expect 3
}

TEST(Footgun, HandleReboundOutsideAround) {
  Tensor w = full({1}, 2.0);
  auto f = compile([&](Tensor x) { return x * w; });
  f(one());
  w.copy_(full({1}, 3.0));
  EXPECT_EQ(floats(f(one())), Floats({3}));
}

TEST(Footgun, RowAssigned) {
  Tensor x = zeros({2});
  Tensor row = x[0];
  row = ones({});
  EXPECT_EQ(floats(x), Floats({0, 0})); // one would expect 1, 0
}

TEST(Footgun, RowAssignedAround) {
  Tensor x = zeros({3});
  x[0] = ones({});
  x[1] = 2;
  Tensor row = x[2];
  row.copy_(full({}, 3.0));
  EXPECT_EQ(floats(x), Floats({1, 2, 3}));
}

TEST(Footgun, ViewAfterAStep) {
  nn::Linear layer(2, 1, false);
  optim::SGD sgd(layer.parameters(), {.lr = 1});
  Tensor before = layer.weight.detach(), kept = layer.weight.detach().clone();
  Floats old = floats(kept);
  layer(ones({1, 2})).sum().backward();
  sgd.step();
  EXPECT_NE(floats(before), old); // one would expect the old weights
  EXPECT_EQ(floats(kept), old);   // the way around
}

TEST(Footgun, Detach) {
  Tensor x = zeros({2});
  x.detach().fill_(1);
  EXPECT_EQ(floats(x), Floats({1, 1})); // one would expect 0, 0
  x.detach().clone().fill_(2);
  EXPECT_EQ(floats(x), Floats({1, 1})); // the way around
}

TEST(Footgun, ReshapeOfATransposition) {
  Tensor x = zeros({2, 3});
  x.t().reshape({6}).fill_(1);
  EXPECT_EQ(floats(x), Floats(6, 0)); // one would expect ones
  EXPECT_ERROR(x.t().view({6}), "Use .reshape(...) instead");
}

TEST(Footgun, ModuleCopied) {
  nn::Linear net(2, 1, false);
  nn::Linear copy = net;
  {
    NoGradGuard guard;
    copy.weight.fill_(5);
  }
  EXPECT_EQ(floats(net.weight), Floats({5, 5})); // one would expect the initial weights
}

TEST(Footgun, ModuleCopiedAround) {
  nn::Linear net(2, 1, false), copy(2, 1, false);
  copy.load_state_dict(net.state_dict());
  Floats initial = floats(net.weight);
  {
    NoGradGuard guard;
    copy.weight.fill_(5);
  }
  EXPECT_EQ(floats(net.weight), initial);
}

TEST(Footgun, SumOfLosses) {
  Tensor w = ones({1});
  w.requires_grad_();
  Tensor total = zeros({1}), flat = zeros({1});
  for (int i = 0; i < 3; ++i) {
    Tensor loss = w * w;
    total += loss;
    flat += loss.detach();
  }
  EXPECT_TRUE(total.requires_grad()); // one would expect a number
  EXPECT_FALSE(flat.requires_grad()); // the way around
}

TEST(Footgun, ResultThatIsAView) {
  Tensor state = zeros({2});
  auto f = compile([&](Tensor x) {
    state += x;
    return state.slice(0, 0, 1);
  });
  f(one()).fill_(9);
  EXPECT_EQ(floats(state), Floats({1, 1})); // one would expect 9, 1
  EXPECT_NE(f.explain().find("WEFT-D010"), std::string::npos);
}

TEST(Footgun, FloatParameterAndGrowingShapes) {
  auto f = compile([](Tensor x, double factor) { return x * factor; });
  ::testing::internal::CaptureStderr();
  for (double factor : {1.0, 2.0, 3.0})
    f(one(), factor);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("weft::Scalar"), std::string::npos);
  EXPECT_EQ(f.variants().size(), 3u); // one would expect 1
  auto g = compile([](Tensor x) { return x * 2; });
  for (int64_t n = 1; n <= 3; ++n)
    g(ones({n}));
  EXPECT_EQ(g.variants().size(), 3u);
  EXPECT_NE(g.variants()[0].reason.find("Dim"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Raises
//===----------------------------------------------------------------------===//

TEST(Footgun, ValueReadOrBranchedOnInside) {
  EXPECT_ERROR(compile([](Tensor x) { return x * x.item<float>(); })(one()), "WEFT-C001");
  EXPECT_ERROR(compile([](Tensor x) { return x.item<float>() > 0 ? x : -x; })(one()), "WEFT-C001");
  auto around = compile([](Tensor x) { return where(x > 0, x, -x); });
  EXPECT_EQ(floats(around(full({1}, -2.0))), Floats({2}));
}

TEST(Footgun, BooleanMask) {
  EXPECT_ERROR(compile([](Tensor x) { return x.index({x > 0}); })(ones({3})), "WEFT-C001");
  Tensor x = arange(3, {.dtype = f32});
  x.index_put_({x > 0}, 7); // where the size does not depend on values there is no need for an error
  EXPECT_EQ(floats(x), Floats({0, 7, 7}));
}

TEST(Footgun, ValueKeptFromATrace) {
  std::vector<Tensor> kept;
  auto f = compile([&](Tensor x) {
    kept.push_back(x * 2);
    return x;
  });
  f(one());
  EXPECT_ERROR(kept[0].item<float>(), "was made while a function was being compiled");
}

TEST(Footgun, CapturedHandleRebound) {
  Tensor state = zeros({1});
  auto f = compile([&](Tensor x) {
    state = state + x; // rebinds the handle to a value of the trace
    return state * 1;
  });
  EXPECT_EQ(floats(f(one())), Floats({1}));
  EXPECT_ERROR(state + 1, "was made while a function was being compiled");
  Tensor right = zeros({1});
  auto g = compile([&](Tensor x) { right += x; });
  g(one());
  g(one());
  EXPECT_EQ(floats(right), Floats({2}));
}

TEST(Footgun, WriteToAnExpansionAndToALeaf) {
  Tensor x = zeros({1});
  EXPECT_ERROR(x.expand({3}) += 1, "Please clone() the tensor");
  x.requires_grad_();
  EXPECT_ERROR(x += 1, "NoGradGuard");
  NoGradGuard guard;
  x += 1;
  EXPECT_EQ(floats(x), Floats({1}));
}

TEST(Footgun, LearningRateSetInside) {
  Tensor w = ones({1});
  w.requires_grad_();
  optim::SGD sgd({w}, {.lr = 1});
  EXPECT_ERROR(compile([&](Tensor) { sgd.set_lr(0.1); })(one()), "call it between the calls");
}

TEST(Footgun, PartOfWrittenState) {
  Tensor state = zeros({2});
  auto f = compile([&](Tensor x) { state += x; });
  EXPECT_ERROR(f(state.slice(0, 0, 1)), "which the function captured, and one of them is written");
  f(state.slice(0, 0, 1).clone()); // the way around
  f(state);                        // the whole of it is one leaf under two names
  EXPECT_EQ(floats(state), Floats({0, 0}));
}

//===----------------------------------------------------------------------===//
// No surprise
//===----------------------------------------------------------------------===//

TEST(Footgun, ResultsAndArgumentsBehave) {
  auto f = compile([](Tensor a, Tensor b) { return a - b; });
  Tensor x = one();
  Tensor first = f(full({1}, 5.0), x), second = f(full({1}, 7.0), x);
  EXPECT_EQ(floats(first), Floats({4})); // not overwritten by the second call
  EXPECT_EQ(floats(f(x, x)), Floats({0}));
  Tensor w = full({1}, 3.0);
  w.requires_grad_();
  Tensor square = w * w, result = square * square;
  square += 1; // PyTorch raises at backward()
  result.backward();
  EXPECT_EQ(floats(w.grad()), Floats({108}));
}

TEST(Footgun, LoopsOverRowsAndBatchesCompileOnce) {
  Tensor data = arange(640, {.dtype = f32}).view({64, 10}), sums = zeros({64});
  auto step = compile([](Tensor batch) { return batch.sum(); });
  uint64_t before = 0;
  for (int64_t i = 0; i < 64; ++i) {
    if (i == 2)
      before = compile_count();
    sums[i] += data[i].sum();
    EXPECT_EQ(sums[i].item<float>(), 100 * i + 45);
    EXPECT_EQ(step(data.narrow(0, i / 2, 4)).item<float>(), 400 * (i / 2) + 780);
  }
  EXPECT_EQ(compile_count(), before); // one would fear 64
}
