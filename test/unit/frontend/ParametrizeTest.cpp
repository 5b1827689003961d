//===- ParametrizeTest.cpp - Weights that are computed from parameters -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <thread>

using namespace weft;
using namespace weft::nn::utils::parametrize;
using weft::nn::utils::parametrizations::orthogonal;
using weft::nn::utils::parametrizations::spectral_norm;
using weft::nn::utils::parametrizations::weight_norm;

namespace {

/// A matrix from its upper triangle.
struct Symmetric : nn::Module {
  Tensor operator()(const Tensor &x) const { return x.triu() + x.triu(1).t(); }
};
struct Rows : nn::Module {
  Tensor operator()(const Tensor &x) const { return x.narrow(0, 0, 1); }
};
struct Wide : nn::Module {
  Tensor operator()(const Tensor &x) const { return x.to(f64); }
};

double largest(const Tensor &t) { return t.abs().max().item<double>(); }

} // namespace

TEST(Parametrize, HasTheNamesOfPyTorch) {
  EXPECT_EQ(namesOf(weight_norm(nn::Linear(3, 2)).state_dict()),
            (Names{"bias", "parametrizations.weight.original0", "parametrizations.weight.original1"}));
  EXPECT_EQ(namesOf(spectral_norm(nn::Conv2d(3, 4, 3)).state_dict()),
            (Names{"bias", "parametrizations.weight.original", "parametrizations.weight.0._u",
                   "parametrizations.weight.0._v"}));
  EXPECT_EQ(namesOf(orthogonal(nn::Linear(3, 2)).state_dict()),
            (Names{"bias", "parametrizations.weight.original", "parametrizations.weight.0.base"}));
  const nn::Parametrized<nn::Linear> fc = weight_norm(nn::Linear(3, 2));
  EXPECT_EQ(fc.parameters().size(), 3U);
  EXPECT_EQ(fc.get_parameter("parametrizations.weight.original0").sizes(), (Shape{2, 1}));
}

TEST(Parametrize, BeginsAtTheWeight) {
  manual_seed(1);
  const nn::Linear plain(5, 4);
  const Tensor weight = plain.weight.detach().clone(), x = randn({3, 5});
  const Floats before = floats(plain(x));
  const auto fc = weight_norm(plain);
  EXPECT_LT(largest(fc.computed("weight") - weight), 1e-6);
  const Floats after = floats(fc(x));
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(after[i], before[i], 1e-6);
  EXPECT_TRUE(is_parametrized(fc));
  EXPECT_TRUE(is_parametrized(fc, "weight"));
  EXPECT_FALSE(is_parametrized(fc, "bias"));
  EXPECT_FALSE(is_parametrized(nn::Linear(2, 2)));
}

TEST(Parametrize, PassesGradientsOn) {
  auto fc = weight_norm(nn::Linear(3, 2));
  const Tensor x = generated({4, 3}, [](size_t i) { return std::sin(double(i)); });
  fc(x).square().sum().backward();
  const Tensor g = fc.get_parameter("parametrizations.weight.original0"),
               v = fc.get_parameter("parametrizations.weight.original1");
  EXPECT_GT(largest(g.grad()), 0);
  // The gradient of v is orthogonal to v in each row.
  EXPECT_LT(largest((v.grad() * v.detach()).sum({1})), 1e-5);
  const Floats lazy = floats(v.grad());
  fc.zero_grad();
  const auto step = compile([&](Tensor in) {
    fc(in).square().sum().backward();
    return fc.computed("weight");
  });
  EXPECT_EQ(floats(step(x)), floats(fc.computed("weight")));
  const Floats compiled = floats(v.grad());
  for (size_t i = 0; i < lazy.size(); ++i)
    EXPECT_NEAR(lazy[i], compiled[i], 1e-5);
}

TEST(Parametrize, SpectralNormFollowsTheWeightInTraining) {
  manual_seed(2);
  auto fc = spectral_norm(nn::Linear(8, 6));
  const Tensor x = randn({2, 8});
  for (int i = 0; i < 60; ++i)
    fc(x);
  EXPECT_NEAR(linalg::svdvals(fc.computed("weight")).max().item<float>(), 1, 1e-4);
  const auto u = [&] { return floats(fc.state_dict()[2].second); };
  fc.eval();
  const Floats before = u();
  fc(x);
  EXPECT_EQ(u(), before);
  fc.train();
  const auto step = compile([&](Tensor in) { return fc(in); });
  {
    NoGradGuard guard;
    fc.get_parameter("parametrizations.weight.original").mul_(tensor({1, 2, 3, 4, 5, 6}, {6, 1}));
  }
  step(x);
  EXPECT_NE(u(), before);
}

