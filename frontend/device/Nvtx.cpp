//===- Nvtx.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/nvtx.hpp"

#include "runtime/support/Nvtx.h"

namespace weft::nvtx {

using runtime::Nvtx;

bool is_enabled() { return Nvtx::enabled(); }
void mark(const std::string &message) { Nvtx::mark(message.c_str()); }
int range_push(const std::string &message) { return Nvtx::push(message.c_str()); }
int range_pop() { return Nvtx::pop(); }

} // namespace weft::nvtx
