//===- HostConvert.h - Element types on the host ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_HOSTCONVERT_H
#define WEFT_FRONTEND_OPS_HOSTCONVERT_H

#include "weft/dtype.hpp"

namespace weft::frontend {

/// Converts elements with the rules of `weft.convert`: to nearest even between floats, toward zero and
/// saturating to integers, NaN to 0.
void convertElements(DType from, const void *source, DType to, void *target, size_t count);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_HOSTCONVERT_H
