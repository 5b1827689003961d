//===- IdxTest.cpp - IDX files, MNIST folders ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Idx.h"
#include "Testing.h"
#include "frontend/io/Cifar10.h"
#include "frontend/io/Inflate.h"
#include "frontend/io/Mnist.h"
#include "test/unit/Deflate.h"

#include <cstdlib>

using namespace weft;
using namespace weft::io;
using namespace weft::io::testing;

namespace {

const auto read = [](const ByteSource &source) { return read_idx(source); };

std::string be32(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift);
  return out;
}

std::string idx(char type, std::vector<uint32_t> shape, const std::string &data) {
  std::string out{'\0', '\0', type, static_cast<char>(shape.size())};
  for (uint32_t size : shape)
    out += be32(size);
  return out + data;
}

std::string gzipped(const std::string &text) { return deflated(text, 15 + 16); }

TEST(Idx, ReadsEveryElementType) {
  const auto parse = [](const std::string &text) {
    return *read_idx(MemorySource("the.file", bytes_of(text)));
  };
  expect_equal(parse(idx(8, {2, 2}, "\x01\x02\x03\xff")),
               array_of<uint8_t>(DType::ui8, {2, 2}, {1, 2, 3, 255}));
  expect_equal(parse(idx(9, {2}, "\x01\xff")), array_of<int8_t>(DType::i8, {2}, {1, -1}));
  expect_equal(parse(idx(11, {2}, "\x01\x02\xff\xfe")), array_of<int16_t>(DType::i16, {2}, {258, -2}));
  expect_equal(parse(idx(12, {1}, be32(0x01020304))), array_of<int32_t>(DType::i32, {1}, {0x01020304}));
  expect_equal(parse(idx(13, {1}, be32(0x3fc00000))), array_of<float>(DType::f32, {1}, {1.5f}));
  expect_equal(parse(idx(14, {1}, be32(0x3ff80000) + be32(0))), array_of<double>(DType::f64, {1}, {1.5}));
  EXPECT_EQ(parse(idx(8, {0, 4000000000u}, "")).elements(), 0);
}

TEST(Idx, SurvivesDamage) {
  const std::string good = idx(12, {2, 3}, std::string(24, 'x'));
  expect_robust(read, good);
  expect_robust(read, gzipped(good));
}

TEST(Idx, ReadsJoinedGzipMembers) {
  const std::string good = idx(8, {4}, "abcd");
  const std::string joined = gzipped(good.substr(0, 5)) + gzipped(good.substr(5));
  const auto array = read_idx(MemorySource("the.file", bytes_of(joined)));
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->elements(), 4);
}

TEST(Idx, RefusesByName) {
  expect_refused(read, idx(8, {3}, "ab"),
                 {"elements (shape [3] of ui8) at byte 8", "expected 3 bytes", "found at most 2"});
  expect_refused(read, gzipped(idx(8, {3}, "ab")), {"expected 3 bytes, found 2", "truncated"});
  expect_refused(read, idx(8, {2}, "abcde"), {"after the elements at byte 10", "found 3 bytes more"});
  expect_refused(read, gzipped(idx(8, {2}, "abcde")), {"found 3 bytes more"});
  expect_refused(read, idx(10, {2}, "ab"), {"element type at byte 2", "found 10"});
  expect_refused(read, "\x89PNG", {"magic number at byte 0", "found 137 and 80"});
  expect_refused(read, idx(14, std::vector<uint32_t>(3, 0xffffffff), ""), {"overflows"});
  // 2^31 elements are possible but not in these few bytes: nothing may be allocated for them.
  expect_refused(read, idx(8, {0x80000000u}, "ab"), {"expected 2147483648 bytes"});
  expect_refused(read, gzipped(idx(8, {0x80000000u}, "ab")), {"expected 2147483648 bytes", "found at most"});
  expect_refused(read, gzipped(idx(8, {1}, "a" + std::string(40u << 20, 'b'))),
                 {"at least 16777216 bytes more"});
  std::string wrong_sum = gzipped(idx(8, {4}, "abcd"));
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  expect_refused(read, wrong_sum, {"damaged", "incorrect data check"});
}

