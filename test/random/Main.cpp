//===- Main.cpp - weft-random-tests ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "Check.h"
#include "Generator.h"
#include "GpuBackend.h"
#include "Record.h"
#include "Shrink.h"

#include "ir/Parse.h"
#include "runtime/device/Registry.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <map>
#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::randomtest;

namespace {

constexpr const char *kUsage = R"(usage: weft-random-tests [options]

Compares random programs: the interpreter with what it gives after every pass, and with the backend.

  --count=N             programs to try (2000)
  --seed=N              seed of the first program; the next ones count up (1)
  --passes              interpret every program again after every pass, not only every tenth
  --dynamic             compile every program with a dynamic dimension too, not only every tenth
  --record=DIR          write each program to DIR, with its arguments and results, for scripts/gpu-check
  --new-ops             only programs with an op that none before had
  --no-backend          leave out the backend
  --device=DEVICE       where programs run: cpu, cuda:0, ... (cpu, or WEFT_TEST_DEVICE)
  --save-failures=DIR   write shrunk failures to DIR (random-failures)
  --no-shrink           report failures as they are
  --max-failures=N      stop after N failures (10)
  --verbose             print every program
  --print=N             print the program of seed N and stop
  --reproduce=FILE      check a saved failure again
)";

struct Arguments {
  uint64_t count = 2000, seed = 1, maxFailures = 10;
  bool passes = false, dynamic = false, backend = true, shrink = true, verbose = false, newOps = false;
  std::optional<uint64_t> print;
  std::string failures = "random-failures", reproduce, device = "cpu", record;
};

/// Reads the command line. On an error, prints a message and returns false.
bool parseArguments(int argc, char **argv, Arguments &arguments) {
  if (const char *device = std::getenv("WEFT_TEST_DEVICE"))
    arguments.device = device;
  for (int i = 1; i < argc; ++i) {
    StringRef text = argv[i];
    auto [name, value] = text.split('=');
    uint64_t number = 0;
    bool isNumber = !value.getAsInteger(10, number);
    if (name == "--count" && isNumber)
      arguments.count = number;
    else if (name == "--seed" && isNumber)
      arguments.seed = number;
    else if (name == "--max-failures" && isNumber)
      arguments.maxFailures = number;
    else if (name == "--print" && isNumber)
      arguments.print = number;
    else if (name == "--save-failures" && !value.empty())
      arguments.failures = value.str();
    else if (name == "--save-failures" && i + 1 < argc)
      arguments.failures = argv[++i];
    else if (name == "--reproduce" && !value.empty())
      arguments.reproduce = value.str();
    else if (name == "--reproduce" && i + 1 < argc)
      arguments.reproduce = argv[++i];
    else if (name == "--device" && !value.empty())
      arguments.device = value.str();
    else if (name == "--record" && !value.empty())
      arguments.record = value.str();
    else if (text == "--new-ops")
      arguments.newOps = true;
    else if (text == "--passes")
      arguments.passes = true;
    else if (text == "--dynamic")
      arguments.dynamic = true;
    else if (text == "--no-backend")
      arguments.backend = false;
    else if (text == "--no-shrink")
      arguments.shrink = false;
    else if (text == "--verbose")
      arguments.verbose = true;
    else {
      llvm::errs() << "weft-random-tests: cannot read '" << text << "'\n\n" << kUsage;
      return false;
    }
  }
  return true;
}

class Run {
public:
  Run(MLIRContext &context, const Arguments &arguments, runtime::Device &device)
      : context(context), arguments(arguments) {
    options.passes = arguments.passes;
    options.roundsBySize = !device.is_host();
    if (arguments.backend)
      options.backend = device.is_host() ? Backend(runCompiled) : backendOf(device);
  }

  int reproduce();
  int run(const OpCatalog &catalog);

private:
  void check(const OpCatalog &catalog, uint64_t seed);
  void report(ModuleOp module, uint64_t seed, const Failure &failure);
  void progress(uint64_t done);
  bool printCoverage(const OpCatalog &catalog);

