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
  // A value that is loaded under one name is the value of the other name too.
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

TEST(Tying, ARegisteredMemberThatIsAPlainTensorIsAVariable) {
  struct Plain : nn::Module {
    Tensor w = register_parameter("w", ones({2}));
  } model;
  model.w = zeros({2});
  EXPECT_EQ(floats(model.w), Floats({0, 0}));
  EXPECT_EQ(floats(model.get_parameter("w")), Floats({1, 1}));
  EXPECT_EQ(model.parameters().size(), 1u);
}

namespace {

struct Pair : nn::Module {
  nn::Linear a = register_module("a", nn::Linear(2, 2, false)),
             b = register_module("b", nn::Linear(2, 2, false));
  Tensor operator()(const Tensor &x) const { return b(a(x)); }
};

nn::Linear makeLinear(double value) {
  nn::Linear linear(2, 2, false);
  NoGradGuard guard;
  linear.weight.fill_(value);
  return linear;
}

/// Trains for one step with an optimiser that is made now.
void train(const Pair &model) {
  optim::SGD sgd(model.parameters(), {.lr = 1});
  model(ones({1, 2})).sum().backward();
  sgd.step();
  sgd.zero_grad();
}

/// The module computes with its registered parameters, which are those that an optimiser trains.
void expectConsistent(const Pair &model) {
  const StateDict state = model.state_dict();
  ASSERT_EQ(namesOf(state), Names({"a.weight", "b.weight"}));
  EXPECT_EQ(floats(state[0].second), floats(model.a.weight));
  EXPECT_EQ(floats(state[1].second), floats(model.b.weight));
  const Floats a = floats(model.a.weight), b = floats(model.b.weight);
  train(model);
  EXPECT_NE(floats(model.a.weight), a);
  EXPECT_NE(floats(model.b.weight), b);
  EXPECT_EQ(floats(model.state_dict()[0].second), floats(model.a.weight));
  EXPECT_EQ(floats(model.state_dict()[1].second), floats(model.b.weight));
}

} // namespace

TEST(Tying, AParameterOfATemporaryLayerTakesThePlace) {
  Pair model;
  model.a.weight = makeLinear(7).weight;
  EXPECT_EQ(floats(model.a.weight), Floats(4, 7));
  EXPECT_ERROR(matmul(model.a.weight, ones({3})), "'a.weight'");
  expectConsistent(model);
}

TEST(Tying, AParameterThatIsMovedIsTied) {
  Pair model;
  nn::Linear other = makeLinear(7);
  model.a.weight = std::move(other.weight);
  EXPECT_EQ(floats(model.a.weight), Floats(4, 7));
  EXPECT_EQ(floats(other.weight), Floats(4, 7)); // it is what `other` has registered, still
  expectConsistent(model);
  EXPECT_EQ(floats(other.weight), floats(model.a.weight));
}

TEST(Tying, ExchangedParametersAreAnErrorThatChangesNothing) {
  Pair model;
  {
    NoGradGuard guard;
    model.a.weight.fill_(1);
    model.b.weight.fill_(2);
  }
  EXPECT_ERROR(std::swap(model.a.weight, model.b.weight), "exchange the values with copy_()");
  EXPECT_EQ(floats(model.a.weight), Floats(4, 1));
  EXPECT_EQ(floats(model.b.weight), Floats(4, 2));
  expectConsistent(model);
}

TEST(Tying, ARegisteredPartCannotBeAssigned) {
  Pair model;
  const Floats before = floats(model.a.weight);
  const char *refusal = "the part 'a' of a module, a Linear, is assigned another module";
  EXPECT_ERROR(model.a = makeLinear(7), refusal);
  nn::Linear other = makeLinear(7);
  EXPECT_ERROR(model.a = other, refusal);
  EXPECT_ERROR(model.a = std::move(other), refusal);
  EXPECT_ERROR(model.a = model.b, refusal);
  EXPECT_ERROR(model.a = Pair().a, refusal);
  EXPECT_ERROR(std::swap(model.a, model.b), refusal);
  EXPECT_EQ(floats(model.a.weight), before);
  expectConsistent(model);
  const nn::Linear &same = model.a;
  model.a = same;
  expectConsistent(model);
}

TEST(Tying, AModelIsAssignedCopiedAndExchangedAsAWhole) {
  Pair first, second;
  const Floats one = floats(first.a.weight), two = floats(second.a.weight);
  std::swap(first, second);
  EXPECT_EQ(floats(first.a.weight), two);
  EXPECT_EQ(floats(second.a.weight), one);
  expectConsistent(first);
  expectConsistent(second);
  Pair kept = first; // holds what is replaced now
  const Floats held = floats(kept.a.weight);
  first = Pair();
  expectConsistent(first);
  first = second;
  EXPECT_EQ(floats(first.b.weight), floats(second.b.weight));
  expectConsistent(first);
  EXPECT_EQ(floats(kept.a.weight), held);
  expectConsistent(kept);
  const auto make = [](bool which) {
    Pair a, b;
    return which ? a : b;
  };
  Pair made = make(true);
  made.a.weight = makeLinear(3).weight;
  expectConsistent(made);
}

