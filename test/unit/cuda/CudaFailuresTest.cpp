//===- CudaFailuresTest.cpp - Devices that cannot be used -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device that has failed is lost to its process, so each of these runs in one of its own.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/Registry.h"
#include "runtime/queue/Buffer.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/frontend/Helpers.h"
#include "weft/weft.h"

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;

namespace {
using weft::test::TemporaryFolder;

/// Ends the process with what a status says on standard error.
[[noreturn]] void leave(const Status &status) {
  std::fprintf(stderr, "%s: %s\n", status.code().c_str(), status.message().c_str());
  std::_Exit(0);
}

/// Calls a package with an address of the device where no memory is.
[[noreturn]] void readNoMemory() {
  TemporaryFolder folder;
  const std::string path = folder / "twice.weft";
  auto twice = compile([](Tensor x) { return x * 2; }, {.name = "twice"});
  twice(ones({1024}, {.device = "cuda:0"})).to_vector<float>();
  twice.save(path, {.targets = {"cuda:sm_90"}});
  weft_package *package = nullptr;
  weft_executable *loaded = nullptr;
  if (weft_package_open(path.c_str(), nullptr, &package) ||
      weft_executable_load(package, "twice", "cuda:0", &loaded))
    leave(Status::error(weft_last_error()));
  const int64_t shape[] = {1024};
  weft_buffer in = {
      sizeof(weft_buffer), reinterpret_cast<void *>(0x1000), "cuda:0", WEFT_F32, 1, shape, nullptr, nullptr};
  weft_buffer out = {sizeof(weft_buffer), nullptr, nullptr, WEFT_F32, 0, nullptr, nullptr, nullptr};
  if (!weft_executable_run(loaded, nullptr, &in, 1, &out, 1))
    (void)weft_stream_synchronize(nullptr);
  const std::string first = weft_last_error_code();
  // Nothing works on the device any more, and everything does on the host.
  const Status later = runtime::open_device("cuda:0").value_or_throw()->make_stream().status();
  std::fprintf(stderr, "first %s, the host has %g; ", first.c_str(),
               double((ones({4}) * 2).sum().item<float>()));
  leave(later);
}

} // namespace

TEST(CudaFailures, AnAddressWithoutMemoryEndsTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(readNoMemory(), testing::ExitedWithCode(0),
              "first WEFT-E007, the host has 8; WEFT-E007: 'cuda:0' has failed");
}

TEST(CudaFailures, AForkedProcessIsRefused) {
  runtime::Device &device = *runtime::open_device("cuda:0").value_or_throw();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Status stream = device.make_stream().status();
    uint64_t value = 0;
    const Status copy = device.copy_now(&value, &value, sizeof value, runtime::CopyDirection::host_to_device);
    const bool told = mentions(copy.message(), "Cannot re-initialize CUDA in forked subprocess");
    std::_Exit(stream.code() == "WEFT-E005" && told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(floats(ones({2}).cuda() + 1), Floats({2, 2}));
}
