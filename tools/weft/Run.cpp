//===- Run.cpp - weft run ---------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tool.h"

#include "codegen/Compile.h"
#include "frontend/io/Npy.h"
#include "ir/Dialect.h"
#include "ir/Specialize.h"
#include "ir/interp/Interpreter.h"
#include "runtime/Executable.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

using namespace mlir;

namespace weft::tool {

static const char *help = R"(usage: weft run FILE [options]

Runs a function of a program (FILE.mlir, compiled first) or of a package (FILE.weft, which needs no compiler).

  --function NAME      which function; the only one if left out
  --input VALUE        an argument, in order: a file as x.npy, or SHAPExDTYPE=VALUE as 2x3xf32=1.5;
                       arguments that are not given are random numbers, the same every time
  --size NAME=NUMBER   the value of a symbol of dynamic dimensions; left out, the inputs' shapes give it
  --output FILE.npy    where a result goes, in order; results without a file are summarised
  --against=interp     compare with the reference interpreter (programs only); exit code 1 if they differ
  --iterations N       run N times and print the time of one

example: weft run scaled.mlir --input x.npy --input 784xf32=0.5 --output y.npy --against=interp
)";

/// Numbers in [-1, 1), or small integers that are valid as an index of most things.
static io::HostArray randomArray(const runtime::TensorInfo &type, std::mt19937_64 &engine) {
  io::HostArray array = io::HostArray::allocate(type.dtype, type.shape).value_or_throw();
  ir::Literal literal(type.dtype, type.shape);
  for (int64_t i = 0, e = literal.count(); i < e; ++i) {
    auto bits = static_cast<double>(engine() >> 11) * 0x1p-53;
    if (literal.isReal())
      literal.setReal(i, 2 * bits - 1);
    else
      literal.setWhole(i, static_cast<int64_t>(bits * 2));
  }
  literal.toBytes(array.bytes.data());
  return array;
}

static std::string typeText(DType dtype, const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + std::string(name(dtype));
}

/// The largest difference that rounding explains, relative to the largest magnitude: a first screen, not a
/// proof.
static double tolerance(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return 4e-3;
  case DType::bf16:
    return 3e-2;
  case DType::f32:
    return 1e-4;
  case DType::f64:
    return 1e-12;
  default:
    return 0;
  }
}

/// Compares results; prints a line for each and returns whether they agree.
static bool compare(const std::vector<ir::Literal> &expected, const std::vector<ir::Literal> &found) {
  bool same = true;
  for (size_t r = 0; r < expected.size(); ++r) {
    double scale = 0, worst = 0;
    int64_t at = -1;
    for (int64_t i = 0, e = expected[r].count(); i < e; ++i) {
      double a = expected[r].isReal() ? expected[r].real[i] : static_cast<double>(expected[r].whole[i]);
      double b = found[r].isReal() ? found[r].real[i] : static_cast<double>(found[r].whole[i]);
      if (std::isfinite(a))
        scale = std::max(scale, std::abs(a));
      double difference = std::isnan(a) && std::isnan(b) ? 0 : a == b ? 0 : std::abs(a - b);
      if (std::isnan(difference))
        difference = INFINITY;
      if (difference > worst) {
        worst = difference;
        at = i;
      }
    }
    bool ok = worst <= tolerance(expected[r].dtype) * std::max(scale, 1e-30);
    same &= ok;
    std::printf(
        "result %zu: %s the interpreter: largest difference %.3g at element %lld (largest magnitude %.3g)\n",
        r, ok ? "agrees with" : "DIFFERS from", worst, static_cast<long long>(at), scale);
  }
  return same;
}

