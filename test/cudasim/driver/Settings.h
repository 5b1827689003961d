//===- Settings.h - What the environment asks for --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The variables that control the software driver (docs/cudasim.md). They are read once, when the library is
// first called. The wrapper of NVRTC reads the same ones: failures that are asked for, and the log.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_SETTINGS_H
#define WEFT_TEST_CUDASIM_DRIVER_SETTINGS_H

#include "test/cudasim/engine/Engine.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::cusim {

/// A call that has to fail without doing anything.
struct InjectedFailure {
  std::string function;
  uint64_t call = 0; ///< which call of the function, from 1
  int code = 0;      ///< what it returns
};

struct Settings {
  uint64_t devices = 1;                      ///< CUSIM_DEVICES
  uint64_t computeCapability = 90;           ///< CUSIM_CC
  uint64_t memory = uint64_t(8) << 30;       ///< CUSIM_MEM, in bytes
  bool race = false;                         ///< CUSIM_RACE
  bool eager = false;                        ///< CUSIM_EAGER
  bool leaks = false;                        ///< CUSIM_LEAKS
  uint64_t spoiltLaunch = 0;                 ///< CUSIM_SPOIL, from 1; 0 for none
  uint64_t unblockedLaunch = 0;              ///< CUSIM_UNBLOCK, from 1; 0 for none
  cudasim::Order order = {};                 ///< CUSIM_ORDER, of warps, blocks and streams
  uint64_t seed = 0;                         ///< of the shuffled order
  uint64_t cublasLtRelease = 0;              ///< CUSIM_CUBLASLT; 0: that of the header
  std::string log;                           ///< CUSIM_LOG
  std::vector<InjectedFailure> failures;     ///< CUSIM_FAIL
  std::optional<std::string> visibleDevices; ///< CUDA_VISIBLE_DEVICES
  std::string problem;                       ///< of the first variable that is not understood; or empty
};

const Settings &settings();

/// Counts a call of the function. The code that it has to return at once, if CUSIM_FAIL says so.
std::optional<int> injectedFailure(const std::string &function);

/// Adds a line to the log, if there is one.
void writeLog(const std::string &line);

/// Writes "cusim: TEXT" to standard error.
void complain(const std::string &text);

/// "0xf00000000100"
std::string hex(uint64_t value);

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_SETTINGS_H
