//===- Explain.cpp ---------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Explain.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace weft::frontend {

ExplainMode explainMode() {
  const char *value = std::getenv("WEFT_EXPLAIN");
  const std::string_view text = value ? value : "";
  if (text.empty() || text == "0")
    return ExplainMode::off;
  if (text == "1")
    return ExplainMode::variants;
  if (text == "full")
    return ExplainMode::full;
  if (text == "recompile")
    return ExplainMode::recompile;
  static std::atomic<bool> told{false};
  if (!told.exchange(true))
    std::fprintf(stderr,
                 "weft: WEFT_EXPLAIN is '%s', expected 1, full, recompile or 0; nothing is explained\n",
                 value);
  return ExplainMode::off;
}

} // namespace weft::frontend
