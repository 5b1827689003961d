//===- InterpreterErrorsTest.cpp - What only values or a run can show -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Support.h"

#include "ir/Vjp.h"

using namespace weft;
using namespace weft::ir;
using namespace weft::ir::test;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TEST(Errors, GatherNamesIndexPositionAndSize) {
  auto a = reals(DType::f32, {4, 2}, std::vector<double>(8));
  EXPECT_EQ(errorOf("weft.gather %a, %b, dim = 0, kind = points : T<4x2xf32>, T<2x3xi64>", {"T<2x3x2xf32>"},
                    {a, wholes(DType::i64, {2, 3}, {0, 1, 2, 3, 4, 5})}),
            "'weft.gather' op index 4 at position [1, 1] of the index tensor is outside [0, 4), the size of "
            "dimension 0");
  EXPECT_EQ(errorOf("weft.gather %a, %b, dim = 1, kind = along : T<4x2xf32>, T<4x1xi32>", {"T<4x1xf32>"},
                    {a, wholes(DType::i32, {4, 1}, {0, 1, -1, 0})}),
            "'weft.gather' op index -1 at position [2, 0] of the index tensor is outside [0, 2), the size of "
            "dimension 1");
  // Also if the result is empty and no element is read.
  EXPECT_EQ(errorOf("weft.gather %a, %b, dim = 0, kind = points : T<4x0xf32>, T<i64>", {"T<0xf32>"},
                    {reals(DType::f32, {4, 0}, {}), wholes(DType::i64, {}, {4})}),
            "'weft.gather' op index 4 at position [] of the index tensor is outside [0, 4), the size of "
            "dimension 0");
}

TEST(Errors, GatherFromWindowsNamesIndexAndPlace) {
  // One place along rows has rows 0 and 3 of planes of 4 x 5. Each of five along columns has its column and
  // the one before it.
  const auto problemOf = [](std::vector<int64_t> indices) {
    const std::vector<Literal> arguments = {reals(DType::f32, {2, 20}, std::vector<double>(40)),
                                            wholes(DType::i64, {2, 5}, std::move(indices))};
    Program program(
        functionOf("weft.gather %a, %b, dim = 1, kind = along mode = assume {weft.pooled = array<i64: "
                   "4, 2, 1, 0, 3, 1, 5, 2, 1, 1, 1, 5>} : T<2x20xf32>, T<2x5xi64>",
                   {"T<2x5xf32>"}, arguments));
    const bool isDone = !program.run(arguments).empty();
    return isDone ? "" : program.said();
  };
  EXPECT_EQ(problemOf({0, 0, 16, 18, 19, 15, 1, 2, 2, 3}), "");
  EXPECT_EQ(problemOf({0, 0, 16, 18, 19, 15, 1, 7, 2, 3}),
            "'weft.gather' op index 7 of place 2 lies outside of its window, which weft.pooled states");
  EXPECT_EQ(problemOf({0, 0, 16, 18, 19, 15, 2, 2, 2, 3}),
            "'weft.gather' op index 2 of place 1 lies outside of its window, which weft.pooled states");
}

TEST(Errors, AssertNamesTheMessageAndThePosition) {
  Program program(R"(weft.func @f(%a: T<3xi1>) -> T<3xi1> {
      weft.assert %a, "rows must be sorted" : T<3xi1>
      weft.return %a : T<3xi1>
    })");
  EXPECT_TRUE(program.run(wholes(DType::i1, {3}, {1, 1, 0})).empty());
  EXPECT_EQ(program.said(),
            "'weft.assert' op failed: rows must be sorted (the condition is false at position 2)");
}

// A size that depends on a call is no number before the program is specialised.
TEST(Errors, DimOfASymbol) {
  Program program(R"(weft.func @f(%a: tensor<?xf32, #weft.device<cpu, [n]>>) -> T<i64>
      attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
      %0 = weft.dim 2 * n : T<i64>
      weft.return %0 : T<i64>
    })");
  Literal result(DType::i64, {});
  auto dim = mlir::cast<DimOp>(program.function().getBody().front().front());
  EXPECT_TRUE(mlir::failed(dim.interpret({}, result)));
  EXPECT_EQ(program.said(),
            "'weft.dim' op has the size 2 * n, which is no number: specialize the program first");
}

