//===- Compiled.cpp - Compiled functions: guards, variants, calls -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/compile.hpp"

#include "frontend/Lazy.h"
#include "frontend/Session.h"
#include "frontend/Trace.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

namespace weft::frontend {

namespace {

/// A slot that a variant reads or writes, and what it must look like for the variant to fit.
struct HiddenInput {
  std::shared_ptr<Slot> slot;
  Spec spec;
  bool requiresGrad = false; ///< whether gradients were collected in it
  bool hadGrad = false;      ///< whether it had a gradient before the call
  int argument = -1;         ///< number in the executable, or -1 if only its presence matters
  int tiedResult = -1;       ///< the result that is written to its storage
  int freshResult = -1;      ///< a result of another type, `freshSpec`, that replaces its value
  Spec freshSpec;
  int gradResult = -1;     ///< a gradient that the call makes where there was none
  bool clearsGrad = false; ///< the call leaves no gradient
};

struct Variant {
  std::vector<Spec> arguments;
  std::vector<ModeGuard> modes;
  bool gradMode = true;
  std::vector<HiddenInput> hidden;
  std::vector<int> argumentMap; ///< executable argument of each argument, -1 if unused
  std::vector<int> resultMap;   ///< executable result of each C++ result
  std::vector<Spec> resultSpecs;
  std::vector<Loc> resultLocs;
  std::shared_ptr<Program> program;
  std::string signature, reason;
  bool waits = false; ///< the call can fail, and the host acts on its success
  uint64_t calls = 0;
  // Kept between calls so that a steady loop allocates nothing of its own.
  std::vector<std::shared_ptr<runtime::Buffer>> argumentBuffers, resultBuffers;
};

std::string describe(const std::vector<Spec> &specs, const std::vector<ModeGuard> &modes) {
  std::string text = "(";
  for (size_t i = 0; i < specs.size(); ++i)
    text += (i ? ", " : "") + specs[i].str();
  text += ")";
  for (const ModeGuard &mode : modes)
    return text + (mode.value ? " train" : " eval");
  return text;
}

} // namespace

class CompiledImpl {
public:
  CompiledImpl(TracedFn fn, CompileOptions options, Loc loc)
      : fn_(std::move(fn)), options_(std::move(options)), loc_(loc) {}

  std::vector<Tensor> call(std::span<const Tensor> arguments, Loc loc);
  std::vector<VariantInfo> variants() const;
  const Program &last() const {
    GraphLock lock(graphMutex());
    if (!last_)
      fail("this compiled function has not run yet, so there is nothing to show: call it once first", loc_);
    return *last_->program;
  }

private:
  /// Why the variant does not fit, or nothing.
  std::optional<std::string> mismatch(const Variant &variant, const std::vector<Ref> &arguments) const;
  Variant &build(const std::vector<Ref> &arguments, Loc loc, std::string reason);
  std::vector<Tensor> run(Variant &variant, const std::vector<Ref> &arguments, Loc loc);

  static constexpr size_t maxVariants = 64;
  TracedFn fn_;
  CompileOptions options_;
  Loc loc_;
  std::vector<std::shared_ptr<Variant>> variants_; ///< most recently used first
  std::shared_ptr<Variant> last_;
};

std::optional<std::string> CompiledImpl::mismatch(const Variant &variant,
                                                  const std::vector<Ref> &arguments) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (variant.arguments[i] != arguments[i].spec())
      return "argument " + std::to_string(i) + " was " + variant.arguments[i].str() + " and is " +
             arguments[i].spec().str();
  for (const ModeGuard &mode : variant.modes)
    if (*mode.flag != mode.value)
      return std::string("a module was in ") + (mode.value ? "train" : "eval") + " mode and is in " +
             (*mode.flag ? "train" : "eval") + " mode";
  if (variant.gradMode != gradEnabled())
    return "gradients were " + std::string(variant.gradMode ? "recorded" : "off") + " and are " +
           (gradEnabled() ? "recorded" : "off");
  for (const HiddenInput &hidden : variant.hidden) {
    const Slot &slot = *hidden.slot;
    std::string name = slot.name.empty() ? "the tensor made at " + str(slot.loc) : slot.name;
    if (slot.value().spec() != hidden.spec)
      return name + " was " + hidden.spec.str() + " and is " + slot.value().spec().str();
    if (slot.requiresGrad != hidden.requiresGrad)
      return name +
             (hidden.requiresGrad ? " required a gradient and does not" : " required no gradient and does");
    if ((slot.grad != nullptr) != hidden.hadGrad)
      return name + (hidden.hadGrad ? " had a gradient and has none" : " had no gradient and has one");
  }
  return std::nullopt;
}

