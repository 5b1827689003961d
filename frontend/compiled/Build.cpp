//===- Build.cpp - From a function to a variant --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Compiled.h"
#include "frontend/compiled/Replay.h"
#include "frontend/compiled/Save.h"
#include "frontend/compiled/Strides.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/View.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/ops/Handle.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace weft::frontend {

/// The options that the compiler needs. The frontend handles the others itself.
static ir::CompilerOptions compilerOptions(const CompileOptions &options) {
  ir::CompilerOptions made;
  for (auto [one, name] : {std::pair(Strict::fusion, "fusion"),
                           {Strict::donate, "donate"},
                           {Strict::capture, "capture"},
                           {Strict::recompile, "recompile"}})
    if (has(options.strict, one))
      made.strict += (made.strict.empty() ? "" : ",") + std::string(name);
  if (options.numerics == Numerics::fast)
    made.numerics = "fast";
  if (options.memory_limit)
    made.memoryLimit = static_cast<int64_t>(std::min<uint64_t>(*options.memory_limit, INT64_MAX));
  return made;
}

namespace {

/// Makes the region of a trace, and says which slots its arguments and results belong to.
class Binder {
public:
  Binder(Variant &variant, Region &region, const std::vector<Trace::Change> &changes)
      : variant_(variant), region_(region), changes_(changes) {}

  void bind(const std::vector<Ref> &results, const std::vector<Ref> &effects) {
    const std::vector<Ref> leaves = collectNodes(results, effects);
    for (size_t i = 0; i < results.size(); ++i) {
      variant_.resultMap.push_back(static_cast<int>(region_.results.size()));
      variant_.resultSpecs.push_back(results[i].spec());
      variant_.resultLocs.push_back(results[i].node->loc);
      region_.results.push_back({results[i], "result" + std::to_string(i)});
    }
    for (const Trace::Change &change : changes_) {
      const TouchedSlot &touched = change.touched;
      if (touched.argument >= 0 && !touched.gradientOf)
        argumentSlots_[touched.slot.get()] = touched.argument;
      seesGrad_[touched.slot.get()] = touched.gradSeen;
    }
    for (const Node *node : region_.nodes)
      read_.insert(node->operands.begin(), node->operands.end());
    for (const Trace::Change &change : changes_)
      // Where the function does not depend on a gradient, calls need not have it.
      if (!change.touched.gradientOf || seesGrad_[change.touched.gradientOf.get()])
        bindSlot(change);
    // The leaves that are left are values from outside that belong to no tensor.
    for (const Ref &leaf : leaves)
      if (unbound_.contains(leaf.node.get()))
        fail("the function reads a value that belongs to no tensor", leaf.node->loc);
  }

private:
  /// Collects what computes the values that a call must compute: results, written slots, new gradients.
  /// Returns the values from outside that it reads.
  std::vector<Ref> collectNodes(const std::vector<Ref> &results, const std::vector<Ref> &effects) {
    std::vector<Ref> roots = results;
    roots.insert(roots.end(), effects.begin(), effects.end());
    for (const Trace::Change &change : changes_) {
      if (change.touched.input && change.after != change.touched.input)
        roots.push_back(change.after);
      if (change.gradAfter != change.touched.gradBefore && change.gradValue)
        roots.push_back(change.gradValue);
    }
    std::vector<Ref> leaves;
    collect(roots, /*numbersAreConstants=*/true, region_.nodes, leaves);
    for (const Ref &leaf : leaves)
      unbound_.insert(leaf.node.get());
    return leaves;
  }

  void bindSlot(const Trace::Change &change) {
    const TouchedSlot &touched = change.touched;
    const Slot &slot = *touched.slot;
    Binding binding;
    binding.callArgument = touched.argument;
    binding.isGradient = touched.gradientOf != nullptr;
    if (touched.argument < 0)
      binding.slot = touched.gradientOf ? touched.gradientOf : touched.slot;
    if (binding.slot)
      binding.view = binding.slot->sharedView();
    binding.spec = touched.input ? touched.input.spec() : slot.spec();
    binding.requiresGrad = slot.requiresGrad;
    binding.needsGrad = slot.requiresGrad || (touched.input && touched.input.requiresGrad());
    if (slot.view())
      binding.needsGrad = touched.slot->needsGrad();
    binding.guardsGrad = touched.gradSeen;
    binding.hadGrad = touched.gradBefore != nullptr;
    binding.isWatched = touched.isWatched;
    binding.reread = touched.reread;
    binding.isReread = touched.isReread;
    binding.input = touched.input ? touched.input : touched.watched;
    const bool isArgument = touched.argument >= 0 && !touched.gradientOf;
    const std::string name = isArgument ? "arg" + std::to_string(touched.argument) : slot.name;
    bindValue(change, binding, isArgument, name);
    if (change.gradAfter != touched.gradBefore || touched.gradDropped)
      bindGradient(change, binding, name);
    variant_.bindings.push_back(std::move(binding));
  }

