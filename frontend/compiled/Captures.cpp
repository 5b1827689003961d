//===- Captures.cpp - Changes of captured values --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Captures.h"

#include "frontend/compiled/Compiled.h"
#include "frontend/graph/Devices.h"
#include "frontend/graph/Message.h"
#include "frontend/graph/OpDefinitions.h"
#include "frontend/ops/Handle.h"
#include "frontend/ops/HostConvert.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace weft::frontend {

bool asksForCaptureChecks() {
  const char *value = std::getenv("WEFT_CHECK_CAPTURES");
  const std::string_view text = value ? value : "";
  if (!text.empty() && text != "0" && text != "1") {
    static std::atomic<bool> told{false};
    if (!told.exchange(true))
      std::fprintf(stderr, "weft: WEFT_CHECK_CAPTURES is '%s', expected 1 or 0; no captures are checked\n",
                   value);
  }
  return text == "1";
}

static std::string text(double number) {
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.17g", number);
  return buffer;
}

static std::string text(const AttrValue &value) {
  return std::visit(
      [](const auto &v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return v;
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          std::string list;
          for (int64_t one : v)
            list += (list.empty() ? "" : ", ") + std::to_string(one);
          return "[" + list + "]";
        } else if constexpr (std::is_same_v<T, DType>) {
          return std::string(name(v));
        } else if constexpr (std::is_same_v<T, Device>) {
          return v.str();
        } else if constexpr (std::is_same_v<T, double>) {
          return text(v);
        } else {
          return std::to_string(v);
        }
      },
      value);
}

/// An attribute. The lines of a body are none of what it computes: those of what it is given, too, may be of
/// another call.
static std::string textOf(const Node &node, const Attr &attr) {
  if (!isBodyAttr(node.name, attr.name))
    return text(attr.value);
  Expected<std::string> body = textWithoutLines(std::get<std::string>(attr.value));
  if (!body)
    fail(body.status(), node.loc);
  return *std::move(body);
}

static std::string numberOf(const Node &node) {
  if (node.kind != NodeKind::number || is_floating_point(node.results[0].spec.dtype))
    return text(node.number);
  int64_t whole = 0; // exact, unlike a double
  std::memcpy(&whole, node.numberBytes.data(), itemsize(node.results[0].spec.dtype));
  return std::to_string(whole);
}

/// A name for a write to a tensor, which is no op of the dialect.
static constexpr const char *writeName = "write";

/// The numbers of a slot as text: the first ones, and a hash of all.
static std::string numbersOf(const Slot &slot, const std::shared_ptr<runtime::Buffer> &of) {
  const auto memory = inHostMemory(of, slot.loc);
  const runtime::Buffer &buffer = *memory;
  constexpr int64_t shown = 8;
  std::vector<double> numbers(static_cast<size_t>(std::min(slot.spec().count(), shown)));
  convertElements(slot.spec().dtype, buffer.data(), DType::f64, numbers.data(), numbers.size());
  std::string list;
  for (double number : numbers)
    list += (list.empty() ? "" : ", ") + text(number);
  const std::string_view bytes(static_cast<const char *>(buffer.data()), buffer.bytes());
  return slot.spec().str() + " of the numbers " + list + (slot.spec().count() > shown ? ", ..." : "") +
         " (hash " + std::to_string(std::hash<std::string_view>()(bytes)) + ")";
}

/// The operand that a binding stands for.
static RecordedOperand operandOf(const Binding &binding, uint64_t recordedFrom) {
  if (!binding.slot)
    return {binding.str(), {}};
  // Two tensors may have the same name and line, so the address is part of the text.
  Slot &slot = *binding.slot;
  char address[32];
  std::snprintf(address, sizeof(address), "%p", static_cast<const void *>(&slot));
  RecordedOperand operand{binding.str() + " (at " + address + ")", {}};
  // The function may make this tensor from host data anew in every recording, so its numbers are compared.
  if (binding.isGradient || slot.view())
    return operand;
  if (const Ref &value = slot.value();
      value.node->kind == NodeKind::leaf && value.node->serial > recordedFrom && value.buffer())
    operand.data = binding.str() + ", " + numbersOf(slot, value.buffer());
  return operand;
}

