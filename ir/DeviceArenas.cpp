//===- DeviceArenas.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/DeviceArenas.h"

using namespace mlir;

namespace weft::ir {

FailureOr<SmallVector<DeviceArena>> deviceArenasOf(FuncOp func) {
  auto bytes = sizeOfAttr(func->getAttr(attr::arenaBytes));
  if (!bytes)
    return func.emitOpError() << "has no memory plan: it needs the attribute " << attr::arenaBytes;
  Attribute devices = func->getAttr(attr::arenaDevices), begins = func->getAttr(attr::arenaBegins);
  if (!devices && !begins)
    return SmallVector<DeviceArena>{{DeviceAttr(), 0, *bytes}};
  auto list = dyn_cast_or_null<ArrayAttr>(devices);
  auto offsets = dyn_cast_or_null<SizesAttr>(begins);
  if (!list || !offsets || list.empty() || list.size() != offsets.getSizes().size())
    return func.emitOpError() << "needs a device in " << attr::arenaDevices << " for each size in "
                              << attr::arenaBegins;
  SymbolRanges ranges = rangesOf(func);
  SmallVector<DeviceArena> arenas;
  for (auto [device, begin] : llvm::zip_equal(list, offsets.getSizes())) {
    auto known = dyn_cast<DeviceAttr>(device);
    if (!known)
      return func.emitOpError() << attr::arenaDevices << " has " << device << ", expected a device";
    if (arenaOf(arenas, known))
      return func.emitOpError() << attr::arenaDevices << " has " << known.str() << " twice";
    Size before = arenas.empty() ? Size(0) : arenas.back().begin;
    if (arenas.empty() ? begin != Size(0) : !ranges.isAtMost(before, begin))
      return func.emitOpError() << "has the part of " << known.str() << " in its arena at " << sizeText(begin)
                                << (arenas.empty() ? ", expected 0" : ", before the part that comes first");
    if (!arenas.empty())
      arenas.back().end = begin;
    arenas.push_back({known.withoutSizes(), begin, *bytes});
  }
  if (!ranges.isAtMost(arenas.back().begin, *bytes))
    return func.emitOpError() << "has an arena of " << sizeText(*bytes) << " bytes, and the part of "
                              << arenas.back().device.str() << " begins at " << sizeText(arenas.back().begin);
  return arenas;
}

const DeviceArena *arenaOf(ArrayRef<DeviceArena> arenas, DeviceAttr device) {
  for (const DeviceArena &arena : arenas)
    if (!arena.device || arena.device == device.withoutSizes())
      return &arena;
  return nullptr;
}

} // namespace weft::ir
