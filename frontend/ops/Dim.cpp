//===- Dim.cpp - Sizes that each call chooses -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"

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

namespace frontend {

int64_t entryOf(ir::Size size, Loc loc) {
  if (!size.isExpressible())
    fail("a size of the result cannot be expressed: numbers have to be below 2^63, and an expression is " +
             ir::polynomialText("Dims") + ". Make the tensor smaller, or give a dimension a Dim of its own",
         loc);
  return size.raw();
}

int64_t entryOf(ir::Size size) {
  if (!size.isExpressible())
    throw Error(
        "a size cannot be expressed that could be when its tensor was made; this is an error of Weft: "
        "please report the program");
  return size.raw();
}

bool isAtLeast(int64_t entry, int64_t bound) {
  ir::SymbolRanges ranges;
  if (const Trace *trace = Trace::current())
    for (const Dim &dim : trace->symbols)
      ranges.set(dim.name(), {dim.min(), dim.max()});
  return ranges.isAtLeast(sizeOf(entry), bound);
}

int64_t numberOr(int64_t entry, const char *what, Loc loc) {
  if (isSymbolic(entry))
    fail(std::string(what) + " is " + sizeText(entry) +
             ", a size that each call of the compiled function chooses, and no number in its trace: use "
             "sym_size(), and weft::shape({..}) for the shapes made of it",
         loc);
  return entry;
}

//===----------------------------------------------------------------------===//
// Specs of arguments
//===----------------------------------------------------------------------===//

Declared::Declared(const std::vector<ArgumentSpec> &specs, Loc loc) {
  for (size_t i = 0; i < specs.size(); ++i) {
    checkedCount(specs[i].shape, loc);
    arguments.push_back(Spec{specs[i].dtype, specs[i].shape, specs[i].device});
    for (const Dim &dim : specs[i].dims) {
      auto known = std::find_if(symbols.begin(), symbols.end(),
                                [&](const Dim &other) { return other.name() == dim.name(); });
      if (known == symbols.end())
        symbols.push_back(dim);
      else if (*known != dim)
        fail("Dim '" + dim.name() + "' goes from " + std::to_string(known->min()) + " to " +
                 std::to_string(known->max()) + " in one spec and from " + std::to_string(dim.min()) +
                 " to " + std::to_string(dim.max()) + " in that of argument " + std::to_string(i),
             loc);
    }
  }
  for (const Dim &dim : symbols) {
    int64_t entry = entryOf(ir::Size::symbol(dim.name()));
    if (std::none_of(arguments.begin(), arguments.end(), [&](const Spec &spec) {
          return std::find(spec.shape.begin(), spec.shape.end(), entry) != spec.shape.end();
        }))
      fail("no argument has a dimension of size '" + dim.name() +
               "' alone, which calls could take its value from",
           loc);
  }
}

SizeValues Declared::bind(const std::vector<Spec> &found, Loc loc) const {
  if (found.size() != arguments.size())
    fail("the function was compiled with the specs of " + std::to_string(arguments.size()) +
             " tensors, and is called with " + std::to_string(found.size()),
         loc);
  auto complain = [&](size_t i, const std::string &problem, const char *code = "") {
    fail("argument " + std::to_string(i) + " is " + found[i].str() + ", and its spec says " +
             arguments[i].str() + ": " + problem,
         loc, {}, code);
  };
  SizeValues values;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].dtype != arguments[i].dtype)
      complain(i, "the dtype differs");
    if (found[i].device != arguments[i].device)
      complain(i, "the device differs");
    if (found[i].shape.size() != arguments[i].shape.size())
      complain(i, "the number of dimensions differs");
    for (size_t d = 0; d < found[i].shape.size(); ++d) {
      std::string name = ir::symbolOf(sizeOf(arguments[i].shape[d]));
      if (name.empty())
        continue;
      int64_t size = found[i].shape[d];
      const Dim &dim = *std::find_if(symbols.begin(), symbols.end(),
                                     [&](const Dim &other) { return other.name() == name; });
      if (size < dim.min() || size > dim.max())
        complain(i,
                 "dimension " + std::to_string(d) + " has size " + std::to_string(size) + ", and '" + name +
                     "' goes from " + std::to_string(dim.min()) + " to " + std::to_string(dim.max()),
                 "WEFT-S001");
      auto [known, isNew] = values.emplace(name, size);
      if (!isNew && known->second != size)
        complain(i, "dimension " + std::to_string(d) + " has size " + std::to_string(size) + ", and '" +
                        name + "' is " + std::to_string(known->second) + " by an argument before it");
    }
  }
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t d = 0; d < found[i].shape.size(); ++d)
      if (int64_t size = concrete(arguments[i].shape[d], values); size != found[i].shape[d])
        complain(i, "dimension " + std::to_string(d) + " has size " + std::to_string(found[i].shape[d]) +
                        ", expected " + sizeText(arguments[i].shape[d]) +
                        (isSymbolic(arguments[i].shape[d]) ? " = " + std::to_string(size) : ""));
  return values;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

int64_t concrete(int64_t entry, const SizeValues &values) {
  auto value = ir::evaluate(sizeOf(entry), [&](std::string_view name) -> std::optional<int64_t> {
    auto it = values.find(std::string(name));
    return it == values.end() ? std::nullopt : std::optional(it->second);
  });
  if (!value)
    throw Error("the size " + sizeText(entry) + " has no value in this call");
  return *value;
}

Spec concrete(Spec spec, const SizeValues &values) {
  for (int64_t &size : spec.shape)
    size = concrete(size, values);
  return spec;
}

Attr concrete(Attr attr, const SizeValues &values) {
  if (auto *list = std::get_if<std::vector<int64_t>>(&attr.value))
    for (int64_t &size : *list)
      size = isSymbolic(size) ? concrete(size, values) : size;
  else if (auto *size = std::get_if<int64_t>(&attr.value); size && isSymbolic(*size))
    *size = concrete(*size, values);
  return attr;
}

bool fits(const Spec &declared, const Spec &found) {
  if (declared.dtype != found.dtype || declared.device != found.device ||
      declared.shape.size() != found.shape.size())
    return false;
  for (size_t d = 0; d < found.shape.size(); ++d)
    if (declared.shape[d] != found.shape[d] && !isSymbolic(declared.shape[d]))
      return false;
  return true;
}

} // namespace frontend
} // namespace weft
