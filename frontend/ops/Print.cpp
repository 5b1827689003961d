//===- Print.cpp - Tensors as text, and effects of programs -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Graph.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Handle.h"
#include "runtime/support/TensorText.h"

#include <cstdio>
#include <ostream>

namespace weft {

using namespace frontend;

std::string to_string(const Tensor &tensor, Loc loc) {
  const std::vector<std::byte> bytes = tensor.to_bytes(loc);
  const std::string device = tensor.device(loc).is_cuda() ? "device='" + tensor.device(loc).str() + "'" : "";
  return runtime::tensor_text(tensor.dtype(loc), tensor.sizes(loc), bytes.data(), device,
                              tensor.requires_grad(loc) ? "requires_grad=True" : "");
}

/// Records an op without results, which stays in the program because the trace keeps it.
static void recordEffect(const char *name, Ref operand, std::vector<Attr> attrs, Loc loc) {
  auto node = std::make_shared<Node>();
  node->name = name;
  node->serial = nextSerial();
  node->lacksDevice = operand.node->lacksDevice;
  node->operands = {std::move(operand)};
  node->attrs = std::move(attrs);
  node->trace = Trace::current();
  node->loc = loc;
  Trace::current()->addEffect({std::move(node), 0});
}

void print(const Tensor &tensor, Loc loc) { print("", tensor, loc); }

std::ostream &operator<<(std::ostream &out, const Printed &printed) {
  return out << (printed.tensor.defined() ? to_string(printed.tensor, printed.loc) : "undefined");
}
std::ostream &operator<<(std::ostream &out, DType dtype) { return out << name(dtype); }
std::ostream &operator<<(std::ostream &out, const Device &device) { return out << device.str(); }

void print(const std::string &label, const Tensor &tensor, Loc loc) {
  if (Trace::current()) {
    recordEffect("print", use(tensor, loc), {{"label", label}}, loc);
    return;
  }
  std::printf("%s%s%s\n", label.c_str(), label.empty() ? "" : ": ", to_string(tensor, loc).c_str());
}

void assert_true(const Tensor &condition, const std::string &message, Loc loc) {
  Ref value = use(condition, loc);
  if (value.spec().dtype != DType::i1)
    fail("assert_true takes a tensor of truth values (i1), found " + value.spec().str() +
             ": compare it first",
         loc, {value});
  if (Trace::current()) {
    recordEffect("assert", value, {{"message", message}}, loc);
    return;
  }
  const std::vector<std::byte> bytes = condition.to_bytes(loc);
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] == std::byte{0})
      fail(message + " (the condition is false at position " + std::to_string(i) + ")", loc, {value});
}

} // namespace weft
