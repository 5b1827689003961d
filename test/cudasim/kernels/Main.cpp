//===- Main.cpp - weft-cuda-kernels ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckKernels.h"
#include "CompileForCuda.h"
#include "CompileTogether.h"
#include "EngineDevice.h"
#include "StaticSpeed.h"

#include "codegen/cuda/Nvrtc.h"
#include "ir/Parse.h"
#include "test/random/Generator.h"
#include "test/random/Lift.h"
#include "test/random/WhileLoops.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;
using namespace weft;
using namespace weft::cudasim;

namespace {

constexpr const char *kUsage = R"(usage: weft-cuda-kernels [options] [FILE.mlir...]

Compiles programs for a GPU, runs their kernels on the engine of docs/cudasim.md, and compares the results with the
interpreter and with the CPU.

  FILE.mlir         programs, each of one function; random programs if there is none
  --count=N         random programs to try (50)
  --seed=N          seed of the first program; the next ones count up (1)
  --target=NAME     what they are compiled for (cuda:sm_90)
  --most-elements=N leave out files with a larger tensor (1048576)
  --more-elements-than=N
                    leave out files without a larger tensor (0: none)
  --most-products=N leave products, attention, convolutions and sorts of more multiply-adds, or comparisons, to the host (268435456)
  --race=N          look for races in one of N calls; 0 for none (1)
  --threads=N       threads that compile kernels (2)
  --spoil=FORM,N    negative control: change launch N of each call, a bit of what it wrote (bit), or the end of its
                    largest buffer (bound); every program with so many launches has to fail then
  --max-failures=N  stop after N failures (10)
  --together        compile kernels of many programs in one text, which takes a third of the time; programs whose kernels
                    do not keep to their first schedules are then compiled by themselves
  --compile-only    compile the files, whatever their size; a kernel that spills registers, or has more than its schedule
                    allows, is a failure
  --compile-others  the same for files with a tensor that is too large to run them
  --static-speed    print what the kernels of the files move, and what ptxas says of them, instead
  --verbose         print a line for each program
)";

struct Arguments {
  uint64_t count = 50, seed = 1, maxFailures = 10, mostElements = uint64_t(1) << 20, moreElementsThan = 0;
  bool verbose = false, staticSpeed = false, compileOnly = false, compileOthers = false, together = false;
  CheckOptions check;
  std::vector<std::string> files;
};

/// Reads "bit,3".
bool parseSpoil(StringRef text, CheckOptions &check) {
  auto [form, number] = text.split(',');
  check.spoil = form == "bit" ? Spoil::bit : form == "bound" ? Spoil::bound : Spoil::nothing;
  return check.spoil != Spoil::nothing && !number.getAsInteger(10, check.spoilt);
}

/// Reads the command line. On an error, prints a message and returns false.
bool parseArguments(int argc, char **argv, Arguments &arguments) {
  for (int i = 1; i < argc; ++i) {
    StringRef text = argv[i];
    auto [name, value] = text.split('=');
    uint64_t number = 0;
    const bool isNumber = !value.getAsInteger(10, number);
    if (!text.starts_with("--"))
      arguments.files.push_back(text.str());
    else if (name == "--count" && isNumber)
      arguments.count = number;
    else if (name == "--seed" && isNumber)
      arguments.seed = number;
    else if (name == "--max-failures" && isNumber)
      arguments.maxFailures = number;
    else if (name == "--most-elements" && isNumber)
      arguments.mostElements = number;
    else if (name == "--more-elements-than" && isNumber)
      arguments.moreElementsThan = number;
    else if (name == "--most-products" && isNumber)
      arguments.check.mostMultiplyAdds = number;
    else if (name == "--race" && isNumber)
      arguments.check.raceEvery = number;
    else if (name == "--threads" && isNumber && number)
      arguments.check.cuda.threads = static_cast<unsigned>(number);
    else if (name == "--target" && !value.empty())
      arguments.check.cuda.target = value.str();
    else if (name == "--spoil" && parseSpoil(value, arguments.check))
      continue;
    else if (text == "--compile-only")
      arguments.compileOnly = true;
    else if (text == "--compile-others")
      arguments.compileOthers = true;
    else if (text == "--together")
      arguments.together = true;
    else if (text == "--static-speed")
      arguments.staticSpeed = true;
    else if (text == "--verbose")
      arguments.verbose = true;
    else {
      llvm::errs() << "weft-cuda-kernels: cannot read '" << text << "'\n\n" << kUsage;
      return false;
    }
  }
  return true;
}

