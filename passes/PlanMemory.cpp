//===- PlanMemory.cpp - Storage for every value of the launch list --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First everything is made correct: a result that cannot be computed where it belongs gets a copy at the end.
// Then storage is given out; a copy exists only where a rule below asked for one, and each has a reason code.
//
//===----------------------------------------------------------------------===//
#include "passes/Decisions.h"
#include "passes/MemoryPlan.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

namespace {

class PlanMemory : public impl::PlanMemoryBase<PlanMemory> {
public:
  using PlanMemoryBase::PlanMemoryBase;
  void runOnOperation() override;

private:
  LogicalResult checkLaunchList();
  void number();
  void settleResults();
  std::string whyNotInPlace(Value root, unsigned argument, StringRef &code);
  Value copy(Value value);
  void assignArena();
  void assignConstants();
  void writeSlices();
  SliceAttr slice(StorageKind storage, int64_t position, Value value) {
    return SliceAttr::get(&getContext(), storage, position, bytesOf(value.getType()));
  }

  FuncOp func;
  llvm::DenseMap<Operation *, unsigned> position;
  llvm::DenseMap<Value, unsigned> lastRead; ///< of a root: the position of the last launch that reads it
  llvm::DenseMap<Value, SliceAttr> storage; ///< of a root
  unsigned lastFailing = 0;                 ///< 1 + the position of the last launch that may fail, or 0
  ArenaPlan arena;
  std::vector<FusionDecision> decisions;
};

} // namespace

LogicalResult PlanMemory::checkLaunchList() {
  for (Operation &op : func.getBody().front())
    if (!isa<FusionOp, DotGeneralOp, ReshapeOp, ConstantOp, ReturnOp>(op))
      return op.emitOpError()
             << "is no launch: a memory plan is made for weft.fusion, weft.dot_general, weft.reshape, "
                "weft.constant and weft.return; run --weft-fuse first";
  return success();
}

/// Positions of ops and last reads of roots, from the text as it stands.
void PlanMemory::number() {
  position.clear();
  lastRead.clear();
  lastFailing = 0;
  unsigned next = 0;
  for (Operation &op : func.getBody().front()) {
    position[&op] = next++;
    if (mayFail(&op))
      lastFailing = next;
    if (!isa<ReshapeOp>(op))
      for (Value operand : op.getOperands())
        lastRead[storageRoot(operand)] = position[&op];
  }
}

/// Why result `root` of a launch cannot be written to the storage of an argument; empty if it can.
std::string PlanMemory::whyNotInPlace(Value root, unsigned argument, StringRef &code) {
  Value old = func.getBody().getArgument(argument);
  Operation *writer = root.getDefiningOp();
  unsigned at = position.lookup(writer);
  code = "WEFT-D001";
  if (auto read = lastRead.find(old); read != lastRead.end() && read->second > at)
    return "a later launch, or the result of the function, still reads the argument";
  code = "WEFT-D002";
  for (OpOperand &operand : writer->getOpOperands())
    if (storageRoot(operand.get()) == old &&
        !readsInPlace(writer, operand.getOperandNumber(), cast<OpResult>(root).getResultNumber()))
      return "the launch that computes the result reads the argument at other indices than it writes";
  code = "WEFT-D003";
  if (lastFailing > at)
    return "the launch, or a later one, may fail, and a call that fails changes nothing";
  return {};
}

/// A kernel that copies, at the end of the function.
Value PlanMemory::copy(Value value) {
  OpBuilder builder(func.getBody().front().getTerminator());
  auto fusion = builder.create<FusionOp>(value.getLoc(), TypeRange{value.getType()}, ValueRange{value},
                                         FusionKind::loop, ScheduleAttr(), ArrayAttr());
  Block &block = fusion.getBody().emplaceBlock();
  Value argument = block.addArgument(value.getType(), value.getLoc());
  OpBuilder::atBlockEnd(&block).create<YieldOp>(value.getLoc(), argument);
  return fusion.getResult(0);
}

