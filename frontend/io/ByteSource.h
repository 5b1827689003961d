//===- ByteSource.h - Random and sequential access to bytes --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_BYTESOURCE_H
#define WEFT_FRONTEND_IO_BYTESOURCE_H

#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft::io {

/// Bytes of known number that can be read anywhere. Readers go through it instead of a memory map: a file
/// that shrinks while it is read is then an error and not a signal, and tensors are read into place.
class ByteSource {
public:
  virtual ~ByteSource() = default;
  const std::string &name() const { return name_; }
  uint64_t size() const { return size_; }
  /// Fills `out` from `offset` on; an error if the range goes past the end.
  Status read(uint64_t offset, std::span<std::byte> out) const;

protected:
  ByteSource(std::string name, uint64_t size) : name_(std::move(name)), size_(size) {}
  virtual Status read_range(uint64_t offset, std::span<std::byte> out) const = 0;

private:
  std::string name_;
  uint64_t size_;
};

/// A regular file.
class FileSource final : public ByteSource {
public:
  static Expected<std::unique_ptr<FileSource>> open(const std::string &path);
  ~FileSource() override;
  FileSource(const FileSource &) = delete;
  FileSource &operator=(const FileSource &) = delete;

private:
  FileSource(const std::string &path, uint64_t size, int descriptor)
      : ByteSource(path, size), descriptor_(descriptor) {}
  Status read_range(uint64_t offset, std::span<std::byte> out) const override;
  int descriptor_;
};

/// Bytes in memory, kept by the caller.
class MemorySource final : public ByteSource {
public:
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : ByteSource(std::move(name), bytes.size()), bytes_(bytes) {}

private:
  Status read_range(uint64_t offset, std::span<std::byte> out) const override;
  std::span<const std::byte> bytes_;
};

/// Bytes that are read from first to last.
class ByteStream {
public:
  virtual ~ByteStream() = default;
  /// The file, and the member in it if there is one.
  const std::string &name() const { return name_; }
  /// How many bytes have been read.
  uint64_t position() const { return position_; }
  /// Fills `out` and returns its size, or fewer where the stream ends.
  Expected<size_t> read(std::span<std::byte> out);
  /// Fills `out`, or fails with the counts. `what` names the field.
  Status read_exactly(std::span<std::byte> out, std::string_view what);
  /// Fails if any bytes are left after `what`.
  Status expect_end(std::string_view what);
  /// An upper bound on the bytes that are left. Check a size against it before allocating memory for it.
  virtual uint64_t most_left() const = 0;

protected:
  explicit ByteStream(std::string name) : name_(std::move(name)) {}
  virtual Expected<size_t> read_some(std::span<std::byte> out) = 0;

private:
  std::string name_;
  uint64_t position_ = 0;
};

/// The bytes [begin, end) of a source, which must outlive the stream.
class RangeStream final : public ByteStream {
public:
  RangeStream(std::string name, const ByteSource &source, uint64_t begin, uint64_t end)
      : ByteStream(std::move(name)), source_(source), next_(begin), end_(end) {}
  explicit RangeStream(const ByteSource &source) : RangeStream(source.name(), source, 0, source.size()) {}
  uint64_t most_left() const override { return end_ - next_; }

private:
  Expected<size_t> read_some(std::span<std::byte> out) override;
  const ByteSource &source_;
  uint64_t next_, end_;
};

/// The little-endian unsigned integer of sizeof(T) bytes at `bytes`.
template <typename T> T load_le(const std::byte *bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[i]) << (8 * i)));
  return value;
}

template <typename T> void append_le(std::string &out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out += static_cast<char>(value >> (8 * i) & 0xff);
}

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_BYTESOURCE_H
