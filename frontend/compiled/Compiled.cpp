//===- Compiled.cpp - Compiled functions: which variant a call takes -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Compiled.h"
#include "frontend/compiled/Explain.h"
#include "frontend/compiled/Save.h"
#include "frontend/graph/Devices.h"
#include "frontend/graph/Undo.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/ops/Ops.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

namespace weft::frontend {

std::string underStrict(const char *code, const char *mode) {
  return std::string(" (") + code + ", an error under strict=" + mode + ")";
}

void CompiledImpl::report(const Variant &variant, const std::string &advice, Loc loc) {
  // Without WEFT_EXPLAIN, each advice is printed once, as is a compilation for other shapes. A variant for
  // other gradients or modes, which every training loop has, is not worth a line.
  const bool asked = explainMode() == ExplainMode::recompile;
  const bool news = !advice.empty() || variant.code == "WEFT-R001";
  if (variant.code.empty() || (!asked && (!news || !advised_.insert(advice).second)))
    return;
  std::fprintf(stderr, "weft: '%s' (%s) compiled again (%s), at %s: %s\n", options_.name.c_str(),
               str(loc_).c_str(), variant.code.c_str(), str(loc).c_str(), variant.reason.c_str());
}

std::string CompiledImpl::whyNoDim(int argument, int dim, const std::set<int64_t> &sizes,
                                   const Flat &arguments, const Slots &slots, Loc loc) {
  const auto sizeOf = [](const Shape &shape, size_t d) { return d < shape.size() ? shape[d] : -1; };
  const auto wanted = static_cast<size_t>(dim);
  // Dimensions that had equal sizes in every variant count as one dimension, such as those of a batch and its
  // labels.
  const auto variesAlong = [&](size_t i, size_t d) {
    if (slots[i]->spec().shape[d] != slots[static_cast<size_t>(argument)]->spec().shape[wanted])
      return false;
    for (const auto &variant : variants_) {
      int64_t own = -1, other = -1;
      for (const Binding &binding : variant->bindings)
        if (!binding.isGradient) {
          if (binding.callArgument == argument)
            own = sizeOf(binding.spec.shape, wanted);
          if (binding.callArgument == static_cast<int>(i))
            other = sizeOf(binding.spec.shape, d);
        }
      if (own != other)
        return false;
    }
    return true;
  };
  Trace trace;
  const std::string name = "dim" + std::to_string(argument) + "_" + std::to_string(dim);
  const Dim symbol(name, *sizes.begin(), *sizes.rbegin(), loc);
  trace.symbols = {symbol};
  trace.function = options_.name;
  trace.numerics = options_.numerics;
  Flat inputs;
  inputs.structure = arguments.structure;
  try {
    for (size_t i = 0; i < slots.size(); ++i) {
      Spec spec = slots[i]->spec();
      for (size_t d = 0; d < spec.shape.size(); ++d)
        if ((static_cast<int>(i) == argument && d == wanted) || variesAlong(i, d))
          spec.shape[d] = Size(symbol).entry();
      inputs.tensors.push_back(trace.addArgument(static_cast<int>(i), slots[i], slots[i]->loc, &spec));
    }
    runFunction(inputs);
  } catch (const Error &error) {
    const FailureInfo &info = error.info();
    return info.what + (info.location.empty() ? "" : " at " + info.location);
  } catch (const std::exception &error) { // the user's own exception; this run was only made for the advice
    return std::string("it throws '") + error.what() + "'";
  } catch (...) {
    return "it throws an exception";
  }
  for (const auto &slot : slots)
    if (trace.touched(*slot) && slot->trace != TraceMark(&trace))
      return "an argument is captured as well";
  return "";
}

std::string CompiledImpl::adviseOnDim(const Mismatch &mismatch, const Flat &arguments, const Slots &slots,
                                      Loc loc) {
  const auto d = static_cast<size_t>(mismatch.dim);
  std::set<int64_t> sizes{slots[static_cast<size_t>(mismatch.argument)]->spec().shape[d]};
  for (const auto &variant : variants_)
    for (const Binding &binding : variant->bindings)
      if (binding.callArgument == mismatch.argument && !binding.isGradient && binding.spec.shape.size() > d)
        sizes.insert(binding.spec.shape[d]);
  if (sizes.size() < 3)
    return "";
  const auto place = std::pair(mismatch.argument, mismatch.dim);
  auto known = noDim_.find(place);
  if (known == noDim_.end())
    known =
        noDim_.emplace(place, whyNoDim(mismatch.argument, mismatch.dim, sizes, arguments, slots, loc)).first;
  advice_ = "Dim";
  const std::string found = "; this is size number " + std::to_string(sizes.size()) + " of dimension " +
                            std::to_string(mismatch.dim) + " of argument " +
                            std::to_string(mismatch.argument);
  if (known->second.empty())
    return found + ": give it a Dim, as in compile(fn, {spec({Dim(\"n\", " + std::to_string(*sizes.begin()) +
           ", " + std::to_string(*sizes.rbegin()) + "), ...})}), and one variant serves all sizes";
  return found + ", and the function cannot be recorded with a Dim there: " + known->second +
         ". Where the number only makes shapes, make them of sym_size(); where it counts the rounds of a "
         "loop, pad the argument to one of a few sizes";
}

std::string CompiledImpl::adviseOnStatic(const Mismatch &mismatch, const Flat &arguments) {
  const auto entry = static_cast<size_t>(mismatch.entry);
  if (arguments.structure[entry].kind == StructureEntry::real) {
    advice_ = "Scalar";
    return "; make the parameter a weft::Scalar, whose value is no part of the signature";
  }
  if (arguments.structure[entry].kind != StructureEntry::integer)
    return "";
  std::set<int64_t> values{arguments.structure[entry].bits};
  for (const auto &variant : variants_)
    if (entry < variant->structure.size())
      values.insert(variant->structure[entry].bits);
  if (values.size() < 3)
    return "";
  advice_ = "integer " + std::to_string(entry);
  return "; this is value number " + std::to_string(values.size()) +
         " of it, and each is compiled by itself: where it is a number in arithmetic, make the parameter a "
         "weft::Scalar; where it is an index or a position, a 0-dimensional tensor; where it is a size, let "
         "an argument have that size, as a Dim";
}

/// The reason for another variant, with advice if there is any.
std::string CompiledImpl::missed(const Mismatch &mismatch, const Flat &arguments, const Slots &slots,
                                 Loc loc) {
  advice_.clear();
  std::string reason = mismatch.text;
  if (mismatch.argument >= 0)
    reason += adviseOnDim(mismatch, arguments, slots, loc);
  if (mismatch.entry >= 0)
    reason += adviseOnStatic(mismatch, arguments);
  // Advice on a kind of mismatch is given at the third variant for other types, or at the second mismatch of
  // the kind from the third variant on.
  if (const std::string kind = mismatch.kind; !kind.empty()) {
    const bool third = ++missed_[kind] >= 2 || std::string_view(mismatch.code) == "WEFT-R001";
    if (advice_.empty() && made_ >= 2 && third) {
      advice_ = kind;
      reason += "; this is " +
                (made_ == 2 ? "the third variant" : "variant number " + std::to_string(made_ + 1)) +
                ", and each " + kind + " is compiled by itself" + mismatch.remedy;
    }
  }
  if (has(options_.strict, Strict::recompile))
    fail("'" + options_.name + "' would be compiled again: " + reason +
             underStrict(mismatch.code, "recompile"),
         loc, {}, mismatch.code);
  return reason;
}

static std::string explanationOf(const Variant &variant, bool full, Loc loc) {
  if (!full)
    return variant.program->explanation;
  auto text = explainInFull(*variant.program);
  throwAt(text.status(), loc);
  return *text;
}

CompiledImpl::Compiling::Compiling(CompiledImpl &impl)
    : impl(impl), before(std::exchange(impl.compilingThread_, threadNumber())) {}

CompiledImpl::Compiling::~Compiling() {
  // A thread that holds the lock more than once compiles beside another one, which may have ended by now.
  impl.compilingThread_ = before == threadNumber() ? before : 0;
  ++impl.compilations_;
  impl.compilations_.notify_all();
}

bool CompiledImpl::waitForOtherThread() {
  if (compilingThread_ == 0 || compilingThread_ == threadNumber() || graphMutex().depth() > 1)
    return false;
  const uint32_t seen = compilations_.load();
  const GraphRelease release;
  compilations_.wait(seen);
  return true;
}

Flat CompiledImpl::runFunction(const Flat &arguments) const {
  const GraphRelease release;
  return fn_(arguments);
}

Flat CompiledImpl::callInTrace(Trace &outer, const Flat &arguments, Loc loc) {
  // Operations of both may be fused into one kernel, which has one mode.
  if (outer.numerics != options_.numerics) {
    auto mode = [](Numerics numerics) { return numerics == Numerics::fast ? "fast" : "eager"; };
    fail("'" + options_.name + "' was compiled with " + mode(options_.numerics) +
             " numerics and is called inside of '" + outer.function + "', which has " + mode(outer.numerics) +
             ": a compiled function and what it calls have one mode; give both the same CompileOptions::"
             "numerics, or call the function that '" +
             options_.name + "' was made of",
         loc);
  }
  // A function that calls itself without end would overflow the stack.
  struct Depth {
    explicit Depth(int &depth) : depth(depth) { ++depth; }
    ~Depth() { --depth; }
    int &depth;
  } level(outer.depths[this]);
  if (level.depth > maxDepth)
    fail("'" + options_.name + "' calls itself " + std::to_string(maxDepth) +
             " deep while it is recorded: a recursion must end, on a number that the host knows",
         loc);
  return fn_(arguments);
}

std::shared_ptr<Variant> CompiledImpl::find(const Flat &arguments, const Slots &slots,
                                            std::optional<Mismatch> &reason) {
  for (size_t i = 0; i < variants_.size(); ++i) {
    std::optional<Mismatch> why = findMismatch(*variants_[i], slots, arguments.structure);
    if (!why) {
      std::shared_ptr<Variant> found = variants_[i];
      if (i > 0)
        std::rotate(variants_.begin(), variants_.begin() + static_cast<ptrdiff_t>(i),
                    variants_.begin() + static_cast<ptrdiff_t>(i) + 1);
      return found;
    }
    if (i == 0)
      reason = std::move(why);
  }
  return nullptr;
}

std::shared_ptr<Variant> CompiledImpl::add(const Flat &arguments, const Slots &slots,
                                           const std::optional<Mismatch> &reason, bool &isOld, Loc loc) {
  const Compiling compiling(*this);
  std::string text = reason ? missed(*reason, arguments, slots, loc) : "";
  std::string advice = reason ? std::exchange(advice_, {}) : "";
  std::shared_ptr<Variant> made =
      build(arguments, slots, reason ? std::string(reason->code) + ": " + text : "", isOld, loc);
  if (!made)
    return nullptr;
  if (reason) {
    made->code = reason->code;
    std::erase_if(variants_, [](const auto &variant) { return isDead(*variant); });
    if (variants_.size() == maxVariants) {
      advice = "64 variants";
      text += "; the least recently used of " + std::to_string(maxVariants) + " variants, " +
              variants_.back()->signature + ", was dropped (WEFT-R006)";
      variants_.pop_back();
    }
    made->reason = std::move(text);
  }
  variants_.insert(variants_.begin(), made);
  report(*made, advice, loc);
  if (const ExplainMode mode = explainMode(); mode == ExplainMode::variants || mode == ExplainMode::full)
    std::fprintf(stderr, "%s\n%s", explanationOf(*made, mode == ExplainMode::full, loc).c_str(),
                 made->notes.c_str());
  // State that was made during the trace belongs to the time before the call, and may still be pending.
  flushAll();
  return made;
}

SizeValues CompiledImpl::sizesOf(const Slots &slots, Loc loc) const {
  if (!declared_)
    return {};
  std::vector<Spec> specs;
  for (const auto &slot : slots)
    specs.push_back(slot->spec());
  return declared_->bind(specs, loc);
}

Flat CompiledImpl::call(const Flat &arguments, Loc loc) {
  if (Trace *outer = Trace::current())
    return callInTrace(*outer, arguments, loc);
  GraphLock lock(graphMutex());
  Slots slots;
  slots.reserve(arguments.tensors.size());
  for (const Tensor &argument : arguments.tensors) {
    use(argument, loc);
    slots.push_back(Access::slot(argument));
  }
  SizeValues sizes = sizesOf(slots, loc);
  ++calls_;
  if (pendingCount() > 0) {
    const PausePermit permit; // of the graph, only the slots of the arguments were read so far
    flushAll();
  }
  const uint32_t seen = compilations_;
  const std::shared_ptr<Variant> variant = variantFor(arguments, slots, loc);
  if (seen != compilations_) // the lock was released, and the arguments may have changed
    sizes = sizesOf(slots, loc);
  return run(*variant, slots, sizes, loc);
}

std::shared_ptr<Variant> CompiledImpl::variantFor(const Flat &arguments, const Slots &slots, Loc loc) {
  for (bool isNew = false;;) {
    std::optional<Mismatch> reason;
    if (auto found = find(arguments, slots, reason)) {
      if (checksCaptures_ && !isNew && !checkCaptures(*found, arguments, slots, loc))
        continue;
      return found;
    }
    // Another thread may be compiling this function for these arguments.
    if (waitForOtherThread())
      continue;
    bool isOld = false;
    std::shared_ptr<Variant> made = add(arguments, slots, reason, isOld, loc);
    if (made && !isOld)
      return made;
    isNew = made != nullptr;
  }
}

void CompiledImpl::prepare(Loc loc) {
  GraphLock lock(graphMutex());
  if (!declared_)
    fail("without a call, a function is compiled for the specs of its arguments: give compile() some, as in "
         "compile(fn, {spec({32, 784})}), or call it once",
         loc);
  while (variants_.empty() && waitForOtherThread()) {
  }
  if (!variants_.empty())
    return;
  if (!onlyTensors_)
    fail("this function has parameters whose values are part of its signature: call it once instead", loc);
  if (pendingCount() > 0)
    flushAll();
  Slots slots;
  Flat arguments;
  for (const Spec &spec : declared_->arguments) {
    Tensor placeholder = wrap(leaf(spec, nullptr, loc), loc);
    slots.push_back(Access::slot(placeholder));
    arguments.tensors.push_back(std::move(placeholder));
  }
  const Compiling compiling(*this);
  std::shared_ptr<Variant> made;
  bool isOld = false; // not needed: each call checks its guards
  while (!made)
    made = build(arguments, slots, "", isOld, loc);
  variants_.insert(variants_.begin(), std::move(made));
  flushAll();
}

void CompiledImpl::prepareIfDeclared() {
  const auto isMissing = [&] {
    GraphLock lock(graphMutex());
    return declared_ && variants_.empty();
  };
  if (isMissing()) // the trace runs without the lock, so it is not taken here
    prepare(loc_);
}

const Variant &CompiledImpl::chosen(std::optional<size_t> number, Loc loc) {
  if (variants_.empty())
    fail("this compiled function has not run yet, so there is nothing to show or save: call it once first, "
         "or give compile() the specs of its arguments",
         loc_);
  const Variant *best = nullptr;
  for (const auto &variant : variants_) // most recently used first
    if (number ? variant->number == *number : !best || variant->calls > best->calls)
      best = variant.get();
  if (!best)
    fail("'" + options_.name + "' has no variant " + std::to_string(*number) +
             ": variants() has the numbers of those that are there",
         loc);
  return *best;
}

std::string CompiledImpl::nameOf(const Variant &variant) const {
  return "variant " + std::to_string(variant.number) + ", one of " + std::to_string(variants_.size());
}

std::string CompiledImpl::mlir(const std::string &stage, const MlirOptions &options, Loc loc) {
  if (stage != "trace" && stage != "plan")
    fail("unknown stage '" + stage + "', expected 'trace' or 'plan'", loc);
  prepareIfDeclared();
  GraphLock lock(graphMutex());
  const Variant &variant = chosen(options.variant, loc);
  const std::string &text = stage == "plan" ? variant.program->planText : variant.program->traceText;
  return variants_.size() > 1 ? "// " + nameOf(variant) + ": " + variant.signature + "\n" + text : text;
}

void CompiledImpl::save(const std::string &path, const SaveOptions &options, Loc loc) {
  prepareIfDeclared();
  GraphLock lock(graphMutex());
  const Variant &variant = chosen(options.variant, loc);
  const Program &program = *variant.program;
  if (pendingCount() > 0)
    flushAll();
  std::vector<runtime::StateValue> state;
  std::vector<std::shared_ptr<runtime::Buffer>> buffers; // the memory that `values` point into
  for (const Binding &binding : variant.bindings) {
    if (binding.argument < 0 || binding.callArgument >= 0)
      continue;
    const auto slot = binding.resolve({});
    const auto &argument = program.executable->signature().arguments[static_cast<size_t>(binding.argument)];
    if (!slot || !hasType(binding, *slot))
      fail("'" + argument.name + "' was " + binding.spec.str() + " when " + nameOf(variant) +
               ", was compiled, and is " + (slot ? slot->spec().str() : "none") +
               ": call the function once more before it is saved, or save another variant",
           loc);
    const Ref &value = slot->value();
    await(*value.buffer(), loc);
    buffers.push_back(inHostMemory(value.buffer(), loc));
    state.push_back({argument.name,
                     binding.spec.dtype,
                     binding.spec.shape,
                     {static_cast<const std::byte *>(buffers.back()->data()), buffers.back()->bytes()}});
  }
  savePackage(path, program, state, options, loc);
  if (variants_.size() > 1 && !options.variant)
    std::fprintf(stderr,
                 "weft: '%s' was saved as %s, the one that ran most: %s; another is saved with "
                 "{.variant = n}, by its number in variants()\n",
                 options_.name.c_str(), nameOf(variant).c_str(), variant.signature.c_str());
}

std::string CompiledImpl::variantsText(const Variant &shown) const {
  if (variants_.size() <= 1)
    return {};
  std::string text = nameOf(shown) + ":\n";
  std::vector<const Variant *> sorted;
  for (const auto &variant : variants_)
    sorted.push_back(variant.get());
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->number < b->number; });
  for (const Variant *variant : sorted)
    text += "  " + std::to_string(variant->number) + "  " + variant->signature +
            "  calls: " + std::to_string(variant->calls) + ", compiled at " + str(variant->loc) +
            (variant->code.empty() ? "" : " (" + variant->code + ": " + variant->reason + ")") + "\n";
  return text + "\n";
}

