//===- Graph.cpp ---------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Graph.h"
#include "frontend/compiler/Session.h"
#include "frontend/graph/KeyWriter.h"
#include "frontend/graph/Region.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"
#include "frontend/graph/View.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/lazy/Pending.h"
#include "ir/SourceExcerpt.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <unordered_map>
#include <unordered_set>

namespace weft::frontend {

std::recursive_mutex &graphMutex() {
  static auto *mutex = new std::recursive_mutex; // outlives every tensor in a global variable
  return *mutex;
}

static std::unordered_set<Slot *> &pending() {
  static auto *set = new std::unordered_set<Slot *>;
  return *set;
}

/// Slots that keep what they held before, and gradients that may have to be none again.
static std::unordered_set<Slot *> &revocable() {
  static auto *set = new std::unordered_set<Slot *>;
  return *set;
}

uint64_t nextSerial() {
  static std::atomic<uint64_t> serial{0};
  return ++serial;
}

bool &gradEnabled() {
  thread_local bool enabled = true;
  return enabled;
}

//===----------------------------------------------------------------------===//
// Spec, Ref
//===----------------------------------------------------------------------===//

int64_t Spec::count() const {
  ir::Size product = 1;
  for (int64_t size : shape)
    product *= sizeOf(size);
  return entryOf(product);
}

std::string Spec::bytesText() const { return ir::sizeText(sizeOf(count()) * itemsize(dtype)); }

std::string Spec::str() const {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += sizeText(size) + "x";
  return text + std::string(name(dtype)) + ", " + device.str() + ">";
}

const Spec &Ref::spec() const { return node->results[result].spec; }

std::shared_ptr<runtime::Buffer> &Ref::buffer() const { return node->results[result].buffer; }

bool Ref::requiresGrad() const {
  return (node->requiresGrad || node->accumulator(result)) && is_floating_point(spec().dtype);
}

std::shared_ptr<Slot> GradAccumulator::gradient() const {
  const auto owner = slot.lock();
  return owner ? owner->grad : grad.lock();
}

bool GradAccumulator::isSeen() const {
  const auto owner = slot.lock();
  return owner ? owner->requiresGrad : !grad.expired();
}

//===----------------------------------------------------------------------===//
// Node
//===----------------------------------------------------------------------===//

/// Takes apart a graph of any depth without recursion: a node's operands are handed to a list that the
/// outermost destructor of the thread works off.
static void dropOperands(std::vector<Ref> operands) {
  thread_local std::vector<Ref> *worklist = nullptr;
  if (worklist) {
    for (Ref &ref : operands)
      worklist->push_back(std::move(ref));
    return;
  }
  worklist = &operands;
  while (!operands.empty()) {
    Ref last = std::move(operands.back());
    operands.pop_back();
    last.node.reset();
  }
  worklist = nullptr;
}

Node::~Node() { dropOperands(std::move(operands)); }

void Node::becomeLeaf() {
  kind = NodeKind::leaf;
  name = "leaf";
  fallible = false;
  attrs.clear();
  dropOperands(std::exchange(operands, {}));
}

//===----------------------------------------------------------------------===//
// Slot
//===----------------------------------------------------------------------===//

bool isPending(const Ref &value) {
  const Node &node = *value.node;
  return !node.trace && node.kind != NodeKind::leaf && !node.computed(value.result);
}

void Slot::setValue(Ref value) {
  GraphLock lock(graphMutex());
  // A view's value can be made again: it is neither pending nor kept for its own sake.
  if (view_) {
    value_ = std::move(value);
  } else {
    if (!views_.empty() && value && value.spec() != spec_)
      for (Slot *view : std::vector<Slot *>(views_))
        view->cut();
    forgetViews();
    if (value)
      ++value.node->results[value.result].liveSlots;
    if (value_)
      --value_.node->results[value_.result].liveSlots;
    value_ = std::move(value);
    if (value_ && isPending(value_))
      pending().insert(this);
    else
      pending().erase(this);
    if (value_ && spec_ != value_.spec())
      spec_ = value_.spec();
  }
  if (value_ && requiresGrad) {
    if (!accumulator_) {
      accumulator_ = std::make_shared<GradAccumulator>();
      accumulator_->slot = weak_from_this();
    }
    value_.node->accumulators.resize(value_.node->results.size());
    value_.node->accumulators[value_.result] = accumulator_;
  }
}

void Slot::settle(Ref leaf) {
  if (leaf) {
    std::vector<std::pair<Slot *, Ref>> kept;
    for (Slot *view : views_)
      if (view->value_ && view->value_.requiresGrad())
        kept.emplace_back(view, view->value_);
    setValue(std::move(leaf));
    for (auto &[view, value] : kept)
      view->value_ = std::move(value);
  }
  forgetBefore();
}

const Ref &Slot::value() {
  if (!value_ && view_) {
    Ref value = view_->read(loc);
    // A leaf's gradient ends at a node of its own.
    if (requiresGrad) {
      GradMode off(false);
      value = sameValue(value, loc);
    }
    setValue(std::move(value));
  }
  return value_;
}

void Slot::makeView(std::shared_ptr<const View> view, Ref value) {
  GraphLock lock(graphMutex());
  view_ = std::move(view);
  spec_ = view_->spec;
  viewIndex_ = view_->base->views_.size();
  view_->base->views_.push_back(this);
  setValue(std::move(value));
}

std::shared_ptr<Slot> Slot::storage() { return view_ ? view_->base : shared_from_this(); }

void Slot::forgetViews() {
  for (Slot *view : views_)
    view->value_ = {};
}

/// Takes a view off its base's list.
static void unlink(std::vector<Slot *> &views, size_t index, size_t Slot::*position) {
  views[index] = views.back();
  views[index]->*position = index;
  views.pop_back();
}

void Slot::cut() {
  if (!view_)
    return;
  // What gradients flow to it through views that are made of it must not be lost with its place.
  for (Slot *view : view_->base->views_)
    if (view->view_->source.get() == this)
      view->value();
  Ref current = value();
  unlink(view_->base->views_, viewIndex_, &Slot::viewIndex_);
  view_ = nullptr;
  value_ = {};
  setValue(std::move(current));
}

Slot::~Slot() {
  GraphLock lock(graphMutex());
  pending().erase(this);
  revocable().erase(this);
  if (view_)
    unlink(view_->base->views_, viewIndex_, &Slot::viewIndex_);
  else if (value_)
    --value_.node->results[value_.result].liveSlots;
  value_ = {};
  if (accumulator_)
    accumulator_->grad = grad;
  grad.reset();
}

/// The slots of a set that satisfy `wanted`, in the order in which their values were recorded: everything
/// that follows from it, argument numbers among it, must not depend on where slots lie in memory.
template <typename Predicate>
static std::vector<std::shared_ptr<Slot>> slotsInOrder(const std::unordered_set<Slot *> &set,
                                                       Predicate wanted) {
  std::vector<std::shared_ptr<Slot>> slots;
  for (Slot *slot : set)
    if (wanted(*slot))
      if (auto shared = slot->weak_from_this().lock())
        slots.push_back(std::move(shared));
  std::sort(slots.begin(), slots.end(), [](const auto &a, const auto &b) {
    return std::pair(a->value().node->serial, a->value().result) <
           std::pair(b->value().node->serial, b->value().result);
  });
  return slots;
}

std::vector<std::shared_ptr<Slot>> pendingSlots() {
  return slotsInOrder(pending(), [](Slot &) { return true; });
}

std::vector<std::shared_ptr<Slot>> uncertainSlots() {
  return slotsInOrder(revocable(), [](Slot &slot) { return !isPending(slot.value()); });
}

bool isKnownToFail(const Ref &value) { return value.node->failed && isPending(value); }

bool followsCall(const Ref &value) {
  const auto &buffer = value.buffer();
  return buffer ? buffer->uncertain() : value.node->followsCall;
}

bool mayBeLost(const Ref &value) {
  const auto &buffer = value.buffer();
  return buffer ? buffer->uncertain() : value.node->fallible;
}

void Slot::forgetBefore() {
  if (isPending(value_))
    return;
  const bool uncertain = mayBeLost(value_);
  if (!uncertain)
    before_.clear();
  if (uncertain && (!before_.empty() || !gradOf.expired()))
    revocable().insert(this);
  else
    revocable().erase(this);
}

void forgetCertain() {
  GraphLock lock(graphMutex());
  for (const auto &slot : uncertainSlots())
    slot->forgetBefore();
}

void settleSlots() {
  auto computed = [](Slot &slot) { return slot.value().node->computed(slot.value().result); };
  Ref value, settled; // slots in order: those of one value, which share its leaf, follow each other
  forgetCertain();
  for (const auto &slot : slotsInOrder(pending(), computed)) {
    if (slot->value().node->requiresGrad) {
      slot->settle({});
      pending().erase(slot.get());
      continue;
    }
    // What was computed from a leaf of gradients before must not differ from what is computed from it later:
    // its node stays.
    if (const Ref &own = slot->value(); own.node->accumulator(own.result) && own.node->results.size() == 1) {
      own.node->becomeLeaf();
      slot->settle({});
      pending().erase(slot.get());
      continue;
    }
    if (slot->value() != value) {
      value = slot->value();
      settled = leaf(value.spec(), value.buffer(), value.node->loc);
      settled.node->source = value.node;
    }
    slot->settle(settled);
  }
}

size_t pendingCount() { return pending().size(); }

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string str(const Loc &loc) {
  return std::string(loc.file_name()) + ":" + std::to_string(loc.line()) + ":" + std::to_string(loc.column());
}

std::string nameOf(const Slot &slot) {
  return slot.name.empty() ? "the tensor made at " + str(slot.loc) : "'" + slot.name + "'";
}

/// An excerpt of a source line with a caret below, where the file can be read.
static std::string sourceLine(const Loc &loc) {
  std::ifstream file(loc.file_name());
  std::string line;
  for (uint32_t i = 0; i < loc.line(); ++i)
    if (!std::getline(file, line))
      return "";
  std::string number = std::to_string(loc.line());
  const ir::SourceExcerpt excerpt = ir::sourceExcerpt(line, loc.column());
  return "    " + number + " | " + excerpt.text + "\n    " + std::string(number.size(), ' ') + " | " +
         std::string(excerpt.caret, ' ') + "^\n";
}

/// ", 'decoder.2.weight'," of what is a parameter, or a view of one; else nothing.
static std::string nameIn(Ref value) {
  for (int i = 0; i < 8; ++i) {
    if (const auto leaf = value.node->leafSlot(value.result))
      return leaf->name.empty() ? "" : ", '" + leaf->name + "',";
    const std::string_view name = value.node->name;
    if (value.node->operands.size() != 1 || (name != "transpose" && name != "reshape" && name != "broadcast"))
      break;
    value = Ref(value.node->operands[0]);
  }
  return "";
}

void fail(const Status &status, Loc loc, const std::vector<Ref> &operands) {
  std::string text =
      status.message() + (loc.line() > 0 ? "\n  at " + str(loc) + "\n" + sourceLine(loc) : "\n");
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] && operands[i].node->kind != NodeKind::number)
      text += "  operand " + std::to_string(i) + nameIn(operands[i]) + " is " + operands[i].spec().str() +
              ", made at " + str(operands[i].node->loc) + "\n" + sourceLine(operands[i].node->loc);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  throw Error(text, status.with([&](FailureInfo &info) {
    if (!info.location.empty())
      return;
    info.location = str(loc);
    info.file = loc.file_name();
    info.line = loc.line();
    info.column = loc.column();
  }));
}

