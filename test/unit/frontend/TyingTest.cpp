//===- TyingTest.cpp - Parameters that are assigned, names, forgotten ones --===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>

using namespace weft;

namespace {

/// As in nanoGPT: the table of the tokens is also the last layer's weight.
struct Model : nn::Module {
  nn::Embedding wte = register_module("wte", nn::Embedding(5, 3));
  nn::Linear head = register_module("head", nn::Linear(3, 5, false));
  Tensor operator()(Tensor tokens) { return head(wte(tokens)); }
};
struct Tied : Model {
  Tied() { wte.weight = head.weight; }
};

} // namespace

TEST(Tying, AssigningOneParameterToAnotherTiesThem) {
  Tied model;
  EXPECT_EQ(namesOf(model.named_parameters()), Names({"wte.weight"}));
  EXPECT_EQ(namesOf(model.state_dict()), Names({"wte.weight", "head.weight"}));
  optim::SGD sgd(model.parameters(), {.lr = 0.5});
  auto step = compile([&](Tensor tokens) {
    Tensor loss = model(tokens).square().sum();
    loss.backward();
    sgd.step();
    sgd.zero_grad();
    return loss;
  });
  const Tensor tokens = tensor({0, 3});
  const Floats before = floats(model.head.weight);
  step(tokens);
  EXPECT_NE(floats(model.head.weight), before);
  EXPECT_EQ(floats(model.wte.weight), floats(model.head.weight));
  EXPECT_EQ(floats(model.state_dict()[0].second), floats(model.head.weight));
  // What is loaded under one name is what the other has.
  StateDict state = model.state_dict();
  for (auto &[name, value] : state)
    value = full({5, 3}, 2.0);
  model.load_state_dict(state);
  EXPECT_EQ(floats(model.head.weight), Floats(15, 2));
}

TEST(Tying, ACloneIsTiedToo) {
  Tied model;
  Tied copy = nn::clone(model);
  {
    NoGradGuard guard;
    copy.wte.weight.fill_(1);
  }
  EXPECT_EQ(floats(copy.head.weight), Floats(15, 1));
  EXPECT_NE(floats(model.head.weight), Floats(15, 1));
  EXPECT_EQ(copy.parameters().size(), 1u);
}

TEST(Tying, ACloneCanBeTied) {
  Model model;
  Model copy = nn::clone(model);
  copy.wte.weight = copy.head.weight;
  EXPECT_EQ(copy.parameters().size(), 1u);
  EXPECT_EQ(model.parameters().size(), 2u);
}

TEST(Tying, AnotherParameterUnderTheSameName) {
  Model model;
  model.head.weight = nn::Parameter(ones({5, 3}));
  EXPECT_TRUE(model.head.weight.requires_grad());
  EXPECT_EQ(namesOf(model.named_parameters()), Names({"wte.weight", "head.weight"}));
  EXPECT_EQ(floats(model.get_parameter("head.weight")), Floats(15, 1));
  EXPECT_ERROR(matmul(model.head.weight, model.head.weight), "operand 0, 'head.weight', is");
}

TEST(Tying, AnOrphanIsAnError) {
  Model model;
  EXPECT_ERROR(model.head.weight = ones({5, 3}), "'head.weight' is assigned a tensor");
  EXPECT_ERROR(model.head.weight = nn::Parameter(), "'head.weight' is assigned an undefined tensor");
  {
    optim::SGD sgd(model.parameters(), {.lr = 1});
    EXPECT_ERROR(model.wte.weight = model.head.weight,
                 "'wte.weight' cannot be made 'head.weight': an optimiser");
  }
  {
    auto f = compile([&](Tensor x) { return model(x); });
    f(tensor({1}));
    EXPECT_ERROR(model.wte.weight = model.head.weight, "cannot be made 'head.weight'");
  }
  auto g = compile([&](Tensor x) {
    model.wte.weight = model.head.weight;
    return x;
  });
  EXPECT_ERROR(g(ones({1})), "inside of a compiled function");
  model.wte.weight = model.head.weight;
  EXPECT_EQ(model.parameters().size(), 1u);
}

