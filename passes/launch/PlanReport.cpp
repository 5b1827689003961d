//===- PlanReport.cpp - A launch list as a table --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/launch/PlanReport.h"
#include "ir/Decisions.h"
#include "ir/DeviceArenas.h"
#include "ir/ImplicitGemm.h"
#include "ir/Loops.h"
#include "ir/Reasons.h"
#include "ir/ValuesOnly.h"
#include "passes/launch/LaunchList.h"
#include "passes/launch/LaunchStorage.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <array>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

std::string launchKind(Operation *op) {
  if (auto fusion = dyn_cast<FusionOp>(op))
    return stringifyFusionKind(fusion.getKind()).str();
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    std::string kind = "contraction";
    if (dot.getBias())
      kind += "+bias";
    if (dot.getResidual())
      kind += "+residual";
    if (dot.getRelu())
      kind += "+relu";
    if (!dot.getMore().empty())
      kind += " sum";
    return kind;
  }
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attention.getGrad() ? "attention backward" : "attention";
  if (auto convolution = dyn_cast<ImplicitGemmOp>(op)) {
    std::string kind = convolution.getWinograd() ? "winograd convolution" : "convolution";
    for (const StepOperand &each : epilogueOf(convolution))
      kind += "+" + convolutionStepNames[static_cast<size_t>(each.step)].str();
    return kind;
  }
  if (auto sort = dyn_cast<SortOp>(op))
    return sort.getDescending() ? "sort descending" : "sort";
  if (auto factorize = dyn_cast<FactorizeOp>(op))
    return stringifyFactorization(factorize.getKind()).str() + (onlyValuesOf(factorize) ? " of values" : "");
  if (auto fourier = dyn_cast<FftOp>(op))
    return "fourier transform " + stringifyFourierKind(fourier.getKind()).str();
  if (auto scan = dyn_cast<ScanOp>(op))
    return "loop of " + std::to_string(scan.getLength()) + " trips of " + scan.getBody().str();
  if (auto cond = dyn_cast<CondOp>(op))
    return "branch to " + cond.getThenBody().str() + " or " + cond.getElseBody().str();
  if (auto loop = dyn_cast<WhileOp>(op))
    return "loop while " + loop.getCondition().str() + " of " + loop.getBody().str();
  if (auto raw = dyn_cast<RawKernelOp>(op))
    return "raw kernel " + raw.getEntry().str();
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
  return isRange ? text + ".." + sizeText(slice.getPosition() + slice.getBytes()) : text;
}

/// The source line without its folder, to keep the table narrow.
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

/// The first few items of a list, which may have an item for each parameter of a model.
static std::string shortList(ArrayRef<std::string> items, StringRef separator) {
  constexpr size_t shown = 3;
  std::string text = llvm::join(items.take_front(shown), separator);
  return items.size() > shown ? text + " +" + std::to_string(items.size() - shown) : text;
}

std::string launchResults(Operation *launch) {
  SmallVector<std::string> types;
  for (Type type : launch->getResultTypes())
    types.push_back(typeText(type));
  return shortList(types, " ");
}

bool hasGraphs(FuncOp func) { return !isHostProgram(func); }

std::vector<Decision> shownDecisions(FuncOp func) {
  std::vector<Decision> decisions = readDecisions(func);
  if (!hasGraphs(func))
    llvm::erase_if(decisions, [](const Decision &decision) {
      return StringRef(decision.code).starts_with("WEFT-C") || decision.code == "gathered";
    });
  return decisions;
}

