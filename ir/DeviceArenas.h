//===- DeviceArenas.h - Each device's part of the arena --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The temporaries of a function have offsets in one range, [0, weft.arena_bytes). If they are on several
// devices, each device has a part of the range, and memory only for that part. So two values on different
// devices never have the same offset, and a proof about offsets holds for every device. Attributes of the
// function:
//
//   weft.arena_devices   the devices, in the order of their parts
//   weft.arena_begins    the first offset of each part; a part ends where the next one begins
//
// Both are absent if all temporaries are on one device.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_DEVICEARENAS_H
#define WEFT_IR_DEVICEARENAS_H

#include "ir/Dialect.h"

namespace weft::ir {

namespace attr {
inline constexpr llvm::StringLiteral arenaDevices = "weft.arena_devices", arenaBegins = "weft.arena_begins";
} // namespace attr

struct DeviceArena {
  DeviceAttr device; ///< without sizes; null if the arena is not divided
  Size begin = 0, end = 0;
};

/// The parts of the function's arena; one part without a device if it is not divided. Emits an error if the
/// attributes are malformed, if a device occurs twice, or if parts are not in order.
mlir::FailureOr<llvm::SmallVector<DeviceArena>> deviceArenasOf(FuncOp func);

/// The part of a device; null if it has none.
const DeviceArena *arenaOf(llvm::ArrayRef<DeviceArena> arenas, DeviceAttr device);

} // namespace weft::ir

#endif // WEFT_IR_DEVICEARENAS_H
