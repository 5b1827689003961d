//===- Captures.h - Whether what a function captured has changed --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a lambda captures is read when the function is recorded, and a number or a handle that changes later
// changes nothing. WEFT_CHECK_CAPTURES=1 finds these: the function is recorded again at every call, and both
// recordings are compared.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_CAPTURES_H
#define WEFT_FRONTEND_COMPILED_CAPTURES_H

#include "frontend/compiled/Variant.h"

namespace weft::frontend {

/// Whether WEFT_CHECK_CAPTURES is 1.
bool asksForCaptureChecks();

/// The operations of a region, which the variant's bindings belong to. `recordedFrom` is a serial number that
/// was taken when its recording began.
std::vector<RecordedOperation> describeOperations(const Region &region, const Variant &variant,
                                                  uint64_t recordedFrom);

/// What the first difference is, and the line that has it; nothing where the two are equal.
struct CaptureChange {
  std::string text;
  Loc loc;
};
std::optional<CaptureChange> findChange(const std::vector<RecordedOperation> &before,
                                        const std::vector<RecordedOperation> &now);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_CAPTURES_H
