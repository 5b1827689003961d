//===- LaunchList.cpp - Launches, queues and accesses ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/launch/LaunchList.h"
#include "ir/Decisions.h"
#include "ir/Loops.h"
#include "ir/Placement.h"
#include "passes/launch/LaunchStorage.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

bool isLaunch(Operation *op) {
  return isa<FusionOp, DotGeneralOp, AttentionOp, ImplicitGemmOp, SortOp, FactorizeOp, TriangularSolveOp,
             FftOp, RawKernelOp, ScanOp, CondOp, WhileOp, TransferOp, ToHostScalarOp, PrintOp, AssertOp>(op);
}

bool isEffect(Operation *op) { return isa<PrintOp, AssertOp>(op); }

DeviceAttr deviceOfLaunch(Operation *op) {
  return op->getNumOperands() ? computeDevice(op) : deviceOf(op->getResult(0).getType());
}

bool canBePredicated(Operation *op) {
  return !isa<DotGeneralOp, AttentionOp, ImplicitGemmOp, SortOp, RawKernelOp, ScanOp, CondOp, WhileOp>(op) ||
         deviceOfLaunch(op).isCpu();
}

bool isHostProgram(FuncOp func) {
  return llvm::all_of(func.getBody().front(),
                      [](Operation &op) { return !isLaunch(&op) || deviceOfLaunch(&op).isCpu(); });
}

std::pair<StringRef, StringRef> whyNotCapturable(Operation *op, bool hostProgram) {
  if (auto rule = dyn_cast<CaptureOp>(op))
    return rule.whyNotCapturable();
  DeviceAttr device = deviceOfLaunch(op);
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    bool host = device.isCpu() || transfer.getTo().isCpu();
    // A non-blocking copy reads pinned memory; other host memory may be paged out.
    if (host && !transfer.getNonBlocking())
      return {"WEFT-C021", "copies pageable memory of the host, which the copy has to wait for"};
    return {};
  }
  if (isa<WhileOp>(op) && !device.isCpu())
    return {"WEFT-C008", "is a loop on whose trips the host may have to decide"};
  if (isa<CondOp>(op) && !device.isCpu())
    return {"WEFT-C009", "has branches between which the host may have to decide"};
  if (device.isCpu() && !hostProgram)
    return {"WEFT-C003", "runs on the host between launches of a device"};
  return {};
}

unsigned queueOf(Operation *op) {
  auto queue = op->getAttrOfType<IntegerAttr>(attr::queue);
  return queue ? static_cast<unsigned>(queue.getInt()) : 0;
}

unsigned queueCount(FuncOp func) {
  auto names = func->getAttrOfType<ArrayAttr>(attr::queues);
  return names ? std::max<unsigned>(1, names.size()) : 1;
}

std::string computeQueueName(DeviceAttr device) { return device.str() + " compute"; }

