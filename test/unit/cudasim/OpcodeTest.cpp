//===- OpcodeTest.cpp - Goldens of what random programs do not have ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions with their results as bits, which are written down from the PTX manual and from the
// definitions of the formats. What random_ptx.py and the H100's vectors cover is not repeated here.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <bit>

namespace weft::cudasim {
namespace {

/// Runs a body on one thread (or more) with %r1 and %r2 set; its result is what it leaves in %r0, and in
/// memory.
struct Result {
  uint32_t word = 0;
  std::vector<uint32_t> memory;
};
Result run(const std::string &body, uint32_t a = 0, uint32_t b = 0, std::vector<uint32_t> words = {},
           uint32_t threads = 1, const std::string &target = "sm_90") {
  Result result;
  words.insert(words.begin(), {0, a, b, 0});
  std::string text = kernelText("ld.global.u32 %r1, [%a+4];\nld.global.u32 %r2, [%a+8];\n{\n" + body +
                                "\n}\nst.global.u32 [%a], %r0;");
  text.replace(text.find("sm_90"), 5, target);
  std::unique_ptr<Module> module = parsed(text);
  if (!module)
    return result;
  Memory memory(1 << 20);
  uint64_t address = upload(memory, words);
  LaunchResult launched = launch(*module, "k", memory, {.block = {threads}}, Parameters(address));
  EXPECT_TRUE(launched.ok()) << launched.fault->str();
  result.memory = download<uint32_t>(memory, address, words.size());
  result.word = result.memory[0];
  result.memory.erase(result.memory.begin(), result.memory.begin() + 4);
  return result;
}

constexpr uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

TEST(Opcodes, TwoWayDotProducts) {
  // 16-bit halves 0x0003 and 0xFFFE (-2 as signed) with bytes 0xFF (-1), 0x05, 0x80 (-128), 0x07, from the
  // lowest.
  auto dot = [](const std::string &form) {
    return run("mov.u32 %r3, 100;\ndp2a." + form + " %r0, %r1, %r2, %r3;", 0xFFFE0003, 0x078005FF).word;
  };
  EXPECT_EQ(dot("lo.u32.u32"), 100u + 3 * 255 + 0xFFFE * 5);
  EXPECT_EQ(dot("hi.u32.u32"), 100u + 3 * 128 + 0xFFFE * 7);
  EXPECT_EQ(dot("lo.s32.s32"), uint32_t(100 - 3 - 2 * 5));
  EXPECT_EQ(dot("hi.s32.s32"), uint32_t(100 - 3 * 128 - 2 * 7));
  EXPECT_EQ(dot("lo.s32.u32"), uint32_t(100 + 3 * 255 - 2 * 5));
  EXPECT_EQ(dot("hi.u32.s32"), uint32_t(100 - 3 * 128 + 0xFFFE * 7));
}

TEST(Opcodes, EightBitFloats) {
  // e4m3: 1 sign, 4 exponent (bias 7), 3 fraction; 448 is the largest, there is no infinity.
  const std::string to = "mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\ncvt.rn.satfinite.e4m3x2.f32 %h0, %f1, "
                         "%f2;\ncvt.u32.u16 %r0, %h0;";
  EXPECT_EQ(run(to, bits(1.0f), bits(-2.0f)).word, 0x38C0u);
  EXPECT_EQ(run(to, bits(1e9f), bits(0.015625f)).word, 0x7E08u);
  EXPECT_EQ(run(to, bits(1.0625f), bits(1.1875f)).word, 0x383Au) << "ties to even";
  EXPECT_EQ(run(to, bits(0.001953125f), 0x7FC00000).word, 0x017Fu) << "the least subnormal, and NaN";
  const std::string e5m2 = "mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\ncvt.rn.satfinite.e5m2x2.f32 %h0, %f1, "
                           "%f2;\ncvt.u32.u16 %r0, %h0;";
  EXPECT_EQ(run(e5m2, bits(1.0f), bits(1e9f)).word, 0x3C7Bu);
  const std::string back = "cvt.u16.u32 %h0, %r1;\ncvt.rn.f16x2.e4m3x2 %r0, %h0;";
  EXPECT_EQ(run(back, 0x38C0).word, 0x3C00C000u);
  EXPECT_EQ(run(back, 0x7E01).word, 0x5F001800u);
}

TEST(Opcodes, PackedConversions) {
  const std::string floats = "mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n";
  EXPECT_EQ(run(floats + "cvt.rn.relu.f16x2.f32 %r0, %f1, %f2;", bits(-3.0f), bits(0.5f)).word, 0x00003800u);
  EXPECT_EQ(run(floats + "cvt.rz.bf16x2.f32 %r0, %f1, %f2;", 0x3F80FFFF, 0xBF80FFFF).word, 0x3F80BF80u);
  EXPECT_EQ(run(floats + "cvt.rn.satfinite.tf32.f32 %r0, %f1;", 0x3F801000).word, 0x3F800000u)
      << "ties to even";
  EXPECT_EQ(run(floats + "cvt.rna.tf32.f32 %r0, %f1;", 0x3F801000).word, 0x3F802000u) << "ties away";
}

TEST(Opcodes, HalvesInPairs) {
  EXPECT_EQ(run("fma.rn.relu.f16x2 %r0, %r1, %r2, %r1;", 0xBC003C00, 0x40004000).word, 0x00004200u);
  EXPECT_EQ(run("neg.f16x2 %r0, %r1;", 0x3C00FE01).word, 0xBC007E01u);
  EXPECT_EQ(run("abs.bf16x2 %r0, %r1;", 0xBF80FFC1).word, 0x3F807FC1u);
  EXPECT_EQ(run("add.sat.f16x2 %r0, %r1, %r2;", 0x3C00BC00, 0x3C003800).word, 0x3C000000u);
  EXPECT_EQ(run("min.f16x2 %r0, %r1, %r2;", 0x7E008000, 0x3C000000).word, 0x3C008000u);
  EXPECT_EQ(run("mul.ftz.f16x2 %r0, %r1, %r2;", 0x00013C00, 0x3C008001).word, 0x00008000u);
  EXPECT_EQ(run("ex2.approx.f16x2 %r0, %r1;", 0xBC004200).word, 0x38004800u);
  EXPECT_EQ(run("set.gt.f16x2.f16x2 %r0, %r1, %r2;", 0x3C00C000, 0x38003C00).word, 0x3C000000u);
  EXPECT_EQ(run("set.ltu.u32.bf16x2 %r0, %r1, %r2;", 0x7FC0BF80, 0x3F803F80).word, 0xFFFFFFFFu);
  EXPECT_EQ(run("setp.lt.f16x2 %p0|%p1, %r1, %r2;\nselp.u32 %r3, 1, 0, %p0;\nselp.u32 %r0, 2, 0, "
                "%p1;\nadd.u32 %r0, %r0, %r3;",
                0x3C004000, 0x40003C00)
                .word,
            2u);
}

TEST(Opcodes, ComparisonsWithPredicates) {
  const std::string head = "setp.eq.u32 %p2, %r2, 1;\n";
  for (uint32_t third : {0u, 1u})
    for (uint32_t a : {5u, 6u}) {
      EXPECT_EQ(run(head + "setp.eq.and.u32 %p0|%p1, %r1, 5, %p2;\nselp.u32 %r0, 1, 0, %p0;", a, third).word,
                (a == 5 && third) ? 1u : 0u);
      EXPECT_EQ(run(head + "setp.eq.or.u32 %p0|%p1, %r1, 5, !%p2;\nselp.u32 %r0, 1, 0, %p1;", a, third).word,
                (a != 5 || !third) ? 1u : 0u);
      EXPECT_EQ(run(head + "setp.ne.xor.u32 %p0, %r1, 5, %p2;\nselp.u32 %r0, 1, 0, %p0;", a, third).word,
                uint32_t(a != 5) ^ third);
    }
  EXPECT_EQ(run("mov.b32 %f1, %r1;\nsetp.eq.ftz.f32 %p0, %f1, 0f00000000;\nselp.u32 %r0, 1, 0, %p0;", 1).word,
            1u);
  EXPECT_EQ(run("mov.b32 %f1, %r1;\ntestp.subnormal.f32 %p0, %f1;\nselp.u32 %r0, 1, 0, %p0;", 1).word, 1u);
  EXPECT_EQ(run("slct.u32.s32 %r0, 7, 8, %r1;", ~0u).word, 8u);
}

TEST(Opcodes, SmallAndLargeRegisters) {
  EXPECT_EQ(run("ld.global.s8 %r0, [%a+16];", 0, 0, {0x80}).word, 0xFFFFFF80u);
  EXPECT_EQ(run("ld.global.u8 %h0, [%a+16];\ncvt.u32.u16 %r0, %h0;", 0, 0, {0x80}).word, 0x80u);
  EXPECT_EQ(run("st.global.u8 [%a+17], %r1;", 0x1234, 0, {0}).memory[0], 0x3400u);
  EXPECT_EQ(run("mov.b64 %q0, {%r1, %r2};\nmov.b64 {_, %r0}, %q0;", 3, 4).word, 4u);
  EXPECT_EQ(
      run("mov.b64 %q0, 0x1122334455667788;\nmov.b64 {%h0, %h1, %h2, %h3}, %q0;\ncvt.u32.u16 %r0, %h2;").word,
      0x3344u);
  EXPECT_EQ(run("ld.global.v4.u32 {%r3, %r4, %r5, %r0}, [%a+16];", 0, 0, {1, 2, 3, 9}).word, 9u);
  EXPECT_EQ(run("add.sat.s32 %r0, %r1, %r2;", 0x7FFFFFFF, 5).word, 0x7FFFFFFFu);
  EXPECT_EQ(run("mad.wide.s16 %r0, %h0, %h1, %r1;", 3).word, 3u + 1u) << "registers start as -1";
  EXPECT_EQ(run("rem.u32 %r0, %r1, %r2;", 7, 0).word, 7u);
  EXPECT_EQ(run("div.s32 %r0, %r1, %r2;", 0x80000000, ~0u).word, 0x80000000u);
}

TEST(Opcodes, Atomics) {
  auto atom = [](const char *text, uint32_t old, uint32_t b) {
    Result result = run(std::string(text) + "", b, 0, {old});
    return std::pair(result.word, result.memory[0]);
  };
  using Pair = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(atom("atom.global.add.u32 %r0, [%a+16], %r1;", 5, 7), Pair(5, 12));
  EXPECT_EQ(atom("atom.global.inc.u32 %r0, [%a+16], %r1;", 7, 7), Pair(7, 0));
  EXPECT_EQ(atom("atom.global.dec.u32 %r0, [%a+16], %r1;", 0, 7), Pair(0, 7));
  EXPECT_EQ(atom("atom.global.min.s32 %r0, [%a+16], %r1;", 3, ~0u), Pair(3, ~0u));
  EXPECT_EQ(atom("atom.global.max.u32 %r0, [%a+16], %r1;", 3, ~0u), Pair(3, ~0u));
  EXPECT_EQ(atom("atom.global.exch.b32 %r0, [%a+16], %r1;", 3, 4), Pair(3, 4));
  EXPECT_EQ(atom("atom.global.cas.b32 %r0, [%a+16], 3, %r1;", 3, 4), Pair(3, 4));
  EXPECT_EQ(atom("atom.global.cas.b32 %r0, [%a+16], 2, %r1;", 3, 4), Pair(3, 3));
  EXPECT_EQ(atom("mov.b32 %f1, %r1;\natom.global.add.f32 %f2, [%a+16], %f1;\nmov.b32 %r0, %f2;", bits(1.5f),
                 bits(2)),
            Pair(bits(1.5f), bits(3.5f)));
  EXPECT_EQ(atom("mov.b32 %f1, %r1;\natom.global.add.f32 %f2, [%a+16], %f1;\nmov.b32 %r0, %f2;", 1, 1),
            Pair(1, 0))
      << "subnormals are flushed in global memory";
  EXPECT_EQ(atom("atom.global.add.noftz.f16x2 %r0, [%a+16], %r1;", 0x3C003C00, 0x40003C00),
            Pair(0x3C003C00, 0x42004000));
  EXPECT_EQ(run("red.global.add.f64 [%a+16], 0d3FF0000000000000;", 0, 0, {0, 0x40000000}).memory[1],
            0x40080000u);
  EXPECT_EQ(run("atom.global.add.u32 %r3, [%a+16], 1;", 0, 0, {0}, 32).memory[0], 32u);
}

TEST(Opcodes, ExtremaOfThreeOnNewerTargets) {
  EXPECT_EQ(run("mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\nmax.f32 %f3, %f1, %f2, 0f40A00000;\nmov.b32 %r0, %f3;",
                bits(1), bits(7), {}, 1, "sm_100")
                .word,
            bits(7));
}

// Hints do nothing; ldu is a load.
TEST(Opcodes, HintsAndUniformLoads) {
  EXPECT_EQ(
      run("prefetch.global.L1 [%a];\nprefetch.global.L2 [%a+4];\nprefetchu.L1 [%a];\nnanosleep.u32 20;\n"
          "ldu.global.u32 %r0, [%a+16];",
          0, 0, {41})
          .word,
      41u);
  EXPECT_EQ(run("nanosleep.u32 %r1;\nmov.u32 %r0, 3;", 100).word, 3u);
}

TEST(Opcodes, StateSpacesOfAddresses) {
  const auto isSpace = [](const std::string &space) {
    return run("cvta.global.u64 %q1, %a;\nisspacep." + space + " %p0, %q1;\nselp.u32 %r0, 1, 0, %p0;").word;
  };
  EXPECT_EQ(isSpace("global"), 1u);
  EXPECT_EQ(isSpace("shared"), 0u);
  EXPECT_EQ(isSpace("local"), 0u);
}

// One thread of those that the mask names.
TEST(Opcodes, Elections) {
  const Result result = run("elect.sync %r3|%p0, 0xFFFFFFFF;\n@%p0 atom.global.add.u32 %r4, [%a+16], 1;\n"
                            "mov.u32 %r0, %r3;",
                            0, 0, {0}, 32);
  EXPECT_LT(result.word, 32u);
  ASSERT_EQ(result.memory.size(), 1u);
  EXPECT_EQ(result.memory[0], 1u);
}

TEST(Opcodes, BranchesByIndex) {
  const std::string body =
      "T: .branchtargets A, B, C;\nbrx.idx %r1, T;\nA: mov.u32 %r0, 10;\nbra E;\nB: mov.u32 %r0, 20;\n"
      "bra E;\nC: mov.u32 %r0, 30;\nE:";
  for (uint32_t k = 0; k < 3; ++k)
    EXPECT_EQ(run(body, k).word, 10 * (k + 1));
}

/// The integer forms of mma: each element of D is the sum of products of its row and column.
TEST(Opcodes, MatricesOfBytes) {
  // A and B are all ones times a lane's constant row: a = 2 everywhere, b = -3 everywhere, c = 5.
  Result result =
      run("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r3, %r4, %r5, %r6}, {%r1, %r1, %r1, %r1}, "
          "{%r2, %r2}, {%r7, %r7, %r7, %r7};\nmov.u32 %r0, %r3;",
          0x02020202, 0xFDFDFDFD, {}, 32);
  EXPECT_EQ(result.word, uint32_t(32 * 2 * -3 - 1)) << "registers start as -1";
  Result bf16 = run(
      "mov.f32 %f0, 0f40000000;\nmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, "
      "{%r1, %r1, %r1, %r1}, {%r2, %r2}, {%f0, %f0, %f0, %f0};\nmov.b32 %r0, %f4;",
      0x3F803F80, 0x40404040, {}, 32);
  EXPECT_EQ(bf16.word, bits(16 * 3.0f + 2)) << "0x4040 is 3";
  Result tf32 = run(
      "mov.f32 %f0, 0f40000000;\nmma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, "
      "{%r1, %r1, %r1, %r1}, {%r2, %r2}, {%f0, %f0, %f0, %f0};\nmov.b32 %r0, %f2;",
      bits(1.5f), bits(2), {}, 32);
  EXPECT_EQ(tf32.word, bits(26));
}

TEST(Opcodes, FunnelAndBytes) {
  EXPECT_EQ(run("shf.l.clamp.b32 %r0, %r1, %r2, 40;", 7, 9).word, 7u);
  EXPECT_EQ(run("prmt.b32.b4e %r0, %r1, %r2, 1;", 0x33221100, 0x77665544).word, 0x66770011u);
  EXPECT_EQ(run("prmt.b32.ecr %r0, %r1, %r2, 2;", 0x33221100, 0).word, 0x22221100u);
}

} // namespace
} // namespace weft::cudasim
