//===- ByteSource.cpp - Random and sequential access to bytes ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/ByteSource.h"

#include "frontend/io/Message.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::io {

Status ByteSource::read(uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset)
    return failure(name_, ": expected ", out.size(), " bytes at byte ", offset,
                   ", but the file ends at byte ", size_, "; it is truncated, so fetch or write it again");
  if (out.empty())
    return {};
  return read_range(offset, out);
}

Expected<std::unique_ptr<FileSource>> FileSource::open(const std::string &path) {
  // Without O_NONBLOCK, opening a pipe without a writer would wait for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return failure(path, ": cannot be opened: ", std::strerror(errno),
                   "; check the path and its permissions");
  struct stat info{};
  const bool known = ::fstat(descriptor, &info) == 0;
  if (!known || !S_ISREG(info.st_mode) || info.st_size < 0) {
    ::close(descriptor);
    return failure(path, ": is ", known && S_ISDIR(info.st_mode) ? "a directory" : "not a regular file",
                   "; give the path of a file");
  }
  return std::unique_ptr<FileSource>(new FileSource(path, static_cast<uint64_t>(info.st_size), descriptor));
}

FileSource::~FileSource() { ::close(descriptor_); }

Status FileSource::read_range(uint64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const size_t chunk = std::min<size_t>(out.size() - done, size_t{1} << 30);
    const ssize_t got = ::pread(descriptor_, out.data() + done, chunk, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failure(name(), ": reading at byte ", offset + done, " failed: ", std::strerror(errno));
    if (got == 0)
      return failure(name(), ": shrank to ", offset + done, " bytes while it was read (it had ", size(),
                     "); do not write it at the same time");
    done += static_cast<size_t>(got);
  }
  return {};
}

Status MemorySource::read_range(uint64_t offset, std::span<std::byte> out) const {
  std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return {};
}

Expected<size_t> ByteStream::read(std::span<std::byte> out) {
  if (out.empty())
    return size_t{0};
  Expected<size_t> got = read_some(out);
  if (got)
    position_ += *got;
  return got;
}

Status ByteStream::read_exactly(std::span<std::byte> out, std::string_view what) {
  const uint64_t begin = position_;
  Expected<size_t> got = read(out);
  if (!got)
    return got.status();
  if (*got != out.size())
    return failure(name_, ": ", what, " at byte ", begin, ": expected ", out.size(), " bytes, found ", *got,
                   "; the data are truncated, so fetch or write the file again");
  return {};
}

Status ByteStream::expect_end(std::string_view what) {
  // A small compressed file may unpack to any number of bytes, so counting stops at this many.
  constexpr uint64_t enough = uint64_t{16} << 20;
  const uint64_t begin = position_;
  std::array<std::byte, 4096> rest;
  while (position_ - begin < enough) {
    Expected<size_t> got = read(rest);
    if (!got)
      return got.status();
    if (*got < rest.size())
      break;
  }
  const uint64_t extra = position_ - begin;
  if (extra == 0)
    return {};
  return failure(name_, ": expected the end after ", what, " at byte ", begin, ", found ",
                 extra >= enough ? "at least " : "", extra,
                 " bytes more; the file is damaged or its header is wrong, so fetch or write it again");
}

Expected<size_t> RangeStream::read_some(std::span<std::byte> out) {
  const size_t count = static_cast<size_t>(std::min<uint64_t>(out.size(), end_ - next_));
  if (Status status = source_.read(next_, out.first(count)); !status)
    return status;
  next_ += count;
  return count;
}

} // namespace weft::io
