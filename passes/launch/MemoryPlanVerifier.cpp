//===- MemoryPlanVerifier.cpp - Proof that a memory plan is sound ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The proof uses only the IR. The verifier shares with the planner only two rules: which ops may fail, and
// which operands are read in place.
//
//===----------------------------------------------------------------------===//
#include "passes/launch/MemoryPlanVerifier.h"
#include "passes/launch/ArenaPacking.h"
#include "passes/launch/LaunchList.h"
#include "passes/launch/LaunchStorage.h"

#include "ir/DeviceArenas.h"
#include "ir/Updates.h"

#include <map>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

namespace {

class PlanVerifier {
public:
  explicit PlanVerifier(FuncOp func) : func(func), body(func.getBody().front()) {}
  LogicalResult run();

private:
  void number();
  LogicalResult checkSlices(Operation &op);
  LogicalResult checkSlice(Operation &op, OpResult result, SliceAttr slice);
  LogicalResult checkUpdate(Operation &op, SliceAttr slice);
  Value lastUpdate(Value value);
  LogicalResult checkArena();
  LogicalResult checkArgumentWrite(OpResult result, unsigned argument);
  LogicalResult checkAlias(ReturnOp op, unsigned number, SliceAttr slice);
  LogicalResult checkReturn(ReturnOp op);

  FuncOp func;
  Block &body;
  SmallVector<DeviceArena> arenas;
  SymbolRanges ranges = rangesOf(func);
  llvm::DenseMap<Operation *, unsigned> position;
  llvm::DenseMap<Value, unsigned> lastRead;
  llvm::DenseMap<Value, Value> lastUpdates; ///< known results of lastUpdate()
  llvm::DenseMap<unsigned, Value> writerOfArgument, writerOfResult;
  llvm::DenseMap<int64_t, unsigned> tiedResult; ///< by number of the argument, which has one at most
  Operation *lastFailing = nullptr;
};

} // namespace

void PlanVerifier::number() {
  unsigned next = 0;
  for (Operation &op : body) {
    position[&op] = next++;
    if (mayFail(&op))
      lastFailing = &op;
    if (!isStorageView(&op))
      for (Value operand : op.getOperands())
        lastRead[storageRoot(operand)] = position[&op];
  }
  for (unsigned result = 0; result < func.getNumResults(); ++result)
    if (int64_t tied = func.getTiedArgument(result); tied >= 0)
      tiedResult[tied] = result;
}