Variant &CompiledImpl::build(const std::vector<Ref> &arguments, Loc loc, std::string reason) {
  auto variant = std::make_shared<Variant>();
  variant->reason = std::move(reason);
  variant->gradMode = gradEnabled();
  Region region;
  region.name = options_.name;
  region.strict = options_.strict;

  Trace trace;
  std::vector<Tensor> inputs;
  for (const Ref &argument : arguments) {
    variant->arguments.push_back(argument.spec());
    inputs.push_back(wrap(trace.addArgument(argument.spec(), false, argument.node->loc), argument.node->loc));
  }
  std::vector<Tensor> outputs = fn_(inputs);
  std::vector<Ref> results;
  for (const Tensor &output : outputs)
    results.push_back(use(output, loc));
  std::vector<Ref> argumentRefs = trace.arguments();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (Access::slot(inputs[i])->value() != argumentRefs[i])
      fail("argument " + std::to_string(i) +
               " is written in place in a compiled function, and the caller's tensor "
               "would not see it: return the new value, or capture the tensor instead of passing it",
           Access::slot(inputs[i])->value().node->loc);
  variant->modes = trace.modes();
  std::vector<Trace::Change> changes = trace.finish();

  // Everything that the call must compute: results, written slots, gradients that are left.
  std::unordered_set<const Slot *> touchedSlots;
  for (const Trace::Change &change : changes)
    touchedSlots.insert(change.touched.slot.get());
  std::vector<Ref> roots = results;
  roots.insert(roots.end(), trace.effects().begin(), trace.effects().end());
  for (const Trace::Change &change : changes) {
    if (change.after != change.touched.input)
      roots.push_back(change.after);
    if (change.gradAfter && !touchedSlots.contains(change.gradAfter.get()))
      roots.push_back(change.gradAfter->value());
  }
  std::vector<Ref> leaves;
  collect(roots, /*numbersAreConstants=*/true, region.nodes, leaves);
  std::unordered_set<const Node *> used;
  for (const Ref &leaf : leaves)
    used.insert(leaf.node.get());

  for (const Ref &argument : argumentRefs) {
    bool isUsed = used.contains(argument.node.get());
    variant->argumentMap.push_back(isUsed ? static_cast<int>(region.arguments.size()) : -1);
    if (isUsed)
      region.arguments.push_back(
          {argument, "arg" + std::to_string(variant->argumentMap.size() - 1), "argument"});
    used.erase(argument.node.get());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    variant->resultMap.push_back(static_cast<int>(region.results.size()));
    variant->resultSpecs.push_back(results[i].spec());
    variant->resultLocs.push_back(results[i].node->loc);
    region.results.push_back({results[i], "result" + std::to_string(i)});
  }
  for (const Trace::Change &change : changes) {
    const TouchedSlot &touched = change.touched;
    HiddenInput hidden;
    hidden.slot = touched.slot;
    hidden.spec = touched.before.spec();
    hidden.requiresGrad = touched.slot->requiresGrad;
    hidden.hadGrad = touched.gradBefore != nullptr;
    hidden.clearsGrad = touched.gradBefore && !change.gradAfter;
    bool written = change.after != touched.input;
    bool tied = written && change.after.spec() == hidden.spec;
    if (used.contains(touched.input.node.get()) || tied) {
      hidden.argument = static_cast<int>(region.arguments.size());
      bool scalar = hidden.spec.shape.empty() && !written;
      region.arguments.push_back({touched.input, touched.slot->name, scalar ? "scalar" : "state", tied});
      used.erase(touched.input.node.get());
    }
    if (written) {
      hidden.freshSpec = change.after.spec();
      (tied ? hidden.tiedResult : hidden.freshResult) = static_cast<int>(region.results.size());
      region.results.push_back({change.after, touched.slot->name, tied ? hidden.argument : -1});
    }
    if (change.gradAfter && !touchedSlots.contains(change.gradAfter.get())) {
      hidden.gradResult = static_cast<int>(region.results.size());
      region.results.push_back({change.gradAfter->value(), touched.slot->name + ".grad"});
    }
    variant->hidden.push_back(std::move(hidden));
  }
  // What is left are values from outside that no slot held when they were read: constants of the call.
  for (const Ref &leaf : leaves)
    if (used.contains(leaf.node.get()))
      fail("the function reads a value that belongs to no tensor", leaf.node->loc);

  for (const RegionResult &result : region.results)
    if (result.value.node->needsCuda)
      failWithoutCuda(result.value, loc_);
  auto program = compileRegion(region);
  if (!program) {
    std::string message = program.status().message();
    fail(message, loc_, {}, program.status().code());
  }
  variant->program = *program;
  for (const HiddenInput &hidden : variant->hidden)
    variant->waits |=
        mayFail(region) && (hidden.gradResult >= 0 || hidden.clearsGrad || hidden.freshResult >= 0);
  variant->signature = describe(variant->arguments, variant->modes);
  variant->argumentBuffers.resize(region.arguments.size());
  variant->resultBuffers.resize(region.results.size());
  variants_.insert(variants_.begin(), variant);
  if (variants_.size() > maxVariants)
    variants_.pop_back();
  return *variant;
}

