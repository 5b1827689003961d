//===- Report.h - Reports about a compilation -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about compiled functions, collected once, and reports made from them: a few screens of text, a full
// text, and a page. With dynamic sizes, bytes are those at the largest sizes, and the text says so.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_REPORT_H
#define WEFT_CODEGEN_REPORT_H

#include "ir/Decisions.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace weft::codegen {

/// One kernel. Launches with equal kernels share it.
struct KernelReport {
  std::string symbol;
  std::string text; ///< the canonical one
  unsigned launches = 0;

  /// The kernel under its own name, in upstream dialects, before machine code.
  std::string kernelIr() const;
};

/// One launch of a function, in the order in which they are issued.
struct LaunchReport {
  /// The bytes of a result in the arena, and the last launch that reads it.
  struct Slice {
    int64_t position = 0, bytes = 0;
    unsigned end = 0;
  };
  std::string kind;               ///< "row", "contraction+bias", "transfer"
  std::string results;            ///< their types
  bool isFusion = false;          ///< it is computed by a kernel of Weft's own
  std::string kernel;             ///< the symbol of its kernel; empty if it has none, or none is compiled
  std::vector<std::string> lines; ///< the source lines that it computes, as "file:line:col", each once
  int64_t readBytes = 0, writtenBytes = 0;
  unsigned queue = 0;
  bool captured = false;
  /// For a kernel of Weft's own, at the largest sizes: the pieces of work that threads take, and the time by
  /// the cost model of its device, in picoseconds.
  int64_t pieces = 0, estimatedPs = 0;
  std::vector<unsigned> reads; ///< the earlier launches whose results it reads
  std::vector<Slice> slices;
};

/// The compiled form of one function.
struct FunctionReport {
  std::string name;
  bool dynamic = false;   ///< has sizes that depend on the call
  bool hasGraphs = false; ///< the target has graphs of launches
  std::vector<LaunchReport> launches;
  std::vector<ir::Decision> decisions;
  std::string
      capture; ///< which launches are captured and which are not, in a few lines; empty without graphs
  uint64_t arenaBytes = 0, arenaLowerBound = 0; ///< at the largest sizes
};

struct CompileReport {
  std::string target = "cpu";
  std::vector<FunctionReport> functions;
  std::vector<KernelReport> kernels;
  double passMs = 0, kernelMs = 0;
  uint64_t kernelsCompiled = 0, kernelsFromCache = 0;

  /// For people: for each function five lines, then launches by source line, then one row for each pair of
  /// kernels that were not fused, costliest first. A long table is cut, and says so.
  std::string str() const;
  /// "31 kernels; passes 4.1 ms, machine code 210.0 ms (31 compiled, 0 from the cache)" and a line's end;
  /// empty if nothing was compiled.
  std::string times() const;
};

/// The functions of a module that has its launch lists.
CompileReport reportPlan(mlir::ModuleOp module);

/// The report, followed by every launch with its slices and every decision of its module.
std::string fullText(const CompileReport &report, mlir::ModuleOp module);

/// A page of HTML that refers to nothing outside of itself: refusals, source lines, launches and kernels,
/// with links between them and a filter, then what launches exchange and memory over time. `title` and
/// `preamble` are text. The code of kernels is left out once the page exceeds a bound, and the page says so.
std::string htmlPage(const CompileReport &report, const std::string &title, const std::string &preamble = "");

/// The first five lines about a function: launches, kernels, bytes moved, peak of the arena, and the three
/// costliest refusals.
std::string headText(const CompileReport &report, const FunctionReport &function);
/// The subject of a decision: "dot_general -> softmax", "result 0 -> argument 1".
std::string subjectText(const ir::Decision &decision);
/// "512 B", "1.5 KiB", "12.3 MiB".
std::string bytesText(int64_t bytes);
/// "0.4 us", "12.3 us", "4.1 ms".
std::string timeText(int64_t picoseconds);
/// "src/gpt.cpp:41" from "src/gpt.cpp:41:12", after which ", " and further lines may follow. Text of another
/// form is returned unchanged.
llvm::StringRef placeOf(llvm::StringRef line);
/// "gpt.cpp:41" from the same.
std::string shortLine(llvm::StringRef line);
/// Whether a decision is a refusal of something that would have saved time or memory.
bool isRefusal(const ir::Decision &decision);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_REPORT_H
