//===- ReportPage.cpp - A compilation as one page of HTML -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Optional closing tags are left out, and frequent names are short, so that the page of a training step is
// small enough to send to somebody.
//
//===----------------------------------------------------------------------===//
#include "codegen/Report.h"

#include "ir/HtmlText.h"
#include "ir/Reasons.h"
#include "ir/SourceExcerpt.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <fstream>
#include <map>

using namespace weft::ir;
using llvm::StringRef;

namespace weft::codegen {
namespace {

/// Beyond this many bytes no more code of kernels is added to a page.
constexpr size_t pageBytes = 180 << 10;
/// The most rows of a table, and launches of a drawing; the rest is only counted.
constexpr size_t mostRows = 1500, mostDrawn = 500;

constexpr const char *style =
    "body{font:14px sans-serif;margin:1.5em;max-width:90em}pre{overflow-x:auto;font-size:12px}"
    "table{border-collapse:collapse}"
    "td,th{text-align:left;vertical-align:top;padding:1px 8px;border-bottom:1px solid #ddd;font-size:12px}"
    ".n{text-align:right;white-space:nowrap}.x td{background:#fdecea}code{font-size:12px}"
    ":target{outline:2px solid #d80}a{text-decoration:none}svg text{font-size:11px}"
    "svg rect{fill:#eee;stroke:#888}svg .g{fill:#cfe8cf}svg .v{fill:#8ab4e8;stroke:#fff}"
    "svg path{fill:none;stroke:#999}summary{cursor:pointer}"
    "#bar{position:sticky;top:0;background:#fff;padding:4px 0}.h{display:none}";

/// Hides rows and kernels whose text does not contain the filter.
constexpr const char *script =
    "const q=document.getElementById('q'),o=document.getElementById('o');function f(){"
    "const t=q.value.toLowerCase();document.querySelectorAll('tr[id],details[id]').forEach("
    "e=>e.classList.toggle('h',(t&&!e.textContent.toLowerCase().includes(t))||("
    "o.checked&&e.tagName=='TR'&&!e.classList.contains('x'))))}q.oninput=f;o.onchange=f;function u(){"
    "const e=document.getElementById(location.hash.slice(1));for(let p=e;p;p=p.parentElement)if("
    "p.tagName=='DETAILS')p.open=true;if(e){e.classList.remove('h');e.scrollIntoView()}}onhashchange=u;u()";

std::string link(StringRef id, StringRef text) {
  return "<a href=\"#" + id.str() + "\">" + htmlEscaped(text) + "</a>";
}

/// Lines of source files, if the files can be read on this machine.
class Excerpts {
public:
  /// The line "file:line"; empty if there is no such line, or no such file on this machine.
  std::string of(StringRef place) {
    auto [file, number] = place.rsplit(':');
    size_t line = 0;
    if (number.getAsInteger(10, line) || line == 0)
      return {};
    auto [it, inserted] = files.try_emplace(file.str());
    if (inserted)
      read(it->first, it->second);
    if (line > it->second.size())
      return {};
    return sourceExcerpt(StringRef(it->second[line - 1]).trim(), 0).text;
  }

private:
  static void read(const std::string &path, std::vector<std::string> &lines) {
    constexpr size_t mostLines = 100'000, mostBytes = 1 << 14;
    std::ifstream file(path);
    for (std::string line; lines.size() < mostLines && std::getline(file, line);) {
      line.resize(std::min(line.size(), mostBytes));
      lines.push_back(std::move(line));
    }
  }
  std::map<std::string, std::vector<std::string>> files;
};

/// The part of the page about one function. The ids of its rows begin with `id`.
class FunctionPart {
public:
  FunctionPart(const CompileReport &report, const FunctionReport &function, const std::string &id,
               const llvm::StringMap<std::string> &kernels, llvm::raw_ostream &os)
      : report(report), function(function), id(id), kernels(kernels), os(os) {
    for (auto [i, launch] : llvm::enumerate(function.launches))
      for (const std::string &line : launch.lines)
        lines[placeOf(line).str()].launches.push_back(static_cast<unsigned>(i));
    for (const Decision &decision : function.decisions)
      if (isRefusal(decision)) {
        if (!decision.location.empty())
          lines[placeOf(decision.location).str()].refusals.push_back(static_cast<unsigned>(refusals.size()));
        refusals.push_back(&decision);
      } else {
        others.push_back(&decision);
      }
    // Sort by file, and by line number.
    auto sorted = lines.takeVector();
    llvm::sort(sorted, [](const auto &a, const auto &b) { return orderOf(a.first) < orderOf(b.first); });
    for (auto &[place, line] : sorted) {
      line.number = static_cast<unsigned>(lines.size());
      lines.insert({place, std::move(line)});
    }
    order.resize(refusals.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<unsigned>(i);
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return std::pair(-refusals[a]->savedPs, a) < std::pair(-refusals[b]->savedPs, b);
    });
  }

