//===- GeneratedTest.cpp - Against Python's numbers -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random straight-line PTX whose results random_ptx.py computed with integers and fractions.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

namespace weft::cudasim {
namespace {

uint64_t mix(uint64_t state) {
  uint64_t z = state * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}
uint64_t hashOf(const uint64_t *values) {
  uint64_t state = 0xCBF29CE484222325;
  for (size_t lane = 0; lane < 32; ++lane)
    for (int k = 0; k < 64; k += 8)
      state = (state ^ (values[lane] >> k & 255)) * 0x100000001B3;
  return state;
}

/// One program of random.txt: its lines, and the hash behind each.
struct Straight {
  uint64_t seed = 0;
  std::vector<std::string> lines;
};
std::vector<Straight> programs() {
  std::vector<Straight> list;
  std::istringstream text(cudasimFile("fixtures/random.txt"));
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("//// program "))
      list.push_back({std::stoull(line.substr(13)), {}});
    else
      list.back().lines.push_back(line);
  return list;
}

std::string wholeText(const Straight &program) {
  std::string text =
      ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      ".reg .b16 %h<200>;\n.reg .b32 %r<200>, %s, %l;\n.reg .f32 %f<200>;\n.reg .f64 %d<9>, %e;\n"
      ".reg .b64 %q<200>, %t, %o, %i;\n.reg .pred %p<200>;\nmov.u32 %l, %tid.x;\n"
      "ld.param.u64 %o, [out];\nmad.wide.u32 %o, %l, 8, %o;\nld.param.u64 %i, [in];\n"
      "mad.wide.u32 %i, %l, 64, %i;\n";
  for (int k = 0; k < 4; ++k) {
    std::string n = std::to_string(k), word = std::to_string(8 * k), longWord = std::to_string(32 + 8 * k);
    text += "ld.global.u32 %r" + n + ", [%i+" + word + "];\nmov.b32 %f" + n + ", %r" + n +
            ";\ncvt.u16.u32 %h" + n + ", %r" + n + ";\nld.global.u64 %q" + n + ", [%i+" + longWord +
            "];\nand.b64 %t, %q" + n +
            ", 0x81FFFFFFFFFFFFFF;\nor.b64 %t, %t, 0x3C00000000000000;\nmov.b64 %d" + n + ", %t;\n";
  }
  for (const std::string &line : program.lines)
    text += line + "\n";
  return text + "ret;\n}\n";
}

TEST(Generated, RandomStraightLinePtxAgreesWithFractions) {
  std::vector<Straight> all = programs();
  ASSERT_GE(all.size(), 16u);
  size_t compared = 0;
  for (const Straight &program : all) {
    std::unique_ptr<Module> module = parsed(wholeText(program));
    ASSERT_TRUE(module);
    std::vector<uint64_t> in;
    for (uint64_t lane = 0; lane < 32; ++lane)
      for (uint64_t k = 0; k < 8; ++k)
        in.push_back(mix(program.seed * 1000 + lane * 16 + k));
    Memory memory(1 << 24);
    uint64_t from = upload(memory, in), to = memory.allocate(program.lines.size() * 256);
    LaunchResult result = launch(*module, "k", memory, {.grid = {1}, .block = {32}}, Parameters(from, to));
    ASSERT_TRUE(result.ok()) << result.fault->str();
    std::vector<uint64_t> out = download<uint64_t>(memory, to, program.lines.size() * 32);
    for (size_t k = 0; k < program.lines.size(); ++k, ++compared) {
      const std::string &line = program.lines[k];
      uint64_t expected = std::stoull(line.substr(line.size() - 16), nullptr, 16);
      EXPECT_EQ(hashOf(out.data() + 32 * k), expected) << "program " << program.seed << ": " << line;
    }
  }
  EXPECT_GT(compared, 900u);
}

} // namespace
} // namespace weft::cudasim
