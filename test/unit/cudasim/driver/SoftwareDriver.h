//===- SoftwareDriver.h - The software driver in a child process ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's state and what it read of the environment are those of a process, so each test runs in a
// child. The child fills a DriverTable from the library that was built and starts the driver on a context.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CUDASIM_DRIVER_SOFTWAREDRIVER_H
#define WEFT_TEST_UNIT_CUDASIM_DRIVER_SOFTWAREDRIVER_H

#include "runtime/cuda/DriverTable.h"
#include "test/cudasim/driver/Functions.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weft::cusim {

using Environment = std::map<std::string, std::string>;

/// How a child ended and what it wrote.
struct Child {
  int exitCode = -1; ///< -1 if a signal ended it
  int signal = 0;
  std::string output;
};

/// Runs `body` in a child with these variables of the environment. The child exits with 1 if an expectation
/// failed. With an empty body it executes this program with `argument`.
Child runChild(const Environment &environment, const std::function<void()> &body,
               const std::string &argument = "");

/// Functions that the runtime does not call.
struct MoreFunctions {
#define CUSIM_FIELD(function) decltype(&::function) function = nullptr;
  CUSIM_MORE_FUNCTIONS(CUSIM_FIELD)
#undef CUSIM_FIELD
};

/// The driver as tests use it: a table, and short forms of what all of them do.
struct SoftwareDriver : runtime::DriverTable, MoreFunctions {
  SoftwareDriver();
  /// Starts the driver and makes a device's context current.
  void start(int device = 0);

  CUdeviceptr allocate(size_t bytes);
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent event();
  CUfunction kernel(const char *name);
  /// Bytes of pinned memory, as numbers.
  uint32_t *pinned(size_t count);
  /// Launches kernel `add`: adds `value` to `count` numbers.
  CUresult add(CUstream stream, CUdeviceptr numbers, uint32_t value, uint32_t count);
  /// Launches kernel `count`: each thread of a block adds 1 to the u64 at an address, by an atomic operation.
  CUresult count(CUstream stream, CUdeviceptr counter, uint32_t threads);
  /// The first number at an address, read by a stream of its own that waits for nothing.
  uint32_t read(CUdeviceptr address);
  /// Ends a capture that has to be valid, and instantiates its graph.
  CUgraphExec endCapture(CUstream stream);
  size_t nodeCount(CUgraph graph);
  const char *(*report)() = nullptr; ///< cusimReport

private:
  CUmodule module = nullptr;
};

/// What a child did, which has to end well: its output.
std::string run(const Environment &environment, const std::function<void(SoftwareDriver &)> &body);

/// PTX with the kernels `add`, `outside` (a write to address 0x1000), `stop` (a trap) and `shared` (16 bytes
/// of shared memory).
std::string kernelText(const std::string &target = "sm_75");

/// The folder with the libraries that were built.
std::string libraryFolder();

} // namespace weft::cusim

#endif // WEFT_TEST_UNIT_CUDASIM_DRIVER_SOFTWAREDRIVER_H