  MLIRContext &context;
  const Arguments &arguments;
  CheckOptions options;
  Statistics statistics;
  uint64_t passed = 0, failed = 0;
  std::map<std::string, uint64_t> programsWith;
  std::chrono::steady_clock::time_point lastProgress{};
};

int Run::reproduce() {
  auto buffer = llvm::MemoryBuffer::getFile(arguments.reproduce);
  if (!buffer) {
    llvm::errs() << "weft-random-tests: cannot read '" << arguments.reproduce
                 << "': " << buffer.getError().message() << "\n";
    return 2;
  }
  StringRef text = (*buffer)->getBuffer();
  uint64_t seed = 0;
  StringRef rest = text.split("inputs-seed: ").second;
  if (rest.consumeInteger(10, seed)) {
    llvm::errs() << "weft-random-tests: '" << arguments.reproduce
                 << "' has no line '// inputs-seed: N', which says what arguments it failed on\n";
    return 2;
  }
  auto module = ir::parseModule(context, text, arguments.reproduce);
  if (!module) {
    llvm::errs() << module.status().message() << "\n";
    return 2;
  }
  if (!(*module)->lookupSymbol<ir::FuncOp>(kEntry)) {
    llvm::errs() << "weft-random-tests: '" << arguments.reproduce << "' has no function @" << kEntry << "\n";
    return 2;
  }
  options.passes = options.dynamic = true;
  auto failure = checkProgram(**module, seed, options, &statistics);
  if (failure)
    llvm::outs() << failure->stage << ": " << failure->message << "\n";
  llvm::outs() << (failure ? "0 passed, 1 failed\n" : "1 passed, 0 failed\n");
  return failure ? 1 : 0;
}

/// The stage and the message of a failure without names and numbers, which failures of one bug have in
/// common.
std::string kindOf(const Failure &failure) {
  std::string kind = failure.stage + ": ";
  bool quoted = false;
  for (char c : StringRef(failure.message).take_front(120)) {
    quoted ^= c == '\'';
    if (!quoted && !llvm::isDigit(c))
      kind += c;
  }
  return kind.substr(0, 60);
}

void Run::report(ModuleOp module, uint64_t seed, const Failure &failure) {
  llvm::outs() << "\nseed " << seed << ", " << failure.stage << ": " << failure.message << "\n";
  OwningOpRef<ModuleOp> shrunk(module.clone());
  Failure last = failure;
  if (arguments.shrink)
    shrunk = shrinkProgram(module, [&](ModuleOp candidate) {
      auto again = checkProgram(candidate, seed, options);
      // A different failure would be another bug.
      bool same = again && kindOf(*again) == kindOf(failure);
      if (same)
        last = *again;
      return same;
    });
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// " << last.stage << ": " << last.message << "\n// from seed " << seed << "; inputs-seed: " << seed
     << "\n";
  OpPrintingFlags flags;
  shrunk->print(os, flags);
  os << "\n";
  std::string path = arguments.failures + "/seed-" + std::to_string(seed) + ".mlir";
  llvm::outs() << text;
  if (auto error = llvm::sys::fs::create_directories(arguments.failures))
    llvm::outs() << "cannot make the folder '" << arguments.failures << "': " << error.message() << "\n";
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error) {
    llvm::outs() << "cannot write '" << path << "': " << error.message() << "\n";
    return;
  }
  file << text;
  llvm::outs() << "again: weft-random-tests" << (arguments.backend ? "" : " --no-backend")
               << " --device=" << arguments.device << " --reproduce=" << path << "\n";
}