/// The storage of a slot's value, made writable: nobody else may hold the value.
static std::shared_ptr<runtime::Buffer> exclusiveBuffer(Slot &slot) {
  const Ref &value = slot.value();
  // One reference is the slot's own.
  if (value.node->kind == NodeKind::leaf && value.node.use_count() == 1)
    return value.node->buffers[value.result];
  const auto &shared = value.node->buffers[value.result];
  shared->wait().throw_if_failed();
  auto copy = runtime::Buffer::allocate(shared->bytes()).value_or_throw();
  std::memcpy(copy->data(), shared->data(), shared->bytes());
  slot.setValue(leaf(value.spec(), copy, slot.loc));
  return copy;
}

std::vector<Tensor> CompiledImpl::run(Variant &variant, const std::vector<Ref> &arguments, Loc loc) {
  auto &in = variant.argumentBuffers;
  auto &out = variant.resultBuffers;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (variant.argumentMap[i] >= 0)
      in[variant.argumentMap[i]] = arguments[i].node->buffers[arguments[i].result];
  for (const HiddenInput &hidden : variant.hidden)
    if (hidden.argument >= 0)
      in[hidden.argument] = hidden.tiedResult >= 0
                                ? exclusiveBuffer(*hidden.slot)
                                : hidden.slot->value().node->buffers[hidden.slot->value().result];
  ++variant.calls;
  Status status = variant.program->executable->run(in, out);
  // What the host changes after the call (which gradients exist, values of another type) must not happen if
  // the call fails: where it can, its end is waited for.
  if (status && variant.waits)
    for (const auto &buffer : out)
      if (Status late = buffer->wait(); !late && status)
        status = late;
  if (!status) {
    std::fill(in.begin(), in.end(), nullptr);
    std::fill(out.begin(), out.end(), nullptr);
    fail(status.message() + "\n  in call " + std::to_string(variant.calls) + " of '" + options_.name +
             "' with " + variant.signature,
         loc_, {}, status.code());
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < variant.resultMap.size(); ++i)
    results.push_back(wrap(leaf(variant.resultSpecs[i], out[variant.resultMap[i]], variant.resultLocs[i]),
                           variant.resultLocs[i]));
  for (const HiddenInput &hidden : variant.hidden) {
    if (hidden.freshResult >= 0) {
      hidden.slot->setValue(leaf(hidden.freshSpec, out[hidden.freshResult], hidden.slot->loc));
    }
    if (hidden.clearsGrad)
      hidden.slot->grad.reset();
    if (hidden.gradResult >= 0) {
      Tensor gradient = wrap(leaf(hidden.spec, out[hidden.gradResult], hidden.slot->loc), hidden.slot->loc);
      hidden.slot->grad = Access::slot(gradient);
      hidden.slot->grad->name = hidden.slot->name + ".grad";
    }
  }
  std::fill(in.begin(), in.end(), nullptr);
  std::fill(out.begin(), out.end(), nullptr);
  return results;
}

