//===- AtomicFile.cpp - Writing a file whole or not at all ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/AtomicFile.h"

#include "frontend/io/Message.h"
#include "runtime/TemporaryFile.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

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
  runtime::remove_abandoned_beside(path);
  static std::atomic<uint64_t> serial{0};
  // Another process with our number may have left one behind: O_EXCL finds a name that is free.
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string temporary = cat(path, ".tmp.", ::getpid(), ".", serial++);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0)
      return AtomicFile(path, std::move(temporary), descriptor);
    if (errno != EEXIST)
      return write_failure(path, "cannot be created", errno);
  }
  return write_failure(path, "cannot be created", EEXIST);
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), descriptor_(other.descriptor_),
      written_(other.written_) {
  other.descriptor_ = -1;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0)
    return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return write_failure(path_, "cannot be written", errno);
    bytes = bytes.subspan(static_cast<size_t>(done));
    written_ += static_cast<uint64_t>(done);
  }
  return {};
}

Status AtomicFile::commit() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) // EINVAL: a file system that cannot, such as a pipe's
    return write_failure(path_, "cannot be written", errno);
  const int closed = ::close(descriptor_);
  const int close_error = errno;
  descriptor_ = -1;
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = closed != 0 ? close_error : errno;
    ::unlink(temporary_.c_str());
    return write_failure(path_, "cannot be written", error);
  }
  return {};
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
