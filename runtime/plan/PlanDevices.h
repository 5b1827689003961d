//===- PlanDevices.h - The devices of a plan ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_PLANDEVICES_H
#define WEFT_RUNTIME_PLAN_PLANDEVICES_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::fb {
struct Launch;
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

struct PlanDevice {
  std::string name; ///< logical, "cuda:0"
  uint64_t arena_begin = 0, arena_bytes = 0;
};

/// The most devices that a plan names.
inline constexpr uint32_t maxPlanDevices = 16;

/// The plan's devices: the host alone where it lists none.
WEFT_RUNTIME_API std::vector<PlanDevice> plan_devices(const fb::Plan &plan);

/// Checks what a plan says of devices, and returns what is wrong without a code: their parts of the arena are
/// in order and are all of it; arguments, results and buffers lie on one of them, a buffer of the arena in
/// its device's part; launches run on one of them, which holds every buffer that a kernel or a product
/// touches, and one of the two that a copy touches. What launches refer to has been checked before.
Status check_plan_devices(const fb::Plan &plan);

/// Checks the regions of a plan, and returns what is wrong without a code: each is one run of launches, of
/// which none prints.
Status check_regions(const fb::Plan &plan);

/// Whether launches on other devices than the host are of kernels of a GPU.
bool has_device_code(const fb::Plan &plan);
/// Whether a launch is carried out by another device than the host,
bool is_off_host(const fb::Plan &plan, const fb::Launch &launch);
/// and whether that is a GPU.
bool is_device_launch(const fb::Plan &plan, const fb::Launch &launch);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_PLANDEVICES_H