void fail(const std::string &message, Loc loc, const std::vector<Ref> &operands, const std::string &code) {
  fail(Status::error(message, code), loc, operands);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static std::shared_ptr<Node> newNode(NodeKind kind, const char *name, size_t results, Loc loc) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->name = name;
  node->serial = nextSerial();
  node->results.resize(results);
  node->trace = Trace::current();
  node->thread = threadNumber();
  node->loc = loc;
  ++recordedNodes();
  return node;
}

static std::shared_ptr<Node> newNode(NodeKind kind, const char *name, Spec result, Loc loc) {
  auto node = newNode(kind, name, 1, loc);
  node->needsCuda = result.device.is_cuda();
  node->results[0].spec = std::move(result);
  return node;
}

/// The key under which inferred result types are remembered: a steady loop infers nothing twice.
static std::string inferenceKey(const char *name, const std::vector<Ref> &operands,
                                const std::vector<Attr> &attrs) {
  KeyWriter writer{name};
  for (const Ref &ref : operands)
    writer.putSpec(ref.spec());
  writer.putAttrs(attrs);
  return std::move(writer.key);
}

/// Says what is wrong with operands on two devices; whether something is, the op's verifier has said.
static void failOnDevices(const char *name, const std::vector<Ref> &operands, Loc loc) {
  if (std::string_view(name) == "transfer")
    return;
  for (size_t i = 1; i < operands.size(); ++i)
    if (operands[i].spec().device != operands[0].spec().device) {
      // What is on the host was forgotten there. Of two that were moved, a parameter stays where its module
      // is.
      const Ref &first = operands[0], &second = operands[i];
      const bool movesFirst = second.spec().device.is_cpu()  ? false
                              : first.spec().device.is_cpu() ? true
                                                             : second.requiresGrad() && !first.requiresGrad();
      fail("Expected all tensors to be on the same device, but found at least two devices, " +
               operands[0].spec().device.str() + " and " + operands[i].spec().device.str() +
               "! (WEFT-P001)\n  in " + name + "; to fix, move operand " +
               std::to_string(movesFirst ? 0 : i) + ": .to(\"" +
               (movesFirst ? second : first).spec().device.str() + "\")",
           loc, operands, "WEFT-P001");
    }
}

