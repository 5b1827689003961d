//===- ModuleTest.cpp - Modules, layers, containers ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
#include <cmath>

using namespace weft;

namespace {
struct Block : nn::Module {
  nn::Linear linear = register_module("linear", nn::Linear(3, 3));
  nn::Parameter scale = register_parameter("scale", ones({3}));
  nn::Parameter seen = register_buffer("seen", zeros({}, {.dtype = i64}));
  Tensor operator()(Tensor x) { return linear(x) * scale; }
};

struct Stack : nn::Module {
  nn::ModuleList<Block> blocks = register_module("blocks", nn::ModuleList<Block>({Block(), Block()}));
  nn::Sequential head = register_module("head", nn::Sequential(nn::Linear(3, 2), nn::Tanh()));
  Tensor operator()(Tensor x) {
    for (Block &block : blocks)
      x = block(x);
    return head(x);
  }
};

/// A member that a copy would share: a plain Tensor that is registered.
struct Careless : nn::Module {
  Tensor weight = register_parameter("weight", ones({2}));
};

} // namespace

TEST(Module, ListsParametersBuffersAndModulesByPath) {
  Stack stack;
  EXPECT_EQ(namesOf(stack.named_parameters()),
            (Names{"blocks.0.scale", "blocks.0.linear.weight", "blocks.0.linear.bias", "blocks.1.scale",
                   "blocks.1.linear.weight", "blocks.1.linear.bias", "head.0.weight", "head.0.bias"}));
  EXPECT_EQ(namesOf(stack.named_buffers()), (Names{"blocks.0.seen", "blocks.1.seen"}));
  EXPECT_EQ(stack.buffers().size(), 2u);
  EXPECT_EQ(stack.state_dict().size(), 10u);
  Names paths;
  for (auto &[path, module] : stack.named_modules())
    paths.push_back(path + ":" + module.type_name());
  EXPECT_EQ(paths, (Names{":Module", "blocks:ModuleList", "blocks.0:Module", "blocks.0.linear:Linear",
                          "blocks.1:Module", "blocks.1.linear:Linear", "head:Sequential", "head.0:Linear",
                          "head.1:Tanh"}));
  EXPECT_EQ(stack.modules().size(), paths.size());
  EXPECT_EQ(stack.children().size(), 2u);
  EXPECT_EQ(stack.get_parameter("head.0.bias").sizes(), Shape{2});
  EXPECT_ERROR(stack.get_parameter("head.bias"), "no parameter 'head.bias'");
}

TEST(Module, ATensorUnderTwoNamesIsOneParameter) {
  nn::Linear a(4, 4, false);
  nn::Module both;
  both.register_module("encoder", a);
  both.register_module("decoder", a);
  EXPECT_EQ(namesOf(both.named_parameters()), (Names{"encoder.weight"}));
  EXPECT_EQ(namesOf(both.state_dict()), (Names{"encoder.weight", "decoder.weight"}));
  EXPECT_ERROR(a.register_module("self", a), "in itself");
}

TEST(Module, ApplyVisitsChildrenFirstAndFreezingIsRecursive) {
  Stack stack;
  Names order;
  stack.apply([&](nn::Module &module) {
    order.push_back(module.type_name());
    if (module.type_name() == "Linear")
      nn::init::constant_(module.get_parameter("weight"), 0.5);
  });
  EXPECT_EQ(order.front(), "Linear");
  EXPECT_EQ(order.back(), "Module");
  EXPECT_EQ(stack.head.named_parameters()[0].second.to_vector<float>(), std::vector<float>(6, 0.5f));
  stack.requires_grad_(false);
  for (const Tensor &parameter : stack.parameters())
    EXPECT_FALSE(parameter.requires_grad());
  stack.train(false);
  EXPECT_FALSE(stack.blocks[1].linear.is_training());
}

