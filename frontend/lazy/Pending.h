//===- Pending.h - What is recorded and not computed --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A flush computes what it is asked for, and with it everything else that is pending: a loop that reads one
// value of many then records the same program in every iteration, instead of one that grows with what it
// leaves pending.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_LAZY_PENDING_H
#define WEFT_FRONTEND_LAZY_PENDING_H

#include "frontend/graph/Graph.h"

namespace weft::frontend {

/// The values of slots that a flush of `wanted` computes as well: what this thread, or the one that recorded
/// `wanted`, has recorded and not computed. Left out is what is known to fail, what needs a device that is
/// not there, and what would make `wanted` wait for a call, or share its failure, that it does not follow
/// from.
std::vector<Ref> pendingBeside(const std::vector<Ref> &wanted);
/// What slots hold and is not computed, whoever recorded it. `failing`, where given, takes what is known to
/// fail.
std::vector<Ref> pendingValues(std::vector<Ref> *failing = nullptr);

/// Counts host data that became a tensor: what is pending may keep it.
void noteHostBytes(size_t bytes);
/// What this thread recorded is computed: counts anew.
void noteFlushed();
/// Runs what is pending before that is more than 4,096 operations of a thread, or keeps more than 256 MiB of
/// host data, so that a loop which never reads a value needs no unbounded memory. Every operation that makes
/// or writes a tensor comes by here, with its line. A later flush happens where an earlier one did, once an
/// eighth of that is pending: a loop comes by there again, and its flushes are one program.
void flushIfLarge(Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_LAZY_PENDING_H