void Run::check(const OpCatalog &catalog, uint64_t seed) {
  std::string place = "random program of seed " + std::to_string(seed);
  llvm::PrettyStackTraceString trace(place.c_str());
  OwningOpRef<ModuleOp> module = generateProgram(context, catalog, seed);
  std::set<std::string> names;
  module->walk([&](Operation *op) { names.insert(op->getName().getStringRef().str()); });
  if (arguments.newOps &&
      llvm::all_of(names, [&](const std::string &name) { return programsWith[name] > 0; }))
    return;
  for (const std::string &name : names)
    ++programsWith[name];
  if (arguments.verbose)
    llvm::outs() << "// seed " << seed << "\n" << *module << "\n";
  options.passes = arguments.passes || seed % 10 == 0;
  options.dynamic = arguments.dynamic || seed % 10 == 5;
  std::optional<Status> recorded;
  if (!arguments.record.empty())
    options.record = [&](ModuleOp program, ArrayRef<ir::Literal> inputs, ArrayRef<Bounded> results) {
      recorded =
          recordProgram(arguments.record + "/random-" + std::to_string(seed), program, inputs, seed, results);
    };
  auto failure = checkProgram(*module, seed, options, &statistics);
  options.record = nullptr;
  if (!failure && recorded && !*recorded)
    failure = Failure{"recording", recorded->message()};
  if (!failure) {
    ++passed;
    return;
  }
  ++failed;
  report(*module, seed, *failure);
}

void Run::progress(uint64_t done) {
  auto now = std::chrono::steady_clock::now();
  bool terminal = llvm::sys::Process::StandardErrIsDisplayed();
  if (now - lastProgress < (terminal ? std::chrono::milliseconds(200) : std::chrono::seconds(10)))
    return;
  lastProgress = now;
  llvm::errs() << (terminal ? "\r" : "") << done << " of " << arguments.count << " programs, " << failed
               << " failed" << (terminal ? "" : "\n");
}

bool Run::printCoverage(const OpCatalog &catalog) {
  llvm::outs() << "\nprograms with each op:\n";
  unsigned column = 0;
  bool complete = true;
  for (const std::string &name : catalog.names()) {
    uint64_t count = programsWith[name];
    complete &= count > 0;
    llvm::outs() << "  " << name;
    llvm::outs().indent(name.size() < 24 ? static_cast<unsigned>(24 - name.size()) : 1)
        << llvm::format("%6llu", static_cast<unsigned long long>(count)) << (++column % 3 == 0 ? "\n" : "");
  }
  if (column % 3)
    llvm::outs() << "\n";
  double unknown = statistics.elements ? 100.0 * static_cast<double>(statistics.unknown) /
                                             static_cast<double>(statistics.elements)
                                       : 0;
  llvm::outs() << statistics.elements << " result elements, " << llvm::format("%.1f", unknown)
               << " % of them without a claim; " << statistics.stages << " checks after passes; "
               << statistics.lifted << " programs with a dynamic dimension too, " << statistics.moved
               << " on another device\n";
  if (complete || arguments.count < 500)
    return true;
  llvm::outs() << "an op of the dialect never appeared: see the zeros above\n";
  return false;
}

int Run::run(const OpCatalog &catalog) {
  for (uint64_t i = 0; i < arguments.count && failed < arguments.maxFailures; ++i) {
    progress(i);
    check(catalog, arguments.seed + i);
  }
  bool covered = failed >= arguments.maxFailures || printCoverage(catalog);
  llvm::outs() << passed << " passed, " << failed + (covered ? 0 : 1) << " failed\n";
  return failed || !covered ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::EnablePrettyStackTrace();
  Arguments arguments;
  if (!parseArguments(argc, argv, arguments))
    return 2;
  DialectRegistry registry;
  ir::registerDialect(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto catalog = OpCatalog::discover(context);
  if (!catalog) {
    llvm::errs() << "weft-random-tests: " << catalog.status().message() << "\n";
    return 2;
  }
  if (auto missing = findMissingSampler(*catalog)) {
    llvm::errs() << "weft-random-tests: no program can have " << *missing
                 << ": add a sampler to test/random/Generator.cpp\n";
    return 2;
  }
  if (arguments.print) {
    llvm::outs() << *generateProgram(context, *catalog, *arguments.print) << "\n";
    return 0;
  }
  auto device = runtime::open_device(arguments.device);
  if (!device) {
    llvm::errs() << "weft-random-tests: --device=" << arguments.device << ": " << device.status().message()
                 << "\n";
    return 2;
  }
  Run run(context, arguments, **device);
  return arguments.reproduce.empty() ? run.run(*catalog) : run.reproduce();
}
