//===- Npy.cpp - NumPy's array format ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Npy.h"

#include "frontend/io/AtomicFile.h"
#include "frontend/io/Message.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace weft::io {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
/// A header holds one type and one shape; far more than that is damage, and is not read into memory.
constexpr uint64_t longestHeader = uint64_t{1} << 20;

struct Typestring {
  std::string_view code;
  DType dtype;
};
constexpr Typestring typestrings[] = {{"|b1", DType::i1},  {"|i1", DType::i8},  {"<i2", DType::i16},
                                      {"<i4", DType::i32}, {"<i8", DType::i64}, {"|u1", DType::ui8},
                                      {"<f2", DType::f16}, {"<f4", DType::f32}, {"<f8", DType::f64}};

std::optional<DType> element_type(std::string_view code) {
  for (const Typestring &entry : typestrings) {
    // The order of a single byte is written as "|" but "<" means the same.
    const bool single = entry.code[0] == '|' && code.size() == 3 && code[0] == '<';
    if (entry.code == code || (single && entry.code.substr(1) == code.substr(1)))
      return entry.dtype;
  }
  return std::nullopt;
}

/// Why a type is refused and what to do about it.
std::string refusal(std::string_view code) {
  constexpr std::string_view types = "Weft reads b1, i1, i2, i4, i8, u1, f2, f4 and f8, little endian";
  if (code.starts_with('>'))
    return cat("big-endian elements ", quoted(code), "; convert them first: numpy.save(path, array.astype('<",
               element_type(cat("<", code.substr(1))) ? code.substr(1) : std::string_view("f4"), "'))");
  if (code.starts_with("|O"))
    return "Python objects ('|O'), which are pickled; unpickling can run any program and is never done here. "
           "Save "
           "an array of numbers";
  if (code.starts_with("|V2") || code.starts_with("<V2"))
    return cat("raw elements ", quoted(code),
               ", which is what bfloat16 becomes in this format; save it as float32, or as safetensors");
  return cat("elements of type ", quoted(code), "; ", types, ", so convert with numpy.ndarray.astype");
}

struct Header {
  DType dtype = DType::f32;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// Reads the header, a literal of a Python dictionary with three known keys. No other syntax is accepted.
class HeaderReader {
public:
  HeaderReader(std::string_view text, std::string where, uint64_t offset)
      : text_(text), where_(std::move(where)), offset_(offset) {}

  Expected<Header> read() {
    Header header;
    bool seen[3] = {};
    if (Status status = expect('{'); !status)
      return status;
    while (!accept('}')) {
      Expected<std::string_view> key = string();
      if (!key)
        return key.status();
      if (Status status = expect(':'); !status)
        return status;
      const int field = *key == "descr" ? 0 : *key == "fortran_order" ? 1 : *key == "shape" ? 2 : -1;
      if (field < 0)
        return error("keys 'descr', 'fortran_order' and 'shape'", cat("key ", quoted(*key)));
      if (seen[field])
        return error("each key once", cat("a second ", quoted(*key)));
      seen[field] = true;
      Status status = field == 0 ? descr(header) : field == 1 ? fortran_order(header) : shape(header);
      if (!status)
        return status;
      if (!accept(',') && !peek('}'))
        return error("',' or '}'", found());
    }
    if (!seen[0] || !seen[1] || !seen[2])
      return error("keys 'descr', 'fortran_order' and 'shape'", "fewer");
    skip_space();
    if (at_ != text_.size())
      return error("only white space after '}'", found());
    return header;
  }

private:
  Status error(std::string_view expected, std::string_view found) const {
    return failure(where_, ": the header at byte ", offset_ + at_, ": expected ", expected, ", found ", found,
                   "; the file is damaged or not from NumPy, so save it again");
  }
  std::string found() const { return at_ < text_.size() ? quoted(text_.substr(at_, 16)) : "its end"; }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) {
    const bool there = peek(c);
    at_ += there;
    return there;
  }
  Status expect(char c) {
    if (!accept(c))
      return error(cat('\'', c, '\''), found());
    return {};
  }

