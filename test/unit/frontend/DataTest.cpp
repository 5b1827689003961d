//===- DataTest.cpp - Data sets, loaders, files -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"
#include "test/unit/TemporaryFolder.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace weft;

using weft::test::TemporaryFolder;

TEST(Data, LoaderCoversEverySampleOnceAndShufflesByEpoch) {
  data::Dataset set(arange(10).to(f32).reshape({10, 1}), arange(10));
  data::DataLoader loader(set, {.batch_size = 4, .shuffle = true});
  std::vector<std::vector<int64_t>> epochs;
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<int64_t> seen;
    for (auto &[images, labels] : loader) {
      EXPECT_EQ(images.flatten().to_vector<int64_t>(), labels.to_vector<int64_t>());
      for (int64_t label : labels.to_vector<int64_t>())
        seen.push_back(label);
    }
    epochs.push_back(seen);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, arange(10).to_vector<int64_t>());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_EQ(loader.size(), 3);
  EXPECT_EQ(data::DataLoader(set, {.batch_size = 4, .drop_last = true}).size(), 2);
  EXPECT_ERROR(data::DataLoader(set, {.batch_size = 0}), "batch_size should be a positive integer");
  EXPECT_ERROR(data::Dataset(zeros({3, 1}), zeros({4})), "Size mismatch between tensors");
}

TEST(Data, BatchesStayValidWhenTheLoaderGoesOn) {
  data::Dataset set(arange(4).to(f32).reshape({4, 1}), arange(4));
  std::vector<Tensor> kept;
  for (auto &[images, labels] : data::DataLoader(set, {.batch_size = 1}))
    kept.push_back(labels);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(kept[static_cast<size_t>(i)].item<int64_t>(), i);
}

TEST(Data, MissingAndDamagedMnistIsAnErrorThatNamesTheFile) {
  EXPECT_ERROR(data::Mnist("/nonexistent"), "/nonexistent");
  TemporaryFolder folder;
  std::ofstream(folder / "t10k-images-idx3-ubyte") << "not an IDX file";
  std::ofstream(folder / "t10k-labels-idx1-ubyte") << "nor this";
  EXPECT_ERROR(data::Mnist(folder.path()), "idx3-ubyte");
}

TEST(Io, SafetensorsAndNpyRoundTrip) {
  TemporaryFolder folder;
  StateDict state{
      {"a", tensor({1, 2, 3}, {3})}, {"b", arange(4).reshape({2, 2})}, {"c", zeros({2}, {.dtype = bf16})}};
  save_safetensors(folder / "s.safetensors", state);
  StateDict loaded = load_safetensors(folder / "s.safetensors");
  ASSERT_EQ(loaded.size(), 3u);
  // The file's order is its own: names say what is what.
  for (const auto &[name, value] : state) {
    auto it =
        std::find_if(loaded.begin(), loaded.end(), [&](const auto &entry) { return entry.first == name; });
    ASSERT_NE(it, loaded.end()) << name;
    EXPECT_EQ(it->second.dtype(), value.dtype());
    EXPECT_EQ(it->second.to_bytes(), value.to_bytes());
  }
  save_npy(folder / "a.npy", state[1].second);
  EXPECT_EQ(load_npy(folder / "a.npy").to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_ERROR(load_npy(folder / "missing.npy"), "missing.npy");
}