TEST(Idx, FilesThatAreNone) {
  EXPECT_NE(read_idx("/nonexistent/x.idx").status().message().find("No such file"), std::string::npos);
  EXPECT_NE(read_idx("/").status().message().find("is a directory"), std::string::npos);
  EXPECT_NE(read_idx("/dev/zero").status().message().find("not a regular file"), std::string::npos);
}

/// A set of `count` images whose first pixel and label tell which they are.
void write_set(const TemporaryFolder &dir, const std::string &prefix, uint32_t count, bool packed) {
  std::string images, labels;
  for (uint32_t i = 0; i < count; ++i) {
    images += static_cast<char>(i % 251) + std::string(783, '\0');
    labels += static_cast<char>(i % 10);
  }
  images = idx(8, {count, 28, 28}, images);
  labels = idx(8, {count}, labels);
  spill(dir / (prefix + "-images-idx3-ubyte" + (packed ? ".gz" : "")), packed ? gzipped(images) : images);
  spill(dir / (prefix + "-labels-idx1-ubyte" + (packed ? ".gz" : "")), packed ? gzipped(labels) : labels);
}

TEST(Mnist, ReadsBothSets) {
  TemporaryFolder dir;
  write_set(dir, "train", 30, true);
  write_set(dir, "t10k", 20, false);
  const auto train = read_mnist(dir.path(), Split::train), test = read_mnist(dir.path(), Split::test);
  ASSERT_TRUE(train.ok()) << train.status().message();
  ASSERT_TRUE(test.ok()) << test.status().message();
  EXPECT_EQ(train->images.shape, (std::vector<int64_t>{30, 28, 28}));
  EXPECT_EQ(test->labels.shape, (std::vector<int64_t>{20}));
  EXPECT_EQ(train->labels.dtype, DType::i64);
  EXPECT_EQ(train->labels.values<int64_t>()[17], 7);
  EXPECT_EQ(train->note + test->note, "");
}

TEST(Mnist, SplitsTheTestSetWhereItIsAlone) {
  TemporaryFolder dir;
  write_set(dir, "t10k", 10000, true);
  const auto train = read_mnist(dir.path(), Split::train), test = read_mnist(dir.path(), Split::test);
  ASSERT_TRUE(train.ok()) << train.status().message();
  ASSERT_TRUE(test.ok()) << test.status().message();
  EXPECT_EQ(train->images.shape[0], 8000);
  EXPECT_EQ(test->images.shape[0], 2000);
  EXPECT_EQ(train->images.values<uint8_t>()[7999 * 784], 7999 % 251);
  EXPECT_EQ(test->images.values<uint8_t>()[0], 8000 % 251);
  EXPECT_EQ(test->images.values<uint8_t>()[1999 * 784], 9999 % 251);
  EXPECT_NE(train->note.find("first 8000 images"), std::string::npos) << train->note;
  EXPECT_EQ(train->note, test->note);
}

TEST(Mnist, RefusesWhatDoesNotFit) {
  TemporaryFolder dir;
  const auto message = [&](Split split) { return read_mnist(dir.path(), split).status().message(); };
  const auto expect = [&](Split split, const char *words) {
    EXPECT_NE(message(split).find(words), std::string::npos) << message(split);
  };
  expect(Split::train, "expected train-images-idx3-ubyte and train-labels-idx1-ubyte");
  write_set(dir, "t10k", 20, false);
  expect(Split::train, "expected 10000 images to split");
  write_set(dir, "train", 5, false);
  spill(dir / "train-labels-idx1-ubyte", idx(8, {4}, "\x01\x02\x03\x04"));
  expect(Split::train, "expected 5 labels");
  spill(dir / "train-labels-idx1-ubyte", idx(8, {5}, "\x01\x02\x03\x04\x0a"));
  expect(Split::train, "label 4: expected 0 to 9, found 10");
  spill(dir / "train-images-idx3-ubyte", idx(8, {1, 28, 27}, std::string(756, 'a')));
  expect(Split::train, "found [1, 28, 27] of ui8");
  std::filesystem::remove(dir / "train-labels-idx1-ubyte");
  expect(Split::train, "expected train-labels-idx1-ubyte");
}

