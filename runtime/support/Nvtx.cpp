//===- Nvtx.cpp - Ranges in the timelines of NVIDIA's tools -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Nvtx.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

namespace weft::runtime {
namespace {

using Function = void (*)();

/// Places for the functions of a module, by their numbers in NVTX's interface; 0 is no function. A tool gets
/// the addresses of the places, and writes its functions there.
template <size_t count> struct Functions {
  std::array<Function, count> functions = {};
  std::array<Function *, count> places = {};
  Functions() {
    for (size_t i = 1; i < count; ++i)
      places[i] = &functions[i];
  }
  bool give(Function ***table, unsigned *size) {
    if (table)
      *table = places.data();
    if (size)
      *size = static_cast<unsigned>(count);
    return true;
  }
};

/// The numbers of functions in the core module.
enum CoreFunction : uint8_t { markA = 2, rangePushA = 9, rangePop = 11 };
enum Module : int { core = 1, cudaDriver = 2, openCl = 3, cudaRuntime = 4, domains = 5, synchronization = 6 };
enum ExportTable : uint32_t { callbacks = 1, versionInfo = 3 };

/// A tool expects all modules of NVTX 3, and sets what it wants. Weft calls those of the core.
struct Modules {
  Functions<16> core, domains;
  Functions<9> cuda_driver;
  Functions<16> open_cl;
  Functions<7> cuda_runtime, synchronization;
};

Modules &modules() {
  static auto *const all = new Modules;
  return *all;
}

int get_module(int module, Function ***table, unsigned *size) {
  Modules &all = modules();
  switch (module) {
  case Module::core:
    return all.core.give(table, size);
  case Module::cudaDriver:
    return all.cuda_driver.give(table, size);
  case Module::openCl:
    return all.open_cl.give(table, size);
  case Module::cudaRuntime:
    return all.cuda_runtime.give(table, size);
  case Module::domains:
    return all.domains.give(table, size);
  case Module::synchronization:
    return all.synchronization.give(table, size);
  default:
    return 0;
  }
}

struct Callbacks {
  size_t bytes = sizeof(Callbacks);
  int (*get_module_functions)(int module, Function ***table, unsigned *size) = get_module;
};

struct Version {
  size_t bytes = sizeof(Version);
  uint32_t version = 3, reserved = 0;
  void (*write)() = nullptr; ///< set by the tool
};

const void *export_table(uint32_t which) {
  static const Callbacks functions;
  static Version version;
  return which == ExportTable::callbacks     ? static_cast<const void *>(&functions)
         : which == ExportTable::versionInfo ? static_cast<const void *>(&version)
                                             : nullptr;
}

/// Opens the tool's library, and lets it set its functions.
bool open_tool() {
  const char *const path = std::getenv("NVTX_INJECTION64_PATH");
  if (!path || !*path)
    return false;
  void *const library = ::dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  using Initialize = int (*)(const void *(*)(uint32_t));
  const auto initialize =
      library ? reinterpret_cast<Initialize>(::dlsym(library, "InitializeInjectionNvtx2")) : nullptr;
  if (initialize && initialize(export_table))
    return true;
  const char *const error = ::dlerror();
  std::fprintf(stderr,
               "weft: NVTX_INJECTION64_PATH is '%s', which is no library of a profiling tool: %s; nothing is "
               "told to a tool\n",
               path, error ? error : "its InitializeInjectionNvtx2 refused");
  if (library)
    (void)::dlclose(library);
  return false;
}

template <typename As> As core_function(CoreFunction number) {
  return reinterpret_cast<As>(modules().core.functions[number]);
}

} // namespace

std::atomic<Nvtx::State> Nvtx::state_{Nvtx::State::unknown};

bool Nvtx::attach() {
  static auto *const mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  if (state_.load(std::memory_order_relaxed) == State::unknown)
    state_.store(open_tool() ? State::on : State::off, std::memory_order_release);
  return state_.load(std::memory_order_relaxed) == State::on;
}

int Nvtx::push(const char *name) {
  const auto function = enabled() ? core_function<int (*)(const char *)>(rangePushA) : nullptr;
  return function ? function(name) : noDepth;
}

int Nvtx::pop() {
  const auto function = enabled() ? core_function<int (*)()>(rangePop) : nullptr;
  return function ? function() : noDepth;
}

void Nvtx::mark(const char *name) {
  if (const auto function = enabled() ? core_function<void (*)(const char *)>(markA) : nullptr)
    function(name);
}

} // namespace weft::runtime
