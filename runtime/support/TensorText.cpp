//===- TensorText.cpp - Tensors as text -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/support/TensorText.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

namespace weft::runtime {

namespace {
constexpr int64_t edgeItems = 3, threshold = 1000;
constexpr size_t lineWidth = 80;
constexpr int precision = 4;

/// One element. Integers beyond 2^53 cannot be represented as doubles.
struct Element {
  double real = 0;
  int64_t whole = 0;
};

/// How all elements of one tensor are written: as integers, with 4 digits, or in scientific notation.
struct Format {
  DType dtype;
  bool scientific = false, whole = false;
  int width = 1;

  std::string operator()(const Element &element) const {
    char text[64];
    const double value = element.real;
    if (!is_floating_point(dtype)) {
      if (dtype == DType::i1)
        std::snprintf(text, sizeof(text), "%*s", width, value != 0 ? "True" : "False");
      else
        std::snprintf(text, sizeof(text), "%*lld", width, static_cast<long long>(element.whole));
    } else if (!std::isfinite(value)) {
      std::snprintf(text, sizeof(text), "%*s", width, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    } else if (scientific) {
      std::snprintf(text, sizeof(text), "%*.*e", width, precision, value);
    } else if (whole) {
      std::snprintf(text, sizeof(text), "%*.0f.", width - 1, value);
    } else {
      std::snprintf(text, sizeof(text), "%*.*f", width, precision, value);
    }
    return text;
  }
};

/// Chooses the format from the elements that are shown. As in PyTorch, zeros and elements that are not finite
/// do not count, not even for the width.
Format chooseFormat(DType dtype, const std::vector<Element> &shown) {
  Format format{dtype};
  const bool real = is_floating_point(dtype);
  double largest = 0, smallest = INFINITY;
  std::vector<Element> counted;
  format.whole = real;
  for (const Element &element : shown) {
    const double value = element.real;
    if (real && (!std::isfinite(value) || value == 0))
      continue;
    counted.push_back(element);
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
    format.whole &= value == std::nearbyint(value);
  }
  if (real && !counted.empty())
    format.scientific = largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4;
  int width = 1;
  for (const Element &element : counted)
    width = std::max(width, static_cast<int>(format(element).size()));
  format.width = width;
  return format;
}

template <typename T> Element load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  if constexpr (std::is_integral_v<T>)
    return {static_cast<double>(value), static_cast<int64_t>(value)};
  else
    return {static_cast<double>(value), 0};
}

Element element(DType dtype, const std::byte *from) {
  switch (dtype) {
  case DType::i1:
  case DType::ui8:
    return load<uint8_t>(from);
  case DType::i8:
    return load<int8_t>(from);
  case DType::i16:
    return load<int16_t>(from);
  case DType::i32:
    return load<int32_t>(from);
  case DType::i64:
    return load<int64_t>(from);
  case DType::f16:
    return load<_Float16>(from);
  case DType::bf16: {
    // The upper half of an f32.
    uint16_t half;
    std::memcpy(&half, from, sizeof(half));
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return {value, 0};
  }
  case DType::f32:
    return load<float>(from);
  case DType::f64:
    return load<double>(from);
  }
  return {};
}

struct Printer {
  std::span<const int64_t> shape;
  const std::byte *data;
  DType dtype;
  bool summarise;

  Element at(int64_t index) const {
    return element(dtype, data + static_cast<size_t>(index) * itemsize(dtype));
  }
  /// The positions along a dimension that are shown; -1 stands for the dots.
  std::vector<int64_t> positions(int64_t size) const {
    std::vector<int64_t> list;
    for (int64_t i = 0; i < size; ++i) {
      if (summarise && size > 2 * edgeItems && i == edgeItems) {
        list.push_back(-1);
        i = size - edgeItems;
      }
      list.push_back(i);
    }
    return list;
  }
  void collect(size_t dim, int64_t offset, std::vector<Element> &shown) const {
    if (dim == shape.size()) {
      shown.push_back(at(offset));
      return;
    }
    for (int64_t i : positions(shape[dim]))
      if (i >= 0)
        collect(dim + 1, offset * shape[dim] + i, shown);
  }
  std::string text(size_t dim, int64_t offset, const Format &format, size_t indent) const {
    if (dim == shape.size())
      return format(at(offset));
    std::string result = "[";
    const bool last = dim + 1 == shape.size();
    const size_t width = static_cast<size_t>(format.width) + 2, // with comma and space
        perLine = std::max<size_t>(1, (lineWidth - std::min(indent, lineWidth)) / width);
    const std::vector<int64_t> list = positions(shape[dim]);
    for (size_t n = 0; n < list.size(); ++n) {
      if (n > 0) {
        const size_t breaks = !last ? shape.size() - dim - 1 : n % perLine == 0;
        result += breaks ? "," + std::string(breaks, '\n') + std::string(indent + 1, ' ') : ", ";
      }
      result += list[n] < 0 ? (last ? " ..." : "...")
                            : text(dim + 1, offset * shape[dim] + list[n], format, indent + 1);
    }
    return result + "]";
  }
};
} // namespace

std::string tensor_text(DType dtype, std::span<const int64_t> shape, const void *data,
                        std::string_view device, std::string_view rest) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  Printer printer{shape, static_cast<const std::byte *>(data), dtype, count > threshold};
  const std::string start = "tensor(";
  std::string text = start, sizes;
  // The dtype is left out if the elements show it; an empty tensor does not.
  bool shows = dtype == DType::f32;
  if (count == 0) {
    text += "[]";
    for (int64_t size : shape)
      sizes += (sizes.empty() ? "size=(" : ", ") + std::to_string(size);
    sizes = shape.size() == 1 ? "" : sizes + ")";
  } else {
    shows |= dtype == DType::i64 || dtype == DType::i1;
    std::vector<Element> shown;
    printer.collect(0, 0, shown);
    text += printer.text(0, 0, chooseFormat(dtype, shown), start.size());
  }
  const std::string type = shows ? "" : "dtype=" + std::string(name(dtype));
  for (std::string_view what : {device, std::string_view(sizes), std::string_view(type), rest})
    if (!what.empty()) {
      // The text goes on the line of the last elements if there is room for it with a comma and the closing
      // text.
      const size_t onLine = text.size() - (text.rfind('\n') + 1); // npos + 1 is 0
      text += onLine + what.size() + 4 > lineWidth ? ",\n" + std::string(start.size(), ' ') : ", ";
      text += what;
    }
  return text + ")";
}

} // namespace weft::runtime
