//===- State.h - The values of state that a package keeps -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters, optimiser state, random state and run-time scalars are arguments of the compiled function; a
// saved function keeps their values beside its plans, so that another process goes on where this one was. The
// values belong to the function and not to a target: all its plans share them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_STATE_H
#define WEFT_RUNTIME_PLAN_STATE_H

#include "runtime/package/Package.h"
#include "weft/dtype.hpp"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

/// A named value; `bytes` are row-major elements and belong to someone else.
struct StateValue {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Adds the sections `state.<function>` and `values.<function>`. Names must differ and sizes fit their types.
WEFT_RUNTIME_API Status add_state(PackageWriter &writer, const std::string &function,
                                  std::span<const StateValue> values);

/// The values that the package keeps for a function, in the order in which they were saved; none if it keeps
/// none. They point into the package. Error WEFT-L012 names the entry and field that does not fit.
WEFT_RUNTIME_API Expected<std::vector<StateValue>> read_state(const Package &package,
                                                              std::string_view function);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_STATE_H