TEST(Tying, PartsInAVectorAreAssignedWithTheirModel) {
  struct Stack : nn::Module {
    std::vector<nn::Linear> layers;
    Stack() {
      for (int i = 0; i < 3; ++i)
        layers.push_back(register_module(std::to_string(i), nn::Linear(2, 2, false)));
    }
  } first, second;
  const auto expectOwn = [](const Stack &model) {
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(floats(model.layers[i].weight), floats(model.state_dict()[i].second));
  };
  const Stack kept = first;
  const Floats before = floats(kept.layers[1].weight);
  first = second;
  expectOwn(first);
  EXPECT_EQ(floats(first.layers[1].weight), floats(second.layers[1].weight));
  expectOwn(kept);
  EXPECT_EQ(floats(kept.layers[1].weight), before);
  Stack other = kept;
  EXPECT_ERROR(other.layers[1] = first.layers[1], "the part '1' of a module");
  EXPECT_ERROR(first.layers[1] = kept.layers[1], "the part '1' of a module");
}

TEST(Tying, ParametersInAVectorAreAssignedWithTheirModel) {
  struct Scales : nn::Module {
    std::vector<nn::Parameter> scales;
    explicit Scales(float value, int64_t count = 3) {
      for (int64_t i = 0; i < count; ++i)
        scales.push_back(register_parameter(std::to_string(i), full({2}, value + static_cast<float>(i))));
    }
  } first(0), second(10);
  const auto expectOwn = [](Scales &model) {
    const auto state = model.state_dict();
    ASSERT_EQ(model.scales.size(), state.size());
    for (size_t i = 0; i < state.size(); ++i)
      EXPECT_EQ(floats(model.scales[i]), floats(state[i].second));
  };
  optim::SGD sgd(first.parameters(), {.lr = 1}); // holds what is replaced
  stderrOf([&] { first = second; });
  expectOwn(first);
  EXPECT_EQ(floats(first.scales[1]), Floats(2, 11));
  EXPECT_ERROR(first.scales[1] = nn::Parameter(ones({2})), "a copy of the module");
  expectOwn(first);
  // Into memory of another size, and as a copy: the elements are made anew.
  Scales many(20, 9), copy = many;
  first = many;
  expectOwn(first);
  EXPECT_ERROR(first.scales[8] = nn::Parameter(ones({2})), "a copy of the module");
  EXPECT_ERROR(copy.scales[0] = nn::Parameter(ones({2})), "a copy of the module");
  // A variable is none of them, whether its model was copied, moved or exchanged.
  nn::Parameter variable = copy.scales[0];
  stderrOf([&] { variable = nn::Parameter(ones({2})); });
  EXPECT_EQ(floats(variable), Floats(2, 1));
  Scales left(30), right(40);
  std::swap(left, right);
  expectOwn(left);
  nn::Parameter other = left.scales[2];
  stderrOf([&] { other = nn::Parameter(ones({2})); });
  EXPECT_EQ(floats(left.scales[2]), Floats(2, 42));
  expectOwn(left);
  left.scales[0] = nn::Parameter(zeros({2})); // is the member still
  expectOwn(left);
  EXPECT_EQ(floats(left.scales[0]), Floats(2, 0));
}

// A handle has no members that are assigned after it, so the next assignment is not part of its own.
TEST(Tying, HandlesAndClonesLeaveParametersAlone) {
  for (bool isListed : {false, true}) {
    Pair first, second;
    nn::Module handle = first, list = first.modules()[0];
    handle = second;
    std::vector<nn::Module> handles{first, second};
    handles[0] = isListed ? list : handles[1];
    first.a.weight = second.a.weight;
    EXPECT_EQ(floats(first.a.weight), floats(second.a.weight));
    expectConsistent(first);
    const Pair twin = clone(second);
    const nn::Module copy = handles[1];
    for (const nn::Parameter &member : {second.b.weight, twin.b.weight}) {
      nn::Parameter variable = member;
      stderrOf([&] { variable = nn::Parameter(zeros({2, 2})); });
      EXPECT_EQ(floats(variable), Floats(4, 0));
    }
    expectConsistent(second);
    expectConsistent(twin);
  }
}

