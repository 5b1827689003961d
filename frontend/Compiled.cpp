//===- Compiled.cpp - Compiled functions: traces, variants, calls ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/compile.hpp"

#include "frontend/Explain.h"
#include "frontend/Lazy.h"
#include "frontend/Save.h"
#include "frontend/Variant.h"
#include "frontend/View.h"
#include "ir/DimExpr.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unordered_set>

namespace weft::frontend {

using Slots = std::vector<std::shared_ptr<Slot>>;

/// As the passes spell it: "fusion,donate".
static std::string text(Strict strict) {
  std::string list;
  for (auto [one, name] : {std::pair(Strict::fusion, "fusion"),
                           {Strict::donate, "donate"},
                           {Strict::capture, "capture"},
                           {Strict::recompile, "recompile"}})
    if (has(strict, one))
      list += (list.empty() ? "" : ",") + std::string(name);
  return list;
}

/// The end of a message that is an error only because the caller asked for it, as the passes write it.
static std::string underStrict(const char *code, const char *mode) {
  return std::string(" (") + code + ", an error under strict=" + mode + ")";
}

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
  const Variant &last() {
    GraphLock lock(graphMutex());
    if (!last_ && declared_)
      prepare(loc_);
    if (!last_)
      fail("this compiled function has not run yet, so there is nothing to show: call it once first", loc_);
    return *last_;
  }

private:
  std::shared_ptr<Variant> build(const Flat &arguments, const Slots &slots, Loc loc);
  /// From what a trace left, the function to compile and how calls bind to it.
  Region bind(Variant &variant, const std::vector<Trace::Change> &changes, const std::vector<Ref> &results,
              const std::vector<Ref> &effects, bool tookGradients);
  std::string missed(const Mismatch &mismatch, const Slots &slots, Loc loc);
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
  bool advisedScalar_ = false;
};

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

