//===- Captures.h - Changes of captured values ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The captures of a lambda are read when the function is recorded, so a captured number or handle that
// changes later has no effect. WEFT_CHECK_CAPTURES=1 finds such changes: every call records the function
// again and compares the two recordings.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_CAPTURES_H
#define WEFT_FRONTEND_COMPILED_CAPTURES_H

#include "frontend/compiled/Variant.h"

namespace weft::frontend {

/// Whether WEFT_CHECK_CAPTURES is 1.
bool asksForCaptureChecks();

/// The operations of a region with the bindings of its variant. `recordedFrom` is a serial number from the
/// start of the recording.
std::vector<RecordedOperation> describeOperations(const Region &region, const Variant &variant,
                                                  uint64_t recordedFrom);

/// The first difference between two recordings, and its line.
struct CaptureChange {
  std::string text;
  Loc loc;
};
std::optional<CaptureChange> findChange(const std::vector<RecordedOperation> &before,
                                        const std::vector<RecordedOperation> &now);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_CAPTURES_H
