//===- Compiled.h - A compiled function: its variants and its calls ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_H
#define WEFT_FRONTEND_COMPILED_H

#include "frontend/Variant.h"
#include "weft/compile.hpp"

#include <set>

namespace weft::frontend {

using Slots = std::vector<std::shared_ptr<Slot>>;

/// The end of a message that is an error only because the caller asked for it, as the passes write it.
std::string underStrict(const char *code, const char *mode);

/// The variants of one function, and the guards' way to one. `CompiledTrace.cpp` makes a variant,
/// `CompiledCall.cpp` runs it, `Compiled.cpp` finds it.
class CompiledImpl {
public:
  CompiledImpl(TracedFn fn, CompileOptions options, Loc loc)
      : fn_(std::move(fn)), options_(std::move(options)), loc_(loc) {
    if (options_.name.empty())
      fail("the name of a compiled function must not be empty: leave it out, or give {.name = \"step\"}",
           loc);
    if (!options_.specs.empty())
      declared_ = Declared(options_.specs, loc);
  }

  Flat call(const Flat &arguments, Loc loc);
  std::vector<VariantInfo> variants() const;
  void save(const std::string &path, const SaveOptions &options, Loc loc);
  /// Compiles for the declared arguments, if nothing is compiled yet.
  void prepare(Loc loc);
  std::string explain(const ExplainOptions &options, Loc loc);
  std::string explainHtml(const ExplainOptions &options, Loc loc);
  const Variant &last() {
    GraphLock lock(graphMutex());
    if (!last_ && declared_)
      prepare(loc_);
    if (!last_)
      fail("this compiled function has not run yet, so there is nothing to show or save: call it once first, "
           "or give compile() the specs of its arguments",
           loc_);
    return *last_;
  }

private:
  std::shared_ptr<Variant> build(const Flat &arguments, const Slots &slots, Loc loc);
  /// From what a trace left, the function to compile and how calls bind to it.
  Region bind(Variant &variant, const std::vector<Trace::Change> &changes, const std::vector<Ref> &results,
              const std::vector<Ref> &effects, bool tookGradients);
  std::string missed(const Mismatch &mismatch, const Slots &slots, Loc loc);
  /// Says why the function is compiled again, where that was asked for or something can be done about it.
  void report(const Variant &variant, Loc loc);
  /// The variant of that number, or else the one that ran most.
  const Variant &explained(const ExplainOptions &options, Loc loc);
  /// Which variant is explained, where there are several, with a line for each.
  std::string variantsText(const Variant &chosen) const;
  Flat run(Variant &variant, const Slots &arguments, const SizeValues &sizes, Loc loc);
  [[noreturn]] void failCall(const Status &status, const Variant &variant, Loc loc);

  static constexpr size_t maxVariants = 64;
  static constexpr int maxDepth = 500;
  int depth_ = 0; ///< of calls inside of its own trace
  TracedFn fn_;
  CompileOptions options_;
  std::optional<Declared> declared_; ///< what the user says of the arguments
  Loc loc_;
  std::vector<std::shared_ptr<Variant>> variants_; ///< most recently used first
  std::shared_ptr<Variant> last_;
  uint64_t calls_ = 0;
  size_t compiled_ = 0;           ///< variants, those that were dropped among them
  std::string advice_;            ///< on the compilation under way, empty for none
  std::string why_;               ///< of it: which guard missed, with its code; empty for the first variant
  std::set<std::string> advised_; ///< what was said already without being asked
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_H
