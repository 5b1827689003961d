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

/// A command line taken apart: positional arguments, and options in the order in which they came. Both
/// `--name=value` and `--name value` are read; an option that takes no value has an empty one.
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

/// Whether a path has something before the suffix that it ends in.
bool endsIn(const std::string &path, std::string_view suffix);
/// Whether a file is a package, by its name or by how it begins.
bool isPackage(const std::string &path);

/// Reads, guards, parses and verifies a program.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> readModule(mlir::MLIRContext &context, const std::string &path);
/// All of a file; an error for what is no file, larger than any program may be, or no text.
Expected<std::string> readText(const std::string &path);

/// A program and the context that owns it.
struct Program {
  Program();
  Status read(const std::string &path);
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Reads the command line of a command with one file, or with `files` many; a code where the command ends
/// there: 0 for help, 1 for an option that is wrong, 2 for another number of files.
std::optional<int> beginCommand(const char *command, const char *help, int argc, char **argv,
                                std::map<std::string, bool> known, Arguments &arguments, size_t files = 1);

/// The path of a document, as "docs/errors/WEFT-D003.md": beside the tool where Weft is installed, else as it
/// is in the tree.
std::string documentPath(const std::string &document);

/// The bytes of --memory-limit, which are left as they are where it is not given.
Status readMemoryLimit(const Arguments &arguments, int64_t &bytes);

/// "x.npy", "x.safetensors" with one tensor, or "2x3xf32=1.5".
Expected<io::HostArray> readInput(const std::string &text);

// The subcommands: each prints its own help, and returns the exit code.
int runCommand(int argc, char **argv);
int compileCommand(int argc, char **argv);
int explainCommand(int argc, char **argv);
int benchCommand(int argc, char **argv);
int kernelsCommand(int argc, char **argv);
int devicesCommand(int argc, char **argv);
int doctorCommand(int argc, char **argv);

/// Prints "weft COMMAND: message" on standard error; returns 1.
int complain(const char *command, const Status &status);

} // namespace weft::tool

#endif // WEFT_TOOLS_WEFT_TOOL_H