std::vector<Tensor> CompiledImpl::call(std::span<const Tensor> arguments, Loc loc) {
  GraphLock lock(graphMutex());
  // Called from a function that is being traced, it contributes its operations.
  if (Trace::current())
    return fn_(arguments);
  if (pendingCount() > 0)
    flushAll();
  std::vector<Ref> values;
  values.reserve(arguments.size());
  for (const Tensor &argument : arguments) {
    values.push_back(use(argument, loc));
    if (!values.back().node->computed(values.back().result))
      flush({values.back()});
  }
  std::string reason;
  std::shared_ptr<Variant> found;
  for (size_t i = 0; i < variants_.size(); ++i) {
    std::optional<std::string> why = mismatch(*variants_[i], values);
    if (!why) {
      found = variants_[i];
      if (i > 0)
        std::rotate(variants_.begin(), variants_.begin() + static_cast<ptrdiff_t>(i),
                    variants_.begin() + static_cast<ptrdiff_t>(i) + 1);
      break;
    }
    if (i == 0)
      reason = std::move(*why);
  }
  if (!found) {
    if (!variants_.empty() && options_.strict.find("recompile") != std::string::npos)
      fail("'" + options_.name + "' would be compiled again: " + reason +
               " (WEFT-R001, an error under strict=recompile)",
           loc, {}, "WEFT-R001");
    build(values, loc, reason);
    found = variants_[0];
    const char *explain = std::getenv("WEFT_EXPLAIN");
    if (explain && std::string_view(explain) == "recompile" && !reason.empty())
      std::fprintf(stderr, "weft: '%s' (%s) compiled again: %s\n", options_.name.c_str(), str(loc_).c_str(),
                   reason.c_str());
    if (explain && std::string_view(explain) == "1")
      std::fprintf(stderr, "%s\n", found->program->explanation.c_str());
    // State that the trace made counts as older than the call, and may be pending still.
    flushAll();
  }
  last_ = found;
  return run(*found, values, loc);
}

std::vector<VariantInfo> CompiledImpl::variants() const {
  GraphLock lock(graphMutex());
  std::vector<VariantInfo> list;
  for (const auto &variant : variants_)
    list.push_back({variant->signature, variant->reason, variant->program->compileMs, variant->calls});
  return list;
}

} // namespace weft::frontend

namespace weft {

uint64_t compile_count() { return frontend::compileCount(); }

CompiledBase::CompiledBase(frontend::TracedFn fn, CompileOptions options, Loc loc)
    : impl_(std::make_shared<frontend::CompiledImpl>(std::move(fn), std::move(options), loc)) {}

std::vector<Tensor> CompiledBase::call(std::span<const Tensor> arguments, Loc loc) const {
  return impl_->call(arguments, loc);
}

std::string CompiledBase::explain() const { return impl_->last().explanation; }

std::string CompiledBase::mlir(const std::string &stage) const {
  if (stage == "trace")
    return impl_->last().traceText;
  if (stage == "plan")
    return impl_->last().planText;
  throw Error("unknown stage '" + stage + "', expected 'trace' or 'plan'");
}

std::vector<VariantInfo> CompiledBase::variants() const { return impl_->variants(); }

void CompiledBase::save(const std::string &path) const {
  const std::vector<std::byte> &bytes = impl_->last().package;
  auto package = runtime::Package::from_memory(bytes);
  package.status().throw_if_failed();
  runtime::PackageWriter writer;
  for (const std::string &name : (*package)->names()) {
    auto section = (*package)->section(name);
    section.status().throw_if_failed();
    writer.add(name, *section);
  }
  writer.write_file(path).throw_if_failed();
}

} // namespace weft
