//===- TargetDescription.cpp - What decisions know of a machine -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/TargetDescription.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace weft::ir {

// Made by CMake from ir/devices/*.txt: one initialiser a file, so that a field that is missing, misspelt or
// out of place is an error of the build.
static constexpr TargetDescription table[] = {
#include "ir/Devices.inc"
};
static_assert(std::string_view(table[0].name) == "cpu");

llvm::ArrayRef<TargetDescription> targets() { return table; }

const TargetDescription *findTarget(llvm::StringRef name) {
  const bool cuda = name.consume_front("cuda:");
  const auto *found = llvm::find_if(
      table, [&](const TargetDescription &entry) { return entry.name == name && !(cuda && entry.isCpu()); });
  return found == std::end(table) ? nullptr : found;
}

std::string targetNames() {
  return llvm::join(llvm::map_range(table,
                                    [](const TargetDescription &entry) {
                                      return (entry.isCpu() ? "" : "cuda:") + entry.name.str();
                                    }),
                    ", ");
}

const TargetDescription &cpuTarget() { return table[0]; }

} // namespace weft::ir
