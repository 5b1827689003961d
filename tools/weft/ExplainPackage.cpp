//===- ExplainPackage.cpp - What a package has ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ExplainPackage.h"

#include "ir/Decisions.h"
#include "runtime/execution/Executable.h"
#include "runtime/execution/StatefulExecutable.h"
#include "runtime/package/Package.h"
#include "runtime/plan/PlanSummary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

namespace json = llvm::json;

namespace weft::tool {
namespace {

struct Section {
  std::string name;
  size_t bytes = 0;
};

struct Function {
  std::string name;
  std::shared_ptr<runtime::Executable> executable;
  runtime::PlanSummary summary;

  const runtime::Signature &signature() const { return executable->signature(); }
  /// Whether sizes depend on the call. Launches and arena then exist only for given sizes.
  bool isDynamic() const { return !signature().symbols.empty(); }
};

Expected<std::vector<Section>> sectionsOf(const runtime::Package &package) {
  std::vector<Section> sections;
  for (const std::string &section : package.names()) {
    auto bytes = package.section(section);
    if (!bytes)
      return bytes.status();
    sections.push_back({section, bytes->size()});
  }
  return sections;
}

Expected<std::vector<Function>> functionsOf(const std::shared_ptr<const runtime::Package> &package) {
  std::vector<Function> functions;
  for (const std::string &function : runtime::package_functions(*package)) {
    auto executable = runtime::Executable::load(package, function);
    if (!executable)
      return executable.status();
    auto summary = runtime::summarize_plan(*package, function, (*executable)->signature().target);
    if (!summary)
      return summary.status();
    functions.push_back({function, std::move(*executable), std::move(*summary)});
  }
  return functions;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "f32[2x3] on cpu", or "f32[batch, 3] on cpu" with dynamic sizes.
std::string typeText(const runtime::TensorInfo &type, const std::vector<std::string> &sizes) {
  const bool numbers = llvm::none_of(type.shape, [](int64_t size) { return size < 0; });
  return (llvm::Twine(name(type.dtype)) + "[" + llvm::join(sizes, numbers ? "x" : ", ") + "] on " +
          type.device)
      .str();
}

std::string quoted(const std::string &name) { return name.empty() ? "" : " '" + name + "'"; }

/// How calls go: failures and scalars.
void printCalls(const runtime::PlanSummary &summary) {
  if (summary.fallible || summary.predicated)
    std::printf("  failures: %s that may fail, %s that a failed call leaves out\n",
                ir::amountText(summary.fallible, "launch").c_str(),
                ir::amountText(summary.predicated, "launch").c_str());
  if (!summary.scalars.empty()) {
    std::printf("  scalars: %llu bytes a call", static_cast<unsigned long long>(summary.scalar_bytes));
    for (const runtime::PlanSummary::Scalar &scalar : summary.scalars)
      std::printf(",%s %s at %llu", quoted(scalar.name).c_str(), std::string(name(scalar.dtype)).c_str(),
                  static_cast<unsigned long long>(scalar.offset));
    std::printf("\n");
  }
  if (summary.contractions_with_candidates)
    std::printf("  library: algorithms of cuBLASLt %llu for %s\n",
                static_cast<unsigned long long>(summary.library_release),
                ir::amountText(summary.contractions_with_candidates, "contraction").c_str());
}

void printFunction(const Function &function) {
  const runtime::Signature &signature = function.signature();
  const runtime::Executable &executable = *function.executable;
  if (function.isDynamic())
    std::printf("function '%s' for %s: launches and arena are made for each size\n", function.name.c_str(),
                signature.target.c_str());
  else
    std::printf("function '%s' for %s: %s, arena %llu bytes, lower bound %llu\n", function.name.c_str(),
                signature.target.c_str(), ir::amountText(executable.launch_count(), "launch").c_str(),
                static_cast<unsigned long long>(executable.arena_bytes()),
                static_cast<unsigned long long>(executable.arena_lower_bound_bytes()));
  printCalls(function.summary);
  for (const runtime::SymbolInfo &symbol : signature.symbols)
    std::printf("  symbol '%s' from %lld to %lld\n", symbol.name.c_str(), static_cast<long long>(symbol.min),
                static_cast<long long>(symbol.max));
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const runtime::ArgumentInfo &argument = signature.arguments[i];
    std::string strides;
    for (int64_t stride : argument.type.strides)
      strides += (strides.empty() ? ", strides " : ", ") + std::to_string(stride);
    std::printf("  argument %zu%s: %s%s%s\n", i, quoted(argument.name).c_str(),
                typeText(argument.type, executable.argument_sizes(i)).c_str(), strides.c_str(),
                argument.donated ? ", donated" : "");
  }
  for (size_t i = 0; i < signature.results.size(); ++i) {
    const runtime::ResultInfo &result = signature.results[i];
    std::printf("  result %zu%s: %s", i, quoted(result.name).c_str(),
                typeText(result.type, executable.result_sizes(i)).c_str());
    if (result.tied_to >= 0)
      std::printf(", in the storage of argument %d", result.tied_to);
    if (result.alias_argument >= 0)
      std::printf(", an alias of argument %d", result.alias_argument);
    if (result.alias_result >= 0)
      std::printf(", an alias of result %d", result.alias_result);
    std::printf("\n");
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// A name as JSON text. Names in a package may have arbitrary bytes.
json::Value text(llvm::StringRef name) { return json::fixUTF8(name); }

/// The fields of an argument's or result's type. A dynamic size is its expression as text.
json::Object typeObject(const std::string &name, const runtime::TensorInfo &type,
                        const std::vector<std::string> &sizes) {
  json::Array shape;
  for (auto [size, expression] : llvm::zip_equal(type.shape, sizes))
    shape.push_back(size < 0 ? text(expression) : json::Value(size));
  return json::Object{{"name", text(name)},
                      {"dtype", text(weft::name(type.dtype))},
                      {"shape", std::move(shape)},
                      {"device", text(type.device)}};
}

/// The number of another argument or result, or null.
json::Value numberOrNull(int number) { return number < 0 ? json::Value(nullptr) : json::Value(number); }

json::Object functionObject(const Function &function) {
  const runtime::Signature &signature = function.signature();
  const runtime::Executable &executable = *function.executable;
  json::Array symbols, arguments, results;
  for (const runtime::SymbolInfo &symbol : signature.symbols)
    symbols.push_back(json::Object{{"name", text(symbol.name)}, {"min", symbol.min}, {"max", symbol.max}});
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const runtime::ArgumentInfo &argument = signature.arguments[i];
    json::Object object = typeObject(argument.name, argument.type, executable.argument_sizes(i));
    object["strides"] = argument.type.strides.empty() ? json::Value(nullptr)
                                                      : json::Value(json::Array(argument.type.strides));
    object["donated"] = argument.donated;
    arguments.push_back(std::move(object));
  }
  for (size_t i = 0; i < signature.results.size(); ++i) {
    const runtime::ResultInfo &result = signature.results[i];
    json::Object object = typeObject(result.name, result.type, executable.result_sizes(i));
    object["tied_to"] = numberOrNull(result.tied_to);
    object["alias_argument"] = numberOrNull(result.alias_argument);
    object["alias_result"] = numberOrNull(result.alias_result);
    results.push_back(std::move(object));
  }
  json::Object object{{"name", text(function.name)},
                      {"target", text(signature.target)},
                      {"symbols", std::move(symbols)},
                      {"arguments", std::move(arguments)},
                      {"results", std::move(results)}};
  json::Array scalars;
  for (const runtime::PlanSummary::Scalar &scalar : function.summary.scalars)
    scalars.push_back(json::Object{
        {"name", text(scalar.name)}, {"dtype", text(name(scalar.dtype))}, {"offset", scalar.offset}});
  object["fallible_launches"] = function.summary.fallible;
  object["predicated_launches"] = function.summary.predicated;
  object["regions"] = function.summary.regions;
  object["scalars"] = std::move(scalars);
  object["scalar_bytes"] = function.summary.scalar_bytes;
  object["contractions_with_candidates"] = function.summary.contractions_with_candidates;
  object["library_release"] = function.summary.library_release;
  const bool dynamic = function.isDynamic();
  object["launches"] = dynamic ? json::Value(nullptr) : json::Value(executable.launch_count());
  object["arena_bytes"] = dynamic ? json::Value(nullptr) : json::Value(executable.arena_bytes());
  object["arena_lower_bound_bytes"] =
      dynamic ? json::Value(nullptr) : json::Value(executable.arena_lower_bound_bytes());
  return object;
}

std::string jsonText(const std::string &path, llvm::ArrayRef<Section> allSections,
                     llvm::ArrayRef<Function> allFunctions) {
  json::Array sections, functions;
  for (const Section &section : allSections)
    sections.push_back(json::Object{{"name", text(section.name)}, {"bytes", section.bytes}});
  for (const Function &function : allFunctions)
    functions.push_back(functionObject(function));
  std::string made;
  llvm::raw_string_ostream(made) << json::Value(json::Object{
      {"package", text(path)}, {"sections", std::move(sections)}, {"functions", std::move(functions)}});
  return made + "\n";
}

} // namespace

Status explainPackage(const std::string &path, bool asJson) {
  auto package = runtime::Package::open(path);
  if (!package)
    return package.status();
  auto sections = sectionsOf(**package);
  if (!sections)
    return sections.status();
  // If a package cannot be loaded, its sections can still be listed.
  if (!asJson) {
    std::printf("package '%s'\n", path.c_str());
    for (const Section &section : *sections)
      std::printf("  section %-32s %zu bytes\n", section.name.c_str(), section.bytes);
  }
  auto functions = functionsOf(*package);
  if (!functions)
    return functions.status();
  if (asJson)
    std::fputs(jsonText(path, *sections, *functions).c_str(), stdout);
  else
    for (const Function &function : *functions)
      printFunction(function);
  return {};
}

} // namespace weft::tool
