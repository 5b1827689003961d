//===- PlanReport.cpp - A launch list as a table --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/PlanReport.h"
#include "passes/Decisions.h"
#include "passes/MemoryPlan.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <array>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

static std::string kindOf(Operation *op) {
  if (auto fusion = dyn_cast<FusionOp>(op))
    return stringifyFusionKind(fusion.getKind()).str();
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    std::string kind = "contraction";
    if (dot.getBias())
      kind += "+bias";
    if (dot.getRelu())
      kind += "+relu";
    return kind;
  }
  return op->getName().stripDialect().str();
}

static std::string typeText(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::string text(name(dtypeOf(type)));
  text += '[';
  for (auto [i, size] : llvm::enumerate(sizesOf(tensor)))
    text += (i ? "x" : "") + sizeText(size);
  return text + ']';
}

static std::string sliceText(SliceAttr slice) {
  if (!slice)
    return "-";
  std::string text = stringifyStorageKind(slice.getStorage()).str();
  bool isRange = slice.getStorage() == StorageKind::arena || slice.getStorage() == StorageKind::constant;
  text += ' ' + sizeText(slice.getPosition());
  return isRange ? text + ".." + sizeText(addSizes(slice.getPosition(), slice.getBytes())) : text;
}

/// The source line without its folder: a table is for people who know where their files are.
static std::string shortLocation(Location loc) {
  std::string text = locationText(loc), line;
  SmallVector<StringRef> parts;
  StringRef(text).split(parts, ", ");
  for (StringRef part : ArrayRef(parts).take_front(2)) {
    size_t slash = part.rfind('/');
    line += (line.empty() ? "" : ", ") + (slash == StringRef::npos ? part : part.drop_front(slash + 1)).str();
  }
  return parts.size() > 2 ? line + " +" + std::to_string(parts.size() - 2) : line;
}

/// The first few of a list that may be as long as a model has parameters.
static std::string shortList(ArrayRef<std::string> items, StringRef separator) {
  constexpr size_t shown = 3;
  std::string text = llvm::join(items.take_front(shown), separator);
  return items.size() > shown ? text + " +" + std::to_string(items.size() - shown) : text;
}

std::string formatPlan(FuncOp func) {
  using Row = std::array<std::string, 7>;
  std::vector<Row> rows{{"#", "kind", "results", "read", "written", "slices", "location"}};
  int64_t number = 0, totalRead = 0, totalWritten = 0;
  for (Operation &op : func.getBody().front()) {
    if (!isa<FusionOp, DotGeneralOp>(op))
      continue;
    int64_t read = 0, written = 0;
    llvm::SetVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.insert(storageRoot(operand));
    for (Value operand : operands)
      read = addSizes(read, bytesOf(operand.getType()));
    SmallVector<std::string> types, slices;
    for (Value result : op.getResults()) {
      written = addSizes(written, bytesOf(result.getType()));
      types.push_back(typeText(result.getType()));
      slices.push_back(sliceText(sliceOf(result)));
    }
    totalRead = addSizes(totalRead, read);
    totalWritten = addSizes(totalWritten, written);
    rows.push_back({std::to_string(number++), kindOf(&op), shortList(types, " "), sizeText(read),
                    sizeText(written), shortList(slices, ", "), shortLocation(op.getLoc())});
  }
  std::array<size_t, 7> width{};
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      width[i] = std::max(width[i], row[i].size());
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Row &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      bool isNumber = i == 0 || i == 3 || i == 4;
      std::string pad(width[i] - row[i].size(), ' ');
      line += (i ? "  " : "") + (isNumber ? pad + row[i] : row[i] + pad);
    }
    os << StringRef(line).rtrim() << '\n';
  }
  os << number << " launches read " << sizeText(totalRead) << " and write " << sizeText(totalWritten)
     << " bytes";
  auto bytes = sizeOfAttr(func->getAttr(attr::arenaBytes)),
       bound = sizeOfAttr(func->getAttr(attr::arenaLowerBound));
  if (bytes && bound)
    os << "; arena " << sizeText(*bytes) << " bytes, lower bound " << sizeText(*bound);
  os << '\n';
  return text;
}

} // namespace weft::passes