/// The values of the executable's symbols: those that are given, or what the shapes of all inputs say.
static Expected<std::vector<int64_t>> chooseSizes(const runtime::Executable &executable,
                                                  const Arguments &arguments,
                                                  const std::vector<io::HostArray> &inputs) {
  const runtime::Signature &signature = executable.signature();
  std::map<std::string, int64_t> given;
  for (const std::string &text : arguments.all("size")) {
    size_t equals = text.find('=');
    char *end = nullptr;
    long long value = equals == std::string::npos ? 0 : std::strtoll(text.c_str() + equals + 1, &end, 10);
    if (!end || *end || end == text.c_str() + equals + 1)
      return Status::error("--size takes NAME=NUMBER, found '" + text + "'");
    given[text.substr(0, equals)] = value;
  }
  std::vector<int64_t> sizes;
  for (const runtime::SymbolInfo &symbol : signature.symbols) {
    auto it = given.find(symbol.name);
    if (it == given.end())
      break;
    sizes.push_back(it->second);
    given.erase(it);
  }
  if (sizes.size() == signature.symbols.size() && given.empty())
    return sizes;
  if (!given.empty())
    return Status::error("'" + signature.function + "' has no symbol '" + given.begin()->first + "'" +
                         (signature.symbols.empty() ? ": its sizes are numbers" : ""));
  if (inputs.size() < signature.arguments.size())
    return Status::error("'" + signature.function + "' has the symbol '" +
                         signature.symbols[sizes.size()].name +
                         "': give its value with --size, or every argument with --input");
  std::vector<std::vector<int64_t>> shapes;
  for (const io::HostArray &input : inputs)
    shapes.push_back(input.shape);
  return executable.bind(shapes);
}

