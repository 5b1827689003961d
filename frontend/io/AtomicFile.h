//===- AtomicFile.h - Writing a file completely or not at all -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_ATOMICFILE_H
#define WEFT_FRONTEND_IO_ATOMICFILE_H

#include "runtime/support/TemporaryFile.h"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::io {

/// Writes beside `path` and renames at the end, so that a reader sees the old file or the new one and a
/// full disk leaves the old one as it was. Without `commit` nothing remains.
class AtomicFile {
public:
  static Expected<AtomicFile> create(const std::string &path);
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text.data(), text.size()))); }
  uint64_t written() const { return written_; }
  /// Puts the bytes on the disk and gives the file its name.
  Status commit();

private:
  explicit AtomicFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
  runtime::TemporaryFile temporary_;
  uint64_t written_ = 0;
};

/// The whole of a text in one call.
Status write_file(const std::string &path, std::string_view text);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_ATOMICFILE_H
