//===- Zip.cpp - ZIP archives --------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of fields follow the format's description (APPNOTE 6.3): a local header before each member's bytes, a
// central directory behind them, and an end record, found by searching backwards from the end of the file.
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Zip.h"

#include "frontend/io/Inflate.h"
#include "frontend/io/Message.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <zlib.h>

namespace weft::io {

namespace {

constexpr uint32_t localSignature = 0x04034b50, centralSignature = 0x02014b50, endSignature = 0x06054b50,
                   end64Signature = 0x06064b50, locatorSignature = 0x07064b50;
constexpr uint64_t localBytes = 30, centralBytes = 46, endBytes = 22, end64Bytes = 56, locatorBytes = 20;
constexpr uint32_t in64 = 0xffffffff; // the value is in the zip64 field
constexpr uint16_t extra64 = 1, stored = 0, deflated = 8;

/// Fields of a record one after the other. The caller has checked the size.
class Fields {
public:
  explicit Fields(const std::byte *at) : at_(at) {}
  uint16_t u16() { return next<uint16_t>(); }
  uint32_t u32() { return next<uint32_t>(); }
  uint64_t u64() { return next<uint64_t>(); }

private:
  template <typename T> T next() {
    const T value = load_le<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  const std::byte *at_;
};

/// Extends a checksum by `bytes`. An empty span may have a null pointer, which zlib would take as a request
/// to start over.
uint32_t updated_crc(uint32_t crc, std::span<const std::byte> bytes) {
  if (bytes.empty())
    return crc;
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}

struct Directory {
  uint64_t offset = 0, bytes = 0, members = 0;
};

Expected<Directory> find_directory(const ByteSource &source) {
  const std::string &file = source.name();
  if (source.size() < endBytes)
    return failure(file, ": expected at least ", endBytes, " bytes, found ", source.size(),
                   "; this is not a ZIP archive");
  // A comment of up to 65535 bytes may follow the end record.
  const uint64_t tail_bytes = std::min<uint64_t>(source.size(), endBytes + 65535),
                 tail_offset = source.size() - tail_bytes;
  std::vector<std::byte> tail(tail_bytes);
  if (Status status = source.read(tail_offset, tail); !status)
    return status;
  uint64_t at = tail_bytes - endBytes;
  const auto is_end = [&] {
    return load_le<uint32_t>(&tail[at]) == endSignature &&
           load_le<uint16_t>(&tail[at + 20]) == tail_bytes - endBytes - at;
  };
  while (!is_end()) {
    if (at == 0)
      return failure(file, ": the end record of a ZIP archive is not in the last ", tail_bytes,
                     " bytes; the file is truncated or not an archive, so write or fetch it again");
    --at;
  }
  const uint64_t end_offset = tail_offset + at;
  Fields end(&tail[at + 4]);
  uint32_t disk = end.u16(), first_disk = end.u16();
  uint64_t here = end.u16();
  Directory directory;
  directory.members = end.u16();
  directory.bytes = end.u32();
  directory.offset = end.u32();
  uint64_t limit = end_offset;

  std::array<std::byte, locatorBytes> locator;
  if (end_offset >= locatorBytes) {
    if (Status status = source.read(end_offset - locatorBytes, locator); !status)
      return status;
    if (load_le<uint32_t>(locator.data()) == locatorSignature) {
      const uint64_t end64_offset = load_le<uint64_t>(&locator[8]);
      limit = end_offset - locatorBytes;
      if (limit < end64Bytes || end64_offset > limit - end64Bytes)
        return failure(file, ": the zip64 locator at byte ", limit, ": expected an offset below ", limit,
                       ", found ", end64_offset, "; the archive is damaged");
      std::array<std::byte, end64Bytes> record;
      if (Status status = source.read(end64_offset, record); !status)
        return status;
      if (load_le<uint32_t>(record.data()) != end64Signature)
        return failure(file, ": the zip64 end record at byte ", end64_offset, ": expected signature ",
                       end64Signature, ", found ", load_le<uint32_t>(record.data()),
                       "; the archive is damaged");
      Fields end64(&record[16]);
      disk = end64.u32();
      first_disk = end64.u32();
      here = end64.u64();
      directory.members = end64.u64();
      directory.bytes = end64.u64();
      directory.offset = end64.u64();
      limit = end64_offset;
    }
  }
  if (disk != 0 || first_disk != 0 || here != directory.members)
    return failure(file, ": the end record at byte ", end_offset,
                   ": the archive is spread over several files; join it first");
  if (directory.bytes > limit || directory.offset != limit - directory.bytes)
    return failure(file, ": the end record at byte ", end_offset, ": expected the directory to end at byte ",
                   limit, ", found offset ", directory.offset, " and ", directory.bytes,
                   " bytes; the archive is damaged");
  if (directory.members > directory.bytes / centralBytes)
    return failure(file, ": the end record at byte ", end_offset, ": expected at most ",
                   directory.bytes / centralBytes, " members in a directory of ", directory.bytes,
                   " bytes, found ", directory.members, "; the archive is damaged");
  return directory;
}

/// Replaces the sizes that are marked as being in the zip64 field by those found there.
Status read_extra64(std::span<const std::byte> extra, ZipMember &member, const std::string &where) {
  std::vector<uint64_t *> wanted;
  for (uint64_t *value : {&member.unpacked_bytes, &member.packed_bytes, &member.header_offset})
    if (*value == in64)
      wanted.push_back(value);
  if (wanted.empty())
    return {};
  while (extra.size() >= 4) {
    const uint16_t id = load_le<uint16_t>(extra.data()), bytes = load_le<uint16_t>(&extra[2]);
    if (bytes > extra.size() - 4)
      break;
    if (id == extra64 && bytes >= 8 * wanted.size()) {
      Fields fields(&extra[4]);
      for (uint64_t *value : wanted)
        *value = fields.u64();
      return {};
    }
    extra = extra.subspan(4 + bytes);
  }
  return failure(where, ": expected a zip64 field with ", wanted.size(),
                 " sizes, found none; the archive is damaged");
}

/// Checks the local header against the directory and finds the packed bytes.
Status locate(const ByteSource &source, ZipMember &member, uint64_t directory_offset) {
  const std::string where = cat(source.name(), ": member ", quoted(member.name));
  std::array<std::byte, localBytes> local;
  if (member.header_offset > directory_offset || directory_offset - member.header_offset < localBytes)
    return failure(where, ": expected its header before byte ", directory_offset, ", found ",
                   member.header_offset, "; the archive is damaged");
  if (Status status = source.read(member.header_offset, local); !status)
    return status;
  if (load_le<uint32_t>(local.data()) != localSignature)
    return failure(where, ": the header at byte ", member.header_offset, ": expected signature ",
                   localSignature, ", found ", load_le<uint32_t>(local.data()), "; the archive is damaged");
  const uint16_t method = load_le<uint16_t>(&local[8]);
  if (method != (member.deflated ? deflated : stored))
    return failure(where, ": the header at byte ", member.header_offset, ": expected method ",
                   member.deflated ? deflated : stored, " as in the directory, found ", method,
                   "; the archive is damaged");
  const uint64_t name_bytes = load_le<uint16_t>(&local[26]), extra_bytes = load_le<uint16_t>(&local[28]);
  std::string name(name_bytes, '\0');
  if (Status status = source.read(member.header_offset + localBytes, std::as_writable_bytes(std::span(name)));
      !status)
    return status;
  if (name != member.name)
    return failure(where, ": the header at byte ", member.header_offset, ": expected this name, found ",
                   quoted(name), "; the archive is damaged");
  member.data_offset = member.header_offset + localBytes + name_bytes + extra_bytes;
  if (member.data_offset > directory_offset || member.packed_bytes > directory_offset - member.data_offset)
    return failure(where, ": expected ", member.packed_bytes, " bytes at byte ", member.data_offset,
                   ", but the directory starts at byte ", directory_offset, "; the archive is damaged");
  return {};
}

Expected<ZipMember> read_central(std::span<const std::byte> directory, uint64_t &at, const std::string &file,
                                 uint64_t directory_offset) {
  const std::string where = cat(file, ": the directory at byte ", directory_offset + at);
  if (directory.size() - at < centralBytes || load_le<uint32_t>(&directory[at]) != centralSignature)
    return failure(where, ": expected the entry of a member, found other bytes; the archive is damaged");
  ZipMember member;
  const uint16_t flags = load_le<uint16_t>(&directory[at + 8]),
                 method = load_le<uint16_t>(&directory[at + 10]);
  Fields fields(&directory[at + 16]);
  member.crc = fields.u32();
  member.packed_bytes = fields.u32();
  member.unpacked_bytes = fields.u32();
  const uint64_t name_bytes = fields.u16(), extra_bytes = fields.u16(), comment_bytes = fields.u16();
  member.header_offset = load_le<uint32_t>(&directory[at + 42]);
  if (name_bytes + extra_bytes + comment_bytes > directory.size() - at - centralBytes)
    return failure(where, ": the entry is longer than the directory; the archive is damaged");
  const std::byte *name = &directory[at] + centralBytes;
  member.name.assign(reinterpret_cast<const char *>(name), name_bytes);
  const std::string entry = cat(where, ": member ", quoted(member.name));
  if (flags & 1)
    return failure(entry, ": is encrypted; write the archive without a password");
  if (method != stored && method != deflated)
    return failure(entry, ": expected method 0 (stored) or 8 (deflate), found ", method,
                   "; write it with one of these");
  member.deflated = method == deflated;
  if (Status status = read_extra64({name + name_bytes, extra_bytes}, member, entry); !status)
    return status;
  if (!member.deflated && member.packed_bytes != member.unpacked_bytes)
    return failure(entry, ": is stored, so expected equal sizes, found ", member.packed_bytes, " packed and ",
                   member.unpacked_bytes, " unpacked; the archive is damaged");
  at += centralBytes + name_bytes + extra_bytes + comment_bytes;
  return member;
}

/// Checks size and checksum of what another stream delivers.
class MemberStream final : public ByteStream {
public:
  MemberStream(std::unique_ptr<ByteStream> inner, const ZipMember &member)
      : ByteStream(inner->name()), inner_(std::move(inner)), expected_bytes_(member.unpacked_bytes),
        expected_crc_(member.crc) {}
  uint64_t most_left() const override { return std::min(inner_->most_left(), expected_bytes_ - position()); }

private:
  Expected<size_t> read_some(std::span<std::byte> out) override {
    Expected<size_t> got = inner_->read(out);
    if (!got)
      return got;
    const uint64_t total = position() + *got;
    crc_ = updated_crc(crc_, out.first(*got));
    const bool ended = *got < out.size();
    if (total > expected_bytes_ || (ended && total != expected_bytes_))
      return failure(name(), ": expected ", expected_bytes_, " bytes, found ", ended ? "" : "at least ",
                     total, "; the archive is damaged");
    if (ended && crc_ != expected_crc_)
      return failure(name(), ": expected checksum ", expected_crc_, ", found ", crc_,
                     "; the archive is damaged");
    return got;
  }
  std::unique_ptr<ByteStream> inner_;
  uint64_t expected_bytes_;
  uint32_t expected_crc_, crc_ = 0;
};

} // namespace

Expected<std::vector<ZipMember>> read_zip_directory(const ByteSource &source) {
  Expected<Directory> directory = find_directory(source);
  if (!directory)
    return directory.status();
  std::vector<std::byte> bytes(directory->bytes);
  if (Status status = source.read(directory->offset, bytes); !status)
    return status;
  std::vector<ZipMember> members;
  uint64_t at = 0;
  for (uint64_t i = 0; i < directory->members; ++i) {
    Expected<ZipMember> member = read_central(bytes, at, source.name(), directory->offset);
    if (!member)
      return member.status();
    if (Status status = locate(source, *member, directory->offset); !status)
      return status;
    members.push_back(std::move(*member));
  }
  if (at != bytes.size())
    return failure(source.name(), ": the directory at byte ", directory->offset, ": expected ", bytes.size(),
                   " bytes, found ", at, "; the archive is damaged");

  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return members[a].name < members[b].name; });
  for (size_t i = 1; i < order.size(); ++i)
    if (members[order[i - 1]].name == members[order[i]].name)
      return failure(source.name(), ": member ", quoted(members[order[i]].name),
                     " is there twice; write each name once");
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return members[a].header_offset < members[b].header_offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const ZipMember &before = members[order[i - 1]], &after = members[order[i]];
    if (before.data_offset + before.packed_bytes > after.header_offset)
      return failure(source.name(), ": members ", quoted(before.name), " and ", quoted(after.name),
                     " share bytes from byte ", after.header_offset, " on; the archive is damaged");
  }
  return members;
}

