//===- Calls.cpp - Functions put in place of their calls -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

namespace weft::cudasim {

static constexpr size_t deepestCall = 32;

std::vector<Symbol> Decoder::callVariables(const Operand &list) {
  std::vector<Symbol> found;
  if (list.kind != Operand::Kind::vector)
    fail("a list of parameters is expected");
  for (const Operand &one : list.elements) {
    std::optional<Symbol> variable = symbol(one.name);
    if (!variable || !variable->callParameter)
      fail("parameters of a call must be variables in the space .param");
    found.push_back(*variable);
  }
  return found;
}

std::vector<uint32_t> Decoder::argumentsOfCall(std::initializer_list<uint32_t> sizes) {
  take("uni");
  finish(2);
  std::vector<uint32_t> places;
  for (const Symbol &one : callVariables(operand(1))) {
    if (places.size() == sizes.size() || one.size != std::data(sizes)[places.size()])
      fail("'" + std::string(operand(0).name) + "' is called with other parameters");
    places.push_back(uint32_t(one.offset));
  }
  if (places.size() != sizes.size())
    fail("'" + std::string(operand(0).name) + "' is called with another number of parameters");
  return places;
}

void Decoder::inlineCall() {
  take("uni");
  finish(1, 3);
  size_t at = operand(0).kind == Operand::Kind::vector ? 1 : 0;
  if (at >= operandCount() || operand(at).kind != Operand::Kind::name)
    fail("the name of a function is expected");
  const Function *callee = nullptr;
  for (const Function &one : functions)
    if (one.name == operand(at).name && !one.isEntry && (one.hasBody || !callee))
      callee = &one;
  if (!callee || !callee->hasBody)
    fail("the function '" + std::string(operand(at).name) + "' has no body here");
  for (const Frame &frame : frames)
    if (frame.function == callee)
      fail("'" + std::string(callee->name) + "' is recursive");
  if (frames.size() > deepestCall)
    fail("calls are nested too deeply");
  std::vector<Symbol> results, arguments;
  if (at)
    results = callVariables(operand(0));
  if (at + 1 < operandCount())
    arguments = callVariables(operand(at + 1));
  if (results.size() != callee->results.size() || arguments.size() != callee->parameters.size())
    fail("'" + std::string(callee->name) + "' is called with another number of parameters");
  std::unordered_map<std::string_view, Symbol> bound;
  auto bind = [&](const Variable &formal, const Symbol &actual) {
    if (formal.size > actual.size || actual.offset % formal.alignment)
      fail("a parameter of '" + std::string(callee->name) + "' has another size or alignment");
    bound[formal.name] = actual;
  };
  for (size_t i = 0; i < results.size(); ++i)
    bind(callee->results[i], results[i]);
  for (size_t i = 0; i < arguments.size(); ++i)
    bind(callee->parameters[i], arguments[i]);
  // A guarded call: the other lanes jump over the body.
  const Statement *call = statement;
  std::optional<uint32_t> over;
  if (!statement->guard.empty()) {
    emit(branchHandler).guardNegated = !statement->guardNegated;
    over = position() - 1;
  }
  body(*callee, std::move(bound));
  statement = call;
  if (over)
    kernel.code[*over].target = position();
}

} // namespace weft::cudasim
