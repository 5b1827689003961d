//===- BadInput.h - The table of bad input ----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row is one kind of bad input: what is done, and what the message must say. After every row a good
// program runs in the same process: what went wrong has left nothing behind.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_BAD_INPUT_BADINPUT_H
#define WEFT_TEST_UNIT_BAD_INPUT_BADINPUT_H

#include "weft/weft.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdlib.h>

namespace weft::bad_input {

struct Row {
  std::string name; ///< letters and digits: GoogleTest's name of the row
  std::function<void()> act;
  std::vector<std::string> words; ///< what the message holds: what, where, and what to do
  std::string code = {};          ///< of the error; empty where it has none
};

/// A training step, a lazy value and a matrix product, with known results.
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

/// Does what a row says and checks what comes of it.
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

/// A training step with state, as packages and tools get it: x of 2 x 4.
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

/// A folder that goes away with the process's last test of a file.
class Folder {
public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-bad-XXXXXX").string();
    if (::mkdtemp(name.data()))
      path_ = name;
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder &) = delete;
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }
  /// Writes a file and gives its path.
  std::string file(const std::string &name, const std::string &bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }

private:
  std::string path_;
};

template <typename T> std::string little(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

} // namespace weft::bad_input

#endif // WEFT_TEST_UNIT_BAD_INPUT_BADINPUT_H
