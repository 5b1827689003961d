//===- ContractCompileTest.cpp - Guards, arguments, results ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test for each sentence of the contract of guards, arguments and results of compile, and scalars
// (docs/contract.md), named after it.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;

struct Batch {
  Tensor image, label;
};
WEFT_STRUCT(Batch, image, label)

struct Settings {
  Batch batch;
  std::optional<Tensor> weight;
  int64_t classes = 0;
};
WEFT_STRUCT(Settings, batch, weight, classes)

enum class Activation { none, relu };

/// The reason codes of the recompilations of a function.
template <typename F> static std::string reasonOf(const F &f) {
  return f.variants()[0].code + ": " + f.variants()[0].reason;
}
#define EXPECT_REASON(f, text) EXPECT_NE(reasonOf(f).find(text), std::string::npos) << reasonOf(f)

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

TEST(ContractGuards, ShapesDtypesAndRanksOfArguments) {
  auto f = compile([](Tensor x) { return x + x; });
  f(ones({2, 3}));
  f(ones({2, 4}));
  EXPECT_REASON(f, "WEFT-R001: argument 0 was tensor<2x3xf32, cpu> and is tensor<2x4xf32, cpu>");
  f(ones({2, 4}, {.dtype = f64}));
  EXPECT_REASON(f, "is tensor<2x4xf64, cpu>");
  f(ones({4}));
  EXPECT_EQ(f.variants().size(), 4u);
  f(ones({2, 3}));
  EXPECT_EQ(f.variants().size(), 4u);
}

TEST(ContractGuards, ADeviceThatIsNotThereIsAnErrorAndNoVariant) {
  auto f = compile([](Tensor x) { return x + x; });
  f(ones({2}));
  EXPECT_ERROR(f(ones({2}, {.device = "cuda:97"})), "WEFT-E001");
  EXPECT_EQ(f.variants().size(), 1u);
}

