//===- LoaderTest.cpp - Loaders, splits, normalisation, metrics ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include "frontend/data/Prefetcher.h"

#include <algorithm>
#include <cmath>

using namespace weft;

namespace {
/// n samples whose image and label are their number.
data::TensorDataset numbered(int64_t n) {
  return data::TensorDataset(arange(n).to(f32).reshape({n, 1}).expand({n, 3}), arange(n));
}

using Labels = std::vector<std::vector<int64_t>>;
/// The labels of each batch of one pass; images must agree.
Labels passOf(data::DataLoader &loader, size_t most = SIZE_MAX) {
  Labels batches;
  for (auto &[images, labels] : loader) {
    batches.push_back(labels.to_vector<int64_t>());
    std::vector<float> pixels = images.to_vector<float>();
    for (size_t i = 0; i < pixels.size(); ++i)
      EXPECT_EQ(pixels[i], static_cast<float>(batches.back()[i / 3]));
    if (batches.size() == most)
      break;
  }
  return batches;
}
/// What cannot be moved to where results are kept.
struct Immovable {
  Immovable() = default;
  Immovable(Immovable &&) { throw std::bad_alloc(); }
  Immovable &operator=(Immovable &&) { return *this; }
};

// Outside of `make` too, an exception in a thread of a loader reaches who takes.
TEST(Prefetcher, AResultThatCannotBeKeptIsThrown) {
  weft::data::detail::Prefetcher<Immovable> ahead(2, 0, 10, 4, [](int64_t) { return Immovable(); });
  EXPECT_THROW(ahead.take(), std::bad_alloc);
}

} // namespace

// The same batches for 0, 1 and 4 workers.
TEST(Loader, TheOrderDoesNotDependOnTheNumberOfWorkers) {
  std::vector<Labels> found[3];
  int workers[] = {0, 1, 4};
  for (int k = 0; k < 3; ++k) {
    manual_seed(k); // other users of random numbers have no part in it
    data::DataLoader loader(numbered(103),
                            {.batch_size = 8, .shuffle = true, .seed = 5, .num_workers = workers[k]});
    for (int epoch = 0; epoch < 3; ++epoch)
      found[k].push_back(passOf(loader));
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
  EXPECT_NE(found[0][0], found[0][1]);
  EXPECT_EQ(found[0][0].size(), 13u);
  EXPECT_EQ(found[0][0].back().size(), 7u);
}

// test/unit/cuda has the loader of a machine with a device.
TEST(Loader, WithoutAnAcceleratorPinningIsAWarning) {
  if (cuda::is_available())
    GTEST_SKIP() << "there is a CUDA device";
  ::testing::internal::CaptureStderr();
  data::DataLoader loader(numbered(4), {.batch_size = 2, .pin_memory = true});
  EXPECT_EQ(passOf(loader), (Labels{{0, 1}, {2, 3}}));
  EXPECT_EQ(passOf(loader), (Labels{{0, 1}, {2, 3}}));
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "weft: 'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
      "won't be used (WEFT-B003)\n");
  EXPECT_ERROR((void)ones({2}).pin_memory(), "WEFT-E001");
}

