//===- ArgumentError.h - Errors of the caller -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_ARGUMENTERROR_H
#define WEFT_RUNTIME_SUPPORT_ARGUMENTERROR_H

#include "weft/status.hpp"

#include <string>
#include <utility>

namespace weft::runtime {

/// The code, inside the library only, of errors of a call's own arguments: a name, a size. The C interface
/// makes WEFT_ERROR_ARGUMENT of it, which has no code.
inline constexpr const char *argumentCode = "argument";

inline Status argument_error(std::string message) { return Status::error(std::move(message), argumentCode); }

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_ARGUMENTERROR_H
