//===- Npz.cpp - NumPy's archives of arrays ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Npz.h"

#include "frontend/io/Message.h"
#include "frontend/io/Npy.h"
#include "frontend/io/Zip.h"

#include <unordered_set>

namespace weft::io {

namespace {
constexpr std::string_view suffix = ".npy";
}

Expected<std::vector<NamedArray>> read_npz(const ByteSource &source) {
  Expected<std::vector<ZipMember>> members = read_zip_directory(source);
  if (!members)
    return members.status();
  std::vector<NamedArray> arrays;
  for (const ZipMember &member : *members) {
    if (!member.name.ends_with(suffix))
      return failure(source.name(), ": member ", quoted(member.name), ": expected a name that ends in ",
                     suffix, "; an .npz archive holds arrays only");
    Expected<std::unique_ptr<ByteStream>> stream = zip_member_stream(source, member);
    if (!stream)
      return stream.status();
    Expected<HostArray> array = read_npy(**stream);
    if (!array)
      return array.status();
    arrays.push_back({member.name.substr(0, member.name.size() - suffix.size()), std::move(*array)});
  }
  return arrays;
}

Expected<std::vector<NamedArray>> read_npz(const std::string &path) {
  Expected<std::unique_ptr<FileSource>> source = FileSource::open(path);
  if (!source)
    return source.status();
  return read_npz(**source);
}

Status write_npz(const std::string &path, std::span<const NamedView> arrays, NpzOptions options) {
  std::unordered_set<std::string_view> names;
  for (const NamedView &entry : arrays)
    if (!names.insert(entry.name).second)
      return failure(path, ": array ", quoted(entry.name), " is given twice; each needs a name of its own");
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  ZipWriter zip(*file, options.always_zip64);
  for (const NamedView &entry : arrays) {
    const std::string where = cat(path, ": array ", quoted(entry.name), ": ");
    if (Status status = entry.array.check(); !status)
      return status.context(where);
    Expected<std::string> header = npy_header(entry.array.dtype, entry.array.shape);
    if (!header)
      return header.status().context(where);
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(*header)), entry.array.bytes};
    if (Status status = zip.add(cat(entry.name, suffix), parts); !status)
      return status.context(where);
  }
  if (Status status = zip.finish(); !status)
    return status;
  return file->commit();
}

} // namespace weft::io
