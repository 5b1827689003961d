//===- DeviceArenas.h - Each device's part of the arena --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The temporaries of a function have offsets in one range, [0, weft.arena_bytes). Where they lie on several
// devices, that range is divided: each device has a part, and only memory for its own part. So two values of
// different devices never share an offset, and what is proven of offsets holds for every device.
//
//   weft.arena_devices   of the function: the devices, in the order of their parts
//   weft.arena_begins    the first offset of each part; a part ends where the next one begins
//
// Both are left out where all temporaries lie on one device.
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
  DeviceAttr device; ///< without sizes; null: of whichever device the function's temporaries are
  Size begin = 0, end = 0;
};

/// The parts of the function's arena: one without a device where it is not divided. Emits what is wrong with
/// the attributes: no list of devices, one of them twice, or parts that are not in order.
mlir::FailureOr<llvm::SmallVector<DeviceArena>> deviceArenasOf(FuncOp func);

/// The part of that device; null where it has none.
const DeviceArena *arenaOf(llvm::ArrayRef<DeviceArena> arenas, DeviceAttr device);

} // namespace weft::ir

#endif // WEFT_IR_DEVICEARENAS_H
