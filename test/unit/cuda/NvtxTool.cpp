//===- NvtxTool.cpp - A tool that writes down what NVTX tells it ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library for NVTX_INJECTION64_PATH, by NVIDIA's protocol. It appends a line for each range and mark to the
// file that NVTX_TOOL_LOG names, with as many blanks as there are ranges around it.
//
//===----------------------------------------------------------------------===//
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using Function = void (*)();
struct Callbacks {
  size_t bytes;
  int (*getModuleFunctions)(int module, Function ***table, unsigned *size);
};
struct Version {
  size_t bytes;
  uint32_t version, reserved;
  void (*write)();
};

std::FILE *file = nullptr;
thread_local int depth = 0;

int push(const char *name) {
  std::fprintf(file, "%*spush %s\n", depth, "", name);
  return depth++;
}
int pop() {
  if (depth == 0)
    return -1;
  std::fprintf(file, "%*spop\n", --depth, "");
  std::fflush(file);
  return depth;
}
void mark(const char *name) { std::fprintf(file, "%*smark %s\n", depth, "", name); }

} // namespace

/// Takes the functions of the core module, if the tables have the form of NVTX 3.
extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*getExportTable)(uint32_t)) {
  const auto *const version = static_cast<const Version *>(getExportTable(3));
  const auto *const callbacks = static_cast<const Callbacks *>(getExportTable(1));
  if (!version || version->bytes != sizeof(Version) || version->version != 3 || !callbacks ||
      callbacks->bytes < sizeof(Callbacks) || getExportTable(99))
    return 0;
  const unsigned sizes[] = {0, 16, 9, 16, 7, 16, 7};
  for (int module = 1; module < 7; ++module) {
    Function **table = nullptr;
    unsigned size = 0;
    if (!callbacks->getModuleFunctions(module, &table, &size) || size != sizes[module] || table[0] ||
        !table[size - 1])
      return 0;
  }
  if (callbacks->getModuleFunctions(7, nullptr, nullptr))
    return 0;
  const char *const path = std::getenv("NVTX_TOOL_LOG");
  file = path ? std::fopen(path, "w") : nullptr;
  if (!file)
    return 0;
  Function **table = nullptr;
  callbacks->getModuleFunctions(1, &table, nullptr);
  *table[2] = reinterpret_cast<Function>(mark);
  *table[9] = reinterpret_cast<Function>(push);
  *table[11] = reinterpret_cast<Function>(pop);
  return 1;
}
