//===- Commands.cpp - weft compile, kernels ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tool.h"

#include "codegen/Compile.h"
#include "codegen/HostLibrary.h"
#include "codegen/cpu/LowerKernel.h"
#include "frontend/io/AtomicFile.h"
#include "ir/Decisions.h"
#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdio>
#include <set>

using namespace mlir;

namespace weft::tool {

/// What a package is made for: `plan` is whose costs decide, `levels` whose kernels it has.
struct Targets {
  std::string plan = "cpu";
  std::vector<std::string> levels;
};

/// "cpu" is both levels; a level's own name is that one; several are joined with commas, or given one by one.
static Expected<Targets> parseTargets(const std::vector<std::string> &given) {
  std::vector<std::string> names;
  for (const std::string &list : given)
    for (llvm::StringRef name : llvm::split(list, ','))
      if (!llvm::is_contained(names, name))
        names.push_back(name.str());
  if (names.empty())
    names.push_back("cpu");
  std::set<std::string> wanted;
  for (const std::string &name : names) {
    if (!ir::findTarget(name))
      return Status::error("unknown target '" + name + "'; there are " + ir::targetNames());
    if (names.size() > 1 && !ir::findTarget(name)->isCpu())
      return Status::error("a package has one plan, and '" + name +
                           "' shares none with the other targets: " + "give it alone");
    if (codegen::CpuTarget::parse(name))
      wanted.insert(name);
    else // the plan is what other targets share with the CPU; kernels they have none yet, which compiling
         // says
      wanted.insert({"x86-64-v3", "x86-64-v4"});
  }
  // All levels share the plan, which is that of any CPU then.
  return Targets{names.size() == 1 ? names[0] : "cpu", {wanted.begin(), wanted.end()}};
}

/// The options of how passes are run, which several commands take.
static const std::map<std::string, bool> pipelineOptions = {
    {"target", true},       {"from", true},        {"to", true},           {"strict", true},
    {"disable-pass", true}, {"dump-phases", true}, {"memory-limit", true}, {"numerics", true}};

static Expected<ir::CompilerOptions> compilerOptions(const Arguments &arguments) {
  ir::CompilerOptions options;
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
  --target TARGET      cpu (both levels below), x86-64-v3 or x86-64-v4; cpu if left out. Several, with commas or one
                       by one, make a package with kernels for each, of which loading takes the best that the
                       processor can run. cuda:sm_80, cuda:sm_90 and cuda:sm_100 (or sm_80, ..) have no kernels yet:
                       they go as far as --to
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
  options.target = targets->plan;
  Program program;
  if (Status status = program.read(arguments.positional[0]); !status)
    return complain("compile", status);
  if (!options.to.empty()) {
    // Who multiplies is asked as for a package, so that what is taken up again gives the same one.
    if (const ir::TargetDescription *known = ir::findTarget(options.target); known && known->isCpu())
      options.library = &codegen::hostLibrary(*known);
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
  options.levels = targets->levels;
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
  if (auto code = beginCommand("kernels", help, argc, argv, {{"emit", true}, {"target", true}}, arguments))
    return *code;
  std::string form = arguments.get("emit", "kernel");
  if (form != "kernel" && form != "llvm" && form != "asm")
    return complain("kernels", Status::error("--emit takes kernel, llvm or asm, found '" + form + "'"));
  const auto target = codegen::CpuTarget::parse(arguments.get("target", "x86-64-v4"));
  if (!target)
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
      auto made = form == "llvm" ? codegen::compileKernelToLLVM(*kernel, *target)
                                 : codegen::compileKernelToAssembly(*kernel, *target);
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
