//===- AssignQueues.cpp - Which queue each launch is issued to ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A list schedule. Launches keep their order, with two exceptions: a copy between devices is issued as soon
// as its source is computed, so that it overlaps with computation, and an assertion as soon as its condition
// is computed, so that fewer writes have to wait for it. Effects that the host sees keep their order.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/launch/LaunchList.h"

#include "llvm/ADT/MapVector.h"
#include <queue>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_ASSIGNQUEUES
#include "passes/Passes.h.inc"

namespace {

struct AssignQueues : impl::AssignQueuesBase<AssignQueues> {
  using AssignQueuesBase::AssignQueuesBase;

  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    if (failed(order(func)))
      return signalPassFailure();
    assign(func);
  }

  LogicalResult order(FuncOp func) {
    Block &body = func.getBody().front();
    SmallVector<Operation *> ops;
    llvm::DenseMap<Operation *, unsigned> number;
    for (Operation &op : body.without_terminator()) {
      number[&op] = static_cast<unsigned>(ops.size());
      ops.push_back(&op);
    }
    // Edges for values, for effects in their order, and for ordering ops, which come after all ops before
    // them and before all ops after them.
    std::vector<SmallVector<unsigned, 4>> next(ops.size());
    std::vector<unsigned> waits(ops.size(), 0);
    auto addEdge = [&](unsigned from, unsigned to) {
      next[from].push_back(to);
      ++waits[to];
    };
    int64_t effect = -1, fence = -1;
    for (unsigned i = 0, e = static_cast<unsigned>(ops.size()); i < e; ++i) {
      for (Value operand : ops[i]->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          addEdge(number.lookup(maker), i);
      if (isOrder(ops[i])) {
        for (auto before = static_cast<unsigned>(fence + 1); before < i; ++before)
          addEdge(before, i);
        if (fence >= 0)
          addEdge(static_cast<unsigned>(fence), i);
        fence = i;
        continue;
      }
      if (fence >= 0)
        addEdge(static_cast<unsigned>(fence), i);
      if (!isEffect(ops[i]))
        continue;
      if (effect >= 0)
        addEdge(static_cast<unsigned>(effect), i);
      effect = i;
    }
    using Entry = std::pair<bool, unsigned>; // not urgent, position
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    auto push = [&](unsigned i) { ready.push({!isa<TransferOp, AssertOp>(ops[i]), i}); };
    for (unsigned i = 0; i < ops.size(); ++i)
      if (waits[i] == 0)
        push(i);
    size_t done = 0;
    while (!ready.empty()) {
      unsigned i = ready.top().second;
      ready.pop();
      ++done;
      ops[i]->moveBefore(body.getTerminator());
      for (unsigned to : next[i])
        if (--waits[to] == 0)
          push(to);
    }
    if (done != ops.size())
      return func.emitError() << "launches wait for each other; this is a defect of weft-assign-queues";
    // The list now has the order that these ops demand, so they are not needed any more.
    for (Operation *op : llvm::reverse(ops))
      if (isOrder(op))
        op->erase();
    return success();
  }

  /// The compute queue first. Copies to a device, from a device and between devices have their own queues.
  void assign(FuncOp func) {
    llvm::MapVector<StringAttr, unsigned> queues;
    Builder b(&getContext());
    auto intern = [&](const Twine &name) {
      return queues.try_emplace(b.getStringAttr(name), static_cast<unsigned>(queues.size())).first->second;
    };
    SmallVector<std::pair<Operation *, std::string>> launches;
    std::string compute;
    for (Operation &op : func.getBody().front()) {
      if (!isLaunch(&op))
        continue;
      DeviceAttr device = deviceOfLaunch(&op);
      std::string name = computeQueueName(device);
      if (auto transfer = dyn_cast<TransferOp>(op)) {
        DeviceAttr to = transfer.getTo();
        if (!device.isCpu() && !to.isCpu())
          name = device.str() + " to " + to.str();
        else if (device != to)
          name = (device.isCpu() ? to : device).str() + (device.isCpu() ? " from host" : " to host");
      } else if (isa<ToHostScalarOp>(op) && !device.isCpu()) {
        name = device.str() + " to host";
      }
      // The first queue is the compute queue of a device that is not the host, if there is one.
      if (StringRef(name).ends_with(" compute") && (compute.empty() || (compute == "cpu compute")))
        compute = name;
      launches.push_back({&op, std::move(name)});
    }
    if (!compute.empty())
      intern(compute);
    for (auto &[op, name] : launches)
      if (unsigned queue = intern(name))
        op->setAttr(attr::queue, b.getI64IntegerAttr(queue));
      else
        op->removeAttr(attr::queue);
    if (queues.size() < 2) {
      func->removeAttr(attr::queues);
      return;
    }
    SmallVector<Attribute> names;
    for (auto &[name, queue] : queues)
      names.push_back(name);
    func->setAttr(attr::queues, b.getArrayAttr(names));
  }
};

} // namespace
} // namespace weft::passes