  /// Makes the slot's value an argument if the function needs it, and what is written to it a result.
  void bindValue(const Trace::Change &change, Binding &binding, bool isArgument, const std::string &name) {
    const Ref &input = change.touched.input;
    const bool written = input && change.after != input;
    const bool tied = written && change.after.spec() == binding.spec;
    // An argument with a dynamic size is passed even if the function uses only its size.
    const bool isSized = isArgument && anySymbolic(binding.spec.shape);
    if (input && (unbound_.contains(input.node.get()) || tied || isSized)) {
      binding.argument = static_cast<int>(region_.arguments.size());
      const ir::ArgumentRole role = written                      ? ir::ArgumentRole::state
                                    : isArgument                 ? ir::ArgumentRole::argument
                                    : binding.spec.shape.empty() ? ir::ArgumentRole::scalar
                                                                 : ir::ArgumentRole::state;
      region_.arguments.push_back({input, name, role, tied});
      unbound_.erase(input.node.get());
    }
    if (!written)
      return;
    binding.freshSpec = change.after.spec();
    (tied ? binding.tiedResult : binding.freshResult) = static_cast<int>(region_.results.size());
    region_.results.push_back({change.after, name, tied ? binding.argument : -1});
    binding.written = change.after;
    variant_.writesState = true;
  }

  /// Says what a call leaves as the slot's gradient.
  void bindGradient(const Trace::Change &change, Binding &binding, const std::string &name) {
    if (!change.gradAfter) {
      binding.clearsGrad = true;
      return;
    }
    if (!change.gradAfter->trace) {
      binding.gradSlot = change.gradAfter;
      return;
    }
    if (const auto argument = argumentSlots_.find(change.gradAfter.get()); argument != argumentSlots_.end()) {
      binding.gradArgument = argument->second;
      return;
    }
    binding.leftGradient = change.gradValue;
    binding.gradResult = static_cast<int>(region_.results.size());
    // A step that clears the gradient first and uses the new one itself leaves that gradient for the program
    // to read. A package has no such reader, so the gradient is no result of it.
    const bool used = change.touched.gradDropped && read_.contains(change.gradValue);
    region_.results.push_back({change.gradValue, name + ".grad", -1, !used});
    variant_.notes += "a gradient of " + binding.str() +
                      " is left at the end and kept: " + change.gradValue.spec().bytesText() + " bytes" +
                      (used ? "; zero_grad() after its use, and not before, keeps none\n" : "\n");
  }

  Variant &variant_;
  Region &region_;
  const std::vector<Trace::Change> &changes_;
  std::unordered_set<const Node *> unbound_; ///< values from outside that are no argument yet
  std::unordered_map<const Slot *, int> argumentSlots_;
  std::unordered_map<const Slot *, bool> seesGrad_;
  RefSet read_; ///< the values that operations of the function read
};

} // namespace

Region CompiledImpl::bind(Variant &variant, const std::vector<Trace::Change> &changes,
                          const std::vector<Ref> &results, const std::vector<Ref> &effects,
                          const Trace &trace) {
  Region region;
  region.name = options_.name;
  region.options = compilerOptions(options_);
  region.symbols = variant.symbols;
  std::vector<Ref> others = effects;
  for (const Variant::ResultGradient &gradient : variant.resultGradients)
    if (gradient.value)
      others.push_back(gradient.value);
  Binder(variant, region, changes).bind(results, others);
  for (size_t i = 0; i < variant.resultGradients.size(); ++i)
    if (Variant::ResultGradient &gradient = variant.resultGradients[i]; gradient.value) {
      gradient.result = static_cast<int>(region.results.size());
      region.results.push_back({gradient.value, "result" + std::to_string(i) + ".grad", -1,
                                /*shipped=*/false});
    }
  keepHistories(variant, results, trace);
  for (Variant::SpentPart &part : variant.spentParts) {
    part.result = static_cast<int>(region.results.size());
    region.results.push_back({part.value, "part" + std::to_string(region.results.size()), -1,
                              /*shipped=*/false});
    variant.notes +=
        "the value made at " + str(part.value.node->loc) +
        ", whose history is used up, is kept for gradients beside it: " + part.value.spec().bytesText() +
        " bytes\n";
  }
  return region;
}

