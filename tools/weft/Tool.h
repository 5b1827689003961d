//===- Tool.h - Shared by the subcommands of weft ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TOOLS_WEFT_TOOL_H
#define WEFT_TOOLS_WEFT_TOOL_H

#include "frontend/io/HostArray.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::tool {

/// A parsed command line: positional arguments, and options in their order. Both `--name=value` and
/// `--name value` are accepted; an option without a value has an empty one.
class Arguments {
public:
  /// `known` maps each option to whether it takes a value. An unknown option is an error that lists the known
  /// ones.
  static Expected<Arguments> parse(int argc, char **argv, const std::map<std::string, bool> &known);
  bool has(const std::string &name) const;
  std::string get(const std::string &name, const std::string &otherwise = "") const;
  std::vector<std::string> all(const std::string &name) const;
  std::vector<std::string> positional;

private:
  std::vector<std::pair<std::string, std::string>> options_;
};

/// Whether a path ends in the suffix and has characters before it.
bool endsIn(const std::string &path, std::string_view suffix);
/// Whether a file is a package, by its name or its first bytes.
bool isPackage(const std::string &path);

/// Reads a program, checks its text (ir/TextGuard.h), and parses and verifies it.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> readModule(mlir::MLIRContext &context, const std::string &path);
/// The content of a file. An error if it cannot be read, is larger than a program may be, or is not text.
Expected<std::string> readText(const std::string &path);

/// A program and the context that owns it.
struct Program {
  Program();
  Status read(const std::string &path);
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Reads the command line of a command with `files` files. Returns an exit code if the command ends here: 0
/// after --help, 1 for a wrong option, 2 for a wrong number of files.
std::optional<int> beginCommand(const char *command, const char *help, int argc, char **argv,
                                std::map<std::string, bool> known, Arguments &arguments, size_t files = 1);

/// The path of a document such as "docs/errors/WEFT-D003.md": that of the installed file if Weft is
/// installed, otherwise the path in the source tree.
std::string documentPath(const std::string &document);

/// Reads --memory-limit, in bytes. Without the option, `bytes` does not change.
Status readMemoryLimit(const Arguments &arguments, int64_t &bytes);

/// Reads --iterations, a number of at least 1; `otherwise` without the option.
Expected<long> readIterations(const Arguments &arguments, long otherwise);

/// "x.npy", "x.safetensors" with one tensor, or "2x3xf32=1.5".
Expected<io::HostArray> readInput(const std::string &text);

// The subcommands: each prints its own help, and returns the exit code.
int runCommand(int argc, char **argv);
int compileCommand(int argc, char **argv);
int explainCommand(int argc, char **argv);
int benchCommand(int argc, char **argv);
int kernelsCommand(int argc, char **argv);
int devicesCommand(int argc, char **argv);
/// Writes the versions of Weft, and of what it is built with or finds at run time.
int versionCommand();
int doctorCommand(int argc, char **argv);

/// Prints "weft COMMAND: message" on standard error; returns 1.
int complain(const char *command, const Status &status);

} // namespace weft::tool

#endif // WEFT_TOOLS_WEFT_TOOL_H
