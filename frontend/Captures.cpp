//===- Captures.cpp - Whether what a function captured has changed ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/Captures.h"

#include "frontend/Compiled.h"

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

static std::string numberOf(const Node &node) {
  if (node.kind != NodeKind::number || is_floating_point(node.results[0].spec.dtype))
    return text(node.number);
  int64_t whole = 0; // exactly: not every i64 is a double
  std::memcpy(&whole, node.numberBytes.data(), itemsize(node.results[0].spec.dtype));
  return std::to_string(whole);
}

std::vector<RecordedOperation> describeOperations(const Region &region, const Variant &variant) {
  std::unordered_map<const Node *, std::string> names;
  for (const Binding &binding : variant.bindings) {
    if (binding.argument < 0)
      continue;
    // Two tensors may have one name and one line: the address tells them apart.
    char address[32];
    std::snprintf(address, sizeof(address), "%p", static_cast<const void *>(binding.slot.get()));
    names[region.arguments[static_cast<size_t>(binding.argument)].value.node.get()] =
        binding.str() + (binding.slot ? " (at " + std::string(address) + ")" : "");
  }
  std::vector<RecordedOperation> list;
  const auto operand = [&](const Ref &ref) {
    return names.at(ref.node.get()) + (ref.result > 0 ? ", result " + std::to_string(ref.result) : "");
  };
  for (const Node *node : region.nodes) {
    RecordedOperation operation{node->name, "", {}, node->loc};
    if (node->kind == NodeKind::number || node->kind == NodeKind::constant)
      operation.numbers = numberOf(*node);
    for (const Attr &attr : node->attrs)
      operation.numbers +=
          (operation.numbers.empty() ? "" : ", ") + std::string(attr.name) + " = " + text(attr.value);
    for (const NodeResult &result : node->results)
      operation.numbers += (operation.numbers.empty() ? "" : " ") + result.spec.str();
    for (const Ref &ref : node->operands)
      operation.operands.push_back(operand(ref));
    names[node] = "operation " + std::to_string(list.size());
    list.push_back(std::move(operation));
  }
  RecordedOperation results{"return", "", {}, {}};
  for (const RegionResult &result : region.results) {
    results.operands.push_back(operand(result.value));
    results.numbers += result.name + " ";
  }
  if (!list.empty())
    results.loc = list.back().loc;
  list.push_back(std::move(results));
  return list;
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
      if (a.operands[k] != b.operands[k])
        return CaptureChange{"what '" + a.name + "' takes was " + a.operands[k] + " and is " + b.operands[k],
                             b.loc};
    if (a.operands.size() != b.operands.size())
      return CaptureChange{"'" + a.name + "' took " + std::to_string(a.operands.size()) +
                               " values and takes " + std::to_string(b.operands.size()),
                           b.loc};
  }
  return std::nullopt; // both end with what they return
}

void CompiledImpl::checkCaptures(const Variant &variant, const Flat &arguments, const Slots &slots, Loc loc) {
  if (variant.recorded.empty())
    return;
  Variant again;
  again.structure = variant.structure;
  again.symbols = variant.symbols;
  again.sameAs = variant.sameAs;
  again.pins = variant.pins;
  Trace trace;
  const Flat outputs = fn_(traceArguments(trace, again, arguments, slots));
  std::vector<Ref> results;
  for (const Tensor &output : outputs.tensors)
    results.push_back(use(output, loc));
  const bool tookGradients = trace.tookGradients();
  const std::vector<Ref> effects = trace.effects();
  const std::vector<Trace::Change> changes = trace.finish();
  const Region region = bind(again, changes, results, effects, tookGradients);
  if (const auto change = findChange(variant.recorded, describeOperations(region, again)))
    fail(
        "'" + options_.name + "' captured something that has changed since it was compiled (variant " +
            std::to_string(variant.number) + ", at " + str(variant.loc) + "), and the call at " + str(loc) +
            " would go on with the old: " + change->text +
            ". Make it an argument (a weft::Scalar never recompiles; a bool or an integer makes a variant of "
            "its own), or a tensor that is written and not rebound (WEFT_CHECK_CAPTURES)",
        change->loc);
}

} // namespace weft::frontend
