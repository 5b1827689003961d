//===- HostArray.cpp - A dense array in host memory ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/HostArray.h"

#include "frontend/io/Message.h"

#include <bit>

static_assert(std::endian::native == std::endian::little, "the file formats are read without byte swaps");

namespace weft::io {

Expected<int64_t> element_count(std::span<const int64_t> shape) {
  if (shape.size() > maxRank)
    return failure("rank ", shape.size(), " is above the limit of ", maxRank);
  int64_t count = 1;
  bool empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0)
      return failure("dimension ", i, " of shape ", shape_text(shape), " is negative");
    if (shape[i] == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, shape[i], &count))
      return failure("the number of elements of shape ", shape_text(shape), " overflows 64 bits");
  }
  return empty ? 0 : count;
}

Expected<uint64_t> byte_count(DType dtype, std::span<const int64_t> shape) {
  Expected<int64_t> count = element_count(shape);
  if (!count)
    return count.status();
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*count, static_cast<int64_t>(itemsize(dtype)), &bytes))
    return failure("the size of shape ", shape_text(shape), " in ", name(dtype), " overflows 64 bits");
  return static_cast<uint64_t>(bytes);
}

Expected<HostArray> HostArray::allocate(DType dtype, std::vector<int64_t> shape) {
  Expected<uint64_t> bytes = byte_count(dtype, shape);
  if (!bytes)
    return bytes.status();
  HostArray array;
  array.dtype = dtype;
  try {
    array.bytes.resize(*bytes);
  } catch (const std::exception &) { // bad_alloc or length_error
    return failure("out of host memory: ", *bytes, " bytes for shape ", shape_text(shape), " of ",
                   name(dtype), "; free memory or use a smaller array");
  }
  array.shape = std::move(shape);
  return array;
}

Status ArrayView::check() const {
  Expected<uint64_t> expected = byte_count(dtype, shape);
  if (!expected)
    return expected.status();
  if (*expected != bytes.size())
    return failure("shape ", shape_text(shape), " of ", name(dtype), " takes ", *expected, " bytes, found ",
                   bytes.size(), "; pass the elements of a dense row-major array");
  return {};
}

const HostArray *find(std::span<const NamedArray> arrays, std::string_view name) {
  for (const NamedArray &entry : arrays)
    if (entry.name == name)
      return &entry.array;
  return nullptr;
}

Status check_bools(const HostArray &array, std::string_view where, uint64_t offset) {
  if (array.dtype != DType::i1)
    return {};
  for (size_t i = 0; i < array.bytes.size(); ++i)
    if (auto value = static_cast<unsigned>(array.bytes[i]); value > 1)
      return failure(where, ": element ", i, " of a boolean array, at byte ", offset + i,
                     ": expected 0 or 1, found ", value, "; write the file again");
  return {};
}

} // namespace weft::io
