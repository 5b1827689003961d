//===- Declared.cpp - Declared argument types -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Declared.h"

#include "frontend/graph/Message.h"
#include "frontend/graph/Shapes.h"
#include "frontend/graph/Symbols.h"

#include <algorithm>

namespace weft::frontend {

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

} // namespace weft::frontend
