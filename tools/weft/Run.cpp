//===- Run.cpp - weft run ---------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runnable.h"

#include "codegen/Compile.h"
#include "frontend/io/Npy.h"
#include "ir/Diagnostics.h"
#include "ir/Dialect.h"
#include "ir/Specialize.h"
#include "ir/interp/Interpreter.h"
#include "runtime/execution/Executable.h"

#include "llvm/ADT/STLExtras.h"

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
  --input VALUE        an argument, in order: x.npy, x.safetensors with one tensor, or SHAPExDTYPE=VALUE as 2x3xf32=1.5;
                       arguments that are not given are random numbers, the same every time
  --size NAME=NUMBER   the value of a symbol of dynamic dimensions; left out, the inputs' shapes give it
  --output FILE        where a result goes, in order: .npy, or .safetensors, which has bf16 too; results without a
                       file are summarised
  --state FILE         values of state by name, .npz or .safetensors, in place of those that the package keeps. What
                       has such a value is no input; the new state is summarised after the results
  --save-state FILE    where all state goes after the last call, .npz or .safetensors
  --against=interp     compare with the reference interpreter (programs only); exit code 1 if they differ
  --iterations N       run N times, each from the state that the one before left, and print the time of one
)";
static const char *lastHelp = R"(
example: weft run scaled.mlir --input x.npy --input 784xf32=0.5 --output y.npy --against=interp
example: weft run step.weft --input images.npy --input labels.npy --iterations=10 --save-state=after.safetensors
)";

/// The largest difference that is accepted as rounding, relative to the largest magnitude. It is a heuristic
/// and not a proven bound: where a program amplifies rounding, `movements` says how much.
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

/// The spacing of a type's numbers, relative to the largest of them that have it.
static double spacing(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return 0x1p-11;
  case DType::bf16:
    return 0x1p-8;
  case DType::f64:
    return 0x1p-53;
  default:
    return 0x1p-24;
  }
}

/// How many times a movement is accepted: a program rounds many times, and arguments once.
constexpr double movementsAccepted = 16;
/// The most that is accepted for it, of the result's largest magnitude: what moves farther cannot be
/// compared, and counts as different.
constexpr double mostMovement = 1.0 / 16;

/// An element of a result, as a real number.
static double elementOf(const ir::Literal &literal, size_t i) {
  return literal.isReal() ? literal.real[i] : static_cast<double>(literal.whole[i]);
}

/// How far two numbers are apart; NaN is as far from NaN as from itself.
static double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  const double difference = std::abs(a - b);
  return std::isnan(difference) ? INFINITY : difference;
}

/// How far the elements of the results move if the arguments do, by the spacing of their type at most: what
/// an ill-conditioned program makes of one rounding. The largest movement of several draws, the same every
/// time. Elements whose number is not finite then do not count. Empty if the interpreter refuses such
/// arguments.
static std::vector<std::vector<double>> movements(ir::FuncOp function, std::vector<ir::Literal> arguments,
                                                  const std::vector<ir::Literal> &expected) {
  constexpr int draws = 4;
  std::vector<std::vector<double>> moved;
  for (const ir::Literal &result : expected)
    moved.emplace_back(result.count(), 0.0);
  std::mt19937_64 engine(1);
  const std::vector<ir::Literal> given = std::move(arguments);
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<ir::Literal> near = given;
    for (ir::Literal &argument : near)
      for (int64_t i = 0, e = static_cast<int64_t>(argument.real.size()); i < e; ++i) {
        const double part = 2 * (static_cast<double>(engine() >> 11) * 0x1p-53) - 1;
        argument.setReal(i, argument.real[i] * (1 + part * spacing(argument.dtype)));
      }
    const auto results = ir::interpretFunction(function, near);
    if (failed(results))
      return {};
    for (size_t r = 0; r < expected.size(); ++r)
      for (size_t i = 0; i < moved[r].size(); ++i)
        if (const double by = distance(elementOf(expected[r], i), elementOf((*results)[r], i));
            std::isfinite(by))
          moved[r][i] = std::max(moved[r][i], by);
  }
  return moved;
}

/// The element of a result that differs most beyond what is accepted, and by how much.
struct Difference {
  double worst = 0, scale = 0;
  int64_t at = -1;
  bool beyond = false; ///< a difference is larger than the bound
};

/// Compares a result. `moved` has what is accepted beside rounding, for each element, or nothing.
static Difference differenceOf(const ir::Literal &expected, const ir::Literal &found,
                               const std::vector<double> &moved) {
  Difference difference;
  const size_t count = expected.count();
  for (size_t i = 0; i < count; ++i)
    if (const double a = elementOf(expected, i); std::isfinite(a))
      difference.scale = std::max(difference.scale, std::abs(a));
  const double rounding = tolerance(expected.dtype) * std::max(difference.scale, 1e-30);
  for (size_t i = 0; i < count; ++i) {
    const double apart = distance(elementOf(expected, i), elementOf(found, i));
    const double movement =
        moved.empty() ? 0 : std::min(movementsAccepted * moved[i], mostMovement * difference.scale);
    const bool beyond = apart > rounding + movement;
    if (beyond == difference.beyond ? apart > difference.worst : beyond) {
      difference.worst = apart;
      difference.at = static_cast<int64_t>(i);
    }
    difference.beyond |= beyond;
  }
  return difference;
}

