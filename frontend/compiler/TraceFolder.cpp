//===- TraceFolder.cpp - Every compilation of a run, on disk ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiler/TraceFolder.h"

#include "frontend/compiler/TextDiff.h"
#include "frontend/io/AtomicFile.h"
#include "ir/HtmlText.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <unistd.h>

namespace weft::frontend {

namespace fs = std::filesystem;

struct TraceFolder::Row {
  std::string folder;       ///< the compilation's folder, within that of the run
  CompilationRecord record; ///< without its texts
};

static constexpr const char *style =
    "<style>body{font:14px sans-serif;margin:1.5em}table{border-collapse:collapse}td,th{text-align:left;"
    "vertical-align:top;padding:2px 8px;border-bottom:1px solid #ddd;font-size:12px}.n{text-align:right}"
    "pre{font-size:12px;overflow-x:auto;margin:0}.a{background:#e6ffec}.d{background:#ffebe9}.e{color:#b00}"
    "a{text-decoration:none}</style>";

static std::string page(const std::string &title, const std::string &body) {
  return "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>" + ir::htmlEscaped(title) +
         "</title>" + style + "</head>\n<body><h1>" + ir::htmlEscaped(title) + "</h1>\n" + body +
         "</body></html>\n";
}

/// A name reduced to letters, digits and a few signs, which every file system accepts.
static std::string fileName(const std::string &name) {
  std::string out;
  for (char c : name.substr(0, 60))
    out += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ? c : '-';
  return out;
}

static std::string number(double value, int digits = 1) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// A page with the changes of each phase: removed and added lines, and a few lines around them.
static std::string phasesPage(const CompilationRecord &record) {
  constexpr size_t context = 3, mostBytes = 1 << 20;
  std::string body = "<p>" + ir::htmlEscaped(record.reason) +
                     "</p>\n<p><a href=\"../index.html\">all compilations</a></p>\n";
  std::string_view before = record.recorded;
  for (size_t i = 0; i < record.phases.size(); ++i) {
    const auto &[name, after] = record.phases[i];
    const std::vector<DiffLine> lines = diffLines(before, after);
    const auto changed = static_cast<size_t>(
        std::count_if(lines.begin(), lines.end(), [](const DiffLine &line) { return line.sign != ' '; }));
    body += "<details" + std::string(changed && changed < 400 ? " open" : "") + "><summary>" +
            std::to_string(i + 1) + " " + ir::htmlEscaped(name) + ": " + std::to_string(changed) +
            " lines differ</summary><pre>";
    // A line is shown if a line near it differs.
    std::vector<bool> shown(lines.size());
    for (size_t k = 0; k < lines.size(); ++k)
      if (lines[k].sign != ' ')
        for (size_t near = k - std::min(k, context); near < std::min(lines.size(), k + context + 1); ++near)
          shown[near] = true;
    bool gap = false;
    for (size_t k = 0; k < lines.size() && body.size() < mostBytes; ++k) {
      if (!shown[k]) {
        gap = true;
        continue;
      }
      if (gap)
        body += "...\n";
      gap = false;
      const std::string text = lines[k].sign + ir::htmlEscaped(lines[k].text) + "\n";
      body += lines[k].sign == '+'   ? "<span class=a>" + text + "</span>"
              : lines[k].sign == '-' ? "<span class=d>" + text + "</span>"
                                     : text;
    }
    body += "</pre></details>\n";
    if (body.size() >= mostBytes) {
      body += "<p>The rest would make this page large: the texts are in the folder.</p>\n";
      break;
    }
    before = after;
  }
  return page("phases of " + record.name, body);
}

TraceFolder *TraceFolder::current() {
  // Guarded by the graph's lock. Never destroyed, because tensors in global variables may outlive static
  // objects.
  static auto *const folder = new std::unique_ptr<TraceFolder>;
  const char *value = std::getenv("WEFT_TRACE_DIR");
  if (!value || !*value) {
    folder->reset();
    return nullptr;
  }
  if (!*folder || (*folder)->folder_ != value) {
    folder->reset(new TraceFolder(value));
    if (Status status = (*folder)->open(); !status)
      (*folder)->giveUp(status);
  }
  return (*folder)->failed_ ? nullptr : folder->get();
}

TraceFolder::TraceFolder(std::string folder) : folder_(std::move(folder)) {}

void TraceFolder::giveUp(const Status &status) {
  std::fprintf(stderr, "weft: WEFT_TRACE_DIR is '%s', and %s; compilations are not kept there from here on\n",
               folder_.c_str(), status.message().c_str());
  failed_ = true;
}

Status TraceFolder::open() {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    return Status::error("the folder cannot be made: " + error.message());
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char time[40];
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &parts);
  const std::string name = "run-" + std::string(time) + "-" + std::to_string(::getpid());
  // The folder of this second may exist already, if the process turned collecting off and on again, or
  // spelled the folder differently.
  for (int copy = 1; copy < 100; ++copy) {
    run_ = folder_ + "/" + name + (copy > 1 ? "-" + std::to_string(copy) : "");
    if (fs::create_directory(run_, error))
      return writeRuns();
    if (error)
      return Status::error("a folder in it cannot be made: " + error.message());
  }
  return Status::error("'" + run_ + "' is there already");
}

