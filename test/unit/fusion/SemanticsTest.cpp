//===- SemanticsTest.cpp - Programs mean the same before and after --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RandomProgram.h"
#include "ir/interp/Interpreter.h"
#include "passes/MemoryPlan.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/PlanReport.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace weft;
using namespace weft::ir;

namespace {

MLIRContext &context() {
  static MLIRContext *instance = [] {
    DialectRegistry registry;
    registerDialect(registry);
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *instance;
}

FuncOp functionOf(ModuleOp module) { return *module.getOps<FuncOp>().begin(); }

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

void expectSame(const Literal &a, const Literal &b, const std::string &where) {
  ASSERT_EQ(a.shape, b.shape) << where;
  ASSERT_EQ(a.dtype, b.dtype) << where;
  for (int64_t i = 0, e = a.count(); i < e; ++i) {
    if (!a.isReal()) {
      ASSERT_EQ(a.whole[i], b.whole[i]) << where << ", element " << i;
      continue;
    }
    if (std::isnan(a.real[i]) && std::isnan(b.real[i]))
      continue;
    // A reduction whose dimensions were transposed may add in another order.
    ASSERT_LE(std::fabs(a.real[i] - b.real[i]), 1e-5 * std::max(1.0, std::fabs(a.real[i])))
        << where << ", element " << i;
  }
}

LogicalResult runPasses(ModuleOp module, bool plan) {
  PassManager manager(&context());
  OpPassManager &function = manager.nest<FuncOp>();
  function.addPass(passes::createFuseOptimizerSteps());
  function.addPass(passes::createAttachEpilogues());
  function.addPass(passes::createFuse());
  if (plan)
    function.addPass(passes::createPlanMemory());
  return manager.run(module);
}

/// Executes a planned function on bytes: every value lies where the plan says, and nowhere else.
class PlanExecutor {
public:
  explicit PlanExecutor(FuncOp func) : func(func) {
    arena.assign(func->getAttrOfType<IntegerAttr>(attr::arenaBytes).getInt(), std::byte(0xcd));
  }
  std::vector<Literal> run(const std::vector<Literal> &given) {
    for (const Literal &literal : given) {
      arguments.emplace_back(bytesOf(literal));
      literal.toBytes(arguments.back().data());
    }
    for (Type type : func.getResultTypes())
      results.emplace_back(ir::bytesOf(type), std::byte(0xab));
    std::vector<Literal> returned;
    for (Operation &op : func.getBody().front()) {
      std::vector<Literal> operands;
      for (Value operand : op.getOperands())
        operands.push_back(load(operand));
      if (isa<ReturnOp>(op))
        return operands;
      if (isa<ReshapeOp>(op))
        continue;
      SmallVector<const Literal *> in;
      for (const Literal &literal : operands)
        in.push_back(&literal);
      SmallVector<Literal> out;
      for (Type type : op.getResultTypes())
        out.emplace_back(cast<RankedTensorType>(type));
      if (failed(cast<InterpretableOp>(op).interpret(in, out))) {
        ADD_FAILURE() << "a launch failed";
        return {};
      }
      for (auto [value, literal] : llvm::zip(op.getResults(), out))
        literal.toBytes(at(value));
    }
    return returned;
  }

private:
  static size_t bytesOf(const Literal &literal) { return literal.count() * itemsize(literal.dtype); }
  std::byte *at(Value value) {
    SliceAttr slice = passes::sliceOf(value);
    auto position = static_cast<size_t>(slice.getPosition());
    switch (slice.getStorage()) {
    case StorageKind::argument:
      return arguments[position].data();
    case StorageKind::result:
      return results[position].data();
    case StorageKind::arena:
      return arena.data() + position;
    case StorageKind::constant:
      if (constants.size() < position + slice.getBytes())
        constants.resize(position + slice.getBytes());
      return constants.data() + position;
    }
    return nullptr;
  }
  Literal load(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return Literal::fromBytes(dtypeOf(type), type.getShape(), at(value));
  }
  FuncOp func;
  std::vector<std::vector<std::byte>> arguments, results;
  std::vector<std::byte> arena, constants;
};

class Random : public testing::TestWithParam<unsigned> {};

TEST_P(Random, FusionKeepsTheMeaning) {
  auto module = test::randomProgram(context(), GetParam(), 12 + GetParam() % 60);
  ASSERT_TRUE(succeeded(verify(*module)));
  std::string before = textOf(*module);
  std::vector<Literal> arguments = test::randomArguments(functionOf(*module), GetParam());
  auto expected = interpretFunction(functionOf(*module), arguments);
  ASSERT_TRUE(succeeded(expected)) << before;
  ASSERT_TRUE(succeeded(runPasses(*module, false))) << before;
  for (Operation &op : functionOf(*module).getBody().front())
    ASSERT_TRUE((isa<FusionOp, DotGeneralOp, ReshapeOp, ConstantOp, ReturnOp>(op))) << textOf(*module);
  auto found = interpretFunction(functionOf(*module), arguments);
  ASSERT_TRUE(succeeded(found)) << textOf(*module);
  for (size_t i = 0; i < expected->size(); ++i)
    expectSame((*expected)[i], (*found)[i], before + textOf(*module) + "result " + std::to_string(i));

  // A second time changes nothing.
  std::string once = textOf(*module);
  ASSERT_TRUE(succeeded(runPasses(*module, false)));
  EXPECT_EQ(once, textOf(*module));
}

TEST_P(Random, ThePlanHoldsEveryValueWhileItIsNeeded) {
  auto module = test::randomProgram(context(), GetParam() + 1000, 12 + GetParam() % 60);
  std::vector<Literal> arguments = test::randomArguments(functionOf(*module), GetParam());
  auto expected = interpretFunction(functionOf(*module), arguments);
  ASSERT_TRUE(succeeded(expected));
  ASSERT_TRUE(succeeded(runPasses(*module, true))) << textOf(*module);
  FuncOp func = functionOf(*module);
  std::vector<Literal> found = PlanExecutor(func).run(arguments);
  ASSERT_EQ(found.size(), expected->size());
  for (size_t i = 0; i < found.size(); ++i)
    expectSame((*expected)[i], found[i], textOf(*module) + "result " + std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(Programs, Random, testing::Range(0u, 300u));

// A whole training step: epilogues, losses, optimiser steps and state that is replaced in place.
TEST(TrainingStep, MeansTheSameFusedAndPlanned) {
  auto module = parseSourceFile<ModuleOp>(WEFT_SOURCE_DIR "/test/passes/training-step.mlir", &context());
  ASSERT_TRUE(module);
  PassManager manager(&context());
  passes::buildPipeline(manager, {});
  ASSERT_TRUE(succeeded(manager.run(*module)));
  FuncOp func = functionOf(*module);
  std::vector<Literal> arguments = test::randomArguments(func, 7);
  // Moments are not negative, hyper-parameters are those of a first step.
  for (auto [literal, type] : llvm::zip(arguments, func.getArgumentTypes())) {
    for (double &value : literal.real)
      value = cast<RankedTensorType>(type).getRank() ? std::fabs(value) : 0.125;
  }
  auto expected = interpretFunction(func, arguments);
  ASSERT_TRUE(succeeded(expected));
  ASSERT_TRUE(succeeded(runPasses(*module, true))) << textOf(*module);
  std::vector<Literal> found = PlanExecutor(func).run(arguments);
  ASSERT_EQ(found.size(), expected->size());
  for (size_t i = 0; i < found.size(); ++i)
    expectSame((*expected)[i], found[i], "result " + std::to_string(i));

  std::string plan = passes::formatPlan(func);
  EXPECT_NE(plan.find(" 0  contraction+bias+relu  f32[6x8]"), std::string::npos) << plan;
  EXPECT_NE(plan.find("training-step.mlir:"), std::string::npos) << plan;
  EXPECT_NE(plan.find("\n16 launches read "), std::string::npos) << plan;
  auto arena = func->getAttrOfType<IntegerAttr>(attr::arenaBytes).getInt();
  auto bound = func->getAttrOfType<IntegerAttr>(attr::arenaLowerBound).getInt();
  EXPECT_LE(arena * 100, bound * 102);
}

// The derivative of relu looks at its result alone, and is 0 at 0.
TEST(Relu, DerivativeIsZeroAtZero) {
  constexpr const char *text = R"(
    #cpu = #weft.device<cpu>
    weft.func @f(%x: tensor<3xf32, #cpu>) -> tensor<3xf32, #cpu> {
      %z = weft.constant dense<0.0> : tensor<3xf32, #cpu>
      %y = weft.max %x, %z {weft.relu} : tensor<3xf32, #cpu>
      %s = weft.sum %y, dims = [0] : tensor<3xf32, #cpu>
      %g = weft.gradient %s wrt %x : tensor<f32, #cpu>, tensor<3xf32, #cpu>
      weft.return %g : tensor<3xf32, #cpu>
    })";
  auto module = parseSourceString<ModuleOp>(text, &context());
  ASSERT_TRUE(module);
  PassManager manager(&context());
  passes::buildPipeline(manager, {});
  ASSERT_TRUE(succeeded(manager.run(*module)));
  Literal x(DType::f32, {3});
  x.real = {-1, 0, 2};
  auto found = interpretFunction(functionOf(*module), {x});
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ((*found)[0].real, (std::vector<double>{0, 0, 1}));
}

} // namespace
