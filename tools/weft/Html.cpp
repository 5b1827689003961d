//===- Html.cpp - A program's explanation as one page ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Html.h"

#include "frontend/io/AtomicFile.h"
#include "ir/Decisions.h"
#include "ir/Dialect.h"
#include "ir/LaunchAttributes.h"
#include "ir/Reasons.h"
#include "passes/LaunchList.h"
#include "passes/MemoryPlan.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::tool {

static std::string escaped(llvm::StringRef text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

namespace {

/// One function's part of the page.
class FunctionPage {
public:
  FunctionPage(FuncOp function, llvm::raw_ostream &os) : function(function), os(os) {
    for (Operation &op : function.getBody().front())
      if (passes::isLaunch(&op)) {
        number[&op] = static_cast<unsigned>(launches.size());
        launches.push_back(&op);
      }
  }

  void write(const codegen::FunctionReport &report) {
    os << "<h2>Function " << escaped(report.name) << "</h2>\n<h3>Launches</h3>\n<pre>" << escaped(report.plan)
       << "</pre>\n<h3>What launches exchange</h3>\n";
    writeGraph();
    os << "<h3>Memory over time</h3>\n";
    writeMemory();
    os << "<h3>Decisions</h3>\n";
    writeDecisions();
    os << "<h3>Capture</h3>\n<pre>" << escaped(report.capture) << "</pre>\n";
  }

private:
  static std::string label(Operation *op) {
    if (auto fusion = dyn_cast<FusionOp>(op))
      return stringifyFusionKind(fusion.getKind()).str();
    return op->getName().stripDialect().str();
  }

  /// Launches as boxes from top to bottom, values as arcs beside them.
  void writeGraph() {
    constexpr int row = 30, width = 240, left = 20;
    int height = static_cast<int>(launches.size()) * row + 20;
    os << "<svg width=\"760\" height=\"" << height << "\" role=\"img\">\n";
    for (auto [i, op] : llvm::enumerate(launches)) {
      int y = static_cast<int>(i) * row + 10;
      bool captured = op->hasAttr(attr::capture);
      os << "<rect x=\"" << left << "\" y=\"" << y << "\" width=\"" << width
         << "\" height=\"22\" rx=\"4\" class=\"" << (captured ? "captured" : "plain") << "\"><title>"
         << escaped(locationText(op->getLoc())) << "</title></rect><text x=\"" << left + 8 << "\" y=\""
         << y + 15 << "\">" << i << " " << escaped(label(op));
      if (unsigned queue = passes::queueOf(op))
        os << " @" << queue;
      os << "</text>\n";
    }
    for (auto [i, op] : llvm::enumerate(launches)) {
      llvm::SmallSetVector<unsigned, 8> makers;
      for (Value operand : op->getOperands())
        if (Operation *maker = passes::storageRoot(operand).getDefiningOp())
          if (auto it = number.find(maker); it != number.end())
            makers.insert(it->second);
      for (unsigned from : makers) {
        int y0 = static_cast<int>(from) * row + 21, y1 = static_cast<int>(i) * row + 21;
        int x = left + width, bend = std::min(440, 30 + 12 * static_cast<int>(i - from));
        os << "<path d=\"M" << x << " " << y0 << " C" << x + bend << " " << y0 << " " << x + bend << " " << y1
           << " " << x << " " << y1 << "\" class=\"edge\"/>\n";
      }
    }
    os << "</svg>\n";
  }

  /// Time from left to right, bytes of the arena from the bottom up: a rectangle for each value.
  void writeMemory() {
    int64_t arena = 1;
    SymbolRanges ranges = rangesOf(function); // what is drawn is the plan where its symbols are largest
    if (auto bytes = sizeOfAttr(function->getAttr(attr::arenaBytes)))
      arena = std::max<int64_t>(1, ranges.largest(*bytes));
    constexpr int height = 220, width = 720;
    double step = width / static_cast<double>(std::max<size_t>(1, launches.size()));
    os << "<svg width=\"760\" height=\"" << height + 20 << "\" role=\"img\"><rect x=\"10\" y=\"10\" width=\""
       << width << "\" height=\"" << height << "\" class=\"frame\"/>\n";
    for (auto [i, op] : llvm::enumerate(launches))
      for (Value result : op->getResults()) {
        SliceAttr slice = passes::sliceOf(result);
        if (!slice || slice.getStorage() != StorageKind::arena)
          continue;
        unsigned end = static_cast<unsigned>(i);
        SmallVector<Value> work{result};
        while (!work.empty())
          for (Operation *user : work.pop_back_val().getUsers()) {
            if (isa<ReshapeOp>(user))
              work.push_back(user->getResult(0));
            else if (auto it = number.find(user); it != number.end())
              end = std::max(end, it->second);
          }
        int64_t position = ranges.largest(slice.getPosition()), bytes = ranges.largest(slice.getBytes());
        double y = height * (1 - static_cast<double>(position + bytes) / arena);
        double h = std::max(1.0, height * static_cast<double>(bytes) / arena);
        os << "<rect x=\"" << static_cast<int>(10 + step * static_cast<double>(i)) << "\" y=\""
           << static_cast<int>(10 + y) << "\" width=\"" << std::max(1, static_cast<int>(step * (end - i + 1)))
           << "\" height=\"" << static_cast<int>(h + 0.5) << "\" class=\"value\"><title>launch " << i << ": "
           << sizeText(slice.getBytes()) << " bytes at " << sizeText(slice.getPosition())
           << "</title></rect>\n";
      }
    os << "</svg>\n<p>arena of " << (arena == 1 ? 0 : arena) << " bytes</p>\n";
  }

  void writeDecisions() {
    os << "<table><tr><th>code</th><th>what</th><th>why</th><th>ns</th><th>line</th></tr>\n";
    for (const Decision &d : readDecisions(function)) {
      const Reason *reason = findReason(d.code);
      // No strict mode makes an error of F008, and it is a refusal to fuse like the others of its family.
      bool refused = reason && (reason->refusal || reason->family() == 'F');
      os << "<tr class=\"" << (refused ? "refused" : "done") << "\"><td title=\""
         << (reason ? escaped(reason->remedy) : "") << "\">" << escaped(d.code) << "</td><td>"
         << escaped(d.producer) << (d.consumer.empty() ? "" : " &rarr; ") << escaped(d.consumer)
         << "</td><td>" << escaped(d.message) << "</td><td>" << d.savedPs / 1000 << "</td><td>"
         << escaped(d.location) << "</td></tr>\n";
    }
    os << "</table>\n";
  }

  FuncOp function;
  llvm::raw_ostream &os;
  SmallVector<Operation *> launches;
  llvm::DenseMap<Operation *, unsigned> number;
};

} // namespace

Status writeHtml(const std::string &path, const std::string &program, const std::string &target,
                 const codegen::CompileReport &report, ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" << escaped(program)
     << "</title>\n<style>body{font:14px "
        "sans-serif;margin:2em;max-width:70em}pre{overflow-x:auto;font-size:12px}"
        "td,th{text-align:left;padding:2px 8px;border-bottom:1px solid #ccc;font-size:12px}"
        "svg text{font-size:12px}.captured{fill:#cfe8cf;stroke:#484}.plain{fill:#eee;stroke:#888}"
        ".edge{fill:none;stroke:#999}.frame{fill:none;stroke:#888}.value{fill:#8ab4e8;stroke:#fff}"
        ".refused td{background:#fdecea}</style></head>\n<body><h1>"
     << escaped(program) << " for " << escaped(target) << "</h1>\n";
  for (const codegen::FunctionReport &function : report.functions)
    FunctionPage(module.lookupSymbol<FuncOp>(function.name), os).write(function);
  os << "<h2>Kernels</h2>\n";
  for (const codegen::KernelReport &kernel : report.kernels)
    os << "<details><summary>" << escaped(kernel.symbol) << ", " << amountText(kernel.launches, "launch")
       << "</summary><pre>" << escaped(kernel.kernelIr) << "</pre></details>\n";
  os << "</body></html>\n";
  return io::write_file(path, text);
}

} // namespace weft::tool