std::string formatPlan(FuncOp func) {
  using Row = std::array<std::string, 7>;
  std::vector<Row> rows{{"#", "kind", "results", "read", "written", "slices", "location"}};
  int64_t number = 0;
  Size totalRead, totalWritten;
  for (Operation &op : func.getBody().front()) {
    if (!isLaunch(&op))
      continue;
    Size read, written;
    llvm::SetVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.insert(storageRoot(operand));
    for (Value operand : operands)
      read += bytesOf(operand.getType());
    SmallVector<std::string> slices;
    for (Value result : op.getResults()) {
      written += bytesOf(result.getType());
      slices.push_back(sliceText(sliceOf(result)));
    }
    totalRead += read;
    totalWritten += written;
    std::string kind = launchKind(&op);
    if (unsigned queue = queueOf(&op))
      kind += " @" + std::to_string(queue);
    rows.push_back({std::to_string(number++), kind, launchResults(&op), sizeText(read), sizeText(written),
                    shortList(slices, ", "), shortLocation(op.getLoc())});
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
  os << amountText(number, "launch") << (number == 1 ? " reads " : " read ") << sizeText(totalRead)
     << (number == 1 ? " and writes " : " and write ") << sizeText(totalWritten) << " bytes";
  auto bytes = sizeOfAttr(func->getAttr(attr::arenaBytes)),
       bound = sizeOfAttr(func->getAttr(attr::arenaLowerBound));
  if (bytes && bound)
    os << "; arena " << sizeText(*bytes) << " bytes, lower bound " << sizeText(*bound);
  if (func->hasAttr(attr::arenaDevices))
    if (auto arenas = deviceArenasOf(func); succeeded(arenas))
      for (auto [i, arena] : llvm::enumerate(*arenas))
        os << (i ? ", " : " (") << arena.device.str() << " " << sizeText(arena.begin) << " to "
           << sizeText(arena.end) << (i + 1 == arenas->size() ? ")" : "");
  os << '\n';
  if (auto names = func->getAttrOfType<ArrayAttr>(attr::queues)) {
    os << "queues:";
    for (auto [i, name] : llvm::enumerate(names.getAsRange<StringAttr>()))
      os << (i ? ", @" : " @") << i << " " << name.getValue();
    os << '\n';
  }
  return text;
}

std::string formatDecisions(FuncOp func) {
  std::vector<Decision> decisions = shownDecisions(func);
  // Decisions with a cost (bytes or time that a refusal could not save) come first; then refusals, notes and
  // applied rewrites, each in the order in which they were recorded.
  std::vector<std::tuple<int, int64_t, size_t>> order;
  for (auto [i, decision] : llvm::enumerate(decisions)) {
    const Reason *reason = findReason(decision.code);
    order.emplace_back(reason ? (reason->refusal ? 0 : 1) : 2, reason ? -decision.savedPs : 0, i);
  }
  llvm::sort(order);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [kind, cost, i] : order) {
    const Decision &decision = decisions[i];
    os << "  " << llvm::left_justify(decision.code, 10) << "  " << decision.producer;
    if (!decision.consumer.empty())
      os << " -> " << decision.consumer;
    if (!decision.message.empty())
      os << ": " << decision.message;
    if (decision.savedPs)
      os << "; " << (decision.savedPs + 500) / 1000 << " ns";
    if (!decision.location.empty())
      os << "  (" << decision.location << ")";
    os << "\n";
  }
  return text;
}

std::string formatCapture(FuncOp func) {
  if (!hasGraphs(func))
    return {};
  int64_t captured = 0, total = 0, regions = 0;
  for (Operation &op : func.getBody().front()) {
    if (!isLaunch(&op))
      continue;
    ++total;
    if (auto region = op.getAttrOfType<IntegerAttr>(attr::capture)) {
      ++captured;
      regions = std::max(regions, region.getInt() + 1);
    }
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "capture: " << captured << " of " << total << " launches in " << amountText(regions, "graph") << "\n";
  for (const Decision &decision : readDecisions(func))
    if (StringRef(decision.code).starts_with("WEFT-C"))
      os << "  " << decision.code << "  " << decision.producer << ": " << decision.message << "  ("
         << decision.location << ")\n";
  return text;
}

} // namespace weft::passes
