//===- NvrtcWrapper.cpp - A libnvrtc.so.13 that keeps the PTX ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function calls that of the real library, whose file is in CUSIM_NVRTC. A CUBIN gets the PTX of the
// same compilation behind it (Trailer.h), so that the software driver can run it. The log and the failures
// that CUSIM_FAIL asks for are those of the driver. CUSIM_NVRTC_OPTIONS adds options to each compilation.
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Settings.h"
#include "test/cudasim/driver/Trailer.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <iterator>
#include <nvrtc.h>
#include <sstream>
#include <string>
#include <vector>

#define EXPORTED __attribute__((visibility("default")))
// Through a second macro, so that a name that the header replaces is the one in the library.
#define CUSIM_NAME(function) CUSIM_QUOTE(function)
#define CUSIM_QUOTE(function) #function

// clang-format off
#define CUSIM_NVRTC_FORWARDED(X)                                                                             \
  X(nvrtcVersion) X(nvrtcGetNumSupportedArchs) X(nvrtcGetSupportedArchs) X(nvrtcCreateProgram)               \
  X(nvrtcDestroyProgram) X(nvrtcGetPTXSize) X(nvrtcGetPTX) X(nvrtcGetLTOIRSize)                              \
  X(nvrtcGetLTOIR) X(nvrtcGetOptiXIRSize) X(nvrtcGetOptiXIR) X(nvrtcGetProgramLogSize)                       \
  X(nvrtcGetProgramLog) X(nvrtcAddNameExpression) X(nvrtcGetLoweredName) X(nvrtcGetPCHHeapSize)              \
  X(nvrtcSetPCHHeapSize) X(nvrtcGetPCHCreateStatus) X(nvrtcGetPCHHeapSizeRequired) X(nvrtcSetFlowCallback)
// clang-format on

namespace weft::cusim {
namespace {

/// The library of built-in functions has no path of its own, and is found if it is loaded already.
void openBuiltins(const std::string &library) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(library).parent_path();
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with("libnvrtc-builtins.so."))
      ::dlopen(entry->path().c_str(), RTLD_NOW | RTLD_GLOBAL);
}

/// The real library. Without it nothing can be done, and a function that returns a text has no way to say so.
void *library() {
  static void *const opened = [] {
    const char *file = std::getenv("CUSIM_NVRTC");
    if (!file || !*file) {
      complain("CUSIM_NVRTC is not set: it must name the file of NVRTC's libnvrtc.so.13");
      return static_cast<void *>(nullptr);
    }
    openBuiltins(file);
    void *found = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!found)
      complain("NVRTC, which CUSIM_NVRTC names, is not loaded: " + std::string(::dlerror()));
    return found;
  }();
  return opened;
}

template <class Signature> Signature *real(const char *name) {
  void *found = library() ? ::dlsym(library(), name) : nullptr;
  if (library() && !found)
    complain(std::string("NVRTC has no function ") + name + ": CUSIM_NVRTC names another version");
  return reinterpret_cast<Signature *>(found);
}

#define CUSIM_REAL(function) real<decltype(::function)>(CUSIM_NAME(function))

/// Calls `act` unless CUSIM_FAIL says that this call fails, and writes the log.
template <class Act> nvrtcResult enter(const char *name, Act act) {
  const std::optional<int> injected = injectedFailure(name);
  const nvrtcResult code = injected ? static_cast<nvrtcResult>(*injected) : act();
  writeLog(std::string(name) + " = " + std::to_string(int(code)) + (injected ? " by CUSIM_FAIL" : ""));
  return code;
}

template <class Name, class Signature> struct Forward;
template <class Name, class... Arguments> struct Forward<Name, nvrtcResult(Arguments...)> {
  static nvrtcResult call(Arguments... arguments) {
    return enter(Name::source, [&] {
      static auto *const function = real<nvrtcResult(Arguments...)>(Name::symbol);
      return function ? function(arguments...) : NVRTC_ERROR_INTERNAL_ERROR;
    });
  }
};

/// The PTX of a program, without the zero behind it.
nvrtcResult ptxOf(nvrtcProgram program, std::string &ptx) {
  auto *size = CUSIM_REAL(nvrtcGetPTXSize);
  auto *get = CUSIM_REAL(nvrtcGetPTX);
  size_t bytes = 0;
  if (!size || !get)
    return NVRTC_ERROR_INTERNAL_ERROR;
  nvrtcResult code = size(program, &bytes);
  ptx.resize(bytes);
  if (code == NVRTC_SUCCESS && bytes)
    code = get(program, ptx.data());
  while (!ptx.empty() && ptx.back() == '\0')
    ptx.pop_back();
  return code;
}

