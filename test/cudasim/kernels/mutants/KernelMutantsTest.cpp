//===- KernelMutantsTest.cpp - Which mutants a kernel has -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelMutants.h"
#include "Equivalents.h"

#include "gtest/gtest.h"

#include <set>

namespace weft::cudasim {
namespace {

/// The mutants of one line of a kernel, as "kind: line".
std::set<std::string> mutantsOfLine(const std::string &line, const std::string &before = "") {
  const std::string start = "extern \"C\" __global__ void k() {\n" + before;
  const std::string text = start + line + "\n}\n";
  std::set<std::string> found;
  for (const KernelMutant &mutant : mutantsOf(text, /*functions=*/true)) {
    EXPECT_EQ(mutant.before, line);
    EXPECT_EQ(mutant.text, start + mutant.after + "\n}\n");
    EXPECT_TRUE(found.insert(std::string(nameOf(mutant.kind)) + ": " + mutant.after).second) << mutant.after;
  }
  return found;
}

using Lines = std::set<std::string>;

} // namespace

TEST(KernelMutants, OfBarriersAndMasks) {
  EXPECT_EQ(mutantsOfLine("__syncthreads();"), Lines{"barrier: "});
  EXPECT_EQ(mutantsOfLine("weft_wait<stages - 2>();"),
            (Lines{"barrier: ", "barrier: weft_wait<stages - 2 + 1>();"}));
  EXPECT_EQ(mutantsOfLine("const float v2 = weft_later(v1, 8u, 32u);"),
            (Lines{"mask: const float v2 = weft_later(v1, 8u + 1u, 32u);",
                   "mask: const float v2 = weft_later(v1, 8u, 32u / 2u);"}));
  EXPECT_EQ(mutantsOfLine("return __shfl_sync(0xffffffffu >> (32 - group) << first, v, thread, group);"),
            Lines{"mask: return __shfl_sync(0xffffffffu >> (33 - group) << first, v, thread, group);"});
}

TEST(KernelMutants, OfBounds) {
  EXPECT_EQ(mutantsOfLine("const bool v1 = i3 < 217;"),
            (Lines{"bound: const bool v1 = i3 <= 217;", "bound: const bool v1 = i3 + 1 < 217;"}));
  EXPECT_EQ(mutantsOfLine("const int i3 = min(i2, 212);"),
            (Lines{"bound: const int i3 = min(i2, 212 + 1);", "bound: const int i3 = min(i2, 212 - 1);"}));
  EXPECT_EQ(mutantsOfLine("const index height = min(tilesM, (index)8);").size(), 2u);
  EXPECT_EQ(mutantsOfLine("for (int i6 = i1; i6 < i2; i6 += 8) {").size(), 2u);
  // A loop over registers may only end early, and values are no indices.
  EXPECT_EQ(mutantsOfLine("for (int l = 0; l < 4; ++l)", "#pragma unroll\n"),
            Lines{"bound: for (int l = 0; l + 1 < 4; ++l)"});
  EXPECT_EQ(mutantsOfLine("const bool v3 = v1[l] < v2[l];"), Lines{});
  EXPECT_EQ(mutantsOfLine("const bool v3 = v1[l + 2] == v2;"), Lines{});
}

TEST(KernelMutants, OfScratchAndPredicates) {
  EXPECT_EQ(mutantsOfLine("float *const s1 = (float *)(shared0 + 512);"),
            Lines{"offset: float *const s1 = (float *)(shared0 + 16 + 512);"});
  EXPECT_EQ(mutantsOfLine("s0[i1] = v1;"), Lines{"offset: s0[1 + i1] = v1;"});
  EXPECT_EQ(mutantsOfLine("weft_store<uint2>(s0 + i8, v30);"),
            Lines{"offset: weft_store<uint2>(s0 + 1 + i8, v30);"});
  EXPECT_EQ(mutantsOfLine("if (v2) {"), (Lines{"predicate: if (true) {", "predicate: if (false) {"}));
  EXPECT_EQ(mutantsOfLine("const bool v2 = v0 & v1;"),
            (Lines{"predicate: const bool v2 = v0;", "predicate: const bool v2 = v1;"}));
  EXPECT_EQ(mutantsOfLine("const float v3 = v1 ? v2 : 0.0f;"),
            (Lines{"predicate: const float v3 = true ? v2 : 0.0f;",
                   "predicate: const float v3 = false ? v2 : 0.0f;"}));
}

TEST(KernelMutants, FunctionsAreChangedOnDemand) {
  const std::string
      moves = "template <typename T> __device__ __forceinline__ T weft_load(const T *p) {\nif (p) {\n}\n",
      elementary = "static __device__ float weft_exp_f32(float a0) {\nif (a0) {\n}\n",
      kernel = "extern \"C\" __global__ void k() {\n__syncthreads();\n}\n";
  EXPECT_EQ(mutantsOf(moves + elementary + kernel, /*functions=*/false).size(), 1u);
  EXPECT_EQ(mutantsOf(moves + elementary + kernel, /*functions=*/true).size(), 3u)
      << "elementary functions are not changed";
}

TEST(KernelMutants, EquivalentOnesHaveReasons) {
  EXPECT_EQ(keyOf("const float v12 = i3 < 217 ? s0[i1] : v2[l];"), "const T v# = i# < 217 ? s#[i#] : v#[l];");
  std::set<std::pair<std::string, std::string>> known;
  for (const Equivalent &each : equivalents()) {
    EXPECT_TRUE(known.emplace(std::string(each.subject) + each.before, each.after).second) << each.before;
    EXPECT_GT(each.count, 0u);
    EXPECT_FALSE(std::string(each.reason).empty());
  }
}

} // namespace weft::cudasim