  Expected<std::string_view> string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"')
      return error("a string", found());
    const size_t begin = at_ + 1, end = text_.find(quote, begin);
    if (end == std::string_view::npos)
      return error("a string with an end", found());
    const std::string_view value = text_.substr(begin, end - begin);
    if (value.find('\\') != std::string_view::npos)
      return error("a string without escapes", found());
    at_ = end + 1;
    return value;
  }

  Status descr(Header &header) {
    if (peek('['))
      return failure(
          where_, ": the header at byte ", offset_ + at_,
          ": field 'descr': structured records are not supported; save each field as an array of its own");
    Expected<std::string_view> code = string();
    if (!code)
      return code.status();
    const std::optional<DType> dtype = element_type(*code);
    if (!dtype)
      return failure(where_, ": the header at byte ", offset_ + at_, ": field 'descr': found ",
                     refusal(*code));
    header.dtype = *dtype;
    return {};
  }

  Status fortran_order(Header &header) {
    skip_space();
    for (std::string_view word : {std::string_view("True"), std::string_view("False")})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        header.fortran_order = word == "True";
        return {};
      }
    return error("field 'fortran_order' to be True or False", found());
  }

  Status shape(Header &header) {
    if (Status status = expect('('); !status)
      return status;
    while (!accept(')')) {
      skip_space();
      int64_t value = 0;
      size_t digits = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_, ++digits)
        if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
            __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value))
          return error("field 'shape' to have dimensions below 2^63", "a larger one");
      if (digits == 0)
        return error("field 'shape' to be a tuple of dimensions from 0 on", found());
      if (at_ < text_.size() && text_[at_] == 'L') // as Python 2 wrote its long integers
        ++at_;
      header.shape.push_back(value);
      if (header.shape.size() > maxRank)
        return error(cat("field 'shape' to have at most ", maxRank, " dimensions"), "more");
      const bool comma = accept(',');
      if (!comma && !peek(')'))
        return error("',' or ')'", found());
      if (!comma && header.shape.size() == 1)
        return error("',' after a single dimension", found());
    }
    return {};
  }

  std::string_view text_;
  std::string where_;
  uint64_t offset_;
  size_t at_ = 0;
};

