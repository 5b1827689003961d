//===- Driver.cpp - The driver of CUDA devices, loaded at first use -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/Driver.h"

#include "runtime/cuda/Libraries.h"

#if WEFT_CUDA
#include "runtime/cuda/DriverTable.h"

#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace weft::runtime {

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string Driver::text() const {
  const std::string least = cuda_version_text(leastVersion), found = cuda_version_text(version);
  switch (state) {
  case DriverState::ready:
    return "version " + found + ", " + std::to_string(devices) + (devices == 1 ? " device" : " devices");
  case DriverState::built_without_cuda:
    return builtWithoutCudaText;
  case DriverState::no_library:
    return "there is no driver for CUDA devices (" + problem + "): install one of CUDA " + least +
           " or newer";
  case DriverState::too_old:
    return "the driver is of CUDA " + found + ", and Weft needs that of CUDA " + least +
           " or newer: install a newer driver";
  case DriverState::no_device:
    return "the driver, of CUDA " + found +
           ", sees no device: check CUDA_VISIBLE_DEVICES, and what nvidia-smi shows";
  case DriverState::failed:
    return "the driver" + (version ? ", of CUDA " + found + "," : std::string()) +
           " does not start: " + problem + "; check what nvidia-smi shows, or reinstall the driver";
  }
  return "";
}

#if WEFT_CUDA

static_assert(CUDA_VERSION / 1000 == Driver::leastVersion / 1000,
              "the names of functions are those of the least driver's major version");

namespace {

constexpr const char *libraryName = "libcuda.so.1";

/// Fills the table; the name of a function that the library lacks, or null.
const char *fill(DriverTable &table, void *library) {
#define WEFT_LOOK_UP(function)                                                                               \
  table.function = reinterpret_cast<decltype(table.function)>(::dlsym(library, WEFT_DRIVER_NAME(function))); \
  if (!table.function)                                                                                       \
    return WEFT_DRIVER_NAME(function);
  WEFT_DRIVER_FUNCTIONS(WEFT_LOOK_UP)
#undef WEFT_LOOK_UP
  return nullptr;
}

/// The version of the library; 0 if it does not say.
int version_of(void *library) {
  auto get = reinterpret_cast<decltype(&::cuDriverGetVersion)>(
      ::dlsym(library, WEFT_DRIVER_NAME(cuDriverGetVersion)));
  int version = 0;
  return get && get(&version) == CUDA_SUCCESS ? version : 0;
}

/// Set in a child that is forked from now on.
std::atomic<bool> forked{false};
/// The process that has started the driver; 0 if none has.
std::atomic<int> process{0};

/// How many devices the driver sees, if a child process asks it; empty if that tells nothing. The library is
/// loaded here, so that the child only calls it.
std::optional<int> devices_of_child() {
  void *library = ::dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library || version_of(library) < Driver::leastVersion)
    return 0;
  const auto init = reinterpret_cast<decltype(&::cuInit)>(::dlsym(library, WEFT_DRIVER_NAME(cuInit)));
  const auto count =
      reinterpret_cast<decltype(&::cuDeviceGetCount)>(::dlsym(library, WEFT_DRIVER_NAME(cuDeviceGetCount)));
  int ends[2];
  if (!init || !count || ::pipe(ends) != 0)
    return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr unsigned mostSeconds = 30; // in which a lock that another thread held at the fork is no hang
    ::alarm(mostSeconds);
    int found = 0;
    if (init(0) != CUDA_SUCCESS || count(&found) != CUDA_SUCCESS)
      found = 0;
    const bool written = ::write(ends[1], &found, sizeof found) == sizeof found;
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  int found = 0, status = 0;
  ssize_t bytes = 0;
  do
    bytes = ::read(ends[0], &found, sizeof found);
  while (bytes < 0 && errno == EINTR);
  ::close(ends[0]);
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return bytes == sizeof found ? std::optional(found) : std::nullopt;
}

Driver load() {
  process.store(static_cast<int>(::getpid()));
  ::pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  Driver found;
  void *library = ::dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *message = ::dlerror();
    found.state = DriverState::no_library;
    found.problem = message ? message : "the loader gives no reason";
    return found;
  }
  // The version is asked first: an old driver lacks functions because it is old.
  found.version = version_of(library);
  if (found.version > 0 && found.version < Driver::leastVersion) {
    found.state = DriverState::too_old;
    return found;
  }
  static DriverTable table; // as long as the library, which stays
  found.state = DriverState::failed;
  if (const char *missing = fill(table, library)) {
    found.problem = std::string(libraryName) + " has no function " + missing;
    return found;
  }
  CUresult code = table.cuInit(0);
  if (code == CUDA_SUCCESS)
    code = table.cuDeviceGetCount(&found.devices);
  if (code == CUDA_ERROR_NO_DEVICE || (code == CUDA_SUCCESS && found.devices == 0)) {
    found.state = DriverState::no_device;
  } else if (code != CUDA_SUCCESS) {
    found.problem = cuda_error_text(table, code);
  } else {
    found.state = DriverState::ready;
    found.table = &table;
  }
  return found;
}

} // namespace

std::string cuda_error_text(const DriverTable &table, CUresult code) {
  const char *name = nullptr, *meaning = nullptr;
  std::string said = "error " + std::to_string(static_cast<int>(code));
  if (table.cuGetErrorName(code, &name) == CUDA_SUCCESS && name)
    said = name;
  if (table.cuGetErrorString(code, &meaning) == CUDA_SUCCESS && meaning)
    said += std::string(" (") + meaning + ")";
  return said;
}

const Driver &driver() {
  static const Driver found = load();
  return found;
}

int cuda_build_version() { return CUDA_VERSION; }

bool is_forked_from_driver() { return forked.load(std::memory_order_relaxed); }

int driver_process() { return process.load(std::memory_order_relaxed); }

int visible_devices() {
  static std::mutex mutex;
  static std::optional<int> found;
  const std::lock_guard lock(mutex);
  if (!driver_process() && !found)
    found = devices_of_child();
  if (!driver_process() && found)
    return *found;
  const Driver &started = driver();
  return started.state == DriverState::ready ? started.devices : 0;
}

#else

const Driver &driver() {
  static const Driver found;
  return found;
}

int cuda_build_version() { return 0; }

bool is_forked_from_driver() { return false; }

int driver_process() { return 0; }

int visible_devices() { return 0; }

#endif

} // namespace weft::runtime