  void write(Excerpts &excerpts) {
    os << "<h2 id=" << id << ">Function " << htmlEscaped(function.name) << "</h2>\n<pre>"
       << htmlEscaped(headText(report, function)) << "</pre>\n";
    writeRefusals();
    writeLines(excerpts);
    writeLaunches();
    os << "<details><summary>What launches exchange</summary>\n";
    writeGraph();
    os << "</details>\n<details><summary>Memory over time</summary>\n";
    writeMemory();
    os << "</details>\n";
    writeOthers();
    if (!function.capture.empty())
      os << "<h3>Capture</h3>\n<pre>" << htmlEscaped(function.capture) << "</pre>\n";
  }

private:
  struct Line {
    unsigned number = 0;
    std::vector<unsigned> launches, refusals;
  };

  static std::pair<StringRef, unsigned> orderOf(StringRef place) {
    auto [file, number] = place.rsplit(':');
    unsigned line = 0;
    (void)number.getAsInteger(10, line);
    return {file, line};
  }

  std::string lineLink(StringRef location) const {
    if (location.empty())
      return {};
    auto it = lines.find(placeOf(location).str());
    return it == lines.end() || it->second.number >= mostRows
               ? htmlEscaped(shortLine(location))
               : link(id + "s" + std::to_string(it->second.number), shortLine(location));
  }

  /// Whether the table ends early at this row; then writes how many rows are left out.
  bool isFull(size_t row, size_t rows) {
    if (row < mostRows)
      return false;
    os << "<tr><td>" << rows - row << " more\n";
    return true;
  }

  void writeRefusals() {
    os << "<h3>Refusals</h3>\n";
    if (refusals.empty()) {
      os << "<p>none</p>\n";
      return;
    }
    os << "<table><tr><th>code<th class=n>cost<th>what<th>why<th>source line\n";
    for (auto [row, i] : llvm::enumerate(order)) {
      if (isFull(row, order.size()))
        break;
      const Decision &decision = *refusals[i];
      os << "<tr class=x id=" << id << "r" << i << "><td>" << link(decision.code, decision.code)
         << "<td class=n>" << (decision.savedPs ? timeText(decision.savedPs) : "-") << "<td>"
         << htmlEscaped(subjectText(decision)) << "<td>" << htmlEscaped(decision.message) << "<td>"
         << lineLink(decision.location) << "\n";
    }
    os << "</table>\n";
  }

  void writeLines(Excerpts &excerpts) {
    os << "<h3>Source lines</h3>\n<table><tr><th>line<th>code<th>launches<th>refusals\n";
    for (auto &[place, line] : lines) {
      if (isFull(line.number, lines.size()))
        break;
      os << "<tr id=" << id << "s" << line.number << (line.refusals.empty() ? "" : " class=x")
         << "><td title=\"" << htmlEscaped(place) << "\">" << htmlEscaped(shortLine(place)) << "<td><code>"
         << htmlEscaped(excerpts.of(place)) << "</code><td>";
      links("l", line.launches, function.launches.size());
      os << "<td>";
      links("r", line.refusals, refusals.size());
      os << "\n";
    }
    os << "</table>\n";
  }

  /// `rows`: the rows of the linked table, so that no link leads to a row that was left out.
  void links(const char *kind, llvm::ArrayRef<unsigned> numbers, size_t rows) {
    constexpr size_t most = 40;
    for (unsigned number : numbers.take_front(most))
      os << (rows <= mostRows ? link(id + kind + std::to_string(number), std::to_string(number))
                              : std::to_string(number))
         << " ";
    if (numbers.size() > most)
      os << "+" << numbers.size() - most;
  }