static Status run(const Arguments &arguments, bool &agrees) {
  std::string path = arguments.positional[0];
  bool isPackage = path.size() > 5 && path.substr(path.size() - 5) == ".weft";
  std::string against = arguments.get("against");
  if (!against.empty() && against != "interp")
    return Status::error("--against takes 'interp', found '" + against + "'");
  if (!against.empty() && isPackage)
    return Status::error("--against=interp needs the program, and a package holds machine code only");

  DialectRegistry registry;
  ir::registerDialect(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module, original;
  std::shared_ptr<const runtime::Package> package;
  std::string function = arguments.get("function");
  if (isPackage) {
    auto opened = runtime::Package::open(path);
    if (!opened)
      return opened.status();
    package = *opened;
  } else {
    auto parsed = readModule(context, path);
    if (!parsed)
      return parsed.status();
    module = std::move(*parsed);
    original = module->clone();
    auto compiled = codegen::compileModule(*module);
    if (!compiled)
      return compiled.status();
    auto made = runtime::Package::from_memory(std::move(compiled->package));
    if (!made)
      return made.status();
    package = *made;
  }
  // The functions of a package are what it has plans for.
  std::vector<std::string> functions;
  for (const std::string &section : package->names())
    if (section.rfind("plan.", 0) == 0 && section.size() > 9)
      functions.push_back(section.substr(5, section.size() - 9));
  if (function.empty()) {
    if (functions.size() != 1) {
      std::string list;
      for (const std::string &f : functions)
        list += (list.empty() ? "" : ", ") + f;
      return Status::error("'" + path + "' has " + std::to_string(functions.size()) + " functions (" + list +
                           "); choose one with --function");
    }
    function = functions[0];
  }
  auto executable = runtime::Executable::load(package, function);
  if (!executable)
    return executable.status();

  std::vector<io::HostArray> inputs;
  for (const std::string &input : arguments.all("input")) {
    auto array = readInput(input);
    if (!array)
      return array.status().context("argument " + std::to_string(inputs.size()) + ": ");
    inputs.push_back(*std::move(array));
  }
  if (size_t count = (*executable)->signature().arguments.size(); inputs.size() > count)
    return Status::error("'" + function + "' takes " + std::to_string(count) + " arguments, and " +
                         std::to_string(inputs.size()) + " inputs are given");
  auto sizes = chooseSizes(**executable, arguments, inputs);
  if (!sizes)
    return sizes.status();
  std::map<std::string, int64_t> values;
  for (size_t i = 0; i < sizes->size(); ++i)
    values[(*executable)->signature().symbols[i].name] = (*sizes)[i];
  executable = (*executable)->at(*sizes);
  if (!executable)
    return executable.status();
  const runtime::Signature &signature = (*executable)->signature();
  std::mt19937_64 engine(1);
  std::vector<std::shared_ptr<runtime::Buffer>> buffers;
  std::vector<ir::Literal> literals;
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const runtime::TensorInfo &type = signature.arguments[i].type;
    io::HostArray array = i < inputs.size() ? std::move(inputs[i]) : randomArray(type, engine);
    if (array.dtype != type.dtype || array.shape != type.shape)
      return Status::error("argument " + std::to_string(i) + " of '" + function + "' is " +
                           typeText(type.dtype, type.shape) + ", and the input is " +
                           typeText(array.dtype, array.shape));
    auto buffer = runtime::Buffer::allocate(type.bytes);
    if (!buffer)
      return buffer.status();
    if (type.bytes)
      std::memcpy((*buffer)->data(), array.bytes.data(), type.bytes);
    literals.push_back(ir::Literal::fromBytes(type.dtype, type.shape, array.bytes.data()));
    buffers.push_back(*buffer);
  }

  std::vector<std::shared_ptr<runtime::Buffer>> results(signature.results.size());
  long iterations = std::max(1L, std::atol(arguments.get("iterations", "1").c_str()));
  double best = INFINITY;
  for (long i = 0; i < iterations; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (Status status = (*executable)->run(buffers, results); !status)
      return status;
    for (const auto &result : results)
      if (Status status = result->wait(); !status)
        return status;
    best = std::min(
        best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  if (arguments.has("iterations"))
    std::printf("one call: %.1f us (fastest of %ld)\n", best, iterations);

  std::vector<std::string> outputs = arguments.all("output");
  std::vector<ir::Literal> found;
  for (size_t i = 0; i < results.size(); ++i) {
    const runtime::TensorInfo &type = signature.results[i].type;
    found.push_back(ir::Literal::fromBytes(type.dtype, type.shape, results[i]->data()));
    if (i < outputs.size()) {
      auto bytes = std::span(static_cast<const std::byte *>(results[i]->data()), type.bytes);
      if (Status status = io::write_npy(outputs[i], {type.dtype, type.shape, bytes}); !status)
        return status;
      std::printf("result %zu: %s -> %s\n", i, typeText(type.dtype, type.shape).c_str(), outputs[i].c_str());
    } else if (against.empty()) {
      std::printf("result %zu: %s", i, typeText(type.dtype, type.shape).c_str());
      int64_t shown = std::min<int64_t>(found[i].count(), 8);
      for (int64_t k = 0; k < shown; ++k)
        std::printf("%s%.6g", k ? " " : " = ",
                    found[i].isReal() ? found[i].real[k] : static_cast<double>(found[i].whole[k]));
      std::printf("%s\n", shown < found[i].count() ? " ..." : "");
    }
  }
  if (!against.empty()) {
    auto symbol = original->lookupSymbol<ir::FuncOp>(function);
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str();
      return success();
    });
    // The interpreter knows ops, not requests for derivatives: those are made first.
    if (iterations > 1)
      return Status::error("--against=interp compares one call; leave --iterations out");
    if (failed(ir::specialize(*original, values)))
      return Status::error(message);
    auto expected = ir::interpretFunction(symbol, literals);
    if (failed(expected))
      return Status::error("the interpreter refuses the program: " + message);
    agrees = compare({expected->begin(), expected->end()}, found);
  }
  return {};
}

int runCommand(int argc, char **argv) {
  auto arguments = Arguments::parse(argc, argv,
                                    {{"function", true},
                                     {"input", true},
                                     {"size", true},
                                     {"output", true},
                                     {"against", true},
                                     {"iterations", true},
                                     {"help", false}});
  if (!arguments)
    return complain("run", arguments.status());
  if (arguments->has("help") || arguments->positional.size() != 1) {
    std::fputs(help, arguments->has("help") ? stdout : stderr);
    return arguments->has("help") ? 0 : 2;
  }
  bool agrees = true;
  if (Status status = run(*arguments, agrees); !status)
    return complain("run", status);
  return agrees ? 0 : 1;
}

} // namespace weft::tool
