//===- Message.h - Errors at the lines of the program --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_MESSAGE_H
#define WEFT_FRONTEND_GRAPH_MESSAGE_H

#include "frontend/graph/Node.h"

#include <string>
#include <vector>

namespace weft::frontend {

/// "file.cpp:12:3".
std::string str(const Loc &loc);
/// How messages call a tensor: "'fc1.weight'", or "the tensor made at file.cpp:3:5".
std::string nameOf(const Slot &slot);
/// Throws Error: the message, then the source lines of the operation and of its operands.
[[noreturn]] void fail(const std::string &message, Loc loc, const std::vector<Ref> &operands = {},
                       const std::string &code = {});
/// Throws a failure as an Error with all its data. If it has no source line, it gets `loc`.
[[noreturn]] void fail(const Status &status, Loc loc, const std::vector<Ref> &operands = {});
/// Throws Error with the message and code of the status, and the source line, if the status is an error.
void throwAt(const Status &status, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_MESSAGE_H
