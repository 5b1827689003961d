//===- Tool.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tool.h"

#include "frontend/io/Npy.h"
#include "frontend/io/Safetensors.h"
#include "ir/Dialect.h"
#include "ir/Parse.h"
#include "ir/TextGuard.h"
#include "ir/interp/Literal.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace weft::tool {

Expected<Arguments> Arguments::parse(int argc, char **argv, const std::map<std::string, bool> &known) {
  Arguments arguments;
  for (int i = 0; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "-o")
      word = "--output";
    if (word.rfind("--", 0) != 0 || word == "--") {
      arguments.positional.push_back(word);
      continue;
    }
    std::string name = word.substr(2), value;
    size_t equals = name.find('=');
    bool given = equals != std::string::npos;
    if (given) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    auto it = known.find(name);
    if (it == known.end()) {
      std::string list;
      for (const auto &[option, unused] : known)
        list.append(list.empty() ? "--" : ", --").append(option);
      return Status::error(
          std::string("unknown option '--").append(name).append("'; there are ").append(list));
    }
    if (it->second && !given) {
      if (++i == argc)
        return Status::error("option '--" + name + "' needs a value");
      value = argv[i];
    }
    if (!it->second && given)
      return Status::error("option '--" + name + "' takes no value");
    arguments.options_.emplace_back(name, value);
  }
  return arguments;
}

bool Arguments::has(const std::string &name) const {
  for (const auto &[option, value] : options_)
    if (option == name)
      return true;
  return false;
}

std::string Arguments::get(const std::string &name, const std::string &otherwise) const {
  std::vector<std::string> values = all(name);
  return values.empty() ? otherwise : values.back();
}

std::vector<std::string> Arguments::all(const std::string &name) const {
  std::vector<std::string> values;
  for (const auto &[option, value] : options_)
    if (option == name)
      values.push_back(value);
  return values;
}

bool endsIn(const std::string &path, std::string_view suffix) {
  return path.size() > suffix.size() && path.ends_with(suffix);
}

bool isPackage(const std::string &path) {
  if (endsIn(path, ".weft"))
    return true;
  char first[7] = {};
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) // a pipe can be read only once
    return false;
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  return std::memcmp(first, "WEFTPKG", sizeof first) == 0;
}

