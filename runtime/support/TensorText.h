//===- TensorText.h - Tensors as text ---------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_TENSORTEXT_H
#define WEFT_RUNTIME_SUPPORT_TENSORTEXT_H

#include "weft/dtype.hpp"
#include "weft/export.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::runtime {

/// A row-major tensor in the form of PyTorch's print: four digits, only the edges of a tensor with over 1,000
/// elements, and the dtype unless it is f32, i64 or i1. The dtype is on a line of its own if the last line
/// has no room for it. `device` (as "device='cuda:0'") comes before the dtype, `rest` after it.
WEFT_RUNTIME_API std::string tensor_text(DType dtype, std::span<const int64_t> shape, const void *data,
                                         std::string_view device = {}, std::string_view rest = {});

/// Names an argument or a result in a message: "argument 0 'x'", or "argument 0" if it has no name.
inline std::string value_name(std::string_view what, size_t number, std::string_view name) {
  std::string text(what);
  text += " " + std::to_string(number);
  return name.empty() ? text : text.append(" '").append(name).append("'");
}

/// The first 200 characters of a text that would otherwise be shown or stored many times.
inline std::string shortened(std::string_view text) {
  constexpr size_t most = 200;
  return text.size() <= most ? std::string(text) : std::string(text.substr(0, most - 3)).append("...");
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_TENSORTEXT_H
