//===- ScaleTest.cpp - Time and depth on large graphs ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/FunctionAttributes.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "test/unit/TestLevel.h"

#include "mlir/Pass/PassManager.h"
#include <ctime>
#include <gtest/gtest.h>

using namespace mlir;
using namespace weft::ir;
using namespace weft;

namespace {

/// Milliseconds; a sanitizer's instructions are not the compiler's.
void expectLess([[maybe_unused]] double time, [[maybe_unused]] double bound) {
#if !__has_feature(address_sanitizer)
  EXPECT_LT(time, bound);
#endif
}

class Scale : public ::testing::Test {
protected:
  Scale() : context(registry(), MLIRContext::Threading::DISABLED), builder(&context) {
    context.loadAllAvailableDialects();
    context.allowUnregisteredDialects(false);
    device = DeviceAttr::get(&context, DeviceKind::cpu, 0);
    type = RankedTensorType::get({64, 64}, builder.getF32Type(), device);
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    func = builder.create<FuncOp>(builder.getUnknownLoc(), "f", builder.getFunctionType({type, type}, {}));
    builder.setInsertionPointToEnd(&func.getBody().front());
  }
  static const DialectRegistry &registry() {
    static DialectRegistry instance = [] {
      DialectRegistry made;
      registerDialect(made);
      return made;
    }();
    return instance;
  }
  Value argument(unsigned i) { return func.getBody().getArgument(i); }
  void finish(ValueRange results) {
    builder.create<ReturnOp>(builder.getUnknownLoc(), results);
    func.setFunctionTypeAttr(TypeAttr::get(builder.getFunctionType({type, type}, results.getTypes())));
  }
  /// Milliseconds of fusion and memory plan.
  double run() {
    PassManager manager(&context);
    manager.enableVerifier(false);
    manager.nest<FuncOp>().addPass(passes::createFuse());
    manager.nest<FuncOp>().addPass(passes::createPlanMemory());
    std::clock_t begin = std::clock(); // processor time: other programs do not count
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  }
  /// Milliseconds of every pass, the verifier after each included, as a compilation runs them.
  double runPipeline() {
    PassManager manager(&context);
    ir::CompilerOptions options;
    options.report = true;
    options.memoryLimit = 0;
    passes::buildPipeline(manager, options);
    std::clock_t begin = std::clock();
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  }
  /// Blocks of a contraction with bias, residual and activation, and a softmax: 14 ops each.
  void addBlocks(int count) {
    Value v = argument(0);
    int64_t dims[] = {1}, kept[] = {0}, contract[] = {1}, columns[] = {1};
    Location loc = builder.getUnknownLoc();
    for (int i = 0; i < count; ++i) {
      Value bias = builder.create<SumOp>(loc, v, dims);
      Value product = builder.create<DotGeneralOp>(loc, v, argument(1), Value(), ArrayRef<int64_t>(),
                                                   ArrayRef<int64_t>(), contract, contract, false);
      Value y = builder.create<AddOp>(loc, product,
                                      builder.create<BroadcastInDimOp>(loc, bias, columns, sizesOf(type)));
      y = builder.create<AddOp>(loc, y, v);
      y = builder.create<TanhOp>(loc, y);
      Value top = builder.create<RmaxOp>(loc, y, dims);
      Value shifted =
          builder.create<SubOp>(loc, y, builder.create<BroadcastInDimOp>(loc, top, kept, sizesOf(type)));
      Value e = builder.create<ExpOp>(loc, shifted);
      Value sum = builder.create<SumOp>(loc, e, dims);
      e = builder.create<DivOp>(loc, e, builder.create<BroadcastInDimOp>(loc, sum, kept, sizesOf(type)));
      v = builder.create<MulOp>(loc, e, y);
    }
    finish(v);
  }
  size_t fusions() {
    auto ops = func.getBody().front().getOps<FusionOp>();
    return std::distance(ops.begin(), ops.end());
  }

  MLIRContext context;
  OpBuilder builder;
  DeviceAttr device;
  RankedTensorType type;
  OwningOpRef<ModuleOp> module;
  FuncOp func;
};

TEST_F(Scale, ChainOfTenThousand) {
  Value v = argument(0);
  for (int i = 0; i < 10000; ++i)
    v = builder.create<AddOp>(builder.getUnknownLoc(), v, argument(1));
  finish(v);
  double time = run();
  RecordProperty("milliseconds", static_cast<int>(time));
  expectLess(time, 2000);
  EXPECT_LE(fusions(), 40u); // at least 256 ops in each
}

TEST_F(Scale, TenThousandReadersOfOneValue) {
  SmallVector<Value> all;
  for (int i = 0; i < 10000; ++i)
    all.push_back(builder.create<MulOp>(builder.getUnknownLoc(), argument(0), argument(1)));
  while (all.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < all.size(); i += 2)
      next.push_back(builder.create<AddOp>(builder.getUnknownLoc(), all[i], all[i + 1]));
    if (all.size() % 2)
      next.push_back(all.back());
    all = std::move(next);
  }
  finish(all);
  double time = run();
  RecordProperty("milliseconds", static_cast<int>(time));
  expectLess(time, 2000);
}

TEST_F(Scale, LayersWithReductions) {
  // Softmax after softmax with a residual from far back: 10,000 ops.
  Value v = argument(0);
  int64_t dims[] = {1}, kept[] = {0};
  for (int i = 0; i < 1400; ++i) {
    Location loc = builder.getUnknownLoc();
    Value top = builder.create<RmaxOp>(loc, v, dims);
    Value shifted =
        builder.create<SubOp>(loc, v, builder.create<BroadcastInDimOp>(loc, top, kept, sizesOf(type)));
    Value e = builder.create<ExpOp>(loc, shifted);
    Value sum = builder.create<SumOp>(loc, e, dims);
    Value y = builder.create<DivOp>(loc, e, builder.create<BroadcastInDimOp>(loc, sum, kept, sizesOf(type)));
    v = builder.create<AddOp>(loc, y, argument(1));
  }
  finish(v);
  double time = run();
  RecordProperty("milliseconds", static_cast<int>(time));
  expectLess(time, 2000);
  EXPECT_LE(fusions(), 1400u);
}

