//===- SelfTest.cpp - That the comparison can fail ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs are only a useful test if they find a wrong backend. The backends of this test are wrong:
// the interpreter on a program in which one kind of op is replaced by another, or with results that differ a
// little.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "Check.h"
#include "Devices.h"
#include "Generator.h"
#include "Inputs.h"
#include "Shrink.h"

#include "ir/LaunchAttributes.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"

#include "ir/Parse.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::randomtest;

namespace {

class RandomPrograms : public testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    ir::registerDialect(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    auto found = OpCatalog::discover(*context);
    ASSERT_TRUE(found.ok()) << found.status().message();
    catalog = std::move(*found);
  }

  OwningOpRef<ModuleOp> parse(const std::string &body) {
    auto module = ir::parseModule(*context, "#cpu = #weft.device<cpu>\n" + body, "test");
    EXPECT_TRUE(module.ok()) << module.status().message();
    return module.ok() ? std::move(*module) : OwningOpRef<ModuleOp>();
  }

  std::unique_ptr<MLIRContext> context;
  OpCatalog catalog;
};

using Edit = std::function<void(ModuleOp)>;

/// A backend that interprets the module after an edit of its ops.
Backend interpreterWith(Edit edit) {
  return [edit](ModuleOp module, ArrayRef<ir::Literal> inputs,
                uint64_t seed) -> Expected<SmallVector<ir::Literal>> {
    PassManager passes(module.getContext());
    passes.addPass(createInlinerPass({}, [](OpPassManager &) {}));
    passes.addPass(passes::createDifferentiate());
    if (failed(passes.run(module)))
      return Status::error("cannot be differentiated");
    edit(module);
    ir::InterpreterOptions options = makeGenerators(seed);
    std::string said;
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
      said += diagnostic.str();
      return success();
    });
    auto results = ir::interpretFunction(module.lookupSymbol<ir::FuncOp>(kEntry), inputs, options);
    if (failed(results))
      return Status::error("cannot be interpreted: " + said);
    return std::move(*results);
  };
}

template <typename From, typename To> void replaceOps(ModuleOp module) {
  module.walk([](From op) {
    OpBuilder builder(op);
    op.replaceAllUsesWith(builder.create<To>(op.getLoc(), op.getA(), op.getB()).getResult());
    op.erase();
  });
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

TEST_F(RandomPrograms, EveryOpHasASampler) {
  auto missing = findMissingSampler(catalog);
  EXPECT_FALSE(missing) << *missing;
  EXPECT_GE(catalog.elementwise.size(), 35u);
  // convert has ten types of operands and of results.
  for (const ElementwiseEntry &entry : catalog.elementwise)
    if (entry.name.getStringRef() == "weft.convert") {
      EXPECT_EQ(entry.signatures.size(), 100u);
    }
}

TEST_F(RandomPrograms, OneSeedGivesOneProgram) {
  for (uint64_t seed : {1, 2, 3, 50}) {
    std::string first = print(*generateProgram(*context, catalog, seed));
    MLIRContext other(context->getDialectRegistry(), MLIRContext::Threading::DISABLED);
    auto again = OpCatalog::discover(other);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(first, print(*generateProgram(other, *again, seed)));
  }
}

TEST_F(RandomPrograms, TheInterpreterAgreesWithItself) {
  CheckOptions options;
  options.backend = interpreterWith([](ModuleOp) {});
  Statistics statistics;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    auto failure = checkProgram(*generateProgram(*context, catalog, seed), seed, options, &statistics);
    EXPECT_FALSE(failure) << seed << ": " << failure->stage << ": " << failure->message;
  }
  // The comparison tests little if most elements are unknown.
  EXPECT_LT(statistics.unknown * 4, statistics.elements);
}

TEST_F(RandomPrograms, AWrongOpIsFoundAndShrunk) {
  CheckOptions options;
  options.backend = interpreterWith(replaceOps<ir::AddOp, ir::SubOp>);
  int64_t found = 0, candidates = 0;
  for (uint64_t seed = 1; seed <= 800 && found < 5; ++seed) {
    auto module = generateProgram(*context, catalog, seed);
    bool hasAdd = false;
    module->walk([&](ir::AddOp add) { hasAdd |= add.getA().getType().getNumElements() > 0; });
    candidates += hasAdd;
    if (!hasAdd || countOps(*module) < 4 || !checkProgram(*module, seed, options))
      continue;
    ++found;
    auto small = shrinkProgram(
        *module, [&](ModuleOp candidate) { return checkProgram(candidate, seed, options).has_value(); });
    EXPECT_TRUE(checkProgram(*small, seed, options).has_value());
    EXPECT_LE(countOps(*small), 3) << print(*small);
    for (Type type : small->lookupSymbol<ir::FuncOp>(kEntry).getArgumentTypes())
      EXPECT_LE(cast<RankedTensorType>(type).getNumElements(), 4) << print(*small);
  }
  EXPECT_EQ(found, 5) << "of " << candidates << " programs with an add";
}

