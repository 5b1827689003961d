//===- Executables.h - The handle of an executable -*- C++ -*---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CAPI_EXECUTABLES_H
#define WEFT_RUNTIME_CAPI_EXECUTABLES_H

#include "runtime/capi/Support.h"
#include "runtime/execution/StatefulExecutable.h"

#include <memory>
#include <string>
#include <vector>

struct weft_executable {
  std::shared_ptr<weft::runtime::StatefulExecutable> executable;
  std::vector<std::string> state_names; ///< sorted
};

#endif // WEFT_RUNTIME_CAPI_EXECUTABLES_H