TEST_F(Scale, ContractionsInALine) {
  Value v = argument(0);
  int64_t contract[] = {1};
  for (int i = 0; i < 5000; ++i) {
    v = builder.create<DotGeneralOp>(builder.getUnknownLoc(), v, argument(1), Value(), ArrayRef<int64_t>(),
                                     ArrayRef<int64_t>(), contract, contract, false);
    v = builder.create<TanhOp>(builder.getUnknownLoc(), v);
  }
  finish(v);
  double time = run();
  RecordProperty("milliseconds", static_cast<int>(time));
  expectLess(time, 2000);
  EXPECT_EQ(fusions(), 5000u);
  // Two values are alive at a time; tanh replaces its operand.
  EXPECT_EQ(func->getAttrOfType<IntegerAttr>(attr::arenaBytes).getInt(), 2 * 64 * 64 * 4);
}

TEST_F(Scale, TenThousandOpsThroughEveryPass) {
  addBlocks(715);
  double time = runPipeline();
  RecordProperty("milliseconds", static_cast<int>(time));
  expectLess(time, 2000);
}

// Four times the ops take about four times as long: a quadratic pass would take sixteen times.
TEST_F(Scale, FortyThousandOpsThroughEveryPass) {
  if (weft::testing::testLevel() == "quick")
    GTEST_SKIP() << "ten thousand do in daily work";
  addBlocks(2860);
  double time = runPipeline();
  RecordProperty("milliseconds", static_cast<int>(time));
  expectLess(time, 12000);
}

// A model of three thousand tensors: a pass that looks at all operands for each result would take minutes.
TEST_F(Scale, AnOptimiserOfThreeThousandTensors) {
  const unsigned count = 3000;
  auto number = RankedTensorType::get({}, builder.getF64Type(), device);
  SmallVector<Type> inputs(4 * count, type);
  inputs.push_back(RankedTensorType::get({}, builder.getI64Type(), device));
  inputs.append(5, number);
  func.erase();
  builder.setInsertionPointToEnd(module->getBody());
  func = builder.create<FuncOp>(builder.getUnknownLoc(), "f",
                                builder.getFunctionType(inputs, SmallVector<Type>(3 * count, type)));
  builder.setInsertionPointToEnd(&func.getBody().front());
  SmallVector<DictionaryAttr> arguments(inputs.size(), builder.getDictionaryAttr({})), results;
  SmallVector<Value> values;
  for (unsigned i = 0; i < count; ++i) {
    // p, g, m, v
    auto step = builder.create<AdamStepOp>(
        builder.getUnknownLoc(), argument(4 * i), argument(4 * i + 1), argument(4 * i + 2),
        argument(4 * i + 3), Value(), argument(4 * count), argument(4 * count + 1), argument(4 * count + 2),
        argument(4 * count + 3), argument(4 * count + 4), argument(4 * count + 5), Value(), UnitAttr(),
        UnitAttr());
    llvm::append_range(values, step.getResults());
    for (unsigned tensor : {0, 2, 3}) {
      arguments[4 * i + tensor] =
          builder.getDictionaryAttr(builder.getNamedAttr(attr::donated, builder.getUnitAttr()));
      results.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(attr::tied, builder.getI64IntegerAttr(4 * i + tensor))));
    }
  }
  builder.create<ReturnOp>(builder.getUnknownLoc(), values);
  func.setAllArgAttrs(arguments);
  func.setAllResultAttrs(results);
  double time = runPipeline();
  RecordProperty("milliseconds", static_cast<int>(time));
  expectLess(time, 1000);
  EXPECT_EQ(fusions(), 1u);
  EXPECT_EQ(func->getAttrOfType<IntegerAttr>(attr::arenaBytes).getInt(), 0);
}

// A note for each line: a list that grew by one at a time would be kept at every length.
TEST_F(Scale, TwentyThousandNotesOfFastNumerics) {
  func->setAttr(attr::numerics, builder.getStringAttr("fast"));
  Value three = builder.create<ConstantOp>(builder.getUnknownLoc(), type, DenseElementsAttr::get(type, 3.0f)),
        v = argument(0);
  for (unsigned i = 0; i < 20000; ++i)
    v = builder.create<DivOp>(FileLineColLoc::get(&context, "program.cpp", i + 1, 1), v, three);
  finish(v);
  PassManager manager(&context);
  manager.nest<FuncOp>().addPass(passes::createSimplify());
  std::clock_t begin = std::clock();
  EXPECT_TRUE(succeeded(manager.run(*module)));
  double time = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  RecordProperty("milliseconds", static_cast<int>(time));
  expectLess(time, 1000);
  EXPECT_EQ(readDecisions(func).size(), 20000u);
}

TEST_F(Scale, ChainOfAHundredThousandDoesNotOverflow) {
  Value v = argument(0);
  for (int i = 0; i < 100000; ++i)
    v = i % 7 ? builder.create<NegOp>(builder.getUnknownLoc(), v).getResult()
              : builder.create<TransposeOp>(builder.getUnknownLoc(), v, ArrayRef<int64_t>{1, 0}).getResult();
  finish(v);
  double time = run();
  RecordProperty("milliseconds", static_cast<int>(time));
  expectLess(time, 30000);
}

} // namespace