// Independent random ops are seldom views of views, and seldom have a step in one view and an offset in the
// other.
TEST_F(RandomPrograms, AWrongViewOfAViewIsFoundSoon) {
  CheckOptions options;
  options.backend = interpreterWith([](ModuleOp module) {
    module.walk([](ir::SliceOp outer) {
      auto inner = outer.getA().getDefiningOp<ir::SliceOp>();
      if (!inner || outer.getType().getNumElements() == 0)
        return;
      SmallVector<ir::Size> start, limit;
      SmallVector<int64_t> step;
      for (auto [i, count] : llvm::enumerate(outer.getType().getShape())) {
        // The outer offset should be multiplied by the inner step, which is the distance of elements of the
        // inner slice.
        start.push_back(inner.getStart()[i] + outer.getStart()[i]);
        step.push_back(inner.getStep()[i] * outer.getStep()[i]);
        limit.push_back(start[i] + (count - 1) * step[i] + 1);
      }
      OpBuilder builder(outer);
      outer.replaceAllUsesWith(
          builder.create<ir::SliceOp>(outer.getLoc(), inner.getA(), start, limit, step).getResult());
    });
  });
  unsigned found = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed)
    found += checkProgram(*generateProgram(*context, catalog, seed), seed, options).has_value();
  EXPECT_GE(found, 3u);
}

TEST_F(RandomPrograms, OneUnitInTheLastPlaceIsFoundWhereNoneIsAllowed) {
  auto module = parse(R"(
    weft.func @main(%a: tensor<7xf32, #cpu> {weft.name = "plain:0"}, %b: tensor<7xf32, #cpu> {weft.name = "plain:1"})
        -> tensor<7xf32, #cpu> {
      %0 = weft.mul %a, %b : tensor<7xf32, #cpu>
      weft.return %0 : tensor<7xf32, #cpu>
    })");
  ASSERT_TRUE(module);
  CheckOptions options;
  auto exact = interpreterWith([](ModuleOp) {});
  options.backend = exact;
  EXPECT_FALSE(checkProgram(*module, 1, options));
  options.backend = [&](ModuleOp copy, ArrayRef<ir::Literal> inputs,
                        uint64_t seed) -> Expected<SmallVector<ir::Literal>> {
    auto results = exact(copy, inputs, seed);
    double &value = (*results)[0].real[3];
    value = std::nextafterf(static_cast<float>(value), INFINITY);
    return results;
  };
  auto failure = checkProgram(*module, 1, options);
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->message.find("element 3 of 7"), std::string::npos) << failure->message;
}

TEST_F(RandomPrograms, BoundsOfFunctionsAreTheDocumentedOnes) {
  auto module = parse(R"(
    weft.func @main(%a: tensor<7xf32, #cpu> {weft.name = "plain:0"}) -> tensor<7xf32, #cpu> {
      %0 = weft.exp %a : tensor<7xf32, #cpu>
      weft.return %0 : tensor<7xf32, #cpu>
    })");
  ASSERT_TRUE(module);
  auto exact = interpreterWith([](ModuleOp) {});
  for (int off : {3, 6}) {
    CheckOptions options;
    options.backend = [&, off](ModuleOp copy, ArrayRef<ir::Literal> inputs,
                               uint64_t seed) -> Expected<SmallVector<ir::Literal>> {
      auto results = exact(copy, inputs, seed);
      double &value = (*results)[0].real[2];
      value += off * ulp(DType::f32, value);
      return results;
    };
    // The bound is two units for the function and one for the rounding.
    EXPECT_EQ(checkProgram(*module, 1, options).has_value(), off == 6);
  }
}