std::vector<RecordedOperation> describeOperations(const Region &region, const Variant &variant,
                                                  uint64_t recordedFrom) {
  std::unordered_map<const Node *, RecordedOperand> names;
  for (const Binding &binding : variant.bindings)
    if (binding.argument >= 0)
      names[region.arguments[static_cast<size_t>(binding.argument)].value.node.get()] =
          operandOf(binding, recordedFrom);
  std::vector<RecordedOperation> list;
  const auto operand = [&](const Ref &ref) {
    RecordedOperand named = names.at(ref.node.get());
    if (ref.result > 0)
      named.text += ", result " + std::to_string(ref.result);
    return named;
  };
  for (const Node *node : region.nodes) {
    RecordedOperation operation{node->name, "", {}, node->loc};
    if (node->kind == NodeKind::number || node->kind == NodeKind::constant)
      operation.numbers = numberOf(*node);
    for (const Attr &attr : node->attrs)
      operation.numbers +=
          (operation.numbers.empty() ? "" : ", ") + std::string(attr.name) + " = " + textOf(*node, attr);
    for (const NodeResult &result : node->results)
      operation.numbers += (operation.numbers.empty() ? "" : " ") + result.spec.str();
    for (const Ref &ref : node->operands)
      operation.operands.push_back(operand(ref));
    names[node] = {"operation " + std::to_string(list.size()), {}};
    list.push_back(std::move(operation));
  }
  const Loc last = list.empty() ? Loc() : list.back().loc;
  for (const Binding &binding : variant.bindings)
    if (binding.writes()) {
      const int result = binding.freshResult >= 0 ? binding.freshResult : binding.tiedResult;
      const Ref &value = region.results[static_cast<size_t>(result)].value;
      list.push_back({writeName, "", {operandOf(binding, recordedFrom), operand(value)}, value.node->loc});
    }
  RecordedOperation results{"return", "", {}, last};
  for (const RegionResult &result : region.results) {
    results.operands.push_back(operand(result.value));
    results.numbers += result.name + " ";
  }
  list.push_back(std::move(results));
  return list;
}

static bool isSame(const RecordedOperand &a, const RecordedOperand &b) {
  return a.text == b.text || (!a.data.empty() && a.data == b.data);
}

std::optional<CaptureChange> findChange(const std::vector<RecordedOperation> &before,
                                        const std::vector<RecordedOperation> &now) {
  for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    const RecordedOperation &a = before[i], &b = now[i];
    if (a.name != b.name)
      return CaptureChange{"the operation here was '" + a.name + "' (recorded at " + str(a.loc) +
                               ") and is '" + b.name +
                               "', so that a captured flag or number took another way",
                           b.loc};
    if (a.numbers != b.numbers)
      return CaptureChange{"a number of '" + a.name + "' was " + a.numbers + " and is " + b.numbers, b.loc};
    for (size_t k = 0; k < std::min(a.operands.size(), b.operands.size()); ++k)
      if (!isSame(a.operands[k], b.operands[k]))
        return CaptureChange{(a.name != writeName ? "what '" + a.name + "' takes"
                              : k == 0            ? "the tensor that is written"
                                                  : "what is written") +
                                 (a.operands[k].data.empty() || b.operands[k].data.empty()
                                      ? " was " + a.operands[k].text + " and is " + b.operands[k].text
                                      : " was " + a.operands[k].data + " and is " + b.operands[k].data),
                             b.loc};
    if (a.operands.size() != b.operands.size())
      return CaptureChange{"'" + a.name + "' took " + std::to_string(a.operands.size()) +
                               " values and takes " + std::to_string(b.operands.size()),
                           b.loc};
  }
  return std::nullopt; // equal so far, and both end with their `return`
}

bool CompiledImpl::checkCaptures(const Variant &variant, const Flat &arguments, const Slots &slots, Loc loc) {
  if (variant.recorded.empty())
    return true;
  Variant again;
  again.structure = variant.structure;
  again.symbols = variant.symbols;
  again.sameAs = variant.sameAs;
  again.pins = variant.pins;
  const uint64_t recordedFrom = nextSerial();
  Trace trace;
  const std::optional<Flat> outputs = runTraced(trace, again, arguments, slots);
  if (!outputs)
    return false;
  std::vector<Ref> results;
  for (const Tensor &output : outputs->tensors)
    results.push_back(use(output, loc));
  noteGradients(again, *outputs, trace);
  const std::vector<Ref> effects = trace.effects();
  const std::vector<Trace::Change> changes = trace.finish();
  const Region region = bind(again, changes, results, effects, trace);
  if (const auto change = findChange(variant.recorded, describeOperations(region, again, recordedFrom)))
    fail(
        "'" + options_.name + "' captured something that has changed since it was compiled (variant " +
            std::to_string(variant.number) + ", at " + str(variant.loc) + "), and the call at " + str(loc) +
            " would go on with the old: " + change->text +
            ". Make it an argument (a weft::Scalar never recompiles; a bool or an integer makes a variant of "
            "its own), or a tensor that is written and not rebound (WEFT_CHECK_CAPTURES)",
        change->loc);
  return true;
}

} // namespace weft::frontend