TEST(Module, CopiesShareAndClonesDoNot) {
  Stack original;
  original.eval();
  original.blocks[0].linear.bias.requires_grad_(false);
  Stack shared = original, copy = clone(original);
  Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(copy(x).to_vector<float>(), original(x).to_vector<float>());
  EXPECT_EQ(namesOf(copy.state_dict()), namesOf(original.state_dict()));
  EXPECT_FALSE(copy.is_training());
  EXPECT_FALSE(copy.blocks[0].linear.bias.requires_grad());
  EXPECT_TRUE(copy.blocks[0].scale.requires_grad());
  // Registered tensors and members are the same ones in the clone, and other ones than in the original.
  for (Stack *stack : {&shared, &copy}) {
    auto before = bitsOf(original.parameters());
    nn::init::constant_(stack->blocks[1].scale, 7);
    nn::init::constant_(stack->get_parameter("head.0.weight"), 7);
    EXPECT_EQ(stack->get_parameter("blocks.1.scale").to_vector<float>(), std::vector<float>(3, 7.0f));
    Tensor inner = stack->blocks[1](stack->blocks[0](x));
    EXPECT_EQ((*stack)(x).to_vector<float>(), tanh(nn::linear(inner, stack->get_parameter("head.0.weight"),
                                                              stack->get_parameter("head.0.bias")))
                                                  .to_vector<float>());
    if (stack == &copy)
      EXPECT_EQ(bitsOf(original.parameters()), before);
    else
      EXPECT_NE(bitsOf(original.parameters()), before);
  }
  copy.train();
  EXPECT_FALSE(original.is_training());
}

TEST(Module, AClonedModuleTrainsAlone) {
  nn::Linear a(2, 1);
  nn::Linear b = clone(a);
  optim::SGD sgd(b.parameters(), {.lr = 0.1});
  auto before = bitsOf(a.parameters());
  b(ones({4, 2})).sum().backward();
  EXPECT_FALSE(a.weight.grad().defined());
  sgd.step();
  EXPECT_EQ(bitsOf(a.parameters()), before);
  EXPECT_NE(bitsOf(b.parameters()), before);
}

TEST(Module, ACloneThatWouldShareIsAnError) {
  Careless careless;
  EXPECT_ERROR(clone(careless), "would share 'weight' with the original");
}

TEST(Module, LoadingWithoutStrictPassesOverNames) {
  nn::Linear linear(2, 2);
  auto keys = linear.load_state_dict({{"weight", ones({2, 2})}, {"extra", ones({1})}}, /*strict=*/false);
  EXPECT_EQ(keys.missing, (Names{"bias"}));
  EXPECT_EQ(keys.unexpected, (Names{"extra"}));
  EXPECT_EQ(linear.weight.to_vector<float>(), std::vector<float>(4, 1.0f));
  auto before = bitsOf(linear.parameters());
  EXPECT_ERROR(linear.load_state_dict({{"weight", zeros({3, 2})}, {"bias", zeros({2})}}, false),
               "size mismatch: weight has shape [2, 2], the state has [3, 2]");
  EXPECT_EQ(bitsOf(linear.parameters()), before);
}

TEST(Module, LoadingCompilesNothingAndKeepsTheTensors) {
  nn::Linear from(3, 2), to(3, 2);
  Tensor weight = to.weight;
  synchronize();
  uint64_t before = compile_count();
  to.load_state_dict(from.state_dict());
  EXPECT_EQ(weight.to_vector<float>(), from.weight.to_vector<float>());
  EXPECT_EQ(compile_count(), before);
  EXPECT_TRUE(to.weight.requires_grad());
}

// In place, floating-point tensors only, gradients too; the tensors stay the same objects.
TEST(Module, MovesInPlace) {
  Block block;
  Tensor weight = block.linear.weight;
  block(ones({1, 3})).sum().backward();
  block.half();
  EXPECT_EQ(weight.dtype(), f16);
  EXPECT_EQ(weight.grad().dtype(), f16);
  EXPECT_EQ(block.seen.dtype(), i64);
  EXPECT_EQ(block.get_parameter("scale").dtype(), f16);
  block.float_();
  EXPECT_EQ(weight.dtype(), f32);
  block.to("cuda:1");
  EXPECT_EQ(weight.device(), Device("cuda:1"));
  EXPECT_EQ(block.seen.device(), Device("cuda:1"));
  EXPECT_EQ(weight.grad().device(), Device("cuda:1"));
  EXPECT_ERROR(block.to(i32), "only accepts floating point dtypes");
  EXPECT_ERROR(block.to("cpu", i32), "only accepts floating point dtypes");
  EXPECT_EQ(weight.device(), Device("cuda:1")) << "a mistake moves nothing";
  block.cuda();
  EXPECT_EQ(weight.device(), Device("cuda:0"));
  block.cuda(1);
  EXPECT_EQ(weight.device(), Device("cuda:1"));
  block.to("cuda:2", bf16);
  EXPECT_EQ(weight.device(), Device("cuda:2"));
  EXPECT_EQ(weight.dtype(), bf16);
  block.cpu();
  EXPECT_EQ(block.seen.device(), Device("cpu"));
}

