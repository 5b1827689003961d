//===- ArgumentWriters.cpp - What of a run writes arguments ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/ArgumentWriters.h"

#include "runtime/support/TensorText.h"

#include <algorithm>
#include <set>

namespace weft::runtime {

WorkList take_argument_writers(WorkList &list, const Executable::Impl &function) {
  const size_t arguments = function.signature.arguments.size();
  Dependencies dependencies;
  std::vector<bool> moves;
  for (const WorkItem &item : list.items()) {
    const std::span<const RangeAccess> accesses = list.accesses_of(item);
    bool moved = std::ranges::any_of(accesses, [&](const RangeAccess &access) {
      return access.space < arguments && access.kind == AccessKind::written;
    });
    for (const uint32_t earlier : dependencies.add(accesses))
      moved = moved || moves[earlier];
    moves.push_back(moved);
  }
  return list.take(moves);
}

std::string written_arguments(const Executable::Impl &function, const Launch *reached) {
  constexpr size_t mostNamed = 16;
  std::set<uint32_t> written;
  for (const Launch *launch = function.launches.data(); launch < reached; ++launch) {
    const size_t end = launch + 1 == function.launches.data() + function.launches.size()
                           ? function.operands.size()
                           : launch[1].first_operand;
    for (size_t i = launch->first_operand; i < end; ++i)
      if (function.uses[i].written && function.operands[i].base < function.signature.arguments.size())
        written.insert(function.operands[i].base);
  }
  if (written.empty())
    return "";
  std::string text = ", these donated arguments are no longer valid: ";
  size_t count = 0;
  for (const uint32_t argument : written) {
    if (count == mostNamed)
      return text + " and " + std::to_string(written.size() - count) + " more";
    text +=
        (count++ ? ", " : "") + value_name("argument", argument, function.signature.arguments[argument].name);
  }
  return text;
}

} // namespace weft::runtime