Expected<std::string> readText(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return Status::error("cannot read '" + path + "': it is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Status::error("cannot read '" + path + "': " + std::strerror(errno));
  // Limit the length, because a character device may have no end.
  const auto limit = static_cast<size_t>(ir::TextLimits().bytes);
  std::string text;
  std::vector<char> part(size_t(1) << 20);
  while (text.size() <= limit && file.read(part.data(), static_cast<std::streamsize>(part.size())),
         file.gcount())
    text.append(part.data(), static_cast<size_t>(file.gcount()));
  if (file.bad())
    return Status::error("cannot read '" + path + "': " + std::strerror(errno));
  if (text.size() > limit)
    return Status::error("'" + path + "' has more than " + std::to_string(limit) +
                         " bytes, and no program is that long");
  // A file with zero bytes is not text. Without this check, the error would be about its first character.
  if (text.find('\0') != std::string::npos)
    return Status::error("'" + path +
                         "' is no program: expected text in Weft's IR (.mlir) or a package (.weft), "
                         "found a zero byte at position " +
                         std::to_string(text.find('\0')));
  return text;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> readModule(mlir::MLIRContext &context, const std::string &path) {
  auto text = readText(path);
  if (!text)
    return text.status();
  return ir::parseModule(context, *text, path);
}

static mlir::DialectRegistry registry() {
  mlir::DialectRegistry registry;
  ir::registerDialect(registry);
  return registry;
}

Program::Program() : context(registry()) {}

Status Program::read(const std::string &path) {
  auto parsed = readModule(context, path);
  if (!parsed)
    return parsed.status();
  module = std::move(*parsed);
  if (module->getBody()->empty())
    return Status::error("'" + path + "' has no function: it is empty");
  return {};
}

std::optional<int> beginCommand(const char *command, const char *help, int argc, char **argv,
                                std::map<std::string, bool> known, Arguments &arguments, size_t files) {
  known["help"] = false;
  auto parsed = Arguments::parse(argc, argv, known);
  if (!parsed)
    return complain(command, parsed.status());
  arguments = *parsed;
  if (arguments.has("help") || arguments.positional.size() != files) {
    std::fputs(help, arguments.has("help") ? stdout : stderr);
    return arguments.has("help") ? 0 : 2;
  }
  return std::nullopt;
}

Expected<io::HostArray> readInput(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos && endsIn(text, ".safetensors")) {
    auto file = io::read_safetensors(text);
    if (!file)
      return file.status();
    if (file->tensors.size() != 1)
      return Status::error("'" + text + "' has " + std::to_string(file->tensors.size()) +
                           " tensors, and an input is one: write each to a file of its own");
    return std::move(file->tensors[0].array);
  }
  if (equals == std::string::npos)
    return io::read_npy(text);
  // SHAPExDTYPE=VALUE
  errno = 0;
  std::string type = text.substr(0, equals);
  std::vector<int64_t> shape;
  size_t start = 0;
  auto wrong = [&](const std::string &what) {
    return Status::error("input '" + text + "' " + what +
                         "; expected a file as x.npy or x.safetensors, or SHAPExDTYPE=VALUE as 2x3xf32=1.5");
  };
  for (size_t x; (x = type.find('x', start)) != std::string::npos; start = x + 1) {
    char *end = nullptr;
    int64_t size = std::strtoll(type.c_str() + start, &end, 10);
    if (end != type.c_str() + x || size < 0 || errno == ERANGE)
      return wrong("has a size that is no number");
    shape.push_back(size);
  }
  auto dtype = parse_dtype(type.substr(start));
  if (!dtype)
    return wrong("has the unknown dtype '" + type.substr(start) + "'");
  char *end = nullptr;
  double value = std::strtod(text.c_str() + equals + 1, &end);
  if (end == text.c_str() + equals + 1 || *end)
    return wrong("has a value that is no number");
  auto array = io::HostArray::allocate(*dtype, shape);
  if (!array)
    return array.status();
  ir::Literal literal(*dtype, shape);
  for (int64_t i = 0, e = literal.count(); i < e; ++i)
    literal.isReal() ? literal.setReal(i, value) : literal.setWhole(i, static_cast<int64_t>(value));
  literal.toBytes(array->bytes.data());
  return array;
}

int complain(const char *command, const Status &status) {
  std::fprintf(stderr, "weft %s: %s\n", command, status.message().c_str());
  return 1;
}

std::string documentPath(const std::string &document) {
  std::error_code error;
  const std::filesystem::path tool = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    return document;
  const std::filesystem::path installed =
      (tool.parent_path() / WEFT_DOCS_FROM_BIN / document).lexically_normal();
  return std::filesystem::is_regular_file(installed, error) ? installed.string() : document;
}

Status readMemoryLimit(const Arguments &arguments, int64_t &bytes) {
  if (std::string limit = arguments.get("memory-limit"); arguments.has("memory-limit"))
    if (llvm::StringRef(limit).getAsInteger(10, bytes) || bytes < 0)
      return Status::error("--memory-limit must be a number of bytes, found '" + limit + "'");
  return {};
}

Expected<long> readIterations(const Arguments &arguments, long otherwise) {
  const std::string count = arguments.get("iterations", std::to_string(otherwise));
  long iterations = 0;
  if (llvm::StringRef(count).getAsInteger(10, iterations) || iterations < 1)
    return Status::error("--iterations must be a number of at least 1, found '" + count + "'");
  return iterations;
}

} // namespace weft::tool
