//===- PtxEntriesTest.cpp - The kernels of a PTX text ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/raw/PtxEntries.h"

#include <gtest/gtest.h>

using namespace weft;
using codegen::PtxEntry;
using codegen::readPtxEntries;

TEST(PtxEntries, AreReadAsNvrtcWritesThem) {
  const auto entries = readPtxEntries(R"(
.version 9.0
.target sm_90
.func (.param .b32 func_retval0) helper(.param .b32 helper_param_0);
	// .globl	saxpy
.visible .entry saxpy(
	.param .u64 .ptr .align 1 saxpy_param_0,
	.param .f32 saxpy_param_1,
	.param .align 8 .b8 saxpy_param_2[16],
	.param .u8 saxpy_param_3,
	.param .align 2 .b8 saxpy_param_4[2],
	.param .s16 saxpy_param_5,
	.param .f64 saxpy_param_6
)
.maxntid 128, 2, 1
.minnctapersm 2
{
	ld.param.u64 	%rd1, [saxpy_param_0];
}
.visible .entry nothing()
{
	ret;
}
.visible .entry exact(
	.param .u32 exact_param_0
)
.reqntid 64
{
	ret;
})")
                           .value_or_throw();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "saxpy");
  EXPECT_EQ(entries[0].parameterBytes, (std::vector<uint32_t>{8, 4, 16, 1, 2, 2, 8}));
  EXPECT_EQ(entries[0].mostThreads, 256u);
  EXPECT_EQ(entries[1].name, "nothing");
  EXPECT_TRUE(entries[1].parameterBytes.empty());
  EXPECT_EQ(entries[1].mostThreads, 0u);
  EXPECT_EQ(entries[2].parameterBytes, (std::vector<uint32_t>{4}));
  EXPECT_EQ(entries[2].mostThreads, 64u);
}

TEST(PtxEntries, OfAnotherFormAreAnError) {
  EXPECT_TRUE(readPtxEntries("").value_or_throw().empty());
  for (const char *parameter :
       {".param .pred k_param_0", ".param .texref k_param_0", ".param .align 4 .b8 k[]"}) {
    const Status status = readPtxEntries(std::string(".entry k(") + parameter + ") { ret; }").status();
    EXPECT_NE(status.message().find("whose type this Weft cannot read"), std::string::npos) << parameter;
  }
}
