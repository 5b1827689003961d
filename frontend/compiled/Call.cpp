//===- Call.cpp - One call of a variant ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Compiled.h"
#include "frontend/compiled/Replay.h"
#include "frontend/compiled/SpentHistories.h"
#include "frontend/compiled/Strides.h"
#include "frontend/graph/GradHooks.h"
#include "frontend/graph/Undo.h"
#include "frontend/graph/View.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/ops/Handle.h"
#include "frontend/ops/State.h"

#include <algorithm>
#include <utility>

namespace weft::frontend {

/// Whether something besides the slot holds its value, so that a write has to copy the storage.
static bool isHeld(Slot &slot) {
  slot.forgetViews();
  if (slot.view())
    return false;
  const Ref &value = slot.value();
  // One reference is the slot's own. A gradient may also need the value through the node that computed it,
  // `source`.
  return value.node->kind != NodeKind::leaf || value.node.use_count() != 1 || !value.node->source.expired();
}

/// The storage of a slot's value, for a call to write. If something else holds the value, it is copied first,
/// and `copied` is set.
static std::shared_ptr<runtime::Buffer> exclusiveBuffer(Slot &slot, bool &copied) {
  copied = isHeld(slot);
  const Ref &value = slot.value();
  if (!slot.view() && !copied)
    return value.buffer();
  const auto &shared = value.buffer();
  await(*shared, slot.loc);
  runtime::Device &device = shared->device();
  auto copy = runtime::Buffer::allocate(shared->bytes(), 0, device).value_or_throw();
  throwAt(runtime::copy_between(device, copy->data(), device, shared->data(), shared->bytes()), slot.loc);
  if (copied)
    slot.setValue(leaf(value.spec(), copy, slot.loc));
  return copy;
}

void CompiledImpl::failCall(const Status &status, const Variant &variant, Loc loc) {
  undoLostWrites(); // an earlier call that was to compute an argument may have failed
  const Status told = status.with([&](FailureInfo &info) {
    // If the failure is this call's own, the message names the call once, at `loc`.
    if (info.caller == id_ && info.call == calls_) {
      info.call_file.clear();
      info.notes = "  called with " + variant.signature;
    } else {
      info.notes = "  seen by call " + std::to_string(calls_) + " of '" + options_.name + "' with " +
                   variant.signature;
    }
  });
  fail(told, loc);
}

/// The slots that the bindings stand for in this call. Computes the values that the call reads. Sets `waits`
/// if the host changes something after the call that must not change if the call fails.
static Slots resolveBindings(const Variant &variant, const Slots &arguments, bool &waits) {
  Slots bound;
  bound.reserve(variant.bindings.size());
  std::vector<Ref> missing;
  for (const Binding &binding : variant.bindings) {
    bound.push_back(binding.resolve(arguments));
    if (binding.movesToDraw())
      relocate(bound.back(), binding.spec.device, bound.back()->loc);
    const Ref &value = storageValue(binding, *bound.back());
    if (binding.argument >= 0 && !value.node->computed(value.result))
      missing.push_back(value);
    waits |= variant.program->mayFail &&
             ((binding.writes() && bound.back()->view()) || (binding.clearsGrad && bound.back()->grad));
  }
  if (!missing.empty())
    flush(missing);
  return bound;
}

void CompiledImpl::takeArguments(Variant &variant, const Slots &bound, Loc loc) const {
  auto &in = variant.argumentBuffers;
  const auto refuseCopy = [&](const Binding &binding, const char *why, const char *code, const char *remedy) {
    std::fill(in.begin(), in.end(), nullptr);
    fail("'" + options_.name + "' would copy " + binding.spec.bytesText() + " bytes of " + binding.str() +
             why + underStrict(code, "donate") + remedy,
         loc, {}, code);
  };
  for (size_t i = 0; i < bound.size(); ++i) {
    const Binding &binding = variant.bindings[i];
    if (binding.argument < 0)
      continue;
    if (binding.tiedResult >= 0 && has(options_.strict, Strict::donate) && isHeld(*bound[i]))
      refuseCopy(binding, " before it writes them, since something else holds the value", "WEFT-D011",
                 ": drop what holds it, or let it hold a clone()");
    bool copied = false;
    if (copiesStrides(binding, *bound[i])) {
      if (has(options_.strict, Strict::donate))
        refuseCopy(binding, ", which is not row-major in memory", "WEFT-D013",
                   ": pass row-major memory, as contiguous() gives it");
      ++variant.stridedCopies;
      variant.lastStridedCopy = binding.str() + ", " + binding.spec.bytesText() + " bytes";
    }
    in[binding.argument] =
        binding.tiedResult >= 0 ? exclusiveBuffer(*bound[i], copied) : readableBuffer(binding, *bound[i]);
    if (copied) {
      ++variant.copies;
      variant.lastCopy = binding.str() + ", " + binding.spec.bytesText() + " bytes";
    }
  }
}

void CompiledImpl::execute(Variant &variant, const SizeValues &sizes, bool waits, Loc loc) {
  auto &in = variant.argumentBuffers;
  auto &out = variant.resultBuffers;
  runtime::RunOptions options;
  options.origin = runtime::CallOrigin{
      .number = calls_, .file = loc.file_name(), .line = loc.line(), .lines = nullptr, .caller = id_};
  runtime::Executable *executable = variant.program->executable.get();
  Expected<std::shared_ptr<runtime::Executable>> instance = std::shared_ptr<runtime::Executable>();
  if (const auto &symbols = executable->signature().symbols; !symbols.empty()) {
    std::vector<int64_t> values;
    for (const runtime::SymbolInfo &symbol : symbols)
      values.push_back(sizes.at(symbol.name));
    instance = executable->at(values);
    executable = instance ? instance->get() : nullptr;
  }
  options.pinned_for = variant.pinnedFor;
  Status status = executable ? executable->run(in, out, options) : instance.status();
  // The host must not change anything after a failed call (which gradients exist, values of another type). So
  // if the call can fail, wait for its end.
  if (status && waits)
    for (const auto &buffer : out)
      if (Status late = buffer->wait(); !late && status)
        status = late;
  if (!status) {
    std::fill(in.begin(), in.end(), nullptr);
    std::fill(out.begin(), out.end(), nullptr);
    failCall(status, variant, loc);
  }
}

/// A recorded value, which `backward` can follow, with the storage that the call wrote.
static Ref withStorage(Ref value, const std::shared_ptr<runtime::Buffer> &buffer, Loc loc) {
  if (value.node->computed(value.result))
    value = sameValue(value, loc);
  value.buffer() = buffer;
  return value;
}

/// The number of the result that a call writes to a binding.
static size_t writtenResult(const Binding &binding) {
  return static_cast<size_t>(binding.freshResult >= 0 ? binding.freshResult : binding.tiedResult);
}

/// Gives a slot a gradient that the call computed. `recorded` is its value if it has a history.
static void setGradient(const std::shared_ptr<Slot> &slot, const Ref &recorded, const SpentFrom &spent,
                        const SpentHistories &histories, const std::shared_ptr<runtime::Buffer> &buffer) {
  const Loc loc = slot->loc;
  const Ref value = recorded ? withStorage(recorded, buffer, loc) : leaf(slot->spec(), buffer, loc);
  if (!recorded)
    histories.mark(value, spent);
  const Tensor made = wrap(value, loc);
  slot->grad = Access::slot(made);
  slot->grad->name = slot->name + ".grad";
}

/// Makes hooks that the function gave a result hooks of the result of this call alone.
static void ownHooks(const Tensor &result) {
  const auto &slot = Access::slot(result);
  const Ref &value = slot->value();
  GradAccumulator *accumulator = value.node->accumulator(value.result);
  if (!accumulator || !accumulator->inner)
    return;
  accumulator->slot = slot;
  const auto hooks = std::exchange(accumulator->hooks, std::make_shared<GradHooks>());
  if (hooks)
    accumulator->hooks->list = hooks->list;
}

/// Makes a result a leaf. Its value may be one on which other results depend.
static void makeLeaf(const Tensor &result) {
  const auto &slot = Access::slot(result);
  const Ref value = slot->value();
  if (value.node->requiresGrad) // another result is that leaf
    return;
  slot->requiresGrad = true;
  slot->setValue(value);
}

/// The C++ result of a call.
static Flat wrapResults(const Variant &variant, const Replay &recorded, const SpentHistories &spent,
                        const SizeValues &sizes) {
  Flat results;
  results.structure = variant.resultStructure;
  results.tensors.reserve(variant.resultMap.size());
  for (size_t i = 0; i < variant.resultMap.size(); ++i) {
    const auto &buffer = variant.resultBuffers[variant.resultMap[i]];
    Loc at = variant.resultLocs[i];
    const bool differentiable = variant.differentiable && recorded.results[i];
    const Ref value = differentiable ? withStorage(recorded.results[i], buffer, at)
                                     : leaf(concrete(variant.resultSpecs[i], sizes), buffer, at);
    spent.mark(value, variant.resultSpent[i]);
    results.tensors.push_back(wrap(value, at));
    if (differentiable &&
        variant.resultRefs[i].node->kind == NodeKind::op) // an argument has hooks of its own
      ownHooks(results.tensors.back());
    Tensor &result = results.tensors.back();
    Access::slot(result)->copiedBy = variant.resultCopiedBy[i];
    if (differentiable && variant.resultRetains[i])
      result.retain_grad(at);
    if (variant.resultIsLeaf[i])
      makeLeaf(result);
    if (const int gradient = variant.resultGradients[i].result; gradient >= 0)
      setGradient(Access::slot(result), variant.differentiable ? recorded.resultGradients[i] : Ref(),
                  variant.resultGradients[i].spent, spent,
                  variant.resultBuffers[static_cast<size_t>(gradient)]);
  }
  return results;
}

/// Writes a value whose history the function has used up to a slot.
static void writeSpent(const std::shared_ptr<Slot> &slot, Spec spec,
                       const std::shared_ptr<runtime::Buffer> &buffer, const SpentHistories &histories,
                       const SpentFrom &from) {
  const View *view = slot->view();
  if (view && (!gradEnabled() || !view->reachesBase())) // no gradient flows through what is written here
    return assign(slot, leaf(std::move(spec), buffer, slot->loc));
  const Ref value = leaf(std::move(spec), buffer, slot->loc);
  histories.mark(value, from);
  value.node->accumulator(value.result)->slot = slot; // which has it from now on
  assign(slot, value);
}

/// Gives leaves that a call wrote, and values whose history it used up, their storage.
static void storeLeaves(const Variant &variant, const Replay &recorded, const SpentHistories &spent) {
  for (size_t i = 0; i < recorded.spentParts.size(); ++i) {
    const Variant::SpentPart &part = variant.spentParts[i];
    recorded.spentParts[i].buffer() = variant.resultBuffers[static_cast<size_t>(part.result)];
    spent.mark(recorded.spentParts[i], part.from);
  }
  for (size_t i = 0; variant.differentiable && i < variant.bindings.size(); ++i)
    if (const Binding &binding = variant.bindings[i]; binding.requiresGrad && recorded.written[i])
      recorded.written[i].buffer() = variant.resultBuffers[writtenResult(binding)];
}

/// Stores the values and gradients that a call computed in their slots.
static void writeBindings(const Variant &variant, const Slots &bound, const Slots &arguments,
                          const Replay &recorded, const SpentHistories &spent, const SizeValues &sizes) {
  const auto &out = variant.resultBuffers;
  for (size_t i = 0; i < bound.size(); ++i) {
    const Binding &binding = variant.bindings[i];
    const auto &slot = bound[i];
    if (binding.writes()) {
      const auto &buffer = out[writtenResult(binding)];
      if (variant.differentiable && recorded.written[i])
        assign(slot, binding.requiresGrad ? recorded.written[i]
                                          : withStorage(recorded.written[i], buffer, slot->loc));
      else if (binding.writtenSpent)
        writeSpent(slot, concrete(binding.freshSpec, sizes), buffer, spent, binding.writtenSpent);
      // The call wrote what it took: a copy, if the slot was a view, which it may no longer be.
      else if (binding.freshResult >= 0 || slot->view() || slot->value().buffer() != buffer)
        assign(slot, leaf(concrete(binding.freshSpec, sizes), buffer, slot->loc));
    }
    if (binding.clearsGrad)
      slot->grad.reset();
    if (binding.gradSlot)
      slot->grad = binding.gradSlot;
    if (binding.gradArgument >= 0)
      slot->grad = arguments[static_cast<size_t>(binding.gradArgument)];
    if (binding.gradResult >= 0)
      setGradient(slot, variant.differentiable ? recorded.gradients[i] : Ref(), binding.leftSpent, spent,
                  out[binding.gradResult]);
  }
}

/// Makes views that retain their gradient keep that of the value with which the function read them last.
static void retainReread(const Variant &variant, const Slots &bound, const Replay &recorded) {
  for (size_t i = 0; variant.differentiable && i < bound.size(); ++i)
    if (const Ref &value = recorded.reread[i]; value && bound[i]->view() && bound[i]->retained) {
      if (variant.bindings[i].isReread)
        bound[i]->setValue(value);
      retainGradOf(value, bound[i]);
    }
}

Flat CompiledImpl::run(Variant &variant, const Slots &arguments, const SizeValues &sizes, Loc loc) {
  bool waits = variant.waits;
  const Slots bound = resolveBindings(variant, arguments, waits);
  // Gradients may need values from before the call, so the operations are recorded before the call overwrites
  // them.
  Replay recorded;
  if (variant.differentiable)
    recorded = replay(variant, bound, sizes);
  const SpentHistories spent(variant, bound, recorded);
  takeArguments(variant, bound, loc);
  ++variant.calls;
  execute(variant, sizes, waits, loc);
  storeLeaves(variant, recorded, spent);
  Flat results = wrapResults(variant, recorded, spent, sizes);
  spent.addLeaves(recorded);
  writeBindings(variant, bound, arguments, recorded, spent, sizes);
  retainReread(variant, bound, recorded);
  for (const ModeChange &mode : variant.modes)
    if (mode.after)
      *mode.flag = *mode.after;
  std::fill(variant.argumentBuffers.begin(), variant.argumentBuffers.end(), nullptr);
  std::fill(variant.resultBuffers.begin(), variant.resultBuffers.end(), nullptr);
  return results;
}

} // namespace weft::frontend
