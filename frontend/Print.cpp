//===- Print.cpp - Tensors as text ------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/HostConvert.h"
#include "weft/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace weft {

namespace {
constexpr int64_t edgeItems = 3, threshold = 1000, lineWidth = 80;
constexpr int precision = 4;

/// How all elements of one tensor are written: as integers, with 4 digits, or in scientific notation.
/// An element: integers beyond 2^53 are no doubles.
struct Element {
  double real = 0;
  int64_t whole = 0;
};

struct Format {
  DType dtype;
  bool scientific = false, whole = false;
  int width = 1;

  std::string operator()(const Element &element) const {
    char text[64];
    double value = element.real;
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

/// Chosen from the elements that are shown.
Format chooseFormat(DType dtype, const std::vector<Element> &shown) {
  Format format{dtype};
  double largest = 0, smallest = INFINITY;
  bool whole = true;
  for (const Element &element : shown) {
    double value = element.real;
    if (!std::isfinite(value))
      continue;
    double magnitude = std::abs(value);
    if (magnitude != 0) {
      largest = std::max(largest, magnitude);
      smallest = std::min(smallest, magnitude);
    }
    whole &= value == std::nearbyint(value);
  }
  if (is_floating_point(dtype)) {
    format.whole = whole && largest < 1e8;
    format.scientific =
        !format.whole && largest > 0 && (largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4);
    if (whole && largest >= 1e8)
      format.scientific = true;
  }
  for (const Element &value : shown) {
    Format narrow = format;
    narrow.width = 1;
    format.width = std::max(format.width, static_cast<int>(narrow(value).size()));
  }
  return format;
}

struct Printer {
  const Shape &shape;
  const std::vector<std::byte> &bytes;
  DType dtype;
  bool summarise;

  Element at(int64_t index) const {
    const std::byte *source = bytes.data() + static_cast<size_t>(index) * itemsize(dtype);
    Element element;
    frontend::convertElements(dtype, source, DType::f64, &element.real, 1);
    if (!is_floating_point(dtype))
      frontend::convertElements(dtype, source, DType::i64, &element.whole, 1);
    return element;
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
    bool last = dim + 1 == shape.size();
    size_t column = indent + 1;
    std::vector<int64_t> list = positions(shape[dim]);
    for (size_t n = 0; n < list.size(); ++n) {
      std::string item = list[n] < 0 ? (last ? " ..." : "...")
                                     : text(dim + 1, offset * shape[dim] + list[n], format, indent + 1);
      if (n > 0) {
        result += ",";
        if (!last) {
          result += std::string(shape.size() - dim - 1, '\n') + std::string(indent + 1, ' ');
        } else if (column + item.size() + 2 > lineWidth) {
          result += "\n" + std::string(indent + 1, ' ');
          column = indent + 1;
        } else {
          result += " ";
          ++column;
        }
      }
      result += item;
      column += item.size() + 1;
    }
    return result + "]";
  }
};
} // namespace

std::string to_string(const Tensor &tensor, Loc loc) {
  std::vector<std::byte> bytes = tensor.to_bytes(loc);
  Shape shape = tensor.sizes();
  Printer printer{shape, bytes, tensor.dtype(), tensor.numel() > threshold};
  std::string body;
  if (tensor.numel() == 0) {
    body = "[]";
  } else {
    std::vector<Element> shown;
    printer.collect(0, 0, shown);
    body = printer.text(0, 0, chooseFormat(tensor.dtype(), shown), 7);
  }
  std::string suffix;
  if (tensor.numel() == 0) {
    std::string size;
    for (int64_t s : shape)
      size += (size.empty() ? "" : ", ") + std::to_string(s);
    suffix += ", size=(" + size + (shape.size() == 1 ? ",)" : ")");
  }
  if (tensor.device().is_cuda())
    suffix += ", device='" + tensor.device().str() + "'";
  DType dtype = tensor.dtype();
  if (dtype != DType::f32 && dtype != DType::i64 && dtype != DType::i1)
    suffix += ", dtype=" + std::string(name(dtype));
  if (tensor.requires_grad())
    suffix += ", requires_grad=True";
  return "tensor(" + body + suffix + ")";
}

void print(const Tensor &tensor, Loc loc) { std::printf("%s\n", to_string(tensor, loc).c_str()); }

} // namespace weft