TEST(Module, PrintsItsTree) {
  nn::Sequential net(nn::Linear(4, 2), nn::LeakyReLU(), nn::Flatten(), nn::Softmax(-1), nn::ELU());
  EXPECT_EQ(to_string(net), "Sequential(\n"
                            "  (0): Linear(in_features=4, out_features=2, bias=True)\n"
                            "  (1): LeakyReLU(negative_slope=0.01)\n"
                            "  (2): Flatten(start_dim=1, end_dim=-1)\n"
                            "  (3): Softmax(dim=-1)\n"
                            "  (4): ELU(alpha=1.0)\n"
                            ")\n"
                            "10 parameters (10 trained), 0 buffers, 40 bytes");
}

// Values and derivatives at 0, where PyTorch's conventions show.
TEST(Layers, ActivationsFollowTheirFormulas) {
  struct Case {
    const char *name;
    std::function<Tensor(const Tensor &)> apply;
    std::function<double(double)> value;
    double slopeAtZero;
  };
  auto sig = [](double x) { return 1 / (1 + std::exp(-x)); };
  std::vector<Case> cases{
      {"identity", nn::Identity(), [](double x) { return x; }, 1},
      {"relu", nn::ReLU(), [](double x) { return std::max(x, 0.0); }, 0},
      {"gelu", nn::GELU(), [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, 0.5},
      {"gelu tanh", nn::GELU("tanh"),
       [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); },
       0.5},
      {"tanh", nn::Tanh(), [](double x) { return std::tanh(x); }, 1},
      {"sigmoid", nn::Sigmoid(), sig, 0.25},
      {"silu", nn::SiLU(), [&](double x) { return x * sig(x); }, 0.5},
      {"leaky_relu", nn::LeakyReLU(0.2), [](double x) { return x > 0 ? x : 0.2 * x; }, 0.2},
      {"elu", nn::ELU(1.5), [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); }, 1.5},
  };
  std::vector<float> points{-3, -0.5, 0, 0.25, 2, 200};
  for (const Case &c : cases) {
    Tensor x = tensor(points, {6}).requires_grad_();
    Tensor y = c.apply(x);
    std::vector<float> values = y.to_vector<float>();
    for (size_t i = 0; i < points.size(); ++i)
      EXPECT_NEAR(values[i], c.value(points[i]), 1e-6 * std::max(1.0f, std::abs(points[i]))) << c.name;
    y.sum().backward();
    std::vector<float> slopes = x.grad().to_vector<float>();
    EXPECT_NEAR(slopes[2], c.slopeAtZero, 1e-6) << c.name;
    for (float slope : slopes)
      EXPECT_TRUE(std::isfinite(slope)) << c.name;
  }
  EXPECT_ERROR(nn::GELU("fast"), "found \"fast\"");
}

TEST(Layers, ShapesAndSoftmax) {
  Tensor x = arange(24).to(f32).reshape({2, 12});
  EXPECT_EQ(nn::Unflatten(1, {3, -1})(x).sizes(), (Shape{2, 3, 4}));
  EXPECT_EQ(nn::Unflatten(-1, {2, 6})(x).sizes(), (Shape{2, 2, 6}));
  EXPECT_EQ(nn::Flatten()(nn::Unflatten(1, {3, 4})(x)).to_vector<float>(), x.to_vector<float>());
  EXPECT_ERROR(nn::Unflatten(1, {5, -1})(x), "don't multiply up to the size of dim 1 (12)");
  EXPECT_ERROR(nn::Unflatten(1, {-1, -1})(x), "except one that is -1");
  EXPECT_EQ(nn::Softmax(1)(x).to_vector<float>(), softmax(x, 1).to_vector<float>());
  EXPECT_EQ(nn::LogSoftmax(0)(x).to_vector<float>(), log_softmax(x, 0).to_vector<float>());
}