/// A program that is checked.
struct Subject {
  std::string name;
  uint64_t seed;
  OwningOpRef<ModuleOp> module;
};

/// So many programs are prepared together: their kernels fill texts, and they fit into memory.
constexpr size_t mostPrepared = 128;

class Run {
public:
  Run(MLIRContext &context, const Arguments &arguments, PreparedKernels *kernels)
      : context(context), arguments(arguments), checker(arguments.check), kernels(kernels) {}
  int files();
  int random();
  int speed();
  int compile();

private:
  Status compileTogether(std::set<std::string> &paths, size_t &compiled);
  void compile(std::set<std::string> paths);
  bool mayGoOn() const { return failed < arguments.maxFailures; }
  void add(std::string name, uint64_t seed, OwningOpRef<ModuleOp> module);
  void checkAll();
  void check(ModuleOp module, uint64_t seed, const std::string &name);
  OwningOpRef<ModuleOp> read(const std::string &path);
  int finish();

  MLIRContext &context;
  const Arguments &arguments;
  KernelChecker checker;
  PreparedKernels *kernels; ///< null if each program is compiled by itself
  std::vector<Subject> subjects;
  std::set<std::string> leftOut; ///< for their size
  uint64_t passed = 0, failed = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Checks a program, or keeps it until there are enough to prepare them together.
void Run::add(std::string name, uint64_t seed, OwningOpRef<ModuleOp> module) {
  subjects.push_back({std::move(name), seed, std::move(module)});
  if (!kernels || subjects.size() >= mostPrepared)
    checkAll();
}

void Run::checkAll() {
  if (kernels && !subjects.empty()) {
    for (const Subject &each : subjects)
      checker.prepare(*each.module, each.seed, *kernels);
    kernels->compile();
  }
  for (const Subject &each : subjects)
    if (mayGoOn())
      check(*each.module, each.seed, each.name);
  subjects.clear();
}

void Run::check(ModuleOp module, uint64_t seed, const std::string &name) {
  const std::string place = "checking " + name;
  llvm::PrettyStackTraceString trace(place.c_str());
  const uint64_t before = EngineDevice::get().counts().kernelLaunches;
  auto failure = checker.check(module, seed);
  const uint64_t launches = EngineDevice::get().counts().kernelLaunches - before;
  const CheckOptions &check = arguments.check;
  if (check.spoil != Spoil::nothing) {
    // A launch that was changed has to be noticed.
    const bool spoilt = launches > check.spoilt;
    if (spoilt && !failure)
      failure = randomtest::Failure{"negative control", "the change was not noticed"};
    else
      failure.reset();
    if (!spoilt)
      return;
  }
  if (failure)
    llvm::outs() << name << ", " << failure->stage << ": " << failure->message << "\n";
  else if (arguments.verbose)
    llvm::outs() << name << ": " << launches << " launches\n";
  ++(failure ? failed : passed);
}

OwningOpRef<ModuleOp> Run::read(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    llvm::outs() << path << ": " << buffer.getError().message() << "\n";
    return {};
  }
  auto module = ir::parseModule(context, (*buffer)->getBuffer(), path);
  if (!module) {
    llvm::outs() << module.status().message() << "\n";
    return {};
  }
  if ((*module)->lookupSymbol<ir::FuncOp>(randomtest::kEntry))
    return std::move(*module);
  auto all = (*module)->getOps<ir::FuncOp>(); // bodies of loops are private
  SmallVector<ir::FuncOp> functions(
      llvm::make_filter_range(all, [](ir::FuncOp function) { return function.isPublic(); }));
  if (functions.size() != 1) {
    llvm::outs() << path << ": has several functions, and none is @" << randomtest::kEntry << "\n";
    return {};
  }
  SymbolTable::setSymbolName(functions.front(), randomtest::kEntry);
  return std::move(*module);
}

