//===- Host.cpp - A program that holds another LLVM and loads Weft ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: weft-guest-host LLVM_LIBRARY PLUGIN. Exit code 77: that LLVM is not installed.
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <dlfcn.h>

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  // Global, so that a library which takes symbols from elsewhere would take LLVM 14's.
  void *llvm = ::dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!llvm) {
    std::printf("skipped: %s is not installed (%s)\n", argv[1], ::dlerror());
    return 77;
  }
  using Create = void *(*)();
  using Dispose = void (*)(void *);
  const auto create = reinterpret_cast<Create>(::dlsym(llvm, "LLVMContextCreate"));
  const auto dispose = reinterpret_cast<Dispose>(::dlsym(llvm, "LLVMContextDispose"));
  if (!create || !dispose)
    return 3;
  void *context = create();
  void *plugin = ::dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) {
    std::printf("%s\n", ::dlerror());
    return 4;
  }
  const auto work = reinterpret_cast<int (*)()>(::dlsym(plugin, "weft_guest_work"));
  if (!work)
    return 5;
  const int result = work();
  // The other LLVM works as before.
  dispose(context);
  dispose(create());
  return result;
}
