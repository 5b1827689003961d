//===- ParseTest.cpp - Text to IR, and its bounds -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing.h"
#include "ir/TextGuard.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

using namespace weft;

namespace {

struct Parse : ::testing::Test {
  Parse() : context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    ir::registerDialect(registry);
    context.appendDialectRegistry(registry);
  }
  mlir::MLIRContext context;
};

TEST_F(Parse, ReadsAModule) {
  auto module = ir::parseModule(context, "weft.func @f() { weft.return }", "good.mlir");
  ASSERT_TRUE(module) << module.status().message();
  EXPECT_TRUE((*module)->lookupSymbol<ir::FuncOp>("f"));
}

// The message has the name, line and column, the line itself and the notes, and reaches no other handler.
TEST_F(Parse, SaysWhere) {
  unsigned leaked = 0;
  mlir::ScopedDiagnosticHandler outer(&context, [&](mlir::Diagnostic &) { ++leaked; });
  auto module =
      ir::parseModule(context, "weft.func @f() {\n  %0 = weft.nonsense\n  weft.return\n}", "bad.mlir");
  ASSERT_FALSE(module);
  std::string message = module.status().message();
  EXPECT_NE(message.find("bad.mlir:2:8: error:"), std::string::npos) << message;
  EXPECT_NE(message.find("%0 = weft.nonsense"), std::string::npos) << message;
  EXPECT_EQ(leaked, 0u);
}

TEST_F(Parse, RefusesDeepText) {
  auto module = ir::parseModule(context, std::string(200000, '('), "deep.mlir");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.status().message(),
            "deep.mlir:1:129: error: brackets are nested 129 deep here; at most 128 levels are read");
}

TEST_F(Parse, RefusesWhatTheVerifierRefuses) {
  auto module = ir::parseModule(context, "weft.func @f(%a: tensor<4xf32>) { weft.return }", "unplaced.mlir");
  ASSERT_FALSE(module);
  EXPECT_NE(module.status().message().find("takes and returns tensors with a device"), std::string::npos);
}

TEST(TextGuard, CountsWhatIsOpen) {
  ir::TextLimits limits;
  limits.depth = 2;
  EXPECT_FALSE(ir::findTextViolation("[[]] [[]] {<>}", limits));
  auto violation = ir::findTextViolation("a\n [[\n [", limits);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->line, 3);
  EXPECT_EQ(violation->column, 2);
  // Arrows and comparisons open and close nothing; closing brackets of another kind do not hide depth.
  EXPECT_FALSE(ir::findTextViolation("(a) -> (b) -> ((c)) d0 >= 1, d1 <= 2, d2 <= 3, d3 <= 4", limits));
  EXPECT_TRUE(ir::findTextViolation("[ ) [ ) [", limits));
}

TEST(TextGuard, BoundsBytesAndTokens) {
  ir::TextLimits limits;
  limits.bytes = 4;
  EXPECT_TRUE(ir::findTextViolation("12345", limits));
  EXPECT_FALSE(ir::findTextViolation("1234", limits));
  limits = {};
  limits.tokens = 3;
  EXPECT_TRUE(ir::findTextViolation("a, b c", limits));
  EXPECT_FALSE(ir::findTextViolation("a, b", limits));
}

TEST(TextGuard, BoundsDigitsAndRefusesSparse) {
  ir::TextLimits limits;
  limits.digits = 5;
  EXPECT_TRUE(ir::findTextViolation("= 123456", limits));
  EXPECT_FALSE(ir::findTextViolation("= 12345, abcdefgh", limits));
  EXPECT_TRUE(ir::findTextViolation("a = sparse<0, 1.0>"));
  EXPECT_TRUE(ir::findTextViolation("a = sparse // here\n <0, 1.0>"));
  EXPECT_FALSE(ir::findTextViolation("@sparse(%sparse) {sparse = 1}"));
  EXPECT_TRUE(ir::findTextViolation("a = array<i1: 1>"));
  EXPECT_TRUE(ir::findTextViolation("a = array\n< // here\n i1: 1>"));
  for (const char *text :
       {"array<!b: 1>", "array<ui1: 1>", "array<si1: 0>", "array<index: 1>", "array<i24: 1>",
        "array<i1: true, -1>", "array<\"i8\"", "array<%a>", "array<array<i8>>"})
    EXPECT_TRUE(ir::findTextViolation(text)) << text;
  EXPECT_FALSE(ir::findTextViolation("array<i16: 1>, tensor<i1>, array<i1: true, false>, array<i1>, 1"));
}