/// The elements of the largest tensor; symbols count as 1.
static uint64_t mostElements(ModuleOp module) {
  uint64_t most = 0;
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type)) {
        uint64_t count = 1;
        for (ir::Size size : ir::sizesOf(tensor))
          count *= static_cast<uint64_t>(size.number().value_or(1));
        most = std::max(most, count);
      }
  });
  return most;
}

/// Whether a value depends on an integer that the program is given.
static bool dependsOnIntegers(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  getBackwardSlice(value, &slice, options);
  const auto isGiven = [](Value each) {
    return isa<BlockArgument>(each) && getElementTypeOrSelf(each).isInteger(64);
  };
  return isGiven(value) ||
         llvm::any_of(slice, [&](Operation *op) { return llvm::any_of(op->getOperands(), isGiven); });
}

/// Erases statements that need not hold for values that we make up: assertions, and what a program says of
/// indices that depend on integers that it is given. What is printed, which is compared nowhere, goes with
/// them.
static void eraseStatements(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<ir::PrintOp, ir::AssertOp>(op) && op->use_empty())
      op->erase();
    else if (auto gather = dyn_cast<ir::GatherOp>(op);
             gather && gather.getMode() == ir::IndexMode::assume && dependsOnIntegers(gather.getIndex())) {
      gather->removeAttr("weft.pooled");
      gather.setMode(ir::IndexMode::clip);
    }
  });
}

int Run::files() {
  uint64_t number = 0;
  for (const std::string &path : arguments.files) {
    OwningOpRef<ModuleOp> module = read(path);
    const uint64_t elements = module ? mostElements(*module) : UINT64_MAX;
    if (module && elements > arguments.mostElements) {
      leftOut.insert(path);
      continue;
    }
    if (elements <= arguments.moreElementsThan)
      continue;
    if (module) {
      eraseStatements(*module);
      randomtest::limitTrips(*module);
      nameArguments(*module, number % 2);
      add(path, arguments.seed + number, std::move(module));
    } else {
      ++failed;
    }
    ++number;
    if (!mayGoOn())
      break;
  }
  checkAll();
  if (arguments.compileOthers)
    compile(std::exchange(leftOut, {}));
  return finish();
}

/// Compiles the kernels of all files together, and takes those away whose kernels keep to their schedules.
Status Run::compileTogether(std::set<std::string> &paths, size_t &compiled) {
  Expected<CompiledTogether> together = CompiledTogether::make(arguments.check.cuda);
  if (!together)
    return together.status();
  const std::vector<std::string> files(paths.begin(), paths.end());
  std::set<std::string> left;
  for (auto [number, path] : llvm::enumerate(files)) {
    OwningOpRef<ModuleOp> module = read(path);
    if (!module || !together->add(*module, number))
      left.insert(path);
  }
  if (Status status = together->compile(); !status)
    return status;
  for (auto [number, path] : llvm::enumerate(files)) {
    if (left.count(path))
      continue;
    if (together->of(number))
      compiled += together->kernelsOf(number);
    else
      left.insert(path);
  }
  passed += files.size() - left.size();
  paths = std::move(left);
  return {};
}

void Run::compile(std::set<std::string> paths) {
  size_t compiled = 0;
  if (Status status = arguments.together ? compileTogether(paths, compiled) : Status(); !status)
    llvm::outs() << status.message() << "\n";
  if (arguments.together)
    llvm::outs() << paths.size() << " programs were compiled by themselves\n";
  for (const std::string &path : paths) {
    OwningOpRef<ModuleOp> module = read(path);
    auto program = module ? compileForCuda(*module, arguments.check.cuda)
                          : Expected<std::unique_ptr<CudaProgram>>(Status::error("it is no program"));
    if (program)
      compiled += (*program)->kernels.size();
    else
      llvm::outs() << path << ": " << program.status().message() << "\n";
    ++(program ? passed : failed);
  }
  llvm::outs() << compiled << " kernels compiled for " << arguments.check.cuda.target << "\n";
}

int Run::compile() {
  if (arguments.files.empty()) {
    llvm::errs() << "weft-cuda-kernels: --compile-only needs files\n\n" << kUsage;
    return 2;
  }
  compile({arguments.files.begin(), arguments.files.end()});
  llvm::outs() << passed << " passed, " << failed << " failed\n";
  return failed ? 1 : 0;
}