std::shared_ptr<Node> record(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs, Loc loc) {
  GraphLock lock(graphMutex());
  static auto *known = new std::unordered_map<std::string, std::vector<Spec>>;
  std::string key = inferenceKey(name, operands, attrs);
  auto it = known->find(key);
  if (it == known->end()) {
    std::vector<const Spec *> specs;
    for (const Ref &ref : operands)
      specs.push_back(&ref.spec());
    auto results = inferResults(name, specs, attrs);
    if (!results) {
      failOnDevices(name, operands, loc);
      fail(results.status(), loc, operands);
    }
    // Bounded: a program with ever new shapes must not grow without end.
    if (known->size() >= 16384)
      known->clear();
    it = known->emplace(std::move(key), std::move(*results)).first;
  }
  const std::vector<Spec> &specs = it->second;
  auto node = newNode(NodeKind::op, name, specs.size(), loc);
  bool wanted = false, real = false;
  for (size_t i = 0; i < specs.size(); ++i) {
    node->results[i].spec = specs[i];
    node->needsCuda |= specs[i].device.is_cuda();
    real |= is_floating_point(specs[i].dtype);
  }
  for (const Ref &ref : operands) {
    wanted |= ref.requiresGrad();
    node->needsCuda |= ref.node->needsCuda;
    node->failed |= isKnownToFail(ref);
  }
  node->fallible = mayFail(*node);
  for (const Ref &ref : operands)
    node->fallible |= mayBeLost(ref);
  node->followsCall = node->fallible && std::any_of(operands.begin(), operands.end(), followsCall);
  node->requiresGrad = wanted && real && gradEnabled();
  node->operands = std::move(operands);
  node->attrs = std::move(attrs);
  return node;
}

