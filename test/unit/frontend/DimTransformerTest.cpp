//===- DimTransformerTest.cpp - A block of any batch and length -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step with a dynamic batch and a dynamic sequence: embeddings, normalisation, attention, dropout,
// a loss, its gradient and Adam. Compiled once, it follows its static variants, and a program without a
// compiler runs what it saved.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include "weft/weft.h"

#include <array>
#include <cstring>

using namespace weft;

namespace {

constexpr int64_t words = 23, width = 16, heads = 4;

struct Transformer : nn::Module {
  nn::Embedding word = register_module("word", nn::Embedding(words, width));
  nn::Embedding place = register_module("place", nn::Embedding(40, width));
  nn::LayerNorm before = register_module("before", nn::LayerNorm(width));
  nn::Linear query = register_module("query", nn::Linear(width, width));
  nn::Linear key = register_module("key", nn::Linear(width, width));
  nn::Linear value = register_module("value", nn::Linear(width, width));
  nn::Linear out = register_module("out", nn::Linear(width, width));
  nn::LayerNorm after = register_module("after", nn::LayerNorm(width));
  nn::Linear up = register_module("up", nn::Linear(width, 2 * width));
  nn::Linear down = register_module("down", nn::Linear(2 * width, width));
  nn::Linear head = register_module("head", nn::Linear(width, words));
  nn::Dropout drop = register_module("drop", nn::Dropout(0.1));

  Tensor attend(Tensor x) {
    Size batch = x.sym_size(0), length = x.sym_size(1);
    auto split = [&](Tensor t) {
      return t.reshape(shape({batch, length, heads, width / heads})).transpose(1, 2);
    };
    Tensor q = split(query(x)), k = split(key(x)), v = split(value(x));
    Tensor scores = matmul(q, k.transpose(-2, -1)) / 2.0;
    scores = where(tril(ones_like(scores)) > 0, scores, -1e9);
    return out(matmul(drop(scores.softmax(-1)), v).transpose(1, 2).reshape(shape({batch, length, width})));
  }
  Tensor operator()(Tensor ids) {
    Tensor x = word(ids) + place(ones_like(ids).cumsum(1) - 1);
    x = x + drop(attend(before(x)));
    x = x + drop(down(gelu(up(after(x)))));
    return head(x);
  }
};

struct Training {
  Transformer model;
  optim::Adam adam{model.parameters(), {.lr = 0.01}};
  std::pair<Tensor, Tensor> operator()(Tensor ids, Tensor targets) {
    Tensor logits = model(ids);
    Tensor loss = nn::cross_entropy(logits.reshape({-1, words}), targets.reshape({-1}));
    loss.backward();
    adam.step();
    adam.zero_grad();
    return {loss, logits.detach()};
  }
};

std::vector<int64_t> text(int64_t count, int64_t first) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = (static_cast<int64_t>(i) * 5 + static_cast<int64_t>(i) / 7 + first) % words;
  return ids;
}

Tensor ids(int64_t batch, int64_t length, int64_t first) {
  return Tensor::from(text(batch * length, first), {batch, length});
}

const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 1}, {2, 3}, {3, 17}, {8, 8}, {1, 40}, {2, 3}};

} // namespace

TEST(DimTransformer, FollowsItsStaticVariants) {
  std::vector<std::vector<std::vector<std::byte>>> seen[2];
  for (bool isDynamic : {false, true}) {
    manual_seed(5);
    Training training;
    auto step = [&](Tensor x, Tensor y) { return training(x, y); };
    Dim batch("batch", 1, 64), length("length", 1, 40);
    auto compiled =
        isDynamic ? compile(step, {spec({batch, length}, DType::i64), spec({batch, length}, DType::i64)})
                  : compile(step);
    for (auto [rows, columns] : sizes) {
      auto [loss, logits] = compiled(ids(rows, columns, 1), ids(rows, columns, 2));
      EXPECT_EQ(logits.sizes(), (Shape{rows, columns, words}));
      seen[isDynamic].push_back(bitsOf({loss, logits}));
    }
    seen[isDynamic].push_back(bitsOf(training.model.parameters()));
    EXPECT_EQ(compiled.variants().size(), isDynamic ? 1u : 5u);
  }
  for (size_t i = 0; i < seen[0].size(); ++i)
    EXPECT_EQ(seen[0][i], seen[1][i]) << (i < sizes.size() ? "step " : "the parameters after step ") << i;
}

