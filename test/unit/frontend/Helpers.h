//===- Helpers.h - Shared by the tests of the C++ interface -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_FRONTEND_HELPERS_H
#define WEFT_TEST_FRONTEND_HELPERS_H

#include "weft/weft.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

/// The message of the Error that `body` throws. If it throws none, the test fails.
template <typename Body> std::string errorOf(Body body) {
  try {
    body();
  } catch (const weft::Error &error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

/// The text that `body` writes to standard error.
template <typename Body> std::string stderrOf(Body body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

inline bool mentions(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

#define EXPECT_ERROR(expression, text)                                                                       \
  do {                                                                                                       \
    std::string message = errorOf([&] { (void)(expression); });                                              \
    EXPECT_NE(message.find(text), std::string::npos) << message;                                             \
  } while (false)

inline weft::Tensor tensor(std::vector<float> values, weft::Shape shape) {
  return weft::Tensor::from(values, std::move(shape));
}

/// A tensor from memory of the host, which nothing has to compute: element i is `element(i)`.
template <typename Element> weft::Tensor generated(weft::Shape shape, Element element) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(element(i));
  return weft::Tensor::from(values, std::move(shape));
}

/// 0, 1, .. n-1 as f32, pending.
inline weft::Tensor countTo(int64_t n) { return weft::arange(n, {.dtype = weft::f32}); }

/// Two layers; derive from it, so that each test names its sizes once.
struct TwoLayers : weft::nn::Module {
  TwoLayers(int64_t in, int64_t hidden, int64_t out)
      : fc1(register_module("fc1", weft::nn::Linear(in, hidden))),
        fc2(register_module("fc2", weft::nn::Linear(hidden, out))) {}
  weft::nn::Linear fc1, fc2;
  weft::Tensor operator()(weft::Tensor x) { return fc2(relu(fc1(x))); }
};

/// The bytes of this process that are in memory.
inline int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

using Floats = std::vector<float>;
inline Floats floats(const weft::Tensor &t) { return t.to_vector<float>(); }

using Names = std::vector<std::string>;
inline Names namesOf(const weft::StateDict &state) {
  Names names;
  for (const auto &[name, tensor] : state)
    names.push_back(name);
  return names;
}

/// The bytes of every tensor, for comparisons of states.
inline std::vector<std::vector<std::byte>> bitsOf(const std::vector<weft::Tensor> &tensors) {
  std::vector<std::vector<std::byte>> bits;
  for (const weft::Tensor &t : tensors)
    bits.push_back(t.to_bytes());
  return bits;
}

#endif // WEFT_TEST_FRONTEND_HELPERS_H