TEST(Init, EmbeddingsAreStandardNormal) {
  manual_seed(13);
  nn::Embedding table(400, 100);
  double mean = 0, square = 0;
  for (float v : table.weight.to_vector<float>()) {
    mean += v / 40000.0;
    square += double(v) * v / 40000.0;
  }
  EXPECT_NEAR(mean, 0, 0.025);
  EXPECT_NEAR(square, 1, 0.035); // 5 deviations each
}

TEST(Layers, LinearTakesAnyNumberOfRows) {
  nn::Linear linear(3, 2);
  Tensor x = arange(12).to(f32).reshape({2, 2, 3});
  EXPECT_EQ(linear(x).sizes(), (Shape{2, 2, 2}));
  EXPECT_EQ(linear(x).flatten().to_vector<float>(), linear(x.reshape({4, 3})).flatten().to_vector<float>());
  EXPECT_EQ(linear(x.select(0, 0).select(0, 0)).sizes(), (Shape{2}));
}

TEST(Layers, LayerNormNormalisesTheTrailingDimensions) {
  nn::LayerNorm norm(Shape{2, 3}, 1e-5);
  EXPECT_EQ(namesOf(norm.named_parameters()), (Names{"weight", "bias"}));
  EXPECT_EQ(norm.weight.to_vector<float>(), std::vector<float>(6, 1.0f));
  EXPECT_EQ(norm.bias.to_vector<float>(), std::vector<float>(6, 0.0f));
  Tensor x = tensor({1, 2, 3, 4, 5, 6, -1, -1, -1, 5, 5, 5}, {2, 2, 3});
  std::vector<float> y = norm(x).to_vector<float>();
  for (int i = 0; i < 6; ++i)
    EXPECT_NEAR(y[static_cast<size_t>(i)], (i - 2.5) / std::sqrt(35.0 / 12 + 1e-5), 1e-6);
  for (size_t i = 6; i < 12; ++i)
    EXPECT_NEAR(y[i], i < 9 ? -1 : 1, 1e-5);
  nn::init::constant_(norm.weight, 2);
  nn::init::constant_(norm.bias, 3);
  EXPECT_NEAR(norm(x).to_vector<float>()[11], 5, 1e-5);
  EXPECT_TRUE(nn::LayerNorm(3, 1e-5, /*elementwise_affine=*/false).parameters().empty());
  EXPECT_EQ(nn::LayerNorm(3, 1e-5, true, /*bias=*/false).parameters().size(), 1u);
  EXPECT_ERROR(nn::LayerNorm(4)(x), "normalized_shape");
}

TEST(Layers, EmbeddingsAreRowsOfATable) {
  manual_seed(12);
  nn::Embedding table(5, 3, /*padding_idx=*/-2);
  std::vector<float> weights = table.weight.to_vector<float>();
  EXPECT_EQ(std::vector<float>(weights.begin() + 9, weights.begin() + 12), std::vector<float>(3, 0.0f));
  EXPECT_NE(weights[0], 0);
  Tensor index = Tensor::from(std::vector<int64_t>{4, 3, 0, 4}, {2, 2});
  Tensor rows = table(index);
  EXPECT_EQ(rows.sizes(), (Shape{2, 2, 3}));
  std::vector<float> values = rows.to_vector<float>();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(values[i], weights[12 + i]);
    EXPECT_EQ(values[3 + i], 0);
    EXPECT_EQ(values[6 + i], weights[i]);
  }
  rows.sum().backward();
  EXPECT_EQ(table.weight.grad().to_vector<float>(),
            (std::vector<float>{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2})); // none for the padding
  EXPECT_EQ(nn::Embedding(7, 2).parameters().size(), 1u);
  EXPECT_ERROR(nn::Embedding(5, 3, 5), "Padding_idx must be within num_embeddings: 5 of 5");
  EXPECT_ERROR(nn::Embedding(-1, 3), "sizes that are not negative, found -1 and 3");
}

