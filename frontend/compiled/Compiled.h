//===- Compiled.h - A compiled function: its variants and its calls ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_COMPILED_H
#define WEFT_FRONTEND_COMPILED_COMPILED_H

#include "frontend/compiled/Captures.h"
#include "frontend/compiled/Variant.h"
#include "weft/compile.hpp"

#include <atomic>
#include <map>
#include <set>

namespace weft::frontend {

using Slots = std::vector<std::shared_ptr<Slot>>;

/// The end of a message that is an error only because the caller asked for it, as the passes write it.
std::string underStrict(const char *code, const char *mode);

/// The variants of one function, and the guards' way to one. `Build.cpp` makes a variant, `Call.cpp`
/// runs it, `Compiled.cpp` finds it.
class CompiledImpl {
public:
  CompiledImpl(TracedFn fn, CompileOptions options, bool onlyTensors, Loc loc)
      : fn_(std::move(fn)), options_(std::move(options)), onlyTensors_(onlyTensors), loc_(loc) {
    if (options_.name.empty())
      fail("the name of a compiled function must not be empty: leave it out, or give {.name = \"step\"}",
           loc);
    checksCaptures_ = asksForCaptureChecks();
    if (!options_.specs.empty())
      declared_ = Declared(options_.specs, loc);
  }

  Flat call(const Flat &arguments, Loc loc);
  std::vector<VariantInfo> variants() const;
  void save(const std::string &path, const SaveOptions &options, Loc loc);
  std::string mlir(const std::string &stage, const MlirOptions &options, Loc loc);
  /// Compiles for the declared arguments, if nothing is compiled yet.
  void prepare(Loc loc);
  std::string explain(const ExplainOptions &options, Loc loc);
  std::string explainHtml(const ExplainOptions &options, Loc loc);

private:
  /// The variant of this number; without one that which ran most, of equals the one that ran last.
  const Variant &chosen(std::optional<size_t> number, Loc loc);
  /// "variant 1, one of 2".
  std::string nameOf(const Variant &variant) const;
  /// A call from a function that is being traced: it contributes its operations.
  Flat callInTrace(const Trace &outer, const Flat &arguments, Loc loc);
  /// The variant that fits these arguments, which becomes the most recently used; null where none does, and
  /// `reason` is why the last one did not.
  std::shared_ptr<Variant> find(const Flat &arguments, const Slots &slots, std::optional<Mismatch> &reason);
  /// The same, made where there is none. One thread at a time makes variants of a function; others wait.
  std::shared_ptr<Variant> variantFor(const Flat &arguments, const Slots &slots, Loc loc);
  /// Another variant, for these arguments. `paused`: whether other threads had the graph while it was
  /// compiled.
  std::shared_ptr<Variant> add(const Flat &arguments, const Slots &slots,
                               const std::optional<Mismatch> &reason, bool &isOld, Loc loc);
  /// Records and compiles. `why`: which guard missed; empty for the first variant.
  std::shared_ptr<Variant> build(const Flat &arguments, const Slots &slots, const std::string &why,
                                 bool &isOld, Loc loc);
  /// Per argument: the earlier one that is the same tensor, or -1.
  std::vector<int> sameArguments(const Slots &slots) const;
  /// The values that a recorded function returned. A view is returned as a copy, which the variant notes, or
  /// which is an error where the user asked for that.
  std::vector<Ref> takeResults(Variant &variant, const Flat &outputs, Loc loc) const;
  /// From what a trace left, the function to compile and how calls bind to it.
  Region bind(Variant &variant, const std::vector<Trace::Change> &changes, const std::vector<Ref> &results,
              const std::vector<Ref> &effects, bool tookGradients);
  std::string missed(const Mismatch &mismatch, const Flat &arguments, const Slots &slots, Loc loc);
  /// What the author can do about a dimension that had these sizes; empty as long as there is no need.
  std::string adviseOnDim(const Mismatch &mismatch, const Flat &arguments, const Slots &slots, Loc loc);
  /// Why no Dim can stand for a dimension of an argument: what the function says when it is recorded with
  /// one. Empty where it can.
  std::string whyNoDim(int argument, int dim, const std::set<int64_t> &sizes, const Flat &arguments,
                       const Slots &slots, Loc loc);
  std::string adviseOnStatic(const Mismatch &mismatch, const Flat &arguments);
  /// The arguments as a trace sees them.
  Flat traceArguments(Trace &trace, const Variant &variant, const Flat &arguments, const Slots &slots) const;
  /// Records the function again and throws Error where what it captured has changed since the variant was
  /// compiled.
  void checkCaptures(const Variant &variant, const Flat &arguments, const Slots &slots, Loc loc);
  /// Says why the function is compiled again, where that was asked for or something can be done about it.
  void report(const Variant &variant, const std::string &advice, Loc loc);
  /// Which variant is explained, where there are several, with a line for each.
  std::string variantsText(const Variant &shown) const;
  Flat run(Variant &variant, const Slots &arguments, const SizeValues &sizes, Loc loc);
  /// Puts the memory of the arguments where the executable takes it from. What is written, and what is not
  /// row-major, may have to be copied; throws Error where the user asked to refuse that.
  void takeArguments(Variant &variant, const Slots &bound, Loc loc) const;
  /// Runs the executable, and with `waits` waits for its results. Throws Error where it fails.
  void execute(Variant &variant, const SizeValues &sizes, bool waits, Loc loc);
  [[noreturn]] void failCall(const Status &status, const Variant &variant, Loc loc);

  static constexpr size_t maxVariants = 64;
  static constexpr int maxDepth = 500;
  int depth_ = 0; ///< of calls inside of its own trace
  TracedFn fn_;
  CompileOptions options_;
  bool onlyTensors_;                 ///< all parameters are tensors
  bool checksCaptures_ = false;      ///< as the environment had it when the function was made
  std::optional<Declared> declared_; ///< what the user says of the arguments
  Loc loc_;
  std::vector<std::shared_ptr<Variant>> variants_; ///< most recently used first
  const uint64_t id_ = nextSerial();               ///< what calls name themselves by in failures
  uint64_t calls_ = 0;
  size_t made_ = 0;                       ///< variants, those that were dropped among them
  bool isCompiling_ = false;              ///< a thread makes a variant, and may have paused the graph's lock
  std::atomic<uint32_t> compilations_{0}; ///< that are done; what other threads wait for
  std::string advice_;                    ///< what `missed` has to say to the author, empty for nothing
  std::set<std::string> advised_;         ///< what was said already without being asked
  std::map<std::string, size_t> missed_;  ///< how often guards of one kind did
  std::map<std::pair<int, int>, std::string> noDim_; ///< of arguments and dimensions: what `whyNoDim` found
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_COMPILED_H
