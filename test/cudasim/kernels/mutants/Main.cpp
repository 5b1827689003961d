//===- Main.cpp - weft-cuda-mutants ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Equivalents.h"
#include "KernelMutants.h"
#include "Subject.h"

#include "codegen/cuda/Nvrtc.h"
#include "ir/Dialect.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::cudasim;

namespace {

constexpr const char *usage = R"(usage: weft-cuda-mutants [options]

Makes one mistake at a time in a kernel of each skeleton (test/cudasim/kernels/mutants/KernelMutants.h) and runs it on the
engine of docs/cudasim.md, as the tests of kernels do. Each mutant has to be found, unless NVRTC makes the same PTX of it
or the lists of Equivalents.h say why no input shows it.

  --only=NAME    the mutants of one skeleton
  --every=N      one of N mutants (1)
  --list         print the names of the skeletons
  --verbose      print each mutant, and what found it
)";

struct Arguments {
  std::string only;
  uint64_t every = 1;
  bool verbose = false, list = false;
  /// Whether all mutants of a subject are tried.
  bool whole() const { return every == 1; }
};

/// Reads the command line. On an error, prints a message and returns false.
bool parseArguments(int argc, char **argv, Arguments &arguments) {
  for (int i = 1; i < argc; ++i) {
    const llvm::StringRef text = argv[i];
    const auto [name, value] = text.split('=');
    if (name == "--only" && !value.empty())
      arguments.only = value.str();
    else if (name == "--every" && !value.getAsInteger(10, arguments.every) && arguments.every)
      continue;
    else if (text == "--list")
      arguments.list = true;
    else if (text == "--verbose")
      arguments.verbose = true;
    else {
      llvm::errs() << "weft-cuda-mutants: cannot read '" << text << "'\n\n" << usage;
      return false;
    }
  }
  return true;
}

/// What a message says of how a mutant was found.
std::string finding(llvm::StringRef message) {
  for (size_t kind = 0; kind <= static_cast<size_t>(FaultKind::badLaunch); ++kind) {
    const std::string_view name = nameOf(static_cast<FaultKind>(kind));
    if (message.contains((llvm::Twine("': ") + llvm::StringRef(name.data(), name.size()) + ": ").str()))
      return std::string(name);
  }
  if (message.contains("two orders of warps"))
    return "order, or not written";
  if (message.contains("it writes before") || message.contains("it changes"))
    return "other memory";
  return "wrong result";
}

/// Mutants of one kind.
struct Counts {
  uint64_t mutants = 0, samePtx = 0, equivalent = 0, missed = 0;
  std::map<std::string, uint64_t> found;
};

/// A line and what became of it.
using Change = std::pair<std::string, std::string>;
Change changeOf(const KernelMutant &mutant) { return {keyOf(mutant.before), keyOf(mutant.after)}; }

/// A mutant that no test told from the kernel.
struct Unfound {
  KernelMutant mutant;
  std::string symbol;
};

class Run {
public:
  Run(const Arguments &arguments, const codegen::Nvrtc &nvrtc, MLIRContext &context)
      : arguments(arguments), nvrtc(nvrtc), context(context) {}
  int all();

private:
  Status subject(const SubjectCase &each);
  Status kernel(const SubjectCase &each, Subject &subject, const std::string &symbol,
                const std::string &text);
  /// Separates what is known to be equivalent.
  void judge(const SubjectCase &each);
  void print(const SubjectCase &each, double seconds);
  Expected<std::string> compile(const SubjectCase &each, const std::string &text) const;

  const Arguments &arguments;
  const codegen::Nvrtc &nvrtc;
  MLIRContext &context;
  uint64_t number = 0; ///< of the next mutant
  std::map<MutantKind, Counts> counts;
  std::vector<Unfound> unfound;
  std::map<Change, size_t> samePtx; ///< which depends on NVRTC
  uint64_t passed = 0, failed = 0;
};

/// PTX alone: ptxas has no part in what the engine runs.
Expected<std::string> Run::compile(const SubjectCase &each, const std::string &text) const {
  const std::string architecture = "compute_" + std::string(each.target).substr(3);
  auto binary = nvrtc.compile(
      text, "mutant", {"--gpu-architecture=" + architecture, "--std=c++17", "-fmad=false", "--minimal"});
  if (!binary)
    return binary.status();
  return std::move(binary->ptx);
}

Expected<std::shared_ptr<Module>> read(const std::string &ptx) {
  cudasim::ParseResult parsed = Module::parse(ptx);
  if (!parsed)
    return Status::error(parsed.error.str());
  return std::shared_ptr<Module>(std::move(parsed.module));
}