// The numbers are PyTorch's.
TEST(Layers, EmbeddingsScaleRowsAndGradients) {
  const Tensor table = weft::tensor({{3., 4.}, {1., 0.}, {0., 2.}, {0.3, 0.4}});
  const Tensor index = weft::tensor({0, 2, 2, 1}), factors = arange(1., 9.).reshape({4, 2});
  const auto check = [&](const EmbeddingOptions &options, bool isCompiled, const std::vector<float> &rows,
                         const std::vector<float> &weights, const std::vector<float> &gradient) {
    nn::Embedding layer(4, 2, options);
    layer.weight.set_data(table.clone());
    const auto step = [&](Tensor i) {
      Tensor found = layer(i);
      (found * factors).sum().backward();
      return found.detach();
    };
    const Tensor found = isCompiled ? compile(step)(index) : step(index);
    const auto near = [](const Tensor &a, const std::vector<float> &expected) {
      EXPECT_TRUE(allclose(a.reshape({-1}), weft::tensor(expected), 1e-6, 1e-6)) << a;
    };
    near(found, rows);
    near(layer.weight, weights);
    near(layer.weight.grad(), gradient);
  };
  for (const bool isCompiled : {false, true}) {
    check({.max_norm = 1}, isCompiled, {0.6f, 0.8f, 0, 1, 0, 1, 1, 0}, {0.6f, 0.8f, 1, 0, 0, 1, 0.3f, 0.4f},
          {1, 2, 7, 8, 8, 10, 0, 0});
    check({.max_norm = 1, .norm_type = 1}, isCompiled, {0.42857143f, 0.5714286f, 0, 1, 0, 1, 1, 0},
          {0.42857143f, 0.5714286f, 1, 0, 0, 1, 0.3f, 0.4f}, {1, 2, 7, 8, 8, 10, 0, 0});
    check({.max_norm = 2, .scale_grad_by_freq = true}, isCompiled, {1.2f, 1.6f, 0, 2, 0, 2, 1, 0},
          {1.2f, 1.6f, 1, 0, 0, 2, 0.3f, 0.4f}, {1, 2, 7, 8, 4, 5, 0, 0});
    check({.padding_idx = 2, .scale_grad_by_freq = true}, isCompiled, {3, 4, 0, 2, 0, 2, 1, 0},
          {3, 4, 1, 0, 0, 2, 0.3f, 0.4f}, {1, 2, 7, 8, 0, 0, 0, 0});
  }
  // An infinite row stays what it is.
  Tensor weight = weft::tensor({INFINITY, -0.f}).reshape({2, 1}).requires_grad_();
  // A padding by itself, or none.
  EXPECT_EQ(nn::functional::embedding(weft::tensor({0, 1, 1}), weight, {}).sizes(), (Shape{3, 1}));
  EXPECT_EQ(nn::functional::embedding(weft::tensor({0, 1, 1}), weight, 1).sizes(), (Shape{3, 1}));
  EXPECT_EQ(nn::Embedding(3, 2, {})(weft::tensor({0, 1})).sizes(), (Shape{2, 2}));
  EXPECT_EQ(nn::Embedding(3, 2, 1).weight[1].abs().sum().item<float>(), 0);
  Tensor rows = nn::functional::embedding(weft::tensor({0, 1, 1}), weight, {.scale_grad_by_freq = true});
  EXPECT_EQ(rows.to_bytes(), weft::tensor({INFINITY, -0.f, -0.f}).to_bytes());
  rows.sum().backward();
  EXPECT_EQ(weight.grad().to_vector<float>(), (std::vector<float>{1, 1}));
  const auto limited = [](const Tensor &weight, EmbeddingOptions options) {
    return nn::functional::embedding(weft::tensor({0}), weight, options);
  };
  EXPECT_ERROR(limited(weight, {.max_norm = -1}), "embedding: max_norm must not be negative, found -1");
  EXPECT_ERROR(limited(weight, {.max_norm = 1, .norm_type = 0}),
               "embedding: norm_type must be above 0, found 0");
  EXPECT_ERROR(limited(ones({1, 1}, i32), {.max_norm = 1}), "embedding() with max_norm");
}