TEST(Parametrize, OrthogonalStaysSo) {
  manual_seed(3);
  for (const char *map : {"matrix_exp", "cayley", "householder"})
    for (const auto &[in, out] : {std::pair<int64_t, int64_t>{4, 4}, {3, 5}, {5, 3}}) {
      auto fc = orthogonal(nn::Linear(in, out), "weight", map);
      fc(randn({7, in})).square().sum().backward();
      optim::SGD(fc.parameters(), {.lr = 0.01}).step();
      Tensor w = fc.computed("weight").detach();
      if (out < in)
        w = w.t();
      EXPECT_LT(largest(matmul(w.t(), w) - eye(std::min(in, out))), 1e-5) << map << " " << in << " " << out;
    }
  // An orthogonal weight is kept as it is.
  nn::Linear plain(3, 3);
  nn::init::orthogonal_(plain.weight);
  const Tensor weight = plain.weight.detach().clone();
  EXPECT_LT(largest(orthogonal(plain).computed("weight") - weight), 1e-5);
  EXPECT_ERROR(orthogonal(nn::Linear(2, 2), "weight", "qr"), "orthogonal_map has to be one of");
  EXPECT_ERROR(orthogonal(nn::Linear(2, 2), "bias"), "Got a tensor of 1 dimensions");
  EXPECT_ERROR(orthogonal(nn::Linear(2, 3), "weight", "", false),
               "with \"householder\" begins at the weight only");
}

TEST(Parametrize, OfTheProgramsOwn) {
  nn::Parametrized<nn::Linear> fc(nn::Linear(3, 3));
  register_parametrization(fc, "weight", Symmetric());
  const Tensor w = fc.computed("weight").detach();
  EXPECT_EQ(floats(w), floats(w.t()));
  EXPECT_EQ(namesOf(fc.state_dict()), (Names{"bias", "parametrizations.weight.original"}));
  // A further step, and another tensor.
  register_parametrization(fc, "weight", Symmetric());
  register_parametrization(fc, "bias", nn::Tanh());
  EXPECT_EQ(namesOf(fc.named_parameters()),
            (Names{"parametrizations.weight.original", "parametrizations.bias.original"}));
  EXPECT_ERROR(register_parametrization(fc, "weights", Symmetric()), "no parameter or buffer 'weights'");
  EXPECT_ERROR(register_parametrization(nn::Linear(3, 3), "weight", Rows()), "may not change the shape");
  EXPECT_ERROR(register_parametrization(nn::Linear(3, 3), "weight", Wide()), "may not change the dtype");
  EXPECT_ERROR(spectral_norm(nn::Linear(2, 2), "weight", 0), "Expected n_power_iterations to be positive");
  EXPECT_ERROR(weight_norm(nn::Linear(2, 2), "weight", 2), "Dimension out of range");
  EXPECT_TRUE(
      weight_norm(nn::Linear(2, 2), "weight", -1).state_dict()[1].second.sizes().empty()); // as in PyTorch
}

TEST(Parametrize, AreRemoved) {
  auto fc = weight_norm(nn::Linear(3, 2));
  const Tensor x = generated({1, 3}, [](size_t i) { return double(i) - 1; });
  const Floats before = floats(fc(x)), weight = floats(fc.computed("weight"));
  EXPECT_ERROR(remove_parametrizations(fc, "weight", false), "a sequence of tensors");
  remove_parametrizations(fc, "weight");
  EXPECT_EQ(namesOf(fc.state_dict()), (Names{"weight", "bias"}));
  EXPECT_EQ(floats(fc.weight), weight);
  EXPECT_EQ(floats(fc(x)), before);
  fc(x).sum().backward();
  EXPECT_TRUE(fc.weight.grad().defined());
  EXPECT_FALSE(is_parametrized(fc));
  EXPECT_ERROR(remove_parametrizations(fc, "weight"), "no parametrization of 'weight'");
  EXPECT_ERROR(fc.computed("weight"), "no parametrization of 'weight'");
  nn::Parametrized<nn::Linear> other = register_parametrization(nn::Linear(2, 2), "weight", Symmetric());
  const Floats original = floats(other.get_parameter("parametrizations.weight.original"));
  remove_parametrizations(other, "weight", false);
  EXPECT_EQ(floats(other.weight), original);
}

TEST(Parametrize, TheMemberHasNoValueOutsideOfCalls) {
  nn::Linear plain(3, 2);
  optim::SGD early(plain.parameters(), {.lr = 0.1});
  const auto fc = weight_norm(plain);
  EXPECT_ERROR(fc.weight.sum(),
               "'weight' is parametrized, and computed in each call of its module (WEFT-G007)");
  EXPECT_ERROR(plain(ones({1, 3})), "computed(\"weight\") of the module gives its present value");
  EXPECT_EQ(fc.weight.sizes(), (Shape{2, 3}));
}

