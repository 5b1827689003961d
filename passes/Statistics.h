//===- Statistics.h - Statistics about passes -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics about every pass, computed from the IR before and after it: added and removed ops by name, and
// decisions by code. MLIR's own statistics need an LLVM that was built with them, which Debian's was not.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_STATISTICS_H
#define WEFT_PASSES_STATISTICS_H

#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include <map>
#include <string>
#include <vector>

namespace weft::passes {

/// Counts over any number of pass managers, which run one after the other. The passes of one manager may run
/// on several threads.
class PassStatistics {
public:
  /// Counts the passes of a manager. This object must outlive the manager.
  void attach(mlir::PassManager &manager);
  /// A line for each pass, in the order in which they first ran.
  std::string str() const;

private:
  class Instrumentation;
  using Counts = std::map<std::string, int64_t>;
  struct Row {
    std::string pass;
    int64_t runs = 0, opsBefore = 0, opsAfter = 0;
    Counts ops, decisions; ///< added minus removed
  };
  Row &rowOf(llvm::StringRef pass);
  std::vector<Row> rows;
};

} // namespace weft::passes

#endif // WEFT_PASSES_STATISTICS_H
