//===- Reasons.cpp - The table of reason codes ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Reasons.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace weft::ir {

static constexpr Reason table[] = {
#define WEFT_REFUSAL(code, title, remedy) {code, true, title, remedy},
#define WEFT_REASON(code, title, remedy) {code, false, title, remedy},
#include "ir/Reasons.inc"
#undef WEFT_REFUSAL
#undef WEFT_REASON
};

llvm::ArrayRef<Reason> reasons() { return table; }

const Reason *findReason(llvm::StringRef code) {
  for (const Reason &reason : table)
    if (reason.code == code)
      return &reason;
  return nullptr;
}

llvm::StringRef familyName(char family) {
  switch (family) {
  case 'B':
    return "loading of batches";
  case 'C':
    return "not captured";
  case 'D':
    return "donation refused";
  case 'E':
    return "environment";
  case 'F':
    return "fusion refused";
  case 'G':
    return "gradients";
  case 'K':
    return "kernels of the user";
  case 'L':
    return "loading a package";
  case 'M':
    return "memory";
  case 'N':
    return "numerics";
  case 'O':
    return "optimisers";
  case 'P':
    return "placement";
  case 'R':
    return "compiled again";
  case 'S':
    return "dynamic sizes";
  case 'T':
    return "loops";
  default:
    return "";
  }
}

char strictFamily(llvm::StringRef mode) {
  return llvm::StringSwitch<char>(mode)
      .Case("fusion", 'F')
      .Case("donate", 'D')
      .Case("capture", 'C')
      .Case("recompile", 'R')
      .Default(0);
}

llvm::StringRef strictModeOf(char family) {
  switch (family) {
  case 'F':
    return "fusion";
  case 'D':
    return "donate";
  case 'C':
    return "capture";
  case 'R':
    return "recompile";
  default:
    return "";
  }
}

llvm::StringRef strictModes() { return "fusion, donate, capture or recompile"; }

} // namespace weft::ir
