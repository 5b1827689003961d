//===- VariantsTest.cpp - Which variant, why another, and what it captured --===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include "weft/weft.h"

#include <map>

using namespace weft;

namespace {

/// What `body` writes to standard error.
size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

/// Signature of a saved function: how many results it gives beside its state.
struct Shipped {
  size_t arguments = 0, results = 0;
};
Shipped shippedBy(const CompiledBase &f, const std::string &name) {
  const std::string path = "/tmp/weft-variants-" + std::to_string(::getpid()) + ".weft";
  f.save(path);
  weft_package *package = nullptr;
  weft_executable *loaded = nullptr;
  EXPECT_EQ(weft_package_open(path.c_str(), nullptr, &package), WEFT_OK) << weft_last_error();
  EXPECT_EQ(weft_executable_load(package, name.c_str(), "cpu", &loaded), WEFT_OK) << weft_last_error();
  Shipped shipped;
  EXPECT_EQ(weft_executable_input_count(loaded, &shipped.arguments), WEFT_OK);
  EXPECT_EQ(weft_executable_output_count(loaded, &shipped.results), WEFT_OK);
  weft_executable_destroy(loaded);
  weft_package_close(package);
  std::remove(path.c_str());
  return shipped;
}

} // namespace

//===----------------------------------------------------------------------===//
// Which variant
//===----------------------------------------------------------------------===//

TEST(Variants, SaveMlirAndExplainSpeakOfTheSameOneAndSayWhich) {
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "f"});
  f(ones({2}));
  EXPECT_FALSE(f.mlir().starts_with("//")) << f.mlir(); // nothing to choose from
  f(ones({5}));
  f(ones({5}));
  f(ones({2}));
  f(ones({5}));
  f(ones({7})); // the last batch is short
  EXPECT_TRUE(f.explain().starts_with("variant 1, one of 3:")) << f.explain();
  for (const std::string stage : {"trace", "plan"}) {
    EXPECT_TRUE(f.mlir(stage).starts_with("// variant 1, one of 3: (tensor<5xf32, cpu>)\n")) << f.mlir(stage);
    EXPECT_TRUE(mentions(f.mlir(stage), "tensor<5xf32")) << f.mlir(stage);
    EXPECT_TRUE(mentions(f.mlir(stage, {.variant = 2}), "tensor<7xf32")) << f.mlir(stage);
  }
  const std::string path = "/tmp/weft-variants-" + std::to_string(::getpid()) + ".weft";
  const auto sizeIn = [&](const SaveOptions &options) {
    f.save(path, options);
    weft_package *package = nullptr;
    weft_executable *loaded = nullptr;
    EXPECT_EQ(weft_package_open(path.c_str(), nullptr, &package), WEFT_OK) << weft_last_error();
    EXPECT_EQ(weft_executable_load(package, "f", "cpu", &loaded), WEFT_OK) << weft_last_error();
    weft_tensor_info info = {};
    info.struct_size = sizeof info;
    EXPECT_EQ(weft_executable_input(loaded, 0, &info), WEFT_OK) << weft_last_error();
    const int64_t size = info.shape[0];
    weft_executable_destroy(loaded);
    weft_package_close(package);
    return size;
  };
  int64_t size = 0;
  const std::string told = stderrOf([&] { size = sizeIn({}); });
  EXPECT_EQ(size, 5);
  EXPECT_TRUE(mentions(told, "'f' was saved as variant 1, one of 3, the one that ran most")) << told;
  EXPECT_EQ(stderrOf([&] { size = sizeIn({.variant = 0}); }), "");
  EXPECT_EQ(size, 2);
  EXPECT_ERROR(f.save(path, {.variant = 3}), "'f' has no variant 3");
  EXPECT_ERROR(f.mlir("trace", {.variant = 3}), "'f' has no variant 3");
  std::remove(path.c_str());
}

TEST(Variants, OfTwoThatRanAsOftenTheLatestCounts) {
  auto f = compile([](Tensor x) { return x + 1; });
  f(ones({2}));
  f(ones({3}));
  EXPECT_TRUE(f.mlir().starts_with("// variant 1,")) << f.mlir();
  f(ones({3}));
  f(ones({2}));
  EXPECT_TRUE(f.mlir().starts_with("// variant 0,")) << f.mlir();
  EXPECT_TRUE(f.explain().starts_with("variant 0,")) << f.explain();
}

//===----------------------------------------------------------------------===//
// Why another
//===----------------------------------------------------------------------===//

