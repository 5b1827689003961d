//===- WhileLoops.cpp - While loops of programs with random values ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WhileLoops.h"

#include "passes/reverse/BodyDerivative.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
namespace weft::randomtest {

ir::WhileOp limitTrips(ir::WhileOp loop, SymbolTable &symbols, int64_t trips) {
  OpBuilder b(loop);
  const Location loc = loop.getLoc();
  const auto carries = static_cast<unsigned>(loop.getCarries().size());
  const RankedTensorType type =
      ir::makeTensorType({}, b.getI64Type(), ir::deviceOf(loop->getResultTypes().front()));
  const auto number = [&](OpBuilder &at, int64_t value) -> Value {
    return at.create<ir::ConstantOp>(loc, type, ir::splatOf(type, at.getI64IntegerAttr(value)));
  };
  ir::FuncOp condition = passes::copyOf(symbols, symbols.lookup<ir::FuncOp>(loop.getCondition()), ".few");
  ir::FuncOp body = passes::copyOf(symbols, symbols.lookup<ir::FuncOp>(loop.getBody()), ".few");
  Operation *goesOn = condition.getBody().front().getTerminator();
  OpBuilder inCondition(goesOn);
  Value count = condition.getBody().front().insertArgument(carries, type, loc);
  // It doubles: tests put subtractions in the place of additions.
  Value isFew = inCondition.create<ir::LtOp>(loc, count, number(inCondition, int64_t(1) << trips));
  goesOn->setOperand(0, inCondition.create<ir::AndOp>(loc, goesOn->getOperand(0), isFew));
  Operation *end = body.getBody().front().getTerminator();
  OpBuilder inBody(end);
  count = body.getBody().front().insertArgument(carries, type, loc);
  end->insertOperands(carries, inBody.create<ir::MulOp>(loc, count, number(inBody, 2)).getResult());
  passes::updateType(condition);
  passes::updateType(body);
  SmallVector<Value> begins(loop.getCarries());
  begins.push_back(number(b, 1));
  auto made = b.create<ir::WhileOp>(loc, ValueRange(begins).getTypes(), condition.getName(), body.getName(),
                                    begins, loop.getConstants(), loop.getMayFail());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  loop->replaceAllUsesWith(made->getResults().take_front(carries));
  loop->erase();
  return made;
}

void limitTrips(ModuleOp module) {
  SymbolTable symbols(module);
  const auto limited = StringAttr::get(module.getContext(), "test.limited");
  // A copy of a function keeps the marks of the loops in it, and has those that are not marked.
  while (true) {
    ir::WhileOp next;
    module.walk([&](ir::WhileOp loop) {
      if (loop->hasAttr(limited))
        return WalkResult::advance();
      next = loop;
      return WalkResult::interrupt();
    });
    if (!next)
      break;
    limitTrips(next, symbols, mostTrips)->setAttr(limited, UnitAttr::get(module.getContext()));
  }
  module.walk([&](ir::WhileOp loop) { loop->removeAttr(limited); });
}

/// The results of a function for these arguments, whose ops are copied.
static SmallVector<Value> inlined(OpBuilder &b, ir::FuncOp function, ValueRange arguments) {
  Block &block = function.getBody().front();
  IRMapping map;
  map.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    b.clone(op, map);
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return map.lookup(value); });
}

/// A function of the operands of a loop that returns the carries as they are.
static ir::FuncOp withoutTrip(SymbolTable &symbols, ir::FuncOp body) {
  ir::FuncOp made = passes::copyOf(symbols, body, ".none");
  Operation *end = made.getBody().front().getTerminator();
  end->setOperands(made.getBody().getArguments().take_front(end->getNumOperands()));
  passes::removeDeadOps(made.getBody().front());
  return made;
}

static void writeOutAsSelects(ir::WhileOp loop, SymbolTable &symbols) {
  OpBuilder b(loop);
  const Location loc = loop.getLoc();
  SmallVector<Value> values(loop.getOperands());
  for (int64_t trip = 0; trip < mostTrips; ++trip) {
    const Value goesOn = inlined(b, symbols.lookup<ir::FuncOp>(loop.getCondition()), values)[0];
    const SmallVector<Value> after = inlined(b, symbols.lookup<ir::FuncOp>(loop.getBody()), values);
    for (auto [i, value] : llvm::enumerate(after)) {
      Value wide = goesOn;
      if (const ArrayRef<ir::Size> sizes = ir::sizesOf(value); !sizes.empty())
        wide = b.create<ir::BroadcastInDimOp>(loc, goesOn, ArrayRef<int64_t>(), sizes);
      values[i] = b.create<ir::SelectOp>(loc, wide, value, values[i]);
    }
  }
  loop->replaceAllUsesWith(ValueRange(values).take_front(loop.getCarries().size()));
  loop->erase();
}

static void writeOutAsConditions(ir::WhileOp loop, SymbolTable &symbols) {
  OpBuilder b(loop);
  auto body = symbols.lookup<ir::FuncOp>(loop.getBody());
  ir::FuncOp none = withoutTrip(symbols, body);
  SmallVector<Value> values(loop.getOperands());
  // Behind the last condition, in which no trip runs, every carry has a gradient: zeros if nothing reads its
  // result, as in the derivative of the loop.
  for (int64_t trip = 0; trip <= mostTrips; ++trip) {
    const Value goesOn = inlined(b, symbols.lookup<ir::FuncOp>(loop.getCondition()), values)[0];
    auto made = b.create<ir::CondOp>(loop.getLoc(), loop->getResultTypes(), goesOn, body.getName(),
                                     none.getName(), values, loop.getMayFail());
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    llvm::copy(made->getResults(), values.begin());
  }
  loop->replaceAllUsesWith(ValueRange(values).take_front(loop.getCarries().size()));
  loop->erase();
}

void writeOutWhileLoops(ModuleOp module, WrittenTrips trips) {
  SymbolTable symbols(module);
  while (true) {
    ir::WhileOp next;
    module.walk([&](ir::WhileOp loop) {
      next = loop;
      return WalkResult::interrupt();
    });
    if (!next)
      return;
    (trips == WrittenTrips::selects ? writeOutAsSelects : writeOutAsConditions)(next, symbols);
  }
}

} // namespace weft::randomtest