/// The frontend's notes on a variant, from its compilation and its calls.
static std::string notesOf(const Variant &variant) {
  std::string text = variant.notes;
  if (variant.copies > 0)
    text += "WEFT-D011: storage to be written was copied " + std::to_string(variant.copies) +
            " times, since something else held it; last " + variant.lastCopy + "\n";
  if (variant.stridedCopies > 0)
    text += "WEFT-D013: arguments in memory with strides were copied to row-major memory " +
            std::to_string(variant.stridedCopies) +
            " times, since the call writes them or a spec declares them; last " + variant.lastStridedCopy +
            "\n";
  // What the library of the device said when the function was loaded, each reason once.
  using Counted = std::map<std::string, std::pair<size_t, std::string>>;
  const auto add = [](Counted &counted, const auto &one) {
    auto &[count, first] = counted[one.refusal];
    if (count++ == 0)
      first = "'" + one.name + "'" + (one.location.empty() ? "" : " (" + one.location + ")");
  };
  Counted refused, loops, branches;
  for (const runtime::RefusedContraction &one : variant.program->executable->refused_contractions())
    add(refused, one);
  for (const runtime::DeviceLoop &one : variant.program->executable->device_loops())
    add(one.is_branch ? branches : loops, one);
  const auto decided = [&](const char *code, const Counted &counted, const std::string &what,
                           const char *end) {
    for (const auto &[refusal, found] : counted)
      text += std::string(code) + ": " +
              (refusal.empty()
                   ? "from the third call on, where the driver makes their graphs, the device decides on "
                   : "the host decides on ") +
              what + std::to_string(found.first) + end + (found.first == 1 ? "" : "s") + ", first " +
              found.second + (refusal.empty() ? "" : ": " + refusal) + "\n";
  };
  decided("WEFT-C008", loops, "the trips of ", " while loop");
  decided("WEFT-C009", branches, "the branches of ", " condition");
  for (const auto &[refusal, found] : refused)
    text += "WEFT-N004: kernels of Weft compute " + std::to_string(found.first) + " contraction" +
            (found.first == 1 ? "" : "s") + ", first " + found.second + ": " + refusal + "\n";
  return text;
}