// More of this is in ContractStridesTest.cpp.
TEST(ContractGuards, StridesOfAnArgumentThatIsOnlyRead) {
  auto f = compile([](Tensor x) { return x * 1; });
  Tensor x = arange(6, {.dtype = f32}).view({2, 3});
  EXPECT_EQ(floats(f(x)), Floats({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(floats(f(x.view({3, 2}).t())), Floats({0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(f.variants().size(), 2u);
}

TEST(ContractGuards, TrainOrEval) {
  nn::Linear net(2, 2);
  auto f = compile([&](Tensor x) { return net.is_training() ? x : x * 2; });
  f(ones({1}));
  net.eval();
  EXPECT_EQ(floats(f(ones({1}))), Floats({2}));
  EXPECT_REASON(f, "WEFT-R003: a module was in train mode and is in eval mode");
}

TEST(ContractGuards, AModeThatTheFunctionSetsIsItsResultAndNotAGuard) {
  nn::Linear net(2, 2);
  auto train = compile([&](Tensor x) {
    net.train();
    return net.is_training() ? x : x * 2;
  });
  auto eval = compile([&](Tensor x) {
    net.eval();
    return net.is_training() ? x : x * 2;
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(floats(train(ones({1}))), Floats({1}));
    EXPECT_TRUE(net.is_training());
    EXPECT_EQ(floats(eval(ones({1}))), Floats({2}));
    EXPECT_FALSE(net.is_training());
  }
  EXPECT_EQ(train.variants().size(), 1u);
  EXPECT_EQ(eval.variants().size(), 1u);
}

TEST(ContractGuards, NoGrad) {
  auto f = compile([](Tensor x) { return x * 2; });
  f(ones({1}));
  NoGradGuard guard;
  f(ones({1}));
  EXPECT_REASON(f, "WEFT-R003: gradients were recorded and are off");
}

TEST(ContractGuards, WhichArgumentsAreTheSameTensor) {
  auto f = compile([](Tensor a, Tensor b) { return a + b; });
  Tensor x = ones({1}), y = ones({1});
  f(x, x);
  f(x, y);
  EXPECT_REASON(f, "WEFT-R005: argument 1 was the same tensor as argument 0 and is another");
  f(x, x); // nothing is written: what serves two tensors serves one
  f(y, x);
  EXPECT_EQ(f.variants().size(), 2u);
}

TEST(ContractGuards, WhichSlotsAreNoneAndWhichRequireGradients) {
  Tensor w = ones({1});
  w.requires_grad_();
  auto f = compile([&](Tensor x) {
    Tensor loss = (w * x).sum();
    if (loss.requires_grad())
      loss.backward();
  });
  f(ones({1}));
  f(ones({1}));
  EXPECT_REASON(f, "WEFT-R004: ");
  EXPECT_REASON(f, " had no gradient and has one");
  w.requires_grad_(false);
  f(ones({1}));
  EXPECT_REASON(f, "WEFT-R004: ");
  EXPECT_REASON(f, " required a gradient and does not");
}

TEST(ContractGuards, DtypesAndDevicesOfCapturedTensors) {
  nn::Linear layer(2, 1, false);
  nn::init::ones_(layer.weight);
  auto f = compile([&](Tensor x) { return matmul(x, layer.weight.t().to(f64)); });
  Tensor x = ones({1, 2}, {.dtype = f64});
  EXPECT_EQ(f(x).to_vector<double>(), std::vector<double>({2}));
  layer.to(f16);
  EXPECT_EQ(f(x).to_vector<double>(), std::vector<double>({2}));
  EXPECT_REASON(f, "WEFT-R004: weight was tensor<1x2xf32, cpu> and is tensor<1x2xf16, cpu>");
  // A device that is not there is an error and no variant; back from it, the call is one of before.
  const uint64_t before = compile_count();
  layer.to(Device("cuda:0"));
  EXPECT_ERROR(f(x), "WEFT-P001");
  layer.to(Device("cpu"));
  EXPECT_EQ(f(x).to_vector<double>(), std::vector<double>({2}));
  layer.to(f32);
  EXPECT_EQ(f(x).to_vector<double>(), std::vector<double>({2}));
  EXPECT_EQ(f.variants().size(), 2u);
  EXPECT_LE(compile_count(), before + 1) << "the conversions of the weight, and nothing of the function";
}

TEST(ContractGuards, StaticArgumentsAreAPart) {
  auto f = compile([](Tensor x, bool negate, int64_t times, Activation activation) {
    Tensor y = x * times;
    y = negate ? -y : y;
    return activation == Activation::relu ? relu(y) : y;
  });
  Tensor x = ones({1});
  EXPECT_EQ(floats(f(x, true, 3, Activation::none)), Floats({-3}));
  EXPECT_EQ(floats(f(x, true, 3, Activation::relu)), Floats({0}));
  EXPECT_REASON(f, "WEFT-R002: static argument 2 was 0 and is 1");
  EXPECT_EQ(floats(f(x, false, 3, Activation::relu)), Floats({3}));
  EXPECT_REASON(f, "static argument 0 was true and is false");
  EXPECT_EQ(floats(f(x, false, 4, Activation::relu)), Floats({4}));
  EXPECT_EQ(floats(f(x, true, 3, Activation::none)), Floats({-3}));
  EXPECT_EQ(f.variants().size(), 4u);
}

TEST(ContractGuards, ASecondFloatValueSaysOnceThatAScalarIsMeant) {
  auto f = compile([](Tensor x, double factor) { return x * factor; });
  f(ones({1}), 0.5);
  ::testing::internal::CaptureStderr();
  f(ones({1}), 0.25);
  f(ones({1}), 0.125);
  std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("static argument 0 was 0.5 and is 0.25; make the parameter a weft::Scalar"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("0.125"), std::string::npos) << text;
}

TEST(ContractGuards, ARecompilationNamesTheGuardWithOldAndNewValueAndTheSourceLine) {
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "increment"});
  f(ones({2}));
  ::setenv("WEFT_EXPLAIN", "recompile", 1);
  ::testing::internal::CaptureStderr();
  unsigned line = __LINE__ + 1;
  f(ones({3}));
  std::string text = ::testing::internal::GetCapturedStderr();
  ::unsetenv("WEFT_EXPLAIN");
  for (const std::string &part : {std::string("'increment'"), std::string("WEFT-R001"),
                                  std::string("argument 0 was tensor<2xf32, cpu> and is tensor<3xf32, cpu>"),
                                  "ContractCompileTest.cpp:" + std::to_string(line)})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(f.variants()[0].loc.line(), line);
  EXPECT_EQ(f.variants()[1].reason, "");
}

TEST(ContractGuards, ExplainOneShowsEachCompilation) {
  ::setenv("WEFT_EXPLAIN", "1", 1);
  ::testing::internal::CaptureStderr();
  auto f = compile([](Tensor x) { return x + 1; });
  f(ones({2}));
  std::string text = ::testing::internal::GetCapturedStderr();
  ::unsetenv("WEFT_EXPLAIN");
  EXPECT_NE(text.find(f.explain()), std::string::npos) << text;
}

TEST(ContractGuards, UnaskedAFunctionSaysOnceWhatItsAuthorCanDoAboutIt) {
  auto f = compile([](Tensor x, int64_t n) { return x + n; });
  ::testing::internal::CaptureStderr();
  for (int64_t n = 0; n < 64; ++n)
    f(ones({1}), n);
  f(ones({2}), 63);
  const std::string integers = ::testing::internal::GetCapturedStderr();
  const size_t first = integers.find("compiled again (WEFT-R002)");
  EXPECT_NE(integers.find("this is value number 3 of it"), std::string::npos) << integers;
  EXPECT_EQ(integers.find("compiled again (WEFT-R002)", first + 1), std::string::npos) << integers;
  auto g = compile([](Tensor x) { return x + 1; }, {.name = "grows"});
  ::testing::internal::CaptureStderr();
  g(ones({2}));
  g(ones({3}));
  const std::string second = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(second.find("'grows'"), std::string::npos) << second;
  EXPECT_NE(second.find("compiled again (WEFT-R001)"), std::string::npos) << second;
  EXPECT_NE(second.find("argument 0 was tensor<2xf32, cpu> and is tensor<3xf32, cpu>"), std::string::npos)
      << second;
  ::testing::internal::CaptureStderr();
  g(ones({4}));
  g(ones({5}));
  std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("'grows'"), std::string::npos) << text;
  EXPECT_NE(text.find("size number 3 of dimension 0 of argument 0: give it a Dim"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("size number 4"), std::string::npos) << text;
}

TEST(ContractGuards, ExplainIsOfTheVariantThatRanMostAndOfAnyOther) {
  auto f = compile([](Tensor x) { return x + 1; });
  f(ones({2}));
  EXPECT_EQ(f.explain().find("variant"), std::string::npos) << f.explain();
  for (int i = 0; i < 3; ++i)
    f(ones({3}));
  f(ones({2}));
  std::string most = f.explain();
  EXPECT_TRUE(most.starts_with("variant 1, one of 2:\n  0  (tensor<2xf32, cpu>)  calls: 2, compiled at "))
      << most;
  EXPECT_NE(most.find("\n  1  (tensor<3xf32, cpu>)  calls: 3, compiled at "), std::string::npos) << most;
  EXPECT_NE(most.find("(WEFT-R001: argument 0 was tensor<2xf32, cpu> and is tensor<3xf32, cpu>)"),
            std::string::npos)
      << most;
  EXPECT_TRUE(f.explain({.variant = 0}).starts_with("variant 0, one of 2:\n")) << f.explain({.variant = 0});
  EXPECT_NE(f.explain({.variant = 0}), most);
  EXPECT_EQ(f.variants()[0].number, 0u); // the last that ran
  EXPECT_ERROR(f.explain({.variant = 2}), "'main' has no variant 2: variants() has the numbers");
}

TEST(ContractGuards, StrictRecompileMakesItAnError) {
  auto f = compile([](Tensor x) { return x + 1; }, {.strict = recompile});
  f(ones({2}));
  EXPECT_ERROR(f(ones({3})),
               "would be compiled again: argument 0 was tensor<2xf32, cpu> and is tensor<3xf32, cpu> "
               "(WEFT-R001, an error under strict=recompile)");
  EXPECT_EQ(floats(f(ones({2}))), Floats({2, 2}));
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(ContractGuards, AFunctionKeeps64VariantsLeastRecentlyUsedOutFirst) {
  auto f = compile([](Tensor x, int64_t n) { return x + n; });
  Tensor x = ones({1});
  for (int64_t n = 0; n < 64; ++n)
    f(x, n);
  f(x, 0); // used again: not the oldest any more
  EXPECT_EQ(f.variants().size(), 64u);
  f(x, 64);
  EXPECT_EQ(f.variants().size(), 64u);
  EXPECT_REASON(f,
                "the least recently used of 64 variants, (tensor<1xf32, cpu>, 1), was dropped (WEFT-R006)");
  uint64_t before = compile_count();
  f(x, 0);
  EXPECT_EQ(compile_count(), before);
  f(x, 1);
  EXPECT_EQ(compile_count(), before + 1);
}

TEST(ContractGuards, The65thVariantNamesTheOneThatItDrops) {
  auto f = compile([](Tensor x, int64_t n) { return x + n; }, {.name = "many"});
  Tensor x = ones({1});
  for (int64_t n = 0; n < 64; ++n)
    f(x, n);
  ::testing::internal::CaptureStderr();
  f(x, 64);
  std::string text = ::testing::internal::GetCapturedStderr();
  for (const char *part : {"weft: 'many' (", "compiled again", "the least recently used of 64 variants, ",
                           "(tensor<1xf32, cpu>, 0), was dropped (WEFT-R006)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  ::testing::internal::CaptureStderr(); // once
  f(x, 65);
  text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("was dropped"), std::string::npos) << text;
}

TEST(ContractGuards, AfterTheThirdInOneDimensionTheMessageProposesADim) {
  auto f = compile([](Tensor x) { return x + 1; });
  f(ones({2, 8}));
  f(ones({3, 8}));
  EXPECT_EQ(reasonOf(f).find("Dim"), std::string::npos) << reasonOf(f);
  f(ones({7, 8}));
  EXPECT_REASON(f, "size number 3 of dimension 0 of argument 0: give it a Dim");
  EXPECT_REASON(f, "spec({Dim(\"n\", 2, 7), ...})");
}

//===----------------------------------------------------------------------===//
// Arguments and results of compile
//===----------------------------------------------------------------------===//

TEST(ContractArguments, TensorsTuplesArraysVectorsOptionalsAndStructsOfThem) {
  auto f = compile([](std::tuple<Tensor, Tensor> t, std::array<Tensor, 2> a, std::vector<Tensor> v,
                      std::optional<Tensor> o, const Settings &s) {
    Tensor sum = std::get<0>(t) - std::get<1>(t) + a[0] * a[1];
    for (const Tensor &part : v)
      sum = sum + part;
    if (o)
      sum = sum * *o;
    if (s.weight)
      sum = sum + *s.weight;
    return sum + s.batch.image - s.batch.label * s.classes;
  });
  auto n = [](double value) { return full({1}, value); };
  Settings s{{n(1), n(2)}, std::nullopt, 3};
  EXPECT_EQ(floats(f({n(5), n(4)}, {n(2), n(3)}, {n(1), n(1)}, std::nullopt, s)), Floats({4})); // 9 + 1 - 6
  EXPECT_EQ(floats(f({n(5), n(4)}, {n(2), n(3)}, {n(1), n(1)}, n(2), s)), Floats({13}));
  EXPECT_REASON(f, "an optional argument was empty and is set");
  EXPECT_EQ(floats(f({n(5), n(4)}, {n(2), n(3)}, {n(1)}, n(2), s)), Floats({11}));
  EXPECT_REASON(f, "a vector among the arguments had 2 elements and has 1");
  s.weight = n(100);
  EXPECT_EQ(floats(f({n(5), n(4)}, {n(2), n(3)}, {n(1)}, n(2), s)), Floats({111}));
  uint64_t before = compile_count();
  EXPECT_EQ(floats(f({n(6), n(4)}, {n(2), n(3)}, {n(1)}, n(2), s)), Floats({113}));
  EXPECT_EQ(compile_count(), before);
}

TEST(ContractArguments, ResultsKeepTheirType) {
  auto f = compile([](Tensor x) {
    return std::make_tuple(Batch{x + 1, x + 2}, std::vector<Tensor>{x, x * 2}, std::optional<Tensor>(),
                           std::make_pair(x * 3, int64_t(7)));
  });
  for (int i = 0; i < 2; ++i) {
    auto [batch, list, none, pair] = f(ones({1}));
    EXPECT_EQ(floats(batch.image), Floats({2}));
    EXPECT_EQ(floats(batch.label), Floats({3}));
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(floats(list[1]), Floats({2}));
    EXPECT_FALSE(none.has_value());
    EXPECT_EQ(floats(pair.first), Floats({3}));
    EXPECT_EQ(pair.second, 7);
  }
}

TEST(ContractArguments, ResultsAreOverwrittenByNoLaterCall) {
  auto f = compile([](Tensor x) { return x + 1; });
  Tensor a = f(zeros({4})), b = f(ones({4}));
  EXPECT_EQ(floats(a), Floats(4, 1));
  EXPECT_EQ(floats(b), Floats(4, 2));
}

TEST(ContractArguments, GenericLambdasAreRefusedWhenTheyAreCompiled) {
  auto generic = [](auto x) { return x; };
  auto typed = [](Tensor x) { return x; };
  static_assert(!frontend::HasSignature<decltype(generic)> && frontend::HasSignature<decltype(typed)>);
  static_assert(!frontend::isTree<std::string> && !frontend::isTree<std::vector<nn::Linear>>);
  EXPECT_EQ(floats(typed(ones({1}))), floats(generic(ones({1}))));
}

TEST(ContractArguments, AnEmptyNameIsAnErrorAtOnce) {
  EXPECT_ERROR(compile([](Tensor x) { return x; }, {.name = ""}), "must not be empty");
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

TEST(ContractScalars, AScalarIsTracedAndNeverRecompiles) {
  auto f = compile(
      [](Tensor x, Scalar a, Scalar n, Scalar flag) { return where(flag.tensor(), a * x + n, x - a); });
  Tensor x = ones({2});
  EXPECT_EQ(floats(f(x, 0.5, 3, true)), Floats({3.5, 3.5}));
  uint64_t before = compile_count();
  EXPECT_EQ(floats(f(x, 0.25, 4, true)), Floats({4.25, 4.25}));
  EXPECT_EQ(floats(f(x, 0.25, 4, false)), Floats({0.75, 0.75}));
  EXPECT_EQ(compile_count(), before);
}

TEST(ContractScalars, AScalarTakesTheDtypeOfTheTensorBesideIt) {
  auto f = compile([](Tensor x, Scalar a) { return x * a; });
  for (DType dtype : {f16, bf16, f32, f64}) {
    Tensor x = ones({1}, {.dtype = dtype});
    EXPECT_EQ(f(x, 0.1).dtype(), dtype);
    EXPECT_EQ(f(x, 0.1).to_bytes(), (x * 0.1).to_bytes()); // and rounds as a number does
  }
  EXPECT_EQ(f(arange(3), 0.5).dtype(), f32);
  EXPECT_EQ(f(arange(3), 2).dtype(), i64);
  EXPECT_ERROR(Scalar(ones({2})), "0-dimensional");
}

TEST(ContractScalars, ANumberThatSelectsAFormulaIsPartOfTheSignature) {
  Tensor x = full({1}, 3.0);
  auto f = compile([](Tensor a, double exponent) { return pow(a, exponent); });
  EXPECT_EQ(floats(f(x, 2)), Floats({9}));
  EXPECT_EQ(floats(f(x, 3)), Floats({27}));
  EXPECT_EQ(f.variants().size(), 2u);
}

TEST(ContractScalars, HyperParametersAreOperandsOfF64AndStepCountsI64) {
  Tensor w = ones({2});
  w.requires_grad_();
  optim::Adam adam({w}, {.lr = 0.1});
  auto f = compile([&](Tensor x) {
    (w * x).sum().backward();
    adam.step();
    adam.zero_grad();
  });
  f(ones({2}));
  std::string text = f.mlir();
  EXPECT_NE(text.find("tensor<f64, #cpu> {weft.name = \"adam.lr\""), std::string::npos) << text;
  EXPECT_NE(text.find("tensor<i64, #cpu> {weft.donated, weft.name = \"adam.step\""), std::string::npos)
      << text;
}

TEST(ContractScalars, QueuedCallsKeepTheValueTheyWereCalledWith) {
  Tensor w = zeros({1 << 16});
  w.requires_grad_();
  optim::SGD sgd({w}, {.lr = 1});
  auto f = compile([&](Tensor x) {
    (w * x).sum().backward();
    sgd.step();
    sgd.zero_grad();
  });
  for (int i = 1; i <= 8; ++i) { // nothing waits in between
    sgd.set_lr(i);
    f(ones({1 << 16}));
  }
  EXPECT_EQ(floats(w)[12345], -36);
}