/// Records of CIFAR-10: labels from `first` on, and images of their number in the file.
std::string cifarRecords(int first, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<char>((first + i) % 10);
    bytes += std::string(3072, static_cast<char>(first + i));
  }
  return bytes;
}

TEST(Cifar10, ReadsBothSets) {
  TemporaryFolder dir;
  spill(dir / "data_batch_1.bin", cifarRecords(0, 3));
  spill(dir / "data_batch_2.bin", cifarRecords(3, 2));
  spill(dir / "data_batch_4.bin", cifarRecords(0, 1)); // does not follow
  spill(dir / "test_batch.bin", cifarRecords(8, 4));
  const auto train = read_cifar10(dir.path(), Split::train), test = read_cifar10(dir.path(), Split::test);
  ASSERT_TRUE(train.ok()) << train.status().message();
  ASSERT_TRUE(test.ok()) << test.status().message();
  EXPECT_EQ(train->images.shape, (std::vector<int64_t>{5, 3, 32, 32}));
  EXPECT_EQ(train->labels.values<int64_t>()[4], 4);
  EXPECT_EQ(train->images.values<uint8_t>()[4 * 3072 + 3071], 4);
  EXPECT_EQ(test->labels.values<int64_t>()[3], 1);
  TemporaryFolder outer;
  std::filesystem::create_directory(outer / "cifar-10-batches-bin");
  spill(outer / "cifar-10-batches-bin/test_batch.bin", cifarRecords(0, 2));
  EXPECT_EQ(read_cifar10(outer.path(), Split::test)->labels.elements(), 2);
}

TEST(Cifar10, RefusesWhatDoesNotFit) {
  TemporaryFolder dir;
  const auto message = [&](Split split) { return read_cifar10(dir.path(), split).status().message(); };
  EXPECT_NE(message(Split::train).find("data_batch_1.bin: cannot be opened"), std::string::npos);
  spill(dir / "test_batch.bin", cifarRecords(0, 2) + "x");
  EXPECT_NE(message(Split::test).find("expected records of 3073 bytes, found 6147"), std::string::npos);
  spill(dir / "test_batch.bin", "");
  EXPECT_NE(message(Split::test).find("found 0 bytes"), std::string::npos);
  spill(dir / "test_batch.bin", cifarRecords(0, 1) + std::string(3073, '\x0b'));
  EXPECT_NE(message(Split::test).find("label 1: expected 0 to 9, found 11"), std::string::npos);
}

TEST(Mnist, ReadsTheRealFiles) {
  const char *set = std::getenv("WEFT_DATA_DIR");
  const std::string dir = std::string(set ? set : WEFT_DATA_DIR) + "/mnist";
  if (!std::filesystem::is_directory(dir))
    GTEST_SKIP() << "no MNIST in " << dir << "; set WEFT_DATA_DIR to the folder that has mnist/";
  const auto test = read_mnist(dir, Split::test);
  ASSERT_TRUE(test.ok()) << test.status().message();
  EXPECT_EQ(test->images.elements(), test->labels.elements() * 784);
  EXPECT_GE(test->labels.elements(), 2000);
  std::array<int, 10> count{};
  for (int64_t label : test->labels.values<int64_t>())
    ++count[static_cast<size_t>(label)];
  for (int of_class : count)
    EXPECT_GT(of_class, test->labels.elements() / 20);
}

} // namespace