std::string CompiledImpl::explain(const ExplainOptions &options, Loc loc) {
  prepareIfDeclared();
  GraphLock lock(graphMutex());
  const Variant &shown = chosen(options.variant, loc);
  return variantsText(shown) + explanationOf(shown, options.full, loc) + notesOf(shown);
}

std::string CompiledImpl::explainHtml(const ExplainOptions &options, Loc loc) {
  prepareIfDeclared();
  GraphLock lock(graphMutex());
  const Variant &shown = chosen(options.variant, loc);
  auto page = explainAsPage(*shown.program, options_.name, variantsText(shown) + notesOf(shown));
  throwAt(page.status(), loc);
  return *page;
}

std::vector<VariantInfo> CompiledImpl::variants() const {
  GraphLock lock(graphMutex());
  std::vector<VariantInfo> list;
  for (const auto &variant : variants_)
    list.push_back({variant->number, variant->signature, variant->reason, variant->code, variant->loc,
                    variant->program->compileMs, variant->calls});
  return list;
}

} // namespace weft::frontend

namespace weft {

uint64_t compile_count() { return frontend::compileCount(); }

CompiledBase::CompiledBase(frontend::TracedFn fn, CompileOptions options, bool only_tensors, Loc loc)
    : impl_(std::make_shared<frontend::CompiledImpl>(std::move(fn), std::move(options), only_tensors, loc)) {}

frontend::Flat CompiledBase::call(frontend::Flat arguments, Loc loc) const {
  return impl_->call(arguments, loc);
}

std::string CompiledBase::explain(const ExplainOptions &options, Loc loc) const {
  return impl_->explain(options, loc);
}

std::string CompiledBase::explain_html(const ExplainOptions &options, Loc loc) const {
  return impl_->explainHtml(options, loc);
}

std::string CompiledBase::mlir(const std::string &stage, const MlirOptions &options, Loc loc) const {
  return impl_->mlir(stage, options, loc);
}

void CompiledBase::compile(Loc loc) const { impl_->prepare(loc); }

std::vector<VariantInfo> CompiledBase::variants() const { return impl_->variants(); }

void CompiledBase::save(const std::string &path, const SaveOptions &options, Loc loc) const {
  impl_->save(path, options, loc);
}

} // namespace weft
