//===- Lazy.h - Runs pending operations -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_LAZY_LAZY_H
#define WEFT_FRONTEND_LAZY_LAZY_H

#include "frontend/graph/Graph.h"

#include <functional>

namespace weft::frontend {

/// Computes these values, and others that are pending (Pending.h). Throws Error if one of these values fails.
/// If an operation failed on its data, the writes of values that depend on it are undone.
void flush(const std::vector<Ref> &values);
/// The same, but returns whether it succeeded. A value that failed stays pending, and no write is undone,
/// until the program reads the value.
bool tryFlush(const std::vector<Ref> &values);
/// Computes those of these values that do not fail, and intermediate values that a slot holds. Returns
/// whether none failed.
bool tryCompute(std::vector<Ref> values);
/// Throws the Error of a value that this build cannot compute.
[[noreturn]] void failWithoutDevice(const Ref &value, Loc loc);
/// Computes everything that is pending, then calls `wait`. Throws the first failure that was not reported
/// yet, after the writes that depend on it are undone.
void synchronizeAfter(const std::function<Status()> &wait);
/// Computes every pending value.
void flushAll();
} // namespace weft::frontend

#endif // WEFT_FRONTEND_LAZY_LAZY_H
