//===- TensorFiles.cpp - Files of tensors ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/io.hpp"

#include "frontend/files/TensorFiles.h"
#include "frontend/io/Message.h"
#include "frontend/io/Npy.h"
#include "frontend/io/Npz.h"
#include "frontend/io/Safetensors.h"
#include "frontend/ops/Ops.h"

#include <algorithm>

namespace weft {

using frontend::throwAt;
using frontend::toTensor;

Tensor frontend::toTensor(const io::HostArray &array) {
  return Tensor::from_bytes(array.bytes.data(), array.bytes.size(), array.dtype, array.shape,
                            frontend::onHost());
}

namespace {
/// Tensors copied to the host, and views of their bytes for a writer.
struct HostViews {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<io::NamedView> views;
  HostViews(const StateDict &tensors, Loc loc) {
    bytes.reserve(tensors.size());
    for (const auto &[name, tensor] : tensors) {
      if (!tensor.defined())
        frontend::fail(
            "the tensor '" + name + "' of what is to be saved is undefined: nothing was assigned to it", loc);
      bytes.push_back(tensor.to_bytes(loc));
      views.push_back({name, {tensor.dtype(loc), tensor.sizes(loc), bytes.back()}});
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

void save_safetensors(const std::string &path, const StateDict &tensors, const Metadata &metadata, Loc loc) {
  HostViews host(tensors, loc);
  throwAt(io::write_safetensors(path, host.views, metadata), loc);
}

StateDict load_safetensors(const std::string &path, Loc loc) {
  auto file = io::read_safetensors(path);
  throwAt(file.status(), loc);
  return toState(file->tensors);
}

const std::string &Metadata::at(const std::string &name, Loc loc) const {
  std::string known;
  for (const auto &[key, value] : *this) {
    if (key == name)
      return value;
    known += (known.empty() ? "" : ", ") + io::quoted(key);
  }
  frontend::fail("the metadata has no " + io::quoted(name) + "; it has: " + (known.empty() ? "none" : known),
                 loc);
}

bool Metadata::contains(const std::string &name) const {
  return std::any_of(begin(), end(), [&](const auto &entry) { return entry.first == name; });
}

Metadata safetensors_metadata(const std::string &path, Loc loc) {
  auto source = io::FileSource::open(path);
  throwAt(source.status(), loc);
  auto index = io::read_safetensors_index(**source);
  throwAt(index.status(), loc);
  return index->metadata;
}

void save_npy(const std::string &path, const Tensor &tensor, Loc loc) {
  std::vector<std::byte> bytes = tensor.to_bytes(loc);
  throwAt(io::write_npy(path, {tensor.dtype(loc), tensor.sizes(loc), bytes}), loc);
}

Tensor load_npy(const std::string &path, Loc loc) {
  auto array = io::read_npy(path);
  throwAt(array.status(), loc);
  return toTensor(*array);
}

void save_npz(const std::string &path, const StateDict &tensors, Loc loc) {
  HostViews host(tensors, loc);
  throwAt(io::write_npz(path, host.views), loc);
}

StateDict load_npz(const std::string &path, Loc loc) {
  auto arrays = io::read_npz(path);
  throwAt(arrays.status(), loc);
  return toState(*arrays);
}

Tensor to_host(const Tensor &tensor, Loc loc) {
  std::vector<std::byte> bytes = tensor.to_bytes(loc);
  return Tensor::from_bytes(bytes.data(), bytes.size(), tensor.dtype(loc), tensor.sizes(loc),
                            frontend::onHost(), loc);
}

StateDict to_host(const StateDict &tensors, Loc loc) {
  StateDict copies;
  for (const auto &[name, tensor] : tensors)
    copies.emplace_back(name, to_host(tensor, loc));
  return copies;
}

} // namespace weft