Region CompiledImpl::bind(Variant &variant, const std::vector<Trace::Change> &changes,
                          const std::vector<Ref> &results, const std::vector<Ref> &effects,
                          bool tookGradients) {
  Region region;
  region.name = options_.name;
  region.strict = text(options_.strict);
  region.symbols = variant.symbols;
  // Everything that the call must compute: results, written slots, gradients that are made.
  std::vector<Ref> roots = results;
  roots.insert(roots.end(), effects.begin(), effects.end());
  for (const Trace::Change &change : changes) {
    if (change.touched.input && change.after != change.touched.input)
      roots.push_back(change.after);
    if (change.gradAfter != change.touched.gradBefore && change.gradValue)
      roots.push_back(change.gradValue);
  }
  std::vector<Ref> leaves;
  collect(roots, /*numbersAreConstants=*/true, region.nodes, leaves);
  std::unordered_set<const Node *> used;
  for (const Ref &leaf : leaves)
    used.insert(leaf.node.get());

  for (size_t i = 0; i < results.size(); ++i) {
    variant.resultMap.push_back(static_cast<int>(region.results.size()));
    variant.resultSpecs.push_back(results[i].spec());
    variant.resultLocs.push_back(results[i].node->loc);
    region.results.push_back({results[i], "result" + std::to_string(i)});
  }
  std::unordered_map<const Slot *, int> argumentSlots;
  for (const Trace::Change &change : changes)
    if (change.touched.argument >= 0 && !change.touched.gradientOf)
      argumentSlots[change.touched.slot.get()] = change.touched.argument;
  for (const Trace::Change &change : changes) {
    const TouchedSlot &touched = change.touched;
    const Slot &slot = *touched.slot;
    Binding binding;
    binding.callArgument = touched.argument;
    binding.isGradient = touched.gradientOf != nullptr;
    if (touched.argument < 0)
      binding.slot = touched.gradientOf ? touched.gradientOf : touched.slot;
    binding.spec = touched.input ? touched.input.spec() : slot.spec();
    binding.requiresGrad = slot.requiresGrad;
    binding.needsGrad = slot.requiresGrad || (touched.input && touched.input.requiresGrad());
    if (slot.view())
      binding.needsGrad = touched.slot->needsGrad();
    binding.hadGrad = touched.gradBefore != nullptr;
    binding.input = touched.input;
    bool isArgument = touched.argument >= 0 && !touched.gradientOf;
    std::string name = isArgument ? "arg" + std::to_string(touched.argument) : slot.name;
    bool written = touched.input && change.after != touched.input;
    bool tied = written && change.after.spec() == binding.spec;
    // An argument with a dynamic size is one even if only its size is used.
    bool isSized = isArgument && ir::anySymbolic(binding.spec.shape);
    if (touched.input && (used.contains(touched.input.node.get()) || tied || isSized)) {
      binding.argument = static_cast<int>(region.arguments.size());
      const char *role = written                      ? "state"
                         : isArgument                 ? "argument"
                         : binding.spec.shape.empty() ? "scalar"
                                                      : "state";
      region.arguments.push_back({touched.input, name, role, tied});
      used.erase(touched.input.node.get());
    }
    if (written) {
      binding.freshSpec = change.after.spec();
      (tied ? binding.tiedResult : binding.freshResult) = static_cast<int>(region.results.size());
      region.results.push_back({change.after, name, tied ? binding.argument : -1});
      binding.written = change.after;
      variant.writesState = true;
    }
    if (change.gradAfter != touched.gradBefore) {
      auto argument = argumentSlots.find(change.gradAfter.get());
      if (!change.gradAfter) {
        binding.clearsGrad = true;
      } else if (!change.gradAfter->trace) {
        binding.gradSlot = change.gradAfter;
      } else if (argument != argumentSlots.end()) {
        binding.gradArgument = argument->second;
      } else {
        binding.gradResult = static_cast<int>(region.results.size());
        region.results.push_back({change.gradValue, name + ".grad"});
        variant.notes += "a gradient of " + binding.str() +
                         " is left at the end and kept: " + change.gradValue.spec().bytesText() + " bytes\n";
      }
    }
    variant.bindings.push_back(std::move(binding));
  }
  // What is left are values from outside that no slot held when they were read: constants of the call.
  for (const Ref &leaf : leaves)
    if (used.contains(leaf.node.get()))
      fail("the function reads a value that belongs to no tensor", leaf.node->loc);
  // A function that takes no gradients itself can be called on the way to one.
  bool needed = std::any_of(results.begin(), results.end(), [](const Ref &r) { return r.requiresGrad(); });
  if (needed && !tookGradients) {
    variant.resultRefs = results;
    variant.nodes = region.nodes;
  } else {
    for (Binding &binding : variant.bindings)
      binding.written = binding.input = {};
  }
  return region;
}

