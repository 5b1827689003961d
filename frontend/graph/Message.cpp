//===- Message.cpp - Errors at the lines of the program ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Message.h"

#include "frontend/graph/Slot.h"
#include "ir/SourceExcerpt.h"

#include <fstream>

namespace weft::frontend {

std::string str(const Loc &loc) {
  return std::string(loc.file_name()) + ":" + std::to_string(loc.line()) + ":" + std::to_string(loc.column());
}

std::string nameOf(const Slot &slot) {
  return slot.name.empty() ? "the tensor made at " + str(slot.loc) : "'" + slot.name + "'";
}

/// An excerpt of a source line with a caret below it; empty if the file cannot be read.
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

/// ", 'decoder.2.weight'," for a parameter, also one that is transposed, reshaped or broadcast. Empty for
/// other values.
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

void throwAt(const Status &status, Loc loc) {
  if (!status.ok())
    fail(status, loc);
}

} // namespace weft::frontend