Expected<std::unique_ptr<ByteStream>> zip_member_stream(const ByteSource &source, const ZipMember &member) {
  std::string name = cat(source.name(), ": member ", quoted(member.name));
  const uint64_t begin = member.data_offset, end = begin + member.packed_bytes;
  std::unique_ptr<ByteStream> inner;
  if (member.deflated) {
    Expected<std::unique_ptr<ByteStream>> inflated =
        inflate_stream(name, source, begin, end, DeflateFormat::raw);
    if (!inflated)
      return inflated.status();
    inner = std::move(*inflated);
  } else {
    inner = std::make_unique<RangeStream>(name, source, begin, end);
  }
  return std::unique_ptr<ByteStream>(std::make_unique<MemberStream>(std::move(inner), member));
}

Status ZipWriter::add(const std::string &name, std::span<const std::span<const std::byte>> parts) {
  if (name.empty() || name.size() > 0xffff)
    return failure("a member's name must have 1 to 65535 bytes, found ", name.size());
  ZipMember member;
  member.name = name;
  member.header_offset = file_.written();
  for (std::span<const std::byte> part : parts) {
    member.unpacked_bytes += part.size();
    member.crc = updated_crc(member.crc, part);
  }
  member.packed_bytes = member.unpacked_bytes;

  const bool wide = always_zip64_ || member.unpacked_bytes >= in64;
  const auto size = wide ? in64 : static_cast<uint32_t>(member.unpacked_bytes);
  std::string header;
  append_le(header, localSignature);
  append_le(header, uint16_t(wide ? 45 : 20)); // version needed
  append_le(header, uint16_t(0x0800));         // names are UTF-8
  append_le(header, stored);
  append_le(header, uint16_t(0));
  append_le(header, uint16_t(0x0021)); // 1 January 1980: the same content gives the same bytes
  append_le(header, member.crc);
  append_le(header, size);
  append_le(header, size);
  append_le(header, static_cast<uint16_t>(name.size()));
  append_le(header, uint16_t(wide ? 20 : 0));
  header += name;
  if (wide) {
    append_le(header, extra64);
    append_le(header, uint16_t(16));
    append_le(header, member.unpacked_bytes);
    append_le(header, member.packed_bytes);
  }
  if (Status status = file_.write(header); !status)
    return status;
  for (std::span<const std::byte> part : parts)
    if (Status status = file_.write(part); !status)
      return status;
  members_.push_back(std::move(member));
  return {};
}

