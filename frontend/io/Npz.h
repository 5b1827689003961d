//===- Npz.h - NumPy's archives of arrays --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_NPZ_H
#define WEFT_FRONTEND_IO_NPZ_H

#include "frontend/io/ByteSource.h"
#include "frontend/io/HostArray.h"

namespace weft::io {

/// Reads an archive of .npy members, stored or deflated, in the archive's order and without the ".npy" of the
/// names.
Expected<std::vector<NamedArray>> read_npz(const std::string &path);
Expected<std::vector<NamedArray>> read_npz(const ByteSource &source);

struct NpzOptions {
  /// 64-bit sizes even where 32 bits would do.
  bool always_zip64 = false;
};

/// Writes stored members, to a temporary file first. The same arrays give the same bytes.
Status write_npz(const std::string &path, std::span<const NamedView> arrays, NpzOptions options = {});

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_NPZ_H
