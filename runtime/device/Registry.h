//===- Registry.h - The devices of a process --------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_DEVICE_REGISTRY_H
#define WEFT_RUNTIME_DEVICE_REGISTRY_H

#include "runtime/device/Device.h"

#include <string_view>

namespace weft::runtime {

/// Says which device of this process a name such as "cuda:0" means; null: none any more. What was loaded or
/// allocated before stays where it is.
WEFT_RUNTIME_API void register_device(std::string_view name, Device *device);
/// The device of that name: the host for "cpu". A CUDA device is opened when it is asked for first. An
/// error says why there is none.
WEFT_RUNTIME_API Expected<Device *> open_device(std::string_view name);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_DEVICE_REGISTRY_H
