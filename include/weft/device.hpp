//===- device.hpp - Devices, and source lines for errors ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_DEVICE_HPP
#define WEFT_DEVICE_HPP

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <optional>
#include <source_location>
#include <string>
#include <string_view>

namespace weft {

/// A source line of the program, which errors name.
using Loc = std::source_location;

enum class DeviceType : uint8_t { cpu = 0, cuda = 1 };

/// A device as the user names it: "cpu", "cuda", "cuda:1". "cuda" without a number means the current device
/// and does not equal "cuda:0"; a tensor on CUDA always has a number.
class WEFT_API Device {
public:
  Device() = default;
  /// Throws Error for a number that no device has: there is one CPU, and CUDA devices count from 0 to 127.
  /// The CPU has no number, even if 0 is given.
  constexpr Device(DeviceType type, std::optional<int> index = {}, Loc loc = Loc::current())
      : type_(type), index_(checked(type, index, loc)) {}
  /// The CUDA device of this number.
  constexpr Device(int index, Loc loc = Loc::current()) : Device(DeviceType::cuda, index, loc) {}
  /// As `parse`, but throws Error.
  Device(const char *text, Loc loc = Loc::current());
  Device(const std::string &text, Loc loc = Loc::current()) : Device(text.c_str(), loc) {}

  /// Reads "cpu", "cuda" or "cuda:N"; an error says what is wrong and which types there are.
  static Expected<Device> parse(std::string_view text);

  DeviceType type() const { return type_; }
  std::optional<int> index() const { return index_; }
  bool is_cpu() const { return type_ == DeviceType::cpu; }
  bool is_cuda() const { return type_ == DeviceType::cuda; }
  std::string str() const;
  friend bool operator==(const Device &, const Device &) = default;

private:
  static constexpr std::optional<int> checked(DeviceType type, std::optional<int> index, Loc loc) {
    if (index && (*index < 0 || *index > (type == DeviceType::cpu ? 0 : 127)))
      refuse(type, *index, loc);
    return type == DeviceType::cpu ? std::nullopt : index;
  }
  [[noreturn]] static void refuse(DeviceType type, int index, Loc loc);

  DeviceType type_ = DeviceType::cpu;
  std::optional<int> index_;
};

/// The device that programs should use: that of WEFT_DEVICE if it is set, otherwise the first CUDA device,
/// otherwise the CPU. Without WEFT_DEVICE, the first call loads the driver.
WEFT_API Device default_device();
/// Sets what `default_device` returns, and the device of new tensors whose device is not given.
WEFT_API void set_default_device(Device device);
/// The device of a new tensor whose device is not given: that of the innermost DefaultDeviceGuard of this
/// thread, otherwise that of `set_default_device`, otherwise the CPU.
WEFT_API Device creation_device();

/// Sets, for a scope and on this thread, the device of tensors whose device is not given.
class WEFT_API DefaultDeviceGuard {
public:
  explicit DefaultDeviceGuard(Device device);
  ~DefaultDeviceGuard();
  DefaultDeviceGuard(const DefaultDeviceGuard &) = delete;
  DefaultDeviceGuard &operator=(const DefaultDeviceGuard &) = delete;

private:
  std::optional<Device> before_;
};

/// Sets, for a scope and on this thread, which device "cuda" without a number means. It does not change where
/// operations run, which is the device of their tensors. A guard for the CPU changes nothing.
class WEFT_API DeviceGuard {
public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard &) = delete;
  DeviceGuard &operator=(const DeviceGuard &) = delete;

private:
  int before_;
};

/// The same device with a number: "cuda" becomes the current one of this thread.
WEFT_API Device resolve(Device device);

} // namespace weft

#endif // WEFT_DEVICE_HPP
