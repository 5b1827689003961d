//===- MaterializeRngState.cpp - Makes generator state arguments ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/FunctionAttributes.h"
#include "passes/Passes.h"

#include <map>

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_MATERIALIZERNGSTATE
#include "passes/Passes.h.inc"

namespace {

/// A generator that a function uses: its type, on which all loads and stores agree, and the state of the walk
/// over the function.
struct Generator {
  Operation *first = nullptr;
  Type type;
  bool stored = false;
  unsigned argument = 0; // the argument of the key; the counter is the next argument
  Value counter;         // its value at the current op of the walk
};

struct MaterializeRngState : impl::MaterializeRngStateBase<MaterializeRngState> {
  void runOnOperation() override {
    ir::FuncOp function = getOperation();
    // Ordered by name, so that the order of the arguments depends on names alone.
    std::map<std::string, Generator> generators;
    if (failed(collect(function, generators)))
      return signalPassFailure();
    if (generators.empty())
      return markAllAnalysesPreserved();

    OpBuilder builder(&getContext());
    for (auto &[name, generator] : generators)
      if (failed(addArguments(function, builder, name, generator)))
        return signalPassFailure();

    Block &body = function.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (auto load = dyn_cast<ir::RngStateLoadOp>(op)) {
        Generator &generator = generators[load.getGenerator().str()];
        load.getKey().replaceAllUsesWith(function.getArgument(generator.argument));
        load.getCounter().replaceAllUsesWith(generator.counter);
        load.erase();
      } else if (auto store = dyn_cast<ir::RngStateStoreOp>(op)) {
        generators[store.getGenerator().str()].counter = store.getCounter();
        store.erase();
      }
    }
    addResults(function, builder, generators);
  }

private:
  LogicalResult collect(ir::FuncOp function, std::map<std::string, Generator> &generators) {
    for (Operation &op : function.getBody().front()) {
      StringRef name;
      Type type;
      bool store = false;
      if (auto load = dyn_cast<ir::RngStateLoadOp>(op)) {
        name = load.getGenerator();
        type = load.getCounter().getType();
        if (load.getKey().getType() != type)
          return load.emitOpError() << "has its key on " << ir::deviceOf(load.getKey().getType()).str()
                                    << " and its counter on " << ir::deviceOf(type).str()
                                    << "; the state of a generator lies on one device (" << "WEFT-P001"
                                    << ")";
      } else if (auto put = dyn_cast<ir::RngStateStoreOp>(op)) {
        name = put.getGenerator();
        type = put.getCounter().getType();
        store = true;
      } else {
        continue;
      }
      Generator &generator = generators[name.str()];
      if (generator.first && generator.type != type) {
        auto diag = op.emitOpError() << "uses the generator '" << name << "' on " << ir::deviceOf(type).str()
                                     << ", but its state is on " << ir::deviceOf(generator.type).str() << " ("
                                     << "WEFT-P001" << ")";
        diag.attachNote(generator.first->getLoc()) << "it was first used here";
        return failure();
      }
      if (!generator.first) {
        generator.first = &op;
        generator.type = type;
      }
      generator.stored |= store;
    }
    return success();
  }

  LogicalResult addArguments(ir::FuncOp function, OpBuilder &builder, StringRef name, Generator &generator) {
    generator.argument = function.getNumArguments();
    for (bool counter : {false, true}) {
      std::string argument = ("rng." + name + (counter ? ".counter" : ".key")).str();
      for (unsigned i = 0; i < generator.argument; ++i)
        if (auto other = function.getArgAttrOfType<StringAttr>(i, ir::attr::name);
            other && other.getValue() == argument)
          return function.emitOpError() << "has an argument #" << i << " named '" << argument
                                        << "', which is the name of the state of the generator '" << name
                                        << "'; rename the argument";
      SmallVector<NamedAttribute> attributes{
          builder.getNamedAttr(ir::attr::name, builder.getStringAttr(argument)),
          builder.getNamedAttr(ir::attr::role, builder.getStringAttr(ir::name(ir::ArgumentRole::random)))};
      if (counter && generator.stored)
        attributes.push_back(builder.getNamedAttr(ir::attr::donated, builder.getUnitAttr()));
      function.insertArgument(function.getNumArguments(), generator.type,
                              builder.getDictionaryAttr(attributes), generator.first->getLoc());
    }
    generator.counter = function.getArgument(generator.argument + 1);
    return success();
  }

  void addResults(ir::FuncOp function, OpBuilder &builder, std::map<std::string, Generator> &generators) {
    auto exit = cast<ir::ReturnOp>(function.getBody().front().getTerminator());
    for (auto &[name, generator] : generators) {
      if (!generator.stored)
        continue;
      auto attributes = builder.getDictionaryAttr(
          {builder.getNamedAttr(ir::attr::name, builder.getStringAttr("rng." + name + ".counter")),
           builder.getNamedAttr(ir::attr::tied, builder.getI64IntegerAttr(generator.argument + 1))});
      function.insertResult(function.getNumResults(), generator.type, attributes);
      exit.getValuesMutable().append(generator.counter);
    }
  }
};

} // namespace
} // namespace weft::passes
