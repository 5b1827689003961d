//===- Mnist.cpp - Finding and reading MNIST -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Mnist.h"

#include "frontend/io/Idx.h"
#include "frontend/io/Message.h"

#include <algorithm>
#include <filesystem>

namespace weft::io {

namespace {

constexpr int64_t side = 28, classes = 10;
constexpr int64_t fallbackTrain = 8000, fallbackTest = 2000;

struct Paths {
  std::string images, labels; ///< empty if there is no file
};

/// The file of this name in one of the spellings in use: "-idx3" is the original's, ".idx3" that of some
/// unpackers.
std::string find_file(const std::string &dir, const std::string &stem, const std::string &kind) {
  for (const char *separator : {"-", "."})
    for (const char *extension : {"", ".gz"}) {
      std::filesystem::path path = std::filesystem::path(dir) / cat(stem, separator, kind, extension);
      std::error_code error;
      if (std::filesystem::is_regular_file(path, error))
        return path.string();
    }
  return {};
}

Paths find_set(const std::string &dir, const std::string &prefix) {
  return {find_file(dir, cat(prefix, "-images"), "idx3-ubyte"),
          find_file(dir, cat(prefix, "-labels"), "idx1-ubyte")};
}

Status missing(const std::string &dir, const std::string &prefix, const Paths &paths) {
  std::string names;
  if (paths.images.empty())
    names += cat(prefix, "-images-idx3-ubyte");
  if (paths.labels.empty())
    names += cat(names.empty() ? "" : " and ", prefix, "-labels-idx1-ubyte");
  return failure(dir, ": expected ", names,
                 " (plain or with .gz), found none; put the files of MNIST there, or name "
                 "the folder that has them");
}

Expected<LabelledImages> read_set(const Paths &paths) {
  Expected<HostArray> images = read_idx(paths.images);
  if (!images)
    return images.status();
  Expected<HostArray> labels = read_idx(paths.labels);
  if (!labels)
    return labels.status();
  const auto bad_shape = [](const std::string &path, std::string_view expected, const HostArray &array) {
    return failure(path, ": expected ", expected, ", found ", shape_text(array.shape), " of ",
                   name(array.dtype), "; this is not a file of MNIST");
  };
  if (images->dtype != DType::ui8 || images->shape.size() != 3 || images->shape[1] != side ||
      images->shape[2] != side)
    return bad_shape(paths.images, "images of shape [count, 28, 28] of ui8", *images);
  if (labels->dtype != DType::ui8 || labels->shape.size() != 1)
    return bad_shape(paths.labels, "labels of shape [count] of ui8", *labels);
  const int64_t count = images->shape[0];
  if (labels->shape[0] != count)
    return failure(paths.labels, ": expected ", count, " labels, one for each image of ", paths.images,
                   ", found ", labels->shape[0], "; the two files do not belong together");
  Expected<HostArray> wide = HostArray::allocate(DType::i64, {count});
  if (!wide)
    return wide.status();
  const std::span<const uint8_t> from = labels->values<uint8_t>();
  const std::span<int64_t> to = wide->values<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    if (from[i] >= classes)
      return failure(paths.labels, ": label ", i, ": expected 0 to 9, found ", unsigned{from[i]},
                     "; the file is damaged, so fetch it again");
    to[i] = from[i];
  }
  return LabelledImages{std::move(*images), std::move(*wide), {}};
}

/// Keeps the examples [begin, begin + count).
Expected<HostArray> rows(const HostArray &array, int64_t begin, int64_t count) {
  std::vector<int64_t> shape = array.shape;
  const size_t row_bytes = array.bytes.size() / static_cast<size_t>(shape[0]);
  shape[0] = count;
  Expected<HostArray> result = HostArray::allocate(array.dtype, std::move(shape));
  if (result)
    std::copy_n(array.bytes.begin() + begin * row_bytes, count * row_bytes, result->bytes.begin());
  return result;
}

} // namespace

Expected<LabelledImages> read_mnist(const std::string &dir, Split split) {
  const Paths train = find_set(dir, "train"), t10k = find_set(dir, "t10k");
  // One file of a pair is a mistake to report, not a reason to fall back.
  const bool fallback =
      train.images.empty() && train.labels.empty() && !t10k.images.empty() && !t10k.labels.empty();
  const bool from_train = split == Split::train && !fallback;
  const Paths &paths = from_train ? train : t10k;
  if (paths.images.empty() || paths.labels.empty())
    return missing(dir, from_train ? "train" : "t10k", paths);
  Expected<LabelledImages> set = read_set(paths);
  if (!set || !fallback)
    return set;

  const int64_t count = set->images.shape[0];
  if (count != fallbackTrain + fallbackTest)
    return failure(paths.images, ": expected ", fallbackTrain + fallbackTest,
                   " images to split, as there are no train- files, found ", count, "; add the train- files");
  const bool to_train = split == Split::train;
  const int64_t begin = to_train ? 0 : fallbackTrain, kept = to_train ? fallbackTrain : fallbackTest;
  Expected<HostArray> images = rows(set->images, begin, kept), labels = rows(set->labels, begin, kept);
  if (!images || !labels)
    return images ? labels.status() : images.status();
  return LabelledImages{std::move(*images), std::move(*labels),
                        cat(dir, " has the t10k- files of MNIST only: their first ", fallbackTrain,
                            " images are the training set and the last ", fallbackTest, " the test set")};
}

} // namespace weft::io
