//===- DeviceImage.h - The kernels of a GPU -----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A section of a package with the kernels that one kind of GPU runs, as a FlatBuffer (DeviceImage of
// plan.fbs): machine code for that kind, PTX for later ones, and how each is launched. Nothing here needs a
// driver; a device loads the code.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_DEVICEIMAGE_H
#define WEFT_RUNTIME_PLAN_DEVICEIMAGE_H

#include "runtime/memory/Layout.h"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::fb {
struct DeviceImage;
struct DeviceKernel;
struct KernelLaunch;
struct Launch;
struct OwnKernel;
} // namespace weft::fb

namespace weft::runtime {

/// Blocks of a grid, or threads of a block, in each of three dimensions.
struct LaunchExtents {
  uint32_t x = 1, y = 1, z = 1;
  bool operator==(const LaunchExtents &) const = default;
};

/// A parameter of a kernel that the user wrote: the address of an operand of the plan's launch, or a number.
struct RawParameter {
  int32_t operand = -1;
  uint8_t bytes = 8; ///< of the number
  uint64_t bits = 0;
};

/// What a kernel that the user wrote is launched with, beside its blocks.
struct RawForm {
  LaunchExtents grid, block;
  uint32_t shared_bytes = 0;
  std::vector<RawParameter> parameters;
  struct Copy {
    uint32_t from, to; ///< operands of the plan's launch
    uint64_t bytes;
  };
  std::vector<Copy> copies; ///< before the kernel begins
};

/// What a kernel is given of a size d that it divides by: a / d is (a + the upper 64 bits of a * factor) >>
/// shift for every a below 2^63, by the method of Granlund and Montgomery (1994). Nothing is divided by a d
/// of 0.
struct WEFT_RUNTIME_API Reciprocal {
  uint64_t factor = 0, shift = 0;
  static Reciprocal of(int64_t d);
};

/// Those that a launch with these sizes gives the kernel; an error if one of its divisors is beyond 63 bits.
WEFT_RUNTIME_API Expected<std::vector<Reciprocal>> reciprocals_of(const fb::DeviceKernel &kernel,
                                                                  std::span<const int64_t> sizes);

/// One launch of a kernel of a GPU: how many blocks, and what its parameters are.
struct DeviceLaunch {
  const fb::DeviceKernel *kernel = nullptr;
  uint32_t blocks = 0;
  std::vector<uint32_t> pointers; ///< operands of the plan's launch whose addresses are the first parameters
  std::vector<int64_t> sizes;     ///< the parameters behind them,
  std::vector<Reciprocal> reciprocals; ///< and those behind these
  std::optional<RawForm> raw; ///< of a kernel that the user wrote, which has all of the above in here
};

class WEFT_RUNTIME_API DeviceImage {
public:
  /// Copies and checks a section. Errors have the code WEFT-L009.
  static Expected<std::shared_ptr<const DeviceImage>> load(std::span<const std::byte> section);

  /// "sm_90"
  std::string_view architecture() const;
  const fb::DeviceImage &content() const { return *content_; }
  /// Null if there is none of this name.
  const fb::DeviceKernel *find(std::string_view symbol) const;
  /// The launch of a fusion. The message says what of the plan does not fit the kernel: "has 3 tasks, ...".
  Expected<DeviceLaunch> launch_of(const fb::KernelLaunch &launch) const;
  /// The launches of the kernels of our own that carry out a contraction, attention, a convolution or a
  /// sort, in order, or that of the kernel that the user wrote.
  Expected<std::vector<DeviceLaunch>> own_launches(const fb::Launch &launch) const;

private:
  DeviceImage() = default;
  Expected<DeviceLaunch> own_launch(const fb::Launch &launch, const fb::OwnKernel &own, size_t number,
                                    size_t operands) const;

  std::vector<uint64_t> bytes_; ///< aligned, as a FlatBuffer must be
  const fb::DeviceImage *content_ = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_DEVICEIMAGE_H