LogicalResult PlanVerifier::checkSlice(Operation &op, OpResult result, SliceAttr slice) {
  Size bytes = bytesOf(result.getType());
  auto fail = [&] { return op.emitOpError() << "result #" << result.getResultNumber() << " "; };
  if (slice.getBytes() != bytes)
    return fail() << "needs " << sizeText(bytes) << " bytes, but its slice has "
                  << sizeText(slice.getBytes());
  if (isStorageView(&op)) {
    SliceAttr expected = sliceOf(op.getOperand(0));
    if (expected != slice)
      return fail() << "is a view, but its slice " << slice << " is not that of its operand, " << expected;
    return success();
  }
  if (updateIn(&op) && failed(checkUpdate(op, slice)))
    return failure();
  // A position that is not a number cannot be the number of an argument or result.
  auto index =
      static_cast<unsigned>(std::min<int64_t>(slice.getPosition().number().value_or(UINT_MAX), UINT_MAX));
  auto terminator = cast<ReturnOp>(body.getTerminator());
  if (isa<ConstantOp>(op) != (slice.getStorage() == StorageKind::constant))
    return fail() << "cannot be stored in " << slice;
  switch (slice.getStorage()) {
  case StorageKind::constant:
    if (!slice.getPosition().isNumber() || !bytes.isNumber())
      return fail() << "is stored in " << slice
                    << ", and the constant section has no sizes that depend on a call";
    break;
  case StorageKind::arena:
    if (!isMultipleOf(slice.getPosition(), arenaAlignment))
      return fail() << "starts at byte " << sizeText(slice.getPosition())
                    << " of the arena, which is no multiple of " << arenaAlignment;
    if (!ranges.isAtLeast(slice.getPosition(), 0))
      return fail() << "starts at byte " << sizeText(slice.getPosition())
                    << " of the arena, which may be negative in the ranges of its symbols";
    if (!ranges.atLargest(slice.getPosition()))
      return fail() << "starts at byte " << sizeText(slice.getPosition())
                    << " of the arena, which cannot be computed in 63 bits where its symbols are largest";
    if (!ranges.isAtMost(slice.getPosition() + bytes, arenas.back().end))
      return fail() << "ends at byte " << sizeText(slice.getPosition() + bytes) << " of an arena of "
                    << sizeText(arenas.back().end) << " bytes";
    // An arena that is not divided is of one device: that of the first value in it.
    if (!arenas.front().device)
      arenas.front().device = deviceOf(result.getType()).withoutSizes();
    if (const DeviceArena *own = arenaOf(arenas, deviceOf(result.getType()));
        !own || !ranges.isAtMost(own->begin, slice.getPosition()) ||
        !ranges.isAtMost(slice.getPosition() + bytes, own->end)) {
      auto diag = fail() << "is on " << deviceOf(result.getType()).withoutSizes().str() << ", which has ";
      if (!own)
        return diag << "no part of the arena";
      return diag << "bytes [" << sizeText(own->begin) << ", " << sizeText(own->end)
                  << ") of the arena, but is in bytes [" << sizeText(slice.getPosition()) << ", "
                  << sizeText(slice.getPosition() + bytes) << ")";
    }
    break;
  case StorageKind::result: {
    if (index >= terminator.getNumOperands() || func.getTiedArgument(index) >= 0 ||
        storageRoot(terminator.getOperand(index)) != lastUpdate(result))
      return fail() << "is stored as result " << index << " of the function, which it is not";
    if (!updateIn(&op) && !writerOfResult.try_emplace(index, result).second)
      return fail() << "is stored as result " << index << ", as another value is";
    break;
  }
  case StorageKind::argument:
    return checkArgumentWrite(result, index);
  }
  return success();
}

/// An update keeps most elements of its base, so both must share storage, and no later op may read the base.
LogicalResult PlanVerifier::checkUpdate(Operation &op, SliceAttr slice) {
  Value base = storageRoot(op.getOperand(0));
  SliceAttr held = sliceOf(base);
  if (held != slice)
    return op.emitOpError() << "updates a value in " << held << ", but its result is stored in " << slice;
  if (lastRead.lookup(base) > position.lookup(&op))
    return op.emitOpError() << "updates a value that a later launch reads";
  if (!readsOnlyInPlace(&op, base, 0))
    return op.emitOpError() << "updates a value that it reads at other indices than it writes";
  return success();
}

/// The last value after updates in place.
Value PlanVerifier::lastUpdate(Value value) {
  SmallVector<Value> updates;
  for (bool further = true; further;) {
    if (auto known = lastUpdates.find(value); known != lastUpdates.end()) {
      value = known->second;
      break;
    }
    updates.push_back(value);
    further = false;
    SmallVector<Value> views{value};
    while (!views.empty() && !further)
      for (OpOperand &use : views.pop_back_val().getUses()) {
        Operation *user = use.getOwner();
        if (isStorageView(user)) {
          views.push_back(user->getResult(0));
        } else if (updateIn(user) && use.getOperandNumber() == 0) {
          value = user->getResult(0);
          further = true;
          break;
        }
      }
  }
  for (Value update : updates)
    lastUpdates[update] = value;
  return value;
}

