//===- Io.cpp ------------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/io.hpp"

#include "frontend/Ops.h"
#include "frontend/io/Npy.h"
#include "frontend/io/Safetensors.h"

namespace weft {

using frontend::toTensor;

Tensor frontend::toTensor(const io::HostArray &array) {
  return Tensor::from_bytes(array.bytes.data(), array.bytes.size(), array.dtype, array.shape);
}

void save_safetensors(const std::string &path, const StateDict &tensors) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<io::NamedView> views;
  bytes.reserve(tensors.size());
  for (const auto &[name, tensor] : tensors) {
    bytes.push_back(tensor.to_bytes());
    views.push_back({name, {tensor.dtype(), tensor.sizes(), bytes.back()}});
  }
  io::write_safetensors(path, views).throw_if_failed();
}

StateDict load_safetensors(const std::string &path) {
  auto file = io::read_safetensors(path);
  file.status().throw_if_failed();
  StateDict state;
  for (const io::NamedArray &entry : file->tensors)
    state.emplace_back(entry.name, toTensor(entry.array));
  return state;
}

void save_npy(const std::string &path, const Tensor &tensor) {
  std::vector<std::byte> bytes = tensor.to_bytes();
  io::write_npy(path, {tensor.dtype(), tensor.sizes(), bytes}).throw_if_failed();
}

Tensor load_npy(const std::string &path) {
  auto array = io::read_npy(path);
  array.status().throw_if_failed();
  return toTensor(*array);
}

} // namespace weft
