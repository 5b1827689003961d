//===- CudaRowsTest.cpp - Rows of the table of PyTorch's ways -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What PyTorch programs do with devices, and what they count on, by the numbers of the rows.
//
//===----------------------------------------------------------------------===//
#include "test/unit/TemporaryFolder.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/frontend/DeviceTraining.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace weft;

namespace {
using weft::test::TemporaryFolder;
using weft::testing::callsIn;
using weft::testing::Child;
using weft::testing::numbers;
using weft::testing::runChild;
} // namespace

/// Asks whether there is a device, and then uses it in a fork of this process.
int weft::testing::askThenFork() {
  std::printf("%s %d devices\n", cuda::is_available() ? "available" : "none", cuda::device_count());
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      std::printf("child %g\n", (ones({2}).cuda() + 1).sum().item<float>());
    } catch (const Error &error) {
      std::printf("child %s\n", error.what());
    }
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("parent %g\n", (ones({2}).cuda() + 2).sum().item<float>());
  return 0;
}

TEST(CudaRows, Row3AskingForADeviceLeavesForkAlone) {
  const Child child = runChild("--ask", "CUSIM_DEVICES=2");
  EXPECT_EQ(child.output, "available 2 devices\nchild 4\nparent 6\n");
  EXPECT_EQ(runChild("--ask", "CUSIM_DEVICES=0").output.substr(0, 15), "none 0 devices\n");
}

/// Writes how many devices there are, before and after the environment names another number of them.
int weft::testing::countVisible() {
  const int before = cuda::device_count();
  ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  std::printf("%d then %d\n", before, cuda::device_count());
  try {
    std::printf("%g\n", ones({2}, {.device = "cuda:1"}).sum().item<float>());
  } catch (const Error &error) {
    std::printf("%s\n", error.what());
  }
  return 0;
}

TEST(CudaRows, Row8VisibleDevicesAreReadOnce) {
  const auto count = [](const char *visible) {
    const std::string output =
        runChild("--visible", std::string("CUSIM_DEVICES=3 CUDA_VISIBLE_DEVICES=") + visible).output;
    return output.substr(0, output.find('\n'));
  };
  EXPECT_EQ(count("2,0"), "2 then 2");
  EXPECT_EQ(count("1"), "1 then 1");
  EXPECT_EQ(count("''"), "0 then 0");
  EXPECT_TRUE(mentions(runChild("--visible", "CUSIM_DEVICES=3 CUDA_VISIBLE_DEVICES=2").output,
                       "the driver sees 1 device"));
}

/// Moves a model to a device. Writes whether its values and gradients are what they were.
int weft::testing::uploadModel() {
  manual_seed(3);
  TwoLayers net(6, 8, 3);
  std::vector<Floats> before;
  for (Tensor parameter : net.parameters()) {
    parameter.set_grad(numbers(parameter.numel()).reshape(parameter.sizes()) * 1);
    before.push_back(floats(parameter));
  }
  synchronize();
  net.to("cuda:0");
  bool same = true;
  size_t i = 0;
  for (Tensor parameter : net.parameters()) {
    same &= parameter.device() == Device("cuda:0") && parameter.requires_grad() &&
            floats(parameter.cpu()) == before[i++] &&
            floats(parameter.grad().cpu()) == floats(numbers(parameter.numel()));
  }
  net.to("cpu");
  for (i = 0; const Tensor &parameter : net.parameters())
    same &= floats(parameter) == before[i++];
  std::printf("%s\n", same ? "same" : "different");
  return 0;
}

TEST(CudaRows, Row23AModelIsOneCopy) {
  TemporaryFolder folder;
  const Child child = runChild("--upload", "CUSIM_RACE=1 CUSIM_LOG=" + (folder / "log"));
  EXPECT_TRUE(child.output.ends_with("same\n")) << child.output;
  // Of all parameters and gradients; another one is a flag that a device has from the start.
  std::ifstream log(folder / "log");
  int copies = 0;
  for (std::string line; std::getline(log, line);)
    copies += line.starts_with("cuMemcpyHtoDAsync") && line.find("pinned") != std::string::npos;
  EXPECT_EQ(copies, 1);
}

/// A pass over a loader with a step for each batch. Writes whether the sums are those of the host.
int weft::testing::loadAhead() {
  const int64_t rows = 96;
  Tensor images = numbers(rows * 6).reshape({rows, 6}) * 1, labels = arange(rows) % 3;
  const auto sumOf = [&](const data::LoaderOptions &options) {
    data::DataLoader loader(data::Dataset(images, labels), options);
    Tensor total = zeros({1}, {.device = options.device});
    auto step = compile([&](Tensor x) { total.add_(tanh(x).sum()); });
    for (const data::Batch &batch : loader)
      step(batch.images);
    return floats(total.cpu());
  };
  const Floats expected = sumOf({.batch_size = 16}),
               found = sumOf({.batch_size = 16, .device = "cuda:0", .pin_memory = true});
  std::printf("%s\n", std::abs(found[0] - expected[0]) < 1e-4 ? "right" : "wrong");
  return 0;
}

TEST(CudaRows, Row34LoadersUploadBesideTheSteps) {
  TemporaryFolder folder;
  for (const char *order : {"forward", "reverse", "5"}) {
    std::filesystem::remove(folder / "log");
    const Child child = runChild("--load", std::string("CUSIM_RACE=1 CUSIM_ORDER=") + order +
                                               " CUSIM_LOG=" + (folder / "log"));
    EXPECT_EQ(child.output, "right\n");
    const auto streamIn = [](const std::string &line) {
      const size_t at = line.find("stream ");
      return line.substr(at, line.find_first_of(",)", at) - at);
    };
    std::set<std::string> uploads, launches;
    int batches = 0, waits = 0, since = 0; // of the host, between the third batch and the last
    std::ifstream log(folder / "log");
    for (std::string line; std::getline(log, line);) {
      if (line.starts_with("cuMemcpyHtoDAsync") &&
          line.find(", pinned, 384,") != std::string::npos) // 16 rows
      {
        uploads.insert(streamIn(line));
        waits += std::exchange(since, 0);
        ++batches;
      }
      since +=
          batches >= 3 && (line.starts_with("cuEventSynchronize") || line.starts_with("cuStreamSynchronize"));
      if (line.starts_with("cuLaunchKernelEx") || line.starts_with("cuGraphLaunch"))
        launches.insert(streamIn(line));
    }
    EXPECT_EQ(uploads.size(), 1U);
    for (const std::string &stream : uploads)
      EXPECT_FALSE(launches.contains(stream)) << stream;
    EXPECT_EQ(waits, 0) << "the host waits between batches";
  }
}