TEST(Parametrize, WorksInNetworks) {
  manual_seed(4);
  nn::Sequential net(spectral_norm(nn::Conv2d(1, 2, 3)), nn::Flatten(), weight_norm(nn::Linear(8, 3)));
  const Tensor x = randn({2, 1, 4, 4});
  EXPECT_EQ(namesOf(net.state_dict())[1], "0.parametrizations.weight.original");
  net.eval();
  const Floats before = floats(net(x));
  // A copy is a module of its own.
  nn::Parametrized<nn::Linear> fc = weight_norm(nn::Linear(8, 3)), copy = nn::clone(fc);
  const Tensor in = randn({1, 8});
  const Floats of = floats(fc(in));
  EXPECT_EQ(of, floats(copy(in)));
  {
    NoGradGuard guard;
    copy.get_parameter("parametrizations.weight.original0").zero_();
  }
  EXPECT_EQ(of, floats(fc(in)));
  EXPECT_NE(of, floats(copy(in)));
  // To another dtype and back; a state that is loaded.
  net.double_();
  EXPECT_EQ(net(x.to(f64)).dtype(), f64);
  net.float_();
  EXPECT_EQ(floats(net(x)), before);
  nn::Sequential twin(spectral_norm(nn::Conv2d(1, 2, 3)), nn::Flatten(), weight_norm(nn::Linear(8, 3)));
  twin.load_state_dict(net.state_dict());
  twin.eval();
  EXPECT_EQ(floats(twin(x)), before);
  EXPECT_EQ(fc.computed("weight").sizes(), (Shape{3, 8}));
}

TEST(Parametrize, OfLayersThatTakeAndGiveSeveralTensors) {
  manual_seed(6);
  const nn::LSTM plain(3, 4);
  const Tensor x = randn({5, 2, 3});
  const nn::LSTMState state{randn({1, 2, 4}), randn({1, 2, 4})};
  const Floats alone = floats(std::get<0>(plain(x))), given = floats(std::get<0>(plain(x, state)));
  const auto lstm = weight_norm(plain, "weight_hh_l0");
  const Floats found = floats(std::get<0>(lstm(x))), with = floats(std::get<0>(lstm(x, state)));
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], alone[i], 1e-5);
    EXPECT_NEAR(with[i], given[i], 1e-5);
  }
  std::get<0>(lstm(x)).sum().backward();
  EXPECT_TRUE(lstm.get_parameter("parametrizations.weight_hh_l0.original0").grad().defined());
}

TEST(Parametrize, CopiesShareThem) {
  manual_seed(7);
  nn::Parametrized<nn::Linear> fc(nn::Linear(3, 3)), copy = fc;
  const Tensor x = randn({2, 3});
  register_parametrization(copy, "weight", Symmetric());
  EXPECT_TRUE(is_parametrized(fc, "weight"));
  EXPECT_EQ(floats(fc(x)), floats(copy(x)));
  EXPECT_EQ(floats(fc.computed("weight")), floats(copy.computed("weight")));
  register_parametrization(fc, "weight", nn::Tanh());
  EXPECT_EQ(floats(fc(x)), floats(copy(x)));
  // A handle on the layer knows of those that it got by another.
  const nn::Linear plain(3, 3);
  const auto one = register_parametrization(plain, "weight", Symmetric()),
             both = weight_norm(plain, "bias", {});
  EXPECT_EQ(floats(one(x)), floats(both(x)));
  remove_parametrizations(fc, "weight");
  EXPECT_FALSE(is_parametrized(copy));
  EXPECT_EQ(floats(fc(x)), floats(copy(x)));
  // A clone has its own, in which copies of one module share theirs.
  struct Net : nn::Module {
    nn::Parametrized<nn::Linear> a = register_module("a", spectral_norm(nn::Linear(3, 3))), b = a;
  };
  Net net, twin = nn::clone(net);
  register_parametrization(twin.a, "bias", nn::Tanh());
  EXPECT_TRUE(is_parametrized(twin.b, "bias"));
  EXPECT_FALSE(is_parametrized(net.b, "bias"));
  twin.a(x); // which moves the vectors of the clone only
  EXPECT_NE(floats(net.state_dict()[2].second), floats(twin.state_dict()[2].second));
  twin.eval();
  EXPECT_EQ(floats(twin.a(x)), floats(twin.b(x)));
}