TEST(Tying, AVariableIsNoMember) {
  Model model;
  const Floats before = floats(model.head.weight);
  auto w = model.head.weight; // a copy of the handle, of the same type
  w = w * 2;
  EXPECT_EQ(floats(model.head.weight), before);
  auto v = model.head.weight;
  const std::string note = stderrOf([&] { v = model.wte.weight; });
  EXPECT_TRUE(mentions(note, "a copy of the parameter 'head.weight' was assigned 'wte.weight'")) << note;
  EXPECT_EQ(floats(model.head.weight), before);
  EXPECT_EQ(model.parameters().size(), 2u);
}

TEST(Tying, APartThatTakesThePlaceOfARegisteredOneIsNoted) {
  Model model;
  const std::string note = stderrOf([&] { model.head = nn::Linear(3, 5, false); });
  EXPECT_TRUE(
      mentions(note, "'head.weight' was assigned another, and the module that it is registered in keeps"))
      << note;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

TEST(Names, ErrorsNameTheWholePathInWhateverOrderPartsAreRegistered) {
  struct Late : nn::Module {
    nn::ModuleList<nn::Linear> decoder = register_module("decoder", nn::ModuleList<nn::Linear>());
  } late;
  for (int i = 0; i < 3; ++i)
    late.decoder.push_back(nn::Linear(4, 4));
  EXPECT_ERROR(late.decoder[2](ones({1, 5})), "'decoder.2.weight'");
  struct Early : nn::Module {
    nn::Sequential decoder =
        register_module("decoder", nn::Sequential(nn::ReLU(), nn::ReLU(), nn::Linear(4, 4)));
  } early;
  EXPECT_ERROR(early.decoder(ones({1, 5})), "'decoder.2.weight'");
  auto f = compile([&](Tensor x) { return early.decoder(x); });
  EXPECT_ERROR(f(ones({1, 5})), "'decoder.2.weight'");
}

TEST(Names, ATensorThatIsRegisteredTwiceHasOnePath) {
  struct Shared : nn::Module {
    nn::Linear a = register_module("a", nn::Linear(2, 2));
    nn::Linear b = register_module("b", a);
  };
  struct Outer : nn::Module {
    Shared inner = register_module("inner", Shared());
  } outer;
  EXPECT_ERROR(outer.inner.b(ones({3, 3})), "'inner.a.weight'");
}

//===----------------------------------------------------------------------===//
// What is forgotten
//===----------------------------------------------------------------------===//

TEST(Forgotten, GradientsThatNobodyTakesAreNotedOnce) {
  struct Net : nn::Module {
    nn::Linear kept = register_module("kept", nn::Linear(2, 2));
    nn::Linear lost{2, 2}; // not registered
  } net;
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  const std::string note = stderrOf([&] {
    for (int i = 0; i < 5; ++i) {
      net.lost(net.kept(ones({1, 2}))).sum().backward();
      sgd.step();
      sgd.zero_grad();
    }
  });
  EXPECT_TRUE(mentions(note, "gradients add up in 'weight' (made at ")) << note;
  EXPECT_TRUE(mentions(note, "Is the module registered")) << note;
  EXPECT_EQ(std::count(note.begin(), note.end(), '\n'), 1) << note;
}

TEST(Forgotten, GradientsThatNobodyTakesAreNotedInACompiledStep) {
  struct Net : nn::Module {
    nn::Linear kept = register_module("kept", nn::Linear(2, 2));
    Tensor lost = ones({2}).requires_grad_(); // not registered
  } net;
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  auto step = compile([&](Tensor x) {
    (net.kept(x) * net.lost).sum().backward();
    sgd.step();
    sgd.zero_grad();
  });
  const std::string note = stderrOf([&] {
    for (int i = 0; i < 5; ++i)
      step(ones({1, 2}));
  });
  EXPECT_TRUE(mentions(note, "gradients add up in the tensor made at ")) << note;
  EXPECT_EQ(std::count(note.begin(), note.end(), '\n'), 1) << note;
}

TEST(Forgotten, WhatIsReadOrClearedIsNotNoted) {
  Tensor w = ones({1}).requires_grad_(), x = ones({1}).requires_grad_(), y = ones({1}).requires_grad_();
  optim::SGD sgd({w}, {.lr = 0.1});
  const auto loop = [&] {
    for (int i = 0; i < 4; ++i) {
      (w * x * y).sum().backward();
      sgd.step();
      sgd.zero_grad();
      x.grad().sum().item<float>(); // a penalty, a picture of what matters
      y.set_grad({});
    }
  };
  const std::string text = stderrOf(loop);
  EXPECT_FALSE(mentions(text, "gradients add up")) << text;
}
