//===- Explain.cpp - weft explain -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ExplainPackage.h"
#include "Html.h"
#include "Tool.h"

#include "codegen/Compile.h"
#include "frontend/io/Json.h"
#include "ir/Decisions.h"
#include "ir/Dialect.h"
#include "ir/Reasons.h"
#include "ir/TargetDescription.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdio>
#include <tuple>

using namespace mlir;

namespace weft::tool {

static const char *help = R"(usage: weft explain FILE.mlir|FILE.weft|CODE [options]

Prints what a program becomes: launches in order with bytes and memory, fusions, refusals with codes, cost and lines,
and what is captured. Of a package it prints what the package has; of a reason code, as WEFT-D003, what it means.

  --target TARGET      cpu (if left out), x86-64-v3, x86-64-v4, cuda:sm_80, cuda:sm_90 or cuda:sm_100: no such
                       device is needed
  --strict FAMILIES    refusals that are errors, separated by commas: fusion, donate, capture
  --numerics MODE      eager or fast (docs/numerics.md); what the text says if left out
  --memory-limit BYTES as of weft compile: another order where temporaries take more than that
  --json               an object: of a program functions, decisions and kernels; of a package sections, functions and
                       signatures; of a code what it means
  --html FILE          of a program one page, which needs nothing else: launches and what they exchange, decisions with
                       codes, memory over time, kernels, and what is captured

Of a package and of a code only --json can be asked.

example: weft explain scaled.mlir
example: weft explain scaled.mlir --target=cuda:sm_90 --html=scaled.html
example: weft explain scaled.weft --json
example: weft explain WEFT-D003
)";

static std::string json(const codegen::CompileReport &report, ModuleOp module) {
  std::string text = "{\"functions\": [";
  for (size_t i = 0; i < report.functions.size(); ++i) {
    const codegen::FunctionReport &f = report.functions[i];
    text += (i ? ", " : "") + std::string("{\"name\": ") + io::json_quoted(f.name) +
            ", \"plan\": " + io::json_quoted(f.plan) + ", \"decisions\": [";
    auto function = module.lookupSymbol<ir::FuncOp>(f.name);
    bool first = true;
    for (const ir::Decision &d : ir::readDecisions(function)) {
      const ir::Reason *reason = ir::findReason(d.code);
      text += (first ? "{" : ", {") + std::string("\"code\": ") + io::json_quoted(d.code) +
              ", \"title\": " + io::json_quoted(reason ? reason->title.str() : d.code) +
              ", \"producer\": " + io::json_quoted(d.producer) +
              ", \"consumer\": " + io::json_quoted(d.consumer) +
              ", \"message\": " + io::json_quoted(d.message) +
              ", \"picoseconds\": " + std::to_string(d.savedPs) +
              ", \"location\": " + io::json_quoted(d.location) + "}";
      first = false;
    }
    text += "], \"capture\": " + io::json_quoted(f.capture) +
            ", \"arena_bytes\": " + std::to_string(f.arenaBytes) +
            ", \"arena_lower_bound_bytes\": " + std::to_string(f.arenaLowerBound) + "}";
  }
  text += "], \"kernels\": [";
  for (size_t i = 0; i < report.kernels.size(); ++i)
    text += (i ? ", " : "") + std::string("{\"symbol\": ") + io::json_quoted(report.kernels[i].symbol) +
            ", \"launches\": " + std::to_string(report.kernels[i].launches) + "}";
  return text + "]}\n";
}

static int explainCode(const ir::Reason &reason, bool asJson) {
  llvm::StringRef mode = reason.refusal ? ir::strictModeOf(reason.family()) : "";
  if (asJson) {
    std::printf(
        "{\"code\": %s, \"title\": %s, \"family\": %s, \"to_fix\": %s, \"strict\": %s, \"page\": %s}\n",
        io::json_quoted(reason.code).c_str(), io::json_quoted(reason.title).c_str(),
        io::json_quoted(ir::familyName(reason.family())).c_str(), io::json_quoted(reason.remedy).c_str(),
        mode.empty() ? "null" : io::json_quoted(mode).c_str(),
        io::json_quoted("docs/errors/" + reason.code.str() + ".md").c_str());
    return 0;
  }
  std::printf("%s: %s\n  family: %s\n  to fix: %s\n", reason.code.data(), reason.title.data(),
              ir::familyName(reason.family()).str().c_str(), reason.remedy.data());
  if (!mode.empty())
    std::printf("  an error under: --strict=%s\n", mode.str().c_str());
  std::printf("  page: docs/errors/%s.md\n", reason.code.data());
  return 0;
}

/// "WEFT-D003" of "d003" or "Weft-d003"; empty for what is no code, as the name of a file.
static std::string codeOf(llvm::StringRef text) {
  std::string code = text.upper();
  if (llvm::StringRef(code).starts_with("WEFT-"))
    return code;
  return ir::findReason("WEFT-" + code) ? "WEFT-" + code : "";
}

/// What to say of a code that does not exist: those that look like it.
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
  return Status::error(text + "; docs/errors/README.md lists all");
}

int explainCommand(int argc, char **argv) {
  Arguments arguments;
  if (auto code = beginCommand("explain", help, argc, argv,
                               {{"json", false},
                                {"html", true},
                                {"target", true},
                                {"strict", true},
                                {"numerics", true},
                                {"memory-limit", true}},
                               arguments))
    return *code;
  const std::string &what = arguments.positional[0];
  const bool package = isPackage(what);
  // What is compiled already, or never was a program, does not change with how a program is compiled.
  if (package || !codeOf(what).empty())
    for (const char *option : {"html", "target", "strict", "numerics", "memory-limit"})
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
  options.strict = arguments.get("strict");
  options.numerics = arguments.get("numerics");
  if (Status status = readMemoryLimit(arguments, options.memoryLimit); !status)
    return complain("explain", status);
  Program program;
  if (Status status = program.read(what); !status)
    return complain("explain", status);
  codegen::CompileReport report;
  const ir::TargetDescription *target = ir::findTarget(options.target);
  if (target && !target->isCpu()) {
    // There are no kernels for it yet; the launch list is all the same.
    if (Status status = codegen::runPipeline(*program.module, options); !status)
      return complain("explain", status);
    report = codegen::reportPlan(*program.module);
  } else {
    auto compiled = codegen::compileModule(*program.module, options);
    if (!compiled)
      return complain("explain", compiled.status());
    report = std::move(compiled->report);
  }
  if (arguments.has("html")) {
    std::string file = arguments.get("html");
    if (Status status = writeHtml(file, what, options.target, report, *program.module); !status)
      return complain("explain", status);
    std::printf("%s: %s, %s\n", file.c_str(), ir::amountText(report.functions.size(), "function").c_str(),
                ir::amountText(report.kernels.size(), "kernel").c_str());
    return 0;
  }
  std::fputs((arguments.has("json") ? json(report, *program.module) : report.str()).c_str(), stdout);
  return 0;
}

} // namespace weft::tool