  void writeLaunches() {
    os << "<h3>Launches</h3>\n<table><tr><th>#<th>kind<th>kernel<th>results<th class=n>read<th "
          "class=n>written<th>reads<th>source lines\n";
    for (auto [i, launch] : llvm::enumerate(function.launches)) {
      if (isFull(i, function.launches.size()))
        break;
      os << "<tr id=" << id << "l" << i << "><td>" << i << "<td>" << htmlEscaped(launch.kind);
      if (launch.queue)
        os << " @" << launch.queue;
      os << "<td>";
      if (auto it = kernels.find(launch.kernel); it != kernels.end())
        os << link(it->second, launch.kernel);
      else
        os << htmlEscaped(launch.kernel);
      os << "<td>" << htmlEscaped(launch.results) << "<td class=n>" << bytesText(launch.readBytes)
         << "<td class=n>" << bytesText(launch.writtenBytes) << "<td>";
      links("l", launch.reads, function.launches.size());
      os << "<td>";
      constexpr size_t most = 6;
      for (const std::string &line : llvm::ArrayRef(launch.lines).take_front(most))
        os << lineLink(line) << " ";
      if (launch.lines.size() > most)
        os << "+" << launch.lines.size() - most;
      os << "\n";
    }
    os << "</table>\n";
  }

  /// Draws launches as boxes from top to bottom, and values as arcs beside them.
  void writeGraph() {
    constexpr int row = 22, width = 240, left = 20;
    const size_t count = std::min(function.launches.size(), mostDrawn);
    os << "<svg width=760 height=" << static_cast<int>(count) * row + 20 << " role=img>\n";
    for (auto [i, launch] : llvm::enumerate(llvm::ArrayRef(function.launches).take_front(count))) {
      const int y = static_cast<int>(i) * row + 10;
      os << "<rect x=" << left << " y=" << y << " width=" << width << " height=18"
         << (launch.captured ? " class=g" : "") << " /><text x=" << left + 8 << " y=" << y + 13 << ">" << i
         << " " << htmlEscaped(launch.kind);
      if (launch.queue)
        os << " @" << launch.queue;
      os << "</text>\n";
      for (unsigned from : launch.reads) {
        const int down = (static_cast<int>(i) - static_cast<int>(from)) * row;
        const int bend = std::min(440, 30 + 12 * (static_cast<int>(i) - static_cast<int>(from)));
        os << "<path d=\"M" << left + width << " " << static_cast<int>(from) * row + 19 << "c" << bend
           << " 0 " << bend << " " << down << " 0 " << down << "\"/>\n";
      }
    }
    os << "</svg>\n";
    if (count < function.launches.size())
      os << "<p>the first " << count << " of " << function.launches.size() << " launches</p>\n";
  }

  /// Draws a rectangle for each value: time runs from left to right, bytes of the arena from the bottom up.
  void writeMemory() {
    constexpr int height = 220, width = 720;
    const auto arena = static_cast<double>(std::max<uint64_t>(1, function.arenaBytes));
    const double step = width / static_cast<double>(std::max<size_t>(1, function.launches.size()));
    os << "<svg width=760 height=" << height + 20 << " role=img>\n";
    for (auto [i, launch] : llvm::enumerate(llvm::ArrayRef(function.launches).take_front(mostRows)))
      for (const LaunchReport::Slice &slice : launch.slices) {
        const double y = height * (1 - static_cast<double>(slice.position + slice.bytes) / arena);
        const double h = std::max(1.0, height * static_cast<double>(slice.bytes) / arena);
        os << "<rect class=v x=" << static_cast<int>(10 + step * static_cast<double>(i))
           << " y=" << static_cast<int>(10 + y)
           << " width=" << std::max(1, static_cast<int>(step * (slice.end - static_cast<double>(i) + 1)))
           << " height=" << std::lround(h) << "><title>launch " << i << ": " << bytesText(slice.bytes)
           << " at " << slice.position << "</title></rect>\n";
      }
    os << "</svg>\n<p>an arena of " << bytesText(static_cast<int64_t>(function.arenaBytes)) << "</p>\n";
  }

  void writeOthers() {
    if (others.empty())
      return;
    os << "<details><summary>What was done, and notes: " << others.size()
       << "</summary>\n<table><tr><th>what<th>of<th>how<th class=n>saves<th>source line\n";
    for (auto [row, decision] : llvm::enumerate(others)) {
      if (isFull(row, others.size()))
        break;
      os << "<tr id=" << id << "d" << row << "><td>"
         << (findReason(decision->code) ? link(decision->code, decision->code) : htmlEscaped(decision->code))
         << "<td>" << htmlEscaped(subjectText(*decision)) << "<td>" << htmlEscaped(decision->message)
         << "<td class=n>" << (decision->savedPs ? timeText(decision->savedPs) : "") << "<td>"
         << lineLink(decision->location) << "\n";
    }
    os << "</table></details>\n";
  }