TEST(Recompilation, TheThirdIntegerSaysOnceWhatToDo) {
  auto f = compile([](Tensor x, int64_t n, bool) { return x + n; }, {.name = "shift"});
  EXPECT_EQ(stderrOf([&] {
              f(ones({1}), 1, true);
              f(ones({1}), 2, true);
              f(ones({1}), 2, false); // a flag has two values
            }),
            "");
  const std::string third = stderrOf([&] { f(ones({1}), 3, true); });
  EXPECT_TRUE(mentions(third, "'shift'")) << third;
  EXPECT_TRUE(mentions(third, "WEFT-R002")) << third;
  EXPECT_TRUE(mentions(third, "this is value number 3 of it")) << third;
  EXPECT_TRUE(mentions(third, "weft::Scalar")) << third;
  EXPECT_EQ(count(third, "\n"), 1u) << third;
  EXPECT_EQ(stderrOf([&] {
              for (int64_t n = 4; n < 9; ++n)
                f(ones({1}), n, true);
            }),
            "");
}

TEST(Recompilation, ADimIsProposedOnlyWhereTheFunctionCanBeRecordedWithOne) {
  auto follows = compile(
      [](Tensor x, Tensor labels) { return (x.reshape(shape({x.sym_size(0), -1})).sum(1) * labels).sum(); });
  unsigned line = 0;
  auto loops = compile([&](Tensor x, Tensor labels) {
    Tensor sum = zeros({});
    line = __LINE__ + 1;
    for (int64_t i = 0; i < x.size(0); ++i)
      sum = sum + x[i].sum() * labels[i];
    return sum;
  });
  const auto told = [](auto &f) {
    return stderrOf([&] {
      for (int64_t n = 2; n < 6; ++n)
        f(ones({n, 2, 2}), ones({n}));
    });
  };
  const std::string first = told(follows);
  EXPECT_TRUE(mentions(first, "size number 3 of dimension 0 of argument 0: give it a Dim")) << first;
  EXPECT_EQ(count(first, "size number"), 1u) << first;
  const std::string second = told(loops);
  EXPECT_FALSE(mentions(second, "give it a Dim")) << second;
  EXPECT_TRUE(mentions(second, "the function cannot be recorded with a Dim there")) << second;
  EXPECT_TRUE(mentions(second, "VariantsTest.cpp:" + std::to_string(line))) << second;
  EXPECT_TRUE(mentions(second, "pad the argument to one of a few sizes")) << second;
}

TEST(Recompilation, AHintTakesNothingBack) {
  Tensor calls = zeros({});
  auto f = compile([&](Tensor x) {
    calls += 1;
    return x * 2;
  });
  for (int64_t n = 2; n < 7; ++n)
    EXPECT_EQ(floats(f(ones({n}))), Floats(static_cast<size_t>(n), 2));
  EXPECT_EQ(calls.item<float>(), 5);
}

TEST(Recompilation, OfVectorsOfOtherLengthsIsSaidAtTheThird) {
  auto f = compile([](std::vector<Tensor> list) {
    Tensor sum = zeros({1});
    for (const Tensor &one : list)
      sum = sum + one;
    return sum;
  });
  const std::string text = stderrOf([&] {
    for (size_t n = 1; n < 6; ++n)
      f(std::vector<Tensor>(n, ones({1})));
  });
  EXPECT_EQ(count(text, "this is the third variant"), 1u) << text;
}

TEST(Recompilation, WhatTheUsersCodeThrowsOverADimIsNoReasonToEndTheCall) {
  auto careful = compile([](Tensor x) {
    int64_t n = 0;
    try {
      n = x.size(0);
    } catch (const Error &) {
      throw std::logic_error("the batch has no size");
    }
    return x * n;
  });
  auto odd = compile([](Tensor x) {
    try {
      return x * x.size(0);
    } catch (const Error &) {
      throw 7;
    }
  });
  const std::string text = stderrOf([&] {
    for (int64_t n = 1; n < 5; ++n) {
      EXPECT_EQ(floats(careful(ones({n}))), Floats(static_cast<size_t>(n), static_cast<float>(n)));
      EXPECT_EQ(floats(odd(ones({n}))), Floats(static_cast<size_t>(n), static_cast<float>(n)));
    }
  });
  EXPECT_EQ(count(text, "cannot be recorded with a Dim there: it throws 'the batch has no size'."), 1u)
      << text;
  EXPECT_EQ(count(text, "cannot be recorded with a Dim there: it throws an exception."), 1u) << text;
}

