//===- Helpers.h - Shared by the tests of the C++ interface -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_FRONTEND_HELPERS_H
#define WEFT_TEST_FRONTEND_HELPERS_H

#include "weft/weft.hpp"

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
