//===- UserProgramsTest.cpp - What a training program does next -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Typical extensions of a first training program, each with the number of compilations that it may cause.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <filesystem>

using namespace weft;

namespace {

struct Mlp : TwoLayers {
  Mlp() : TwoLayers(6, 16, 3) {}
};

struct Training {
  bool seeded = (manual_seed(0), true); // before what draws
  Mlp model;
  optim::Adam adam{model.parameters(), {.lr = 1e-2}};
  Tensor images = randint(256, {8, 2, 3}, {.dtype = u8}), labels = randint(3, {8});
  Tensor loss_of(const Tensor &images, const Tensor &labels) {
    return nn::cross_entropy(model(images.flatten(1).to(f32) / 255), labels);
  }
  Tensor step(Tensor loss) {
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss;
  }
};

} // namespace

// A loss every 100 steps.
TEST(UserPrograms, ALossNowAndThen) {
  Training run;
  auto step = compile([&](Tensor images, Tensor labels) { return run.step(run.loss_of(images, labels)); });
  std::vector<float> shown;
  Metric running;
  uint64_t before = 0;
  for (int i = 0; i < 200; ++i) {
    Tensor loss = step(run.images, run.labels);
    if (i % 100 == 0)
      shown.push_back(loss.item<float>());
    running.update(loss);
    if (i == 2)
      before = compile_count();
  }
  EXPECT_EQ(compile_count(), before);
  EXPECT_LT(shown[1], shown[0]);
  EXPECT_GT(running.value(), 0);
  auto inside = compile([&](Tensor x) { return x * x.sum().item<float>(); });
  EXPECT_ERROR(inside(ones(3)), "WEFT-C001");
}

// Clipping, part of the step.
TEST(UserPrograms, Clipping) {
  Training run;
  auto step = compile([&](Tensor images, Tensor labels) {
    run.loss_of(images, labels).backward();
    Tensor norm = nn::utils::clip_grad_norm_(run.model.parameters(), 1.0);
    run.adam.step();
    run.adam.zero_grad();
    return norm;
  });
  EXPECT_GT(step(run.images, run.labels).item<float>(), 0);
}

// A learning-rate schedule, and a number that the program passes.
TEST(UserPrograms, ARateAndANumberThatChange) {
  Training run;
  auto step = compile([&](Tensor images, Tensor labels, Scalar temperature) {
    return run.step(run.loss_of(images, labels) / temperature);
  });
  auto cosine = [](int i) { return 1e-2 * 0.5 * (1 + std::cos(i / 30.0)); };
  uint64_t before = 0;
  for (int i = 0; i < 30; ++i) {
    run.adam.set_lr(cosine(i));
    step(run.images, run.labels, 1.0 + i);
    if (i == 1)
      before = compile_count();
  }
  EXPECT_EQ(compile_count(), before);
  EXPECT_EQ(step.variants().size(), 1u);
}

// Gradient accumulation: the first call after zero_grad is a separate variant.
TEST(UserPrograms, GradientAccumulation) {
  Training one, parts;
  auto accumulate = compile([&](Tensor images, Tensor labels) {
    Tensor loss = parts.loss_of(images, labels);
    (loss / 4).backward();
    return loss;
  });
  auto apply = compile([&] {
    parts.adam.step();
    parts.adam.zero_grad();
  });
  for (int step = 0; step < 3; ++step) {
    for (int64_t i = 0; i < 4; ++i)
      accumulate(parts.images.slice(0, 2 * i, 2 * i + 2), parts.labels.slice(0, 2 * i, 2 * i + 2));
    apply();
    one.loss_of(one.images, one.labels).backward();
    one.adam.step();
    one.adam.zero_grad();
  }
  EXPECT_EQ(accumulate.variants().size(), 2u);
  EXPECT_EQ(apply.variants().size(), 1u);
  EXPECT_TRUE(allclose(one.model.fc1.weight, parts.model.fc1.weight, 1e-3, 1e-5));
}