/// Compares results; prints a line for each and returns whether they agree. `measure` gives the movements of
/// the results, which are asked for if rounding alone does not explain a difference.
static bool compare(const std::vector<ir::Literal> &expected, const std::vector<ir::Literal> &found,
                    llvm::function_ref<std::vector<std::vector<double>>()> measure) {
  bool same = true;
  std::optional<std::vector<std::vector<double>>> moved;
  for (size_t r = 0; r < expected.size(); ++r) {
    Difference difference = differenceOf(expected[r], found[r], {});
    std::string why;
    if (difference.beyond && expected[r].isReal()) {
      if (!moved)
        moved = measure();
      if (!moved->empty())
        difference = differenceOf(expected[r], found[r], (*moved)[r]);
      if (!difference.beyond)
        why = "; more than rounding, where the program amplifies it";
    }
    same &= !difference.beyond;
    std::printf("result %zu: %s the interpreter: largest difference %.3g at element %lld (largest magnitude "
                "%.3g)%s\n",
                r, difference.beyond ? "DIFFERS from" : "agrees with", difference.worst,
                static_cast<long long>(difference.at), difference.scale, why.c_str());
  }
  return same;
}

/// Prints type and first elements.
static void summarise(const std::string &title, const runtime::TensorInfo &type, const ir::Literal &value) {
  std::printf("%s: %s", title.c_str(), typeText(type.dtype, type.shape).c_str());
  const int64_t shown = std::min<int64_t>(value.count(), 8);
  for (int64_t k = 0; k < shown; ++k)
    std::printf("%s%.6g", k ? " " : " = ",
                value.isReal() ? value.real[k] : static_cast<double>(value.whole[k]));
  std::printf("%s\n", shown < value.count() ? " ..." : "");
}

/// Writes all state after the last call. Calls write new state to the argument's buffer.
static Status saveState(const std::string &path, const Runnable &runnable) {
  if (path.empty())
    return {};
  const runtime::Signature &signature = runnable.executable->signature();
  std::vector<io::NamedView> views;
  std::vector<std::vector<std::byte>> values(signature.arguments.size());
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const runtime::ArgumentInfo &argument = signature.arguments[i];
    if (!runnable.isState[i])
      continue;
    auto bytes = bytesOf(*runnable.buffers[i]);
    if (!bytes)
      return bytes.status();
    values[i] = *std::move(bytes);
    views.push_back({argument.name, {argument.type.dtype, argument.type.shape, values[i]}});
  }
  if (views.empty())
    return Status::error("--save-state: '" + runnable.function +
                         "' has no state with values; step.save() writes " +
                         "packages that keep it, and --state gives it");
  if (Status status = writeArrays(path, views); !status)
    return status;
  std::printf("state: %zu values -> %s\n", views.size(), path.c_str());
  return {};
}

/// The numbers of the results that are not new state. These are printed, and written by --output.
static std::vector<size_t> plainResults(const Runnable &runnable) {
  const auto &results = runnable.executable->signature().results;
  std::vector<size_t> plain;
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].tied_to < 0 || !runnable.isState[static_cast<size_t>(results[i].tied_to)])
      plain.push_back(i);
  return plain;
}

/// Checks that there is a result for every file of --output, and that the file can hold it. This is done
/// before the first call, which may take long.
static Status checkOutputs(const std::vector<std::string> &outputs, const Runnable &runnable) {
  const std::vector<size_t> plain = plainResults(runnable);
  if (plain.size() < outputs.size())
    return Status::error("there are " + std::to_string(plain.size()) + " results, and " +
                         std::to_string(outputs.size()) + " files are given with --output");
  for (auto [path, i] : llvm::zip_first(outputs, plain)) {
    const runtime::TensorInfo &type = runnable.executable->signature().results[i].type;
    if (endsIn(path, ".safetensors"))
      continue;
    if (auto header = io::npy_header(type.dtype, type.shape); !header)
      return header.status().with([&](FailureInfo &info) {
        info.context.insert(0, path + ": ");
        info.what += " (--output FILE.safetensors)";
      });
  }
  return {};
}

/// Writes a result in the format of the file's suffix: .safetensors, otherwise .npy.
static Status writeOutput(const std::string &path, const std::string &name, io::ArrayView value) {
  if (!endsIn(path, ".safetensors"))
    return io::write_npy(path, value);
  const io::NamedView named{name, value};
  return writeArrays(path, {&named, 1});
}

