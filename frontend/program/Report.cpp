//===- Report.cpp - Progress bars and logs of a training run ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/report.hpp"

#include "frontend/graph/Message.h"
#include "frontend/io/Progress.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace weft {

struct Progress::Impl {
  io::Progress line;
};

Progress::Progress(std::string label, int64_t total)
    : impl_(new Impl{io::Progress(io::ProgressOptions::standard_error(std::move(label), total))}) {}
Progress::~Progress() = default;
void Progress::update(int64_t done, const std::string &text) { impl_->line.update(done, text); }
void Progress::finish(const std::string &text) { impl_->line.finish(text); }

struct CsvLogger::Impl {
  std::string path;
  size_t columns;
  std::ofstream file;
  [[noreturn]] void failed(Loc loc) const { frontend::fail("cannot write " + path, loc); }
};

/// A name as CSV has it (RFC 4180): in quotes if it holds a comma, a quote or a line break.
static std::string csvField(const std::string &name) {
  if (name.find_first_of(",\"\r\n") == std::string::npos)
    return name;
  std::string quoted = "\"";
  for (char c : name)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

CsvLogger::CsvLogger(const std::string &path, const std::vector<std::string> &columns,
                     CsvLoggerOptions options, Loc loc)
    : impl_(new Impl{path, columns.size(), {}}) {
  if (columns.empty())
    frontend::fail("CsvLogger needs at least one column", loc);
  std::string header;
  for (const std::string &name : columns)
    header += (header.empty() ? "" : ",") + csvField(name);
  header += '\n';
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored; // without the folder, opening the file fails and is reported
  if (!folder.empty())
    std::filesystem::create_directories(folder, ignored);

  std::string begin;
  if (std::ifstream found(path, std::ios::binary); options.append && found) {
    begin.resize(header.size());
    found.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<size_t>(found.gcount()));
    if (!begin.empty() && begin != header)
      frontend::fail("cannot continue " + path + ": its first line is not '" +
                         header.substr(0, header.size() - 1) + "'",
                     loc);
  }
  impl_->file.open(path, std::ios::binary | (options.append ? std::ios::app : std::ios::trunc));
  if (begin.empty())
    impl_->file << header << std::flush;
  if (!impl_->file)
    impl_->failed(loc);
}

CsvLogger::~CsvLogger() = default;

void CsvLogger::log(const std::vector<double> &values, Loc loc) {
  if (values.size() != impl_->columns)
    frontend::fail("CsvLogger: expected " + std::to_string(impl_->columns) +
                       " numbers, one for each column, found " + std::to_string(values.size()),
                   loc);
  std::string row;
  for (double value : values) {
    char text[32]; // the shortest text that reads back as the same number has at most 24 characters
    row += row.empty() ? "" : ",";
    row.append(text, std::to_chars(text, std::end(text), value).ptr);
  }
  impl_->file << row + '\n' << std::flush;
  if (!impl_->file)
    impl_->failed(loc);
}

} // namespace weft