// The package that the step saves goes on where the program was, at any size, by the C interface alone.
TEST(DimTransformer, ASavedStepRunsAtAnySize) {
  manual_seed(6);
  Training training;
  Dim batch("batch", 1, 64), length("length", 1, 40);
  auto step =
      compile([&](Tensor x, Tensor y) { return training(x, y); },
              {spec({batch, length}, DType::i64), spec({batch, length}, DType::i64)}, {.name = "step"});
  step(ids(2, 5, 1), ids(2, 5, 2));
  const std::string path = testing::TempDir() + "/transformer-" + std::to_string(getpid()) + ".weft";
  step.save(path);
  weft_package *package = nullptr;
  weft_executable *loaded = nullptr;
  ASSERT_EQ(weft_package_open(path.c_str(), nullptr, &package), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_executable_load(package, "step", "cpu", &loaded), WEFT_OK) << weft_last_error();
  weft_tensor_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(weft_executable_output(loaded, 1, &info), WEFT_OK);
  EXPECT_EQ(std::vector<int64_t>(info.shape, info.shape + info.rank), (std::vector<int64_t>{-1, -1, words}));

  auto run = [&](std::array<int64_t, 2> x, std::array<int64_t, 2> y, weft_buffer *out) {
    std::vector<int64_t> from = text(x[0] * x[1], 1), to = text(y[0] * y[1], 2);
    weft_buffer in[2] = {};
    in[0] = {sizeof(weft_buffer), from.data(), "cpu", WEFT_I64, 2, x.data(), nullptr, nullptr};
    in[1] = {sizeof(weft_buffer), to.data(), "cpu", WEFT_I64, 2, y.data(), nullptr, nullptr};
    weft_status status = weft_executable_run(loaded, nullptr, in, 2, out, 2);
    if (status == WEFT_OK)
      status = weft_stream_synchronize(nullptr);
    return status;
  };
  auto outputs = [] {
    std::array<weft_buffer, 2> out = {};
    out[0].struct_size = out[1].struct_size = sizeof(weft_buffer);
    return out;
  };
  for (auto [rows, columns] : sizes) {
    auto [loss, logits] = step(ids(rows, columns, 1), ids(rows, columns, 2));
    auto out = outputs();
    ASSERT_EQ(run({rows, columns}, {rows, columns}, out.data()), WEFT_OK) << weft_last_error();
    ASSERT_EQ(out[1].rank, 3);
    EXPECT_EQ(std::vector<int64_t>(out[1].shape, out[1].shape + 3),
              (std::vector<int64_t>{rows, columns, words}));
    const std::vector<float> values = logits.to_vector<float>();
    EXPECT_EQ(std::memcmp(out[1].data, values.data(), values.size() * 4), 0) << rows << " x " << columns;
    EXPECT_EQ(*static_cast<float *>(out[0].data), loss.item<float>());
    for (weft_buffer &buffer : out)
      weft_buffer_release(&buffer);
  }

  // Sizes that do not fit are errors with a code, or with both sizes, and change nothing.
  auto out = outputs();
  EXPECT_EQ(run({65, 2}, {65, 2}, out.data()), WEFT_ERROR_ARGUMENT);
  EXPECT_STREQ(weft_last_error_code(), "WEFT-S001");
  EXPECT_NE(
      std::string(weft_last_error()).find("has size 65 in dimension 0, where 'batch' goes from 1 to 64"),
      std::string::npos)
      << weft_last_error();
  EXPECT_EQ(run({2, 3}, {2, 4}, out.data()), WEFT_ERROR_ARGUMENT);
  EXPECT_NE(std::string(weft_last_error()).find("has size 4 in dimension 1, where 'length' is 3"),
            std::string::npos)
      << weft_last_error();
  std::vector<float> weight(words * width);
  ASSERT_EQ(weft_executable_state_get(loaded, "word.weight", weight.data(), weight.size() * 4), WEFT_OK)
      << weft_last_error();
  EXPECT_EQ(weight, training.model.word.state_dict()[0].second.to_vector<float>());
  weft_executable_destroy(loaded);
  weft_package_close(package);
  std::remove(path.c_str());
}