Ref recordTyped(const char *name, std::vector<Attr> attrs, Spec result, Loc loc) {
  auto node = newNode(NodeKind::op, name, std::move(result), loc);
  node->attrs = std::move(attrs);
  return {node, 0};
}

Ref record1(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs, Loc loc) {
  return {record(name, std::move(operands), std::move(attrs), loc), 0};
}

Ref sameValue(Ref value, Loc loc) {
  return record1("reshape", {value}, {{"shape", value.spec().shape}}, loc);
}

Ref constant(Spec spec, double value, Loc loc) {
  auto node = newNode(NodeKind::constant, "constant", std::move(spec), loc);
  node->number = value;
  return {node, 0};
}

/// The bytes of a number in `dtype`.
static std::array<std::byte, 8> numberBytes(DType dtype, double real, int64_t whole) {
  std::array<std::byte, 8> bytes{};
  auto put = [&](auto value) { std::memcpy(bytes.data(), &value, sizeof(value)); };
  switch (dtype) {
  case DType::i1:
    put(static_cast<uint8_t>(whole != 0));
    break;
  case DType::i8:
    put(static_cast<int8_t>(whole));
    break;
  case DType::ui8:
    put(static_cast<uint8_t>(whole));
    break;
  case DType::i16:
    put(static_cast<int16_t>(whole));
    break;
  case DType::i32:
    put(static_cast<int32_t>(whole));
    break;
  case DType::i64:
    put(whole);
    break;
  case DType::f16:
    put(static_cast<_Float16>(real));
    break;
  case DType::f32:
    put(static_cast<float>(real));
    break;
  case DType::f64:
    put(real);
    break;
  case DType::bf16: {
    // From the double at once: nearest even on the upper half of the f32 pattern, after rounding to odd.
    float narrow = static_cast<float>(real);
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    if (static_cast<double>(narrow) != real && !(bits & 1) && real == real) {
      bool away = std::abs(static_cast<double>(narrow)) > std::abs(real);
      bits = away ? (bits - 1) | 1 : bits | 1;
    }
    uint32_t rounded = real == real ? bits + 0x7fff + ((bits >> 16) & 1) : bits | 0x400000;
    put(static_cast<uint16_t>(rounded >> 16));
    break;
  }
  }
  return bytes;
}

