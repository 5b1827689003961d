//===- Compiled.cpp - Compiled functions: which variant a call takes -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/Compiled.h"
#include "frontend/Explain.h"
#include "frontend/Lazy.h"
#include "frontend/Ops.h"
#include "frontend/Save.h"

#include <algorithm>
#include <cstdio>

namespace weft::frontend {

std::string underStrict(const char *code, const char *mode) {
  return std::string(" (") + code + ", an error under strict=" + mode + ")";
}

void CompiledImpl::report(const Variant &variant, Loc loc) {
  // Unasked, a function says once each that it is compiled for other shapes, and what its author can do about
  // it. What a step brings by itself, gradients and modes, is no news.
  const bool asked = explainMode() == ExplainMode::recompile;
  const bool news = !advice_.empty() || variant.code == "WEFT-R001";
  if (variant.code.empty() || (!asked && (!news || !advised_.insert(advice_).second)))
    return;
  std::fprintf(stderr, "weft: '%s' (%s) compiled again (%s), at %s: %s\n", options_.name.c_str(),
               str(loc_).c_str(), variant.code.c_str(), str(loc).c_str(), variant.reason.c_str());
}

/// The reason for another variant, with advice where there is some.
std::string CompiledImpl::missed(const Mismatch &mismatch, const Slots &slots, Loc loc) {
  advice_.clear();
  std::string reason = mismatch.text;
  if (mismatch.argument >= 0) {
    auto d = static_cast<size_t>(mismatch.dim);
    std::set<int64_t> sizes{slots[static_cast<size_t>(mismatch.argument)]->spec().shape[d]};
    for (const auto &variant : variants_)
      for (const Binding &binding : variant->bindings)
        if (binding.callArgument == mismatch.argument && !binding.isGradient && binding.spec.shape.size() > d)
          sizes.insert(binding.spec.shape[d]);
    if (sizes.size() >= 3) {
      advice_ = "Dim";
      reason += "; this is size number " + std::to_string(sizes.size()) + " of dimension " +
                std::to_string(mismatch.dim) + " of argument " + std::to_string(mismatch.argument) +
                ": give it a Dim, as in compile(fn, {spec({Dim(\"n\", " + std::to_string(*sizes.begin()) +
                ", " + std::to_string(*sizes.rbegin()) + "), ...})}), and one variant serves all sizes";
    }
  }
  if (mismatch.staticReal) {
    advice_ = "Scalar";
    reason += "; make the parameter a weft::Scalar, whose value is no part of the signature";
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

Flat CompiledImpl::call(const Flat &arguments, Loc loc) {
  GraphLock lock(graphMutex());
  // Called from a function that is being traced, it contributes its operations.
  if (const Trace *outer = Trace::current()) {
    // One kernel may hold operations of both, and has one mode.
    if (outer->numerics != options_.numerics) {
      auto mode = [](Numerics numerics) { return numerics == Numerics::fast ? "fast" : "eager"; };
      fail("'" + options_.name + "' was compiled with " + mode(options_.numerics) +
               " numerics and is called inside of '" + outer->function + "', which has " +
               mode(outer->numerics) +
               ": a compiled function and what it calls have one mode; give both the same CompileOptions::"
               "numerics, or call the function that '" +
               options_.name + "' was made of",
           loc);
    }
    // A function that calls itself without end would end the stack.
    struct Depth {
      explicit Depth(int &depth) : depth(depth) { ++depth; }
      ~Depth() { --depth; }
      int &depth;
    } level(depth_);
    if (depth_ > maxDepth)
      fail("'" + options_.name + "' calls itself " + std::to_string(maxDepth) +
               " deep while it is recorded: a recursion must end, on a number that the host knows",
           loc);
    return fn_(arguments);
  }
  Slots slots;
  slots.reserve(arguments.tensors.size());
  for (const Tensor &argument : arguments.tensors) {
    use(argument, loc);
    slots.push_back(Access::slot(argument));
  }
  SizeValues sizes;
  if (declared_) {
    std::vector<Spec> specs;
    for (const auto &slot : slots)
      specs.push_back(slot->spec());
    sizes = declared_->bind(specs, loc);
  }
  ++calls_;
  if (pendingCount() > 0)
    flushAll();
  std::optional<Mismatch> reason;
  std::shared_ptr<Variant> found;
  for (size_t i = 0; i < variants_.size(); ++i) {
    std::optional<Mismatch> why = findMismatch(*variants_[i], slots, arguments.structure);
    if (!why) {
      found = variants_[i];
      if (i > 0)
        std::rotate(variants_.begin(), variants_.begin() + static_cast<ptrdiff_t>(i),
                    variants_.begin() + static_cast<ptrdiff_t>(i) + 1);
      break;
    }
    if (i == 0)
      reason = std::move(why);
  }
  if (!found) {
    std::string text = reason ? missed(*reason, slots, loc) : "";
    why_ = reason ? std::string(reason->code) + ": " + text : "";
    found = build(arguments, slots, loc);
    if (reason) {
      found->code = reason->code;
      if (variants_.size() == maxVariants) {
        advice_ = "64 variants";
        text += "; the least recently used of " + std::to_string(maxVariants) + " variants, " +
                variants_.back()->signature + ", was dropped (WEFT-R006)";
        variants_.pop_back();
      }
      found->reason = std::move(text);
    }
    variants_.insert(variants_.begin(), found);
    report(*found, loc);
    if (const ExplainMode mode = explainMode(); mode == ExplainMode::variants || mode == ExplainMode::full)
      std::fprintf(stderr, "%s\n%s", explanationOf(*found, mode == ExplainMode::full, loc).c_str(),
                   found->notes.c_str());
    // State that the trace made counts as older than the call, and may be pending still.
    flushAll();
  }
  last_ = found;
  return run(*found, slots, sizes, loc);
}

void CompiledImpl::prepare(Loc loc) {
  GraphLock lock(graphMutex());
  if (!declared_)
    fail("without a call, a function is compiled for the specs of its arguments: give compile() some, as in "
         "compile(fn, {spec({32, 784})}), or call it once",
         loc);
  if (!variants_.empty())
    return;
  if (!options_.onlyTensors)
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
  last_ = build(arguments, slots, loc);
  variants_.push_back(last_);
  flushAll();
}

void CompiledImpl::save(const std::string &path, const SaveOptions &options, Loc loc) {
  GraphLock lock(graphMutex());
  const Program &program = *last().program;
  if (pendingCount() > 0)
    flushAll();
  std::vector<runtime::StateValue> state;
  std::vector<std::shared_ptr<runtime::Buffer>> buffers; // what the values point into
  for (const Binding &binding : last_->bindings) {
    if (binding.argument < 0 || binding.callArgument >= 0)
      continue;
    const auto slot = binding.resolve({});
    const auto &argument = program.executable->signature().arguments[static_cast<size_t>(binding.argument)];
    if (!slot || slot->spec() != binding.spec)
      fail("'" + argument.name + "' was " + binding.spec.str() + " in the last call and is " +
               (slot ? slot->spec().str() : "none") + ": call the function once more before it is saved",
           loc);
    const Ref &value = slot->value();
    buffers.push_back(value.buffer());
    await(*buffers.back(), loc);
    state.push_back({argument.name,
                     binding.spec.dtype,
                     binding.spec.shape,
                     {static_cast<const std::byte *>(buffers.back()->data()), buffers.back()->bytes()}});
  }
  savePackage(path, program, state, options, loc);
}

const Variant &CompiledImpl::explained(const ExplainOptions &options, Loc loc) {
  last(); // something is there to be explained
  const Variant *chosen = nullptr;
  for (const auto &variant : variants_)
    if (options.variant ? variant->number == *options.variant : !chosen || variant->calls > chosen->calls)
      chosen = variant.get();
  if (!chosen)
    fail("'" + options_.name + "' has no variant " + std::to_string(*options.variant) +
             ": variants() has the numbers of those that are there",
         loc);
  return *chosen;
}

std::string CompiledImpl::variantsText(const Variant &chosen) const {
  if (variants_.size() <= 1)
    return {};
  std::string text =
      "variant " + std::to_string(chosen.number) + ", one of " + std::to_string(variants_.size()) + ":\n";
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

/// What the frontend has to say of a variant: at its compilation, and since.
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
  return text;
}

std::string CompiledImpl::explain(const ExplainOptions &options, Loc loc) {
  GraphLock lock(graphMutex());
  const Variant &chosen = explained(options, loc);
  return variantsText(chosen) + explanationOf(chosen, options.full, loc) + notesOf(chosen);
}

std::string CompiledImpl::explainHtml(const ExplainOptions &options, Loc loc) {
  GraphLock lock(graphMutex());
  const Variant &chosen = explained(options, loc);
  auto page = explainAsPage(*chosen.program, options_.name, variantsText(chosen) + notesOf(chosen));
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

CompiledBase::CompiledBase(frontend::TracedFn fn, CompileOptions options, Loc loc)
    : impl_(std::make_shared<frontend::CompiledImpl>(std::move(fn), std::move(options), loc)) {}

frontend::Flat CompiledBase::call(frontend::Flat arguments, Loc loc) const {
  return impl_->call(arguments, loc);
}

std::string CompiledBase::explain(const ExplainOptions &options, Loc loc) const {
  return impl_->explain(options, loc);
}

std::string CompiledBase::explain_html(const ExplainOptions &options, Loc loc) const {
  return impl_->explainHtml(options, loc);
}

std::string CompiledBase::mlir(const std::string &stage, Loc loc) const {
  if (stage == "trace")
    return impl_->last().program->traceText;
  if (stage == "plan")
    return impl_->last().program->planText;
  frontend::fail("unknown stage '" + stage + "', expected 'trace' or 'plan'", loc);
}

void CompiledBase::compile(Loc loc) const { impl_->prepare(loc); }

std::vector<VariantInfo> CompiledBase::variants() const { return impl_->variants(); }

void CompiledBase::save(const std::string &path, const SaveOptions &options, Loc loc) const {
  impl_->save(path, options, loc);
}

} // namespace weft
