//===- DriverFaults.h - Programs in which the driver fails ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDA_DRIVERFAULTS_H
#define WEFT_TEST_CUDA_DRIVERFAULTS_H

#include "test/unit/TemporaryFolder.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/frontend/Helpers.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace weft::testing {

/// Runs a part of a child's program. If it fails, writes a line with the code.
template <typename Body> bool attempt(const char *what, const Body &body) {
  try {
    body();
    return true;
  } catch (const Error &error) {
    std::printf("%s: error %s: %s\n", what, error.code().c_str(), error.what());
    return false;
  }
}

/// Runs a program once for each fault: of each function of the driver that it calls, those calls fail that
/// `chosen` names for the number of calls. `run` takes settings of the environment. The program writes
/// `works` if its last part does, which it has to unless the device is lost, and errors have a code. Returns
/// how many faults there were.
inline int tryEveryFault(const std::map<std::string, int> &calls, const std::string &works,
                         const std::function<std::set<int>(int)> &chosen,
                         const std::function<Child(const std::string &)> &run) {
  int cases = 0;
  for (const auto &[function, count] : calls)
    for (const int call : chosen(count)) {
      if (call > count || call < 1)
        continue;
      ++cases;
      SCOPED_TRACE(function + ", call " + std::to_string(call) + " of " + std::to_string(count));
      const Child child = run("CUSIM_FAIL=" + function + ":" + std::to_string(call) + ":" +
                              (function == "cuMemAlloc" ? "2" : "999"));
      EXPECT_EQ(child.code, 0) << child.output;
      // After an error of the driver that is none of the device, the next call works.
      EXPECT_TRUE(mentions(child.output, works) || mentions(child.output, "WEFT-E001")) << child.output;
      const auto codes = {"WEFT-E001", "WEFT-E006", "WEFT-E007", "WEFT-M001"};
      if (mentions(child.output, "error "))
        EXPECT_TRUE(std::ranges::any_of(codes, [&](const char *code) {
          return mentions(child.output, code);
        })) << child.output;
    }
  return cases;
}

} // namespace weft::testing

#endif // WEFT_TEST_CUDA_DRIVERFAULTS_H
