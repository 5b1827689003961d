//===- KernelParameter.h - What a kernel of the user is given --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_KERNELPARAMETER_H
#define WEFT_FRONTEND_GRAPH_KERNELPARAMETER_H

#include "weft/dtype.hpp"

#include <cstdint>
#include <vector>

namespace weft::frontend {

/// A parameter of a kernel of the user: a tensor in one of three roles, a number, or a size as one.
struct KernelParameter {
  enum class Role : uint8_t { in, out, in_out, number, size } role = Role::in;
  DType dtype = DType::f32; ///< of the number,
  uint64_t bits = 0;        ///< whose lowest bytes these are; the entry of a size

  /// Adds the parameter to a list of numbers, as which the graph has it. The bits are halved, because a list
  /// may have sizes in it, and large numbers stand for symbols.
  void write(std::vector<int64_t> &numbers) const {
    if (role == Role::size) {
      numbers.insert(numbers.end(), {static_cast<int64_t>(role), 0, static_cast<int64_t>(bits), 0});
      return;
    }
    numbers.insert(numbers.end(),
                   {static_cast<int64_t>(role), static_cast<int64_t>(dtype),
                    static_cast<int64_t>(bits & UINT32_MAX), static_cast<int64_t>(bits >> 32)});
  }
  static std::vector<KernelParameter> read(const std::vector<int64_t> &numbers) {
    constexpr size_t each = 4;
    std::vector<KernelParameter> parameters;
    for (size_t i = 0; i + each <= numbers.size(); i += each) {
      const auto low = static_cast<uint64_t>(numbers[i + 2]), high = static_cast<uint64_t>(numbers[i + 3]);
      parameters.push_back(
          {static_cast<Role>(numbers[i]), static_cast<DType>(numbers[i + 1]), low | high << 32});
    }
    return parameters;
  }
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_KERNELPARAMETER_H