// Operations that MLIR's parser would free before their users if the text has an error after them.
TEST(TextGuard, ValuesAreDefinedOutsideOfTheRegionsThatUseThem) {
  const auto isRefused = [](const char *text) { return ir::findTextViolation(text).has_value(); };
  EXPECT_TRUE(isRefused("%0 = neg %a weft.fusion loop (%x) : () -> () {\n^bb0(%a: T): nothing }"));
  EXPECT_TRUE(isRefused("%0 = neg %q weft.func @f(%x: T) { %q = neg %x nothing }"));
  EXPECT_TRUE(isRefused("func @f() { return %q } func @g() { %p, %q:2 = two nothing }"));
  EXPECT_TRUE(isRefused("func @f(%q: T) { return } %0 = neg %q func @g() { %q = one }"));
  EXPECT_TRUE(isRefused("func @f(%q: T {a = 1}) attributes {b} { return %q } %0 = neg %q m ({ %q = one })"));
  EXPECT_TRUE(isRefused("%9 = weft.convert %1to f64 func @f() { %1 = one }"));
  EXPECT_TRUE(isRefused("weft.barrier %1 %0 = one func @f() { %1 = one }"));
  EXPECT_TRUE(isRefused("neg %1 func @f() { %1 // = here\n = one }"));
  EXPECT_TRUE(isRefused("\"f\"() ({ \"g\"(%a) : () -> () \"h\"() ({\n^bb0(%b: T, %a: T): nothing"));
  // In order, in the same region, or from inside of it.
  EXPECT_FALSE(isRefused("func @f(%a: T {a = 1}) attributes {b} { %q = neg %a return %q }"));
  EXPECT_FALSE(isRefused("func @f() { %0 = neg %q %q = one }"));
  EXPECT_FALSE(isRefused("func @f() { fusion () { neg %q } %q = one }"));
  EXPECT_FALSE(isRefused("func @f(%a: T) { return %a } func @g(%a: T) { return %a }"));
  EXPECT_FALSE(isRefused("func @f() { %a, %b:2 = two add %a, %b#1 } func @g() { %a = one }"));
  EXPECT_FALSE(isRefused("func @f() { %a // the sum\n = one neg %a } func @g() { %a = one }"));
  EXPECT_FALSE(isRefused("func @f(%x // input\n : T) { neg %x } func @g() { %x = one }"));
  EXPECT_FALSE(isRefused("func @f() { neg %a %a = one } func @g() { %a = one }"));
  EXPECT_FALSE(isRefused("%a, %b, %"));
  auto violation = ir::findTextViolation("module {\n  neg %q\n  func @f() { %q = one } }");
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->line, 2);
  EXPECT_EQ(violation->column, 7);
  EXPECT_EQ(violation->message, "the value %q is used here, and defined further down in another region");
}

// Sparse constants come from no text; a program that makes one gets an error.
TEST_F(Parse, ConstantsAreDense) {
  context.loadAllAvailableDialects();
  mlir::OpBuilder builder(&context);
  auto type = mlir::RankedTensorType::get({4}, builder.getF32Type(),
                                          ir::DeviceAttr::get(&context, ir::DeviceKind::cpu, 0));
  auto indices = mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({1, 1}, builder.getI64Type()),
                                              llvm::ArrayRef<int64_t>{0});
  auto values = mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({1}, builder.getF32Type()), 1.0f);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto constant = builder.create<ir::ConstantOp>(
      builder.getUnknownLoc(), type,
      mlir::cast<mlir::ElementsAttr>(mlir::SparseElementsAttr::get(type, indices, values)));
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) { message += diagnostic.str(); });
  EXPECT_TRUE(mlir::failed(mlir::verify(constant)));
  EXPECT_NE(message.find("needs its values as dense<..> or dense_resource<..>"), std::string::npos)
      << message;
}

TEST(TextGuard, UnendedTextEnds) {
  for (const char *text : {"\"", "\"\\", "//", "#", "!", "-", "=", "<", "#a =", ""})
    EXPECT_FALSE(ir::findTextViolation(text)) << text;
}

} // namespace