void PlanMemory::settleResults() {
  Operation *terminator = func.getBody().front().getTerminator();
  struct Copy {
    unsigned result;
    int64_t argument; ///< written, or -1
  };
  SmallVector<Copy> copies;
  llvm::DenseMap<unsigned, bool> written; // arguments
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    int64_t tied = func.getTiedArgument(number);
    Value root = storageRoot(operand.get());
    auto argument = dyn_cast<BlockArgument>(root);
    if (tied >= 0 && argument && argument.getArgNumber() == tied)
      continue; // unchanged
    StringRef code;
    std::string why;
    if (argument || root.getDefiningOp<ConstantOp>()) {
      code = "WEFT-D004";
      why = argument ? "the result is an argument" : "the result is a constant";
    } else if (storage.count(root)) {
      code = "WEFT-D005";
      why = "the result is returned twice";
    } else if (tied >= 0) {
      why = whyNotInPlace(root, static_cast<unsigned>(tied), code);
    }
    if (why.empty()) {
      storage[root] =
          tied >= 0 ? slice(StorageKind::argument, tied, root) : slice(StorageKind::result, number, root);
      continue;
    }
    copies.push_back({number, tied});
    if (report)
      decisions.push_back({code.str(), locationText(operand.get().getLoc()),
                           "result " + std::to_string(number),
                           tied >= 0 ? "argument " + std::to_string(tied) : "", 0,
                           why + "; " + sizeText(bytesOf(root.getType())) + " bytes are copied"});
  }
  // Copies to arguments come last, after all reads of arguments: what is read from an argument that another
  // copy replaces is saved first.
  for (const Copy &c : copies)
    if (c.argument >= 0)
      written[static_cast<unsigned>(c.argument)] = true;
  for (const Copy &c : copies)
    if (c.argument < 0) {
      Value made = copy(terminator->getOperand(c.result));
      storage[made] = slice(StorageKind::result, c.result, made);
      terminator->setOperand(c.result, made);
    }
  for (const Copy &c : copies) {
    auto from = dyn_cast<BlockArgument>(storageRoot(terminator->getOperand(c.result)));
    if (c.argument >= 0 && from && written.lookup(from.getArgNumber()))
      terminator->setOperand(c.result, copy(terminator->getOperand(c.result)));
  }
  for (const Copy &c : copies)
    if (c.argument >= 0) {
      Value made = copy(terminator->getOperand(c.result));
      storage[made] = slice(StorageKind::argument, c.argument, made);
      terminator->setOperand(c.result, made);
    }
}

void PlanMemory::assignArena() {
  std::vector<ArenaBuffer> buffers;
  llvm::MapVector<Value, unsigned> bufferOf;
  for (Operation &op : func.getBody().front()) {
    if (!isa<FusionOp, DotGeneralOp>(op))
      continue;
    unsigned at = position.lookup(&op);
    for (OpResult result : op.getResults()) {
      if (storage.count(result))
        continue;
      auto read = lastRead.find(result);
      unsigned end = read == lastRead.end() ? at : read->second;
      int64_t bytes = bytesOf(result.getType());
      // An operand that dies here leaves its place, if every element is read before it is written.
      int64_t inherited = -1;
      for (OpOperand &operand : op.getOpOperands()) {
        Value root = storageRoot(operand.get());
        auto held = bufferOf.find(root);
        if (held == bufferOf.end() || lastRead.lookup(root) != at || bytesOf(root.getType()) != bytes ||
            buffers[held->second].end != at)
          continue;
        bool inPlace = llvm::all_of(op.getOpOperands(), [&](OpOperand &o) {
          return storageRoot(o.get()) != root ||
                 readsInPlace(&op, o.getOperandNumber(), result.getResultNumber());
        });
        if (!inPlace)
          continue;
        inherited = held->second;
        break;
      }
      if (inherited >= 0 && end > at) {
        buffers[inherited].end = end;
      } else {
        inherited = static_cast<int64_t>(buffers.size());
        buffers.push_back({bytes, at, end});
      }
      bufferOf[result] = static_cast<unsigned>(inherited);
    }
  }
  bool dynamic = llvm::any_of(buffers, [](const ArenaBuffer &buffer) { return isSymbolic(buffer.bytes); });
  arena = dynamic ? packDynamicArena(buffers, rangesOf(func)) : packArena(buffers);
  for (auto [value, buffer] : bufferOf)
    storage[value] = slice(StorageKind::arena, arena.offsets[buffer], value);
}

void PlanMemory::assignConstants() {
  llvm::DenseMap<Attribute, int64_t> placed;
  int64_t next = 0;
  for (auto constant : func.getBody().front().getOps<ConstantOp>()) {
    auto [it, inserted] = placed.try_emplace(constant.getValueAttr(), next);
    if (inserted)
      next += llvm::alignTo(bytesOf(constant.getType()), arenaAlignment);
    storage[constant.getResult()] = slice(StorageKind::constant, it->second, constant.getResult());
  }
}

void PlanMemory::writeSlices() {
  Builder b(&getContext());
  for (Operation &op : func.getBody().front().without_terminator()) {
    SmallVector<Attribute> slices;
    for (Value result : op.getResults()) {
      Value root = storageRoot(result);
      auto argument = dyn_cast<BlockArgument>(root);
      slices.push_back(argument ? slice(StorageKind::argument, argument.getArgNumber(), root)
                                : storage.lookup(root));
    }
    op.setAttr(attr::slices, b.getArrayAttr(slices));
  }
  func->setAttr(attr::arenaBytes, sizeAttr(&getContext(), arena.bytes));
  func->setAttr(attr::arenaLowerBound, sizeAttr(&getContext(), arena.lowerBound));
}

void PlanMemory::runOnOperation() {
  func = getOperation();
  if (func.isExternal())
    return;
  if (failed(checkLaunchList()))
    return signalPassFailure();
  decisions.clear();
  storage.clear();
  number();
  settleResults();
  number();
  assignArena();
  assignConstants();
  writeSlices();
  recordDecisions(func, decisions);
  if (failed(verifyMemoryPlan(func)))
    signalPassFailure();
}

} // namespace weft::passes
