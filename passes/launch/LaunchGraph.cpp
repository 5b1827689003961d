//===- LaunchGraph.cpp - Dependences between launches ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/launch/LaunchGraph.h"

#include "ir/Updates.h"
#include "passes/launch/LaunchStorage.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

LaunchGraph::LaunchGraph(FuncOp func) : func(func) {
  Block &body = func.getBody().front();
  for (Operation &op : body.without_terminator()) {
    number[&op] = static_cast<unsigned>(ops.size());
    ops.push_back(&op);
  }
  next.resize(ops.size());
  before.resize(ops.size());
  StorageHeads heads;
  // The arguments that a launch writes through tied results. An optimiser's step has many.
  llvm::DenseMap<Operation *, SmallVector<Value, 1>> writes;
  for (OpOperand &operand : body.getTerminator()->getOpOperands()) {
    int64_t tied = func.getTiedArgument(operand.getOperandNumber());
    Operation *maker = heads.of(operand.get()).getDefiningOp();
    if (tied >= 0 && maker && isLaunch(maker))
      writes[maker].push_back(body.getArgument(static_cast<unsigned>(tied)));
  }
  int64_t seen = -1, failing = -1; // the last op that has an effect or may fail; the last one that may fail
  for (unsigned i = 0, e = static_cast<unsigned>(ops.size()); i < e; ++i) {
    Operation *op = ops[i];
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        addEdge(number.lookup(maker), i);
    auto tied = writes.find(op);
    bool writesArgument = tied != writes.end();
    if (updateIn(op)) {
      keepReaders(storageRoot(op->getOperand(0)), op);
      writesArgument |= isa<BlockArgument>(heads.of(op->getResult(0)));
    } else if (writesArgument) {
      for (Value argument : tied->second)
        keepReaders(argument, op);
    }
    if (writesArgument && failing >= 0)
      addEdge(static_cast<unsigned>(failing), i);
    bool fails = mayFail(op);
    if (!fails && !isEffect(op))
      continue;
    if (seen >= 0)
      addEdge(static_cast<unsigned>(seen), i);
    seen = i;
    if (fails)
      failing = i;
  }
}

void LaunchGraph::keepReaders(Value root, Operation *writer) {
  unsigned at = number.lookup(writer);
  SmallVector<Value> views{root};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (isStorageView(user))
        views.push_back(user->getResult(0));
      else if (auto it = number.find(user); it != number.end() && it->second < at)
        addEdge(it->second, at);
    }
}

void LaunchGraph::apply(ArrayRef<unsigned> order) const {
  FuncOp body = func;
  Operation *end = body.getBody().front().getTerminator();
  for (unsigned op : order)
    ops[op]->moveBefore(end);
}

ReadyOps::ReadyOps(const LaunchGraph &graph, llvm::function_ref<void(unsigned)> ready)
    : graph(graph), waits(graph.ops.size()) {
  SmallVector<unsigned> work;
  for (unsigned i = 0; i < waits.size(); ++i)
    waits[i] = static_cast<unsigned>(graph.before[i].size());
  for (unsigned i = 0; i < waits.size(); ++i)
    if (graph.before[i].empty())
      work.push_back(i);
  release(work, ready);
}

void ReadyOps::issue(unsigned op, llvm::function_ref<void(unsigned)> ready) {
  order.push_back(op);
  SmallVector<unsigned> work;
  for (unsigned to : graph.next[op])
    if (--waits[to] == 0)
      work.push_back(to);
  release(work, ready);
}

void ReadyOps::release(SmallVectorImpl<unsigned> &work, llvm::function_ref<void(unsigned)> ready) {
  for (size_t i = 0; i < work.size(); ++i) {
    unsigned op = work[i];
    if (!graph.isFree(op)) {
      ready(op);
      continue;
    }
    order.push_back(op);
    for (unsigned to : graph.next[op])
      if (--waits[to] == 0)
        work.push_back(to);
  }
}

} // namespace weft::passes