/// Puts elements stored first dimension fastest into row-major order. The first dimension is contiguous in
/// the source and the last in the result, so these two are walked in tiles, of which both sides fit in the
/// first cache; the dimensions between them are counted up outside. `shape` has two or more dimensions, none
/// of them 0.
template <size_t size>
void to_row_major(const std::byte *from, std::byte *to, std::span<const int64_t> shape, int64_t count) {
  constexpr int64_t tile = 32;
  const size_t last = shape.size() - 1;
  const int64_t rows = shape[0], columns = shape[last];
  const int64_t from_column = count / columns, to_row = count / rows;
  std::vector<int64_t> index(last, 0);
  const int64_t planes = from_column / rows;
  for (int64_t plane = 0; plane < planes; ++plane) {
    int64_t from_plane = 0, to_plane = 0, from_stride = rows;
    for (size_t dim = 1; dim < last; ++dim) {
      from_plane += index[dim] * from_stride;
      to_plane = to_plane * shape[dim] + index[dim];
      from_stride *= shape[dim];
    }
    to_plane *= columns;
    for (int64_t row0 = 0; row0 < rows; row0 += tile)
      for (int64_t column0 = 0; column0 < columns; column0 += tile)
        for (int64_t row = row0; row < std::min(rows, row0 + tile); ++row)
          for (int64_t column = column0; column < std::min(columns, column0 + tile); ++column)
            std::memcpy(to + (to_plane + row * to_row + column) * size,
                        from + (from_plane + row + column * from_column) * size, size);
    for (size_t dim = last; dim-- > 1;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

Expected<HostArray> row_major(HostArray array, const std::string &file) {
  Expected<HostArray> result = HostArray::allocate(array.dtype, array.shape);
  if (!result)
    return result.status().context(cat(file, ": "));
  const std::byte *from = array.bytes.data();
  std::byte *to = result->bytes.data();
  switch (itemsize(array.dtype)) {
  case 1:
    to_row_major<1>(from, to, array.shape, array.elements());
    break;
  case 2:
    to_row_major<2>(from, to, array.shape, array.elements());
    break;
  case 4:
    to_row_major<4>(from, to, array.shape, array.elements());
    break;
  default:
    to_row_major<8>(from, to, array.shape, array.elements());
  }
  return result;
}

} // namespace

Expected<HostArray> read_npy(ByteStream &stream) {
  const std::string &file = stream.name();
  std::array<std::byte, 8> start;
  if (Status status = stream.read_exactly(start, "the magic string and version"); !status)
    return status;
  const std::string_view found(reinterpret_cast<const char *>(start.data()), magic.size());
  if (found != magic)
    return failure(file, ": the magic string at byte 0: expected ", quoted(magic), ", found ", quoted(found),
                   "; this is not a .npy file");
  const auto major = static_cast<unsigned>(start[6]), minor = static_cast<unsigned>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    return failure(file, ": the version at byte 6: expected 1.0, 2.0 or 3.0, found ", major, ".", minor,
                   "; save the file with numpy.save");

  std::array<std::byte, 4> length_bytes{};
  if (Status status =
          stream.read_exactly(std::span(length_bytes).first(major == 1 ? 2 : 4), "the header's length");
      !status)
    return status;
  const uint64_t length = load_le<uint32_t>(length_bytes.data());
  const uint64_t offset = stream.position();
  if (length > longestHeader || length > stream.most_left())
    return failure(file, ": the header's length at byte 8: expected at most ",
                   std::min<uint64_t>(longestHeader, stream.most_left()), ", found ", length,
                   "; the file is truncated or damaged, so save it again");
  std::string text(length, '\0');
  if (Status status = stream.read_exactly(std::as_writable_bytes(std::span(text)), "the header"); !status)
    return status;
  Expected<Header> header = HeaderReader(text, file, offset).read();
  if (!header)
    return header.status();

  const std::string what =
      cat("the elements (shape ", shape_text(header->shape), " of ", name(header->dtype), ")");
  const uint64_t begin = stream.position();
  Expected<uint64_t> bytes = byte_count(header->dtype, header->shape);
  if (!bytes)
    return bytes.status().context(cat(file, ": the header at byte ", offset, ": field 'shape': "));
  if (*bytes > stream.most_left())
    return failure(file, ": ", what, " at byte ", begin, ": expected ", *bytes, " bytes, found at most ",
                   stream.most_left(), "; the file is truncated, so save it again");
  Expected<HostArray> array = HostArray::allocate(header->dtype, header->shape);
  if (!array)
    return array.status().context(cat(file, ": "));
  if (Status status = stream.read_exactly(array->bytes, what); !status)
    return status;
  if (Status status = stream.expect_end("the elements"); !status)
    return status;
  if (Status status = check_bools(*array, file, begin); !status)
    return status;
  if (header->fortran_order && header->shape.size() > 1 && *bytes != 0)
    return row_major(std::move(*array), file);
  return array;
}

Expected<HostArray> read_npy(const ByteSource &source) {
  RangeStream stream(source);
  return read_npy(stream);
}

Expected<HostArray> read_npy(const std::string &path) {
  Expected<std::unique_ptr<FileSource>> source = FileSource::open(path);
  if (!source)
    return source.status();
  return read_npy(**source);
}

Expected<std::string> npy_header(DType dtype, std::span<const int64_t> shape) {
  if (Expected<uint64_t> bytes = byte_count(dtype, shape); !bytes)
    return bytes.status();
  std::string_view code;
  for (const Typestring &entry : typestrings)
    if (entry.dtype == dtype)
      code = entry.code;
  if (code.empty())
    return failure("NumPy has no type for ", name(dtype), "; convert to f32, or write safetensors");
  std::string text = cat("{'descr': '", code, "', 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < shape.size(); ++i)
    text += cat(i ? ", " : "", shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  // The elements start at a multiple of 64 so that they can be mapped; the header ends with a line feed. With
  // at most maxRank dimensions it stays far below the 64 KiB of version 1.0.
  constexpr size_t before = 10;
  text.append((64 - (before + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string out(magic);
  out += '\1';
  out += '\0';
  append_le(out, static_cast<uint16_t>(text.size()));
  return out + text;
}

Status write_npy(const std::string &path, ArrayView array) {
  const std::string where = cat(path, ": ");
  if (Status status = array.check(); !status)
    return status.context(where);
  Expected<std::string> header = npy_header(array.dtype, array.shape);
  if (!header)
    return header.status().context(where);
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  if (Status status = file->write(*header); !status)
    return status;
  if (Status status = file->write(array.bytes); !status)
    return status;
  return file->commit();
}

} // namespace weft::io