Flat CompiledImpl::traceArguments(Trace &trace, const Variant &variant, const Flat &arguments,
                                  const Slots &slots) const {
  trace.symbols = variant.symbols;
  trace.function = options_.name;
  trace.numerics = options_.numerics;
  Flat inputs;
  inputs.structure = arguments.structure;
  for (size_t i = 0; i < slots.size(); ++i)
    inputs.tensors.push_back(variant.sameAs[i] >= 0 ? inputs.tensors[static_cast<size_t>(variant.sameAs[i])]
                             : variant.pins[i]
                                 ? arguments.tensors[i]
                                 : trace.addArgument(static_cast<int>(i), slots[i], slots[i]->loc,
                                                     declared_ ? &declared_->arguments[i] : nullptr));
  return inputs;
}

std::optional<Flat> CompiledImpl::runTraced(Trace &trace, const Variant &variant, const Flat &arguments,
                                            const Slots &slots) const {
  std::optional<Flat> outputs;
  try {
    outputs = runFunction(traceArguments(trace, variant, arguments, slots));
  } catch (...) { // of a trace that is outdated, an error may be due to that
    if (!trace.isOutdated())
      throw;
  }
  if (trace.isOutdated())
    outputs.reset();
  return outputs;
}

std::vector<int> CompiledImpl::sameArguments(const Slots &slots) const {
  std::vector<int> sameAs;
  for (size_t i = 0; i < slots.size(); ++i) {
    sameAs.push_back(-1);
    // Arguments that are declared with different shapes stay two arguments, even if one tensor is passed for
    // both.
    for (size_t j = 0; j < i && sameAs[i] < 0; ++j)
      if (slots[j] == slots[i] && sameAs[j] < 0 &&
          (!declared_ || declared_->arguments[j].shape == declared_->arguments[i].shape))
        sameAs[i] = static_cast<int>(j);
  }
  return sameAs;
}

std::vector<Ref> CompiledImpl::takeResults(Variant &variant, const Flat &outputs, Loc loc) const {
  std::vector<Ref> results;
  for (size_t i = 0; i < outputs.tensors.size(); ++i) {
    results.push_back(use(outputs.tensors[i], loc));
    variant.resultRetains.push_back(Access::slot(outputs.tensors[i])->retained != nullptr);
    variant.resultCopiedBy.push_back(Access::slot(outputs.tensors[i])->storage()->copiedBy);
    if (Access::slot(outputs.tensors[i])->view()) {
      std::string note = "result " + std::to_string(i) + " of '" + options_.name + "' is a view (made at " +
                         str(Access::slot(outputs.tensors[i])->loc) + ") and is returned as a copy of " +
                         results[i].spec().bytesText() + " bytes";
      if (has(options_.strict, Strict::donate))
        fail(note + underStrict("WEFT-D010", "donate") + ": return the tensor it is a view of, or a clone()",
             loc, {}, "WEFT-D010");
      variant.notes += "WEFT-D010: " + note + "\n";
    }
  }
  return results;
}

void CompiledImpl::noteGradients(Variant &variant, const Flat &outputs, const Trace &trace) {
  for (const Tensor &output : outputs.tensors) {
    const Slot &slot = *Access::slot(output);
    const bool isMade = !trace.touched(slot);
    variant.resultIsLeaf.push_back(isMade && slot.requiresGrad);
    const bool hasGrad = isMade && slot.grad && slot.grad->trace == TraceMark(&trace);
    variant.resultGradients.push_back({-1, hasGrad ? slot.grad->value() : Ref(), {}});
  }
}

