//===- RecordedLocation.h - Numbers of fallible ops -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One lazy program is used for all recordings of the same structure, but it has the source lines of the first
// recording. Therefore an op that may fail also has its number among the ops that may fail, with which a
// caller finds the line in its own recording.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_RECORDEDLOCATION_H
#define WEFT_IR_RECORDEDLOCATION_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace weft::ir {

inline constexpr llvm::StringLiteral recordedPrefix = "recorded ";

/// The location with the number of its op.
inline mlir::Location recordedLocation(mlir::Location loc, int64_t number) {
  return mlir::NameLoc::get(mlir::StringAttr::get(loc.getContext(), recordedPrefix + llvm::Twine(number)),
                            loc);
}

/// The number in a location, the first if there are several; -1 if there is none.
inline int64_t recordedNumber(mlir::Location loc) {
  int64_t number = -1;
  loc->walk([&](mlir::Location part) {
    auto named = llvm::dyn_cast<mlir::NameLoc>(part);
    llvm::StringRef name = named ? named.getName().getValue() : llvm::StringRef();
    if (!name.consume_front(recordedPrefix) || name.getAsInteger(10, number))
      return mlir::WalkResult::advance();
    return mlir::WalkResult::interrupt();
  });
  return number;
}

} // namespace weft::ir

#endif // WEFT_IR_RECORDEDLOCATION_H
