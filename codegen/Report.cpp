//===- Report.cpp - Reports about a compilation ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/Report.h"

#include "codegen/kernel/KernelIR.h"
#include "ir/Reasons.h"
#include "ir/Updates.h"
#include "passes/launch/LaunchList.h"
#include "passes/launch/LaunchStorage.h"
#include "passes/launch/PlanReport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;
using namespace weft::ir;

namespace weft::codegen {

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

/// "file:line:col" of every line, each line of a file once.
static std::vector<std::string> linesOf(Location loc) {
  std::vector<std::string> lines;
  llvm::SetVector<StringRef> seen;
  const std::string text = locationText(loc);
  SmallVector<StringRef> parts;
  StringRef(text).split(parts, ", ", -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (seen.insert(part.rsplit(':').first))
      lines.push_back(part.str());
  return lines;
}

/// The last launch that reads a value, also through views; `launch` if none does.
static unsigned lastReader(Value value, unsigned launch, const DenseMap<Operation *, unsigned> &numbers) {
  unsigned last = launch;
  SmallVector<Value> work{value};
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (isa<ReshapeOp>(user))
        work.push_back(user->getResult(0));
      else if (auto it = numbers.find(user); it != numbers.end())
        last = std::max(last, it->second);
    }
  return last;
}

std::string KernelReport::kernelIr() const {
  const bool isPlain =
      llvm::all_of(symbol, [](char c) { return llvm::isAlnum(c) || StringRef("_$.").contains(c); });
  const std::string canonical = ("@" + canonicalSymbol).str(),
                    own = isPlain ? "@" + symbol : "@\"" + symbol + "\"";
  std::string named = text;
  for (size_t at = 0; (at = named.find(canonical, at)) != std::string::npos; at += own.size())
    named.replace(at, canonical.size(), own);
  return named;
}

static FunctionReport reportFunction(FuncOp function) {
  FunctionReport report;
  report.name = function.getName().str();
  report.hasGraphs = passes::hasGraphs(function);
  report.capture = passes::formatCapture(function);
  report.decisions = passes::shownDecisions(function);
  report.dynamic = function->hasAttr(attr::symbols);
  const SymbolRanges ranges = rangesOf(function);
  if (auto size = sizeOfAttr(function->getAttr(attr::arenaBytes)))
    report.arenaBytes = static_cast<uint64_t>(ranges.largest(*size));
  if (auto size = sizeOfAttr(function->getAttr(attr::arenaLowerBound)))
    report.arenaLowerBound = static_cast<uint64_t>(ranges.largest(*size));
  DenseMap<Operation *, unsigned> numbers;
  for (Operation &op : function.getBody().front())
    if (passes::isLaunch(&op))
      numbers[&op] = static_cast<unsigned>(numbers.size());
  for (Operation &op : function.getBody().front()) {
    if (!passes::isLaunch(&op))
      continue;
    LaunchReport &launch = report.launches.emplace_back();
    launch.kind = passes::launchKind(&op);
    launch.results = passes::launchResults(&op);
    launch.isFusion = isa<FusionOp>(op);
    launch.lines = linesOf(op.getLoc());
    launch.queue = passes::queueOf(&op);
    launch.captured = report.hasGraphs && op.hasAttr(attr::capture);
    llvm::SetVector<Value> operands;
    llvm::SetVector<unsigned> makers;
    const UpdatedBytes updated = updatedBytes(&op);
    launch.readBytes = ranges.largest(updated.read);
    launch.writtenBytes = ranges.largest(updated.written);
    for (Value operand : op.getOperands()) {
      const Value root = storageRoot(operand);
      if (operand != updated.base)
        operands.insert(root);
      if (auto it = numbers.find(root.getDefiningOp()); it != numbers.end())
        makers.insert(it->second);
    }
    for (Value operand : operands)
      launch.readBytes = saturatedSum(launch.readBytes, ranges.largest(bytesOf(operand.getType())));
    launch.reads.assign(makers.begin(), makers.end());
    for (Value result : op.getResults()) {
      if (!updated.base)
        launch.writtenBytes = saturatedSum(launch.writtenBytes, ranges.largest(bytesOf(result.getType())));
      SliceAttr slice = passes::sliceOf(result);
      if (slice && slice.getStorage() == StorageKind::arena)
        launch.slices.push_back({ranges.largest(slice.getPosition()), ranges.largest(slice.getBytes()),
                                 lastReader(result, numbers.lookup(&op), numbers)});
    }
  }
  return report;
}

CompileReport reportPlan(ModuleOp module) {
  CompileReport report;
  for (auto function : module.getOps<FuncOp>())
    if (!function.isExternal())
      report.functions.push_back(reportFunction(function));
  return report;
}

bool isRefusal(const Decision &decision) {
  // F008 is a refusal to fuse too, although no strict mode makes it an error.
  const Reason *reason = findReason(decision.code);
  return reason && (reason->refusal || decision.code == "WEFT-F008");
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string bytesText(int64_t bytes) {
  static constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double amount = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; amount >= 1023.95 && unit + 1 < std::size(units); ++unit)
    amount /= 1024;
  return llvm::formatv("{0:F1} {1}", amount, units[unit]).str();
}

std::string timeText(int64_t picoseconds) {
  const double us = static_cast<double>(picoseconds) * 1e-6;
  return us < 1000 ? llvm::formatv("{0:F1} us", us).str() : llvm::formatv("{0:F1} ms", us * 1e-3).str();
}

StringRef placeOf(StringRef line) {
  line = line.split(", ").first;
  auto [place, column] = line.rsplit(':');
  unsigned number = 0;
  return place.contains(':') && !column.getAsInteger(10, number) ? place : line;
}

std::string shortLine(StringRef line) {
  const StringRef place = placeOf(line);
  const size_t slash = place.rfind('/');
  return (slash == StringRef::npos ? place : place.drop_front(slash + 1)).str();
}

/// "dot_general" of "weft.dot_general#12".
static StringRef plainName(StringRef op) {
  op.consume_front("weft.");
  return op.split('#').first;
}

std::string subjectText(const Decision &decision) {
  const StringRef from = plainName(decision.producer), to = plainName(decision.consumer);
  return to.empty() ? from.str() : (from + " -> " + to).str();
}

namespace {

/// A map in order of insertion.
template <typename T> using ByText = llvm::MapVector<std::string, T, std::map<std::string, unsigned>>;

/// A table whose columns are as wide as their widest cell.
class Table {
public:
  /// `right`: the columns with numbers.
  explicit Table(std::vector<unsigned> right) : right(std::move(right)) {}
  void add(std::vector<std::string> cells) {
    width.resize(std::max(width.size(), cells.size()));
    for (auto [i, cell] : llvm::enumerate(cells))
      width[i] = std::max(width[i], cell.size());
    rows.push_back(std::move(cells));
  }
  void print(llvm::raw_ostream &os) const {
    for (const std::vector<std::string> &row : rows) {
      std::string line;
      for (auto [i, cell] : llvm::enumerate(row)) {
        const std::string pad(width[i] - cell.size(), ' ');
        line += "  " + (llvm::is_contained(right, i) ? pad + cell : cell + pad);
      }
      os << StringRef(line).rtrim() << '\n';
    }
  }

private:
  std::vector<unsigned> right;
  std::vector<size_t> width;
  std::vector<std::vector<std::string>> rows;
};

/// "3 contraction, 2 row": most first, then by name.
std::string kindsText(ArrayRef<const LaunchReport *> launches) {
  llvm::MapVector<StringRef, unsigned> counts;
  for (const LaunchReport *launch : launches)
    ++counts[launch->kind];
  auto sorted = counts.takeVector();
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return std::pair(-static_cast<int64_t>(a.second), a.first) <
           std::pair(-static_cast<int64_t>(b.second), b.first);
  });
  std::string text;
  constexpr size_t shown = 4;
  unsigned others = 0;
  for (auto [i, entry] : llvm::enumerate(sorted))
    if (i < shown)
      text += (i ? ", " : "") + std::to_string(entry.second) + " " + entry.first.str();
    else
      others += entry.second;
  return others ? text + ", " + std::to_string(others) + " other" : text;
}