TEST(Errors, CrossEntropyNamesTheTarget) {
  auto error = [](std::string rest, std::vector<int64_t> targets) {
    return errorOf("weft.cross_entropy %a, %b, reduction = " + rest + " : T<2x3xf32>, T<2xi64>",
                   {"T<f32>", "T<2xf32>"},
                   {reals(DType::f32, {2, 3}, std::vector<double>(6)), wholes(DType::i64, {2}, targets)});
  };
  EXPECT_EQ(error("mean", {0, 3}),
            "'weft.cross_entropy' op target 3 at position [1] is outside [0, 3), the number "
            "of classes, and is not the ignore_index, -100");
  EXPECT_EQ(
      error("sum ignore_index = 7", {-100, 7}),
      "'weft.cross_entropy' op target -100 at position [0] is outside [0, 3), the number of classes, and is "
      "not the ignore_index, 7");
}

TEST(Errors, HaveTheLocationOfTheOp) {
  Program program(R"(weft.func @f(%a: T<2xf32>, %i: T<i64>) -> T<f32> {
    %r = weft.gather %a, %i, dim = 0, kind = points : T<2xf32>, T<i64> loc("model.cpp":12:3)
    weft.return %r : T<f32>
  })");
  std::string location;
  mlir::ScopedDiagnosticHandler handler(&program.context, [&](mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream(location) << diagnostic.getLocation();
  });
  EXPECT_TRUE(program.run({reals(DType::f32, {2}, {1, 2}), wholes(DType::i64, {}, {2})}).empty());
  EXPECT_EQ(location, "loc(\"model.cpp\":12:3)");
}

//===----------------------------------------------------------------------===//
// Calls and arguments
//===----------------------------------------------------------------------===//

static const char *identity =
    "weft.func @f(%a: T<2x3xf32>) -> T<2x3xf32> {\n  weft.return %a : T<2x3xf32>\n}";

TEST(Errors, ArgumentsOfAnotherType) {
  auto error = [](llvm::ArrayRef<Literal> arguments) {
    Program program(identity);
    EXPECT_TRUE(program.run(arguments).empty());
    return program.said();
  };
  EXPECT_EQ(error({}), "'weft.func' op 'f' takes 1 arguments, found 0");
  EXPECT_EQ(error(Literal(DType::f32, {3, 2})),
            "'weft.func' op 'f' argument 0 is f32[3x2], expected f32[2x3]");
  EXPECT_EQ(error(Literal(DType::f64, {2, 3})),
            "'weft.func' op 'f' argument 0 is f64[2x3], expected f32[2x3]");
}

TEST(Errors, CallsThatRecur) {
  Program program(R"(
    weft.func @f(%a: T<f32>) -> T<f32> {
      %r = weft.call @g(%a) : (T<f32>) -> T<f32>
      weft.return %r : T<f32>
    }
    weft.func @g(%a: T<f32>) -> T<f32> {
      %r = weft.call @f(%a) : (T<f32>) -> T<f32>
      weft.return %r : T<f32>
    })");
  EXPECT_TRUE(program.run(reals(DType::f32, {}, {1})).empty());
  EXPECT_EQ(program.said(), "'weft.call' op 'f' calls itself, so that it would never end");
}

TEST(Errors, GeneratorsWithoutState) {
  Program load(R"(weft.func @f() -> T<i64> {
    %k, %c = weft.rng_state_load "g" : T<i64>, T<i64>
    weft.return %k : T<i64>
  })");
  EXPECT_TRUE(load.run().empty());
  EXPECT_EQ(load.said(),
            "'weft.rng_state_load' op generator 'g' has no state: give the interpreter its key and counter");
  Program store(R"(weft.func @f(%a: T<i64>) {
    weft.rng_state_store %a, "h" : T<i64>
    weft.return
  })");
  EXPECT_TRUE(failed(interpretFunction(store.function(), wholes(DType::i64, {}, {1}))));
  EXPECT_EQ(store.said(),
            "'weft.rng_state_store' op generator 'h' has no state: give the interpreter its key and counter");
}

