//===- Pending.h - Pending operations ---------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A flush computes the values that it is asked for, and with them everything else that is pending. Otherwise
// a loop that reads one of several values would leave the others pending, and its program would grow with
// every iteration.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_LAZY_PENDING_H
#define WEFT_FRONTEND_LAZY_PENDING_H

#include "frontend/graph/Graph.h"

namespace weft::frontend {

/// The other values that a flush of `wanted` computes: those that slots hold and that are pending, recorded
/// by this thread or by a thread that recorded one of `wanted`. Three kinds are left out: values that are
/// known to fail, values on a device that this build lacks, and values that depend on an unfinished call on
/// which `wanted` does not depend.
std::vector<Ref> pendingBeside(const std::vector<Ref> &wanted);
/// The pending values of all slots and threads, except those that are known to fail: these are added to
/// `failing`, if given.
std::vector<Ref> pendingValues(std::vector<Ref> *failing = nullptr);

/// Counts host data from which a tensor was made, because pending operations may keep it alive.
void noteHostBytes(size_t bytes);
/// Restarts the counts of this thread after a flush.
void noteFlushed();
/// Flushes this thread's values once it has recorded 4,096 operations, or 256 MiB of host data, since the
/// last flush. A loop that never reads a value then needs bounded memory. Every operation that makes or
/// writes a tensor calls this with its line. At a line where a flush was due before, an eighth of the limits
/// is enough: a loop comes by there again, so that its flushes cover whole iterations and share one program.
void flushIfLarge(Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_LAZY_PENDING_H
