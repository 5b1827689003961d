//===- RecordedCase.h - Arguments and results of a program ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file beside a package: the arguments of one call of its only function, and what the results should be. It
// is read by a program that links the runtime alone. Numbers are little-endian, as memory is.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_GPU_RECORDEDCASE_H
#define WEFT_TEST_GPU_RECORDEDCASE_H

#include "weft/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace weft::testing {

struct RecordedCase {
  struct Result {
    DType dtype = DType::f32;
    std::vector<std::byte> bytes; ///< row-major
    std::vector<double> error;    ///< of each element; infinite if its value is not known
    bool varies = false;          ///< it depends on memory that nothing has written
  };
  int64_t key = 0, counter = 0; ///< of the generator, whose state a package has as further arguments
  std::vector<std::vector<std::byte>> arguments; ///< row-major
  std::vector<Result> results;

  bool write(const std::string &path) const {
    std::ofstream file(path, std::ios::binary);
    put(file, magic);
    put(file, key);
    put(file, counter);
    put(file, static_cast<uint64_t>(arguments.size()));
    for (const auto &argument : arguments)
      putAll(file, argument);
    put(file, static_cast<uint64_t>(results.size()));
    for (const Result &result : results) {
      put(file, static_cast<uint8_t>(result.dtype));
      put(file, static_cast<uint8_t>(result.varies));
      putAll(file, result.bytes);
      putAll(file, result.error);
    }
    return file.good();
  }

  /// False if the file is not there, or is none.
  bool read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(file), {});
    at_ = 0;
    uint64_t found = 0, count = 0;
    if (!get(found) || found != magic || !get(key) || !get(counter) || !get(count))
      return false;
    for (; count > 0; --count)
      if (!getAll(arguments.emplace_back()))
        return false;
    if (!get(count))
      return false;
    for (; count > 0; --count) {
      Result &result = results.emplace_back();
      uint8_t dtype = 0, varies = 0;
      if (!get(dtype) || !get(varies) || !getAll(result.bytes) || !getAll(result.error))
        return false;
      result.dtype = static_cast<DType>(dtype);
      result.varies = varies != 0;
    }
    return at_ == text_.size();
  }

private:
  static constexpr uint64_t magic = 0x3145534143544657; // "WFTCASE1"

  template <typename T> static void put(std::ofstream &file, const T &value) {
    file.write(reinterpret_cast<const char *>(&value), sizeof value);
  }
  template <typename T> static void putAll(std::ofstream &file, const std::vector<T> &values) {
    put(file, static_cast<uint64_t>(values.size()));
    file.write(reinterpret_cast<const char *>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
  }
  template <typename T> bool get(T &value) {
    if (text_.size() - at_ < sizeof value)
      return false;
    std::memcpy(&value, text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  template <typename T> bool getAll(std::vector<T> &values) {
    uint64_t count = 0;
    if (!get(count) || (text_.size() - at_) / sizeof(T) < count)
      return false;
    values.resize(count);
    if (count > 0)
      std::memcpy(values.data(), text_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return true;
  }

  std::string text_;
  size_t at_ = 0;
};

} // namespace weft::testing

#endif // WEFT_TEST_GPU_RECORDEDCASE_H