// Save and resume.
TEST(UserPrograms, SaveAndResume) {
  std::string path = std::filesystem::temp_directory_path() / ("weft-run-" + std::to_string(::getpid()));
  Training run;
  data::DataLoader loader(data::TensorDataset(run.images, run.labels), {.batch_size = 4, .shuffle = true});
  auto step = compile([&](Tensor images, Tensor labels) { return run.step(run.loss_of(images, labels)); });
  std::vector<CheckpointItem> items{
      {"model", run.model}, {"adam", run.adam}, {"rng", default_generator()}, {"loader", loader}};
  auto epoch = [&] {
    std::vector<float> losses;
    for (auto &[images, labels] : loader)
      losses.push_back(step(images, labels).item<float>());
    return losses;
  };
  epoch();
  save_checkpoint(path, items);
  std::vector<float> expected = epoch();
  uint64_t before = compile_count();
  load_checkpoint(path, items);
  EXPECT_EQ(epoch(), expected);
  EXPECT_EQ(compile_count(), before);
  std::filesystem::remove(path);
}

// A missing device is an error that names the line of the call.
TEST(UserPrograms, AnotherDevice) {
  Training run;
  run.model.to("cpu");
  run.model.to("cuda:97");
  std::string line = std::to_string(__LINE__ - 1);
  std::string message = errorOf([&] { run.loss_of(run.images, run.labels).item<float>(); });
  EXPECT_NE(message.find("Expected all tensors to be on the same device"), std::string::npos) << message;
  message = errorOf([&] { run.model.fc1.weight.to_vector<float>(); });
  EXPECT_NE(message.find("WEFT-E001"), std::string::npos) << message;
  EXPECT_NE(message.find("UserProgramsTest.cpp:" + line), std::string::npos) << message;
}

// A move to a missing device can be undone, with gradients and the optimiser's state, and training continues.
TEST(UserPrograms, BackFromADeviceThatIsNotThere) {
  Training run;
  auto step = compile([&](Tensor images, Tensor labels) { return run.step(run.loss_of(images, labels)); });
  step(run.images, run.labels);
  run.loss_of(run.images, run.labels).backward();
  const auto weights = bitsOf(run.model.parameters());
  const auto gradient = run.model.fc1.bias.grad().to_vector<float>();
  run.model.cuda(97);
  EXPECT_ERROR(step(run.images.to("cuda:97"), run.labels.to("cuda:97")), "optimizer.to(\"cuda:97\")");
  run.adam.to("cuda:97");
  EXPECT_ERROR(step(run.images.to("cuda:97"), run.labels.to("cuda:97")), "WEFT-E001");
  run.model.to("cuda:98");
  run.model.cpu();
  run.adam.to("cpu");
  EXPECT_EQ(bitsOf(run.model.parameters()), weights);
  EXPECT_EQ(run.model.fc1.bias.grad().to_vector<float>(), gradient);
  run.adam.zero_grad();
  const float before = step(run.images, run.labels).item<float>();
  EXPECT_LT(step(run.images, run.labels).item<float>(), before);
  EXPECT_TRUE(run.model.fc1.weight.requires_grad());

  // With another dtype too, whatever the order in which both come.
  const auto trained = bitsOf(run.model.parameters());
  run.model.cuda(97);
  run.model.to("cpu", f64);
  run.model.to("cuda", f32);
  run.model.cpu();
  EXPECT_EQ(bitsOf(run.model.parameters()), trained);
}

// Another batch size: a variant each, and after the third the advice to take a Dim, which is one for all.
TEST(UserPrograms, AnotherBatchSize) {
  auto square = [](Tensor x) { return (x * x).sum(1); };
  auto f = compile(square);
  for (int64_t rows : {1, 2, 3, 4})
    f(ones({rows, 4}));
  EXPECT_EQ(f.variants().size(), 4u);
  bool proposed = false;
  for (const VariantInfo &variant : f.variants())
    proposed |= variant.reason.find("Dim") != std::string::npos;
  EXPECT_TRUE(proposed);
  Dim batch("batch", 1, 4096);
  auto g = compile(square, {spec({batch, 4})});
  for (int64_t rows : {1, 2, 3, 4})
    EXPECT_EQ(g(ones({rows, 4})).sum().item<float>(), 4.0f * static_cast<float>(rows));
  EXPECT_EQ(g.variants().size(), 1u);
}

