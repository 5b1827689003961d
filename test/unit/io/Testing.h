//===- Testing.h - What the tests of files share -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_IO_TESTING_H
#define WEFT_TEST_UNIT_IO_TESTING_H

#include "frontend/io/HostArray.h"
#include "test/unit/TemporaryFolder.h"
#include "weft/philox.hpp"

#include "frontend/io/ByteSource.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <stdlib.h>

namespace weft::io::testing {

inline std::span<const std::byte> bytes_of(const std::string &text) { return std::as_bytes(std::span(text)); }

using weft::test::contentOf;
using weft::test::TemporaryFolder;

inline void spill(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

template <typename T> HostArray array_of(DType dtype, std::vector<int64_t> shape, std::vector<T> values) {
  HostArray array = *HostArray::allocate(dtype, std::move(shape));
  EXPECT_EQ(array.bytes.size(), values.size() * sizeof(T));
  std::copy(values.begin(), values.end(), array.values<T>().begin());
  return array;
}

inline void expect_equal(const HostArray &a, const HostArray &b) {
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_TRUE(a.bytes == b.bytes);
}

/// Expects that `text` is refused with a message that has the name of the file and each of `words`.
template <typename Read>
void expect_refused(Read read, const std::string &text, std::initializer_list<const char *> words) {
  const MemorySource source("the.file", bytes_of(text));
  const auto result = read(source);
  ASSERT_FALSE(result.ok());
  const std::string message = result.status().message();
  EXPECT_EQ(message.rfind("the.file", 0), 0u) << message;
  for (const char *word : words)
    EXPECT_NE(message.find(word), std::string::npos) << "no '" << word << "' in: " << message;
}

/// Expects that every proper prefix of a valid file is refused, and that files with damaged bytes are read or
/// refused.
template <typename Read> void expect_robust(Read read, const std::string &good) {
  ASSERT_TRUE(read(MemorySource("the.file", bytes_of(good))).ok())
      << read(MemorySource("the.file", bytes_of(good))).status().message();
  for (size_t length = 0; length < good.size(); ++length) {
    const std::string cut = good.substr(0, length);
    const auto result = read(MemorySource("the.file", bytes_of(cut)));
    ASSERT_FALSE(result.ok()) << "the first " << length << " of " << good.size() << " bytes were accepted";
    EXPECT_EQ(result.status().message().rfind("the.file", 0), 0u) << result.status().message();
  }
  PhiloxSequence random(2024, good.size());
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = good;
    for (uint64_t i = 0, count = 1 + random.below(4); i < count; ++i)
      damaged[random.below(damaged.size())] = static_cast<char>(random.next32());
    const auto result = read(MemorySource("the.file", bytes_of(damaged)));
    if (!result)
      EXPECT_FALSE(result.status().message().empty());
  }
  expect_refused(read, good + std::string(1, '\0'), {});
}

} // namespace weft::io::testing

#endif // WEFT_TEST_UNIT_IO_TESTING_H
