//===- Commands.cpp - weft compile ------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tool.h"

#include "codegen/Compile.h"
#include "codegen/HostLibrary.h"
#include "frontend/io/AtomicFile.h"
#include "ir/Decisions.h"
#include "ir/Dialect.h"
#include "ir/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdio>

using namespace mlir;

namespace weft::tool {

/// The targets of a package, separated by commas, or from several options.
static Expected<std::vector<std::string>> parseTargets(const std::vector<std::string> &given) {
  std::vector<std::string> names;
  for (const std::string &list : given)
    for (llvm::StringRef name : llvm::split(list, ','))
      if (!llvm::is_contained(names, name))
        names.push_back(name.str());
  if (names.empty())
    names.push_back("cpu");
  for (const std::string &name : names) {
    std::string problem;
    if (!ir::Target::parse(name, problem))
      return Status::error(problem);
  }
  return names;
}

/// The options about passes, which several commands have.
static const std::map<std::string, bool> pipelineOptions = {
    {"target", true},      {"device", true},       {"from", true},
    {"to", true},          {"strict", true},       {"disable-pass", true},
    {"dump-phases", true}, {"memory-limit", true}, {"numerics", true}};

static Expected<ir::CompilerOptions> compilerOptions(const Arguments &arguments) {
  ir::CompilerOptions options;
  options.devices = arguments.get("device");
  options.from = arguments.get("from");
  options.to = arguments.get("to");
  options.strict = arguments.get("strict");
  options.numerics = arguments.get("numerics");
  options.disabled = arguments.all("disable-pass");
  options.dumpFolder = arguments.get("dump-phases");
  if (Status status = readMemoryLimit(arguments, options.memoryLimit); !status)
    return status;
  return options;
}

//===----------------------------------------------------------------------===//
// compile
//===----------------------------------------------------------------------===//

int compileCommand(int argc, char **argv) {
  const char *help = R"(usage: weft compile FILE.mlir -o FILE.weft [options]

Compiles a program to a package, which runs without the compiler.

  -o, --output FILE    where the package goes, or the text with --to
  --target TARGET      cpu (kernels for both levels below), x86-64-v3 or x86-64-v4; cpu if left out. With a number
                       of cores, as cpu:16, work is cut for as many threads. Several, with commas or one by one,
                       make a package with a plan and kernels for each, of which loading takes the best that the
                       processor can run. cuda:sm_90 and the others that `weft devices` lists (or sm_90, ..; beside
                       a host, as cpu:16+cuda:sm_90) have kernels for a GPU, which NVRTC compiles
  --device MAP         where the program is, as cuda:0, or each of its devices, as cpu=cuda:0 with commas between: for
                       a target with devices
  --strict FAMILIES    refusals that are errors, separated by commas: fusion, donate, capture
  --numerics MODE      eager, the bits of single ops, or fast, which allows other roundings (docs/numerics.md); what the
                       text says if left out
  --to PHASE           stop after a phase and write the text: inline, placement, differentiation, simplification,
                       decomposition, fusion, memory or scheduling
  --from PHASE         begin with this phase: the file is what an earlier --to or --dump-phases wrote
  --dump-phases DIR    write the text after each phase to DIR, as 06-fusion.mlir
  --disable-pass PASS  leave a pass out, as weft-simplify; may be given several times
  --memory-limit BYTES put launches into another order where their temporaries take more than that

example: weft compile scaled.mlir --target=x86-64-v3 --target=x86-64-v4 -o scaled.weft
example: weft compile scaled.mlir --to=fusion -o fused.mlir
example: weft compile fused.mlir --from=memory -o scaled.weft
example: weft compile scaled.mlir --dump-phases=phases --disable-pass=weft-simplify --strict=donate -o scaled.weft
)";
  Arguments arguments;
  std::map<std::string, bool> known = pipelineOptions;
  known["output"] = true;
  if (auto code = beginCommand("compile", help, argc, argv, known, arguments))
    return *code;
  auto parsed = compilerOptions(arguments);
  if (!parsed)
    return complain("compile", parsed.status());
  ir::CompilerOptions options = std::move(*parsed);
  std::string output = arguments.get("output");
  if (output.empty())
    return complain("compile", Status::error("say where the package goes: -o FILE.weft"));
  auto targets = parseTargets(arguments.all("target"));
  if (!targets)
    return complain("compile", targets.status());
  if (!options.to.empty() && targets->size() > 1)
    return complain("compile", Status::error("--to writes the text of one target: give one"));
  options.target = targets->front();
  Program program;
  if (Status status = program.read(arguments.positional[0]); !status)
    return complain("compile", status);
  if (!options.to.empty()) {
    // Use the library that a package uses, so that a compilation that is resumed from this text gives the
    // same package.
    std::string problem;
    if (const std::optional<ir::Target> known = ir::Target::parse(options.target, problem))
      options.library = &codegen::hostLibrary(known->getHost());
    if (Status status = codegen::runPipeline(*program.module, options); !status)
      return complain("compile", status);
    std::string text;
    llvm::raw_string_ostream os(text);
    program.module->print(os);
    os << '\n';
    if (Status status = io::write_file(output, text); !status)
      return complain("compile", status);
    std::printf("%s: after %s\n", output.c_str(), options.to.c_str());
    return 0;
  }
  options.targets = *targets;
  options.levels = {"x86-64-v3", "x86-64-v4"};
  auto compiled = codegen::compileModule(*program.module, options);
  if (!compiled)
    return complain("compile", compiled.status());
  std::string_view bytes(reinterpret_cast<const char *>(compiled->package.data()), compiled->package.size());
  if (Status status = io::write_file(output, bytes); !status)
    return complain("compile", status);
  std::printf("%s: %s, %s, %zu bytes\n", output.c_str(),
              ir::amountText(compiled->report.functions.size(), "function").c_str(),
              ir::amountText(compiled->report.kernels.size(), "kernel").c_str(), bytes.size());
  return 0;
}

} // namespace weft::tool
