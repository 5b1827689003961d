//===- Inflate.h - Reading gzip and deflate ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_INFLATE_H
#define WEFT_FRONTEND_IO_INFLATE_H

#include "frontend/io/ByteSource.h"

namespace weft::io {

enum class DeflateFormat {
  gzip, ///< one or more members with header and checksum
  raw,  ///< the bare stream inside a ZIP archive
};

/// The stream that the compressed bytes [begin, end) of `source` hold. All of them must belong to it.
Expected<std::unique_ptr<ByteStream>> inflate_stream(std::string name, const ByteSource &source,
                                                     uint64_t begin, uint64_t end, DeflateFormat format);

/// The content of a file, unpacked where it starts with gzip's magic number.
Expected<std::unique_ptr<ByteStream>> unpacked_stream(const ByteSource &source);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_INFLATE_H
