//===- Safetensors.cpp - The safetensors format --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Safetensors.h"

#include "frontend/io/AtomicFile.h"
#include "frontend/io/Json.h"
#include "frontend/io/Message.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace weft::io {

namespace {

constexpr uint64_t lengthBytes = 8;
constexpr uint64_t longestHeader = 100'000'000; // the limit of the format's own library
constexpr std::string_view metadataKey = "__metadata__";

struct TypeName {
  std::string_view text;
  DType dtype;
};
constexpr TypeName typeNames[] = {{"BOOL", DType::i1}, {"I8", DType::i8},     {"I16", DType::i16},
                                  {"I32", DType::i32}, {"I64", DType::i64},   {"U8", DType::ui8},
                                  {"F16", DType::f16}, {"BF16", DType::bf16}, {"F32", DType::f32},
                                  {"F64", DType::f64}};

/// A tensor's description, before it is checked against the file.
struct Description {
  std::string dtype;
  std::vector<int64_t> shape;
  std::array<uint64_t, 2> offsets{};
};

Status read_shape(JsonReader &json, std::vector<int64_t> &shape) {
  if (Status status = json.begin_array(); !status)
    return status;
  while (true) {
    Expected<bool> more = json.next_element();
    if (!more)
      return more.status();
    if (!*more)
      return {};
    Expected<uint64_t> size = json.unsigned_integer();
    if (!size)
      return size.status();
    if (*size > INT64_MAX)
      return json.error("a dimension below 2^63", std::to_string(*size));
    if (shape.size() == maxRank)
      return json.error(cat("at most ", maxRank, " dimensions"), "more");
    shape.push_back(static_cast<int64_t>(*size));
  }
}

Status read_offsets(JsonReader &json, std::array<uint64_t, 2> &offsets) {
  if (Status status = json.begin_array(); !status)
    return status;
  for (size_t i = 0; i < 3; ++i) {
    Expected<bool> more = json.next_element();
    if (!more)
      return more.status();
    if (*more != (i < 2))
      return json.error("two offsets", i < 2 ? "fewer" : "more");
    if (i == 2)
      break;
    Expected<uint64_t> offset = json.unsigned_integer();
    if (!offset)
      return offset.status();
    offsets[i] = *offset;
  }
  return {};
}

/// Reads an object: `read(key)` reads the value of each key.
template <typename Read> Status read_object(JsonReader &json, Read read) {
  if (Status status = json.begin_object(); !status)
    return status;
  std::string key;
  while (true) {
    Expected<bool> more = json.next_key(key);
    if (!more || !*more)
      return more ? Status() : more.status();
    if (Status status = read(key); !status)
      return status;
  }
}

Expected<Description> read_description(JsonReader &json) {
  Description description;
  bool seen[3] = {};
  const Status read = read_object(json, [&](const std::string &key) -> Status {
    const int field = key == "dtype" ? 0 : key == "shape" ? 1 : key == "data_offsets" ? 2 : -1;
    if (field < 0)
      return json.error("fields 'dtype', 'shape' and 'data_offsets'", cat("field ", quoted(key)));
    if (seen[field])
      return json.error("each field once", cat("a second ", quoted(key)));
    seen[field] = true;
    if (field != 0)
      return field == 1 ? read_shape(json, description.shape) : read_offsets(json, description.offsets);
    Expected<std::string> dtype = json.string();
    if (!dtype)
      return dtype.status();
    description.dtype = std::move(*dtype);
    return {};
  });
  if (!read)
    return read;
  if (!seen[0] || !seen[1] || !seen[2])
    return json.error("fields 'dtype', 'shape' and 'data_offsets'", "fewer");
  return description;
}

Status read_metadata(JsonReader &json, Metadata &metadata) {
  Status read = read_object(json, [&](const std::string &key) -> Status {
    Expected<std::string> value = json.string();
    if (!value)
      return value.status();
    metadata.emplace_back(key, std::move(*value));
    return {};
  });
  if (!read)
    return read;
  std::vector<std::string_view> keys;
  for (const auto &entry : metadata)
    keys.push_back(entry.first);
  std::sort(keys.begin(), keys.end());
  if (const auto twin = std::adjacent_find(keys.begin(), keys.end()); twin != keys.end())
    return json.error("each key of '__metadata__' once", cat(quoted(*twin), " twice"));
  return {};
}

/// Turns a description into an entry whose bytes lie in the file.
Expected<SafetensorsEntry> check_description(std::string name, Description description,
                                             const std::string &file, uint64_t data_offset,
                                             uint64_t data_bytes) {
  const std::string where = cat(file, ": tensor ", quoted(name), ": ");
  const auto *type = std::find_if(std::begin(typeNames), std::end(typeNames),
                                  [&](const TypeName &entry) { return entry.text == description.dtype; });
  if (type == std::end(typeNames))
    return failure(where,
                   "field 'dtype': expected BOOL, I8, I16, I32, I64, U8, F16, BF16, F32 or F64, found ",
                   quoted(description.dtype), "; convert the tensor to one of these");
  Expected<uint64_t> bytes = byte_count(type->dtype, description.shape);
  if (!bytes)
    return bytes.status().context(cat(where, "field 'shape': "));
  const auto [begin, end] = description.offsets;
  if (begin > end || end > data_bytes)
    return failure(where, "field 'data_offsets': expected a range within ", data_bytes,
                   " bytes of data, found [", begin, ", ", end,
                   "]; the file is truncated or damaged, so write or fetch it again");
  if (end - begin != *bytes)
    return failure(where, "field 'data_offsets': expected ", *bytes, " bytes for shape ",
                   shape_text(description.shape), " of ", type->text, ", found ", end - begin,
                   "; the file is damaged, so write or fetch it again");
  return SafetensorsEntry{std::move(name), type->dtype, std::move(description.shape), data_offset + begin,
                          *bytes};
}

/// No name twice, and the tensors cover the data without overlap or gap.
Status check_cover(const SafetensorsIndex &index, const ByteSource &source, uint64_t data_offset) {
  const std::vector<SafetensorsEntry> &entries = index.entries;
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return entries[a].name < entries[b].name; });
  for (size_t i = 1; i < order.size(); ++i)
    if (entries[order[i - 1]].name == entries[order[i]].name)
      return failure(source.name(), ": tensor ", quoted(entries[order[i]].name),
                     " is in the header twice; write each name once");
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(entries[a].offset, entries[a].bytes) < std::pair(entries[b].offset, entries[b].bytes);
  });
  uint64_t covered = data_offset;
  for (size_t i : order) {
    if (entries[i].offset != covered)
      return failure(source.name(), ": tensor ", quoted(entries[i].name),
                     ": field 'data_offsets': expected to start at ", covered - data_offset, ", found ",
                     entries[i].offset - data_offset,
                     entries[i].offset < covered ? " (it overlaps another tensor)"
                                                 : " (there is a gap before it)",
                     "; write the file again");
    covered += entries[i].bytes;
  }
  if (covered != source.size())
    return failure(source.name(), ": the data at byte ", data_offset, ": expected ", covered - data_offset,
                   " bytes as the header says, found ", source.size() - data_offset,
                   "; the file is damaged, so write or fetch it again");
  return {};
}

} // namespace

