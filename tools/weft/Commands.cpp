//===- Commands.cpp - weft compile, explain, kernels ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tool.h"

#include "codegen/Compile.h"
#include "frontend/io/AtomicFile.h"
#include "frontend/io/Json.h"
#include "ir/Dialect.h"
#include "runtime/Package.h"

#include <cstdio>

using namespace mlir;

namespace weft::tool {

static const std::map<std::string, codegen::CpuTarget::Level> levels = {
    {"x86-64-v3", codegen::CpuTarget::v3}, {"x86-64-v4", codegen::CpuTarget::v4}};

/// "cpu" is both levels; a level's own name is that one.
static Expected<std::vector<codegen::CpuTarget::Level>> parseTarget(const std::string &target) {
  if (target == "cpu")
    return std::vector{codegen::CpuTarget::v4, codegen::CpuTarget::v3};
  if (auto it = levels.find(target); it != levels.end())
    return std::vector{it->second};
  return Status::error("unknown target '" + target + "'; there are cpu, x86-64-v3 and x86-64-v4");
}

namespace {
/// A program and the context that owns it.
struct Program {
  Program() : context(registry()) {}
  static DialectRegistry registry() {
    DialectRegistry registry;
    ir::registerDialect(registry);
    return registry;
  }
  Status read(const std::string &path) {
    auto parsed = readModule(context, path);
    if (!parsed)
      return parsed.status();
    module = std::move(*parsed);
    return {};
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

/// Reads the command line; a code where the command ends there.
static std::optional<int> begin(const char *command, const char *help, int argc, char **argv,
                                std::map<std::string, bool> known, Arguments &arguments) {
  known["help"] = false;
  auto parsed = Arguments::parse(argc, argv, known);
  if (!parsed)
    return complain(command, parsed.status());
  arguments = *parsed;
  if (arguments.has("help") || arguments.positional.size() != 1) {
    std::fputs(help, arguments.has("help") ? stdout : stderr);
    return arguments.has("help") ? 0 : 2;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// compile
//===----------------------------------------------------------------------===//

int compileCommand(int argc, char **argv) {
  const char *help = R"(usage: weft compile FILE.mlir -o FILE.weft [options]

Compiles a program to a package, which runs without the compiler.

  -o, --output FILE    where the package goes
  --target TARGET      cpu (both levels below), x86-64-v3 or x86-64-v4; cpu if left out

example: weft compile scaled.mlir --target=cpu -o scaled.weft
)";
  Arguments arguments;
  if (auto code = begin("compile", help, argc, argv, {{"output", true}, {"target", true}}, arguments))
    return *code;
  std::string output = arguments.get("output");
  if (output.empty())
    return complain("compile", Status::error("say where the package goes: -o FILE.weft"));
  auto target = parseTarget(arguments.get("target", "cpu"));
  if (!target)
    return complain("compile", target.status());
  Program program;
  if (Status status = program.read(arguments.positional[0]); !status)
    return complain("compile", status);
  auto compiled = codegen::compileModule(*program.module, {.levels = *target});
  if (!compiled)
    return complain("compile", compiled.status());
  std::string_view bytes(reinterpret_cast<const char *>(compiled->package.data()), compiled->package.size());
  if (Status status = io::write_file(output, bytes); !status)
    return complain("compile", status);
  std::printf("%s: %zu functions, %zu kernels, %zu bytes\n", output.c_str(),
              compiled->report.functions.size(), compiled->report.kernels.size(), bytes.size());
  return 0;
}

//===----------------------------------------------------------------------===//
// explain
//===----------------------------------------------------------------------===//

static std::string json(const codegen::CompileReport &report) {
  std::string text = "{\"functions\": [";
  for (size_t i = 0; i < report.functions.size(); ++i) {
    const codegen::FunctionReport &f = report.functions[i];
    text += (i ? ", " : "") + std::string("{\"name\": ") + io::json_quoted(f.name) +
            ", \"plan\": " + io::json_quoted(f.plan) + ", \"decisions\": " + io::json_quoted(f.decisions) +
            ", \"arena_bytes\": " + std::to_string(f.arenaBytes) +
            ", \"arena_lower_bound_bytes\": " + std::to_string(f.arenaLowerBound) + "}";
  }
  text += "], \"kernels\": [";
  for (size_t i = 0; i < report.kernels.size(); ++i)
    text += (i ? ", " : "") + std::string("{\"symbol\": ") + io::json_quoted(report.kernels[i].symbol) +
            ", \"launches\": " + std::to_string(report.kernels[i].launches) + "}";
  return text + "]}\n";
}

int explainCommand(int argc, char **argv) {
  const char *help = R"(usage: weft explain FILE.mlir [--json]

Prints what a program becomes: launches in order with bytes and memory, fusions, refusals with codes and lines.

example: weft explain scaled.mlir
)";
  Arguments arguments;
  if (auto code = begin("explain", help, argc, argv, {{"json", false}}, arguments))
    return *code;
  Program program;
  if (Status status = program.read(arguments.positional[0]); !status)
    return complain("explain", status);
  auto compiled = codegen::compileModule(*program.module);
  if (!compiled)
    return complain("explain", compiled.status());
  std::fputs((arguments.has("json") ? json(compiled->report) : compiled->report.str()).c_str(), stdout);
  return 0;
}

//===----------------------------------------------------------------------===//
// kernels
//===----------------------------------------------------------------------===//

int kernelsCommand(int argc, char **argv) {
  const char *help = R"(usage: weft kernels FILE.mlir [--emit=kernel|llvm|asm] [--target TARGET]

Prints the kernels of a program.

  --emit FORM          kernel: loops and vectors in upstream dialects; llvm: LLVM IR after optimisation; asm: assembly
  --target TARGET      x86-64-v4 (if left out) or x86-64-v3

example: weft kernels scaled.mlir --emit=asm --target=x86-64-v3
)";
  Arguments arguments;
  if (auto code = begin("kernels", help, argc, argv, {{"emit", true}, {"target", true}}, arguments))
    return *code;
  std::string form = arguments.get("emit", "kernel");
  if (form != "kernel" && form != "llvm" && form != "asm")
    return complain("kernels", Status::error("--emit takes kernel, llvm or asm, found '" + form + "'"));
  auto it = levels.find(arguments.get("target", "x86-64-v4"));
  if (it == levels.end())
    return complain("kernels", Status::error("--target takes x86-64-v3 or x86-64-v4, found '" +
                                             arguments.get("target") + "'"));
  Program program;
  if (Status status = program.read(arguments.positional[0]); !status)
    return complain("kernels", status);
  if (Status status = codegen::runPipeline(*program.module); !status)
    return complain("kernels", status);
  auto kernels = codegen::emitKernels(*program.module);
  if (!kernels)
    return complain("kernels", kernels.status());
  for (auto &[symbol, kernel] : *kernels) {
    std::string text;
    if (form == "kernel") {
      llvm::raw_string_ostream os(text);
      kernel->print(os);
    } else {
      auto made = form == "llvm" ? codegen::compileKernelToLLVM(*kernel, {it->second})
                                 : codegen::compileKernelToAssembly(*kernel, {it->second});
      if (!made)
        return complain("kernels", made.status());
      text = *made;
    }
    std::printf("%s %s\n%s\n",
                form == "asm"    ? "#"
                : form == "llvm" ? ";"
                                 : "//",
                symbol.c_str(), text.c_str());
  }
  return 0;
}

} // namespace weft::tool