// Train or eval is part of the signature, so both variants stay compiled.
TEST(Layers, DropoutDropsInTrainingOnly) {
  nn::Sequential net(nn::Dropout(0.25));
  Tensor x = ones({10000});
  auto apply = compile([&](Tensor in) { return net(in); });
  manual_seed(3);
  for (int i = 0; i < 2; ++i) {
    net.train();
    std::vector<float> y = apply(x).to_vector<float>();
    int dropped = 0;
    for (float v : y) {
      EXPECT_TRUE(v == 0 || v == 1 / 0.75f) << v;
      dropped += v == 0;
    }
    EXPECT_NEAR(dropped, 2500, 220); // 5 deviations
    net.eval();
    EXPECT_EQ(apply(x).to_vector<float>(), std::vector<float>(10000, 1.0f));
  }
  EXPECT_EQ(apply.variants().size(), 2u);
  EXPECT_ERROR(nn::Dropout(1.5), "between 0 and 1, but got 1.5");
}

TEST(Losses, ATargetOfAnotherSizeIsBroadcastWithAWarning) {
  Tensor x = arange(3).to(f32).reshape({3, 1}), y = ones({3});
  auto warned = [](auto loss) {
    ::testing::internal::CaptureStderr();
    Tensor value = loss();
    return std::pair(value.item<float>(), ::testing::internal::GetCapturedStderr());
  };
  auto [value, text] = warned([&] { return nn::mse_loss(x, y); });
  const std::string line = std::to_string(__LINE__ - 1);
  EXPECT_NEAR(value, 2.0f / 3, 1e-6); // [3, 3] squares, each row of one value
  EXPECT_EQ(text.find("weft: Using a target size ([3]) that is different to the input size ([3, 1])"), 0u)
      << text;
  EXPECT_NE(text.find("WEFT-G010"), std::string::npos) << text;
  EXPECT_NE(text.find("ModuleTest.cpp:" + line), std::string::npos) << text;
  EXPECT_NE(warned([&] { return nn::MSELoss()(x, y); }).second, "");
  EXPECT_NE(warned([&] { return nn::L1Loss()(x, y); }).second, "");
  EXPECT_EQ(warned([&] { return nn::mse_loss(x, y.reshape({3, 1})); }).second, "");
}

TEST(Losses, ModulesGiveWhatTheFunctionsGive) {
  manual_seed(6);
  Tensor x = randn({4, 3}), y = randn({4, 3}), classes = randint(0, 3, {4}),
         weight = tensor({1, 2, 0.5}, {3});
  auto same = [](const Tensor &a, const Tensor &b) { EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>()); };
  same(nn::CrossEntropyLoss()(x, classes), nn::cross_entropy(x, classes));
  nn::CrossEntropyLoss weighted({.weight = weight, .label_smoothing = 0.1});
  same(weighted(x, classes), nn::cross_entropy(x, classes, {.weight = weight, .label_smoothing = 0.1}));
  same(nn::NLLLoss({.reduction = nn::Reduction::sum, .weight = weight})(x, classes),
       nn::nll_loss(x, classes, {.reduction = nn::Reduction::sum, .weight = weight}));
  same(nn::BCEWithLogitsLoss({.pos_weight = weight})(x, sigmoid(y)),
       nn::binary_cross_entropy_with_logits(x, sigmoid(y), {.pos_weight = weight}));
  same(nn::MSELoss()(x, y), nn::mse_loss(x, y));
  same(nn::L1Loss(nn::Reduction::none)(x, y), nn::l1_loss(x, y, nn::Reduction::none));
  same(nn::SmoothL1Loss(nn::Reduction::mean, 0.3)(x, y), nn::smooth_l1_loss(x, y, nn::Reduction::mean, 0.3));
  // The weight is a buffer, which moves with the loss, and state, and is not trained.
  EXPECT_EQ(namesOf(weighted.state_dict()), (Names{"weight"}));
  EXPECT_TRUE(weighted.parameters().empty());
  weighted.to("cuda:0");
  EXPECT_EQ(weighted.weight.device(), Device("cuda:0"));
  EXPECT_ERROR(weighted(x, classes), "Expected all tensors to be on the same device");
  nn::CrossEntropyLoss plain({.weight = tensor({1, 2, 3}, {3})}), twin = clone(plain);
  nn::init::zeros_(twin.weight);
  EXPECT_EQ(plain.weight.to_vector<float>()[1], 2);
}
