//===- AlignLoopBodies.cpp - Addresses that trips pass to bodies ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Alignment.h"
#include "ir/FunctionAttributes.h"
#include "ir/Loops.h"
#include "passes/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_ALIGNLOOPBODIES
#include "passes/Passes.h.inc"

namespace {

/// A power of two, at most the widest access, that divides the bytes of a value: `least` if they are dynamic.
int64_t dividesBytes(Type type, int64_t least) {
  const ir::Size bytes = ir::bytesOf(type);
  if (!bytes.isNumber())
    return least;
  return bytes.asNumber() ? std::min(bytes.asNumber() & -bytes.asNumber(), ir::widestAccess)
                          : ir::widestAccess;
}

/// What trips pass to a body: of each argument and each result, the alignment that all have.
struct Passed {
  SmallVector<int64_t> arguments, results;
};

struct AlignLoopBodies : impl::AlignLoopBodiesBase<AlignLoopBodies> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    // A body may have loops of its own, so that each function comes after those around it.
    SmallVector<ir::FuncOp> functions(getOperation().getOps<ir::FuncOp>());
    llvm::DenseMap<Operation *, unsigned> waiting; // bodies, by how many loops outside have not been seen
    for (ir::FuncOp function : functions)
      forEachLoop(function, [&](Operation *loop) {
        for (FlatSymbolRefAttr name : ir::bodiesOf(loop))
          ++waiting[symbols.lookup(name.getValue())];
      });
    SmallVector<ir::FuncOp> ready;
    for (ir::FuncOp function : functions)
      if (!waiting.contains(function))
        ready.push_back(function);
    llvm::DenseMap<Operation *, Passed> passed;
    while (!ready.empty()) {
      ir::FuncOp function = ready.pop_back_val();
      if (const auto known = passed.find(function); known != passed.end())
        align(function, known->second);
      const ir::Alignments alignments(function);
      forEachLoop(function, [&](Operation *loop) {
        for (FlatSymbolRefAttr name : ir::bodiesOf(loop)) {
          auto body = symbols.lookup<ir::FuncOp>(name.getValue());
          if (!ir::deviceOf(loop->getResultTypes().front()).isCpu()) {
            if (auto scan = dyn_cast<ir::ScanOp>(loop))
              pass(scan, body, alignments, passed[body]);
            else if (auto cond = dyn_cast<ir::CondOp>(loop))
              pass(cond, body, alignments, passed[body]);
            else
              pass(cast<ir::WhileOp>(loop), body, alignments, passed[body]);
          }
          if (--waiting[body] == 0)
            ready.push_back(body);
        }
      });
    }
  }

private:
  /// Calls with each loop and each condition of a function whose bodies may be launches of a device.
  static void forEachLoop(ir::FuncOp function, llvm::function_ref<void(Operation *)> visit) {
    if (function.isExternal())
      return;
    for (Operation &op : function.getBody().front())
      if (isa<ir::ScanOp, ir::CondOp, ir::WhileOp>(op) && op.getNumResults())
        visit(&op);
  }

  /// What is known of an operand. A number may lie in the block of scalars.
  static int64_t alignmentOf(Value operand, ir::FuncOp body, size_t argument,
                             const ir::Alignments &alignments, bool isRow = false) {
    const int64_t known = alignments.of(operand);
    if (!isRow && ir::elementsOf(operand.getType()) != ir::Size(1))
      return known;
    return std::min(known, dividesBytes(body.getArgumentTypes()[argument],
                                        ir::leastAlignment(body, static_cast<unsigned>(argument))));
  }

  static void pass(ir::ScanOp scan, ir::FuncOp body, const ir::Alignments &alignments, Passed &all) {
    widen(all, body);
    const size_t carries = scan.getCarries().size(), rows = carries + scan.getXs().size();
    for (auto [i, operand] : llvm::enumerate(scan->getOperands()))
      all.arguments[i] = std::min(
          all.arguments[i], alignmentOf(operand, body, i, alignments, /*isRow=*/i >= carries && i < rows));
    for (auto [i, result] : llvm::enumerate(scan->getResults())) {
      int64_t known = alignments.of(result);
      if (i >= carries)
        known = std::min(known,
                         dividesBytes(body.getResultTypes()[i],
                                      static_cast<int64_t>(itemsize(ir::dtypeOf(body.getResultTypes()[i])))));
      all.results[i] = std::min(all.results[i], known);
    }
    // A trip reads a carry where the trip before it has written it.
    for (size_t i = 0; i < carries; ++i)
      all.arguments[i] = std::min(all.arguments[i], all.results[i]);
  }

  /// Of a condition or a body. The predicate has a place of its own.
  static void pass(ir::WhileOp loop, ir::FuncOp part, const ir::Alignments &alignments, Passed &all) {
    widen(all, part);
    for (auto [i, operand] : llvm::enumerate(loop->getOperands()))
      all.arguments[i] = std::min(all.arguments[i], alignmentOf(operand, part, i, alignments));
    for (auto [i, result] : llvm::enumerate(loop->getResults())) {
      all.arguments[i] = std::min(all.arguments[i], alignments.of(result));
      if (part.getName() == loop.getBody())
        all.results[i] = std::min(all.results[i], alignments.of(result));
    }
  }

  static void pass(ir::CondOp cond, ir::FuncOp branch, const ir::Alignments &alignments, Passed &all) {
    widen(all, branch);
    for (auto [i, operand] : llvm::enumerate(cond.getInputs()))
      all.arguments[i] = std::min(all.arguments[i], alignmentOf(operand, branch, i, alignments));
    for (auto [i, result] : llvm::enumerate(cond->getResults()))
      all.results[i] = std::min(all.results[i], alignments.of(result));
  }

  /// Before the first loop that runs the body is known, any alignment is.
  static void widen(Passed &all, ir::FuncOp body) {
    all.arguments.resize(body.getNumArguments(), ir::widestAccess);
    all.results.resize(body.getNumResults(), ir::widestAccess);
  }

  static void align(ir::FuncOp body, const Passed &passed) {
    Builder b(body.getContext());
    const StringAttr name = b.getStringAttr(ir::attr::alignment);
    for (auto [i, known] : llvm::enumerate(passed.arguments))
      if (const auto argument = static_cast<unsigned>(i); known < ir::widestAccess)
        body.setArgAttr(argument, name, b.getI64IntegerAttr(known));
      else
        body.removeArgAttr(argument, name);
    for (auto [i, known] : llvm::enumerate(passed.results))
      if (const auto result = static_cast<unsigned>(i); known < ir::widestAccess)
        body.setResultAttr(result, name, b.getI64IntegerAttr(known));
      else
        body.removeResultAttr(result, name);
  }
};

} // namespace
} // namespace weft::passes