/// A wrong rewrite of sums of broadcasts, which always multiplies by 2 instead of the number of elements.
void doubleSums(Operation *root) {
  SmallVector<ir::SumOp> sums;
  root->walk([&](ir::SumOp sum) {
    if (sum.getA().getDefiningOp<ir::BroadcastInDimOp>())
      sums.push_back(sum);
  });
  for (ir::SumOp sum : sums) {
    OpBuilder builder(sum);
    auto type = sum.getType();
    Value factor = builder.create<ir::ConstantOp>(
        sum.getLoc(), type, DenseElementsAttr::get(type, Attribute(builder.getF32FloatAttr(2.0f))));
    Value a = sum.getA().getDefiningOp<ir::BroadcastInDimOp>().getA();
    sum.replaceAllUsesWith(builder.create<ir::MulOp>(sum.getLoc(), a, factor).getResult());
    sum.erase();
  }
}

struct WrongRewrite : PassWrapper<WrongRewrite, OperationPass<ir::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WrongRewrite)
  StringRef getArgument() const override { return "wrong-rewrite"; }
  void runOnOperation() override { doubleSums(getOperation()); }
};

constexpr const char *kSumOfBroadcast = R"(
    weft.func @main(%a: tensor<5xf32, #cpu> {weft.name = "plain:0"}) -> tensor<5xf32, #cpu> {
      %0 = weft.broadcast_in_dim %a, dims = [0] : tensor<5xf32, #cpu> -> tensor<5x3xf32, #cpu>
      %1 = weft.sum %0, dims = [1] : tensor<5x3xf32, #cpu>
      weft.return %1 : tensor<5xf32, #cpu>
    })";
constexpr const char *kGradientOfSum = R"(
    weft.func @main(%a: tensor<5xf32, #cpu> {weft.name = "plain:0"}) -> tensor<5xf32, #cpu> {
      %0 = weft.broadcast_in_dim %a, dims = [0] : tensor<5xf32, #cpu> -> tensor<5x3xf32, #cpu>
      %1 = weft.sum %0, dims = [1] : tensor<5x3xf32, #cpu>
      %2 = weft.mul %1, %1 : tensor<5xf32, #cpu>
      %3 = weft.sum %2, dims = [0] : tensor<5xf32, #cpu>
      %4 = weft.gradient %3 wrt %a : tensor<f32, #cpu>, tensor<5xf32, #cpu>
      weft.return %4 : tensor<5xf32, #cpu>
    })";

// The check also works in a program whose gradient is not yet written out.
TEST_F(RandomPrograms, AWrongRewriteIsFoundAfterItsPass) {
  for (const char *text : {kSumOfBroadcast, kGradientOfSum}) {
    auto module = parse(text);
    ASSERT_TRUE(module);
    CheckOptions options;
    options.backend = interpreterWith([](ModuleOp copy) { doubleSums(copy); });
    EXPECT_TRUE(checkProgram(*module, 1, options).has_value());
    options.backend = nullptr;
    options.passes = true;
    Statistics statistics;
    EXPECT_FALSE(checkProgram(*module, 1, options, &statistics));
    EXPECT_GT(statistics.stages, 5);
    options.before = [](OpPassManager &passes) {
      passes.nest<ir::FuncOp>().addPass(std::make_unique<WrongRewrite>());
    };
    auto failure = checkProgram(*module, 1, options);
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->stage, "after wrong-rewrite") << failure->message;
  }
}