TEST(Tying, ListsOfModulesAreRearranged) {
  Pair model;
  std::vector<nn::Module> modules = model.modules();
  ASSERT_EQ(modules.size(), 3u);
  modules.erase(modules.begin());
  std::swap(modules[0], modules[1]);
  EXPECT_EQ(floats(modules[0].parameters()[0]), floats(model.b.weight));
  EXPECT_EQ(floats(modules[1].parameters()[0]), floats(model.a.weight));
  nn::Module last = model.children()[0];
  last = modules[0];
  EXPECT_EQ(floats(last.parameters()[0]), floats(model.b.weight));
  EXPECT_ERROR(model.a = makeLinear(7), "the part 'a' of a module");
  // A part that is registered through such a handle stays registered.
  nn::Parameter gain = model.children()[0].register_parameter("gain", ones({2}));
  gain = nn::Parameter(zeros({2}));
  EXPECT_EQ(floats(model.get_parameter("a.gain")), Floats(2, 0));
}

TEST(Tying, AMemberOfACopyIsNoVariable) {
  Pair model, copy = model;
  EXPECT_ERROR(copy.a.weight = makeLinear(7).weight, "a copy of the module");
  EXPECT_ERROR(copy.a = makeLinear(7), "the part 'a' of a module");
  EXPECT_ERROR(model.a.weight = nn::Parameter(ones({2, 2})), "a copy of the module");
  expectConsistent(copy);
}

TEST(Tying, PartsInAVectorStayMembersWhenItGrows) {
  struct Stack : nn::Module {
    std::vector<nn::Linear> layers;
    void add(int i) { layers.push_back(register_module(std::to_string(i), nn::Linear(2, 2, false))); }
  } model;
  for (int i = 0; i < 9; ++i)
    model.add(i);
  for (nn::Linear &layer : model.layers)
    layer.weight = makeLinear(7).weight;
  for (const auto &[name, tensor] : model.state_dict())
    EXPECT_EQ(floats(tensor), Floats(4, 7)) << name;
  EXPECT_ERROR(model.layers.erase(model.layers.begin()), "the part '0' of a module");
  EXPECT_EQ(model.parameters().size(), 9u);
  // Layers that are not registered in a module can be assigned freely.
  std::vector<nn::Linear> loose;
  for (int i = 0; i < 4; ++i)
    loose.push_back(makeLinear(i));
  loose.erase(loose.begin());
  std::swap(loose[0], loose[2]);
  EXPECT_EQ(floats(loose[0].weight), Floats(4, 3));
  EXPECT_EQ(floats(loose[0].state_dict()[0].second), Floats(4, 3));
  EXPECT_EQ(floats(loose[2].state_dict()[0].second), Floats(4, 1));
}

TEST(Tying, WhatALayerWasMadeWithoutCannotBeAssigned) {
  struct Net : nn::Module {
    nn::Linear a = register_module("a", nn::Linear(2, 2, false));
    nn::LayerNorm norm = register_module("norm", nn::LayerNorm(2, 1e-5, false));
  } net;
  EXPECT_ERROR(net.a.bias = nn::Parameter(zeros({2})), "a parameter that 'a' (Linear) was made without");
  EXPECT_ERROR(net.a.bias = nn::Linear(2, 2).bias, "was made without");
  EXPECT_ERROR(net.norm.weight = ones({2}), "a parameter that 'norm' (LayerNorm) was made without");
  nn::Linear copy = net.a, loose(2, 2, false);
  EXPECT_ERROR(copy.bias = nn::Parameter(zeros({2})), "was made without");
  loose = nn::Linear(2, 2);
  EXPECT_TRUE(loose.bias.defined());
  EXPECT_EQ(loose.parameters().size(), 2u);
}

TEST(Tying, OnlyEqualShapesAreTied) {
  Model model;
  EXPECT_ERROR(model.head.weight = nn::Linear(4, 5).weight,
               "'head.weight' has shape [5, 3] and cannot be tied to 'weight', which has shape [5, 4]");
  model.head.weight = nn::Parameter(ones({7, 3})); // is no tie
  EXPECT_EQ(model(tensor({1})).sizes(), Shape({1, 7}));
}

TEST(Tying, AnOptimiserOfAModelThatIsReplacedIsNoted) {
  Pair model;
  optim::SGD sgd(model.parameters(), {.lr = 1});
  const std::string note = stderrOf([&] { model = Pair(); });
  EXPECT_TRUE(mentions(note, "'a.weight' is assigned another, and an optimiser that was made before"))
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

TEST(Forgotten, AFewThatAreReadLaterAreNotNoted) {
  Tensor w = ones({1}).requires_grad_(), x = ones({1}).requires_grad_();
  optim::SGD sgd({w}, {.lr = 0.1});
  const std::string text = stderrOf([&] {
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 3; ++i) {
        (w * x).sum().backward();
        sgd.step();
      }
      x.grad().item<float>();
    }
  });
  EXPECT_FALSE(mentions(text, "gradients add up")) << text;
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
