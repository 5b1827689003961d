//===- Region.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Region.h"

#include "frontend/graph/Devices.h"
#include "frontend/graph/KeyWriter.h"
#include "frontend/graph/Record.h"
#include "runtime/memory/Layout.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Values that are parts of others
//===----------------------------------------------------------------------===//

/// The start of a window along a dimension, which the frontend records as a number, or as zero.
static int64_t startOf(const Ref &ref) {
  if (ref.node->kind == NodeKind::constant)
    return truncated(ref.node->number);
  int64_t start;
  std::memcpy(&start, ref.node->numberBytes.data(), sizeof(start));
  return start;
}

/// The offset of a window in its operand, in elements; empty if the window is not contiguous in memory.
static std::optional<int64_t> pieceAt(const Node &window) {
  const Shape &from = window.operands[0].spec().shape, &to = window.results[0].spec.shape;
  int64_t at = 0, stride = 1;
  bool whole = true; // the dimensions after this one are taken whole
  for (size_t i = from.size(); i-- > 0;) {
    const Ref &start = window.operands[i + 1];
    if (start.node->kind != NodeKind::constant && start.node->kind != NodeKind::number)
      return std::nullopt;
    if (!whole && to[i] != 1)
      return std::nullopt;
    whole &= to[i] == from[i];
    at += startOf(start) * stride;
    stride *= from[i];
  }
  return at;
}

/// The storage of a value that is a contiguous part of a computed value, as rows are of a matrix; null for
/// every other value. It needs no program, and its offset makes no programs differ. Code that holds the
/// result must also hold `ref`, whose operands keep the whole from being written in place.
static std::shared_ptr<runtime::Buffer> sharedStorage(const Ref &ref) {
  constexpr int longest = 16; // views in a chain; bounded, so that walks from every link stay linear in all
  const Ref *at = &ref;
  int64_t offset = 0;
  for (int i = 0; i < longest && !at->node->computed(at->result); ++i) {
    const Node &node = *at->node;
    std::string_view name = node.name;
    if (node.kind != NodeKind::op || (name != "reshape" && name != "dynamic_slice"))
      return nullptr;
    if (name == "dynamic_slice") {
      std::optional<int64_t> begin = pieceAt(node);
      if (!begin)
        return nullptr;
      offset += *begin;
    }
    at = &node.operands[0];
  }
  if (!at->node->computed(at->result))
    return nullptr;
  const size_t begin = static_cast<size_t>(offset) * itemsize(ref.spec().dtype);
  // Kernels of a GPU count on where an operand begins, so that such a part is copied by a program.
  if (!ref.spec().device.is_cpu() && begin % runtime::widestAccess != 0)
    return nullptr;
  return runtime::Buffer::part(at->buffer(), begin, ref.spec().bytes());
}

//===----------------------------------------------------------------------===//
// Nodes of a region
//===----------------------------------------------------------------------===//

/// Adds the nodes between a gradient's output and the values that it is taken with respect to. Nodes that
/// those values depend on are not needed.
static void forceForward(const Node &gradient, std::unordered_set<const Node *> &forced) {
  std::unordered_set<const Node *> leading,
      seen; // `leading`: depend on a value that it is taken with respect to
  uint64_t oldest = UINT64_MAX;
  for (size_t i = 1; i < gradient.operands.size(); ++i) {
    leading.insert(gradient.operands[i].node.get());
    oldest = std::min(oldest, gradient.operands[i].node->serial);
  }
  std::vector<const Node *> reached, stack{gradient.operands[0].node.get()};
  while (!stack.empty()) {
    const Node *node = stack.back();
    stack.pop_back();
    // An operand has a smaller serial number than its user, so older nodes depend on none of these values.
    if (node->kind != NodeKind::op || !node->requiresGrad || node->serial <= oldest ||
        !seen.insert(node).second)
      continue;
    reached.push_back(node);
    for (const Ref &operand : node->operands)
      if (operand.requiresGrad())
        stack.push_back(operand.node.get());
  }
  // Operands first, because one of these nodes may depend on another.
  std::sort(reached.begin(), reached.end(), [](auto *a, auto *b) { return a->serial < b->serial; });
  for (const Node *node : reached)
    if (std::any_of(node->operands.begin(), node->operands.end(), [&](const Ref &operand) {
          return operand.requiresGrad() && leading.contains(operand.node.get());
        })) {
      leading.insert(node);
      forced.insert(node);
    }
}