const SafetensorsEntry *SafetensorsIndex::find(std::string_view name) const {
  for (const SafetensorsEntry &entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

Expected<SafetensorsIndex> read_safetensors_index(const ByteSource &source) {
  const std::string &file = source.name();
  std::array<std::byte, lengthBytes> length_field;
  if (source.size() < lengthBytes)
    return failure(file, ": the header's length at byte 0: expected 8 bytes, found ", source.size(),
                   "; this is not a safetensors file, or it is truncated");
  if (Status status = source.read(0, length_field); !status)
    return status;
  const auto length = load_le<uint64_t>(length_field.data());
  if (length > longestHeader)
    return failure(file, ": the header's length at byte 0: expected at most ", longestHeader, ", found ",
                   length, "; this is not a safetensors file, or it is damaged");
  if (length > source.size() - lengthBytes)
    return failure(file, ": the header at byte 8: expected ", length, " bytes, found ",
                   source.size() - lengthBytes, "; the file is truncated, so write or fetch it again");
  std::string text(length, '\0');
  if (Status status = source.read(lengthBytes, std::as_writable_bytes(std::span(text))); !status)
    return status;
  // The format wants the brace first: white space may only follow.
  if (text.empty() || text[0] != '{')
    return failure(file, ": the header at byte 8: expected '{', found ", quoted(text.substr(0, 1)),
                   "; this is not a safetensors file, or it is damaged");

  const uint64_t data_offset = lengthBytes + length;
  SafetensorsIndex index;
  JsonReader json(text, cat(file, ": the header"), lengthBytes);
  bool has_metadata = false;
  const Status read = read_object(json, [&](const std::string &key) -> Status {
    if (key == metadataKey) {
      if (has_metadata)
        return json.error("'__metadata__' once", "it twice");
      has_metadata = true;
      return read_metadata(json, index.metadata);
    }
    Expected<Description> description = read_description(json);
    if (!description)
      return description.status();
    Expected<SafetensorsEntry> entry =
        check_description(key, std::move(*description), file, data_offset, source.size() - data_offset);
    if (!entry)
      return entry.status();
    index.entries.push_back(std::move(*entry));
    return {};
  });
  if (!read)
    return read;
  if (Status status = json.end(); !status)
    return status;
  if (Status status = check_cover(index, source, data_offset); !status)
    return status;
  return index;
}

Expected<HostArray> read_safetensor(const ByteSource &source, const SafetensorsEntry &entry) {
  const std::string where = cat(source.name(), ": tensor ", quoted(entry.name));
  Expected<HostArray> array = HostArray::allocate(entry.dtype, entry.shape);
  if (!array)
    return array.status().context(cat(where, ": "));
  if (Status status = source.read(entry.offset, array->bytes); !status)
    return status;
  if (Status status = check_bools(*array, where, entry.offset); !status)
    return status;
  return array;
}

Expected<Safetensors> read_safetensors(const ByteSource &source) {
  Expected<SafetensorsIndex> index = read_safetensors_index(source);
  if (!index)
    return index.status();
  Safetensors result;
  result.metadata = std::move(index->metadata);
  for (SafetensorsEntry &entry : index->entries) {
    Expected<HostArray> array = read_safetensor(source, entry);
    if (!array)
      return array.status();
    result.tensors.push_back({std::move(entry.name), std::move(*array)});
  }
  return result;
}

Expected<Safetensors> read_safetensors(const std::string &path) {
  Expected<std::unique_ptr<FileSource>> source = FileSource::open(path);
  if (!source)
    return source.status();
  return read_safetensors(**source);
}

Status write_safetensors(const std::string &path, std::span<const NamedView> tensors,
                         const Metadata &metadata) {
  std::vector<const NamedView *> order;
  for (const NamedView &tensor : tensors) {
    const std::string where = cat(path, ": tensor ", quoted(tensor.name), ": ");
    if (tensor.name == metadataKey)
      return failure(where, "this name is reserved; choose another");
    if (!is_utf8(tensor.name))
      return failure(where, "the name is not UTF-8; choose another");
    if (Status status = tensor.array.check(); !status)
      return status.context(where);
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const NamedView *a, const NamedView *b) {
    const size_t a_size = itemsize(a->array.dtype), b_size = itemsize(b->array.dtype);
    return a_size != b_size ? a_size > b_size : a->name < b->name;
  });
  std::vector<std::string_view> names;
  names.reserve(order.size());
  for (const NamedView *tensor : order)
    names.push_back(tensor->name);
  std::sort(names.begin(), names.end());
  if (const auto twin = std::adjacent_find(names.begin(), names.end()); twin != names.end())
    return failure(path, ": tensor ", quoted(*twin), " is given twice; each needs a name of its own");

  std::string header = "{";
  const auto separator = [&] { return header.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    std::vector<std::string_view> keys;
    header += cat(json_quoted(metadataKey), ":{");
    for (const auto &[key, value] : metadata) {
      if (!is_utf8(key) || !is_utf8(value))
        return failure(path, ": metadata ", quoted(key), ": expected UTF-8; encode the value, in base64 say");
      header += cat(keys.empty() ? "" : ",", json_quoted(key), ":", json_quoted(value));
      keys.push_back(key);
    }
    header += "}";
    std::sort(keys.begin(), keys.end());
    if (const auto twin = std::adjacent_find(keys.begin(), keys.end()); twin != keys.end())
      return failure(path, ": metadata ", quoted(*twin), " is given twice; each needs a name of its own");
  }
  uint64_t offset = 0;
  for (const NamedView *tensor : order) {
    const ArrayView &array = tensor->array;
    const auto *type = std::find_if(std::begin(typeNames), std::end(typeNames),
                                    [&](const TypeName &entry) { return entry.dtype == array.dtype; });
    header += cat(separator(), json_quoted(tensor->name), ":{\"dtype\":\"", type->text, "\",\"shape\":[");
    for (size_t i = 0; i < array.shape.size(); ++i)
      header += cat(i ? "," : "", array.shape[i]);
    header += cat("],\"data_offsets\":[", offset, ",", offset + array.bytes.size(), "]}");
    offset += array.bytes.size();
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  if (header.size() > longestHeader)
    return failure(path, ": the header: expected at most ", longestHeader, " bytes, found ", header.size(),
                   "; split the tensors over several files");

  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  std::string length;
  append_le(length, static_cast<uint64_t>(header.size()));
  if (Status status = file->write(length + header); !status)
    return status;
  for (const NamedView *tensor : order)
    if (Status status = file->write(tensor->array.bytes); !status)
      return status;
  return file->commit();
}

} // namespace weft::io
