//===- Dim.cpp - Dynamic dimensions ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/dim.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"

#include <algorithm>

namespace weft {

Dim::Dim(std::string name, int64_t min, int64_t max, Loc loc) : name_(std::move(name)), min_(min), max_(max) {
  if (!ir::isSymbolName(name_))
    frontend::fail(
        "\"" + name_ +
            "\" cannot be the name of a Dim: expected a letter, then letters, digits and underscores",
        loc);
  if (min < 0 || max < min)
    frontend::fail("Dim '" + name_ + "' needs 0 <= min <= max, found " + std::to_string(min) + " and " +
                       std::to_string(max),
                   loc);
}

Size::Size(const Dim &dim) : value_(ir::Size::symbol(dim.name()).raw()), dims_{dim} {}

bool Size::is_number() const { return frontend::sizeOf(value_).isNumber(); }

int64_t Size::number() const {
  if (!is_number())
    throw Error("the size " + str() +
                " is no number: each call chooses it. Compute with it as a weft::Size, and make shapes of it "
                "with weft::shape({..})");
  return value_;
}

std::string Size::str() const { return frontend::sizeText(value_); }

int64_t Size::entry_of_number(int64_t number, bool overflows) {
  if (overflows || !ir::Size(number).isExpressible())
    throw Error("a weft::Size is a number from -2^61 to 2^63 - 1, found " +
                (overflows ? std::to_string(static_cast<uint64_t>(number)) : std::to_string(number)));
  return number;
}

Size Size::of_entry(int64_t entry) {
  Size size(0);
  size.value_ = entry;
  return size;
}

Size Size::join(int64_t value, const Size &a, const Size &b) {
  Size result = of_entry(value);
  result.dims_ = a.dims_;
  for (const Dim &dim : b.dims_)
    if (std::find(result.dims_.begin(), result.dims_.end(), dim) == result.dims_.end())
      result.dims_.push_back(dim);
  return result;
}

/// The entry of what an operator made.
static int64_t made(ir::Size size, const Size &a, const char *with, const Size &b) {
  if (!size.isExpressible())
    throw Error("(" + a.str() + ")" + with + "(" + b.str() +
                ") cannot be expressed as a size: its numbers have to be below 2^63, and an expression is " +
                ir::polynomialText("Dims") + ". Use smaller numbers, or a Dim of its own for the result");
  return size.raw();
}

Size operator+(const Size &a, const Size &b) {
  return Size::join(made(frontend::sizeOf(a.value_) + frontend::sizeOf(b.value_), a, " + ", b), a, b);
}
Size operator-(const Size &a, const Size &b) {
  return Size::join(made(frontend::sizeOf(a.value_) - frontend::sizeOf(b.value_), a, " - ", b), a, b);
}
Size operator*(const Size &a, const Size &b) {
  return Size::join(made(frontend::sizeOf(a.value_) * frontend::sizeOf(b.value_), a, " * ", b), a, b);
}

Shape shape(std::initializer_list<Size> sizes) {
  Shape result;
  for (const Size &size : sizes)
    result.push_back(size.entry());
  return result;
}

ArgumentSpec spec(std::initializer_list<Size> sizes, DType dtype) { return spec(sizes, dtype, Device()); }

ArgumentSpec spec(std::initializer_list<Size> sizes, DType dtype, Device device) {
  ArgumentSpec made{shape(sizes), dtype, device, {}};
  for (const Size &size : sizes) {
    if (size.is_number() && size.entry() < 0)
      throw Error("a size in the spec of an argument is not negative: found " + size.str());
    made.dims.insert(made.dims.end(), size.dims().begin(), size.dims().end());
  }
  return made;
}

Size Tensor::sym_size(int64_t dim, Loc loc) const {
  const Shape &shape = sizes(loc);
  auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0)
    frontend::fail("Dimension specified as " + std::to_string(dim) + " but tensor has no dimensions", loc);
  return Size::of_entry(shape[static_cast<size_t>(frontend::wrapDim(dim, rank, loc))]);
}

} // namespace weft