nvrtcResult sizeWithTrailer(nvrtcProgram program, size_t *bytes) {
  auto *size = CUSIM_REAL(nvrtcGetCUBINSize);
  const nvrtcResult code = size ? size(program, bytes) : NVRTC_ERROR_INTERNAL_ERROR;
  if (code != NVRTC_SUCCESS || !*bytes) // a program for a virtual architecture has no CUBIN
    return code;
  std::string ptx;
  const nvrtcResult ptxCode = ptxOf(program, ptx);
  *bytes += trailerHeadBytes + ptx.size();
  return ptxCode;
}

nvrtcResult cubinWithTrailer(nvrtcProgram program, char *to) {
  auto *size = CUSIM_REAL(nvrtcGetCUBINSize);
  auto *get = CUSIM_REAL(nvrtcGetCUBIN);
  size_t bytes = 0;
  if (!size || !get)
    return NVRTC_ERROR_INTERNAL_ERROR;
  nvrtcResult code = size(program, &bytes);
  if (code == NVRTC_SUCCESS)
    code = get(program, to);
  std::string ptx;
  if (code == NVRTC_SUCCESS && bytes)
    code = ptxOf(program, ptx);
  if (code != NVRTC_SUCCESS || !bytes)
    return code;
  const uint64_t length = ptx.size();
  to = static_cast<char *>(std::memcpy(to + bytes, trailerMark.data(), trailerMark.size())) +
       trailerMark.size();
  to = static_cast<char *>(std::memcpy(to, &length, sizeof length)) + sizeof length;
  std::memcpy(to, ptx.data(), ptx.size());
  return code;
}

/// The options that CUSIM_NVRTC_OPTIONS adds, which has blanks between them.
const std::vector<std::string> &moreOptions() {
  static const std::vector<std::string> options = [] {
    const char *text = std::getenv("CUSIM_NVRTC_OPTIONS");
    std::istringstream words(text ? text : "");
    return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
  }();
  return options;
}

nvrtcResult compileWithOptions(nvrtcProgram program, int count, const char *const *options) {
  std::vector<const char *> all(options, options + count);
  for (const std::string &option : moreOptions())
    all.push_back(option.c_str());
  auto *compile = CUSIM_REAL(nvrtcCompileProgram);
  return compile ? compile(program, static_cast<int>(all.size()), all.data()) : NVRTC_ERROR_INTERNAL_ERROR;
}

} // namespace
} // namespace weft::cusim

#define CUSIM_FORWARD(function)                                                                              \
  namespace {                                                                                                \
  struct cusim_name_##function {                                                                             \
    static constexpr const char *source = #function, *symbol = CUSIM_NAME(function);                         \
  };                                                                                                         \
  }                                                                                                          \
  extern "C" void *cusim_resolve_##function() {                                                              \
    return reinterpret_cast<void *>(                                                                         \
        &weft::cusim::Forward<cusim_name_##function, decltype(::function)>::call);                           \
  }                                                                                                          \
  extern "C" EXPORTED void cusim_export_##function() __asm__(CUSIM_NAME(function))                           \
      __attribute__((ifunc("cusim_resolve_" #function)));
CUSIM_NVRTC_FORWARDED(CUSIM_FORWARD)
#undef CUSIM_FORWARD

extern "C" EXPORTED nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count,
                                                    const char *const *options) {
  return weft::cusim::enter("nvrtcCompileProgram",
                            [&] { return weft::cusim::compileWithOptions(program, count, options); });
}

extern "C" EXPORTED nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
  return weft::cusim::enter("nvrtcGetCUBINSize",
                            [&] { return weft::cusim::sizeWithTrailer(program, bytes); });
}

extern "C" EXPORTED nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *to) {
  return weft::cusim::enter("nvrtcGetCUBIN", [&] { return weft::cusim::cubinWithTrailer(program, to); });
}

extern "C" EXPORTED const char *nvrtcGetErrorString(nvrtcResult code) {
  auto *function = weft::cusim::real<const char *(nvrtcResult)>("nvrtcGetErrorString");
  return function ? function(code) : "NVRTC is not loaded: set CUSIM_NVRTC to its libnvrtc.so.13";
}