TEST(Variants, OfAModuleThatIsGoneAreDropped) {
  std::map<int64_t, nn::Linear> nets;
  for (int64_t i = 0; i < 3; ++i)
    nets.emplace(i, nn::Linear(1, 1));
  const Tensor x = ones({1, 1});
  const auto run = compile([&](Tensor x, int64_t i) {
    NoGradGuard guard; // a tensor that the function makes is held by its variant alone
    return nets.at(i)(x) + Tensor::from(std::vector<float>{1}, {1});
  });
  const auto beside = compile([&](Tensor x, int64_t i) { return nets.at(i).weight * x; });
  const auto numbers = [&] {
    std::vector<size_t> list;
    for (const VariantInfo &each : run.variants())
      list.push_back(each.number);
    return list;
  };
  run(x, 0);
  run(x, 1);
  beside(x, 0);
  EXPECT_EQ(numbers(), (std::vector<size_t>{1, 0}));
  nets.erase(0);
  run(x, 2);
  EXPECT_EQ(numbers(), (std::vector<size_t>{2, 1}));
  beside(x, 1);
  EXPECT_EQ(beside.variants().size(), 1U);
  // A copy of the module has its tensors.
  const nn::Linear kept = nets.at(1);
  nets.erase(1);
  nets.emplace(3, nn::Linear(1, 1));
  run(x, 3);
  EXPECT_EQ(numbers(), (std::vector<size_t>{3, 2, 1}));
}

TEST(Variants, OfATensorThatIsGoneAreNotFound) {
  nn::Linear net(1, 1);
  Tensor scale = full({}, 2.0);
  const auto run = compile([&](Tensor x) { return no_grad([&] { return net(x) * scale; }); });
  const Tensor x = ones({1, 1});
  const auto expected = [&] { return floats(no_grad([&] { return net(x) * scale; })); };
  EXPECT_EQ(floats(run(x)), expected());
  net = nn::Linear(1, 1); // of the same types, and the first one is gone
  EXPECT_EQ(floats(run(x)), expected());
  EXPECT_TRUE(mentions(run.variants()[0].reason, "weight was captured and is gone"));
  scale = full({}, 3.0);
  EXPECT_EQ(floats(run(x)), expected());
  EXPECT_EQ(run.variants().size(), 1U);
  const uint64_t compiled = compile_count();
  EXPECT_EQ(floats(run(x)), expected());
  EXPECT_EQ(compile_count(), compiled);
}

TEST(Recompilation, OfAHandleThatIsReboundIsSaidAtTheThirdWithAdvice) {
  Tensor h = zeros({});
  const auto add = compile([&](Tensor x) { return no_grad([&] { return h + x; }); });
  const std::string text = stderrOf([&] {
    for (int call = 0; call < 5; ++call) {
      EXPECT_EQ(add(ones({})).item<float>(), static_cast<float>(call + 1));
      h = h + 1;
    }
  });
  EXPECT_EQ(count(text, "\n"), 1U) << text;
  EXPECT_TRUE(mentions(text, "was captured and is gone; this is the third variant")) << text;
  EXPECT_TRUE(mentions(text, "write the tensor with copy_() instead of rebinding its handle")) << text;
}

TEST(Variants, ACapturedViewThatIsCutOffIsNoViewInCallsEither) {
  nn::Linear layer(2, 2);
  const NoGradGuard guard;
  layer.weight.fill_(1);
  Tensor part = layer.weight.detach().slice(0, 0, 1);
  const auto body = [&](Tensor x) { return part * x; };
  auto f = compile(body);
  EXPECT_EQ(floats(f(full({1, 2}, 2.0))), Floats(2, 2));
  layer.to(f64); // the view keeps its own value from here on
  layer.to(f32);
  layer.weight.fill_(7);
  EXPECT_EQ(floats(body(full({1, 2}, 2.0))), Floats(2, 2));
  EXPECT_EQ(floats(f(full({1, 2}, 2.0))), Floats(2, 2));
}

