//===- Explain.cpp - weft explain -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Html.h"
#include "Tool.h"

#include "codegen/Compile.h"
#include "frontend/io/Json.h"
#include "ir/Decisions.h"
#include "ir/Dialect.h"
#include "ir/Reasons.h"
#include "ir/TargetDescription.h"
#include "runtime/Executable.h"
#include "runtime/Package.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <cstdio>
#include <tuple>

using namespace mlir;

namespace weft::tool {

static const char *help = R"(usage: weft explain FILE.mlir|FILE.weft|CODE [options]

Prints what a program becomes: launches in order with bytes and memory, fusions, refusals with codes, cost and lines,
and what is captured. Of a package it prints what the package has; of a reason code, as WEFT-D003, what it means.

  --target TARGET      cpu (if left out), x86-64-v3, x86-64-v4, sm_80, sm_90 or sm_100: no such device is needed
  --strict FAMILIES    refusals that are errors, separated by commas: fusion, donate, capture
  --numerics MODE      eager or fast (docs/numerics.md); what the text says if left out
  --memory-limit BYTES as of weft compile: another order where temporaries take more than that
  --json               for programs: an object with functions, decisions and kernels
  --html FILE          one page, which needs nothing else: launches and what they exchange, decisions with codes, memory
                       over time, kernels, and what is captured

example: weft explain scaled.mlir
example: weft explain scaled.mlir --target=sm_90 --html=scaled.html
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

static int explainCode(const ir::Reason &reason) {
  std::printf("%s: %s\n  family: %s\n  to fix: %s\n", reason.code.data(), reason.title.data(),
              ir::familyName(reason.family()).str().c_str(), reason.remedy.data());
  if (llvm::StringRef mode = ir::strictModeOf(reason.family()); reason.refusal && !mode.empty())
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

/// "f32[2x3] on cpu", and "f32[batch, 3] on cpu" where a call chooses sizes.
static std::string typeText(const runtime::TensorInfo &type, const std::vector<std::string> &sizes) {
  const bool numbers = llvm::none_of(type.shape, [](int64_t size) { return size < 0; });
  return (llvm::Twine(name(type.dtype)) + "[" + llvm::join(sizes, numbers ? "x" : ", ") + "] on " +
          type.device)
      .str();
}

/// What some arguments and results have, and others do not.
static std::string quoted(const std::string &name) { return name.empty() ? "" : " '" + name + "'"; }

/// What a package has: sections, functions with their signatures, memory and launches.
static Status explainPackage(const std::string &path) {
  auto package = runtime::Package::open(path);
  if (!package)
    return package.status();
  std::printf("package '%s'\n", path.c_str());
  for (const std::string &section : (*package)->names()) {
    auto bytes = (*package)->section(section);
    if (!bytes)
      return bytes.status();
    std::printf("  section %-32s %zu bytes\n", section.c_str(), bytes->size());
  }
  for (const std::string &section : (*package)->names()) {
    if (section.rfind("plan.", 0) != 0 || section.size() <= 9)
      continue;
    std::string function = section.substr(5, section.size() - 9);
    auto executable = runtime::Executable::load(*package, function);
    if (!executable)
      return executable.status();
    const runtime::Signature &signature = (*executable)->signature();
    if (signature.symbols.empty())
      std::printf("function '%s' for %s: %zu launches, arena %llu bytes, lower bound %llu\n",
                  function.c_str(), signature.target.c_str(), (*executable)->launch_count(),
                  static_cast<unsigned long long>((*executable)->arena_bytes()),
                  static_cast<unsigned long long>((*executable)->arena_lower_bound_bytes()));
    else
      std::printf("function '%s' for %s: launches and arena are made for each size\n", function.c_str(),
                  signature.target.c_str());
    for (const runtime::SymbolInfo &symbol : signature.symbols)
      std::printf("  symbol '%s' from %lld to %lld\n", symbol.name.c_str(),
                  static_cast<long long>(symbol.min), static_cast<long long>(symbol.max));
    for (size_t i = 0; i < signature.arguments.size(); ++i) {
      const runtime::ArgumentInfo &argument = signature.arguments[i];
      std::string strides;
      for (int64_t stride : argument.type.strides)
        strides += (strides.empty() ? ", strides " : ", ") + std::to_string(stride);
      std::printf("  argument %zu%s: %s%s%s\n", i, quoted(argument.name).c_str(),
                  typeText(argument.type, (*executable)->argument_sizes(i)).c_str(), strides.c_str(),
                  argument.donated ? ", donated" : "");
    }
    for (size_t i = 0; i < signature.results.size(); ++i) {
      const runtime::ResultInfo &result = signature.results[i];
      std::printf("  result %zu%s: %s", i, quoted(result.name).c_str(),
                  typeText(result.type, (*executable)->result_sizes(i)).c_str());
      if (result.tied_to >= 0)
        std::printf(", in the storage of argument %d", result.tied_to);
      if (result.alias_argument >= 0)
        std::printf(", an alias of argument %d", result.alias_argument);
      if (result.alias_result >= 0)
        std::printf(", an alias of result %d", result.alias_result);
      std::printf("\n");
    }
  }
  return {};
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
  if (std::string code = codeOf(what); !code.empty()) {
    const ir::Reason *reason = ir::findReason(code);
    return reason ? explainCode(*reason) : complain("explain", unknownCode(code));
  }
  if (isPackage(what)) {
    Status status = explainPackage(what);
    return status ? 0 : complain("explain", status);
  }
  codegen::PipelineRequest request;
  request.target = arguments.get("target", "cpu");
  request.strict = arguments.get("strict");
  request.numerics = arguments.get("numerics");
  if (Status status = readMemoryLimit(arguments, request.memoryLimit); !status)
    return complain("explain", status);
  Program program;
  if (Status status = program.read(what); !status)
    return complain("explain", status);
  codegen::CompileReport report;
  const ir::TargetDescription *target = ir::findTarget(request.target);
  if (target && !target->isCpu()) {
    // There are no kernels for it yet; the launch list is all the same.
    if (Status status = codegen::runPipeline(*program.module, request); !status)
      return complain("explain", status);
    report = codegen::reportPlan(*program.module);
  } else {
    auto compiled =
        codegen::compileModule(*program.module, {.levels = {}, .threads = 0, .pipeline = request});
    if (!compiled)
      return complain("explain", compiled.status());
    report = std::move(compiled->report);
  }
  if (arguments.has("html")) {
    std::string file = arguments.get("html");
    if (Status status = writeHtml(file, what, request.target, report, *program.module); !status)
      return complain("explain", status);
    std::printf("%s: %zu functions, %zu kernels\n", file.c_str(), report.functions.size(),
                report.kernels.size());
    return 0;
  }
  std::fputs((arguments.has("json") ? json(report, *program.module) : report.str()).c_str(), stdout);
  return 0;
}

} // namespace weft::tool