TEST(Errors, ValuesThatWouldNotFit) {
  Program program(R"(weft.func @f(%a: T<f32>) -> T<1000x1000xf32> {
    %r = weft.full %a, shape = [1000, 1000] : T<f32>
    weft.return %r : T<1000x1000xf32>
  })");
  program.options.maxElements = 999999;
  EXPECT_TRUE(program.run(reals(DType::f32, {}, {1})).empty());
  EXPECT_EQ(program.said(),
            "'weft.full' op has a result of 1000000 elements; the interpreter's limit is 999999");
  program.options.maxElements = 1000000;
  EXPECT_EQ(program.run(reals(DType::f32, {}, {1})).size(), 1u);
}

TEST(Errors, OpsWithoutAMeaningOfTheirOwn) {
  Program gradient(R"(weft.func @f(%a: T<f32>) -> T<f32> {
    %r = weft.gradient %a wrt %a : T<f32>, T<f32>
    weft.return %r : T<f32>
  })");
  EXPECT_TRUE(gradient.run(reals(DType::f32, {}, {1})).empty());
  EXPECT_EQ(gradient.said(), "'weft.gradient' op has no value of its own: run --weft-differentiate first");
  Program raw(R"(weft.func @f() -> tensor<4xf32, #weft.device<cuda:0>> {
    %r = weft.raw_kernel "fill"(), parameters = ["out"], grid = [1, 1, 1], block = [4, 1, 1], shared = 0,
         source = "text" : () -> tensor<4xf32, #weft.device<cuda:0>>
    weft.return %r : tensor<4xf32, #weft.device<cuda:0>>
  })");
  EXPECT_TRUE(raw.run({}).empty());
  EXPECT_EQ(raw.said(),
            "'weft.raw_kernel' op 'fill' is CUDA C++ of the user, for which the interpreter has no rule");
  Program foreign(R"(weft.func @f(%a: T<f32>) -> T<f32> {
    %r = builtin.unrealized_conversion_cast %a : T<f32> to T<f32>
    weft.return %r : T<f32>
  })");
  EXPECT_TRUE(foreign.run(reals(DType::f32, {}, {1})).empty());
  EXPECT_EQ(foreign.said(), "'builtin.unrealized_conversion_cast' op cannot be interpreted");
}

//===----------------------------------------------------------------------===//
// Modules that were not verified: errors, and no crash
//===----------------------------------------------------------------------===//

static std::string unverified(const std::string &text, llvm::ArrayRef<Literal> arguments) {
  Program program(text, /*verify=*/false);
  EXPECT_TRUE(mlir::failed(interpretFunction(program.function(), arguments)));
  return program.said();
}

TEST(Unverified, Functions) {
  Literal one = reals(DType::f32, {}, {1});
  EXPECT_EQ(unverified("weft.func @f(T<f32>) -> T<f32>", one),
            "'weft.func' op 'f' has no body of one block to interpret");
  EXPECT_EQ(unverified("weft.func @f(%a: T<f32>) {\n  %r = weft.neg %a : T<f32>\n}", one),
            "'weft.func' op 'f' does not end in weft.return");
  EXPECT_EQ(unverified("weft.func @f(%a: f32) {\n  weft.return\n}", one),
            "'weft.func' op 'f' argument 0 has type 'f32', which cannot be interpreted");
  EXPECT_EQ(
      unverified("weft.func @f(%a: T<f32>) {\n  weft.call @g(%a) : (T<f32>) -> ()\n  weft.return\n}", one),
      "'weft.call' op 'g' is no function of this module");
  EXPECT_EQ(
      unverified("weft.func @f(%a: T<f32>) {\n  %r = weft.neg %s : T<f32>\n  %s = weft.neg %a : T<f32>\n"
                 "  weft.return\n}",
                 one),
      "'weft.neg' op operand 0 has no value here: verify the module before running it");
  EXPECT_EQ(
      unverified("weft.func @f(%a: T<f32>) {\n  %r = \"weft.neg\"(%a) : (T<f32>) -> f32\n  weft.return\n}",
                 one),
      "'weft.neg' op has a result of type 'f32', which cannot be interpreted");
}

