//===- Inflate.cpp - Reading gzip and deflate ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Inflate.h"

#include "frontend/io/Message.h"

#include <algorithm>
#include <array>
#include <zlib.h>

namespace weft::io {

namespace {

class InflateStream final : public ByteStream {
public:
  InflateStream(std::string name, const ByteSource &source, uint64_t begin, uint64_t end,
                DeflateFormat format)
      : ByteStream(std::move(name)), source_(source), next_(begin), end_(end), format_(format) {}
  ~InflateStream() override {
    if (started_)
      inflateEnd(&state_);
  }

  Status start() {
    const int window = format_ == DeflateFormat::gzip ? 15 + 16 : -15;
    if (inflateInit2(&state_, window) != Z_OK)
      return failure(name(), ": zlib cannot start: out of memory");
    started_ = true;
    return {};
  }

  uint64_t most_left() const override {
    // Deflate's best ratio is 1032 to 1; the constant covers what zlib has taken in and not yet given out.
    const uint64_t packed = end_ - next_ + state_.avail_in;
    uint64_t bound = 0;
    if (__builtin_mul_overflow(packed, uint64_t{1032}, &bound) || bound > UINT64_MAX - 65536)
      return UINT64_MAX;
    return bound + 65536;
  }

private:
  Expected<size_t> read_some(std::span<std::byte> out) override {
    size_t done = 0;
    while (done < out.size() && !finished_) {
      if (Status status = fill(); !status)
        return status;
      const auto room = static_cast<uInt>(std::min<size_t>(out.size() - done, size_t{1} << 30));
      state_.next_out = reinterpret_cast<Bytef *>(out.data() + done);
      state_.avail_out = room;
      const int result = inflate(&state_, Z_NO_FLUSH);
      done += room - state_.avail_out;
      if (result == Z_STREAM_END) {
        if (Status status = end_of_member(); !status)
          return status;
      } else if (result == Z_BUF_ERROR || (result == Z_OK && state_.avail_out != 0 && at_end())) {
        return failure(name(), ": the compressed data end at byte ", end_, " before their stream does (",
                       position() + done, " bytes unpacked); the file is truncated, so fetch it again");
      } else if (result != Z_OK) {
        return failure(name(), ": the compressed data are damaged before byte ", consumed(), ": ",
                       state_.msg ? state_.msg : "zlib gives no reason", "; fetch the file again");
      }
    }
    return done;
  }

  bool at_end() const { return state_.avail_in == 0 && next_ == end_; }
  uint64_t consumed() const { return next_ - state_.avail_in; }

  Status fill() {
    if (state_.avail_in != 0 || next_ == end_)
      return {};
    const auto count = static_cast<size_t>(std::min<uint64_t>(buffer_.size(), end_ - next_));
    if (Status status = source_.read(next_, std::span(buffer_).first(count)); !status)
      return status;
    next_ += count;
    state_.next_in = reinterpret_cast<Bytef *>(buffer_.data());
    state_.avail_in = static_cast<uInt>(count);
    return {};
  }

  Status end_of_member() {
    if (at_end()) {
      finished_ = true;
      return {};
    }
    if (Status status = fill(); !status)
      return status;
    // gzip files may be concatenated; any other bytes after the end are damage.
    if (format_ == DeflateFormat::gzip && state_.next_in[0] == 0x1f) {
      if (inflateReset(&state_) != Z_OK)
        return failure(name(), ": zlib cannot read the next member at byte ", consumed());
      return {};
    }
    return failure(name(), ": expected the end after the compressed stream at byte ", consumed(), ", found ",
                   end_ - consumed(), " bytes more; fetch the file again");
  }

  const ByteSource &source_;
  uint64_t next_, end_;
  DeflateFormat format_;
  z_stream state_{};
  bool started_ = false, finished_ = false;
  std::array<std::byte, 16384> buffer_;
};

} // namespace

Expected<std::unique_ptr<ByteStream>> inflate_stream(std::string name, const ByteSource &source,
                                                     uint64_t begin, uint64_t end, DeflateFormat format) {
  auto stream = std::make_unique<InflateStream>(std::move(name), source, begin, end, format);
  if (Status status = stream->start(); !status)
    return status;
  return std::unique_ptr<ByteStream>(std::move(stream));
}

Expected<std::unique_ptr<ByteStream>> unpacked_stream(const ByteSource &source) {
  std::array<std::byte, 2> magic{};
  if (source.size() >= magic.size())
    if (Status status = source.read(0, magic); !status)
      return status;
  if (magic == std::array{std::byte{0x1f}, std::byte{0x8b}})
    return inflate_stream(source.name(), source, 0, source.size(), DeflateFormat::gzip);
  return std::unique_ptr<ByteStream>(std::make_unique<RangeStream>(source));
}

} // namespace weft::io
