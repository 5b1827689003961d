//===- Record.cpp - Recording of operations and values -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Record.h"

#include "frontend/graph/Devices.h"
#include "frontend/graph/KeyWriter.h"
#include "frontend/graph/Message.h"
#include "frontend/graph/OpDefinitions.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/Shapes.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static std::shared_ptr<Node> newNode(NodeKind kind, const char *name, size_t results, Loc loc) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->name = name;
  node->serial = nextSerial();
  node->results.resize(results);
  node->trace = TraceScope::current();
  node->thread = threadNumber();
  node->loc = loc;
  ++recordedNodes();
  return node;
}

static std::shared_ptr<Node> newNode(NodeKind kind, const char *name, Spec result, Loc loc) {
  auto node = newNode(kind, name, 1, loc);
  node->lacksDevice = !isThere(result.device);
  node->results[0].spec = std::move(result);
  return node;
}

/// The key under which inferred result types are cached, so that a steady loop infers each once.
static std::string inferenceKey(const char *name, const std::vector<Ref> &operands,
                                const std::vector<Attr> &attrs, const std::vector<Spec> &stated) {
  KeyWriter writer{name};
  for (const Spec &spec : stated)
    writer.putSpec(spec);
  for (const Ref &ref : operands)
    writer.putSpec(ref.spec());
  writer.putAttrs(attrs);
  return std::move(writer.key);
}

