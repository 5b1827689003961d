//===- CublasLtTest.cpp - The library of matrix products of CUDA ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `weft doctor` shows of it is in test/tools/cublaslt.test.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/CublasLtTable.h"
#include "runtime/cuda/Libraries.h"
#include "test/unit/TemporaryFolder.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weft::runtime {
namespace {

/// Sets a variable of the environment for as long as it lives.
class Variable {
public:
  Variable(const char *name, const std::string &value) : name(name) {
    if (const char *text = std::getenv(name))
      before = text;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before ? ::setenv(name, before->c_str(), 1) : ::unsetenv(name); }
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;

private:
  const char *name;
  std::optional<std::string> before;
};

// The environment's libraries come in order, and the folder that a variable names stands for all of them.
TEST(CudaFolders, AreThoseOfThePythonEnvironmentUnlessOneIsNamed) {
  const test::TemporaryFolder folder;
  const std::string packages = folder / "lib/python3.11/site-packages/nvidia";
  for (const char *package : {"cu13", "another"})
    std::filesystem::create_directories(packages + "/" + package);
  const Variable environment("VIRTUAL_ENV", folder.path());
  {
    const Variable none("WEFT_CUDA_PATH", "");
    EXPECT_EQ(only_cuda_folder(), "");
    const std::vector<std::string> found = cuda_folders();
    ASSERT_GE(found.size(), 3u);
    EXPECT_EQ(found[0], "/usr/local/cuda");
    EXPECT_EQ(found[1], packages + "/another");
    EXPECT_EQ(found[2], packages + "/cu13");
  }
  const Variable only("WEFT_CUDA_PATH", folder / "cuda");
  EXPECT_EQ(only_cuda_folder(), folder / "cuda");
  EXPECT_EQ(cuda_folders(), std::vector<std::string>{folder / "cuda"});
}

#ifdef WEFT_FAKE_CUBLASLT

// The header says which type the value of an attribute has, and the library which size. This needs the
// library itself, and neither a GPU nor a driver.
TEST(CublasLt, ValuesOfAttributesHaveTheSizesThatTheLibraryExpects) {
  using namespace cublaslt;
  const CublasLt library = cublas_lt();
  if (!library.table)
    GTEST_SKIP() << library.text();
  const Table &table = *library.table;
  if (table.cublasLtGetStatusName(Status::success) != std::string("CUBLAS_STATUS_SUCCESS"))
    GTEST_SKIP() << "'" << library.file << "' is a substitute";
  MatmulDesc desc = nullptr;
  MatrixLayout layout = nullptr;
  MatmulPreference preference = nullptr;
  ASSERT_EQ(table.cublasLtMatmulDescCreate(&desc, ComputeType::f32_pedantic, DataType::f32), Status::success);
  ASSERT_EQ(table.cublasLtMatrixLayoutCreate(&layout, DataType::f32, 8, 4, 8), Status::success);
  ASSERT_EQ(table.cublasLtMatmulPreferenceCreate(&preference), Status::success);
  const MatmulAlgo algo{};
  size_t bytes = 0; // that the library would write
#define CHECK_SIZE(name, object, function, attributes, type)                                                 \
  EXPECT_EQ(table.function(object, attributes::name, nullptr, 0, &bytes), Status::success) << #name;         \
  EXPECT_EQ(bytes, sizeof(type)) << #attributes "::" #name;
#define CHECK_DESC(name, original, value, type)                                                              \
  CHECK_SIZE(name, desc, cublasLtMatmulDescGetAttribute, MatmulDescAttribute, type)
#define CHECK_LAYOUT(name, original, value, type)                                                            \
  CHECK_SIZE(name, layout, cublasLtMatrixLayoutGetAttribute, MatrixLayoutAttribute, type)
#define CHECK_PREFERENCE(name, original, value, type)                                                        \
  CHECK_SIZE(name, preference, cublasLtMatmulPreferenceGetAttribute, MatmulPreferenceAttribute, type)
#define CHECK_CONFIG(name, original, value, type)                                                            \
  CHECK_SIZE(name, &algo, cublasLtMatmulAlgoConfigGetAttribute, AlgoConfigAttribute, type)
  WEFT_CUBLASLT_MATMUL_DESC_ATTRIBUTE(CHECK_DESC)
  WEFT_CUBLASLT_MATRIX_LAYOUT_ATTRIBUTE(CHECK_LAYOUT)
  WEFT_CUBLASLT_MATMUL_PREFERENCE_ATTRIBUTE(CHECK_PREFERENCE)
  WEFT_CUBLASLT_ALGO_CONFIG_ATTRIBUTE(CHECK_CONFIG)
  // What the library is told is what it says.
  ComputeType compute{};
  ASSERT_EQ(table.cublasLtMatmulDescGetAttribute(desc, MatmulDescAttribute::compute_type, &compute,
                                                 sizeof compute, &bytes),
            Status::success);
  EXPECT_EQ(compute, ComputeType::f32_pedantic);
  EXPECT_EQ(table.cublasLtMatmulPreferenceDestroy(preference), Status::success);
  EXPECT_EQ(table.cublasLtMatrixLayoutDestroy(layout), Status::success);
  EXPECT_EQ(table.cublasLtMatmulDescDestroy(desc), Status::success);
}

TEST(CublasLt, IsFoundWhenItIsInstalledLaterAndThenStays) {
  const test::TemporaryFolder folder;
  const Variable only("WEFT_CUDA_PATH", folder.path());
  const CublasLt before = cublas_lt();
  if (before.table)
    GTEST_SKIP() << "this process has loaded '" << before.file << "'";
  EXPECT_EQ(before.state, CublasLtState::no_library);
  EXPECT_NE(before.text().find("was not found in " + folder.path()), std::string::npos) << before.text();

  const std::string file = folder / "lib/libcublasLt.so.13";
  std::filesystem::create_directory(folder / "lib");
  std::filesystem::copy_file(WEFT_FAKE_CUBLASLT, file);
  std::vector<CublasLt> found(8);
  std::vector<std::thread> threads;
  for (CublasLt &each : found)
    threads.emplace_back([&each] { each = cublas_lt(); });
  for (std::thread &thread : threads)
    thread.join();
  for (const CublasLt &each : found) {
    EXPECT_EQ(each.state, CublasLtState::ready) << each.text();
    EXPECT_EQ(each.file, file);
    EXPECT_EQ(each.version, 130000u);
    ASSERT_NE(each.table, nullptr);
    EXPECT_EQ(each.table, found[0].table);
    EXPECT_EQ(each.table->cublasLtCreate(nullptr), cublaslt::Status::not_initialized);
  }

  std::filesystem::remove(file);
  EXPECT_EQ(cublas_lt().table, found[0].table);
}

// cuBLASLt loads NVRTC by itself, so a folder that has both is preferred.
TEST(CublasLt, AFolderThatHasNvrtcTooComesFirst) {
  const test::TemporaryFolder folder;
  const std::string packages = folder / "lib/python3.11/site-packages/nvidia";
  auto install = [&](const std::string &package, const std::string &name, const std::string &from) {
    std::filesystem::create_directories(packages + "/" + package + "/lib");
    std::filesystem::copy_file(from, packages + "/" + package + "/lib/" + name);
  };
  install("a", "libcublasLt.so.13", WEFT_FAKE_CUBLASLT);
  install("b", "libcublasLt.so.13", WEFT_FAKE_CUBLASLT);
  const Variable environment("VIRTUAL_ENV", folder.path()), none("WEFT_CUDA_PATH", "");
  const OpenedCudaLibrary first = open_cuda_library(CudaLibrary::cublaslt, 13);
  ASSERT_TRUE(first.handle) << first.problem;
  if (first.file != packages + "/a/lib/libcublasLt.so.13")
    GTEST_SKIP() << "this machine has '" << first.file << "'";
  install("b", "libnvrtc.so.13", WEFT_FAKE_CUBLASLT);
  const OpenedCudaLibrary second = open_cuda_library(CudaLibrary::cublaslt, 13);
  EXPECT_EQ(second.file, packages + "/b/lib/libcublasLt.so.13") << second.problem;
}

#else

TEST(CublasLt, IsNotThereInABuildWithoutCuda) {
  EXPECT_EQ(cublas_lt().state, CublasLtState::built_without_cuda);
  EXPECT_NE(cublas_lt().text().find("-DWEFT_CUDA=OFF"), std::string::npos) << cublas_lt().text();
}

#endif

} // namespace
} // namespace weft::runtime
