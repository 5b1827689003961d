//===- Npy.h - NumPy's array format --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_NPY_H
#define WEFT_FRONTEND_IO_NPY_H

#include "frontend/io/ByteSource.h"
#include "frontend/io/HostArray.h"

namespace weft::io {

/// Reads a .npy file of version 1.0, 2.0 or 3.0, in C or Fortran order (the result is row-major). Element
/// types: b1, i1, i2, i4, i8, u1, f2, f4, f8, little endian. Objects are never unpickled.
Expected<HostArray> read_npy(const std::string &path);
Expected<HostArray> read_npy(const ByteSource &source);
/// The same from a stream, to its end; a member of an archive, say.
Expected<HostArray> read_npy(ByteStream &stream);

/// The bytes before the elements in a version 1.0 file. bf16 has no NumPy type and is refused.
Expected<std::string> npy_header(DType dtype, std::span<const int64_t> shape);

/// Writes version 1.0, to a temporary file first.
Status write_npy(const std::string &path, ArrayView array);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_NPY_H
