//===- Lazy.h - Runs what is pending ----------------------------------------===//
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

/// Computes these values, and what else is pending (Pending.h). Throws Error where one of these fails: where
/// data made an operation fail, every slot that was written with what follows from it holds what it held
/// before.
void flush(const std::vector<Ref> &values);
/// Whether the same succeeded. What fails stays pending, with what was written, until somebody reads it.
bool tryFlush(const std::vector<Ref> &values);
/// Computes as many of these values as do not fail, and every value that a slot holds on the way to them.
/// Whether that was all of them.
bool tryCompute(std::vector<Ref> values);
/// Throws the Error of a value that this build cannot compute.
[[noreturn]] void failWithoutCuda(const Ref &value, Loc loc);
/// Throws WEFT-E001 for a device that this build has no backend for.
void requireBackend(const Device &device, Loc loc);
/// Computes the same and waits as `wait` does. Throws the first failure that the program was not told of,
/// after what follows from it is undone.
void synchronizeAfter(const std::function<Status()> &wait);
/// Computes everything that any slot waits for.
void flushAll();
} // namespace weft::frontend

#endif // WEFT_FRONTEND_LAZY_LAZY_H