LogicalResult PlanVerifier::checkArgumentWrite(OpResult result, unsigned argument) {
  Operation *op = result.getDefiningOp();
  auto fail = [&] {
    return op->emitOpError() << "result #" << result.getResultNumber() << " is written to argument "
                             << argument;
  };
  if (argument >= body.getNumArguments() || !func.isDonated(argument))
    return fail() << ", which is not donated";
  auto tied = tiedResult.find(argument);
  if (tied == tiedResult.end() ||
      storageRoot(body.getTerminator()->getOperand(tied->second)) != lastUpdate(result))
    return fail() << ", to which it is not tied";
  if (!writerOfArgument.try_emplace(argument, result).second && !updateIn(op))
    return fail() << ", as another value is";
  Value old = body.getArgument(argument);
  unsigned at = position.lookup(op);
  if (auto read = lastRead.find(old); read != lastRead.end() && read->second > at)
    return fail() << ", but a later launch reads the argument";
  if (!readsOnlyInPlace(op, old, result.getResultNumber()))
    return fail() << ", but the launch reads the argument at other indices than it writes";
  if (lastFailing && position.lookup(lastFailing) >= at) {
    auto diag = fail() << ", but a launch that may fail does not come before it";
    diag.attachNote(lastFailing->getLoc()) << "this launch may fail";
    return diag;
  }
  if (!canBePredicated(op))
    return fail() << ", but no library call or loop on a device sees whether the call has failed";
  return success();
}

LogicalResult PlanVerifier::checkSlices(Operation &op) {
  if (op.getNumResults() == 0 || isOrder(&op))
    return success();
  auto slices = op.getAttrOfType<ArrayAttr>(attr::slices);
  if (!slices || slices.size() != op.getNumResults())
    return op.emitOpError() << "needs " << op.getNumResults() << " slices, found "
                            << (slices ? static_cast<int64_t>(slices.size()) : 0)
                            << "; run --weft-plan-memory";
  for (OpResult result : op.getResults()) {
    SliceAttr slice = sliceOf(result);
    if (!slice)
      return op.emitOpError() << "has the slice " << slices[result.getResultNumber()]
                              << ", expected a #weft.slice";
    if (failed(checkSlice(op, result, slice)))
      return failure();
  }
  return success();
}

/// Sweeps over the launches with the live values, ordered by offset. A dynamic offset is ordered by its value
/// when all symbols are largest, which `checkSlice` has checked to exist. Each value is proven to end before
/// the next one begins, for all sizes; by transitivity no two overlap.
LogicalResult PlanVerifier::checkArena() {
  std::multimap<int64_t, Value> live; // by offset; no two overlap
  std::vector<SmallVector<Value>> dying(position.size());
  for (Operation &op : body) {
    unsigned at = position.lookup(&op);
    if (isOrder(&op))
      continue;
    for (OpResult result : op.getResults()) {
      SliceAttr slice = sliceOf(result);
      if (isStorageView(&op) || slice.getStorage() != StorageKind::arena || slice.getBytes() == 0)
        continue;
      Size begin = slice.getPosition(), end = begin + slice.getBytes();
      int64_t offset = *ranges.atLargest(begin);
      auto endOf = [](Value value) { return sliceOf(value).getPosition() + sliceOf(value).getBytes(); };
      auto it = live.lower_bound(offset);
      // Of values with the same largest offset, some may be empty and come before this one.
      while (it != live.end() && it->first == offset && ranges.isAtMost(endOf(it->second), begin))
        ++it;
      if (it != live.begin() && !ranges.isAtMost(endOf(std::prev(it)->second), begin))
        --it;
      while (it != live.end() && !ranges.isAtMost(end, sliceOf(it->second).getPosition())) {
        Value other = it->second;
        bool replaces = sliceOf(other).getPosition() == begin &&
                        sliceOf(other).getBytes() == slice.getBytes() && lastRead.lookup(other) == at &&
                        other.getDefiningOp() != &op;
        replaces = replaces && readsOnlyInPlace(&op, other, result.getResultNumber());
        if (!replaces) {
          auto diag = op.emitOpError()
                      << "result #" << result.getResultNumber() << " overlaps a value that is still "
                      << "needed: bytes [" << sizeText(begin) << ", " << sizeText(end) << ") of the arena";
          diag.attachNote(other.getLoc())
              << "this value is in bytes [" << sizeText(sliceOf(other).getPosition()) << ", "
              << sizeText(endOf(other)) << ")";
          return diag;
        }
        it = live.erase(it);
      }
      live.emplace_hint(it, offset, result);
      auto read = lastRead.find(result);
      dying[read == lastRead.end() ? at : read->second].push_back(result);
    }
    for (Value value : dying[at]) {
      auto [it, end] = live.equal_range(*ranges.atLargest(sliceOf(value).getPosition()));
      it = std::find_if(it, end, [&](const auto &entry) { return entry.second == value; });
      if (it != end)
        live.erase(it);
    }
  }
  return success();
}

