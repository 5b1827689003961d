//===- TraceFolder.h - Every compilation of a run, on disk ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With WEFT_TRACE_DIR=DIR, each process that compiles something makes a folder of its own in DIR, with an
// index page, and a folder in it for each compilation. Files are written whole or not at all. If something
// cannot be written, that is reported once, on standard error, and the program goes on.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILER_TRACEFOLDER_H
#define WEFT_FRONTEND_COMPILER_TRACEFOLDER_H

#include "weft/status.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::frontend {

/// One compilation in the folder.
struct CompilationRecord {
  std::string name;   ///< "step", or "lazy"
  std::string reason; ///< why it was compiled: as the first variant, or which guard missed, with its old and
                      ///< new value
  std::string signature; ///< of the call; empty for lazy programs
  std::string place;     ///< "file:line:col" of the call or value that asked for it
  std::string error;     ///< empty if it succeeded
  double ms = 0, passMs = 0, kernelMs = 0;
  uint64_t launches = 0, kernels = 0, kernelsCompiled = 0, arenaBytes = 0;
  std::string recorded;                                    ///< text of the IR before any pass
  std::string plan;                                        ///< after all passes
  std::string kernelIr;                                    ///< of every kernel
  std::string page;                                        ///< the page of `explain_html()`
  std::vector<std::pair<std::string, std::string>> phases; ///< name and text after it
};

class TraceFolder {
public:
  /// The folder that WEFT_TRACE_DIR names now. Null if it names none, or one that cannot be written.
  static TraceFolder *current();

  /// Writes a compilation and the index. The caller holds the graph's lock.
  void add(const CompilationRecord &record);

  /// The bounds of one run, in compilations and in bytes.
  static constexpr size_t mostCompilations = 200;
  static constexpr uint64_t mostBytes = uint64_t(256) << 20;

private:
  struct Row;
  explicit TraceFolder(std::string folder);
  Status open();
  Status write(const std::string &path, const std::string &text);
  Status writeIndex();
  Status writeRuns() const;
  Status addRow(const CompilationRecord &record);
  void giveUp(const Status &status);

  const std::string folder_; ///< as WEFT_TRACE_DIR names it
  std::string run_;          ///< the folder of this process within it
  std::vector<Row> rows_;
  uint64_t written_ = 0, left_ = 0; ///< bytes written; compilations left out because of the bounds
  bool failed_ = false;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILER_TRACEFOLDER_H