/// Whether the host changes something after a call that must not change if the call fails.
static bool waitsForSuccess(const Variant &variant) {
  bool acts = false;
  for (const Binding &binding : variant.bindings)
    acts |=
        binding.gradResult >= 0 || binding.gradSlot || binding.gradArgument >= 0 || binding.freshResult >= 0;
  for (const ModeChange &mode : variant.modes)
    acts |= mode.after.has_value();
  return acts && variant.program->mayFail;
}

/// If the function also captures an argument, the tensor has two names in the trace. Then the function is to
/// be traced once more, with the captured tensor in the argument's place.
static bool pinCaptured(const Trace &trace, Variant &variant, const Slots &slots, Loc loc) {
  bool again = false;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (variant.pins[i] || variant.sameAs[i] >= 0 || !trace.touched(*slots[i]))
      continue;
    if (!variant.symbols.empty())
      fail("argument " + std::to_string(i) +
               " is captured by the function too; where arguments have dynamic sizes, a tensor is one or the "
               "other",
           loc);
    variant.pins[i] = slots[i].get();
    again = true;
  }
  return again;
}

std::shared_ptr<Variant> CompiledImpl::build(const Flat &arguments, const Slots &slots,
                                             const std::string &why, bool &isOld, Loc loc) {
  auto variant = std::make_shared<Variant>();
  variant->structure = arguments.structure;
  variant->gradMode = gradEnabled();
  variant->loc = loc;
  variant->pins.resize(slots.size());
  variant->sameAs = sameArguments(slots);

  Region region;
  if (declared_)
    variant->symbols = declared_->symbols;
  for (bool again = true; again;) {
    const uint64_t recordedFrom = nextSerial();
    Trace trace;
    const std::optional<Flat> recorded = runTraced(trace, *variant, arguments, slots);
    if (!recorded)
      return nullptr;
    const Flat &outputs = *recorded;
    again = pinCaptured(trace, *variant, slots, loc);
    if (again)
      continue;
    const std::vector<Ref> results = takeResults(*variant, outputs, loc);
    noteGradients(*variant, outputs, trace);
    variant->resultStructure = outputs.structure;
    variant->modes = trace.modes();
    variant->guards = trace.guards();
    std::vector<Ref> effects = trace.effects();
    if (const Slot *changed = trace.changedFlag())
      fail(std::string("the function leaves a tensor from outside with requires_grad ") +
               (changed->requiresGrad ? "set" : "cleared") +
               ", which would happen once, while it is compiled: set it back in the function, or change it "
               "between the calls",
           loc, {}, "WEFT-C001");
    std::vector<Trace::Change> changes = trace.finish();
    region = bind(*variant, changes, results, effects, trace);
    if (checksCaptures_)
      variant->recorded = describeOperations(region, *variant, recordedFrom);
    // `results` and `changes` keep the nodes of the region alive until it is compiled.
    if (auto conflict = aliasConflict(*variant, slots))
      fail(*conflict + ": pass one tensor and take its parts inside, or pass a clone()", loc);
    for (const RegionResult &result : region.results)
      if (result.value.node->lacksDevice)
        failWithoutDevice(result.value, loc);
    nameState(region);
    if (!declared_)
      takeStrides(*variant, region, slots);
    region.loc = loc;
    region.reason = why.empty() ? "the first variant of '" + options_.name + "'" : why;
    region.signature = variant->signature = describe(slots, variant->structure, variant->modes);
    const auto mismatch = [&] {
      const std::optional<Mismatch> found = findMismatch(*variant, slots, arguments.structure);
      return found ? found->text : std::string();
    };
    // A function that changes its arguments may not fit them after the trace. Only a mismatch that is new
    // after the pause matters.
    const std::string before = mismatch();
    bool paused = false;
    const PausePermit permit; // the trace is over, and every slot is restored
    auto program = compileRegion(region, paused);
    isOld = paused && mismatch() != before;
    if (!program)
      fail(program.status(), loc);
    variant->program = *program;
    if (!trace.keep()) // another thread made the state that the trace made as well
      return nullptr;
  }
  variant->holdSlots();
  variant->pinnedFor = pinnedFor(region);
  variant->waits = waitsForSuccess(*variant);
  variant->number = made_++;
  variant->argumentBuffers.resize(region.arguments.size());
  variant->resultBuffers.resize(region.results.size());
  return variant;
}

} // namespace weft::frontend
