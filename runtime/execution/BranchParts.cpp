//===- BranchParts.cpp - Branches as launches of a device -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/BranchParts.h"

#include <algorithm>

namespace weft::runtime {

Status add_branch(Executable::Impl &function, const Branch &of, Launch branch,
                  std::span<const Operand> places) {
  const Executable::Impl &then = of.then_body(), &otherwise = of.else_body();
  // In 64 bits no sum of these overflows: each is a number of launches or of operands in memory.
  if (Status status = check_size(function, then, 1 + then.launches.size() + otherwise.launches.size(),
                                 1 + then.operands.size() + otherwise.operands.size());
      !status)
    return status;
  InlinedBody if_true(function, then, branch), if_false(function, otherwise, branch);
  const uint64_t begin =
      share_memory(function.devices[branch.device], std::max(if_true.arena_bytes(), if_false.arena_bytes()));
  const std::span<const Operand> values = places.subspan(1);
  for (InlinedBody *body : {&if_true, &if_false}) {
    body->set_arena(begin);
    for (size_t i = 0; i < values.size(); ++i)
      if (Status status = body->check_alignment(i, values[i]); !status)
        return status;
  }
  const size_t number = function.launches.size();
  auto parts = std::make_shared<BranchParts>();
  branch.kind = LaunchKind::branch;
  branch.first_operand = static_cast<uint32_t>(function.operands.size());
  branch.parts = parts;
  function.operands.push_back(places[0]);
  function.uses.push_back({1, false});
  function.launches.push_back(std::move(branch));
  // Branches without bytes of results have nothing to do.
  if (std::ranges::all_of(then.signature.results, [](const ResultInfo &made) { return !made.type.bytes; }))
    return {};
  parts->if_true = if_true.add_segments(values, number);
  parts->if_false = if_false.add_segments(values, number);
  return {};
}

} // namespace weft::runtime
