//===- Main.cpp - weft-mutate ---------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sends programs with random faults through the parser, the verifier, the printer, the passes, code
// generation, the package and the runtime. Each must be refused with a message or run. Programs run in child
// processes, so that crashes, hangs and exits are found.
//
//===----------------------------------------------------------------------===//
#include "Mutator.h"
#include "ScheduleEdits.h"

#include "codegen/Compile.h"
#include "ir/Dialect.h"
#include "ir/Parse.h"
#include "passes/Pipeline.h"
#include "runtime/execution/Executable.h"
#include "runtime/execution/StatefulExecutable.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/package/Package.h"
#include "test/unit/codegen/SeparateDevice.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace weft;

namespace {

constexpr const char *usage = R"(usage: weft-mutate --corpus=DIR [options]

Changes the programs below DIR at random and sends them through the parser, every pass, code generation and the
runtime. What ends the process, takes too long, throws, or is refused without a message or with one that calls it an
error of Weft has failed.

  --schedules           change schedules of launch lists, and compare what the programs compute with what they computed
                        before
  --count=N             programs to try (1000)
  --seed=N              seed of the first; the next ones count up (1)
  --seconds=N           time of the processor that one program may take (20)
  --save-failures=DIR   where programs that failed go (mutate-failures)
  --print=N             print the program of seed N and stop
  --reproduce=FILE      send a file through, in this process
  --pretend=WHAT        every second program fails in this way, to see that it is counted: exits or throws, before there
                        is a program, or internal, where a message calls it an error of Weft
)";

struct Arguments {
  std::string corpus, failures = "mutate-failures", reproduce, pretend;
  uint64_t count = 1000, seed = 1, seconds = 20;
  std::optional<uint64_t> print;
  bool schedules = false;
};

/// The stage that a program has reached. The parent reads it after the child has ended.
enum Stage : uint64_t { making, parsing, printing, lowering, compiling, loading, running, stages };
constexpr const char *stageNames[] = {"making",    "parsing", "printing", "lowering",
                                      "compiling", "loading", "running"};

struct Shared {
  uint64_t seed = 0, stage = making;
  uint64_t refused[stages] = {}, ran = 0, wrong = 0;
  char message[4000] = {};
};

/// The fault of Weft if it refuses a program with this message; empty if the refusal is correct.
std::string faultOf(const std::string &message) {
  if (message.empty())
    return "refused without a message";
  const llvm::StringRef text = message;
  return text.contains("error of Weft") || text.contains("please report") ? "an internal error: " + message
                                                                          : "";
}

class Program {
public:
  Program(Shared &shared) : shared(shared), context(registry(), MLIRContext::Threading::DISABLED) {}

  /// The fault of Weft that this program shows; empty if there is none. A refusal with a message is no fault.
  std::string check(const std::string &text, uint64_t seed);

private:
  static DialectRegistry registry() {
    DialectRegistry registry;
    ir::registerDialect(registry);
    return registry;
  }
  std::string refuse(const Status &status) {
    ++shared.refused[shared.stage];
    return faultOf(status.message());
  }
  std::string run(std::shared_ptr<const runtime::Package> package, const std::string &function);

  Shared &shared;
  MLIRContext context;
};

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Whether a value of the function has so many elements that a kernel that iterates over them would not end
/// in time. A broadcast value can be that large without memory of this size.
static bool isVast(ir::FuncOp function) {
  constexpr double most = 1 << 30;
  const auto exceeds = [](Type type) {
    const auto tensor = dyn_cast<RankedTensorType>(type);
    double count = tensor ? 1 : 0;
    if (tensor)
      for (ir::Size size : ir::sizesOf(tensor))
        count *= size.isNumber() ? static_cast<double>(size.asNumber()) : 3.0; // what symbols get here
    return count > most;
  };
  bool found = llvm::any_of(function.getArgumentTypes(), exceeds);
  function.walk([&](Operation *op) { found |= llvm::any_of(op->getResultTypes(), exceeds); });
  return found;
}

