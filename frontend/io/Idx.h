//===- Idx.h - The IDX format of MNIST -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_IDX_H
#define WEFT_FRONTEND_IO_IDX_H

#include "frontend/io/ByteSource.h"
#include "frontend/io/HostArray.h"

namespace weft::io {

/// Reads an IDX file, plain or compressed with gzip: 0, 0, element type, rank, big-endian 32-bit sizes, then
/// the elements, big endian. Types: ui8, i8, i16, i32, f32, f64.
Expected<HostArray> read_idx(const std::string &path);
Expected<HostArray> read_idx(const ByteSource &source);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_IDX_H