Status TraceFolder::write(const std::string &path, const std::string &text) {
  written_ += text.size();
  return io::write_file(path, text);
}

void TraceFolder::add(const CompilationRecord &record) {
  if (failed_)
    return;
  if (Status status = addRow(record); !status)
    giveUp(status);
}

Status TraceFolder::addRow(const CompilationRecord &record) {
  if (rows_.size() >= mostCompilations || written_ >= mostBytes) {
    // The index only counts further compilations, so it is written again at powers of two only.
    ++left_;
    return (left_ & (left_ - 1)) == 0 ? writeIndex() : Status();
  }
  char serial[16];
  std::snprintf(serial, sizeof serial, "%04zu-", rows_.size() + 1);
  const std::string name = serial + fileName(record.name), folder = run_ + "/" + name;
  std::error_code error;
  fs::create_directory(folder, error);
  if (error)
    return Status::error("a folder in it cannot be made: " + error.message());
  const auto kept = [&](const std::string &file, const std::string &text) {
    return text.empty() ? Status() : write(folder + "/" + file, text);
  };
  for (const auto &[file, text] : {std::pair<std::string, std::string>{"explain.html", record.page},
                                   {"phases.html", record.phases.empty() ? "" : phasesPage(record)},
                                   {"recorded.mlir", record.recorded},
                                   {"plan.mlir", record.plan},
                                   {"kernels.mlir", record.kernelIr}})
    if (Status status = kept(file, text); !status)
      return status;
  for (size_t i = 0; i < record.phases.size(); ++i)
    if (Status status =
            kept((i < 9 ? "0" : "") + std::to_string(i + 1) + "-" + record.phases[i].first + ".mlir",
                 record.phases[i].second);
        !status)
      return status;
  Row &row = rows_.emplace_back();
  row.folder = name;
  row.record = record;
  row.record.recorded = row.record.recorded.empty() ? "" : "recorded.mlir";
  row.record.plan = row.record.plan.empty() ? "" : "plan.mlir";
  row.record.kernelIr = row.record.kernelIr.empty() ? "" : "kernels.mlir";
  row.record.page = row.record.page.empty() ? "" : "explain.html";
  for (auto &[phase, text] : row.record.phases)
    text.clear();
  return writeIndex();
}

Status TraceFolder::writeIndex() {
  double ms = 0;
  std::string table =
      "<table><tr><th>#<th>what<th>why<th>where<th class=n>ms<th class=n>passes<th class=n>machine "
      "code<th class=n>launches<th class=n>kernels<th class=n>arena KiB<th>to see\n";
  for (size_t i = 0; i < rows_.size(); ++i) {
    const CompilationRecord &record = rows_[i].record;
    ms += record.ms;
    const auto link = [&](const std::string &file, const char *text) {
      return file.empty() ? "" : "<a href=\"" + rows_[i].folder + "/" + file + "\">" + text + "</a> ";
    };
    table += "<tr id=c" + std::to_string(i + 1) + "><td>" + std::to_string(i + 1) + "<td>" +
             ir::htmlEscaped(record.name) + " " + ir::htmlEscaped(record.signature) + "<td>" +
             ir::htmlEscaped(record.reason) +
             (record.error.empty() ? "" : "<p class=e>failed: " + ir::htmlEscaped(record.error) + "</p>") +
             "<td>" + ir::htmlEscaped(record.place) + "<td class=n>" + number(record.ms) + "<td class=n>" +
             number(record.passMs) + "<td class=n>" + number(record.kernelMs) + "<td class=n>" +
             std::to_string(record.launches) + "<td class=n>" + std::to_string(record.kernels) + " (" +
             std::to_string(record.kernelsCompiled) + " compiled)<td class=n>" +
             number(static_cast<double>(record.arenaBytes) / 1024) + "<td>" + link(record.page, "explain") +
             link(record.phases.empty() ? "" : "phases.html", "phases") + link(record.recorded, "recorded") +
             link(record.plan, "plan") + link(record.kernelIr, "kernels") + "\n";
  }
  table += "</table>\n";
  std::string body = "<p>" + std::to_string(rows_.size() + left_) + " compilations in " + number(ms) +
                     " ms. <a href=\"../index.html\">all runs</a></p>\n";
  if (left_)
    body += "<p class=e>The last " + std::to_string(left_) + " or more are not kept: a run keeps " +
            std::to_string(mostCompilations) + " compilations and " + std::to_string(mostBytes >> 20) +
            " MiB of them.</p>\n";
  return io::write_file(run_ + "/index.html", page(fs::path(run_).filename().string(), body + table));
}

Status TraceFolder::writeRuns() const {
  std::vector<std::string> runs;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error))
    if (const std::string name = it->path().filename().string(); name.starts_with("run-"))
      runs.push_back(name);
  std::sort(runs.rbegin(), runs.rend());
  std::string body = "<ul>\n";
  for (const std::string &run : runs)
    body += "<li><a href=\"" + ir::htmlEscaped(run) + "/index.html\">" + ir::htmlEscaped(run) + "</a>\n";
  return io::write_file(folder_ + "/index.html",
                        page("compilations by run, the last one first", body + "</ul>\n"));
}

} // namespace weft::frontend
