//===- NvrtcTest.cpp - The library that compiles CUDA C++ -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/CudaCompiler.h"
#include "test/unit/TemporaryFolder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/BuildID.h"
#include "llvm/Object/ObjectFile.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>

namespace weft::testing {
namespace {

// Patch releases have one version and generate different code.
TEST(Nvrtc, KernelsAreKeyedByTheBuildOfTheLibrary) {
  auto nvrtc = codegen::Nvrtc::get();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.status().message();
  auto file = llvm::object::ObjectFile::createObjectFile((*nvrtc)->path());
  ASSERT_TRUE(static_cast<bool>(file)) << llvm::toString(file.takeError());
  const std::string expected = llvm::toHex(llvm::object::getBuildID(file->getBinary()), /*LowerCase=*/true);
  EXPECT_EQ((*nvrtc)->build(), expected);
  ASSERT_FALSE(expected.empty());
  auto compiler = codegen::CudaCompiler::make("sm_90");
  ASSERT_TRUE(compiler) << compiler.status().message();
  EXPECT_NE(compiler->identity().find(expected), std::string::npos) << compiler->identity();
  auto ofTexts = codegen::CudaTextCompiler::make("sm_90");
  ASSERT_TRUE(ofTexts) << ofTexts.status().message();
  EXPECT_NE(ofTexts->identity().find(expected), std::string::npos) << ofTexts->identity();
}

// What a package has of a kernel is the same whoever compiled it first.
TEST(Nvrtc, CodeDependsOnTheTextAlone) {
  auto compiler = codegen::CudaTextCompiler::make("sm_90");
  if (!compiler)
    GTEST_SKIP() << compiler.status().message();
  const char *text =
      "extern \"C\" __global__ void __launch_bounds__(32) weft_kernel(float *x) { x[threadIdx.x] *= 2; }";
  auto one = compiler->compile(text, "one", nullptr),
       other = compiler->compile(text, "a.longer.name.2", nullptr);
  ASSERT_TRUE(one) << one.status().message();
  ASSERT_TRUE(other) << other.status().message();
  EXPECT_EQ(*one, *other);
}

// Otherwise a compilation touches some 1,500 pages anew, which is a tenth of its time.
TEST(Nvrtc, MemoryIsKeptBetweenCompilations) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || !defined(__GLIBC__)
  GTEST_SKIP() << "the allocator is not glibc's";
#endif
  auto compiler = codegen::CudaTextCompiler::make("sm_90");
  if (!compiler)
    GTEST_SKIP() << compiler.status().message();
  const char *text =
      "extern \"C\" __global__ void __launch_bounds__(32) weft_kernel(float *x) { x[threadIdx.x] += 3; }";
  auto newPages = [&] {
    struct rusage before, after;
    ::getrusage(RUSAGE_THREAD, &before);
    EXPECT_TRUE(compiler->compile(text, "pages", nullptr));
    ::getrusage(RUSAGE_THREAD, &after);
    return after.ru_minflt - before.ru_minflt;
  };
  newPages();
  newPages();
  EXPECT_LT(newPages(), 500);
}

// A tool of an older CUDA, which may come first, does not know newer architectures.
TEST(Nvrtc, AToolThatFailsIsFollowedByTheNext) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/bin");
  auto program = [&](const std::string &name, const std::string &text) {
    const std::string file = folder.path() + name;
    std::ofstream(file) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  };
  struct Environment {
    explicit Environment(const std::string &value) { ::setenv("WEFT_CUDA_PATH", value.c_str(), 1); }
    ~Environment() { ::unsetenv("WEFT_CUDA_PATH"); }
  };
  const char *before = std::getenv("WEFT_CUDA_PATH");
  if (before)
    GTEST_SKIP() << "WEFT_CUDA_PATH is set";
  const Environment environment(folder.path());
  auto none = codegen::disassemble("cubin");
  ASSERT_FALSE(none);
  EXPECT_NE(none.status().message().find("'nvdisasm' was not found in " + folder.path()), std::string::npos)
      << none.status().message();
  program("/bin/nvdisasm", "exit 3");
  auto failed = codegen::disassemble("cubin");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.status().message().find("ended with code 3"), std::string::npos)
      << failed.status().message();
  program("/nvdisasm", "echo \"$1\"; cat \"$2\"");
  auto text = codegen::disassemble("cubin");
  ASSERT_TRUE(text) << text.status().message();
  EXPECT_EQ(*text, "--print-code\ncubin");
}

} // namespace
} // namespace weft::testing
