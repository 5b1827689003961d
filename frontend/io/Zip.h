//===- Zip.h - ZIP archives ----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_ZIP_H
#define WEFT_FRONTEND_IO_ZIP_H

#include "frontend/io/AtomicFile.h"
#include "frontend/io/ByteSource.h"

#include <vector>

namespace weft::io {

/// A member as the archive's directory describes it.
struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  uint64_t packed_bytes = 0, unpacked_bytes = 0;
  uint64_t header_offset = 0; ///< of the local header
  uint64_t data_offset = 0;   ///< of the packed bytes
};

/// The directory of an archive, zip64 included. Refused: encryption, several disks, methods other than stored
/// and deflate, a name twice, and members that share bytes (with which a small file could unpack to any
/// size).
Expected<std::vector<ZipMember>> read_zip_directory(const ByteSource &source);

/// The content of a member. Its size and checksum are checked where the stream ends, so read it to the end.
Expected<std::unique_ptr<ByteStream>> zip_member_stream(const ByteSource &source, const ZipMember &member);

/// Writes an archive of stored members.
class ZipWriter {
public:
  /// `always_zip64` writes 64-bit sizes where 32 bits would do.
  explicit ZipWriter(AtomicFile &file, bool always_zip64 = false)
      : file_(file), always_zip64_(always_zip64) {}
  /// The member's content is the parts one after the other.
  Status add(const std::string &name, std::span<const std::span<const std::byte>> parts);
  /// Writes the directory. Nothing may be added afterwards.
  Status finish();

private:
  AtomicFile &file_;
  bool always_zip64_;
  std::vector<ZipMember> members_;
};

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_ZIP_H