// Fusions and schedules depend on the number of cores of the target. The bits of results do not.
TEST_F(RandomPrograms, BitsDoNotDependOnTheCoresOfTheTarget) {
  size_t compared = 0;
  constexpr uint64_t count = 60;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    OwningOpRef<ModuleOp> module = generateProgram(*context, catalog, seed);
    // The elements of an undefined tensor are the previous contents of its memory.
    bool isDefined = !module->walk([](ir::UndefOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (!isDefined)
      continue;
    auto inputs = makeInputs(module->lookupSymbol<ir::FuncOp>(kEntry), seed);
    OwningOpRef<ModuleOp> few(module->clone()), many(module->clone());
    auto expected = runCompiledFor("cpu", *few, inputs, seed),
         found = runCompiledFor("cpu:64", *many, inputs, seed);
    ASSERT_EQ(expected.ok(), found.ok())
        << seed << ": " << expected.status().message() << found.status().message();
    if (!expected)
      continue;
    for (auto [i, value] : llvm::enumerate(*expected)) {
      auto difference = findDifference(value, (*found)[i]);
      EXPECT_FALSE(difference) << "seed " << seed << ", result " << i << ": " << *difference;
    }
    ++compared;
  }
  EXPECT_GT(compared, count / 3);
}

// Programs on a device have queues and events, so the passes for these are tested.
TEST_F(RandomPrograms, OnADeviceTheyHaveQueuesAndEvents) {
  size_t queues = 0, waits = 0;
  constexpr uint64_t count = 20;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    OwningOpRef<ModuleOp> moved = moveToDevice(*generateProgram(*context, catalog, seed), kEntry);
    ASSERT_TRUE(moved) << seed;
    PassManager passes(context.get());
    ir::CompilerOptions options;
    options.target = "sm_90";
    passes::buildPipeline(passes, options);
    ASSERT_TRUE(succeeded(passes.run(*moved))) << seed;
    queues += moved->lookupSymbol<ir::FuncOp>(kEntry)->hasAttr(ir::attr::queues);
    moved->walk([&](ir::EventWaitOp) { ++waits; });
  }
  EXPECT_GT(queues, count / 2);
  EXPECT_GT(waits, count);
}

TEST_F(RandomPrograms, NoPassIsLeftOutWhereThereIsAGradient) {
  auto module = parse(R"(
    weft.func @main(%a: tensor<5xf32, #cpu> {weft.name = "plain:0"}) -> tensor<5xf32, #cpu> {
      %0 = weft.mul %a, %a : tensor<5xf32, #cpu>
      %1 = weft.sum %0, dims = [0] : tensor<5xf32, #cpu>
      %2 = weft.gradient %1 wrt %a : tensor<f32, #cpu>, tensor<5xf32, #cpu>
      weft.return %2 : tensor<5xf32, #cpu>
    })");
  ASSERT_TRUE(module);
  CheckOptions options;
  options.passes = true;
  Statistics statistics;
  EXPECT_FALSE(checkProgram(*module, 1, options, &statistics));
  const int64_t all = statistics.stages;
  EXPECT_EQ(statistics.moved, 1);
  // A program without a gradient has as many checked stages, so the gradient does not prevent checks.
  auto plain = parse(R"(
    weft.func @main(%a: tensor<5xf32, #cpu> {weft.name = "plain:0"}) -> tensor<5xf32, #cpu> {
      %0 = weft.mul %a, %a : tensor<5xf32, #cpu>
      weft.return %0 : tensor<5xf32, #cpu>
    })");
  ASSERT_TRUE(plain);
  Statistics of_plain;
  EXPECT_FALSE(checkProgram(*plain, 1, options, &of_plain));
  EXPECT_EQ(all, of_plain.stages);
}

TEST_F(RandomPrograms, WhatIsUnstableIsNotClaimed) {
  // Compares two values that are equal or not, depending on rounding.
  auto module = parse(R"(
    weft.func @main(%a: tensor<7xf32, #cpu> {weft.name = "plain:0"}) -> (tensor<7xi1, #cpu>, tensor<7xi1, #cpu>) {
      %0 = weft.exp %a : tensor<7xf32, #cpu>
      %1 = weft.log %0 : tensor<7xf32, #cpu>
      %2 = weft.lt %1, %a : tensor<7xf32, #cpu>
      %3 = weft.constant dense<100.0> : tensor<7xf32, #cpu>
      %4 = weft.lt %1, %3 : tensor<7xf32, #cpu>
      weft.return %2, %4 : tensor<7xi1, #cpu>, tensor<7xi1, #cpu>
    })");
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<ir::FuncOp>(kEntry);
  SmallVector<Bounded> arguments;
  for (const ir::Literal &input : makeInputs(function, 1))
    arguments.emplace_back(input);
  ir::InterpreterOptions options;
  auto results = interpretWithBounds(function, arguments, options);
  ASSERT_TRUE(succeeded(results));
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_TRUE(std::isinf((*results)[0].error[i]));
    EXPECT_EQ((*results)[1].error[i], 0);
  }
}

