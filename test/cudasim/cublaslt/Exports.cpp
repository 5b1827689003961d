//===- Exports.cpp - The functions that the library exports --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in the driver, each exported function is made from the one that does its work. It finds the driver,
// fails if CUSIM_FAIL says so, and writes the log.
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/cublaslt/Library.h"
#include "test/cudasim/driver/Settings.h"

#include <dlfcn.h>
#include <new>
#include <type_traits>
#include <vector>

#define EXPORTED __attribute__((visibility("default")))

namespace weft::cusim::lt {

const Extension *driver() {
  static const Extension *const found = [] {
    // A program may have loaded the driver by its path, and so that no other library sees it.
    void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
      library = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto *extension =
        library ? reinterpret_cast<decltype(&cusimExtension)>(::dlsym(library, "cusimExtension")) : nullptr;
    if (!extension)
      complain(std::string("this libcublasLt.so.13 works with the software driver alone, and ") +
               (library ? "another libcuda.so.1 is loaded" : "no libcuda.so.1 is found"));
    return extension ? extension() : nullptr;
  }();
  return found;
}

Status refuse(Status status, const std::string &why) {
  driver()->complain(why.c_str());
  return status;
}

namespace {

std::string describe(const void *value) {
  char text[64];
  driver()->describe(value, text, sizeof text);
  return text;
}

/// An argument as the log shows it.
template <class T> std::string logText(T value) {
  if constexpr (std::is_same_v<T, Stream>)
    return value ? describe(value) : "stream 0";
  else if constexpr (std::is_pointer_v<T>)
    return describe(static_cast<const void *>(value));
  else if constexpr (std::is_enum_v<T>)
    return std::to_string(static_cast<long long>(value));
  else
    return std::to_string(value);
}

/// The object that a call made; otherwise empty.
template <class T> std::string resultText(T value) {
  if constexpr (std::is_same_v<T, Handle *> || std::is_same_v<T, MatmulDesc *> ||
                std::is_same_v<T, MatrixLayout *> || std::is_same_v<T, MatmulPreference *>)
    return value ? "-> " + describe(*value) : "";
  return "";
}

/// The function that is exported, made from `implementation`.
template <auto implementation, class Name> struct Entry;
template <class Result, class... Arguments, Result (*implementation)(Arguments...), class Name>
struct Entry<implementation, Name> {
  static Result call(Arguments... arguments) {
    if constexpr (std::is_same_v<Result, Status>) {
      if (!driver() || !driver()->begin(Name::text))
        return Status::not_initialized;
      const std::optional<int> injected = injectedFailure(Name::text);
      const bool logs = !settings().log.empty();
      std::vector<std::string> texts, results;
      if (logs)
        texts = {logText(arguments)...};
      Status status{};
      try {
        status = injected ? static_cast<Status>(*injected) : implementation(arguments...);
      } catch (const std::bad_alloc &) {
        status = refuse(Status::alloc_failed, "the host has no memory left");
      }
      if (logs && status == Status::success)
        results = {resultText(arguments)...};
      if (logs)
        log(texts, results, status, injected.has_value());
      return status;
    } else {
      return implementation(arguments...); // of no object, and never refused
    }
  }

  static void log(const std::vector<std::string> &texts, const std::vector<std::string> &results,
                  Status status, bool isInjected) {
    std::string line = std::string(Name::text) + "(";
    for (size_t k = 0; k < texts.size(); ++k)
      line += (k ? ", " : "") + (results.empty() || results[k].empty() ? texts[k] : results[k]);
    writeLog(line + ") = " + std::to_string(int(status)) + (isInjected ? " by CUSIM_FAIL" : ""));
  }
};

} // namespace
} // namespace weft::cusim::lt

#define CUSIM_EXPORT(function, result, parameters)                                                           \
  namespace {                                                                                                \
  struct CusimNameOf_##function {                                                                            \
    [[maybe_unused]] static constexpr const char *text = #function;                                          \
  };                                                                                                         \
  }                                                                                                          \
  extern "C" void *cusim_resolve_##function() {                                                              \
    return reinterpret_cast<void *>(                                                                         \
        &weft::cusim::lt::Entry<&weft::cusim::lt::functions::function, CusimNameOf_##function>::call);       \
  }                                                                                                          \
  extern "C" EXPORTED void cusim_export_##function() __asm__(#function)                                      \
      __attribute__((ifunc("cusim_resolve_" #function)));
WEFT_CUBLASLT_FUNCTIONS(CUSIM_EXPORT)
#undef CUSIM_EXPORT
