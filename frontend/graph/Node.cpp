//===- Node.cpp - Operations and their values ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Node.h"

#include <new>

namespace weft::frontend {

const Spec &Ref::spec() const { return node->results[result].spec; }

std::shared_ptr<runtime::Buffer> &Ref::buffer() const { return node->results[result].buffer; }

bool Ref::requiresGrad() const {
  return (node->requiresGrad || node->accumulator(result)) && is_floating_point(spec().dtype);
}

/// Destroys a graph of any depth without recursion: each destructor adds the node's operands to a list, which
/// the outermost destructor of the thread empties.
static void dropOperands(std::vector<Ref> operands) {
  thread_local std::vector<Ref> *worklist = nullptr;
  if (worklist) {
    try {
      for (Ref &ref : operands)
        worklist->push_back(std::move(ref));
    } catch (const std::bad_alloc &) {
      operands.clear(); // what is left is destroyed by recursion
    }
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
// States of a value
//===----------------------------------------------------------------------===//

bool isPending(const Ref &value) {
  const Node &node = *value.node;
  return !node.trace && node.kind != NodeKind::leaf && !node.computed(value.result);
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

} // namespace weft::frontend