  const CompileReport &report;
  const FunctionReport &function;
  const std::string id;
  const llvm::StringMap<std::string> &kernels; ///< the names of their parts of the page
  llvm::raw_ostream &os;
  llvm::MapVector<std::string, Line, std::map<std::string, unsigned>> lines;
  std::vector<const Decision *> refusals, others;
  std::vector<unsigned> order; ///< of the refusals, the costliest first
};

/// Explains the codes that occur in the page.
void writeCodes(const CompileReport &report, llvm::raw_ostream &os) {
  std::map<StringRef, const Reason *> codes;
  for (const FunctionReport &function : report.functions)
    for (const Decision &decision : function.decisions)
      if (const Reason *reason = findReason(decision.code))
        codes[reason->code] = reason;
  if (codes.empty())
    return;
  os << "<h2>Codes</h2>\n<table><tr><th>code<th>title<th>to fix\n";
  for (const auto &[code, reason] : codes)
    os << "<tr id=" << code << "><td>" << code << "<td>" << htmlEscaped(reason->title) << "<td>"
       << htmlEscaped(reason->remedy) << "\n";
  os << "</table>\n";
}

/// Writes the kernels, those that move most bytes first, with their code as long as the page is small.
void writeKernels(const CompileReport &report, const llvm::StringMap<std::string> &names,
                  const std::string &page, llvm::raw_ostream &os) {
  if (report.kernels.empty())
    return;
  struct Use {
    std::string links;
    int64_t bytes = 0;
  };
  llvm::StringMap<Use> uses;
  for (auto [f, function] : llvm::enumerate(report.functions))
    for (auto [i, launch] : llvm::enumerate(function.launches)) {
      Use &use = uses[launch.kernel];
      use.bytes = saturatedSum(use.bytes, saturatedSum(launch.readBytes, launch.writtenBytes));
      if (i < mostRows)
        use.links += link("f" + std::to_string(f) + "l" + std::to_string(i), std::to_string(i)) + " ";
    }
  std::vector<const KernelReport *> kernels;
  for (const KernelReport &kernel : report.kernels)
    kernels.push_back(&kernel);
  llvm::sort(kernels, [&](const KernelReport *a, const KernelReport *b) {
    return std::pair(-uses.lookup(a->symbol).bytes, StringRef(a->symbol)) <
           std::pair(-uses.lookup(b->symbol).bytes, StringRef(b->symbol));
  });
  size_t without = 0;
  os << "<h2>Kernels</h2>\n";
  for (const KernelReport *kernel : kernels) {
    const Use use = uses.lookup(kernel->symbol);
    os << "<details id=" << names.lookup(kernel->symbol) << "><summary>" << htmlEscaped(kernel->symbol)
       << ", " << amountText(kernel->launches, "launch") << ", " << bytesText(use.bytes)
       << " a call</summary><p>launches " << use.links << "</p>";
    const std::string code = htmlEscaped(kernel->kernelIr());
    if (page.size() + code.size() <= pageBytes)
      os << "<pre>" << code << "</pre>";
    else if (++without; !code.empty())
      os << "<p>its code would make this page large</p>";
    os << "</details>\n";
  }
  if (without)
    os << "<p>The code of " << amountText(without, "kernel")
       << " is left out; weft kernels prints all of it.</p>\n";
}

} // namespace

std::string htmlPage(const CompileReport &report, const std::string &title, const std::string &preamble) {
  std::string page;
  llvm::raw_string_ostream os(page);
  os << "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>" << htmlEscaped(title)
     << "</title>\n<style>" << style << "</style></head>\n<body><h1>" << htmlEscaped(title) << " for "
     << htmlEscaped(report.target) << "</h1>\n";
  if (!preamble.empty())
    os << "<pre>" << htmlEscaped(preamble) << "</pre>\n";
  if (std::string times = report.times(); !times.empty())
    os << "<p>" << htmlEscaped(times) << "</p>\n";
  os << "<p id=bar><input id=q placeholder=\"show rows with this text\" size=40> "
        "<label><input id=o type=checkbox> refusals only</label>";
  llvm::StringMap<std::string> kernels;
  for (auto [i, kernel] : llvm::enumerate(report.kernels))
    kernels[kernel.symbol] = "k" + std::to_string(i);
  for (auto [i, function] : llvm::enumerate(report.functions))
    os << " " << link("f" + std::to_string(i), function.name);
  os << "</p>\n";
  Excerpts excerpts;
  for (auto [i, function] : llvm::enumerate(report.functions))
    FunctionPart(report, function, "f" + std::to_string(i), kernels, os).write(excerpts);
  writeCodes(report, os);
  writeKernels(report, kernels, page, os);
  os << "<script>" << script << "</script></body></html>\n";
  return page;
}

} // namespace weft::codegen
