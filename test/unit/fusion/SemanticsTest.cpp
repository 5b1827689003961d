//===- SemanticsTest.cpp - Programs mean the same before and after --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/FunctionAttributes.h"
#include "ir/Loops.h"
#include "ir/Updates.h"
#include "ir/interp/Interpreter.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/launch/LaunchList.h"
#include "passes/launch/LaunchStorage.h"
#include "passes/launch/PlanReport.h"
#include "test/random/Bounds.h"
#include "test/random/Devices.h"
#include "test/random/Generator.h"
#include "test/random/Inputs.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <random>

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

LogicalResult runPhases(ModuleOp module, StringRef from, StringRef to, StringRef target = "cpu") {
  PassManager manager(&context());
  ir::CompilerOptions options;
  options.from = from;
  options.to = to;
  options.target = target;
  passes::buildPipeline(manager, options);
  return manager.run(module);
}

/// A random program of test/random.
struct Program {
  OwningOpRef<ModuleOp> module;
  unsigned seed;
  std::string failure;

  FuncOp function() { return module->lookupSymbol<FuncOp>(randomtest::kEntry); }
  std::vector<Literal> arguments() {
    SmallVector<Literal> made = randomtest::makeInputs(function(), seed);
    return {made.begin(), made.end()};
  }
  /// The results; none if an index or an assertion fails, with the reason in `failure`.
  std::optional<std::vector<Literal>> results() {
    ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
      failure = diagnostic.str();
      return success();
    });
    FailureOr<SmallVector<Literal>> found = interpretFunction(function(), arguments());
    if (failed(found))
      return std::nullopt;
    return std::vector<Literal>(found->begin(), found->end());
  }
};

/// The program before fusion: without calls, gradients, composites and generators, and on a device if
/// `target` is one. Arguments with strides have become views of row-major memory, so all bytes here are
/// row-major.
Program randomProgram(unsigned seed, StringRef target = "cpu") {
  static const randomtest::OpCatalog catalog = *randomtest::OpCatalog::discover(context());
  Program program{randomtest::generateProgram(context(), catalog, seed, 12 + seed % 60), seed, {}};
  for (unsigned i = 0; i < program.function().getNumArguments(); ++i)
    program.function().removeArgAttr(i, attr::strides);
  // The elements of an undefined tensor depend on the earlier content of its memory.
  program.module->walk([](UndefOp undef) {
    OpBuilder builder(undef);
    auto zeros =
        DenseElementsAttr::get(undef.getType(), builder.getZeroAttr(undef.getType().getElementType()));
    undef.replaceAllUsesWith(builder.create<ConstantOp>(undef.getLoc(), undef.getType(), zeros).getResult());
    undef.erase();
  });
  if (target != "cpu") {
    if (OwningOpRef<ModuleOp> moved = randomtest::moveToDevice(*program.module, randomtest::kEntry))
      program.module = std::move(moved);
    else
      ADD_FAILURE() << "the program cannot be mapped to a device";
  }
  EXPECT_TRUE(succeeded(verify(*program.module)));
  EXPECT_TRUE(succeeded(runPhases(*program.module, "", "decomposition", target)));
  return program;
}

/// Every bit.
void expectEqual(ArrayRef<Literal> expected, ArrayRef<Literal> found, ModuleOp module) {
  ASSERT_EQ(expected.size(), found.size()) << textOf(module);
  for (size_t i = 0; i < found.size(); ++i)
    if (auto difference = randomtest::findDifference(expected[i], found[i]))
      FAIL() << "result " << i << ": " << *difference << "\n" << textOf(module);
}

/// Numbers below 1.5, and indices below 3.
std::vector<Literal> smallArguments(FuncOp func, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Literal> arguments;
  for (Type type : func.getArgumentTypes()) {
    Literal literal(cast<RankedTensorType>(type));
    for (int64_t i = 0, e = literal.count(); i < e; ++i) {
      if (literal.isReal())
        literal.setReal(i, static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 700);
      else
        literal.setWhole(i, static_cast<int64_t>(random() % 3));
    }
    arguments.push_back(std::move(literal));
  }
  return arguments;
}