TEST(Recompilation, OfOtherStridesIsSaidAtTheThirdWithAdvice) {
  auto f = compile([](Tensor x) { return x * 2; }, {.name = "rows"});
  const Tensor base = ones({64, 8});
  const std::string text = stderrOf([&] {
    for (int64_t step = 1; step < 9; ++step)
      f(base.slice(0, 0, 2 * step, step));
  });
  EXPECT_EQ(count(text, "\n"), 1u) << text;
  EXPECT_TRUE(mentions(text, "'rows'") && mentions(text, "WEFT-R007")) << text;
  EXPECT_TRUE(mentions(text, "this is the third variant, and each layout in memory is compiled by itself"))
      << text;
  EXPECT_TRUE(mentions(text, ".contiguous()")) << text;
  const std::string after = stderrOf([&] {
    for (int64_t step = 9; step < 12; ++step)
      f(base.slice(0, 0, 2 * step, step).contiguous());
  });
  EXPECT_FALSE(mentions(after, "'rows'")) << after;
}

TEST(Recompilation, OfEveryKindIsSaidAtTheThirdAndNamesIt) {
  enum class Mode { a, b, c, d };
  auto modes = compile([](Tensor x, Mode mode) { return x * static_cast<int>(mode); });
  auto flags = compile([](Tensor x, bool p, bool q) { return p == q ? x : -x; });
  auto leaves = compile([](Tensor a, Tensor b) { return (a * b).sum(); });
  auto types = compile([](Tensor x) { return x * 2; });
  auto same = compile([](Tensor a, Tensor b, Tensor c) { return a + b + c; });
  const auto said = [](const std::string &text, const std::string &kind) {
    EXPECT_EQ(count(text, "this is the third variant, and each " + kind + " is compiled by itself"), 1u)
        << text;
    EXPECT_EQ(count(text, "and each "), 1u) << text;
  };
  said(stderrOf([&] {
         for (Mode mode : {Mode::a, Mode::b, Mode::c, Mode::d})
           modes(ones({2}), mode);
       }),
       "value of an enumeration");
  said(stderrOf([&] {
         for (int i : {0, 1, 3, 2})
           flags(ones({2}), (i & 1) != 0, (i & 2) != 0);
       }),
       "combination of flags");
  said(stderrOf([&] {
         for (int i : {0, 1, 3, 2})
           leaves(ones({2}).requires_grad_((i & 1) != 0), ones({2}).requires_grad_((i & 2) != 0));
       }),
       "combination of tensors that require gradients");
  said(stderrOf([&] {
         for (DType dtype : {f32, f64, f16, i32})
           types(ones({2}, dtype));
       }),
       "dtype");
  said(stderrOf([&] {
         const Tensor x = ones({2}), y = ones({2}), z = ones({2});
         same(x, x, x);
         same(x, x, z);
         same(x, y, z);
       }),
       "choice of arguments that are one tensor");
}

TEST(Recompilation, TheThirdLazyProgramOfOneLineSaysOnceWhatChanged) {
  unsigned line = 0;
  const auto sizes = [&] {
    for (int64_t n = 1; n < 8; ++n) {
      line = __LINE__ + 1;
      (full({n}, 2.5) * 3 + 1).sum().item<float>();
    }
  };
  const std::string text = stderrOf(sizes);
  EXPECT_EQ(count(text, "the third lazy program"), 1u) << text;
  EXPECT_EQ(count(text, "\n"), 1u) << text;
  EXPECT_TRUE(mentions(text, "VariantsTest.cpp:" + std::to_string(line))) << text;
  EXPECT_TRUE(mentions(text, "tensor<2xf32, cpu> is now tensor<3xf32, cpu>")) << text;
}

TEST(Recompilation, ALazyLoopThatIsSteadySaysNothing) {
  Tensor x = ones({4});
  const auto loop = [&] {
    for (int i = 0; i < 20; ++i) {
      x = x * (x.sum() / x.sum().item<float>()) + 0.25;
      x.select(0, i % 4).fill_(i);
    }
  };
  EXPECT_EQ(stderrOf(loop), "");
}

//===----------------------------------------------------------------------===//
// zero_grad() first
//===----------------------------------------------------------------------===//

namespace {
struct Training {
  nn::Linear net{3, 2};
  optim::Adam adam{net.parameters(), {.lr = 0.1}};
  Tensor x = arange(12, f32).reshape({4, 3}) / 10;
  auto step(bool first) {
    return compile(
        [this, first](Tensor in) {
          if (first)
            adam.zero_grad();
          Tensor loss = net(in).square().mean();
          loss.backward();
          adam.step();
          if (!first)
            adam.zero_grad();
          return loss;
        },
        {.name = "step"});
  }
};
} // namespace

