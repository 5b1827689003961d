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

/// The message of the Error that `body` throws; a failure if it throws none.
template <typename Body> std::string errorOf(Body body) {
  try {
    body();
  } catch (const weft::Error &error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

#define EXPECT_ERROR(expression, text)                                                                       \
  do {                                                                                                       \
    std::string message = errorOf([&] { (void)(expression); });                                              \
    EXPECT_NE(message.find(text), std::string::npos) << message;                                             \
  } while (false)

inline weft::Tensor tensor(std::vector<float> values, weft::Shape shape) {
  return weft::Tensor::from(values, std::move(shape));
}

/// The bits of every tensor, to compare states.
inline std::vector<std::vector<std::byte>> bitsOf(const std::vector<weft::Tensor> &tensors) {
  std::vector<std::vector<std::byte>> bits;
  for (const weft::Tensor &t : tensors)
    bits.push_back(t.to_bytes());
  return bits;
}

#endif // WEFT_TEST_FRONTEND_HELPERS_H
