//===- BadInput.h - The table of bad input ----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row is one kind of bad input: an action, and words of the expected message. After every row, a correct
// program runs in the same process, which shows that the failure has changed no state.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_BAD_INPUT_BADINPUT_H
#define WEFT_TEST_UNIT_BAD_INPUT_BADINPUT_H

#include "test/unit/TemporaryFolder.h"
#include "weft/weft.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdlib.h>

namespace weft::bad_input {

struct Row {
  std::string name; ///< GoogleTest's name of the row, in letters and digits
  std::function<void()> act;
  std::vector<std::string> words; ///< parts of the message: what is wrong, where, and what to do
  std::string code = {};          ///< the reason code of the error, or empty
};

/// Expects known results of a training step, a lazy value and a matrix product.
inline void expectUsable() {
  static auto doubled = compile([](Tensor x) { return (x * 2 + 1).sum(); }, {.name = "usable"});
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, {4});
  EXPECT_EQ(doubled(x).item<float>(), 24);
  EXPECT_EQ((x * x).sum().item<float>(), 30);
  EXPECT_EQ(matmul(x.view({2, 2}), x.view({2, 2})).to_vector<float>(), (std::vector<float>{7, 10, 15, 22}));
  Tensor w = ones({4});
  w.requires_grad_();
  optim::SGD sgd({w}, {.lr = 0.5});
  (w * x).sum().backward();
  sgd.step();
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{0.5f, 0, -0.5f, -1}));
  synchronize();
}

/// Runs the action of a row, and checks the error and that the process is still usable.
inline void check(const Row &row) {
  try {
    row.act();
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error &error) {
    const std::string message = error.what();
    for (const std::string &word : row.words)
      EXPECT_NE(message.find(word), std::string::npos) << "no '" << word << "' in: " << message;
    EXPECT_EQ(error.code(), row.code) << message;
  } catch (const std::exception &error) {
    ADD_FAILURE() << "not a weft::Error: " << error.what();
  }
  expectUsable();
}

/// A training step with state, for tests of packages and tools. Its argument x is 2 x 4.
inline auto smallStep(nn::Linear &net, optim::Adam &adam) {
  return compile(
      [&](Tensor x) {
        Tensor loss = (net(x) * net(x)).sum();
        loss.backward();
        adam.step();
        adam.zero_grad();
        return loss;
      },
      {.name = "step"});
}

class Table : public ::testing::TestWithParam<Row> {};
inline std::string nameOf(const ::testing::TestParamInfo<Row> &info) { return info.param.name; }

/// A folder that exists until the process's last test of a file.
using Folder = test::TemporaryFolder;

template <typename T> std::string little(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

} // namespace weft::bad_input

#endif // WEFT_TEST_UNIT_BAD_INPUT_BADINPUT_H
