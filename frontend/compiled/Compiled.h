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

/// The end of a message about an error that exists only in a strict mode, in the words of the passes.
std::string underStrict(const char *code, const char *mode);

/// The variants of one compiled function. `Build.cpp` makes a variant, `Call.cpp` runs it, `Compiled.cpp`
/// finds it.
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
  /// While it exists, this thread makes a variant.
  struct Compiling {
    explicit Compiling(CompiledImpl &impl);
    ~Compiling();
    CompiledImpl &impl;
    const uint32_t before;
  };
  /// The variant with this number. Without a number, the variant with the most calls; of several, the one
  /// that ran last.
  const Variant &chosen(std::optional<size_t> number, Loc loc);
  /// "variant 1, one of 2".
  std::string nameOf(const Variant &variant) const;
  /// A call during the trace of another function, which records the operations of this one too.
  Flat callInTrace(Trace &outer, const Flat &arguments, Loc loc);
  /// Runs the user's function without the graph's lock. A trace receives its operations.
  Flat runFunction(const Flat &arguments) const;
  /// If another thread is compiling this function, waits until it is done and returns true. The caller holds
  /// the graph's lock once, and must read the graph anew.
  bool waitForOtherThread();
  /// Compiles for the declared arguments, if there are any and nothing is compiled yet.
  void prepareIfDeclared();
  /// The values of the declared sizes in a call. Throws Error if an argument does not fit.
  SizeValues sizesOf(const Slots &slots, Loc loc) const;
  /// The variant that fits these arguments, which becomes the most recently used. If there is none, null, and
  /// `reason` says why the most recently used one does not fit.
  std::shared_ptr<Variant> find(const Flat &arguments, const Slots &slots, std::optional<Mismatch> &reason);
  /// The same, but compiles a variant if there is none. One thread at a time compiles a function; others
  /// wait.
  std::shared_ptr<Variant> variantFor(const Flat &arguments, const Slots &slots, Loc loc);
  /// Compiles another variant for these arguments. `isOld` is set if other threads used the graph in the
  /// meantime, and the variant no longer fits. Null if they did so during the trace.
  std::shared_ptr<Variant> add(const Flat &arguments, const Slots &slots,
                               const std::optional<Mismatch> &reason, bool &isOld, Loc loc);
  /// Records and compiles the function. `why` is the guard that missed, empty for the first variant. Null if
  /// another thread changed during the trace what it depends on.
  std::shared_ptr<Variant> build(const Flat &arguments, const Slots &slots, const std::string &why,
                                 bool &isOld, Loc loc);
  /// Per argument: the earlier one that is the same tensor, or -1.
  std::vector<int> sameArguments(const Slots &slots) const;
  /// The values that a recorded function returned. A view is returned as a copy; the variant notes that, or
  /// it is an error in strict mode.
  std::vector<Ref> takeResults(Variant &variant, const Flat &outputs, Loc loc) const;
  /// Notes which results are leaves that the trace made, and the gradients of what it made.
  static void noteGradients(Variant &variant, const Flat &outputs, const Trace &trace);
  /// Makes the region to compile from the results and changes of a trace, and the bindings of its calls.
  Region bind(Variant &variant, const std::vector<Trace::Change> &changes, const std::vector<Ref> &results,
              const std::vector<Ref> &effects, const Trace &trace);
  std::string missed(const Mismatch &mismatch, const Flat &arguments, const Slots &slots, Loc loc);
  /// Advice about a dimension that had several sizes; empty for fewer than three.
  std::string adviseOnDim(const Mismatch &mismatch, const Flat &arguments, const Slots &slots, Loc loc);
  /// Why the function cannot be recorded with a Dim for a dimension of an argument: the error of such a
  /// recording. Empty if it can.
  std::string whyNoDim(int argument, int dim, const std::set<int64_t> &sizes, const Flat &arguments,
                       const Slots &slots, Loc loc);
  std::string adviseOnStatic(const Mismatch &mismatch, const Flat &arguments);
  /// Tensors that stand for the arguments in a trace.
  Flat traceArguments(Trace &trace, const Variant &variant, const Flat &arguments, const Slots &slots) const;
  /// The results of a run of the function that the trace records. Empty if another thread changed meanwhile
  /// what the trace depends on.
  std::optional<Flat> runTraced(Trace &trace, const Variant &variant, const Flat &arguments,
                                const Slots &slots) const;
  /// Records the function again, and throws Error if a capture has changed since the variant was compiled.
  /// Returns false if another thread changed what the recording depends on, so that nothing was compared.
  bool checkCaptures(const Variant &variant, const Flat &arguments, const Slots &slots, Loc loc);
  /// Prints why the function is compiled again, if WEFT_EXPLAIN asks for it or the author can do something
  /// about it.
  void report(const Variant &variant, const std::string &advice, Loc loc);
  /// If there are several variants: which one is explained, and a line for each.
  std::string variantsText(const Variant &shown) const;
  Flat run(Variant &variant, const Slots &arguments, const SizeValues &sizes, Loc loc);
  /// Collects the buffers of the arguments. Arguments that are written or not row-major may have to be
  /// copied; in strict mode that is an error.
  void takeArguments(Variant &variant, const Slots &bound, Loc loc) const;
  /// Runs the executable; with `waits`, also waits for its results. Throws Error if it fails.
  void execute(Variant &variant, const SizeValues &sizes, bool waits, Loc loc);
  [[noreturn]] void failCall(const Status &status, const Variant &variant, Loc loc);

  static constexpr size_t maxVariants = 64;
  static constexpr int maxDepth = 500;
  TracedFn fn_;
  CompileOptions options_;
  bool onlyTensors_;                 ///< all parameters are tensors
  bool checksCaptures_ = false;      ///< WEFT_CHECK_CAPTURES when the function was made
  std::optional<Declared> declared_; ///< the specs that the user gave for the arguments
  Loc loc_;
  std::vector<std::shared_ptr<Variant>> variants_; ///< most recently used first
  const uint64_t id_ = nextSerial();               ///< identifies the function in failures
  uint64_t calls_ = 0;
  size_t made_ = 0; ///< the number of variants made, including dropped ones
  /// The thread that is making a variant, and may have released the graph's lock; 0 for none.
  uint32_t compilingThread_ = 0;
  std::atomic<uint32_t> compilations_{0};            ///< how many are done; other threads wait for a change
  std::string advice_;                               ///< the kind of advice that `missed` gave, or empty
  std::set<std::string> advised_;                    ///< the kinds of advice that were printed already
  std::map<std::string, size_t> missed_;             ///< how often guards of each kind missed
  std::map<std::pair<int, int>, std::string> noDim_; ///< the results of `whyNoDim`, by argument and dimension
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_COMPILED_H
