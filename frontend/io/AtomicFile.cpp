//===- AtomicFile.cpp - Writing a file completely or not at all -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/AtomicFile.h"

#include "frontend/io/Message.h"

#include <cerrno>
#include <cstring>

namespace weft::io {

namespace {
Status write_failure(const std::string &path, const char *what, int error) {
  return failure(path, ": ", what, ": ", std::strerror(error),
                 error == ENOSPC || error == EDQUOT
                     ? "; free space or write to another folder (the file that was there is unchanged)"
                     : "; check the folder and its permissions (a file that was there is unchanged)");
}
} // namespace

Expected<AtomicFile> AtomicFile::create(const std::string &path) {
  AtomicFile file(path);
  if (const int error = file.temporary_.create_beside(path, 0666))
    return write_failure(path, "cannot be created", error);
  return file;
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  if (const int error = temporary_.write(bytes.data(), bytes.size()))
    return write_failure(path_, "cannot be written", error);
  written_ += bytes.size();
  return {};
}

Status AtomicFile::commit() {
  int error = temporary_.sync();
  if (!error)
    error = temporary_.rename_to(path_);
  return error ? write_failure(path_, "cannot be written", error) : Status();
}

Status write_file(const std::string &path, std::string_view text) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  if (Status status = file->write(text); !status)
    return status;
  return file->commit();
}

} // namespace weft::io
