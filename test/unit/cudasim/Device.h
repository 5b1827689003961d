//===- Device.h - Running kernels in tests ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CUDASIM_DEVICE_H
#define WEFT_TEST_UNIT_CUDASIM_DEVICE_H

#include "test/cudasim/engine/Engine.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace weft::cudasim {

/// The text of a file of test/cudasim.
inline std::string cudasimFile(const std::string &name) {
  std::ifstream stream(std::string(WEFT_CUDASIM_DIR) + "/" + name, std::ios::binary);
  EXPECT_TRUE(stream.good()) << name;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Device memory with the values of a list.
template <class T> uint64_t upload(Memory &memory, const std::vector<T> &values) {
  uint64_t address = memory.allocate(values.size() * sizeof(T));
  if (!values.empty())
    std::memcpy(memory.host(address, values.size() * sizeof(T)), values.data(), values.size() * sizeof(T));
  return address;
}
template <class T> std::vector<T> download(Memory &memory, uint64_t address, size_t count) {
  std::vector<T> values(count);
  if (const std::byte *from = memory.host(address, count * sizeof(T)))
    std::memcpy(values.data(), from, count * sizeof(T));
  else
    ADD_FAILURE() << "no allocation of this size";
  return values;
}

/// Parameters of a launch, each aligned to its size.
class Parameters {
public:
  template <class... T> explicit Parameters(T... values) { (add(values), ...); }
  operator std::span<const std::byte>() const { return bytes; }

private:
  template <class T> void add(T value) {
    bytes.resize((bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T) + sizeof(T));
    std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
  }
  std::vector<std::byte> bytes;
};

/// A text with one kernel `k(.u64 p)`, whose registers are declared and whose `%p` is in %a.
inline std::string kernelText(const std::string &body, const std::string &module = "") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + module +
         "\n.visible .entry k(.param .u64 p)\n{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n"
         ".reg .f32 %f<16>;\n.reg .f64 %d<8>;\n.reg .b64 %q<16>;\n.reg .b64 %a;\n"
         "ld.param.u64 %a, [p];\ncvta.to.global.u64 %a, %a;\n" +
         body + "\nret;\n}\n";
}

inline std::unique_ptr<Module> parsed(const std::string &text) {
  ParseResult result = Module::parse(text);
  EXPECT_TRUE(bool(result)) << result.error.str();
  return std::move(result.module);
}

/// All orders, with and without race mode.
inline std::vector<LaunchOptions> everyMode(Dim grid, Dim block) {
  std::vector<LaunchOptions> modes;
  for (Order order : {Order::forward, Order::reverse, Order::shuffled})
    for (bool race : {false, true})
      modes.push_back({.grid = grid, .block = block, .order = order, .seed = 7, .race = race});
  return modes;
}

} // namespace weft::cudasim

#endif // WEFT_TEST_UNIT_CUDASIM_DEVICE_H