/// Executes a planned function on bytes: every value is where the plan says, and nowhere else. A run has no
/// results if a launch fails.
class PlanExecutor {
public:
  explicit PlanExecutor(FuncOp func) : func(func) {
    arena.assign(func->getAttrOfType<IntegerAttr>(attr::arenaBytes).getInt(), std::byte(0xcd));
  }
  /// In the order of the text.
  std::vector<Literal> run(const std::vector<Literal> &given) {
    begin(given);
    for (Operation &op : func.getBody().front().without_terminator())
      execute(op);
    return returned();
  }
  /// Each queue runs in its order; the next launch is drawn at random among the queues that wait for no
  /// event.
  std::vector<Literal> run(const std::vector<Literal> &given, unsigned seed) {
    begin(given);
    std::mt19937 random(seed);
    std::vector<std::deque<Operation *>> queues(passes::queueCount(func));
    for (Operation &op : func.getBody().front().without_terminator())
      if (passes::isLaunch(&op) || isa<EventRecordOp, EventWaitOp>(op))
        queues[passes::queueOf(&op)].push_back(&op);
      else
        execute(op); // constants, which are there before a call
    llvm::DenseSet<Value> passed;
    const auto ready = [&](const std::deque<Operation *> &queue) {
      auto wait = queue.empty() ? EventWaitOp() : dyn_cast<EventWaitOp>(queue.front());
      return !queue.empty() && (!wait || passed.contains(wait.getEvent()));
    };
    for (;;) {
      std::vector<size_t> choices;
      for (size_t i = 0; i < queues.size(); ++i)
        if (ready(queues[i]))
          choices.push_back(i);
      if (choices.empty())
        break;
      auto &queue = queues[choices[random() % choices.size()]];
      Operation *op = queue.front();
      queue.pop_front();
      if (auto record = dyn_cast<EventRecordOp>(op))
        passed.insert(record.getEvent());
      else if (!isa<EventWaitOp>(op))
        execute(*op);
    }
    EXPECT_TRUE(llvm::all_of(queues, [](const auto &queue) { return queue.empty(); }))
        << "queues that wait for ever";
    return returned();
  }

private:
  void begin(const std::vector<Literal> &given) {
    for (const Literal &literal : given) {
      arguments.emplace_back(bytesOf(literal));
      literal.toBytes(arguments.back().data());
    }
    for (Type type : func.getResultTypes())
      results.emplace_back(ir::bytesOf(type).asNumber(), std::byte(0xab));
  }
  void execute(Operation &op) {
    if (isStorageView(&op) || ir::isOrder(&op))
      return;
    std::vector<Literal> operands;
    for (Value operand : op.getOperands())
      if (isa<RankedTensorType>(operand.getType())) // tokens of prints and assertions have no bytes
        operands.push_back(load(operand));
    SmallVector<const Literal *> in;
    for (const Literal &literal : operands)
      in.push_back(&literal);
    SmallVector<Literal> out;
    for (Type type : op.getResultTypes())
      out.emplace_back(cast<RankedTensorType>(type));
    if (auto scan = dyn_cast<ScanOp>(op)) {
      runTrips(scan, operands, out);
    } else if (auto cond = dyn_cast<CondOp>(op)) {
      const FlatSymbolRefAttr taken = operands[0].whole[0] ? cond.getThenBodyAttr() : cond.getElseBodyAttr();
      auto branch = SymbolTable::lookupNearestSymbolFrom<FuncOp>(&op, taken);
      const std::vector<Literal> made = PlanExecutor(branch).run({operands.begin() + 1, operands.end()});
      out.assign(made.begin(), made.end());
    } else if (auto loop = dyn_cast<WhileOp>(op)) {
      runWhile(loop, operands, out);
    } else if (failed(cast<InterpretableOp>(op).interpret(in, out))) {
      hasFailed = true;
      return;
    }
    for (auto [value, literal] : llvm::zip(op.getResults(), out))
      literal.toBytes(at(value));
  }
  /// Copies `count` elements.
  static void copy(const Literal &from, int64_t begin, Literal &to, int64_t at, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      from.isReal() ? void(to.real[at + i] = from.real[begin + i])
                    : void(to.whole[at + i] = from.whole[begin + i]);
  }
  /// A loop: its body is a planned function too.
  static void runTrips(ScanOp scan, const std::vector<Literal> &operands, SmallVectorImpl<Literal> &out) {
    const size_t carries = scan.getCarries().size(), rows = carries + scan.getXs().size();
    std::vector<Literal> given(operands);
    for (size_t i = carries; i < rows; ++i)
      given[i] = Literal(operands[i].dtype, ArrayRef(operands[i].shape).drop_front());
    const auto length = static_cast<int64_t>(scan.getLength());
    for (int64_t trip = 0; trip < length; ++trip) {
      const int64_t row = scan.getReverse() ? length - 1 - trip : trip;
      for (size_t i = carries; i < rows; ++i)
        copy(operands[i], row * given[i].count(), given[i], 0, given[i].count());
      std::vector<Literal> made = PlanExecutor(scan.findBody()).run(given);
      for (size_t i = 0; i < made.size(); ++i)
        if (i < carries)
          given[i] = out[i] = made[i];
        else
          copy(made[i], 0, out[i], row * made[i].count(), made[i].count());
    }
  }
  static void runWhile(WhileOp loop, const std::vector<Literal> &operands, SmallVectorImpl<Literal> &out) {
    const auto find = [&](FlatSymbolRefAttr name) {
      return SymbolTable::lookupNearestSymbolFrom<FuncOp>(loop, name);
    };
    std::vector<Literal> given(operands);
    while (PlanExecutor(find(loop.getConditionAttr())).run(given)[0].whole[0]) {
      const std::vector<Literal> made = PlanExecutor(find(loop.getBodyAttr())).run(given);
      llvm::copy(made, given.begin());
    }
    out.assign(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(out.size()));
  }
  std::vector<Literal> returned() {
    std::vector<Literal> values;
    if (hasFailed)
      return values;
    for (Value value : func.getBody().front().getTerminator()->getOperands())
      values.push_back(load(value));
    return values;
  }
  static size_t bytesOf(const Literal &literal) { return literal.count() * itemsize(literal.dtype); }
  std::byte *at(Value value) {
    SliceAttr slice = passes::sliceOf(value);
    auto position = static_cast<size_t>(slice.getPosition().asNumber());
    switch (slice.getStorage()) {
    case StorageKind::argument:
      return arguments[position].data();
    case StorageKind::result:
      return results[position].data();
    case StorageKind::arena:
      return arena.data() + position;
    case StorageKind::constant:
      if (size_t end = position + static_cast<size_t>(slice.getBytes().asNumber()); constants.size() < end)
        constants.resize(end);
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
  bool hasFailed = false;
};

class Random : public testing::TestWithParam<unsigned> {};

TEST_P(Random, FusionKeepsTheMeaning) {
  Program program = randomProgram(GetParam());
  std::string before = textOf(*program.module);
  auto expected = program.results();
  if (!expected)
    return;
  auto fuse = [&] {
    PassManager manager(&context());
    OpPassManager &function = manager.nest<FuncOp>();
    function.addPass(passes::createFuseOptimizerSteps());
    function.addPass(passes::createFuse());
    return manager.run(*program.module);
  };
  ASSERT_TRUE(succeeded(fuse())) << before;
  for (Operation &op : program.function().getBody().front()) {
    bool isFused = isa<ConstantOp, UndefOp, ReturnOp>(op) || isStorageView(&op) || ir::isOrder(&op) ||
                   passes::isLaunch(&op);
    ASSERT_TRUE(isFused) << textOf(*program.module);
  }
  auto found = program.results();
  ASSERT_TRUE(found) << program.failure << "\n" << before << textOf(*program.module);
  expectEqual(*expected, *found, *program.module);

  // Running the pass a second time changes nothing.
  std::string once = textOf(*program.module);
  ASSERT_TRUE(succeeded(fuse()));
  EXPECT_EQ(once, textOf(*program.module));
}

TEST_P(Random, ThePlanHoldsEveryValueWhileItIsNeeded) {
  Program program = randomProgram(GetParam() + 1000);
  ASSERT_TRUE(succeeded(runPhases(*program.module, "fusion", "fusion")));
  auto expected = program.results();
  if (!expected)
    return;
  ASSERT_TRUE(succeeded(runPhases(*program.module, "memory", "scheduling")));
  expectEqual(*expected, PlanExecutor(program.function()).run(program.arguments()), *program.module);
}

// On bytes, so that a use of a byte that no event orders shows: with other launches between, it is another
// value.
TEST_P(Random, QueuesAndEventsOrderEveryUseOfAByte) {
  Program program = randomProgram(GetParam() + 2000, "sm_90");
  ASSERT_TRUE(succeeded(runPhases(*program.module, "fusion", "fusion", "sm_90")));
  auto expected = program.results();
  ASSERT_TRUE(succeeded(runPhases(*program.module, "memory", "scheduling", "sm_90")));
  // Where the call fails, or all is on one queue, there is no order to look at.
  if (!expected || passes::queueCount(program.function()) == 1)
    return;
  for (unsigned order = 0; order < 3; ++order)
    expectEqual(*expected, PlanExecutor(program.function()).run(program.arguments(), order), *program.module);
}

INSTANTIATE_TEST_SUITE_P(Programs, Random, testing::Range(0u, 300u));

// The same without the events: some order then gives another value, or the test above could not fail.
TEST(Queues, WithoutEventsSomeOrderIsWrong) {
  unsigned wrong = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    Program program = randomProgram(seed + 2000, "sm_90");
    auto expected = program.results();
    if (!expected)
      continue;
    ASSERT_TRUE(succeeded(runPhases(*program.module, "fusion", "scheduling", "sm_90")));
    FuncOp func = program.function();
    func.walk([](EventWaitOp wait) {
      wait.getToken().replaceAllUsesWith(wait.getAfter());
      wait.erase();
    });
    for (unsigned order = 0; order < 3; ++order) {
      ScopedDiagnosticHandler silent(&context(), [](Diagnostic &) { return success(); });
      std::vector<Literal> found = PlanExecutor(func).run(program.arguments(), order);
      wrong += found.size() != expected->size() || !llvm::equal(*expected, found, [](auto &a, auto &b) {
                 return !randomtest::findDifference(a, b);
               });
    }
  }
  EXPECT_GT(wrong, 0u);
}

// A whole training step: epilogues, losses, optimiser steps and state that is replaced in place.
TEST(TrainingStep, MeansTheSameFusedAndPlanned) {
  auto module = parseSourceFile<ModuleOp>(WEFT_SOURCE_DIR "/test/passes/training-step.mlir", &context());
  ASSERT_TRUE(module);
  std::vector<Literal> arguments = smallArguments(functionOf(*module), 7);
  // Second moments are not negative, and hyper-parameters are those of a first step.
  for (auto [literal, type] : llvm::zip(arguments, functionOf(*module).getArgumentTypes())) {
    for (double &value : literal.real)
      value = cast<RankedTensorType>(type).getRank() ? std::fabs(value) : 0.125;
  }
  // The results of the program before all passes, except gradients, which the next test compares with
  // differences.
  OwningOpRef<ModuleOp> written(module->clone());
  PassManager differentiation(&context());
  differentiation.addPass(passes::createDifferentiate());
  ASSERT_TRUE(succeeded(differentiation.run(*written)));
  auto expected = interpretFunction(functionOf(*written), arguments);
  ASSERT_TRUE(succeeded(expected));
  PassManager manager(&context());
  passes::buildPipeline(manager, {});
  ASSERT_TRUE(succeeded(manager.run(*module)));
  FuncOp func = functionOf(*module);
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

// Gradients of the loss with respect to each parameter, from the first moments of Adam, against differences
// of the loss, in the program before all passes. In f64, so that the differences are accurate.
TEST(TrainingStep, GradientsAreThoseOfDifferences) {
  auto file = llvm::MemoryBuffer::getFile(WEFT_SOURCE_DIR "/test/passes/training-step.mlir");
  ASSERT_TRUE(!!file);
  std::string text = (*file)->getBuffer().str();
  for (size_t at = text.find("f32"); at != std::string::npos; at = text.find("f32", at))
    text.replace(at, 3, "f64");
  auto module = parseSourceString<ModuleOp>(text, &context());
  ASSERT_TRUE(module);
  PassManager manager(&context());
  manager.addPass(passes::createDifferentiate());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  FuncOp func = functionOf(*module);
  constexpr size_t parameter = 2, parameters = 6, beta1 = 22, decay = 25;
  std::vector<Literal> arguments = smallArguments(func, 7);
  for (size_t i = 0; i < arguments.size(); ++i)
    for (double &value : arguments[i].real)
      value = i > 20 ? 0.125 : std::fabs(value);
  arguments[decay].real[0] = 0;
  const auto results = [&] {
    auto found = interpretFunction(func, arguments);
    EXPECT_TRUE(succeeded(found));
    return *found;
  };
  const auto first = results();
  for (size_t k = 0; k < parameters; ++k) {
    Literal &values = arguments[parameter + 3 * k];
    const Literal &moments = arguments[parameter + 3 * k + 1];
    for (int64_t element : {int64_t(0), values.count() / 2, values.count() - 1}) {
      constexpr double step = 1e-5;
      const double value = values.real[element], rate = arguments[beta1].real[0];
      values.real[element] = value + step;
      const double above = results()[0].real[0];
      values.real[element] = value - step;
      const double below = results()[0].real[0];
      values.real[element] = value;
      const double gradient = (first[2 + 3 * k].real[element] - rate * moments.real[element]) / (1 - rate);
      EXPECT_NEAR(gradient, (above - below) / (2 * step), 1e-6)
          << "parameter " << k << ", element " << element;
    }
  }
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