/// The source line under which a launch is counted.
std::string lineOf(const LaunchReport &launch) {
  return launch.lines.empty() ? "no source line" : shortLine(launch.lines.front());
}

std::string lineOf(const Decision &decision) { return shortLine(decision.location); }

/// Decisions with the same text: their number and total cost.
struct Row {
  const Decision *first;
  size_t number = 0; ///< orders rows of equal cost
  unsigned count = 0;
  int64_t costPs = 0;
};

/// The refusals, costliest first; refusals of one kind at one line share a row.
std::vector<Row> refusalRows(ArrayRef<Decision> decisions) {
  ByText<Row> rows;
  for (const Decision &decision : decisions) {
    const Reason *reason = findReason(decision.code);
    if (!reason || !reason->refusal)
      continue;
    const std::string key = decision.code + "\n" + subjectText(decision) + "\n" + lineOf(decision) + "\n" +
                            (reason->family() == 'F' ? "" : decision.message);
    Row &row = rows.try_emplace(key, Row{&decision, rows.size()}).first->second;
    ++row.count;
    row.costPs += decision.savedPs;
  }
  std::vector<Row> sorted;
  for (auto &[key, row] : rows)
    sorted.push_back(row);
  llvm::sort(sorted, [](const Row &a, const Row &b) {
    return std::pair(-a.costPs, a.number) < std::pair(-b.costPs, b.number);
  });
  return sorted;
}

