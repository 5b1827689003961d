//===- ScheduleLaunches.cpp - Orders queues with events -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch comes after the launches that wrote its operands, and after those that used the bytes that it
// writes; so the reuse of a buffer is an edge, as a value is. A queue orders its own launches. An edge
// between queues becomes an event, unless earlier waits of the queue imply it; a vector clock per queue
// tracks that.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/launch/LaunchList.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_SCHEDULELAUNCHES
#include "passes/Passes.h.inc"

namespace {

class Scheduler {
public:
  explicit Scheduler(FuncOp func)
      : func(func), builder(func.getContext()), queues(queueCount(func)), tokens(queues) {}

  void run() {
    Block &body = func.getBody().front();
    SmallVector<Operation *> launches;
    SmallVector<bool> used(queues, false);
    for (Operation &op : body)
      if (isLaunch(&op)) {
        launches.push_back(&op);
        used[queueOf(&op)] = true;
      }
    findWaits(launches);
    fork(body, used);
    for (Operation *launch : launches)
      emit(launch);
    join(body);
  }

private:
  /// Finds the launches on other queues that each launch has to wait for, except those that earlier waits
  /// imply.
  void findWaits(ArrayRef<Operation *> launches) {
    using Clock = SmallVector<unsigned, 4>;
    std::vector<Clock> clock(
        queues, Clock(queues, 0)); // clock[q][p]: launches of p that q has waited for, directly or not
    SmallVector<unsigned> issued(queues, 0);
    llvm::DenseMap<Operation *, Clock> after; // the clock of a queue at the end of each launch
    StorageAccesses accesses;
    for (Operation *launch : launches) {
      unsigned q = queueOf(launch);
      StorageAccesses::Access access{q, ++issued[q], launch};
      SmallVector<StorageAccesses::Access> before;
      forEachAccess(launch, [&](SliceAttr slice, bool write) { accesses.add(slice, write, access, before); });
      // The last launch of a queue implies those before it.
      llvm::sort(before, [](const auto &a, const auto &b) {
        return std::tuple(a.queue, b.number) < std::tuple(b.queue, a.number);
      });
      for (const StorageAccesses::Access &earlier : before) {
        if (earlier.queue == q || clock[q][earlier.queue] >= earlier.number)
          continue;
        waits[launch].push_back(earlier.op);
        recorded.insert(earlier.op);
        for (auto [known, other] : llvm::zip(clock[q], after.lookup(earlier.op)))
          known = std::max(known, other);
      }
      clock[q][q] = issued[q];
      after[launch] = clock[q];
    }
  }

  template <typename Op> Op onQueue(Op op, unsigned queue) {
    if (queue)
      op->setAttr(attr::queue, builder.getI64IntegerAttr(queue));
    return op;
  }

  void fork(Block &body, ArrayRef<bool> used) {
    builder.setInsertionPointToStart(&body);
    Type type = builder.getType<TokenType>();
    tokens[0] = builder.create<TokenOp>(func.getLoc(), type);
    SmallVector<int64_t> streams;
    for (unsigned q = 1; q < queues; ++q)
      if (used[q])
        streams.push_back(q);
    auto op = builder.create<StreamForkOp>(func.getLoc(), SmallVector<Type>(streams.size(), type), tokens[0],
                                           streams);
    for (auto [stream, token] : llvm::zip(streams, op.getTokens()))
      tokens[stream] = token;
  }

  void emit(Operation *launch) {
    unsigned q = queueOf(launch);
    builder.setInsertionPoint(launch);
    for (Operation *earlier : waits.lookup(launch))
      tokens[q] =
          onQueue(builder.create<EventWaitOp>(launch->getLoc(), events.lookup(earlier), tokens[q]), q);
    if (!recorded.contains(launch))
      return;
    builder.setInsertionPointAfter(launch);
    auto record = onQueue(builder.create<EventRecordOp>(launch->getLoc(), tokens[q], /*timing=*/false), q);
    events[launch] = record.getEvent();
    tokens[q] = record.getToken();
  }

  void join(Block &body) {
    SmallVector<Value> ends;
    for (Value token : tokens)
      if (token)
        ends.push_back(token);
    builder.setInsertionPoint(body.getTerminator());
    builder.create<StreamJoinOp>(body.getTerminator()->getLoc(), ends);
  }

  FuncOp func;
  OpBuilder builder;
  unsigned queues;
  SmallVector<Value> tokens; ///< the last token of each queue; null for a queue without launches
  llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> waits;
  llvm::DenseSet<Operation *> recorded;
  llvm::DenseMap<Operation *, Value> events;
};

struct ScheduleLaunches : impl::ScheduleLaunchesBase<ScheduleLaunches> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    // The pipeline may begin here with text, whose queue numbers no pass has checked.
    if (failed(verifyQueueNumbers(func)))
      return signalPassFailure();
    if (queueCount(func) > 1)
      Scheduler(func).run();
    else
      markAllAnalysesPreserved();
    if (failed(verifyQueueOrder(func)))
      signalPassFailure();
  }
};

} // namespace
} // namespace weft::passes