Status ZipWriter::finish() {
  const uint64_t offset = file_.written();
  std::string out;
  for (const ZipMember &member : members_) {
    const bool wide = always_zip64_ || member.unpacked_bytes >= in64 || member.header_offset >= in64;
    const auto size = wide ? in64 : static_cast<uint32_t>(member.unpacked_bytes);
    append_le(out, centralSignature);
    append_le(out, uint16_t(0x0300 | (wide ? 45 : 20))); // made on Unix
    append_le(out, uint16_t(wide ? 45 : 20));
    append_le(out, uint16_t(0x0800));
    append_le(out, stored);
    append_le(out, uint16_t(0));
    append_le(out, uint16_t(0x0021));
    append_le(out, member.crc);
    append_le(out, size);
    append_le(out, size);
    append_le(out, static_cast<uint16_t>(member.name.size()));
    append_le(out, uint16_t(wide ? 28 : 0));
    append_le(out, uint16_t(0)); // comment
    append_le(out, uint16_t(0)); // disk
    append_le(out, uint16_t(0)); // internal attributes
    append_le(out, uint32_t(0100644) << 16);
    append_le(out, wide ? in64 : static_cast<uint32_t>(member.header_offset));
    out += member.name;
    if (wide) {
      append_le(out, extra64);
      append_le(out, uint16_t(24));
      append_le(out, member.unpacked_bytes);
      append_le(out, member.packed_bytes);
      append_le(out, member.header_offset);
    }
  }
  const uint64_t bytes = out.size(), count = members_.size();
  const bool wide = always_zip64_ || offset >= in64 || bytes >= in64 || count >= 0xffff;
  if (wide) {
    append_le(out, end64Signature);
    append_le(out, uint64_t(end64Bytes - 12));
    append_le(out, uint16_t(0x0300 | 45));
    append_le(out, uint16_t(45));
    append_le(out, uint32_t(0));
    append_le(out, uint32_t(0));
    append_le(out, count);
    append_le(out, count);
    append_le(out, bytes);
    append_le(out, offset);
    append_le(out, locatorSignature);
    append_le(out, uint32_t(0));
    append_le(out, offset + bytes);
    append_le(out, uint32_t(1));
  }
  append_le(out, endSignature);
  append_le(out, uint16_t(0));
  append_le(out, uint16_t(0));
  append_le(out, wide ? uint16_t(0xffff) : static_cast<uint16_t>(count));
  append_le(out, wide ? uint16_t(0xffff) : static_cast<uint16_t>(count));
  append_le(out, wide ? in64 : static_cast<uint32_t>(bytes));
  append_le(out, wide ? in64 : static_cast<uint32_t>(offset));
  append_le(out, uint16_t(0));
  return file_.write(out);
}

} // namespace weft::io