constexpr size_t mostLines = 24, mostRefusals = 20;

void printHead(const CompileReport &report, const FunctionReport &function, ArrayRef<Row> refusals,
               llvm::raw_ostream &os) {
  SmallVector<const LaunchReport *> launches;
  llvm::SetVector<StringRef> kernels;
  unsigned fusions = 0;
  int64_t read = 0, written = 0;
  for (const LaunchReport &launch : function.launches) {
    launches.push_back(&launch);
    read = saturatedSum(read, launch.readBytes);
    written = saturatedSum(written, launch.writtenBytes);
    fusions += launch.isFusion;
    if (!launch.kernel.empty())
      kernels.insert(launch.kernel);
  }
  const char *at = function.dynamic ? " at the largest sizes" : "";
  os << "function '" << function.name << "': " << amountText(launches.size(), "launch");
  if (!launches.empty())
    os << " (" << kindsText(launches) << ")";
  os << "\n  kernels       ";
  if (fusions && kernels.empty())
    os << "none compiled for " << report.target;
  else
    os << kernels.size() << " for " << amountText(fusions, "launch");
  os << "\n  bytes moved   " << bytesText(saturatedSum(read, written)) << " a call" << at << ": "
     << bytesText(read) << " read, " << bytesText(written) << " written\n  arena peak    "
     << bytesText(static_cast<int64_t>(function.arenaBytes)) << at << ", lower bound "
     << bytesText(static_cast<int64_t>(function.arenaLowerBound)) << "\n  refused       ";
  if (refusals.empty())
    os << "nothing";
  unsigned total = 0;
  for (const Row &row : refusals)
    total += row.count;
  if (total)
    os << total << ", the costliest: ";
  for (auto [i, row] : llvm::enumerate(refusals.take_front(3)))
    os << (i ? ", " : "") << row.first->code << " " << timeText(row.costPs)
       << (row.first->location.empty() ? "" : " (" + lineOf(*row.first) + ")");
  os << "\n";
}

void printLines(const FunctionReport &function, llvm::raw_ostream &os) {
  struct Line {
    size_t number = 0;
    std::vector<const LaunchReport *> launches;
    int64_t read = 0, written = 0;
  };
  ByText<Line> lines;
  for (const LaunchReport &launch : function.launches) {
    Line &line = lines.try_emplace(lineOf(launch), Line{lines.size(), {}}).first->second;
    line.launches.push_back(&launch);
    line.read = saturatedSum(line.read, launch.readBytes);
    line.written = saturatedSum(line.written, launch.writtenBytes);
  }
  auto sorted = lines.takeVector();
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return std::pair(-saturatedSum(a.second.read, a.second.written), a.second.number) <
           std::pair(-saturatedSum(b.second.read, b.second.written), b.second.number);
  });
  Table table({1, 2, 3});
  table.add({"source line", "launches", "read", "written", "which"});
  Line rest;
  for (auto [i, entry] : llvm::enumerate(sorted)) {
    auto &[place, line] = entry;
    if (i < mostLines || sorted.size() == mostLines + 1) {
      table.add({place, std::to_string(line.launches.size()), bytesText(line.read), bytesText(line.written),
                 kindsText(line.launches)});
      continue;
    }
    llvm::append_range(rest.launches, line.launches);
    rest.read = saturatedSum(rest.read, line.read);
    rest.written = saturatedSum(rest.written, line.written);
  }
  if (!rest.launches.empty())
    table.add({amountText(sorted.size() - mostLines, "line") + " more", std::to_string(rest.launches.size()),
               bytesText(rest.read), bytesText(rest.written), kindsText(rest.launches)});
  table.print(os);
}