TEST(Parametrize, CompiledFunctionsFollowAChange) {
  manual_seed(8);
  nn::Parametrized<nn::Linear> fc(nn::Linear(3, 3));
  const Tensor x = randn({2, 3});
  auto run = compile([&](const Tensor &in) { return fc(in); });
  auto looped = compile([&](const Tensor &in) {
    return scan([&](const Tensor &h) { return std::pair(fc(h), std::tuple<>()); }, in, 2).first;
  });
  auto isOne = compile([&](const Tensor &in) { return is_parametrized(fc) ? in : in * 2; });
  const auto expectSame = [&](const char *when) {
    EXPECT_EQ(floats(run(x)), floats(fc(x))) << when;
    EXPECT_EQ(floats(looped(x)), floats(fc(fc(x)))) << when;
    EXPECT_EQ(floats(isOne(x)), floats(is_parametrized(fc) ? x : x * 2)) << when;
  };
  expectSame("none");
  register_parametrization(fc, "weight", Symmetric());
  expectSame("one");
  ASSERT_EQ(run.variants().size(), 1U); // the one before fits no call any more
  EXPECT_EQ(run.variants()[0].reason, "a parametrization of a module was registered or removed");
  register_parametrization(fc, "weight", nn::Tanh());
  expectSame("two");
  const uint64_t before = compile_count();
  expectSame("again");
  EXPECT_EQ(compile_count(), before);
  remove_parametrizations(fc, "weight");
  expectSame("removed");
  // A handle that does not compute the weight refuses to go on with the old one.
  nn::Linear plain(3, 3);
  plain.requires_grad_(false);
  auto alone = compile([&](const Tensor &in) { return plain(in); });
  alone(x);
  const auto normed = weight_norm(plain);
  EXPECT_ERROR(alone(x), "(WEFT-G007)");
}

TEST(Parametrize, KeepsWhetherATensorIsTrained) {
  const auto trained = [](const nn::Module &module) {
    std::string text;
    for (const auto &[name, tensor] : module.named_parameters())
      text += name.substr(name.rfind('.') + 1) + (tensor.requires_grad() ? "+ " : "- ");
    return text;
  };
  for (const bool leave : {true, false}) {
    nn::Linear plain(3, 3);
    plain.weight.requires_grad_(false);
    nn::Parametrized<nn::Linear> fc = register_parametrization(plain, "weight", Symmetric());
    EXPECT_EQ(trained(fc), "bias+ original- ");
    register_parametrization(fc, "weight", nn::Tanh());
    remove_parametrizations(fc, "weight", leave);
    EXPECT_EQ(trained(fc), "weight- bias+ ");
  }
  auto fc = weight_norm(nn::Linear(3, 3));
  EXPECT_EQ(trained(fc), "bias+ original0+ original1+ ");
  fc.get_parameter("parametrizations.weight.original0").requires_grad_(false);
  remove_parametrizations(fc, "weight");
  EXPECT_EQ(trained(fc), "weight+ bias+ ");
  fc.requires_grad_(false);
  fc = weight_norm(fc);
  EXPECT_EQ(trained(fc), "bias- original0- original1- ");
  remove_parametrizations(fc, "weight");
  EXPECT_EQ(trained(fc), "weight- bias- ");
}

TEST(Parametrize, RefusesTiedTensors) {
  struct Tied : nn::Module {
    nn::Embedding wte = register_module("wte", nn::Embedding(4, 3));
    nn::Linear head = register_module("head", nn::Linear(3, 4, false));
    Tied() { wte.weight = head.weight; }
  };
  const Tied net;
  EXPECT_ERROR(weight_norm(net.head), "'head.weight' is tied to 'wte.weight', which has no value when it is "
                                      "parametrized (WEFT-G007): leave the two untied");
  EXPECT_EQ(net.head(ones({1, 3})).sizes(), (Shape{1, 4})); // nothing has changed
  EXPECT_EQ(net.named_parameters().size(), 1U);
  const auto head = weight_norm(nn::Linear(3, 4, false));
  nn::Embedding wte(4, 3);
  EXPECT_ERROR(wte.weight = head.weight, "which is parametrized, and computed in each call of its module");
  // What the messages advise.
  EXPECT_EQ(floats(embedding(tensor({2}), head.computed("weight"))), floats(head.computed("weight")[2]));
}

TEST(Parametrize, IsCalledFromSeveralThreads) {
  const auto fc = weight_norm(nn::Linear(4, 4));
  const Tensor x = generated({1, 4}, [](size_t i) { return double(i); });
  const Floats wanted = floats(fc(x));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        wrong += floats(fc(x)) != wanted;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}
