//===- State.h - Saved values of state --------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters, optimiser state, random state and run-time scalars are arguments of the compiled function. A
// saved function has their values together with its plans, so that another process can continue from them.
// The values belong to the function: its plans for different targets share them.
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

/// A named value. `bytes` refers to row-major elements that another object owns.
struct StateValue {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Adds the sections `state.<function>` and `values.<function>`. Names must be different, and each value must
/// have the size of its type.
WEFT_RUNTIME_API Status add_state(PackageWriter &writer, const std::string &function,
                                  std::span<const StateValue> values);

/// The saved values of a function, in the order in which they were saved; empty if there are none. They refer
/// to memory of the package. Error WEFT-L012 names the entry and the field that is wrong.
WEFT_RUNTIME_API Expected<std::vector<StateValue>> read_state(const Package &package,
                                                              std::string_view function);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_STATE_H
