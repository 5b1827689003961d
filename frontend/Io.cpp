//===- Io.cpp - Files of tensors -----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/io.hpp"

#include "frontend/Ops.h"
#include "frontend/io/Npy.h"
#include "frontend/io/Npz.h"
#include "frontend/io/Safetensors.h"

namespace weft {

using frontend::toTensor;

Tensor frontend::toTensor(const io::HostArray &array) {
  return Tensor::from_bytes(array.bytes.data(), array.bytes.size(), array.dtype, array.shape);
}

namespace {
/// The bytes of tensors on the host, and views of them for a writer.
struct HostViews {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<io::NamedView> views;
  explicit HostViews(const StateDict &tensors) {
    bytes.reserve(tensors.size());
    for (const auto &[name, tensor] : tensors) {
      bytes.push_back(tensor.to_bytes());
      views.push_back({name, {tensor.dtype(), tensor.sizes(), bytes.back()}});
    }
  }
};
} // namespace

static StateDict toState(const std::vector<io::NamedArray> &arrays) {
  StateDict state;
  for (const io::NamedArray &entry : arrays)
    state.emplace_back(entry.name, toTensor(entry.array));
  return state;
}

void save_safetensors(const std::string &path, const StateDict &tensors, const Metadata &metadata) {
  HostViews host(tensors);
  io::write_safetensors(path, host.views, metadata).throw_if_failed();
}

StateDict load_safetensors(const std::string &path) {
  auto file = io::read_safetensors(path);
  file.status().throw_if_failed();
  return toState(file->tensors);
}

Metadata safetensors_metadata(const std::string &path) {
  auto source = io::FileSource::open(path);
  source.status().throw_if_failed();
  auto index = io::read_safetensors_index(**source);
  index.status().throw_if_failed();
  return index->metadata;
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

void save_npz(const std::string &path, const StateDict &tensors) {
  HostViews host(tensors);
  io::write_npz(path, host.views).throw_if_failed();
}

StateDict load_npz(const std::string &path) {
  auto arrays = io::read_npz(path);
  arrays.status().throw_if_failed();
  return toState(*arrays);
}

Tensor to_host(const Tensor &tensor) {
  std::vector<std::byte> bytes = tensor.to_bytes();
  return Tensor::from_bytes(bytes.data(), bytes.size(), tensor.dtype(), tensor.sizes());
}

StateDict to_host(const StateDict &tensors) {
  StateDict copies;
  for (const auto &[name, tensor] : tensors)
    copies.emplace_back(name, to_host(tensor));
  return copies;
}

} // namespace weft
