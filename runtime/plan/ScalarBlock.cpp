//===- ScalarBlock.cpp - The scalars of a call in one block -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/ScalarBlock.h"

#include "runtime/plan/PlanFields.h"
#include "weft/dtype.hpp"

#include <string>
#include <vector>

namespace weft::runtime {

Status check_scalar_block(const fb::Plan &plan) {
  const uint32_t arguments = length(plan.arguments());
  std::vector<bool> taken(arguments);
  uint64_t end = 0;
  for (uint32_t i = 0; i < length(plan.scalars()); ++i) {
    const fb::ScalarPlace &scalar = *plan.scalars()->Get(i);
    const std::string what = "scalar " + number(i) + " ";
    if (scalar.argument() >= arguments)
      return Status::error(what + "is argument " + number(scalar.argument()) + " of " + number(arguments));
    const fb::Argument &argument = *plan.arguments()->Get(scalar.argument());
    const fb::TensorType &type = *argument.type();
    const std::string of = "is argument " + number(scalar.argument()) + ", which ";
    if (taken[scalar.argument()])
      return Status::error(what + of + "another scalar is");
    taken[scalar.argument()] = true;
    if (argument.role() != fb::Role::scalar || argument.donated() || length(type.shape()))
      return Status::error(what + of + "is no number that calls only read");
    if (!type.device() || type.device()->string_view() != "cpu")
      return Status::error(what + of + "is not on the host");
    if (scalar.dtype() != type.dtype())
      return Status::error(what + "has element type number " + number(scalar.dtype()) +
                           ", and its argument " + number(type.dtype()));
    const uint64_t bytes = itemsize(static_cast<DType>(type.dtype()));
    if (scalar.offset() != (end + bytes - 1) / bytes * bytes)
      return Status::error(what + "takes bytes [" + number(scalar.offset()) + ", +" + number(bytes) +
                           ") of a block of " + number(plan.scalar_bytes()) +
                           ", expected the first aligned ones behind the scalar before");
    end = scalar.offset() + bytes;
  }
  if (end != plan.scalar_bytes())
    return Status::error("the block of scalars has " + number(plan.scalar_bytes()) + " bytes, of which " +
                         number(end) + " are taken");
  return {};
}

} // namespace weft::runtime