TEST(ZeroGrad, FirstOrLastIsOneVariantAndThePackageHasNoGradients) {
  manual_seed(5);
  Training first;
  manual_seed(5);
  Training last;
  auto a = first.step(true), b = last.step(false);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(a(first.x).to_bytes(), b(last.x).to_bytes()) << i;
  EXPECT_EQ(bitsOf(first.net.parameters()), bitsOf(last.net.parameters()));
  EXPECT_EQ(a.variants().size(), 1u) << a.explain();
  EXPECT_EQ(b.variants().size(), 1u);
  // The gradient is there to be read, and none where it was dropped last.
  EXPECT_TRUE(first.net.weight.grad().defined());
  EXPECT_FALSE(last.net.weight.grad().defined());
  EXPECT_TRUE(mentions(a.explain(), "zero_grad() after its use")) << a.explain();
  EXPECT_EQ(shippedBy(a, "step").results, shippedBy(b, "step").results);
  EXPECT_EQ(shippedBy(a, "step").arguments, shippedBy(b, "step").arguments);
}

TEST(ZeroGrad, TheGradientThatIsLeftIsThatOfTheLastCall) {
  Tensor w = full({2}, 3.0).requires_grad_();
  optim::SGD sgd({w}, {.lr = 0});
  auto f = compile([&](Tensor x) {
    sgd.zero_grad();
    (w * x).sum().backward();
    sgd.step();
  });
  for (float value : {1.F, 2.F, 5.F}) {
    f(full({2}, value));
    EXPECT_EQ(floats(w.grad()), Floats({value, value}));
  }
  w.set_grad({}); // whether there is one before the call makes no difference
  f(full({2}, 7.F));
  EXPECT_EQ(floats(w.grad()), Floats({7, 7}));
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(ZeroGrad, AFunctionThatOnlyDropsAGradientDropsOneThatComesLater) {
  Tensor w = ones({2}).requires_grad_();
  auto f = compile([&](Tensor x) {
    w.set_grad({});
    return w.detach() * x;
  });
  f(ones({2}));
  (w * 2).sum().backward();
  EXPECT_TRUE(w.grad().defined());
  f(ones({2}));
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(ZeroGrad, AFunctionThatLooksAtNoGradientServesBoth) {
  nn::Linear net(2, 2);
  auto f = compile([&](Tensor x) { return net(x); });
  f(ones({1, 2}));
  net(ones({1, 2})).sum().backward();
  f(ones({1, 2}));
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(ZeroGrad, GradientsThatAreTheResultOfAFunctionAreInItsPackage) {
  Tensor w = ones({2}).requires_grad_();
  auto f = compile(
      [&](Tensor x) {
        w.set_grad({});
        Tensor loss = (w * x).sum();
        loss.backward();
        return loss;
      },
      {.name = "gradients"});
  f(ones({2}));
  EXPECT_EQ(shippedBy(f, "gradients").results, 2u);
}

TEST(ZeroGrad, AGradientThatIsReadFirstIsAGuard) {
  Tensor w = ones({1}).requires_grad_();
  auto f = compile([&](Tensor x) {
    Tensor before = w.grad();
    w.set_grad({});
    return before.defined() ? x + before : x;
  });
  EXPECT_EQ(floats(f(ones({1}))), Floats({1}));
  w.set_grad(full({1}, 4.0));
  EXPECT_EQ(floats(f(ones({1}))), Floats({5}));
  EXPECT_EQ(f.variants().size(), 2u);
  EXPECT_EQ(f.variants()[0].code, "WEFT-R004");
}

//===----------------------------------------------------------------------===//
// What a function captured
//===----------------------------------------------------------------------===//

namespace {
struct CheckedCaptures : ::testing::Test {
  CheckedCaptures() { ::setenv("WEFT_CHECK_CAPTURES", "1", 1); }
  ~CheckedCaptures() override { ::unsetenv("WEFT_CHECK_CAPTURES"); }
};
} // namespace

TEST_F(CheckedCaptures, ANumberThatChangedIsNamedWithItsLine) {
  double factor = 2;
  int64_t start = 0;
  auto f = compile([&](Tensor x) {
    return x.slice(0, start, start + 1) * factor; // here
  });
  const unsigned line = __LINE__ - 2;
  f(ones({3}));
  f(ones({3}));
  factor = 3;
  std::string message = errorOf([&] { f(ones({3})); });
  EXPECT_TRUE(mentions(message, "captured something that has changed")) << message;
  EXPECT_TRUE(mentions(message, "was 2") && mentions(message, "is 3")) << message;
  EXPECT_TRUE(mentions(message, "VariantsTest.cpp:" + std::to_string(line))) << message;
  factor = 2;
  EXPECT_EQ(floats(f(ones({3}))), Floats({2}));
  start = 1;
  message = errorOf([&] { f(ones({3})); });
  EXPECT_TRUE(mentions(message, "'slice'")) << message;
}

TEST_F(CheckedCaptures, AFlagThatChangedIsTheOperationThatDiffers) {
  bool negate = false;
  auto f = compile([&](Tensor x) { return negate ? -x : x * 2; });
  f(ones({1}));
  negate = true;
  EXPECT_ERROR(f(ones({1})), "took another way");
}

TEST_F(CheckedCaptures, AHandleThatWasReboundIsNamed) {
  Tensor w = full({1}, 2.0), v = full({1}, 5.0);
  auto f = compile([&](Tensor x) { return x * w; });
  f(ones({1}));
  w.copy_(v); // writing is no rebinding
  EXPECT_EQ(floats(f(ones({1}))), Floats({5}));
  const Tensor first = w; // of a tensor that is gone, the variant is not found
  w = v;
  EXPECT_ERROR(f(ones({1})), "what 'mul' takes was the tensor made at");
}

TEST_F(CheckedCaptures, ATensorThatTheFunctionMakesIsComparedByItsNumbers) {
  std::vector<float> numbers(20, 1);
  double first = 1;
  auto f = compile([&](Tensor x) { return x + tensor({first, 2., 3.}).sum() + Tensor::from(numbers, {20}); });
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(floats(f(zeros({20}))), Floats(20, 7));
  first = 4;
  std::string message = errorOf([&] { f(zeros({20})); });
  EXPECT_TRUE(mentions(message, "of the numbers 1, 2, 3 (") && mentions(message, "of the numbers 4, 2, 3 ("))
      << message;
  first = 1;
  numbers.back() = 2; // beyond those that are shown
  EXPECT_ERROR(f(zeros({20})), "of the numbers 1, 1, 1, 1, 1, 1, 1, 1, ...");
  numbers.back() = 1;
  EXPECT_EQ(floats(f(zeros({20}))), Floats(20, 7));
}

TEST_F(CheckedCaptures, BodiesAreComparedWithoutTheLinesOfTheirArguments) {
  double factor = 2;
  auto f = compile([&](Tensor x, Tensor xs) {
    const auto inner = [&](const Tensor &h) { return std::pair(h * factor, std::tuple<>()); };
    const auto trip = [&](const Tensor &h, const Tensor &row) {
      Tensor next = cond(
          h.sum() > 100, [](const Tensor &at) { return at; }, [&](const Tensor &at) { return at + row; }, h);
      return std::pair(scan(inner, next, 1).first, std::tuple<>());
    };
    return scan(trip, x, xs).first;
  });
  EXPECT_EQ(floats(f(ones({1}), ones({2, 1}))), Floats({10}));
  const Tensor elsewhere = ones({1});
  const Tensor rows = ones({2, 1});
  EXPECT_EQ(floats(f(elsewhere, rows)), Floats({10}));
  factor = 3;
  EXPECT_ERROR(f(elsewhere, rows), "a number of 'scan' was");
}

TEST_F(CheckedCaptures, AHandleThatIsOnlyWrittenIsNamed) {
  Tensor a = zeros({2}), b = zeros({2}), target = a;
  auto f = compile([&](Tensor x) { target.copy_(x); });
  f(ones({2}));
  f(ones({2}));
  target = b;
  EXPECT_ERROR(f(full({2}, 5.0)), "the tensor that is written was the tensor made at");
  EXPECT_EQ(floats(a), Floats(2, 1));
  EXPECT_EQ(floats(b), Floats(2, 0));
  bool both = false;
  auto g = compile([&](Tensor x) {
    a += x;
    if (both)
      b.zero_();
  });
  g(ones({2}));
  both = true;
  EXPECT_ERROR(g(ones({2})), "took another way");
}

TEST_F(CheckedCaptures, AStepThatCapturesNothingElseRunsAsEver) {
  manual_seed(1);
  Training checked;
  auto a = checked.step(false);
  ::unsetenv("WEFT_CHECK_CAPTURES");
  manual_seed(1);
  Training plain;
  auto b = plain.step(false);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(a(checked.x).to_bytes(), b(plain.x).to_bytes());
  EXPECT_EQ(a.variants().size(), 1u);
  EXPECT_EQ(bitsOf(checked.net.parameters()), bitsOf(plain.net.parameters()));
}