void collect(const std::vector<Ref> &results, bool numbersAreConstants, std::vector<Node *> &nodes,
             std::vector<Ref> &leaves) {
  std::unordered_set<const Node *> forced, seen;
  RefSet seenLeaves;
  std::vector<Ref> stack(results.begin(), results.end());
  // First find the nodes that gradients need again: a gradient deep in the graph may need nodes that a single
  // walk would have passed before it.
  {
    std::unordered_set<const Node *> visited;
    std::vector<const Node *> walk;
    for (const Ref &ref : results)
      walk.push_back(ref.node.get());
    while (!walk.empty()) {
      const Node *node = walk.back();
      walk.pop_back();
      if (!visited.insert(node).second || node->kind != NodeKind::op)
        continue;
      bool done = !node->results.empty() && std::all_of(node->results.begin(), node->results.end(),
                                                        [](const auto &r) { return r.buffer != nullptr; });
      if (done && !forced.contains(node))
        continue;
      if (std::string_view(node->name) == "gradient")
        forceForward(*node, forced);
      for (const Ref &operand : node->operands)
        walk.push_back(operand.node.get());
    }
  }
  while (!stack.empty()) {
    Ref ref = std::move(stack.back());
    stack.pop_back();
    Node *node = ref.node.get();
    // A value that a slot holds gets its own storage, because a call may write it in place.
    if (!numbersAreConstants && node->kind == NodeKind::op && !node->results.empty() &&
        !node->computed(ref.result) && node->results[ref.result].liveSlots == 0 && !forced.contains(node))
      node->results[ref.result].buffer = sharedStorage(ref);
    bool isLeaf = node->kind == NodeKind::leaf || node->kind == NodeKind::input ||
                  (node->kind == NodeKind::number && !numbersAreConstants) ||
                  (node->kind == NodeKind::op && !node->results.empty() && node->computed(ref.result) &&
                   !forced.contains(node)); // a node without results is run for its effect
    if (isLeaf) {
      if (seenLeaves.insert(ref).second)
        leaves.push_back(ref);
      continue;
    }
    if (!seen.insert(node).second)
      continue;
    nodes.push_back(node);
    for (const Ref &operand : node->operands)
      stack.push_back(operand);
  }
  std::sort(nodes.begin(), nodes.end(), [](const Node *a, const Node *b) { return a->serial < b->serial; });
  std::sort(leaves.begin(), leaves.end(), [](const Ref &a, const Ref &b) {
    return std::pair(a.node->serial, a.result) < std::pair(b.node->serial, b.result);
  });
  if (!numbersAreConstants)
    sortByUse(nodes, leaves);
}

bool isPassedOnHost(const RegionArgument &argument) {
  return argument.value.node->kind == NodeKind::number && !argument.value.spec().device.is_cpu();
}

std::vector<const Node *> fallibleNodes(const Region &region) {
  std::vector<const Node *> list;
  for (const Node *node : region.nodes)
    if (mayFail(*node))
      list.push_back(node);
  return list;
}

namespace {
/// A result of a node, without ownership.
using Value = std::pair<const Node *, uint32_t>;
struct ValueHash {
  size_t operator()(const Value &value) const {
    return std::hash<const Node *>()(value.first) * 31 + value.second;
  }
};
} // namespace

std::unordered_set<const Node *> gradientStops(const Region &region) {
  std::unordered_set<Value, ValueHash> reached;
  for (const Node *node : region.nodes)
    if (node->kind == NodeKind::op && std::string_view(node->name) == "gradient")
      for (size_t i = 1; i < node->operands.size(); ++i)
        reached.emplace(node->operands[i].node.get(), node->operands[i].result);
  if (region.isBody)
    for (const RegionArgument &argument : region.arguments)
      if (argument.value.requiresGrad())
        reached.emplace(argument.value.node.get(), argument.value.result);
  std::unordered_set<const Node *> stops;
  if (reached.empty()) // no gradient, as in most flushes
    return stops;
  for (const Node *node : region.nodes) {
    if (std::none_of(node->operands.begin(), node->operands.end(), [&](const Ref &operand) {
          return reached.contains({operand.node.get(), operand.result});
        }))
      continue;
    for (uint32_t i = 0; i < node->results.size(); ++i) {
      if (!is_floating_point(node->results[i].spec.dtype))
        continue;
      if (node->requiresGrad)
        reached.emplace(node, i);
      else
        stops.insert(node);
    }
  }
  return stops;
}

std::string structuralKey(const Region &region) {
  KeyWriter writer;
  std::string &key = writer.key;
  const std::unordered_set<const Node *> stops = gradientStops(region);
  std::unordered_map<Value, uint32_t, ValueHash> numbering;
  auto define = [&](const Node *node, uint32_t result) {
    auto next = static_cast<uint32_t>(numbering.size());
    numbering.try_emplace({node, result}, next);
  };
  writer.put(region.options.numerics == "fast");
  for (const RegionArgument &argument : region.arguments) {
    writer.putSpec(argument.value.spec());
    writer.put(argument.role);
    writer.put(argument.donated);
    writer.putList(argument.strides);
    writer.put(argument.alignment);
    define(argument.value.node.get(), argument.value.result);
  }
  for (const Node *node : region.nodes) {
    key += '|';
    key += node->name;
    writer.put(stops.contains(node));
    // Of constants, numbers and iota no operand determines the type, nor of kernels of the user.
    if (node->operands.empty() || node->statesResults)
      for (const NodeResult &result : node->results)
        writer.putSpec(result.spec);
    if (node->kind == NodeKind::constant || node->kind == NodeKind::number) {
      writer.put(node->number);
      writer.put(node->numberBytes);
    }
    for (const Ref &operand : node->operands)
      writer.put(numbering.at({operand.node.get(), operand.result}));
    writer.putAttrs(node->attrs);
    for (uint32_t i = 0; i < node->results.size(); ++i)
      define(node, i);
  }
  for (const RegionResult &result : region.results) {
    writer.put(numbering.at({result.value.node.get(), result.value.result}));
    writer.put(result.tiedTo);
  }
  return std::move(key);
}

std::vector<runtime::Device *> pinnedFor(const Region &region) {
  std::vector<runtime::Device *> devices;
  for (size_t i = 0; i < region.results.size(); ++i) {
    const Node &node = *region.results[i].value.node;
    if (!node.resultIsPinned || node.operands.empty())
      continue;
    const Device &from = node.operands[0].spec().device;
    if (!isThere(from)) // the program is compiled for another machine
      continue;
    devices.resize(region.results.size());
    devices[i] = &backendOf(from, node.loc);
  }
  return devices;
}

} // namespace weft::frontend
