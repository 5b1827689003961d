//===- Cifar10.cpp - Reading CIFAR-10 ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Cifar10.h"

#include "frontend/io/ByteSource.h"
#include "frontend/io/Message.h"

#include <cstring>
#include <filesystem>

namespace weft::io {

namespace {

constexpr uint64_t pixels = 3 * 32 * 32, recordBytes = 1 + pixels; // a label, then the image
constexpr uint8_t classes = 10;

std::string folderOf(const std::string &dir, const char *file) {
  const auto inside = std::filesystem::path(dir) / "cifar-10-batches-bin";
  std::error_code error;
  return std::filesystem::is_regular_file(inside / file, error) ? inside.string() : dir;
}

std::vector<std::string> filesOf(const std::string &dir, Split split) {
  const bool isTrain = split == Split::train;
  const std::filesystem::path folder = folderOf(dir, isTrain ? "data_batch_1.bin" : "test_batch.bin");
  if (!isTrain)
    return {(folder / "test_batch.bin").string()};
  std::vector<std::string> files;
  std::error_code error;
  for (int number = 1; number == 1 || std::filesystem::is_regular_file(files.back(), error); ++number)
    files.push_back((folder / cat("data_batch_", number, ".bin")).string());
  if (files.size() > 1) // the first that is not there
    files.pop_back();
  return files;
}

/// Appends the records of a file.
Status append(const std::string &path, std::vector<std::byte> &images, std::vector<int64_t> &labels) {
  Expected<std::unique_ptr<FileSource>> file = FileSource::open(path);
  if (!file)
    return file.status();
  const uint64_t size = (*file)->size();
  if (size == 0 || size % recordBytes != 0)
    return failure(path, ": expected records of ", recordBytes, " bytes, found ", size,
                   " bytes; this is no file of CIFAR-10's binary version");
  std::vector<std::byte> bytes(size);
  if (Status status = (*file)->read(0, bytes); !status)
    return status;
  const uint64_t count = size / recordBytes, first = labels.size();
  images.resize((first + count) * pixels);
  for (uint64_t i = 0; i < count; ++i) {
    const auto label = std::to_integer<uint8_t>(bytes[i * recordBytes]);
    if (label >= classes)
      return failure(path, ": label ", i, ": expected 0 to 9, found ", unsigned{label},
                     "; the file is damaged, so fetch it again");
    labels.push_back(label);
    std::memcpy(images.data() + (first + i) * pixels, bytes.data() + i * recordBytes + 1, pixels);
  }
  return {};
}

} // namespace

Expected<LabelledImages> read_cifar10(const std::string &dir, Split split) {
  std::vector<std::byte> images;
  std::vector<int64_t> labels;
  for (const std::string &path : filesOf(dir, split))
    if (Status status = append(path, images, labels); !status)
      return status;
  const auto count = static_cast<int64_t>(labels.size());
  Expected<HostArray> pixels_of_all = HostArray::allocate(DType::ui8, {count, 3, 32, 32}),
                      classes_of_all = HostArray::allocate(DType::i64, {count});
  if (!pixels_of_all || !classes_of_all)
    return pixels_of_all ? classes_of_all.status() : pixels_of_all.status();
  std::memcpy(pixels_of_all->bytes.data(), images.data(), images.size());
  std::memcpy(classes_of_all->bytes.data(), labels.data(), labels.size() * sizeof(int64_t));
  return LabelledImages{std::move(*pixels_of_all), std::move(*classes_of_all), {}};
}

} // namespace weft::io