TEST_F(RandomPrograms, APartThatOverflowsInItsTypeIsNotClaimed) {
  // The normalised value times the weight may be beyond f32; its sum with the bias is not, and the composite
  // is computed in doubles.
  auto module = parse(R"(
    weft.func @main(%x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
      %y, %mean, %rstd = weft.layer_norm %x weight %w bias %b, axis = 0, eps = 0.000000e+00
                       : tensor<4xf32, #cpu> weight tensor<4xf32, #cpu> bias tensor<4xf32, #cpu>
      weft.return %y : tensor<4xf32, #cpu>
    })");
  ASSERT_TRUE(module);
  const auto literal = [](std::vector<double> values) {
    ir::Literal made(DType::f32, {4});
    made.real.assign(values.begin(), values.end());
    return Bounded(made);
  };
  ir::InterpreterOptions options;
  const auto largest = static_cast<double>(std::numeric_limits<float>::max());
  // Normalised to 1.73 and three times -0.58.
  auto results = interpretWithBounds(
      module->lookupSymbol<ir::FuncOp>(kEntry),
      {literal({3, -1, -1, -1}), literal({largest, 2, 2, 2}), literal({-largest, 1, 1, 1})}, options);
  ASSERT_TRUE(succeeded(results));
  EXPECT_TRUE(std::isinf((*results)[0].error[0]));
  EXPECT_TRUE(std::isfinite((*results)[0].error[1]));
}

/// The gradients of the sum of x * w^n and of that of its powers below n, by a loop. Some elements of w are
/// infinite or NaN.
std::string powersOf(int trips) {
  std::string text = R"(!T = tensor<64xf32, #cpu>
    !I = tensor<i64, #cpu>
    weft.func @main(%x: !T {weft.name = "plain:0"}, %w: !T {weft.name = "special:1"}) -> (!T, !T, !T, !T) {
      %n = weft.constant dense<N> : !I
      %zeros = weft.constant dense<0.0> : !T
      %0:3 = weft.while @goes_on do @trip(%x, %zeros, %n) with(%w) : (!T, !T, !I, !T) -> (!T, !T, !I)
      %1 = weft.sum %0#0, dims = [0] : !T
      %2 = weft.sum %0#1, dims = [0] : !T
      %3:2 = weft.gradient %1 wrt %x, %w : tensor<f32, #cpu>, !T, !T
      %4:2 = weft.gradient %2 wrt %x, %w : tensor<f32, #cpu>, !T, !T
      weft.return %3#0, %3#1, %4#0, %4#1 : !T, !T, !T, !T
    }
    weft.func private @goes_on(%x: !T, %sum: !T, %left: !I, %w: !T) -> tensor<i1, #cpu> {
      %0 = weft.constant dense<0> : !I
      %1 = weft.gt %left, %0 : !I
      weft.return %1 : tensor<i1, #cpu>
    }
    weft.func private @trip(%x: !T, %sum: !T, %left: !I, %w: !T) -> (!T, !T, !I) {
      %0 = weft.mul %x, %w : !T
      %1 = weft.add %sum, %x : !T
      %2 = weft.constant dense<1> : !I
      %3 = weft.sub %left, %2 : !I
      weft.return %0, %1, %3 : !T, !T, !I
    })";
  return text.replace(text.find('N'), 1, std::to_string(trips));
}

TEST_F(RandomPrograms, LoopsHaveTheGradientsOfTheirTrips) {
  for (const int trips : {0, 1, 5}) {
    auto module = parse(powersOf(trips));
    ASSERT_TRUE(module);
    CheckOptions options;
    bool compared = false;
    options.record = [&](ModuleOp, ArrayRef<ir::Literal> inputs, ArrayRef<Bounded> results) {
      EXPECT_TRUE(llvm::any_of(inputs[1].real, [](double factor) { return std::isinf(factor); }));
      const auto isSame = [](double found, double expected) {
        return std::isnan(expected) ? std::isnan(found) : found == expected;
      };
      for (size_t i = 0; i < 64; ++i) {
        const double w = inputs[1].real[i];
        // Of trips that do not run it is not 0 * w.
        EXPECT_TRUE(trips || isSame(results[0].value.real[i], 1));
        EXPECT_TRUE(trips || isSame(results[1].value.real[i], 0));
        EXPECT_TRUE(trips != 1 || isSame(results[0].value.real[i], w));
        // Nothing reads the last product, and zeros begin its gradient.
        EXPECT_TRUE(std::isfinite(w) || !trips || std::isnan(results[2].value.real[i])) << w;
      }
      compared = true;
    };
    const auto failure = checkProgram(*module, 1, options);
    EXPECT_FALSE(failure) << (failure ? failure->message : "");
    EXPECT_TRUE(compared);
  }
}

} // namespace
