//===- Exports.cpp - The functions that the library exports --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each exported function is made from the one that does its work. It takes the lock, writes the log, fails if
// CUSIM_FAIL says so, and checks that the driver is started, that the thread has a context, and that the
// context is not poisoned. In this file an exported symbol has no parameters: it is an indirect function, for
// which the loader asks a resolver.
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Capture.h"
#include "test/cudasim/driver/Functions.h"
#include "test/cudasim/driver/LogText.h"
#include "test/cudasim/driver/Settings.h"

#include <algorithm>
#include <dlfcn.h>
#include <new>
#include <string_view>
#include <type_traits>

#define EXPORTED __attribute__((visibility("default")))

namespace weft::cusim {
namespace {

/// Functions that may be called before cuInit.
constexpr std::string_view withoutStart[] = {"cuInit",           "cuDriverGetVersion", "cuGetErrorName",
                                             "cuGetErrorString", "cuGetExportTable",   "cuGetProcAddress"};
/// Functions that need no context, and that work if the context is poisoned.
constexpr std::string_view withoutContext[] = {"cuDeviceGetCount",
                                               "cuDeviceGet",
                                               "cuDeviceGetName",
                                               "cuDeviceGetAttribute",
                                               "cuDeviceTotalMem",
                                               "cuDeviceGetUuid",
                                               "cuDeviceGetDefaultMemPool",
                                               "cuDevicePrimaryCtxRetain",
                                               "cuDevicePrimaryCtxRelease",
                                               "cuCtxSetCurrent",
                                               "cuCtxGetCurrent",
                                               "cuMemPoolCreate",
                                               "cuMemPoolDestroy",
                                               "cuMemPoolSetAttribute",
                                               "cuMemPoolGetAttribute",
                                               "cuMemPoolTrimTo",
                                               "cuPointerGetAttribute",
                                               "cuLibraryLoadData",
                                               "cuLibraryUnload",
                                               "cuLibraryGetKernel",
                                               "cuGraphCreate",
                                               "cuGraphDestroy",
                                               "cuGraphAddEmptyNode",
                                               "cuGraphAddChildGraphNode",
                                               "cuGraphAddDependencies",
                                               "cuGraphGetNodes",
                                               "cuGraphNodeGetType",
                                               "cuGraphNodeGetDependencies",
                                               "cuThreadExchangeStreamCaptureMode"};
/// Functions that allocate or wait outside of streams, which a capture may forbid.
constexpr std::string_view unsafe[] = {"cuMemAlloc",        "cuMemFree",         "cuMemHostAlloc",
                                       "cuMemFreeHost",     "cuMemHostRegister", "cuMemHostUnregister",
                                       "cuGraphInstantiate"};

/// Which arguments of a function may be null, a bit each, from the lowest for the first. Others that are
/// addresses are refused if they are.
struct Nullable {
  std::string_view function;
  unsigned arguments;
};
constexpr Nullable nullable[] = {{"cuGetProcAddress", 0b10000},
                                 {"cuCtxGetStreamPriorityRange", 0b11},
                                 {"cuMemFreeHost", 0b1},
                                 {"cuMemcpyHtoDAsync", 0b10}, // if there are no bytes
                                 {"cuMemcpyDtoHAsync", 0b1},
                                 {"cuLaunchHostFunc", 0b100},
                                 {"cuLibraryLoadData", 0b1101100},
                                 {"cuModuleLoadDataEx", 0b11000},
                                 {"cuLaunchKernelEx", 0b1100},
                                 {"cuStreamEndCapture", 0b10},
                                 {"cuStreamGetCaptureInfo", 0b1111100},
                                 {"cuGraphAddKernelNode", 0b100}, // if there are no nodes before it
                                 {"cuGraphAddMemcpyNode", 0b100},
                                 {"cuGraphAddMemsetNode", 0b100},
                                 {"cuGraphAddEmptyNode", 0b100},
                                 {"cuGraphAddChildGraphNode", 0b100},
                                 {"cuGraphAddNode", 0b1100},
                                 {"cuGraphAddDependencies", 0b1110},
                                 {"cuGraphGetNodes", 0b10},
                                 {"cuGraphNodeGetDependencies", 0b110},
                                 {"cuGetExportTable", 0b10}};

/// Whether an argument is an address of the program's, and no handle, which points to a type that nobody
/// knows, and no function.
template <class T, class = void> constexpr bool isAddress = false;
template <class T> constexpr bool isAddress<T *, std::void_t<decltype(sizeof(T))>> = !std::is_function_v<T>;
template <> constexpr bool isAddress<void *> = true;
template <> constexpr bool isAddress<const void *> = true;

/// Refuses an address that is null and must not be.
template <class... Arguments> CUresult checkAddresses(std::string_view function, Arguments... arguments) {
  unsigned optional = 0, number = 0;
  for (const Nullable &one : nullable)
    if (one.function == function)
      optional = one.arguments;
  CUresult code = CUDA_SUCCESS;
  const auto look = [&](auto argument) {
    if constexpr (isAddress<decltype(argument)>)
      if (!argument && !(optional >> number & 1) && code == CUDA_SUCCESS)
        code = refuse(CUDA_ERROR_INVALID_VALUE, "argument " + std::to_string(number + 1) + " is null");
    ++number;
  };
  (look(arguments), ...);
  return code;
}

template <size_t count> bool contains(const std::string_view (&names)[count], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Why a function may not run now; CUDA_SUCCESS if it may.
CUresult check(std::string_view function) {
  if (contains(withoutStart, function))
    return CUDA_SUCCESS;
  if (!state().isStarted())
    return refuse(CUDA_ERROR_NOT_INITIALIZED, "call cuInit first");
  if (contains(withoutContext, function))
    return CUDA_SUCCESS;
  const CUresult code = checkContext();
  return code == CUDA_SUCCESS && contains(unsafe, function) ? checkSafe() : code;
}

/// The function that is exported, made from `implementation`; Name::text is its name in the sources.
template <auto implementation, class Name> struct Entry;
template <class... Arguments, CUresult (*implementation)(Arguments...), class Name>
struct Entry<implementation, Name> {
  static CUresult call(Arguments... arguments) {
    if (Schedule::isInHostFunction()) {
      complain(std::string(Name::text) + ": a host function may not call the driver");
      return CUDA_ERROR_NOT_PERMITTED;
    }
    State &all = state();
    Schedule::Lock lock(all.mutex);
    currentCall() = {Name::text, ++all.calls, &lock};
    const std::optional<int> injected = injectedFailure(Name::text);
    // The objects of a call that destroys them have names only before it.
    std::vector<std::string> texts;
    if (!settings().log.empty())
      texts = {logText(arguments)...};
    CUresult code = injected ? static_cast<CUresult>(*injected) : check(Name::text);
    if (code == CUDA_SUCCESS && !injected)
      code = checkAddresses(Name::text, arguments...);
    if (code == CUDA_SUCCESS && !injected) {
      try {
        code = implementation(arguments...);
      } catch (const std::bad_alloc &) {
        code = refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory left");
      }
    }
    if (!settings().log.empty()) {
      const std::vector<std::string> results{(code == CUDA_SUCCESS ? resultText(arguments) : "")...};
      writeLog(callText(Name::text, texts, results) + " = " + std::to_string(int(code)) +
               (injected ? " by CUSIM_FAIL" : ""));
    }
    return code;
  }
};

} // namespace

namespace functions {

/// NVRTC asks for private tables and goes on without them.
CUresult cuGetExportTable(const void **table, const CUuuid *) {
  if (!table)
    return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

/// Functions are looked up by the names of this library's symbols, or by those of the sources.
CUresult cuGetProcAddress(const char *symbol, void **address, int, cuuint64_t,
                          CUdriverProcAddressQueryResult *status) {
  if (!symbol || !address)
    return CUDA_ERROR_INVALID_VALUE;
  const char *name = symbol;
#define CUSIM_RENAME(function)                                                                               \
  if (std::string_view(symbol) == #function)                                                                 \
    name = WEFT_DRIVER_NAME(function);
  CUSIM_FUNCTIONS(CUSIM_RENAME)
#undef CUSIM_RENAME
  Dl_info self;
  void *library = ::dladdr(reinterpret_cast<const void *>(&state), &self)
                      ? ::dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD)
                      : nullptr;
  *address = library ? ::dlsym(library, name) : nullptr;
  if (library)
    ::dlclose(library);
  if (status)
    *status = *address ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *address ? CUDA_SUCCESS : refuse(CUDA_ERROR_NOT_FOUND, std::string("there is no ") + symbol);
}

} // namespace functions
} // namespace weft::cusim

#define CUSIM_EXPORT(function)                                                                               \
  namespace {                                                                                                \
  struct CusimNameOf_##function {                                                                            \
    static constexpr const char *text = #function;                                                           \
  };                                                                                                         \
  }                                                                                                          \
  extern "C" void *cusim_resolve_##function() {                                                              \
    return reinterpret_cast<void *>(                                                                         \
        &weft::cusim::Entry<&weft::cusim::functions::function, CusimNameOf_##function>::call);               \
  }                                                                                                          \
  extern "C" EXPORTED void cusim_export_##function() __asm__(WEFT_DRIVER_NAME(function))                     \
      __attribute__((ifunc("cusim_resolve_" #function)));
CUSIM_FUNCTIONS(CUSIM_EXPORT)
#undef CUSIM_EXPORT

/// What the program made and has not destroyed, a line each; the text stays until the next call.
extern "C" EXPORTED const char *cusimReport() {
  static std::string text;
  std::lock_guard<std::mutex> lock(weft::cusim::state().mutex);
  text = weft::cusim::state().leaks();
  return text.c_str();
}
