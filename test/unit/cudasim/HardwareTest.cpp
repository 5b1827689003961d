//===- HardwareTest.cpp - What an H100 gave ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands and results of instructions, as bits, that a real device gave (test/cudasim/calibration). Exact
// instructions must give the same bits, approximate ones within the bound that all f32 values were measured
// to keep.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <bit>
#include <cmath>

namespace weft::cudasim {
namespace {

/// The hexadecimal words of an entry of the file.
std::vector<uint32_t> words(const std::string &json, const std::string &name) {
  std::string key = "\"" + name + "\": \"";
  size_t vectors = json.find("\"vectors\""), at = json.find(key, vectors);
  std::vector<uint32_t> values;
  if (at == std::string::npos) {
    ADD_FAILURE() << name << " is not in the file";
    return values;
  }
  at += key.size();
  size_t end = json.find('"', at);
  for (; at + 8 <= end; at += 8)
    values.push_back(uint32_t(std::stoul(json.substr(at, 8), nullptr, 16)));
  return values;
}

/// Distance of two floats, counted in floats; NaNs are equal.
uint64_t distance(uint32_t a, uint32_t b) {
  auto order = [](uint32_t bits) { return bits >> 31 ? -int64_t(bits & 0x7FFFFFFF) : int64_t(bits); };
  bool nanA = (a & 0x7FFFFFFF) > 0x7F800000, nanB = (b & 0x7FFFFFFF) > 0x7F800000;
  if (nanA || nanB)
    return nanA == nanB ? 0 : ~uint64_t(0);
  return uint64_t(std::abs(order(a) - order(b)));
}

class Hardware : public testing::Test {
protected:
  std::string json = cudasimFile("calibration/h100/instructions.json");
  std::vector<uint32_t> inputs = words(json, "inputs");

  std::vector<uint32_t> run(const std::string &instruction, const std::vector<uint32_t> &a,
                            const std::vector<uint32_t> &b) {
    // A thread reads two words at 8 times its number, and writes one behind all of them.
    uint32_t count = uint32_t(a.size());
    std::string text =
        kernelText("mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r0, %r1, 32, %r0;\n"
                   "setp.ge.u32 %p0, %r0, " +
                   std::to_string(count) +
                   ";\n@%p0 ret;\n"
                   "mul.wide.u32 %q0, %r0, 8;\nadd.u64 %q0, %a, %q0;\n"
                   "ld.global.v2.f32 {%f1, %f2}, [%q0];\n"
                   "mov.b32 %r3, %f1;\nmov.b32 %r4, %f2;\n" +
                   instruction + "\nmul.wide.u32 %q1, %r0, 4;\nadd.u64 %q1, %a, %q1;\nst.global.u32 [%q1+" +
                   std::to_string(8 * count) + "], %r2;");
    std::vector<uint32_t> data;
    for (size_t i = 0; i < count; ++i) {
      data.push_back(a[i]);
      data.push_back(b[i]);
    }
    data.resize(3 * size_t(count));
    std::unique_ptr<Module> module = parsed(text);
    if (!module)
      return {};
    Memory memory(1 << 20);
    uint64_t address = upload(memory, data);
    LaunchResult result =
        launch(*module, "k", memory, {.grid = {(count + 31) / 32}, .block = {32}}, Parameters(address));
    EXPECT_TRUE(result.ok()) << result.fault->str();
    std::vector<uint32_t> all = download<uint32_t>(memory, address, data.size());
    return {all.begin() + 2 * count, all.end()};
  }

  /// `ulps` of ~0: bits must be equal.
  void compare(const std::string &name, const std::string &instruction, const std::vector<uint32_t> &a,
               const std::vector<uint32_t> &b, uint64_t ulps) {
    std::vector<uint32_t> expected = words(json, name), got = run(instruction, a, b);
    ASSERT_EQ(expected.size(), got.size()) << name;
    for (size_t i = 0; i < got.size(); ++i) {
      if (ulps == ~uint64_t(0))
        ASSERT_EQ(got[i], expected[i]) << std::hex << name << " of " << a[i] << ", " << b[i];
      else
        ASSERT_LE(distance(got[i], expected[i]), ulps)
            << std::hex << name << " of " << a[i] << ": " << got[i] << ", not " << expected[i];
    }
  }
};

constexpr uint64_t exact = ~uint64_t(0);

TEST_F(Hardware, FunctionsOfOneFloat) {
  for (auto [name, ulps] :
       std::initializer_list<std::pair<const char *, uint64_t>>{{"ex2.approx.f32", 2},
                                                                {"ex2.approx.ftz.f32", 2},
                                                                {"rcp.approx.f32", 1},
                                                                {"rcp.approx.ftz.f32", 1},
                                                                {"rcp.rn.f32", exact},
                                                                {"rsqrt.approx.f32", 2},
                                                                {"rsqrt.approx.ftz.f32", 2},
                                                                {"sqrt.approx.f32", 1},
                                                                {"sqrt.rn.f32", exact},
                                                                {"cvt.rni.f32.f32", exact},
                                                                {"cvt.rmi.f32.f32", exact},
                                                                {"cvt.rpi.f32.f32", exact},
                                                                {"cvt.rzi.f32.f32", exact},
                                                                {"cvt.sat.f32.f32", exact}})
    compare(name, std::string(name) + " %f3, %f1;\nmov.b32 %r2, %f3;", inputs, inputs, ulps);
}

TEST_F(Hardware, FloatsToIntegers) {
  for (const char *name : {"cvt.rzi.s32.f32", "cvt.rzi.u32.f32", "cvt.rni.s32.f32"})
    compare(name, std::string(name) + " %r2, %f1;", inputs, inputs, exact);
  compare("cvt.rzi.s64.f32", "cvt.rzi.s64.f32 %q3, %f1;\ncvt.u32.u64 %r2, %q3;", inputs, inputs, exact);
}

TEST_F(Hardware, FunctionsOfTwo) {
  std::vector<uint32_t> a, b;
  for (size_t i = 0; i < 24; ++i)
    for (size_t j = 0; j < 24; ++j) {
      a.push_back(inputs[i]);
      b.push_back(inputs[j]);
    }
  for (auto [name, ulps] : std::initializer_list<std::pair<const char *, uint64_t>>{{"add.rn.f32", exact},
                                                                                    {"add.rn.ftz.f32", exact},
                                                                                    {"mul.rn.f32", exact},
                                                                                    {"div.rn.f32", exact},
                                                                                    {"div.full.f32", 2},
                                                                                    {"min.f32", exact},
                                                                                    {"max.f32", exact},
                                                                                    {"min.NaN.f32", exact},
                                                                                    {"max.NaN.f32", exact},
                                                                                    {"copysign.f32", exact}})
    compare(name, std::string(name) + " %f3, %f1, %f2;\nmov.b32 %r2, %f3;", a, b, ulps);
  for (const char *name :
       {"add.rn.f16x2", "mul.rn.f16x2", "max.NaN.f16x2", "add.rn.bf16x2", "mul.rn.bf16x2", "max.NaN.bf16x2"})
    compare(name, std::string(name) + " %r2, %r3, %r4;", a, b, exact);
  for (const char *name : {"cvt.rn.f16x2.f32", "cvt.rn.bf16x2.f32"})
    compare(name, std::string(name) + " %r2, %f1, %f2;", a, b, exact);
}

} // namespace
} // namespace weft::cudasim
