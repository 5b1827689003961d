//===- Save.h - A compiled function as a file -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_SAVE_H
#define WEFT_FRONTEND_COMPILED_SAVE_H

#include "frontend/compiler/Session.h"
#include "runtime/plan/State.h"
#include "weft/compile.hpp"

namespace weft::frontend {

/// Gives every state argument of the region a unique name: the slot's name, "state<N>" if it has none, or the
/// name with ".2", ".3" if several slots share it. A result that is tied to a state argument gets the same
/// name.
void nameState(Region &region);

/// Writes the program for the targets, with the values of its state. Throws Error for an
/// unknown target (WEFT-L013), if one cannot be compiled for, and if the file cannot be written.
void savePackage(const std::string &path, const Program &program, std::span<const runtime::StateValue> state,
                 const SaveOptions &options, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_SAVE_H