TEST(Loader, BatchesThatWereKeptStayValid) {
  data::DataLoader loader(numbered(40), {.batch_size = 4, .num_workers = 2});
  std::vector<data::Batch> kept;
  for (data::Batch &batch : loader)
    kept.push_back(batch);
  ASSERT_EQ(kept.size(), 10u);
  for (size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(kept[i].labels.to_vector<int64_t>()[3], static_cast<int64_t>(4 * i + 3));
}

TEST(Loader, WhatIsWrittenToTheDataDuringAPassDoesNotShow) {
  Tensor images = zeros({6, 3}), labels = zeros({6}, {.dtype = i64});
  data::DataLoader loader(data::TensorDataset(images, labels), {.batch_size = 2, .num_workers = 1});
  int batches = 0;
  for (auto &[x, y] : loader) {
    EXPECT_EQ(x.sum().item<float>(), 0);
    images.copy_(ones({6, 3}));
    synchronize();
    ++batches;
  }
  EXPECT_EQ(batches, 3);
}

TEST(Loader, APassThatIsLeftEarlyIsOver) {
  data::DataLoader loader(numbered(20), {.batch_size = 4, .shuffle = true, .num_workers = 2}),
      other(numbered(20), {.batch_size = 4, .shuffle = true});
  EXPECT_EQ(loader.epoch(), 0);
  Labels start = passOf(loader, 2), first = passOf(other), second = passOf(other);
  EXPECT_EQ(start, Labels(first.begin(), first.begin() + 2));
  EXPECT_EQ(passOf(loader), second);
  EXPECT_EQ(loader.epoch(), 2);
  EXPECT_EQ(data::DataLoader(numbered(3), {.batch_size = 4, .drop_last = true}).size(), 0);
  data::DataLoader none(numbered(3), {.batch_size = 4, .drop_last = true});
  EXPECT_TRUE(passOf(none).empty());
}

TEST(Loader, GoesOnWhereItsStateWasSaved) {
  for (size_t at : {size_t{0}, size_t{3}, size_t{13}, size_t{16}}) { // 13 batches a pass
    data::DataLoader whole(numbered(103), {.batch_size = 8, .shuffle = true});
    Labels all;
    StateDict saved = whole.state_dict();
    for (int epoch = 0; epoch < 3; ++epoch)
      for (auto &[images, labels] : whole) {
        all.push_back(labels.to_vector<int64_t>());
        if (all.size() == at)
          saved = whole.state_dict();
      }
    data::DataLoader resumed(numbered(103), {.batch_size = 8, .shuffle = true, .num_workers = 2});
    resumed.load_state_dict(saved);
    Labels rest;
    for (int64_t epoch = resumed.epoch(); epoch < 3; ++epoch)
      for (auto &[images, labels] : resumed)
        rest.push_back(labels.to_vector<int64_t>());
    EXPECT_EQ(rest, Labels(all.begin() + static_cast<ptrdiff_t>(at), all.end())) << at;
  }
}

TEST(Loader, StatesOfOtherLoadersAreRefused) {
  data::DataLoader loader(numbered(10), {.batch_size = 2}), other(numbered(12), {.batch_size = 3});
  std::string message = errorOf([&] { loader.load_state_dict(other.state_dict()); });
  for (const char *part : {"examples is 10, the state has 12", "batch_size is 2, the state has 3"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_ERROR(loader.load_state_dict({}), "missing: epoch");
  StateDict wrong = loader.state_dict();
  wrong[1].second = full({}, 99, {.dtype = i64});
  EXPECT_ERROR(loader.load_state_dict(wrong), "batch 99 of 5");
  EXPECT_ERROR(data::DataLoader(numbered(1), {.num_workers = -1}),
               "num_workers option should be non-negative");
  EXPECT_ERROR(data::DataLoader(numbered(1), {.prefetch_factor = 0}), "prefetch_factor should be at least 1");
}

TEST(Dataset, SubsetsAndSplits) {
  data::Subset odd(numbered(10), {1, 3, 5, 7, 9}), inner(odd, {4, 0});
  EXPECT_EQ(inner.labels().to_vector<int64_t>(), (std::vector<int64_t>{9, 1}));
  EXPECT_EQ(inner.images().sizes(), (Shape{2, 3}));
  data::DataLoader loader(inner, {.batch_size = 2});
  EXPECT_EQ(passOf(loader), (Labels{{9, 1}}));
  EXPECT_ERROR(data::Subset(odd, {5}), "index 5 is out of range for a data set of 5 samples");

  Generator generator(1);
  auto parts = data::random_split(numbered(10), {7, 3}, generator);
  std::vector<int64_t> a = parts[0].labels().to_vector<int64_t>(), b = parts[1].labels().to_vector<int64_t>();
  EXPECT_EQ(a.size(), 7u);
  a.insert(a.end(), b.begin(), b.end());
  EXPECT_NE(a, arange(10).to_vector<int64_t>());
  generator.manual_seed(1);
  EXPECT_EQ(data::random_split(numbered(10), {7, 3}, generator)[1].labels().to_vector<int64_t>(), b);
  std::sort(a.begin(), a.end());
  EXPECT_EQ(a, arange(10).to_vector<int64_t>());
  auto thirds = data::random_split(numbered(10), {1.0 / 3, 1.0 / 3, 1.0 / 3});
  EXPECT_EQ(thirds[0].size(), 4);
  EXPECT_EQ(thirds[2].size(), 3);
  EXPECT_ERROR(data::random_split(numbered(10), {7, 4}), "Sum of input lengths does not equal");
  EXPECT_ERROR(data::random_split(numbered(10), {7.5, 2.5}), "whole numbers");
  EXPECT_ERROR(data::random_split(numbered(10), {-1, 2}), "not negative");
  EXPECT_ERROR(data::random_split(numbered(10), {1e308, -1e308, 1}), "not negative");
}

TEST(Dataset, NormalisationFollowsTorchvision) {
  Tensor bytes = Tensor::from(std::vector<uint8_t>{0, 255, 51, 102}, {1, 2, 1, 2});
  std::vector<float> one = data::normalize(bytes, {0.5}, {0.5}).to_vector<float>();
  EXPECT_EQ(one[0], -1);
  EXPECT_EQ(one[1], 1);
  EXPECT_NEAR(one[2], -0.6, 1e-6);
  std::vector<float> two = data::normalize(bytes, {0, 0.2}, {1, 0.1}).to_vector<float>();
  EXPECT_EQ(two[1], 1);
  EXPECT_NEAR(two[2], 0, 1e-6);
  EXPECT_NEAR(two[3], 2, 1e-5);
  EXPECT_ERROR(data::normalize(bytes, {0, 0, 0}, {1}), "3 numbers need images of as many channels");
  EXPECT_ERROR(data::normalize(bytes, {0}, {0}), "division by zero");
  // In a compiled function it is part of the first kernel: one launch with what follows.
  auto fused = compile([](Tensor x) { return relu(data::normalize(x, {0.5}, {0.25}) * 2); });
  fused(bytes);
  std::string plan = fused.mlir("plan");
  EXPECT_EQ(plan.find("= weft.fusion"), plan.rfind("= weft.fusion")) << plan;
}

TEST(Metric, IsOneStepLateUntilTheResultIsAskedFor) {
  Metric metric;
  EXPECT_TRUE(std::isnan(metric.value()));
  auto twice = compile([](Tensor x) { return x * 2; });
  metric.update(twice(scalar(1)));
  EXPECT_TRUE(std::isnan(metric.value()));
  metric.update(twice(scalar(2)), 3);
  EXPECT_EQ(metric.value(), 2);
  metric.update(tensor({7}, {1}));
  EXPECT_EQ(metric.value(), 3.5); // (2 + 3 x 4) / 4
  EXPECT_EQ(metric.result(), 4.2);
  EXPECT_EQ(metric.count(), 3);
  Metric same = metric;
  same.reset();
  EXPECT_EQ(metric.count(), 0);
  for (int i = 0; i < 1000; ++i)
    metric.update(arange(1) + i);
  EXPECT_EQ(metric.value(), 499);
  EXPECT_EQ(metric.result(), 499.5);
}

// A metric of a tensor that is state keeps the value of the time of update().
TEST(Metric, KeepsTheValuesThatItTook) {
  Tensor total = zeros({});
  auto step = compile([&] { total += 1; });
  Metric metric;
  for (int i = 0; i < 10; ++i) {
    step();
    metric.update(total);
  }
  EXPECT_EQ(metric.result(), 5.5);
}

TEST(Metric, Errors) {
  Metric metric;
  EXPECT_ERROR(metric.update(zeros({2})), "one element, found shape [2]");
  auto inside = compile([&](Tensor x) {
    metric.update(x);
    return x * 1;
  });
  EXPECT_ERROR(inside(zeros({})), "WEFT-C001");
}
