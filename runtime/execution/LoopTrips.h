//===- LoopTrips.h - The trips of a loop as launches ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device that is given launches ahead of time, as a graph or on a stream, has a loop as the launches of its
// body, once for each trip. They are made when the function is loaded: the compiler and the package have the
// body once, whatever the number of trips.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_LOOPTRIPS_H
#define WEFT_RUNTIME_EXECUTION_LOOPTRIPS_H

#include "runtime/execution/Loop.h"

#include <span>

namespace weft::runtime {

/// Adds the launches of all trips to a function. `around` is what all have of the loop's launch: its device
/// and region. `places` are the operands of that, in the function. The device has memory for the temporaries
/// of the body, which all trips use, and for second places of carries.
/// An error (WEFT-L008) if these are more launches than a function may have, or if a trip passes memory at
/// other addresses than the kernels of the body are compiled for.
Status add_trips(Executable::Impl &function, const Loop &loop, const Launch &around,
                 std::span<const Operand> places);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_LOOPTRIPS_H