/// A result that is an alias must be stored where the argument, or the earlier result, is.
LogicalResult PlanVerifier::checkAlias(ReturnOp op, unsigned number, SliceAttr slice) {
  auto of = func.getResultAttrOfType<IntegerAttr>(number, attr::aliasArgument);
  if (of) {
    if (of.getInt() < 0 || of.getInt() >= static_cast<int64_t>(body.getNumArguments()) ||
        slice != sliceOf(body.getArgument(of.getInt())))
      return op.emitOpError() << "value #" << number << " is stored in " << slice
                              << ", but is to be an alias of argument " << of.getInt();
    if (writerOfArgument.count(static_cast<unsigned>(of.getInt())))
      return op.emitOpError() << "value #" << number << " is an alias of argument " << of.getInt()
                              << ", which a launch has written";
    return success();
  }
  of = func.getResultAttrOfType<IntegerAttr>(number, attr::aliasResult);
  if (!of || of.getInt() < 0 || of.getInt() >= number ||
      slice != sliceOf(storageRoot(op.getOperand(static_cast<unsigned>(of.getInt())))))
    return op.emitOpError() << "value #" << number << " is stored in " << slice
                            << ", but is to be an alias of an earlier result";
  return success();
}

LogicalResult PlanVerifier::checkReturn(ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    int64_t tied = func.getTiedArgument(number);
    SliceAttr slice = sliceOf(storageRoot(operand.get()));
    if (tied < 0 &&
        (func.getResultAttr(number, attr::aliasArgument) || func.getResultAttr(number, attr::aliasResult))) {
      if (failed(checkAlias(op, number, slice)))
        return failure();
      continue;
    }
    StorageKind kind = tied >= 0 ? StorageKind::argument : StorageKind::result;
    int64_t index = tied >= 0 ? tied : number;
    if (slice.getStorage() != kind || slice.getPosition() != index)
      return op.emitOpError() << "value #" << number << " is stored in " << slice
                              << ", expected the storage of " << (tied >= 0 ? "argument " : "result ")
                              << index;
    // Returning the argument itself, unchanged, is right only if nothing was written to it.
    if (isa<BlockArgument>(storageRoot(operand.get())) &&
        writerOfArgument.count(static_cast<unsigned>(index)))
      return op.emitOpError() << "value #" << number << " is argument " << index
                              << ", which a launch has written";
  }
  return success();
}

LogicalResult PlanVerifier::run() {
  auto parts = deviceArenasOf(func);
  if (failed(parts))
    return failure();
  arenas = *parts;
  number();
  for (Operation &op : body)
    if (failed(checkSlices(op)))
      return failure();
  if (failed(checkArena()) || failed(checkReturn(cast<ReturnOp>(body.getTerminator()))))
    return failure();
  // A scheduled list has ops that order its queues; prove that order too.
  bool scheduled = llvm::any_of(body, [](Operation &op) { return isOrder(&op); });
  return scheduled ? verifyQueueOrder(func) : success();
}

LogicalResult verifyMemoryPlan(FuncOp func) {
  return func.isExternal() ? success() : PlanVerifier(func).run();
}

} // namespace weft::passes
