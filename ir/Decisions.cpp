//===- Decisions.cpp - Decisions of passes, and their reasons -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace weft::ir {

std::string amountText(size_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

FileLineColLoc firstLine(Location loc) {
  FileLineColLoc first;
  loc->walk([&](Location part) {
    first = dyn_cast<FileLineColLoc>(part);
    return first ? WalkResult::interrupt() : WalkResult::advance();
  });
  return first;
}

std::string locationText(Location loc) {
  llvm::SetVector<StringAttr> lines;
  loc->walk([&](Location part) {
    if (auto line = dyn_cast<FileLineColLoc>(part))
      lines.insert(StringAttr::get(loc.getContext(), line.getFilename().getValue() + ":" +
                                                         Twine(line.getLine()) + ":" +
                                                         Twine(line.getColumn())));
    return WalkResult::advance();
  });
  std::string text;
  for (StringAttr line : lines)
    text += (text.empty() ? "" : ", ") + line.str();
  return text;
}

Location locationFrom(MLIRContext *context, StringRef text) {
  auto [line, column] = text.split(", ").first.rsplit(':');
  auto [file, row] = line.rsplit(':');
  unsigned r = 0, c = 0;
  if (file.empty() || row.getAsInteger(10, r) || column.getAsInteger(10, c))
    return UnknownLoc::get(context);
  return FileLineColLoc::get(context, file, r, c);
}

void recordDecisions(FuncOp func, ArrayRef<Decision> decisions) {
  if (decisions.empty())
    return;
  Builder b(func.getContext());
  SmallVector<Attribute> all;
  if (auto old = func->getAttrOfType<ArrayAttr>(decisionsAttr))
    llvm::append_range(all, old);
  for (const Decision &d : decisions)
    all.push_back(b.getDictionaryAttr({
        b.getNamedAttr("code", b.getStringAttr(d.code)),
        b.getNamedAttr("consumer", b.getStringAttr(d.consumer)),
        b.getNamedAttr("location", b.getStringAttr(d.location)),
        b.getNamedAttr("message", b.getStringAttr(d.message)),
        b.getNamedAttr("producer", b.getStringAttr(d.producer)),
        b.getNamedAttr("saved_ps", b.getI64IntegerAttr(d.savedPs)),
    }));
  func->setAttr(decisionsAttr, b.getArrayAttr(all));
}

std::vector<Decision> readDecisions(FuncOp func) {
  std::vector<Decision> decisions;
  auto all = func->getAttrOfType<ArrayAttr>(decisionsAttr);
  if (!all)
    return decisions;
  for (Attribute entry : all) {
    auto dict = dyn_cast<DictionaryAttr>(entry);
    if (!dict)
      continue;
    auto text = [&](StringRef key) {
      auto value = dict.getAs<StringAttr>(key);
      return value ? value.str() : std::string();
    };
    Decision d{text("code"), text("location"), text("producer"), text("consumer"), 0, text("message")};
    if (auto saved = dict.getAs<IntegerAttr>("saved_ps"); saved && saved.getType().isInteger(64))
      d.savedPs = saved.getInt();
    decisions.push_back(std::move(d));
  }
  return decisions;
}

} // namespace weft::ir
