//===- Memory.h - Requests for memory that fail ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_FRONTEND_MEMORY_H
#define WEFT_TEST_FRONTEND_MEMORY_H

#include <gtest/gtest.h>

/// This program's operator new, which is in front of that of the C++ library.
namespace memory {
/// Every request of this thread fails.
extern thread_local bool refusesAll;
/// One request of this thread fails, after this many that do not; -1 for none.
extern thread_local long failsAfter;
} // namespace memory

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SKIP_WITHOUT_FAULTS() GTEST_SKIP() << "a sanitizer has an operator new of its own"
#else
#define SKIP_WITHOUT_FAULTS() (void)0
#endif

#endif // WEFT_TEST_FRONTEND_MEMORY_H
