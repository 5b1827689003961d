//===- CheckCalls.cpp - Bounds what inlining makes ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Loops.h"
#include "passes/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_CHECKCALLS
#include "passes/Passes.h.inc"

namespace {

/// Inlining can grow a module exponentially: thirty functions that each call the one before twice become 2^30
/// copies of the first. The calls alone tell the number of ops, so it is checked before any op is copied.
struct CheckCalls : impl::CheckCallsBase<CheckCalls> {
  using CheckCallsBase::CheckCallsBase;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    uint64_t total = 0;
    for (auto function : getOperation().getOps<ir::FuncOp>()) {
      if (failed(count(function, symbols)))
        return signalPassFailure();
      uint64_t ops = inlined.lookup(function);
      total = llvm::SaturatingAdd(total, ops);
      if (total > maxOps) {
        function.emitError() << "'" << function.getName() << "' would have " << text(ops)
                             << " operations once the functions that it calls are part of it, and the module "
                             << text(total) << " so far; at most " << maxOps.getValue()
                             << " are compiled: call fewer functions, or compile them by themselves";
        return signalPassFailure();
      }
    }
    markAllAnalysesPreserved();
  }

private:
  struct Frame {
    ir::FuncOp function;
    SmallVector<std::pair<Operation *, FlatSymbolRefAttr>> calls; ///< and the bodies of loops and conditions
    size_t next = 0;
    uint64_t ops = 0;
  };

  static std::string text(uint64_t ops) { return ops == UINT64_MAX ? "more than 2^64" : std::to_string(ops); }

  static Frame enter(ir::FuncOp function) {
    Frame frame{function, {}};
    function.getBody().walk([&](Operation *op) {
      const SmallVector<FlatSymbolRefAttr> bodies = ir::bodiesOf(op);
      for (FlatSymbolRefAttr body : bodies)
        frame.calls.emplace_back(op, body);
      if (auto call = dyn_cast<ir::CallOp>(op))
        frame.calls.emplace_back(op, call.getCalleeAttr());
      else if (bodies.empty() && !isa<ir::ReturnOp>(op))
        ++frame.ops;
    });
    return frame;
  }

  /// Counts a function after those that it calls. Calls may be nested as deeply as there are functions, so
  /// this uses an explicit stack.
  LogicalResult count(ir::FuncOp function, SymbolTableCollection &symbols) {
    if (inlined.count(function))
      return success();
    SmallVector<Frame> stack;
    llvm::DenseSet<Operation *> active;
    stack.push_back(enter(function));
    active.insert(function);
    while (!stack.empty()) {
      Frame &frame = stack.back();
      if (frame.next == frame.calls.size()) {
        inlined[frame.function] = frame.ops;
        active.erase(frame.function);
        stack.pop_back();
        continue;
      }
      const auto [call, name] = frame.calls[frame.next];
      auto callee = symbols.lookupNearestSymbolFrom<ir::FuncOp>(call, name);
      if (!callee)
        return call->emitOpError() << "calls '" << name.getValue()
                                   << "', which is not a function of this module";
      if (active.contains(callee))
        return call->emitOpError() << "calls '" << name.getValue()
                                   << "', which calls itself by that: it has no end to be planned; write its "
                                      "loop out";
      auto known = inlined.find(callee);
      if (known == inlined.end()) {
        active.insert(callee);
        stack.push_back(enter(callee)); // `frame` may be moved by this
        continue;
      }
      frame.ops = llvm::SaturatingAdd(frame.ops, known->second);
      ++frame.next;
    }
    return success();
  }

  llvm::DenseMap<Operation *, uint64_t> inlined;
};

} // namespace
} // namespace weft::passes