TEST(Unverified, Reductions) {
  Literal empty(DType::f32, {2, 0});
  EXPECT_EQ(unverified("weft.func @f(%a: T<2x0xf32>) {\n  %r = weft.rmax %a, dims = [1] : T<2x0xf32>\n"
                       "  weft.return\n}",
                       empty),
            "'weft.rmax' op has nothing to choose from: a reduced dimension has size 0");
  EXPECT_EQ(unverified("weft.func @f(%a: T<2x0xf32>) {\n  %r = weft.argmax %a, dim = 1 : T<2x0xf32>\n"
                       "  weft.return\n}",
                       empty),
            "'weft.argmax' op has nothing to choose from: dimension 1 has size 0");
}

TEST(Unverified, Fusions) {
  Literal one = reals(DType::f32, {}, {1});
  auto fusion = [](const std::string &body) {
    return "weft.func @f(%a: T<f32>) {\n  %r = weft.fusion loop (%a) : (T<f32>) -> T<f32> {\n  ^bb0(%x: "
           "T<f32>):\n" +
           body + "  }\n  weft.return\n}";
  };
  EXPECT_EQ(
      unverified(fusion("    %g = weft.gradient %x wrt %x : T<f32>, T<f32>\n    weft.yield %g : T<f32>\n"),
                 one),
      "'weft.gradient' op cannot be interpreted inside a fusion");
  EXPECT_EQ(unverified(fusion("    %g = weft.neg %x : T<f32>\n"), one),
            "'weft.fusion' op does not end in weft.yield");
}

//===----------------------------------------------------------------------===//
// Derivatives that do not exist
//===----------------------------------------------------------------------===//

/// The error of the derivative rule of the first op of @f, for all operands and `results` cotangents.
static std::string derivativeError(const std::string &text, std::vector<bool> cotangents) {
  Program program(text);
  mlir::Operation *op = &program.function().getBody().front().front();
  mlir::OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  llvm::SmallVector<mlir::Value> values;
  for (auto [i, given] : llvm::enumerate(cotangents))
    values.push_back(given ? op->getResult(static_cast<unsigned>(i)) : mlir::Value());
  llvm::SmallVector<bool> needs(op->getNumOperands(), true);
  VjpBuilder vjp(builder, op, values, needs);
  EXPECT_TRUE(mlir::failed(mlir::cast<DifferentiableOp>(op).buildVjp(vjp)));
  return program.said();
}

TEST(Derivatives, OpsThatHaveNone) {
  EXPECT_EQ(
      derivativeError("weft.func @f(%a: T<4x3xf32>, %t: T<4xi64>, %w: T<3xf32>) {\n"
                      "  %l, %s = weft.cross_entropy %a, %t weight %w, reduction = mean : T<4x3xf32>, "
                      "T<4xi64>, T<3xf32>\n  weft.return\n}",
                      {true, false}),
      "'weft.cross_entropy' op has no derivative with respect to its class weights (WEFT-G001); detach them");
  EXPECT_EQ(
      derivativeError("weft.func @f(%a: T<4x3xf32>, %b: T<3x2xf32>) {\n"
                      "  %r = weft.dot_general %a, %b, relu, contract = [1] x [0] : T<4x3xf32>, T<3x2xf32>\n"
                      "  weft.return\n}",
                      {true}),
      "'weft.dot_general' op has an epilogue, which is attached after differentiation: it has no derivative");
}
