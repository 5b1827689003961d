//===- io.hpp - Files of tensors --------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IO_HPP
#define WEFT_IO_HPP

#include "weft/nn.hpp"

namespace weft {

/// Writes tensors in the safetensors format, beside the path and then renamed, so that no reader sees half a
/// file.
WEFT_API void save_safetensors(const std::string &path, const StateDict &tensors);
WEFT_API StateDict load_safetensors(const std::string &path);
/// One tensor in NumPy's .npy format. bf16 has no NumPy dtype and is refused.
WEFT_API void save_npy(const std::string &path, const Tensor &tensor);
WEFT_API Tensor load_npy(const std::string &path);

} // namespace weft

#endif // WEFT_IO_HPP
