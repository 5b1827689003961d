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

/// The attribute of a result; null if it has none.
static Attribute givenAlignmentOfResult(FuncOp function, unsigned result) {
  const std::optional<ArrayAttr> all = function.getResAttrs();
  return all ? cast<DictionaryAttr>((*all)[result]).get(attr::alignment) : Attribute();
}

int64_t alignmentOfResult(FuncOp function, unsigned result) {
  const auto given = dyn_cast_or_null<IntegerAttr>(givenAlignmentOfResult(function, result));
  return given ? given.getInt() : widestAccess;
}

Alignments::Alignments(FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto given = dyn_cast_or_null<IntegerAttr>(givenAlignment(function, i)))
      if (given.getInt() < widestAccess)
        least[function.getArgument(i)] = given.getInt();
  if (least.empty() && !function.getResAttrs())
    return;
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, returned] : llvm::enumerate(terminator->getOperands())) {
    int64_t number = alignmentOfResult(function, static_cast<unsigned>(i));
    // What is returned in place of an argument lies in that.
    const int64_t tied = function.getTiedArgument(static_cast<unsigned>(i));
    if (tied >= 0)
      if (const auto bytes = least.find(function.getArgument(static_cast<unsigned>(tied)));
          bytes != least.end())
        number = std::min(number, bytes->second);
    if (number == widestAccess)
      continue;
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

static bool isAlignment(Attribute given, int64_t least) {
  const auto number = dyn_cast<IntegerAttr>(given);
  return number && number.getType().isSignlessInteger(64) && number.getInt() >= least &&
         number.getInt() <= widestAccess && llvm::isPowerOf2_64(static_cast<uint64_t>(number.getInt()));
}

LogicalResult verifyAlignments(FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const Attribute given = givenAlignment(function, i);
    if (!given)
      continue;
    const int64_t bytes = leastAlignment(function, i);
    if (!isAlignment(given, bytes))
      return function.emitOpError() << "gives argument " << i << " the attribute " << attr::alignment << " = "
                                    << given << ", expected a power of two from " << bytes
                                    << ", the bytes of the widest elements that it is read as, to "
                                    << widestAccess;
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    const Attribute given = givenAlignmentOfResult(function, i);
    const auto bytes = static_cast<int64_t>(itemsize(dtypeOf(function.getResultTypes()[i])));
    if (given && !isAlignment(given, bytes))
      return function.emitOpError() << "gives result " << i << " the attribute " << attr::alignment << " = "
                                    << given << ", expected a power of two from " << bytes
                                    << ", the bytes of its elements, to " << widestAccess;
  }
  return success();
}

} // namespace weft::ir