std::string Program::check(const std::string &text, uint64_t seed) {
  // Without a handler, the context would print diagnostics to the terminal.
  context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
  shared.stage = parsing;
  auto module = ir::parseModule(context, text, "mutated.mlir");
  if (!module)
    return refuse(module.status());
  shared.stage = printing;
  const std::string once = printed(**module);
  // In a second context, because in the first one the resources of the printed module would get new names.
  MLIRContext other(registry(), MLIRContext::Threading::DISABLED);
  auto again = ir::parseModule(other, once, "printed.mlir");
  if (!again)
    return "what was printed is refused: " + again.status().message();
  if (printed(**again) != once)
    return "what was printed prints in another way";

  // The compiler can start at any phase, and must refuse text that is not valid input of that phase.
  shared.stage = lowering;
  ir::CompilerOptions options;
  options.threads = 1;
  if (seed % 4 == 1)
    options.from = passes::phases()[seed / 4 % passes::phases().size()].name.str();
  if (seed % 16 == 2)
    options.target = "sm_90";
  {
    OwningOpRef<ModuleOp> lowered((*module)->clone());
    if (Status status = codegen::runPipeline(*lowered, options); !status)
      return refuse(status);
    (void)codegen::reportPlan(*lowered).str();
  }
  // Called functions are inlined, so a caller may contain the vast values of another function.
  const bool callsAny = (*module)->walk([](ir::CallOp) { return WalkResult::interrupt(); }).wasInterrupted();
  llvm::StringSet<> vast;
  bool isAnyVast = false;
  (*module)->walk([&](ir::FuncOp function) {
    if (isVast(function))
      vast.insert(function.getSymName()), isAnyVast = true;
  });
  shared.stage = compiling;
  auto compiled = codegen::compileModule(**module, options);
  if (!compiled)
    return refuse(compiled.status());
  shared.stage = loading;
  auto package = runtime::Package::from_memory(std::move(compiled->package));
  if (!package)
    return "a package that was just made is refused: " + package.status().message();
  for (const std::string &function : runtime::package_functions(**package))
    if (!vast.contains(function) && !(callsAny && isAnyVast))
      if (std::string problem = run(*package, function); !problem.empty())
        return problem;
  ++shared.ran;
  return {};
}

std::string Program::run(std::shared_ptr<const runtime::Package> package, const std::string &function) {
  shared.stage = loading;
  // What runs kernels of GPUs here loads them and does not run them, so that their plans are proven.
  static testing::SeparateDevice gpus[] = {testing::SeparateDevice("gpu:0", "cuda:sm_90"),
                                           testing::SeparateDevice("gpu:1", "cuda:sm_90")};
  auto executable =
      runtime::Executable::load(package, function, nullptr, {{"cuda:0", &gpus[0]}, {"cuda:1", &gpus[1]}});
  // Loading correctly refuses a program that needs more memory than there is or can be, and a program that
  // names a library which is not available, or a device which nobody has named here.
  const auto says = [&](const char *words) {
    return executable.status().message().find(words) != std::string::npos;
  };
  if (!executable &&
      (executable.status().code() == "WEFT-M001" || executable.status().code() == "WEFT-L015" ||
       executable.status().code() == "WEFT-L017" || says("bytes is too large") ||
       says("more bytes than a process can address")))
    return refuse(executable.status());
  if (!executable)
    return "'" + function + "' was compiled and cannot be loaded: " + executable.status().message();
  std::vector<int64_t> sizes;
  for (const runtime::SymbolInfo &symbol : (*executable)->signature().symbols)
    sizes.push_back(std::min<int64_t>(symbol.max, std::max<int64_t>(symbol.min, 3)));
  executable = (*executable)->at(sizes);
  if (!executable)
    return refuse(executable.status());
  if ((*executable)->signature().target == gpus[0].code())
    return {};
  shared.stage = running;
  const runtime::Signature &signature = (*executable)->signature();
  std::vector<std::shared_ptr<runtime::Buffer>> arguments, results(signature.results.size());
  std::mt19937_64 random(7);
  for (const runtime::ArgumentInfo &argument : signature.arguments) {
    auto buffer = runtime::Buffer::allocate(argument.type.bytes);
    if (!buffer)
      return refuse(buffer.status());
    // Bytes that are 0 or 1 are small numbers of every type: a bool, an index, a tiny float.
    auto *bytes = static_cast<unsigned char *>((*buffer)->data());
    for (size_t i = 0; i < argument.type.bytes; ++i)
      bytes[i] =
          argument.type.dtype == DType::i1 || i % itemsize(argument.type.dtype) == 0 ? random() % 2 : 0;
    arguments.push_back(*buffer);
  }
  if (Status status = (*executable)->run(arguments, results); !status)
    return refuse(status);
  for (const auto &result : results)
    if (Status status = result->wait(); !status)
      return refuse(status);
  // `synchronize` may report the failure of the call a second time, so its status is dropped.
  (void)runtime::Queue::get_default().synchronize();
  return {};
}

