//===- Explain.cpp - weft explain -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ExplainPackage.h"
#include "Tool.h"

#include "codegen/Compile.h"
#include "frontend/io/AtomicFile.h"
#include "frontend/io/Json.h"
#include "ir/Decisions.h"
#include "ir/Dialect.h"
#include "ir/Reasons.h"
#include "ir/Target.h"
#include "passes/launch/PlanReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <tuple>

using namespace mlir;

namespace weft::tool {

static const char *help = R"(usage: weft explain FILE.mlir|FILE.weft|CODE [options]

Prints what a program becomes: first how many launches and kernels, the bytes that they move, memory, and the costliest
refusals; then launches by source line, refusals with codes, cost and lines, and what is captured. Of a package it
prints what the package has; of a reason code, as WEFT-D003, what it means.

  --target TARGET      cpu (if left out), or another that `weft devices` lists, as cuda:sm_90 or cpu:16+cuda:sm_90:
                       no such device is needed
  --device MAP         where the program is, as cuda:0, or each of its devices, as cpu=cuda:0 with commas between: for
                       a target with devices
  --strict FAMILIES    refusals that are errors, separated by commas: fusion, donate, capture
  --numerics MODE      eager or fast (docs/numerics.md); what the text says if left out
  --memory-limit BYTES as of weft compile: another order where temporaries take more than that
  --full               every launch with its memory, and every decision, after that
  --json               an object: of a program functions, decisions and kernels; of a package sections, functions and
                       signatures; of a code what it means
  --html FILE          of a program one page, which needs nothing else: refusals, source lines, launches and kernels with
                       links between them and a filter, what launches exchange, memory over time, and what is captured

Of a package and of a code only --json can be asked.

example: weft explain scaled.mlir --full
example: weft explain scaled.mlir --target=cuda:sm_90 --html=scaled.html
example: weft explain scaled.weft --json
example: weft explain WEFT-D003
)";

namespace json = llvm::json;

static json::Value text(llvm::StringRef string) { return json::fixUTF8(string); }

static json::Object launchObject(const codegen::LaunchReport &launch) {
  json::Array lines, reads;
  for (const std::string &line : launch.lines)
    lines.push_back(text(line));
  for (unsigned number : launch.reads)
    reads.push_back(number);
  return json::Object{
      {"kind", launch.kind},
      {"kernel", launch.kernel.empty() ? json::Value(nullptr) : text(launch.kernel)},
      {"results", launch.results},
      {"read_bytes", launch.readBytes},
      {"written_bytes", launch.writtenBytes},
      {"queue", launch.queue},
      {"pieces", launch.isFusion ? json::Value(launch.pieces) : json::Value(nullptr)},
      {"estimated_ns", launch.isFusion ? json::Value(launch.estimatedPs / 1000) : json::Value(nullptr)},
      {"reads", std::move(reads)},
      {"lines", std::move(lines)}};
}

static std::string jsonText(const codegen::CompileReport &report, ModuleOp module) {
  json::Array functions, kernels;
  for (const codegen::FunctionReport &f : report.functions) {
    json::Array launches, decisions;
    for (const codegen::LaunchReport &launch : f.launches)
      launches.push_back(launchObject(launch));
    for (const ir::Decision &d : f.decisions) {
      const ir::Reason *reason = ir::findReason(d.code);
      decisions.push_back(json::Object{{"code", text(d.code)},
                                       {"title", reason ? text(reason->title) : text(d.code)},
                                       {"producer", text(d.producer)},
                                       {"consumer", text(d.consumer)},
                                       {"message", text(d.message)},
                                       {"picoseconds", d.savedPs},
                                       {"location", text(d.location)}});
    }
    functions.push_back(
        json::Object{{"name", text(f.name)},
                     {"plan", text(passes::formatPlan(module.lookupSymbol<ir::FuncOp>(f.name)))},
                     {"launches", std::move(launches)},
                     {"decisions", std::move(decisions)},
                     {"capture", f.hasGraphs ? text(f.capture) : json::Value(nullptr)},
                     {"arena_bytes", f.arenaBytes},
                     {"arena_lower_bound_bytes", f.arenaLowerBound}});
  }
  for (const codegen::KernelReport &kernel : report.kernels)
    kernels.push_back(json::Object{{"symbol", text(kernel.symbol)}, {"launches", kernel.launches}});
  std::string made;
  llvm::raw_string_ostream(made) << json::Value(json::Object{
      {"target", report.target}, {"functions", std::move(functions)}, {"kernels", std::move(kernels)}});
  return made + "\n";
}