unsigned computeQueueOf(FuncOp func, DeviceAttr device) {
  auto names = func->getAttrOfType<ArrayAttr>(attr::queues);
  if (!names)
    return 0;
  Builder b(func.getContext());
  auto name = b.getStringAttr(computeQueueName(device));
  SmallVector<Attribute> all(names.begin(), names.end());
  for (auto [i, known] : llvm::enumerate(all))
    if (known == name)
      return static_cast<unsigned>(i);
  all.push_back(name);
  func->setAttr(attr::queues, b.getArrayAttr(all));
  return static_cast<unsigned>(all.size() - 1);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void StorageAccesses::splitAt(Ranges &ranges, int64_t at) {
  auto it = ranges.upper_bound(at);
  if (it == ranges.begin())
    return;
  --it;
  if (it->first == at || it->second.end <= at)
    return;
  Range upper = it->second;
  it->second.end = at;
  ranges.emplace(at, std::move(upper));
}

void StorageAccesses::add(SliceAttr slice, bool write, const Access &access,
                          SmallVectorImpl<Access> &before) {
  if (slice.getStorage() == StorageKind::constant || slice.getBytes() == 0)
    return;
  bool arena = slice.getStorage() == StorageKind::arena;
  Size first = arena ? slice.getPosition() : 0, last = first + slice.getBytes();
  // If the range is not known, assume all bytes.
  bool isKnown = first.isNumber() && last.isNumber();
  int64_t begin = isKnown ? first.asNumber() : 0, end = isKnown ? last.asNumber() : INT64_MAX;
  Ranges &ranges =
      storages[{static_cast<unsigned>(slice.getStorage()), arena ? 0 : slice.getPosition().raw()}];
  splitAt(ranges, begin);
  splitAt(ranges, end);
  int64_t at = begin;
  for (auto it = ranges.lower_bound(begin); at < end; ++it) {
    // Bytes without an access so far.
    if (it == ranges.end() || it->first > at) {
      int64_t gap = it == ranges.end() ? end : std::min(end, it->first);
      it = ranges.emplace(at, Range{gap, {}, {}}).first;
    }
    Range &range = it->second;
    if (range.writer.number)
      before.push_back(range.writer);
    if (write) {
      llvm::append_range(before, range.readers);
      range.writer = access;
      range.readers.clear();
    } else {
      llvm::erase_if(range.readers, [&](const Access &r) { return r.queue == access.queue; });
      range.readers.push_back(access);
    }
    at = range.end;
  }
}

void forEachAccess(Operation *launch, llvm::function_ref<void(SliceAttr, bool)> visit) {
  for (Value operand : launch->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      if (SliceAttr slice = sliceOf(storageRoot(operand)))
        visit(slice, false);
  for (Value result : launch->getResults())
    if (isa<RankedTensorType>(result.getType()))
      if (SliceAttr slice = sliceOf(result))
        visit(slice, true);
}

//===----------------------------------------------------------------------===//
// Proof of order
//===----------------------------------------------------------------------===//

LogicalResult verifyQueueNumbers(FuncOp func) {
  unsigned queues = queueCount(func);
  for (Operation &op : func.getBody().front())
    if (unsigned queue = queueOf(&op); queue >= queues)
      return op.emitOpError() << "is on queue " << queue << ", but the function has "
                              << amountText(queues, "queue");
  return success();
}

LogicalResult verifyQueueOrder(FuncOp func) {
  if (failed(verifyQueueNumbers(func)))
    return failure();
  unsigned queues = queueCount(func);
  // clock[q][p]: how many launches of queue p have ended when the next launch of queue q begins.
  using Clock = SmallVector<unsigned, 4>;
  std::vector<Clock> clock(queues, Clock(queues, 0));
  SmallVector<bool> forked(queues, false);
  SmallVector<unsigned> issued(queues, 0);
  SmallVector<Operation *> last(queues, nullptr);
  forked[0] = true;
  llvm::DenseMap<Value, Clock> at; // of events, and of tokens of streams
  auto join = [](Clock &into, const Clock &other) {
    for (auto [a, b] : llvm::zip(into, other))
      a = std::max(a, b);
  };
  StorageAccesses accesses;
  for (Operation &op : func.getBody().front()) {
    unsigned q = queueOf(&op);
    if (auto fork = dyn_cast<StreamForkOp>(op)) {
      for (int64_t stream : fork.getStreams()) {
        if (stream >= static_cast<int64_t>(queues))
          return op.emitOpError() << "forks stream " << stream << ", but the function has "
                                  << amountText(queues, "queue");
        join(clock[stream], clock[q]);
        forked[stream] = true;
      }
    } else if (auto record = dyn_cast<EventRecordOp>(op)) {
      Clock now = clock[q];
      now[q] = issued[q];
      at[record.getEvent()] = now;
    } else if (auto wait = dyn_cast<EventWaitOp>(op)) {
      join(clock[q], at.lookup(wait.getEvent()));
    } else if (auto joined = dyn_cast<StreamJoinOp>(op)) {
      for (Value token : joined.getTokens())
        if (Operation *maker = token.getDefiningOp()) {
          // A token of a fork belongs to one of its streams; any other token is on the queue of its op.
          unsigned from = queueOf(maker);
          if (auto fork = dyn_cast<StreamForkOp>(maker))
            from = static_cast<unsigned>(fork.getStreams()[cast<OpResult>(token).getResultNumber()]);
          if (from < queues) {
            join(clock[q], clock[from]);
            clock[q][from] = std::max(clock[q][from], issued[from]);
          }
        }
    } else if (isLaunch(&op)) {
      if (!forked[q])
        return op.emitOpError() << "is on queue " << q
                                << ", which is not forked from the first queue before it (" << "WEFT-C010"
                                << ")";
      clock[q][q] = issued[q];
      SmallVector<StorageAccesses::Access> before;
      StorageAccesses::Access access{q, ++issued[q], &op};
      last[q] = &op;
      forEachAccess(&op, [&](SliceAttr slice, bool write) { accesses.add(slice, write, access, before); });
      for (const StorageAccesses::Access &earlier : before)
        if (earlier.op != &op && earlier.queue != q && clock[q][earlier.queue] < earlier.number) {
          auto diag = op.emitOpError() << "on queue " << q << " uses bytes of a launch on queue "
                                       << earlier.queue << " without waiting for it";
          diag.attachNote(earlier.op->getLoc()) << "this launch used the same bytes before";
          return diag;
        }
    }
  }
  for (unsigned q = 1; q < queues; ++q)
    if (last[q] && clock[0][q] < issued[q])
      return last[q]->emitOpError() << "is the last launch of queue " << q
                                    << ", which the first queue does not join (" << "WEFT-C010" << ")";
  return success();
}

} // namespace weft::passes
