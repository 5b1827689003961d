//===- Spec.h - The type of a value --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_SPEC_H
#define WEFT_FRONTEND_GRAPH_SPEC_H

#include "weft/tensor.hpp"

namespace weft::frontend {

/// The type of a value, known before it is computed.
struct Spec {
  DType dtype = DType::f32;
  Shape shape;
  Device device;

  int64_t count() const;
  /// The size in bytes as text: an expression if the shape is dynamic.
  std::string bytesText() const;
  size_t bytes() const { return static_cast<size_t>(count()) * itemsize(dtype); }
  /// "tensor<4x8xf32, cpu>".
  std::string str() const;
  friend bool operator==(const Spec &, const Spec &) = default;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_SPEC_H