Status Run::kernel(const SubjectCase &each, Subject &subject, const std::string &symbol,
                   const std::string &text) {
  auto original = compile(each, text);
  if (!original)
    return original.status();
  auto module = read(*original);
  if (!module)
    return module.status();
  if (Status status = subject.run(symbol, *module); !status)
    return status.context("the kernel itself: ");
  for (const KernelMutant &mutant : mutantsOf(text, each.functions)) {
    if (number++ % arguments.every != 0)
      continue;
    Counts &count = counts[mutant.kind];
    ++count.mutants;
    auto ptx = compile(each, mutant.text);
    if (!ptx)
      return ptx.status().context(mutant.after + ": ");
    std::string how = "the same PTX";
    if (*ptx == *original) {
      ++count.samePtx;
      ++samePtx[changeOf(mutant)];
    } else {
      // What the engine cannot read says nothing of the tests.
      auto changed = read(*ptx);
      if (!changed)
        return changed.status().context(mutant.after + ": ");
      const Status status = subject.run(symbol, *changed);
      how = status.ok() ? "NOTHING" : finding(status.message());
      if (status.ok())
        unfound.push_back({mutant, symbol});
      else
        ++count.found[how];
      if (arguments.verbose && !status.ok())
        how += ": " + status.message();
    }
    if (arguments.verbose)
      llvm::outs() << "  " << nameOf(mutant.kind) << ", line " << mutant.line << ": " << mutant.before
                   << "  =>  " << mutant.after << "\n    " << how << "\n";
  }
  return {};
}

void Run::judge(const SubjectCase &each) {
  std::map<Change, std::vector<const Unfound *>> byLine;
  for (const Unfound &one : unfound)
    byLine[changeOf(one.mutant)].push_back(&one);
  for (const Equivalent &known : equivalents()) {
    if (each.name != llvm::StringRef(known.subject))
      continue;
    const auto found = byLine.find({known.before, known.after});
    const size_t count = found == byLine.end() ? 0 : found->second.size();
    const bool fits = count <= known.count &&
                      (!arguments.whole() || count + samePtx[{known.before, known.after}] >= known.count);
    if (!fits) {
      llvm::outs() << "  the list of equivalent mutants has " << known.count << ", and there are " << count
                   << ": " << known.before << "  =>  " << known.after << "\n";
      ++failed;
    }
    if (fits && count) {
      for (const Unfound *one : found->second)
        ++counts[one->mutant.kind].equivalent;
      byLine.erase(found);
    }
  }
  for (const auto &[line, mutants] : byLine)
    for (const Unfound *one : mutants) {
      ++counts[one->mutant.kind].missed;
      llvm::outs() << "  MISSED, " << nameOf(one->mutant.kind) << ", " << one->symbol << ", line "
                   << one->mutant.line << ": " << one->mutant.before << "  =>  " << one->mutant.after << "\n";
    }
}

void Run::print(const SubjectCase &each, double seconds) {
  llvm::outs() << each.name << ", " << llvm::format("%.1f", seconds) << " seconds\n";
  for (const auto &[kind, count] : counts) {
    llvm::outs() << "  " << nameOf(kind) << ": " << count.mutants << " mutants";
    for (const auto &[how, number] : count.found)
      llvm::outs() << ", " << number << " by " << how;
    if (count.samePtx)
      llvm::outs() << ", " << count.samePtx << " of the same PTX";
    if (count.equivalent)
      llvm::outs() << ", " << count.equivalent << " equivalent";
    if (count.missed)
      llvm::outs() << ", " << count.missed << " MISSED";
    llvm::outs() << "\n";
    failed += count.missed;
    passed += count.mutants - count.missed;
  }
}

Status Run::subject(const SubjectCase &each) {
  const auto start = std::chrono::steady_clock::now();
  counts.clear();
  unfound.clear();
  samePtx.clear();
  auto made = each.make(context, each);
  if (!made)
    return made.status();
  // The first runs measure how many steps the kernels take.
  const auto kernels = (*made)->kernels();
  for (const auto &[symbol, text] : kernels) {
    auto ptx = compile(each, text);
    if (!ptx)
      return ptx.status();
    auto module = read(*ptx);
    if (!module)
      return module.status();
    if (Status status = (*made)->run(symbol, *module); !status)
      return status.context("the kernels themselves: ");
  }
  (*made)->limitSteps();
  for (const auto &[symbol, text] : kernels)
    if (Status status = kernel(each, **made, symbol, text); !status)
      return status;
  judge(each);
  print(each, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return {};
}

int Run::all() {
  bool any = false;
  for (const SubjectCase &each : subjectCases()) {
    if (!arguments.only.empty() && arguments.only != each.name)
      continue;
    any = true;
    if (Status status = subject(each); !status) {
      llvm::outs() << each.name << ": " << status.message() << "\n";
      ++failed;
    }
  }
  if (!any) {
    llvm::errs() << "weft-cuda-mutants: no skeleton '" << arguments.only << "'\n";
    return 2;
  }
  llvm::outs() << passed << " passed, " << failed << " failed\n";
  return failed ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  Arguments arguments;
  if (!parseArguments(argc, argv, arguments))
    return 2;
  if (!processorSuffices()) {
    llvm::errs() << "weft-cuda-mutants: the engine needs a processor with AVX2\n";
    return 2;
  }
  if (arguments.list) {
    for (const SubjectCase &each : subjectCases())
      llvm::outs() << each.name << "\n";
    return 0;
  }
  auto nvrtc = codegen::Nvrtc::get();
  if (!nvrtc) {
    llvm::outs() << "skipped: " << nvrtc.status().message() << "\n";
    return 77;
  }
  DialectRegistry registry;
  ir::registerDialect(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  return Run(arguments, **nvrtc, context).all();
}