int Run::speed() {
  for (const std::string &path : arguments.files) {
    OwningOpRef<ModuleOp> module = read(path);
    if (!module)
      return 1;
    SpeedOptions options;
    options.cuda = arguments.check.cuda;
    options.seed = arguments.seed;
    Expected<std::string> table = staticSpeed(*module, options);
    if (!table) {
      llvm::outs() << path << ": " << table.status().message() << "\n";
      return 1;
    }
    llvm::outs() << *table;
  }
  return 0;
}

int Run::random() {
  auto catalog = randomtest::OpCatalog::discover(context);
  if (!catalog) {
    llvm::errs() << "weft-cuda-kernels: " << catalog.status().message() << "\n";
    return 2;
  }
  for (uint64_t i = 0; i < arguments.count && mayGoOn(); ++i) {
    const uint64_t seed = arguments.seed + i;
    const std::string name = "seed " + std::to_string(seed);
    OwningOpRef<ModuleOp> module = randomtest::generateProgram(context, *catalog, seed);
    OwningOpRef<ModuleOp> lifted;
    if (seed % 10 == 5) {
      const bool last = seed / 10 % 2;
      lifted = randomtest::liftProgram(*module, last);
      if (!lifted)
        lifted = randomtest::liftProgram(*module, !last);
    }
    add(name, seed, std::move(module));
    if (lifted)
      add(name + " with a dynamic dimension", seed, std::move(lifted));
  }
  checkAll();
  return finish();
}

int Run::finish() {
  const CheckCounts &counts = checker.counts();
  const DeviceCounts &device = EngineDevice::get().counts();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!leftOut.empty())
    llvm::outs() << leftOut.size() << " programs left out, for their size\n";
  if (kernels)
    llvm::outs() << kernels->together() << " kernels were compiled together, " << kernels->alone()
                 << " alone\n";
  llvm::outs() << counts.calls << " calls, " << counts.failing << " of them fail as on the CPU\n"
               << counts.kernels << " kernels, " << counts.fallbacks << " of them fallbacks; NVRTC compiled "
               << counts.compiled << "\n"
               << device.kernelLaunches << " launches of kernels, each in two orders, " << device.raceLaunches
               << " of them in race mode, " << EngineDevice::get().steps() << " steps\n"
               << device.products.engine << " products on the engine, " << device.products.host
               << " by the host for their size\n"
               << device.attentions.engine << " attentions on the engine, " << device.attentions.host
               << " by the host for their size\n"
               << device.convolutions.engine << " convolutions on the engine, " << device.convolutions.host
               << " by the host for their size\n"
               << device.sorts.engine << " sorts on the engine, " << device.sorts.host
               << " by the host for their size\n"
               << device.copies << " copies and " << device.others << " other launches by the host\n"
               << counts.exactResults << " results with the bits of the CPU, " << counts.boundedResults
               << " within bounds\n"
               << llvm::format("%.1f", seconds) << " seconds\n"
               << passed << " passed, " << failed << " failed\n";
  return failed ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::EnablePrettyStackTrace();
  Arguments arguments;
  if (!parseArguments(argc, argv, arguments))
    return 2;
  if (!processorSuffices()) {
    llvm::errs() << "weft-cuda-kernels: the engine needs a processor with AVX2\n";
    return 2;
  }
  if (auto nvrtc = codegen::Nvrtc::get(); !nvrtc) {
    llvm::outs() << "skipped: " << nvrtc.status().message() << "\n";
    return 77;
  }
  DialectRegistry registry;
  ir::registerDialect(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  if (arguments.staticSpeed)
    return Run(context, arguments, nullptr).speed();
  if (arguments.compileOnly)
    return Run(context, arguments, nullptr).compile();
  PreparedKernels *kernels = nullptr;
  if (arguments.together) {
    auto installed = PreparedKernels::install(arguments.check.cuda);
    if (!installed) {
      llvm::errs() << "weft-cuda-kernels: " << installed.status().message() << "\n";
      return 2;
    }
    kernels = *installed;
  }
  Run run(context, arguments, kernels);
  return arguments.files.empty() ? run.random() : run.files();
}