Ref number(DType dtype, Device device, double real, int64_t whole, Loc loc) {
  auto node = newNode(NodeKind::number, "number", Spec{dtype, {}, device}, loc);
  node->number = is_floating_point(dtype) ? real : static_cast<double>(whole);
  node->numberBytes = numberBytes(dtype, real, whole);
  return {node, 0};
}

int64_t truncated(double number) {
  return number >= -0x1p63 && number < 0x1p63 ? static_cast<int64_t>(number) : INT64_MIN;
}

Ref number(DType dtype, Device device, const Arg &value, Loc loc) {
  const int64_t whole = dtype == DType::i1 ? value.real != 0 // a fraction is true too
                        : value.is_real    ? truncated(value.real)
                                           : value.whole;
  return number(dtype, device, value.real, whole, loc);
}

Ref leaf(Spec spec, std::shared_ptr<runtime::Buffer> buffer, Loc loc) {
  auto node = newNode(NodeKind::leaf, "leaf", std::move(spec), loc);
  node->results[0].buffer = std::move(buffer);
  node->trace = nullptr;
  return {node, 0};
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Ref useSlot(const std::shared_ptr<Slot> &slot, Loc loc) {
  GraphLock lock(graphMutex());
  Trace *trace = Trace::current();
  if (slot->trace && slot->trace != trace)
    fail("this tensor was made while a function was being compiled and has no value outside of that; return "
         "it from the function\n  made at " +
             str(slot->loc),
         loc);
  if (trace && !slot->trace)
    trace->touch(slot);
  return slot->value();
}

/// The last gradient that this thread asked for in vain.
static std::pair<std::weak_ptr<Slot>, Loc> &missingGrad() {
  thread_local std::pair<std::weak_ptr<Slot>, Loc> last;
  return last;
}

void noteMissingGrad(const std::shared_ptr<Slot> &slot, Loc loc) { missingGrad() = {slot, loc}; }

void failUndefined(Loc loc) {
  std::string text = "this tensor is undefined: nothing was assigned to it";
  const auto &[weak, asked] = missingGrad();
  if (const auto slot = weak.lock(); slot && !slot->grad)
    text += ", or it is a gradient that is none, as that of " + nameOf(*slot) +
            ", which grad() was asked for at " + str(asked) + ": " +
            (slot->requiresGrad ? "no backward() has reached it since it was made or zero_grad() dropped its "
                                  "gradient"
                                : "it does not require one, or is no leaf; see requires_grad_()");
  fail(text, loc);
}

Ref use(const Tensor &tensor, Loc loc) {
  const auto &slot = Access::slot(tensor);
  if (!slot)
    failUndefined(loc);
  return useSlot(slot, loc);
}

Tensor wrap(Ref value, Loc loc) {
  auto slot = std::make_shared<Slot>();
  slot->loc = loc;
  slot->trace = Trace::current();
  slot->setValue(std::move(value));
  // Every operation comes by here: a program that never reads a value must not grow for ever.
  flushIfLarge(loc);
  return Access::make(std::move(slot));
}

void assign(const std::shared_ptr<Slot> &slot, Ref value) {
  GraphLock lock(graphMutex());
  if (slot->view() && value.spec() != slot->spec())
    slot->cut();
  if (slot->view()) {
    writeView(slot, std::move(value));
    return;
  }
  if (Trace *trace = Trace::current(); trace && slot->trace != trace)
    trace->touch(slot);
  // Gradients are collected by node: a leaf's node belongs to one slot.
  const GradAccumulator *owner = value.node->accumulator(value.result);
  if ((owner && owner->slot.lock() != slot) ||
      (slot->requiresGrad && value.node->results[value.result].liveSlots > 0 && slot->value() != value))
    value = sameValue(value, value.node->loc);
  slot->write(std::move(value));
}

} // namespace weft::frontend
