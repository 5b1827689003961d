//===- Idx.cpp - The IDX format of MNIST ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Idx.h"

#include "frontend/io/Inflate.h"
#include "frontend/io/Message.h"

#include <algorithm>
#include <array>
#include <optional>

namespace weft::io {

namespace {

std::optional<DType> element_type(uint8_t code) {
  switch (code) {
  case 0x08:
    return DType::ui8;
  case 0x09:
    return DType::i8;
  case 0x0b:
    return DType::i16;
  case 0x0c:
    return DType::i32;
  case 0x0d:
    return DType::f32;
  case 0x0e:
    return DType::f64;
  default:
    return std::nullopt;
  }
}

void swap_elements(std::span<std::byte> bytes, size_t size) {
  for (size_t i = 0; size > 1 && i < bytes.size(); i += size)
    std::reverse(bytes.begin() + i, bytes.begin() + i + size);
}

} // namespace

Expected<HostArray> read_idx(const ByteSource &source) {
  Expected<std::unique_ptr<ByteStream>> opened = unpacked_stream(source);
  if (!opened)
    return opened.status();
  ByteStream &stream = **opened;
  const std::string &file = stream.name();

  std::array<std::byte, 4> magic;
  if (Status status = stream.read_exactly(magic, "the IDX magic number"); !status)
    return status;
  const auto byte = [&](size_t i) { return static_cast<unsigned>(magic[i]); };
  if (byte(0) != 0 || byte(1) != 0)
    return failure(file, ": the IDX magic number at byte 0: expected two zero bytes, found ", byte(0),
                   " and ", byte(1), "; this is not an IDX file");
  const std::optional<DType> dtype = element_type(static_cast<uint8_t>(magic[2]));
  if (!dtype)
    return failure(file,
                   ": the IDX element type at byte 2: expected 8 (ui8), 9 (i8), 11 (i16), 12 (i32), 13 (f32) "
                   "or 14 (f64), found ",
                   byte(2), "; this is not an IDX file, or it is damaged");
  const size_t rank = byte(3);
  if (rank == 0 || rank > maxRank)
    return failure(file, ": the IDX rank at byte 3: expected 1 to ", maxRank, ", found ", rank,
                   "; this is not an IDX file, or it is damaged");

  std::vector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i) {
    std::array<std::byte, 4> size;
    if (Status status = stream.read_exactly(size, cat("the size of dimension ", i)); !status)
      return status;
    std::reverse(size.begin(), size.end());
    shape.push_back(load_le<uint32_t>(size.data()));
  }
  const std::string what = cat("the elements (shape ", shape_text(shape), " of ", name(*dtype), ")");
  const uint64_t begin = stream.position();
  Expected<uint64_t> bytes = byte_count(*dtype, shape);
  if (!bytes)
    return bytes.status().context(cat(file, ": the sizes at byte 4: "));
  if (*bytes > stream.most_left())
    return failure(file, ": ", what, " at byte ", begin, ": expected ", *bytes, " bytes, found at most ",
                   stream.most_left(), "; the file is truncated or its header is wrong, so fetch it again");
  Expected<HostArray> array = HostArray::allocate(*dtype, std::move(shape));
  if (!array)
    return array.status().context(cat(file, ": "));
  if (Status status = stream.read_exactly(array->bytes, what); !status)
    return status;
  if (Status status = stream.expect_end("the elements"); !status)
    return status;
  swap_elements(array->bytes, itemsize(*dtype));
  return array;
}

Expected<HostArray> read_idx(const std::string &path) {
  Expected<std::unique_ptr<FileSource>> source = FileSource::open(path);
  if (!source)
    return source.status();
  return read_idx(**source);
}

} // namespace weft::io