void printRefusals(ArrayRef<Row> rows, llvm::raw_ostream &os) {
  Table table({1});
  table.add({"refused", "cost", "source line", "what, and why"});
  for (const Row &row : rows.take_front(mostRefusals)) {
    const Decision &decision = *row.first;
    const Reason *reason = findReason(decision.code);
    std::string what = subjectText(decision);
    if (row.count > 1)
      what += " x" + std::to_string(row.count);
    // The message of a refused fusion is long and has prices; here its title is enough.
    what += ": " + (reason->family() == 'F' ? reason->title.str() : decision.message);
    table.add({decision.code, decision.savedPs ? timeText(row.costPs) : "-", lineOf(decision), what});
  }
  table.print(os);
  if (rows.size() > mostRefusals) {
    int64_t cost = 0;
    for (const Row &row : rows.drop_front(mostRefusals))
      cost += row.costPs;
    os << "  " << rows.size() - mostRefusals << " more, together " << timeText(cost) << "\n";
  }
}

/// Decisions that are neither refusals nor fusions: notes by code, and changed orders of launches.
void printNotes(ArrayRef<Decision> decisions, llvm::raw_ostream &os) {
  llvm::MapVector<StringRef, Row> notes;
  unsigned fused = 0, inlined = 0;
  for (const Decision &decision : decisions) {
    const Reason *reason = findReason(decision.code);
    if (reason && reason->refusal)
      continue;
    if (reason) {
      ++notes.try_emplace(decision.code, Row{&decision}).first->second.count;
      continue;
    }
    fused += decision.code == "fused";
    inlined += decision.code == "inlined";
    if (decision.code != "fused" && decision.code != "inlined")
      os << "  " << decision.code << ": " << decision.message << "\n";
  }
  for (auto &[code, row] : notes)
    os << "  " << code << (row.count > 1 ? " x" + std::to_string(row.count) : "") << ": "
       << findReason(code)->title
       << (row.first->location.empty() ? "" : " (" + lineOf(*row.first) + (row.count > 1 ? ", .." : "") + ")")
       << "\n";
  if (fused || inlined)
    os << "  fused " << amountText(fused, "pair") << " of operations, computed "
       << amountText(inlined, "value") << " inside of their readers\n";
}

} // namespace

std::string headText(const CompileReport &report, const FunctionReport &function) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printHead(report, function, refusalRows(function.decisions), os);
  return text;
}

std::string CompileReport::times() const {
  if (kernels.empty() && passMs == 0)
    return {};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << amountText(kernels.size(), "kernel") << "; passes " << llvm::format("%.1f", passMs)
     << " ms, machine code " << llvm::format("%.1f", kernelMs) << " ms (" << kernelsCompiled << " compiled, "
     << kernelsFromCache << " from the cache)\n";
  return text;
}

std::string CompileReport::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const FunctionReport &function : functions) {
    const std::vector<Row> refusals = refusalRows(function.decisions);
    printHead(*this, function, refusals, os);
    if (!function.launches.empty())
      printLines(function, os);
    if (!refusals.empty())
      printRefusals(refusals, os);
    printNotes(function.decisions, os);
    os << function.capture;
  }
  os << times();
  return text;
}

std::string fullText(const CompileReport &report, ModuleOp module) {
  std::string text = report.str();
  llvm::raw_string_ostream os(text);
  for (auto function : module.getOps<FuncOp>()) {
    if (function.isExternal())
      continue;
    os << "\nfunction '" << function.getName() << "': launches in order\n" << passes::formatPlan(function);
    if (std::string decisions = passes::formatDecisions(function); !decisions.empty())
      os << "decisions, by what they cost\n" << decisions;
  }
  for (const KernelReport &kernel : report.kernels)
    os << "kernel " << kernel.symbol << ": " << amountText(kernel.launches, "launch") << "\n";
  return text;
}

} // namespace weft::codegen