/// The results of the reference interpreter for the same sizes and arguments.
static Expected<std::vector<ir::Literal>> interpret(Runnable &runnable) {
  ModuleOp module = *runnable.program.module;
  ir::DiagnosticCollector said(&runnable.program.context);
  if (failed(ir::specialize(module, runnable.sizes)))
    return said.status("the program cannot be made one of these sizes");
  // The interpreter cannot run gradients and generators. Run the passes that replace them, which the compiled
  // program went through too.
  bool derived = false;
  module.walk(
      [&](Operation *op) { derived |= isa<ir::GradientOp, ir::RngStateLoadOp, ir::RngStateStoreOp>(op); });
  if (derived) {
    ir::CompilerOptions options;
    options.to = "differentiation";
    if (Status status = codegen::runPipeline(module, options); !status)
      return status;
  }
  auto results = ir::interpretFunction(module.lookupSymbol<ir::FuncOp>(runnable.function), runnable.literals);
  if (failed(results))
    return said.status("without a message").context("the interpreter refuses the program: ");
  return std::vector<ir::Literal>(results->begin(), results->end());
}

/// Calls the program as often as `iterations` says, and returns the time of the fastest call in microseconds.
static Expected<double> timeCalls(Runnable &runnable, std::vector<std::shared_ptr<runtime::Buffer>> &results,
                                  long iterations) {
  double best = INFINITY;
  for (long i = 0; i < iterations; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (Status status = runnable.executable->run(runnable.buffers, results); !status)
      return status;
    for (const auto &result : results)
      if (Status status = result->wait(); !status)
        return status;
    // The program's prints and assertions run, even if nothing is returned.
    if (Status status = runtime::Queue::get_default().synchronize(); !status)
      return status;
    best = std::min(
        best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

static Status run(const Arguments &arguments, bool &agrees) {
  std::string path = arguments.positional[0];
  std::string against = arguments.get("against");
  if (!against.empty() && against != "interp")
    return Status::error("--against must be 'interp', found '" + against + "'");
  if (!against.empty() && isPackage(path))
    return Status::error("--against=interp needs the program, and a package holds machine code only");

  const Expected<long> read = readIterations(arguments, 1);
  if (!read)
    return read.status();
  const long iterations = *read;
  if (!against.empty() && iterations > 1)
    return Status::error("--against=interp compares one call; leave --iterations out");
  auto made = makeRunnable({path, arguments.get("function"), arguments.all("input"), arguments.all("size"),
                            arguments.get("target"), arguments.get("device"), arguments.get("state")});
  if (!made)
    return made.status();
  Runnable &runnable = **made;
  const runtime::Signature &signature = runnable.executable->signature();
  const std::vector<std::string> outputs = arguments.all("output");
  if (Status status = checkOutputs(outputs, runnable); !status)
    return status;

  std::vector<std::shared_ptr<runtime::Buffer>> results(signature.results.size());
  const Expected<double> best = timeCalls(runnable, results, iterations);
  if (!best)
    return best.status();
  if (arguments.has("iterations"))
    std::printf("one call: %.1f us (fastest of %ld)\n", *best, iterations);

  std::vector<ir::Literal> found;
  std::vector<std::vector<std::byte>> values;
  for (size_t i = 0; i < results.size(); ++i) {
    const runtime::TensorInfo &type = signature.results[i].type;
    auto bytes = bytesOf(*results[i]);
    if (!bytes)
      return bytes.status();
    found.push_back(ir::Literal::fromBytes(type.dtype, type.shape, bytes->data()));
    values.push_back(*std::move(bytes));
  }
  const std::vector<size_t> plain = plainResults(runnable);
  for (auto [number, i] : llvm::enumerate(plain)) {
    const runtime::TensorInfo &type = signature.results[i].type;
    const std::string title = "result " + std::to_string(number);
    if (number < outputs.size()) {
      const std::string &name = signature.results[i].name;
      if (Status status =
              writeOutput(outputs[number], name.empty() ? "result" + std::to_string(number) : name,
                          {type.dtype, type.shape, values[i]});
          !status)
        return status;
      std::printf("%s: %s -> %s\n", title.c_str(), typeText(type.dtype, type.shape).c_str(),
                  outputs[number].c_str());
    } else if (against.empty()) {
      summarise(title, type, found[i]);
    }
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (!llvm::is_contained(plain, i))
      summarise("state '" + signature.results[i].name + "'", signature.results[i].type, found[i]);
  if (Status status = saveState(arguments.get("save-state"), runnable); !status)
    return status;
  if (against.empty())
    return {};
  Expected<std::vector<ir::Literal>> expected = interpret(runnable);
  if (!expected)
    return expected.status();
  ir::FuncOp function = runnable.program.module->lookupSymbol<ir::FuncOp>(runnable.function);
  agrees = compare(*expected, found, [&] { return movements(function, runnable.literals, *expected); });
  return {};
}

int runCommand(int argc, char **argv) {
  Arguments arguments;
  if (auto code = beginCommand("run", (std::string(help) + placeHelp + lastHelp).c_str(), argc, argv,
                               {{"function", true},
                                {"input", true},
                                {"size", true},
                                {"output", true},
                                {"state", true},
                                {"save-state", true},
                                {"against", true},
                                {"iterations", true},
                                {"target", true},
                                {"device", true}},
                               arguments))
    return *code;
  bool agrees = true;
  if (Status status = run(arguments, agrees); !status)
    return complain("run", status);
  return agrees ? 0 : 1;
}

} // namespace weft::tool