// Why did it recompile?
TEST(UserPrograms, WhyItCompiledAgain) {
  auto f = compile([](Tensor x, bool twice) { return twice ? x * 2 : x; });
  f(ones(2), true);
  f(ones(2), false);
  std::string line = std::to_string(__LINE__ - 1);
  VariantInfo last = f.variants()[0];
  EXPECT_EQ(last.code, "WEFT-R002");
  EXPECT_NE(last.reason.find("true"), std::string::npos) << last.reason;
  EXPECT_NE(last.reason.find("false"), std::string::npos) << last.reason;
  EXPECT_EQ(std::to_string(last.loc.line()), line);
}

TEST(UserPrograms, AWrongWishForExplanationsIsToldOnce) {
  ::setenv("WEFT_EXPLAIN", "zzz", 1);
  ::testing::internal::CaptureStderr();
  auto f = compile([](Tensor x) { return x + 3; });
  f(ones(2));
  auto g = compile([](Tensor x) { return x + 4; });
  g(ones(2));
  std::string text = ::testing::internal::GetCapturedStderr();
  ::unsetenv("WEFT_EXPLAIN");
  EXPECT_EQ(text, "weft: WEFT_EXPLAIN is 'zzz', expected 1, full, recompile or 0; nothing is explained\n");
}

// Just computing, without any function.
TEST(UserPrograms, JustComputing) {
  std::vector<float> host_data(64 * 16, 0.5f);
  Tensor x = Tensor::from(host_data, {64, 16}).to("cpu");
  Tensor y = softmax(x * 2.0f + 1.0f, -1);
  std::vector<float> out = y.to_vector<float>();
  EXPECT_EQ(out.size(), 64u * 16);
  EXPECT_EQ(out[0], 0.0625f);
}

//===----------------------------------------------------------------------===//
// Messages name the user's line
//===----------------------------------------------------------------------===//

/// The message of what `expression` throws begins with `text` and names this line.
#define EXPECT_HERE(expression, text)                                                                        \
  do {                                                                                                       \
    std::string message = errorOf([&] { (void)(expression); });                                              \
    EXPECT_NE(message.find(text), std::string::npos) << message;                                             \
    EXPECT_NE(message.find("UserProgramsTest.cpp:" + std::to_string(__LINE__) + ":"), std::string::npos)     \
        << message;                                                                                          \
  } while (false)