/// The file with the launch list that the child process is testing.
std::string current(const Arguments &arguments) { return arguments.failures + "/current.mlir"; }

/// Runs the programs from seed `from` on, in a child process that may die. `shared` tells the parent which
/// program it was.
[[noreturn]] void work(const mutate::Mutator &mutator, const Arguments &arguments, Shared &shared,
                       uint64_t from, const std::string &log) {
  // The output of the programs, and messages of a crash, go to the log, which the report of a failure shows.
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0)
    ::_exit(127);
  ::dup2(file, 1);
  ::dup2(file, 2);
  const rlimit noCore = {0, 0}, memory = {uint64_t(8) << 30, uint64_t(8) << 30};
  ::setrlimit(RLIMIT_CORE, &noCore);
  ::setrlimit(RLIMIT_AS, &memory);
  runtime::CachingAllocator::get().set_limit(uint64_t(256) << 20);
  for (uint64_t seed = from; seed < arguments.seed + arguments.count; ++seed) {
    shared.seed = seed;
    shared.stage = making;
    const bool fails = (seed - arguments.seed) % 2 == 0;
    if (fails && arguments.pretend == "exits")
      ::_exit(3);
    if (::ftruncate(file, 0) == 0)
      ::lseek(file, 0, SEEK_SET);
    itimerval limit = {};
    limit.it_value.tv_sec = static_cast<time_t>(arguments.seconds);
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    std::string problem;
    try {
      if (fails && arguments.pretend == "throws")
        throw std::runtime_error("as was asked");
      if (arguments.schedules) {
        shared.stage = running;
        const mutate::EditOutcome outcome = mutate::checkScheduleEdit(
            mutator, seed, [&](const std::string &text) { std::ofstream(current(arguments)) << text; });
        shared.refused[running] += outcome.refused;
        shared.ran += !outcome.refused;
        problem = outcome.problem;
      } else {
        const std::string text = mutator.make(seed);
        problem = fails && arguments.pretend == "internal" ? faultOf("this is an error of Weft")
                                                           : Program(shared).check(text, seed);
      }
    } catch (const std::exception &error) {
      problem = std::string("threw: ") + error.what();
    }
    if (!problem.empty()) {
      std::snprintf(shared.message, sizeof shared.message, "%s", problem.c_str());
      shared.wrong = 1;
      ::_exit(0);
    }
  }
  shared.seed = arguments.seed + arguments.count;
  ::_exit(0);
}

std::string tail(const std::string &path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  return text.size() > 1500 ? text.substr(text.size() - 1500) : text;
}

