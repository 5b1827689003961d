//===- io.hpp - Files of tensors -----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IO_HPP
#define WEFT_IO_HPP

#include "weft/module.hpp"

namespace weft {

/// Texts by name that a safetensors file carries beside its tensors, in order.
struct WEFT_API Metadata : std::vector<std::pair<std::string, std::string>> {
  using vector::at;
  using vector::vector;
  Metadata() = default;
  Metadata(std::vector<std::pair<std::string, std::string>> list) : vector(std::move(list)) {}
  /// The text with this name. Throws Error, which lists the names, if there is none.
  const std::string &at(const std::string &name, Loc loc = Loc::current()) const;
  bool contains(const std::string &name) const;
};

/// Every `save_` function writes beside the path and then renames, so that no reader sees half a file. All
/// throw Error with the file's name, and the place in it if it is damaged.

/// \name The safetensors format: every dtype
/// @{
WEFT_API void save_safetensors(const std::string &path, const StateDict &tensors,
                               const Metadata &metadata = {}, Loc loc = Loc::current());
WEFT_API StateDict load_safetensors(const std::string &path, Loc loc = Loc::current());
/// The metadata alone; no tensor is read.
WEFT_API Metadata safetensors_metadata(const std::string &path, Loc loc = Loc::current());
/// @}

/// \name NumPy's formats: one array, and an archive of named arrays. bf16 has no NumPy dtype and is refused
/// @{
WEFT_API void save_npy(const std::string &path, const Tensor &tensor, Loc loc = Loc::current());
WEFT_API Tensor load_npy(const std::string &path, Loc loc = Loc::current());
WEFT_API void save_npz(const std::string &path, const StateDict &tensors, Loc loc = Loc::current());
WEFT_API StateDict load_npz(const std::string &path, Loc loc = Loc::current());
/// @}

/// \name Copies on the host, complete when the call returns; later writes to the tensor do not show in them
/// @{
WEFT_API Tensor to_host(const Tensor &tensor, Loc loc = Loc::current());
WEFT_API StateDict to_host(const StateDict &tensors, Loc loc = Loc::current());
/// @}

} // namespace weft

#endif // WEFT_IO_HPP