TEST(Messages, NameTheLineOfTheUser) {
  Tensor a = arange(5), nothing;
  EXPECT_HERE(a[5], "index 5 out of range for tensor of size [5]");
  EXPECT_HERE(a[-6], "index -6 out of range");
  EXPECT_HERE(a.size(1), "Dimension out of range");
  EXPECT_HERE(scalar(1).size(0), "Dimension specified as 0 but tensor has no dimensions");
  EXPECT_HERE(a.item<float>(), "5 elements cannot be converted to Scalar");
  EXPECT_HERE(nothing.sizes(), "this tensor is undefined");
  EXPECT_HERE(nothing.size(0), "this tensor is undefined");
  EXPECT_HERE(nothing.dim(), "this tensor is undefined");
  EXPECT_HERE(nothing.numel(), "this tensor is undefined");
  EXPECT_HERE(nothing.dtype(), "this tensor is undefined");
  EXPECT_HERE(nothing.device(), "this tensor is undefined");
  EXPECT_HERE(nothing.requires_grad(), "this tensor is undefined");
  EXPECT_HERE(nothing.grad(), "this tensor is undefined");
  EXPECT_HERE(nothing.item<float>(), "this tensor is undefined");
  EXPECT_HERE(nothing.to_vector<float>(), "this tensor is undefined");
  EXPECT_HERE(nothing.backward(), "this tensor is undefined");
  EXPECT_HERE(nothing.detach(), "this tensor is undefined");
  EXPECT_HERE(nothing.sum(), "this tensor is undefined");
  EXPECT_HERE(nothing.mean(0), "this tensor is undefined");
  EXPECT_HERE(nothing.std(), "this tensor is undefined");
  EXPECT_HERE(nothing.reshape({2}), "this tensor is undefined");
  EXPECT_HERE(nothing.transpose(0, 1), "this tensor is undefined");
  EXPECT_HERE(nothing.flatten(), "this tensor is undefined");
  EXPECT_HERE(nothing[0], "this tensor is undefined");
  EXPECT_HERE(nothing + 1, "this tensor is undefined");
  EXPECT_HERE(relu(nothing), "this tensor is undefined");
  EXPECT_HERE(softmax(nothing, 0), "this tensor is undefined");
  EXPECT_HERE(matmul(nothing, a), "this tensor is undefined");
  EXPECT_HERE(bmm(nothing, a), "this tensor is undefined");
  EXPECT_HERE(einsum("i->", {nothing}), "this tensor is undefined");
  EXPECT_HERE(cat({a, nothing}), "this tensor is undefined");
  EXPECT_HERE(stack({nothing, a}), "this tensor is undefined");
  EXPECT_HERE(gather(nothing, 0, a), "this tensor is undefined");
  EXPECT_HERE(masked_fill(nothing, a > 0, 1), "this tensor is undefined");
  EXPECT_HERE(nn::mse_loss(nothing, a), "this tensor is undefined");
  EXPECT_HERE(nn::cross_entropy(nothing, a), "this tensor is undefined");
  EXPECT_HERE(zeros_like(nothing), "this tensor is undefined");
  EXPECT_HERE(print(nothing), "this tensor is undefined");
  EXPECT_HERE(a.requires_grad_(), "only Tensors of floating point dtype can require gradients, found i64");
  Tensor x = ones(2).requires_grad_(), y = x * 2;
  EXPECT_HERE(y.requires_grad_(false), "you can only change requires_grad flags of leaf variables");
  EXPECT_HERE(x.set_grad(ones(3)), "a gradient has the shape of its tensor: expected [2], found [3]");
  EXPECT_HERE(x.set_grad(ones(2, {.dtype = f64})), "assigned grad has data of a different type");
  EXPECT_HERE(x.set_grad(ones(2, {.device = "cuda:0"})),
              "assigned grad has data located on a different device: expected cpu, found cuda:0");
}

TEST(Messages, OfFilesAndModulesNameTheLineToo) {
  Tensor nothing;
  EXPECT_HERE(save_safetensors("never.safetensors", {{"w", ones(2)}, {"b", nothing}}), "the tensor 'b'");
  EXPECT_HERE(save_npz("never.npz", {{"b", nothing}}), "the tensor 'b'");
  EXPECT_HERE(save_npy("never.npy", nothing), "undefined");
  EXPECT_HERE(load_safetensors("nowhere.safetensors"), "nowhere.safetensors");
  EXPECT_HERE(load_npy("nowhere.npy"), "nowhere.npy");
  EXPECT_HERE(data::Mnist("nowhere"), "nowhere");
  EXPECT_HERE(nn::Linear(2, 2).to(i64), "only accepts floating point dtypes");
  auto f = compile([](Tensor x) { return x * 2; });
  f(ones(2));
  EXPECT_HERE(f.mlir("foo"), "unknown stage 'foo'");
  EXPECT_FALSE(std::filesystem::exists("never.safetensors"));
}

TEST(Messages, OfReductionsOverNothingAndOfWhatIsTooLarge) {
  EXPECT_HERE(zeros({0}).amax(), "amax(): Expected reduction dim to be specified for input.numel() == 0");
  EXPECT_HERE(zeros({2, 0}).amin(1), "amin(): Expected reduction dim 1 to have non-zero size");
  EXPECT_HERE(arange(0, 1e18).sum().item<float>(), "WEFT-M001");
}