int runAll(const mutate::Mutator &mutator, const Arguments &arguments) {
  auto *shared = static_cast<Shared *>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED)
    return 2;
  new (shared) Shared;
  std::filesystem::create_directories(arguments.failures);
  const std::string log = arguments.failures + "/log-" + std::to_string(::getpid());
  const uint64_t end = arguments.seed + arguments.count;
  uint64_t failed = 0;
  for (uint64_t from = arguments.seed; from < end;) {
    // If a child dies before it writes `seed`, the next child must still begin after this program.
    shared->seed = from;
    shared->stage = making;
    const pid_t child = ::fork();
    if (child == 0)
      work(mutator, arguments, *shared, from, log);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child)
      return 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && shared->seed == end && !shared->wrong)
      break;
    ++failed;
    std::string why = shared->message;
    if (!shared->wrong)
      why = WIFSIGNALED(status)
                ? (WTERMSIG(status) == SIGPROF ? "took too long"
                                               : std::string("died of ") + ::strsignal(WTERMSIG(status)))
                : "ended with exit code " + std::to_string(WEXITSTATUS(status));
    if (arguments.schedules) {
      const std::string path = arguments.failures + "/schedule-" + std::to_string(shared->seed) + ".mlir";
      std::error_code ignored;
      std::filesystem::rename(current(arguments), path, ignored);
      std::cout << "seed " << shared->seed << ": " << why << "\n"
                << tail(log) << "\nthe launch list: " << path
                << "\nagain: weft-mutate --schedules --corpus=" << arguments.corpus
                << " --count=1 --seed=" << shared->seed << "\n\n"
                << std::flush;
      from = shared->seed + 1;
      shared->wrong = 0;
      continue;
    }
    const std::string path = arguments.failures + "/seed-" + std::to_string(shared->seed) + ".mlir";
    std::ofstream(path) << "// " << stageNames[shared->stage] << ": seed " << shared->seed
                        << "\n"
                        // If making the program ended the child, it would end the parent too.
                        << (shared->stage == making ? "" : mutator.make(shared->seed));
    std::cout << "seed " << shared->seed << ", " << stageNames[shared->stage] << ": " << why << "\n"
              << tail(log) << "\nagain: weft-mutate --reproduce=" << path << "\n\n"
              << std::flush;
    from = shared->seed + 1;
    shared->wrong = 0;
  }
  std::filesystem::remove(log);
  std::filesystem::remove(current(arguments));
  std::cout << "refused while";
  for (uint64_t stage = parsing; stage < stages; ++stage)
    std::cout << (stage > parsing ? ", " : " ") << stageNames[stage] << ": " << shared->refused[stage];
  std::cout << "; ran: " << shared->ran << "\n"
            << arguments.count - failed << " passed, " << failed << " failed\n";
  return failed ? 1 : 0;
}

bool parseArguments(int argc, char **argv, Arguments &arguments) {
  for (int i = 1; i < argc; ++i) {
    auto [name, value] = llvm::StringRef(argv[i]).split('=');
    uint64_t number = 0;
    const bool isNumber = !value.getAsInteger(10, number);
    if (name == "--corpus")
      arguments.corpus = value.str();
    else if (name == "--save-failures")
      arguments.failures = value.str();
    else if (name == "--reproduce")
      arguments.reproduce = value.str();
    else if (name == "--pretend" && (value == "exits" || value == "throws" || value == "internal"))
      arguments.pretend = value.str();
    else if (name == "--count" && isNumber)
      arguments.count = number;
    else if (name == "--schedules" && value.empty())
      arguments.schedules = true;
    else if (name == "--seed" && isNumber)
      arguments.seed = number;
    else if (name == "--seconds" && isNumber)
      arguments.seconds = number;
    else if (name == "--print" && isNumber)
      arguments.print = number;
    else
      return false;
  }
  return !arguments.corpus.empty() || !arguments.reproduce.empty();
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  if (!parseArguments(argc, argv, arguments)) {
    std::cerr << usage;
    return 2;
  }
  // Kernels of changed programs are not needed again, and cached kernels would hide faults of code
  // generation.
  ::setenv("WEFT_CACHE", "0", 1);
  try {
    if (!arguments.reproduce.empty()) {
      std::ifstream file(arguments.reproduce);
      std::string text((std::istreambuf_iterator<char>(file)), {});
      uint64_t seed = 0;
      if (llvm::StringRef rest = llvm::StringRef(text).split("seed ").second; rest.consumeInteger(10, seed))
        seed = 0;
      Shared shared;
      const std::string problem = Program(shared).check(text, seed);
      std::cout << (problem.empty() ? "nothing is wrong" : problem) << "\n";
      return problem.empty() ? 0 : 1;
    }
    const mutate::Mutator mutator(arguments.corpus);
    if (arguments.print) {
      std::cout << mutator.make(*arguments.print);
      return 0;
    }
    return runAll(mutator, arguments);
  } catch (const std::exception &error) {
    std::cerr << "weft-mutate: " << error.what() << "\n";
    return 2;
  }
}
