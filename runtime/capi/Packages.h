//===- Packages.h - The handle of a package -*- C++ -*----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CAPI_PACKAGES_H
#define WEFT_RUNTIME_CAPI_PACKAGES_H

#include "runtime/capi/Support.h"

#include "runtime/package/Package.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

struct weft_package {
  std::shared_ptr<const weft::runtime::Package> package;
  std::vector<std::string> functions;
  mutable std::mutex mutex; ///< guards what follows
  mutable std::map<std::string, weft::runtime::Signature, std::less<>> signatures;
};

#endif // WEFT_RUNTIME_CAPI_PACKAGES_H
