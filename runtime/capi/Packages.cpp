//===- Packages.cpp - Packages in the C interface -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Packages.h"

#include "runtime/execution/StatefulExecutable.h"

using namespace weft;
using namespace weft::capi;

namespace {

Status make_handle(Expected<std::shared_ptr<const runtime::Package>> package,
                   const weft_package_options *options, weft_package **out) {
  if (!package)
    return package.status();
  if (options) {
    const Expected<weft_package_options> known = read_struct(options, "options");
    if (!known)
      return known.status();
    if (known->verify)
      for (const std::string &name : (*package)->names())
        if (const auto section = (*package)->section(name); !section)
          return section.status();
  }
  auto made = std::make_unique<weft_package>();
  made->functions = runtime::package_functions(**package);
  made->package = *std::move(package);
  *out = made.release();
  return {};
}

/// The signature of a function, read at its first use.
Expected<const runtime::Signature *> signature_of(const weft_package *package, const char *function) {
  if (Status status = require(package, "package"); !status)
    return status;
  if (Status status = require(function, "function"); !status)
    return status;
  const std::lock_guard lock(package->mutex);
  const auto found = package->signatures.find(function);
  if (found != package->signatures.end())
    return &found->second;
  Expected<runtime::Signature> signature = runtime::read_signature(*package->package, function);
  if (!signature)
    return signature.status();
  return &package->signatures.emplace(function, *std::move(signature)).first->second;
}

template <typename List>
weft_status count_of(const weft_package *package, const char *function, List runtime::Signature::*list,
                     size_t *count) {
  return guarded([&]() -> Status {
    if (Status status = require(count, "count"); !status)
      return status;
    const Expected<const runtime::Signature *> signature = signature_of(package, function);
    if (!signature)
      return signature.status();
    *count = ((**signature).*list).size();
    return {};
  });
}

template <typename List>
weft_status entry_of(const weft_package *package, const char *function, List runtime::Signature::*list,
                     const char *what, size_t index, weft_tensor_info *info) {
  return guarded([&]() -> Status {
    const Expected<const runtime::Signature *> signature = signature_of(package, function);
    if (!signature)
      return signature.status();
    const List &entries = (**signature).*list;
    if (index >= entries.size())
      return out_of_range(what, index, entries.size());
    return write_struct(info, info_of(entries[index]), "info");
  });
}

} // namespace

weft_status weft_package_open(const char *path, const weft_package_options *options, weft_package **package) {
  return guarded([&]() -> Status {
    if (Status status = require(path, "path"); !status)
      return status;
    if (Status status = require(package, "package"); !status)
      return status;
    return make_handle(runtime::Package::open(path), options, package);
  });
}

weft_status weft_package_open_memory(const void *data, size_t bytes, const weft_package_options *options,
                                     weft_package **package) {
  return guarded([&]() -> Status {
    if (Status status = require(data, "data"); !status)
      return status;
    if (Status status = require(package, "package"); !status)
      return status;
    const auto *first = static_cast<const std::byte *>(data);
    return make_handle(runtime::Package::from_memory({first, first + bytes}), options, package);
  });
}

void weft_package_close(weft_package *package) { delete package; }

weft_status weft_package_function_count(const weft_package *package, size_t *count) {
  return guarded([&]() -> Status {
    if (Status status = require(package, "package"); !status)
      return status;
    if (Status status = require(count, "count"); !status)
      return status;
    *count = package->functions.size();
    return {};
  });
}

weft_status weft_package_function_name(const weft_package *package, size_t index, const char **name) {
  return guarded([&]() -> Status {
    if (Status status = require(package, "package"); !status)
      return status;
    if (Status status = require(name, "name"); !status)
      return status;
    if (index >= package->functions.size())
      return out_of_range("function", index, package->functions.size());
    *name = package->functions[index].c_str();
    return {};
  });
}

weft_status weft_package_argument_count(const weft_package *package, const char *function, size_t *count) {
  return count_of(package, function, &runtime::Signature::arguments, count);
}
weft_status weft_package_argument(const weft_package *package, const char *function, size_t index,
                                  weft_tensor_info *info) {
  return entry_of(package, function, &runtime::Signature::arguments, "argument", index, info);
}
weft_status weft_package_result_count(const weft_package *package, const char *function, size_t *count) {
  return count_of(package, function, &runtime::Signature::results, count);
}
weft_status weft_package_result(const weft_package *package, const char *function, size_t index,
                                weft_tensor_info *info) {
  return entry_of(package, function, &runtime::Signature::results, "result", index, info);
}