std::shared_ptr<Variant> CompiledImpl::build(const Flat &arguments, const Slots &slots, Loc loc) {
  auto variant = std::make_shared<Variant>();
  variant->structure = arguments.structure;
  variant->gradMode = gradEnabled();
  variant->loc = loc;
  variant->pins.resize(slots.size());
  for (size_t i = 0; i < slots.size(); ++i)
    variant->sameAs.push_back(
        static_cast<int>(std::find(slots.begin(), slots.end(), slots[i]) - slots.begin()));
  for (size_t i = 0; i < slots.size(); ++i)
    if (variant->sameAs[i] == static_cast<int>(i))
      variant->sameAs[i] = -1;

  Region region;
  if (declared_)
    variant->symbols = declared_->symbols;
  for (bool again = true; again;) {
    Trace trace;
    trace.symbols = variant->symbols;
    Flat inputs;
    inputs.structure = arguments.structure;
    for (size_t i = 0; i < slots.size(); ++i)
      inputs.tensors.push_back(
          variant->sameAs[i] >= 0 ? inputs.tensors[static_cast<size_t>(variant->sameAs[i])]
          : variant->pins[i]      ? arguments.tensors[i]
                                  : trace.addArgument(static_cast<int>(i), slots[i], slots[i]->loc,
                                                 declared_ ? &declared_->arguments[i] : nullptr));
    Flat outputs = fn_(inputs);
    // An argument that the function captures too is one leaf under two names: it is traced once more, as what
    // was captured.
    again = false;
    for (size_t i = 0; i < slots.size(); ++i)
      if (!variant->pins[i] && variant->sameAs[i] < 0 && trace.touched(*slots[i])) {
        if (!variant->symbols.empty())
          fail("argument " + std::to_string(i) +
                   " is captured by the function too; where arguments have dynamic sizes, a tensor is one or "
                   "the other",
               loc);
        variant->pins[i] = slots[i].get();
        again = true;
      }
    if (again)
      continue;
    std::vector<Ref> results;
    for (size_t i = 0; i < outputs.tensors.size(); ++i) {
      results.push_back(use(outputs.tensors[i], loc));
      if (Access::slot(outputs.tensors[i])->view()) {
        std::string note = "result " + std::to_string(i) + " of '" + options_.name + "' is a view (made at " +
                           str(Access::slot(outputs.tensors[i])->loc) + ") and is returned as a copy of " +
                           results[i].spec().bytesText() + " bytes";
        if (has(options_.strict, Strict::donate))
          fail(note + underStrict("WEFT-D010", "donate") +
                   ": return the tensor it is a view of, or a clone()",
               loc, {}, "WEFT-D010");
        variant->notes += "WEFT-D010: " + note + "\n";
      }
    }
    variant->resultStructure = outputs.structure;
    variant->modes = trace.modes();
    bool tookGradients = trace.tookGradients();
    std::vector<Ref> effects = trace.effects();
    std::vector<Trace::Change> changes = trace.finish();
    region = bind(*variant, changes, results, effects, tookGradients);
    // The references keep the nodes of the region until it is compiled.
    if (auto conflict = aliasConflict(*variant, slots))
      fail(*conflict + ": pass one tensor and take its parts inside, or pass a clone()", loc);
    for (const RegionResult &result : region.results)
      if (result.value.node->needsCuda)
        failWithoutCuda(result.value, loc);
    nameState(region);
    auto program = compileRegion(region);
    if (!program)
      fail(program.status().message(), loc, {}, program.status().code());
    variant->program = *program;
  }
  for (const Binding &binding : variant->bindings)
    variant->waits |= binding.gradResult >= 0 || binding.gradSlot || binding.gradArgument >= 0 ||
                      binding.clearsGrad || binding.freshResult >= 0;
  for (const ModeChange &mode : variant->modes)
    variant->waits |= mode.after.has_value();
  variant->waits &= variant->program->mayFail;
  variant->signature = describe(slots, variant->structure, variant->modes);
  variant->argumentBuffers.resize(region.arguments.size());
  variant->resultBuffers.resize(region.results.size());
  return variant;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Whether something else than the slot holds its value, so that the storage must be copied to be written.
static bool isHeld(Slot &slot) {
  slot.forgetViews();
  if (slot.view())
    return false;
  const Ref &value = slot.value();
  // One reference is the slot's own.
  return value.node->kind != NodeKind::leaf || value.node.use_count() != 1;
}

/// The storage of a slot's value, made writable: nobody else may hold the value. `copied` says that somebody
/// did.
static std::shared_ptr<runtime::Buffer> exclusiveBuffer(Slot &slot, bool &copied) {
  copied = isHeld(slot);
  const Ref &value = slot.value();
  if (!slot.view() && !copied)
    return value.node->buffers[value.result];
  const auto &shared = value.node->buffers[value.result];
  shared->wait().throw_if_failed();
  auto copy = runtime::Buffer::allocate(shared->bytes()).value_or_throw();
  std::memcpy(copy->data(), shared->data(), shared->bytes());
  if (copied)
    slot.setValue(leaf(value.spec(), copy, slot.loc));
  return copy;
}

void CompiledImpl::failCall(const Status &status, const Variant &variant, Loc loc) {
  fail(status.message() + "\n  seen by call " + std::to_string(calls_) + " of '" + options_.name + "' with " +
           variant.signature,
       loc, {}, status.code());
}

Flat CompiledImpl::run(Variant &variant, const Slots &arguments, const SizeValues &sizes, Loc loc) {
  auto &in = variant.argumentBuffers;
  auto &out = variant.resultBuffers;
  Slots bound;
  bool waits = variant.waits;
  {
    std::vector<Ref> missing;
    for (const Binding &binding : variant.bindings) {
      bound.push_back(binding.resolve(arguments));
      const Ref &value = bound.back()->value();
      if (binding.argument >= 0 && !value.node->computed(value.result))
        missing.push_back(value);
      waits |= variant.program->mayFail && binding.writes() && bound.back()->view();
    }
    flush(missing);
  }
  // What gradients need of the values before the call is recorded before they are overwritten.
  Replay recorded;
  if (variant.differentiable())
    recorded = replay(variant, bound, sizes);
  for (size_t i = 0; i < bound.size(); ++i) {
    const Binding &binding = variant.bindings[i];
    if (binding.argument < 0)
      continue;
    if (binding.tiedResult >= 0 && has(options_.strict, Strict::donate) && isHeld(*bound[i])) {
      std::fill(in.begin(), in.end(), nullptr);
      fail("'" + options_.name + "' would copy " + std::to_string(binding.spec.bytes()) + " bytes of " +
               binding.str() + " before it writes them, since something else holds the value" +
               underStrict("WEFT-D011", "donate") + ": drop what holds it, or let it hold a clone()",
           loc, {}, "WEFT-D011");
    }
    bool copied = false;
    in[binding.argument] = binding.tiedResult >= 0
                               ? exclusiveBuffer(*bound[i], copied)
                               : bound[i]->value().node->buffers[bound[i]->value().result];
    if (copied) {
      ++variant.copies;
      variant.lastCopy = binding.str() + ", " + binding.spec.bytesText() + " bytes";
    }
  }
  ++variant.calls;
  runtime::RunOptions options;
  options.origin = runtime::CallOrigin{calls_, loc.file_name(), loc.line()};
  std::vector<int64_t> values;
  for (const runtime::SymbolInfo &symbol : variant.program->executable->signature().symbols)
    values.push_back(sizes.at(symbol.name));
  auto executable = variant.program->executable->at(values);
  Status status = executable ? (*executable)->run(in, out, options) : executable.status();
  // What the host changes after the call (which gradients exist, values of another type) must not happen if
  // the call fails: where it can, its end is waited for.
  if (status && waits)
    for (const auto &buffer : out)
      if (Status late = buffer->wait(); !late && status)
        status = late;
  if (!status) {
    std::fill(in.begin(), in.end(), nullptr);
    std::fill(out.begin(), out.end(), nullptr);
    failCall(status, variant, loc);
  }
  // A value with the operations that it came by, for `backward`, and the storage that the call gave it.
  auto computed = [](Ref ref, const std::shared_ptr<runtime::Buffer> &buffer, Loc at) {
    if (ref.node->computed(ref.result))
      ref = sameValue(ref, at);
    ref.node->buffers[ref.result] = buffer;
    return ref;
  };
  Flat results;
  results.structure = variant.resultStructure;
  for (size_t i = 0; i < variant.resultMap.size(); ++i) {
    const auto &buffer = out[variant.resultMap[i]];
    Loc at = variant.resultLocs[i];
    bool differentiable = variant.differentiable() && recorded.results[i].requiresGrad();
    results.tensors.push_back(wrap(differentiable ? computed(recorded.results[i], buffer, at)
                                                  : leaf(concrete(variant.resultSpecs[i], sizes), buffer, at),
                                   at));
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    const Binding &binding = variant.bindings[i];
    const auto &slot = bound[i];
    if (binding.writes()) {
      const auto &buffer = out[binding.freshResult >= 0 ? binding.freshResult : binding.tiedResult];
      bool differentiable =
          variant.differentiable() && recorded.written[i].requiresGrad() && !slot->requiresGrad;
      if (differentiable)
        assign(slot, computed(recorded.written[i], buffer, slot->loc));
      else if (binding.freshResult >= 0 || slot->view())
        assign(slot, leaf(concrete(binding.freshSpec, sizes), buffer, slot->loc));
    }
    if (binding.clearsGrad)
      slot->grad.reset();
    if (binding.gradSlot)
      slot->grad = binding.gradSlot;
    if (binding.gradArgument >= 0)
      slot->grad = arguments[static_cast<size_t>(binding.gradArgument)];
    if (binding.gradResult >= 0) {
      Tensor gradient = wrap(leaf(slot->spec(), out[binding.gradResult], slot->loc), slot->loc);
      slot->grad = Access::slot(gradient);
      slot->grad->name = slot->name + ".grad";
    }
  }
  for (const ModeChange &mode : variant.modes)
    if (mode.after)
      *mode.flag = *mode.after;
  std::fill(in.begin(), in.end(), nullptr);
  std::fill(out.begin(), out.end(), nullptr);
  return results;
}

/// The reason for another variant, with advice where there is some.
std::string CompiledImpl::missed(const Mismatch &mismatch, const Slots &slots, Loc loc) {
  std::string reason = mismatch.text;
  if (mismatch.argument >= 0) {
    auto d = static_cast<size_t>(mismatch.dim);
    std::set<int64_t> sizes{slots[static_cast<size_t>(mismatch.argument)]->spec().shape[d]};
    for (const auto &variant : variants_)
      for (const Binding &binding : variant->bindings)
        if (binding.callArgument == mismatch.argument && !binding.isGradient && binding.spec.shape.size() > d)
          sizes.insert(binding.spec.shape[d]);
    if (sizes.size() >= 3)
      reason += "; this is size number " + std::to_string(sizes.size()) + " of dimension " +
                std::to_string(mismatch.dim) + " of argument " + std::to_string(mismatch.argument) +
                ": give it a Dim, as in compile(fn, {spec({Dim(\"n\", " + std::to_string(*sizes.begin()) +
                ", " + std::to_string(*sizes.rbegin()) + "), ...})}), and one variant serves all sizes";
  }
  if (mismatch.staticReal)
    reason += "; make the parameter a weft::Scalar, whose value is no part of the signature";
  if (has(options_.strict, Strict::recompile))
    fail("'" + options_.name + "' would be compiled again: " + reason +
             underStrict(mismatch.code, "recompile"),
         loc, {}, mismatch.code);
  if (mismatch.staticReal && !advisedScalar_) {
    advisedScalar_ = true;
    std::fprintf(stderr, "weft: '%s' compiled again (%s), at %s: %s\n", options_.name.c_str(), mismatch.code,
                 str(loc).c_str(), reason.c_str());
  }
  return reason;
}

Flat CompiledImpl::call(const Flat &arguments, Loc loc) {
  GraphLock lock(graphMutex());
  // Called from a function that is being traced, it contributes its operations.
  if (Trace::current()) {
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
    found = build(arguments, slots, loc);
    if (reason) {
      found->code = reason->code;
      if (variants_.size() == maxVariants) {
        text += "; the least recently used of " + std::to_string(maxVariants) + " variants, " +
                variants_.back()->signature + ", was dropped (WEFT-R006)";
        variants_.pop_back();
      }
      found->reason = std::move(text);
    }
    variants_.insert(variants_.begin(), found);
    ExplainMode explain = explainMode();
    if (explain == ExplainMode::recompile && reason)
      std::fprintf(stderr, "weft: '%s' (%s) compiled again (%s), at %s: %s\n", options_.name.c_str(),
                   str(loc_).c_str(), reason->code, str(loc).c_str(), found->reason.c_str());
    if (explain == ExplainMode::everything)
      std::fprintf(stderr, "%s\n%s", found->program->explanation.c_str(), found->notes.c_str());
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
    buffers.push_back(value.node->buffers[value.result]);
    buffers.back()->wait().throw_if_failed();
    state.push_back({argument.name,
                     binding.spec.dtype,
                     binding.spec.shape,
                     {static_cast<const std::byte *>(buffers.back()->data()), buffers.back()->bytes()}});
  }
  savePackage(path, program, state, options, loc);
}

std::vector<VariantInfo> CompiledImpl::variants() const {
  GraphLock lock(graphMutex());
  std::vector<VariantInfo> list;
  for (const auto &variant : variants_)
    list.push_back({variant->signature, variant->reason, variant->code, variant->loc,
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

std::string CompiledBase::explain() const {
  const frontend::Variant &variant = impl_->last();
  std::string text = variant.program->explanation + variant.notes;
  if (variant.copies > 0)
    text += "WEFT-D011: storage to be written was copied " + std::to_string(variant.copies) +
            " times, since something else held it; last " + variant.lastCopy + "\n";
  return text;
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