/// Throws the error about operands on two devices. Called when the op's verifier refused the operands;
/// returns if they are all on one device.
static void failOnDevices(const char *name, const std::vector<Ref> &operands, Loc loc) {
  if (std::string_view(name) == "transfer")
    return;
  for (size_t i = 1; i < operands.size(); ++i)
    if (operands[i].spec().device != operands[0].spec().device) {
      // Advise to move an operand that is on the host. If neither is, a parameter stays where its module is,
      // and the other operand moves.
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

/// Records an operation whose result types are known.
static std::shared_ptr<Node> recordKnown(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs,
                                         const std::vector<Spec> &specs, bool isStated, Loc loc) {
  auto node = newNode(NodeKind::op, name, specs.size(), loc);
  bool wanted = false, real = false;
  for (size_t i = 0; i < specs.size(); ++i) {
    node->results[i].spec = specs[i];
    node->lacksDevice |= !isThere(specs[i].device);
    real |= is_floating_point(specs[i].dtype);
  }
  for (const Ref &ref : operands) {
    wanted |= ref.requiresGrad();
    node->lacksDevice |= ref.node->lacksDevice;
    node->failed |= isKnownToFail(ref);
  }
  node->statesResults = isStated;
  node->attrs = std::move(attrs);
  node->fallible = mayFail(*node);
  for (const Ref &ref : operands)
    node->fallible |= mayBeLost(ref);
  node->followsCall = node->fallible && std::any_of(operands.begin(), operands.end(), followsCall);
  node->requiresGrad = wanted && real && gradEnabled();
  node->operands = std::move(operands);
  return node;
}

std::shared_ptr<Node> recordBodies(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs,
                                   const std::vector<Spec> &results, Loc loc) {
  GraphLock lock(graphMutex());
  return recordKnown(name, std::move(operands), std::move(attrs), results, /*isStated=*/true, loc);
}

std::shared_ptr<Node> record(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs, Loc loc) {
  return recordStated(name, std::move(operands), std::move(attrs), {}, loc);
}

std::shared_ptr<Node> recordStated(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs,
                                   std::vector<Spec> stated, Loc loc) {
  GraphLock lock(graphMutex());
  static auto *known = new std::unordered_map<std::string, std::vector<Spec>>;
  std::string key = inferenceKey(name, operands, attrs, stated);
  auto it = known->find(key);
  if (it == known->end()) {
    std::vector<const Spec *> specs;
    for (const Ref &ref : operands)
      specs.push_back(&ref.spec());
    auto results = inferResults(name, specs, attrs, stated);
    if (!results) {
      failOnDevices(name, operands, loc);
      fail(results.status(), loc, operands);
    }
    // Bounded, because a program may have ever new shapes.
    if (known->size() >= 16384)
      known->clear();
    it = known->emplace(std::move(key), std::move(*results)).first;
  }
  return recordKnown(name, std::move(operands), std::move(attrs), it->second, !stated.empty(), loc);
}

Ref recordTyped(const char *name, std::vector<Attr> attrs, Spec result, Loc loc) {
  auto node = newNode(NodeKind::op, name, std::move(result), loc);
  node->attrs = std::move(attrs);
  return {node, 0};
}

Ref record1(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs, Loc loc) {
  return {record(name, std::move(operands), std::move(attrs), loc), 0};
}

std::shared_ptr<Node> copyOf(const Node &node, std::vector<Ref> operands) {
  auto copy = newNode(node.kind, node.name, node.results.size(), node.loc);
  --recordedNodes(); // the program records none
  copy->attrs = node.attrs;
  for (size_t i = 0; i < node.results.size(); ++i)
    copy->results[i].spec = node.results[i].spec;
  copy->number = node.number;
  copy->numberBytes = node.numberBytes;
  copy->requiresGrad = node.requiresGrad;
  copy->lacksDevice = node.lacksDevice;
  copy->statesResults = node.statesResults;
  copy->beginsAnew = node.beginsAnew;
  copy->failed = std::any_of(operands.begin(), operands.end(), isKnownToFail);
  copy->fallible = node.fallible || std::any_of(operands.begin(), operands.end(), mayBeLost);
  copy->followsCall = std::any_of(operands.begin(), operands.end(), followsCall);
  copy->operands = std::move(operands);
  return copy;
}

Ref sameValue(Ref value, Loc loc) {
  return record1("reshape", {value}, {{"shape", value.spec().shape}}, loc);
}

bool mayFail(const Node &node) {
  static const std::vector<std::string> &names = fallibleOps();
  // Loops and conditions may fail if their bodies may, as an attribute says.
  const std::string_view name = node.name;
  if (name == "scan" || name == "cond" || name == "while")
    return std::find(node.attrs.begin(), node.attrs.end(), Attr{"may_fail", true}) != node.attrs.end();
  return std::find(names.begin(), names.end(), name) != names.end();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

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
    // Rounds once from f64: to f32 by rounding to odd, and from there to the nearest even, which together are
    // exact.
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
// The same value in another form
//===----------------------------------------------------------------------===//

Ref convertTo(Ref value, DType dtype, Loc loc) {
  return value.spec().dtype == dtype ? value : record1("convert", {value}, {{"to", dtype}}, loc);
}

Ref transferTo(Ref value, Device device, Loc loc, MoveOptions options) {
  device = resolve(device);
  if (value.spec().device == device)
    return value;
  Ref moved = record1("transfer", {value}, {{"to", device}}, loc);
  moved.node->resultIsPinned = options.non_blocking && device.is_cpu();
  return moved;
}

Ref movedInBody(Ref value, Device device, Loc loc) {
  const Trace *trace = Trace::current();
  const bool moves = trace && trace->isBody() && value.spec().device.is_cpu();
  return moves ? transferTo(std::move(value), device, loc) : value;
}

Ref reshapeTo(Ref value, const Shape &shape, Loc loc) {
  checkRank(shape, loc);
  return value.spec().shape == shape ? value : record1("reshape", {value}, {{"shape", shape}}, loc);
}

Ref broadcastTo(Ref value, const Shape &shape, Loc loc) {
  checkRank(shape, loc);
  const Shape &from = value.spec().shape;
  if (from == shape)
    return value;
  const auto both = [&] {
    return "Target sizes: " + shapeText(shape) + ".  Tensor sizes: " + shapeText(from);
  };
  if (from.size() > shape.size())
    fail("expand: the number of sizes provided (" + std::to_string(shape.size()) +
             ") must be greater or equal to the number of dimensions in the tensor (" +
             std::to_string(from.size()) + ").  " + both(),
         loc, {value});
  const size_t added = shape.size() - from.size();
  for (size_t i = from.size(); i-- > 0;)
    if (from[i] != shape[added + i] && from[i] != 1)
      fail("The expanded size of the tensor (" + sizeText(shape[added + i]) +
               ") must match the existing size (" + sizeText(from[i]) + ") at non-singleton dimension " +
               std::to_string(added + i) + ".  " + both(),
           loc, {value});
  std::vector<int64_t> dims(from.size());
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(shape.size() - from.size()));
  return record1("broadcast_in_dim", {value}, {{"dims", dims}, {"shape", shape}}, loc);
}

} // namespace weft::frontend
