//===- Alignment.cpp - Addresses of values on a GPU -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Alignment.h"

#include "ir/FunctionAttributes.h"
#include "ir/Updates.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::ir {

/// The attribute, read directly: MLIR's function interface is slow for thousands of arguments.
static Attribute givenAlignment(FuncOp function, unsigned argument) {
  const std::optional<ArrayAttr> all = function.getArgAttrs();
  return all ? cast<DictionaryAttr>((*all)[argument]).get(attr::alignment) : Attribute();
}

Alignments::Alignments(FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto given = dyn_cast_or_null<IntegerAttr>(givenAlignment(function, i)))
      if (given.getInt() < widestAccess)
        least[function.getArgument(i)] = given.getInt();
  if (least.empty())
    return;
  // What is returned in place of an argument lies in that.
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, returned] : llvm::enumerate(terminator->getOperands())) {
    const int64_t tied = function.getTiedArgument(static_cast<unsigned>(i));
    if (tied < 0)
      continue;
    const auto bytes = least.find(function.getArgument(static_cast<unsigned>(tied)));
    if (bytes == least.end())
      continue;
    const int64_t number = bytes->second;
    int64_t &known = least.try_emplace(heads.of(returned), number).first->second;
    known = std::min(known, number);
  }
}

int64_t Alignments::of(Value value) const {
  if (least.empty())
    return widestAccess;
  const auto found = least.find(heads.of(value));
  return found == least.end() ? widestAccess : found->second;
}

int64_t leastAlignment(FuncOp function, unsigned argument) {
  SmallVector<Value> views{function.getArgument(argument)};
  size_t bytes = 1;
  while (!views.empty()) {
    Value view = views.pop_back_val();
    bytes = std::max(bytes, itemsize(dtypeOf(view.getType())));
    for (Operation *user : view.getUsers())
      if (isStorageView(user))
        views.push_back(user->getResult(0));
  }
  return static_cast<int64_t>(bytes);
}

LogicalResult verifyAlignments(FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const Attribute given = givenAlignment(function, i);
    if (!given)
      continue;
    const int64_t bytes = leastAlignment(function, i);
    auto number = dyn_cast<IntegerAttr>(given);
    if (!number || !number.getType().isSignlessInteger(64) || number.getInt() < bytes ||
        number.getInt() > widestAccess || !llvm::isPowerOf2_64(static_cast<uint64_t>(number.getInt())))
      return function.emitOpError() << "gives argument " << i << " the attribute " << attr::alignment << " = "
                                    << given << ", expected a power of two from " << bytes
                                    << ", the bytes of the widest elements that it is read as, to "
                                    << widestAccess;
  }
  return success();
}

} // namespace weft::ir
