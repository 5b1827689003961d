//===- NamedDevices.h - The devices that a function is loaded on -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text that says which devices of this machine stand for those that a package names:
//
//   "cpu"                     The function runs on the host.
//   "cuda:1"                  This device stands for each one that the package names beside the host.
//   "cuda:0=cuda:1,cuda:1=cpu"  One by one: the name in the package, and the device of this machine.
//   ""                        Each device that the package names stands for the one of its name, if all of
//                             them are there and run one of the package's plans. Otherwise the function runs
//                             on the host.
//
// So one package for several targets runs with and without a GPU if nothing is said, and what is asked for by
// name is used or is an error.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_NAMEDDEVICES_H
#define WEFT_RUNTIME_EXECUTION_NAMEDDEVICES_H

#include "runtime/execution/Executable.h"

#include <map>
#include <string>
#include <string_view>

namespace weft::runtime {

/// The parsed text. Devices are named with a number: "cuda" is "cuda:0".
struct NamedDevices {
  std::string all;                                      ///< for every device; empty in the other cases
  std::map<std::string, std::string, std::less<>> each; ///< by the name in the package
};

/// An error is WEFT-E004.
WEFT_RUNTIME_API Expected<NamedDevices> parse_named_devices(std::string_view text);

/// Whether the text parses and its devices are there; otherwise WEFT-E004, or WEFT-E001 with the reason.
WEFT_RUNTIME_API Status check_device_map(std::string_view text);

/// Opens the devices of the text for a function of a package. WEFT-E001 also if nothing is said, the devices
/// of the package's plans are not there, and it has no plan for the host. WEFT-L007 if the text names a GPU,
/// and no plan of the function is for one that is named, or if it names the host, and there is no plan for a
/// CPU; the plans that there are come with it.
WEFT_RUNTIME_API Expected<DeviceMap> open_named_devices(const Package &package, std::string_view function,
                                                        std::string_view text);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_NAMEDDEVICES_H