static int explainCode(const ir::Reason &reason, bool asJson) {
  llvm::StringRef mode = reason.refusal ? ir::strictModeOf(reason.family()) : "";
  const std::string page = documentPath("docs/errors/" + reason.code.str() + ".md");
  if (asJson) {
    std::printf(
        "{\"code\": %s, \"title\": %s, \"family\": %s, \"to_fix\": %s, \"strict\": %s, \"page\": %s}\n",
        io::json_quoted(reason.code).c_str(), io::json_quoted(reason.title).c_str(),
        io::json_quoted(ir::familyName(reason.family())).c_str(), io::json_quoted(reason.remedy).c_str(),
        mode.empty() ? "null" : io::json_quoted(mode).c_str(), io::json_quoted(page).c_str());
    return 0;
  }
  std::printf("%s: %s\n  family: %s\n  to fix: %s\n", reason.code.str().c_str(), reason.title.str().c_str(),
              ir::familyName(reason.family()).str().c_str(), reason.remedy.str().c_str());
  if (!mode.empty())
    std::printf("  an error under: --strict=%s\n", mode.str().c_str());
  std::printf("  page: %s\n", page.c_str());
  return 0;
}

/// "WEFT-D003" from "d003" or "Weft-d003"; empty if the text is not a code but, for example, a file name.
static std::string codeOf(llvm::StringRef text) {
  std::string code = text.upper();
  if (llvm::StringRef(code).starts_with("WEFT-"))
    return code;
  return ir::findReason("WEFT-" + code) ? "WEFT-" + code : "";
}

/// The error about a code that does not exist, with similar codes.
static Status unknownCode(const std::string &code) {
  std::vector<std::pair<unsigned, const ir::Reason *>> near;
  for (const ir::Reason &reason : ir::reasons())
    near.emplace_back(llvm::StringRef(code).edit_distance(reason.code), &reason);
  llvm::sort(near, [](const auto &a, const auto &b) {
    return std::tie(a.first, a.second->code) < std::tie(b.first, b.second->code);
  });
  std::string text = "there is no reason code '" + code + "'; near are";
  for (size_t i = 0; i < 3; ++i)
    text += (i ? ", " : " ") + near[i].second->code.str() + " (" + near[i].second->title.str() + ")";
  return Status::error(text + "; " + documentPath("docs/errors/README.md") + " lists all");
}

int explainCommand(int argc, char **argv) {
  Arguments arguments;
  if (auto code = beginCommand("explain", help, argc, argv,
                               {{"full", false},
                                {"json", false},
                                {"html", true},
                                {"target", true},
                                {"device", true},
                                {"strict", true},
                                {"numerics", true},
                                {"memory-limit", true}},
                               arguments))
    return *code;
  const std::string &what = arguments.positional[0];
  const bool package = isPackage(what);
  // Options of compilation have no effect on a package, which is compiled already, or on a code.
  if (package || !codeOf(what).empty())
    for (const char *option : {"full", "html", "target", "device", "strict", "numerics", "memory-limit"})
      if (arguments.has(option))
        return complain("explain", Status::error(std::string("--") + option + " is for programs, and '" +
                                                 what + "' is " + (package ? "a package" : "a reason code")));
  if (std::string code = codeOf(what); !code.empty()) {
    const ir::Reason *reason = ir::findReason(code);
    return reason ? explainCode(*reason, arguments.has("json")) : complain("explain", unknownCode(code));
  }
  if (package) {
    Status status = explainPackage(what, arguments.has("json"));
    return status ? 0 : complain("explain", status);
  }
  ir::CompilerOptions options;
  options.target = arguments.get("target", "cpu");
  options.devices = arguments.get("device");
  options.strict = arguments.get("strict");
  options.numerics = arguments.get("numerics");
  if (Status status = readMemoryLimit(arguments, options.memoryLimit); !status)
    return complain("explain", status);
  Program program;
  if (Status status = program.read(what); !status)
    return complain("explain", status);
  codegen::CompileReport report;
  std::string problem;
  const std::optional<ir::Target> target = ir::Target::parse(options.target, problem);
  if (target && !target->isHostOnly()) {
    // The launch list is explained without the kernels of a GPU, which take long to compile.
    auto explained = codegen::explainModule(*program.module, options);
    if (!explained)
      return complain("explain", explained.status());
    report = std::move(*explained);
  } else {
    auto compiled = codegen::compileModule(*program.module, options);
    if (!compiled)
      return complain("explain", compiled.status());
    report = std::move(compiled->report);
  }
  if (arguments.has("html")) {
    std::string file = arguments.get("html");
    if (Status status = io::write_file(file, codegen::htmlPage(report, what)); !status)
      return complain("explain", status);
    std::printf("%s: %s, %s\n", file.c_str(), ir::amountText(report.functions.size(), "function").c_str(),
                ir::amountText(report.kernels.size(), "kernel").c_str());
    return 0;
  }
  if (arguments.has("json"))
    std::fputs(jsonText(report, *program.module).c_str(), stdout);
  else if (arguments.has("full"))
    std::fputs(codegen::fullText(report, *program.module).c_str(), stdout);
  else
    std::printf("%severy launch and decision: --full\n", report.str().c_str());
  return 0;
}

} // namespace weft::tool
