//===- Memory.cpp - Requests for memory that fail ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Memory.h"

#include <cstdlib>
#include <new>

thread_local bool memory::refusesAll = false;
thread_local long memory::failsAfter = -1;

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
void *operator new(size_t bytes) {
  const bool fails = memory::refusesAll || memory::failsAfter == 0;
  if (memory::failsAfter >= 0)
    --memory::failsAfter;
  void *found = fails ? nullptr : std::malloc(bytes ? bytes : 1);
  if (!found)
    throw std::bad_alloc();
  return found;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif
