//===- Variant.cpp - Guards of a compiled signature -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Variant.h"
#include "frontend/compiled/Strides.h"
#include "frontend/graph/Layout.h"
#include "frontend/graph/View.h"
#include "frontend/graph/WatchedView.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/lazy/Pending.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace weft::frontend {

std::string Binding::str() const {
  std::string name = callArgument >= 0    ? "argument " + std::to_string(callArgument)
                     : slot->name.empty() ? "the tensor made at " + frontend::str(slot->loc)
                                          : slot->name;
  return isGradient ? "the gradient of " + name : name;
}

std::shared_ptr<Slot> Binding::resolve(const std::vector<std::shared_ptr<Slot>> &arguments) const {
  const auto &owner = callArgument < 0 ? slot : arguments[static_cast<size_t>(callArgument)];
  return isGradient ? owner->grad : owner;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string valueText(const StructureEntry &entry) {
  if (entry.kind == StructureEntry::boolean || entry.kind == StructureEntry::presence)
    return entry.bits ? "true" : "false";
  if (entry.kind != StructureEntry::real)
    return std::to_string(entry.bits);
  double value;
  std::memcpy(&value, &entry.bits, sizeof(value));
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

static bool isStatic(const StructureEntry &entry) { return entry.kind <= StructureEntry::enumeration; }

std::string describe(const std::vector<std::shared_ptr<Slot>> &arguments, const Structure &structure,
                     const std::vector<ModeChange> &modes) {
  std::string text = "(";
  for (const auto &argument : arguments)
    text += (text.size() > 1 ? ", " : "") + argument->spec().str();
  for (const StructureEntry &entry : structure)
    if (isStatic(entry))
      text += (text.size() > 1 ? ", " : "") + valueText(entry);
  text += ")";
  for (const ModeChange &mode : modes)
    if (mode.read)
      return text + (mode.before ? " train" : " eval");
  return text;
}

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

static std::optional<Mismatch> structureMismatch(const Structure &was, const Structure &is) {
  if (was == is)
    return std::nullopt;
  size_t numbered = 0;
  for (size_t i = 0; i < was.size() && i < is.size(); ++i) {
    if (was[i] != is[i] && was[i].kind == StructureEntry::size)
      return Mismatch{"a vector among the arguments had " + valueText(was[i]) + " elements and has " +
                          valueText(is[i]),
                      "WEFT-R001", "length of a vector"};
    if (was[i] != is[i] && was[i].kind == StructureEntry::presence)
      return Mismatch{std::string("an optional argument was ") + (was[i].bits ? "set" : "empty") +
                          " and is " + (is[i].bits ? "set" : "empty"),
                      "WEFT-R001", "combination of optional arguments"};
    if (was[i] != is[i]) {
      const char *kind = was[i].kind == StructureEntry::boolean       ? "combination of flags"
                         : was[i].kind == StructureEntry::enumeration ? "value of an enumeration"
                                                                      : "value of a static argument";
      return Mismatch{.text = "static argument " + std::to_string(numbered) + " was " + valueText(was[i]) +
                              " and is " + valueText(is[i]),
                      .code = "WEFT-R002",
                      .kind = kind,
                      .entry = static_cast<int>(i)};
    }
    numbered += isStatic(was[i]);
  }
  return Mismatch{"the arguments have another structure", "WEFT-R001", "structure of the arguments"};
}

static Mismatch specMismatch(const Binding &binding, const Spec &is) {
  Mismatch mismatch{binding.str() + " was " + binding.spec.str() + " and is " + is.str(),
                    binding.callArgument >= 0 ? "WEFT-R001" : "WEFT-R004",
                    binding.callArgument < 0           ? "type of a captured tensor"
                    : is.dtype != binding.spec.dtype   ? "dtype"
                    : is.device != binding.spec.device ? "device"
                                                       : "shape"};
  const Shape &was = binding.spec.shape;
  if (binding.callArgument < 0 || is.dtype != binding.spec.dtype || is.device != binding.spec.device ||
      is.shape.size() != was.size())
    return mismatch;
  for (size_t d = 0; d < was.size(); ++d)
    if (was[d] != is.shape[d]) {
      bool only = mismatch.dim < 0;
      mismatch.argument = only ? binding.callArgument : -1;
      mismatch.dim = static_cast<int>(d);
      if (!only)
        break;
    }
  return mismatch;
}

std::optional<std::string> aliasConflict(const Variant &variant,
                                         const std::vector<std::shared_ptr<Slot>> &arguments) {
  if (!variant.writesState)
    return std::nullopt;
  auto written = [&](size_t argument) {
    for (const Binding &binding : variant.bindings)
      if (binding.callArgument == static_cast<int>(argument) && !binding.isGradient)
        return binding.writes();
    return false;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (variant.pins[i] || variant.sameAs[i] >= 0)
      continue;
    auto storage = arguments[i]->storage();
    std::string name = "argument " + std::to_string(i);
    for (size_t j = 0; j < i; ++j)
      if (variant.sameAs[j] < 0 && arguments[j]->storage() == storage && (written(i) || written(j)) &&
          !areDisjoint(*arguments[i], *arguments[j]))
        return name + " shares memory with argument " + std::to_string(j) + ", and the function writes " +
               (!written(i)  ? "that one"
                : written(j) ? "both"
                             : "it");
    for (const Binding &binding : variant.bindings)
      if (binding.slot && !binding.isGradient && binding.slot->storage() == storage &&
          (written(i) || binding.writes()))
        return name + " shares memory with " + binding.str() +
               ", which the function captured, and one of them is written";
  }
  return std::nullopt;
}

/// Checks which arguments are the same tensor, or a tensor that the function captures.
static std::optional<Mismatch> aliasMismatch(const Variant &variant,
                                             const std::vector<std::shared_ptr<Slot>> &arguments) {
  constexpr const char *sameTensors = "choice of arguments that are one tensor";
  auto name = [](size_t i) { return "argument " + std::to_string(i); };
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (variant.pins[i] && variant.pins[i] != arguments[i].get())
      return Mismatch{name(i) + " was a tensor that the function captures and is another", "WEFT-R005",
                      sameTensors};
    if (variant.sameAs[i] >= 0 && arguments[static_cast<size_t>(variant.sameAs[i])] != arguments[i])
      return Mismatch{name(i) + " was the same tensor as " + name(static_cast<size_t>(variant.sameAs[i])) +
                          " and is another",
                      "WEFT-R005", sameTensors};
  }
  if (auto conflict = aliasConflict(variant, arguments))
    return Mismatch{*conflict, "WEFT-R005", sameTensors};
  return std::nullopt;
}

bool hasType(const Binding &binding, const Slot &slot) {
  if (!binding.movesToDraw() || slot.spec().device == binding.spec.device)
    return fits(binding.spec, slot.spec());
  Spec moved = slot.spec();
  moved.device = binding.spec.device;
  return fits(binding.spec, moved);
}

/// Whether nothing beside variants holds a slot.
static bool isOnlyBound(const std::shared_ptr<Slot> &slot) {
  return slot.use_count() == static_cast<long>(slot->bindings);
}

void Variant::holdSlots() {
  GraphLock lock(graphMutex());
  for (const Binding &binding : bindings)
    if (binding.slot)
      ++binding.slot->bindings;
  for (Binding &binding : bindings)
    binding.isHeldOutside = binding.slot && !isOnlyBound(binding.slot);
  holdsSlots = true;
}

Variant::~Variant() {
  if (!holdsSlots)
    return;
  GraphLock lock(graphMutex());
  for (const Binding &binding : bindings)
    if (binding.slot)
      --binding.slot->bindings;
}

/// Whether the tensor that a binding captured is gone for the rest of the program.
static bool isGone(const Binding &binding) { return binding.isHeldOutside && isOnlyBound(binding.slot); }

bool isDead(const Variant &variant) {
  return std::ranges::any_of(variant.guards, [](const Trace::Guard &guard) { return !*guard.unchanged; }) ||
         std::ranges::any_of(variant.bindings, isGone);
}

std::optional<Mismatch> findMismatch(const Variant &variant,
                                     const std::vector<std::shared_ptr<Slot>> &arguments,
                                     const Structure &structure) {
  if (auto why = structureMismatch(variant.structure, structure))
    return why;
  if (auto why = aliasMismatch(variant, arguments))
    return why;
  for (const ModeChange &mode : variant.modes)
    if (mode.read && *mode.flag != mode.before)
      return Mismatch{std::string("a module was in ") + (mode.before ? "train" : "eval") +
                          " mode and is in " + (*mode.flag ? "train" : "eval") + " mode",
                      "WEFT-R003"};
  for (const Trace::Guard &guard : variant.guards)
    if (!*guard.unchanged)
      return Mismatch{guard.change, "WEFT-R004"};
  if (variant.gradMode != gradEnabled())
    return Mismatch{"gradients were " + std::string(variant.gradMode ? "recorded" : "off") + " and are " +
                        (gradEnabled() ? "recorded" : "off"),
                    "WEFT-R003"};
  for (const Binding &binding : variant.bindings) {
    if (isGone(binding))
      return Mismatch{.text = binding.str() + " was captured and is gone",
                      .code = "WEFT-R004",
                      .kind = "tensor that takes the place of a captured one",
                      .remedy =
                          ": write the tensor with copy_() instead of rebinding its handle, or pass it as "
                          "an argument"};
    auto slot = binding.resolve(arguments);
    if (!slot)
      return Mismatch{binding.str() + " was there and is none", "WEFT-R004"};
    if (slot->isParametrized)
      return Mismatch{binding.str() + " was parametrized", "WEFT-R004"};
    if (!hasType(binding, *slot))
      return specMismatch(binding, slot->spec());
    if (binding.slot && binding.slot->sharedView() != binding.view)
      return Mismatch{binding.str() + (binding.view ? " was a view of another tensor and is none"
                                                    : " was no view of another tensor and is one"),
                      "WEFT-R004"};
    if (binding.view && !binding.isGradient && gradEnabled() && isWatched(*slot) != binding.isWatched)
      return Mismatch{"the gradient of " + binding.str() +
                          (binding.isWatched ? " was given to a hook or retained, and is not"
                                             : " is given to a hook or retained, and was not"),
                      "WEFT-R004"};
    if (auto why = stridesMismatch(binding, *slot))
      return why;
    if (slot->requiresGrad != binding.requiresGrad ||
        (gradEnabled() && slot->needsGrad() != binding.needsGrad))
      return Mismatch{binding.str() + (binding.needsGrad ? " required a gradient and does not"
                                                         : " required no gradient and does"),
                      "WEFT-R004", "combination of tensors that require gradients"};
    if (binding.guardsGrad && (slot->grad != nullptr) != binding.hadGrad)
      return Mismatch{binding.str() +
                          (binding.hadGrad ? " had a gradient and has none" : " had no gradient and has one"),
                      "WEFT-R004"};
  }
  return std::nullopt;
}

} // namespace weft::frontend
