//===- KeyWriter.h - Specs and attributes as bytes of a key ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_KEYWRITER_H
#define WEFT_FRONTEND_GRAPH_KEYWRITER_H

#include "frontend/graph/Node.h"

namespace weft::frontend {

/// Builds a key of bytes from values. A list begins with its length, so that different values never have
/// equal keys.
struct KeyWriter {
  std::string key;

  template <typename T> void put(const T &value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void putList(const std::vector<int64_t> &list) {
    put(list.size());
    key.append(reinterpret_cast<const char *>(list.data()), list.size() * sizeof(int64_t));
  }
  void putText(const std::string &text) {
    put(text.size());
    key += text;
  }
  void putSpec(const Spec &spec) {
    put(spec.dtype);
    put(spec.device.type());
    put(spec.device.index().value_or(-1));
    putList(spec.shape);
  }
  void putAttrs(const std::vector<Attr> &attrs) {
    for (const Attr &attr : attrs) {
      key += '\0';
      key += attr.name;
      put(attr.value.index());
      std::visit(
          [&](const auto &value) {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, std::vector<int64_t>>)
              putList(value);
            else if constexpr (std::is_same_v<T, std::string>)
              putText(value);
            else if constexpr (std::is_same_v<T, Device>)
              key += value.str();
            else
              put(value);
          },
          attr.value);
    }
  }
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_KEYWRITER_H
