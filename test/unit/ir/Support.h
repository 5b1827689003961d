//===- Support.h - Programs as text for the tests of ir/ -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_IR_SUPPORT_H
#define WEFT_TEST_UNIT_IR_SUPPORT_H

#include "ir/interp/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <limits>
#include <regex>

namespace weft::ir::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double NaN = // NOLINT(readability-identifier-naming): as it is written
    std::numeric_limits<double>::quiet_NaN();

/// Floating-point and integer tensors. A value outside of the dtype is rounded or wrapped.
inline Literal reals(DType dtype, std::vector<int64_t> shape, std::vector<double> values) {
  Literal literal(dtype, shape);
  EXPECT_EQ(static_cast<size_t>(literal.count()), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    literal.setReal(static_cast<int64_t>(i), values[i]);
  return literal;
}
inline Literal wholes(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> values) {
  Literal literal(dtype, shape);
  EXPECT_EQ(static_cast<size_t>(literal.count()), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    literal.setWhole(static_cast<int64_t>(i), values[i]);
  return literal;
}

/// A module from text, in which `T<4xf32>` stands for `tensor<4xf32, #weft.device<cpu>>`, and its
/// diagnostics.
class Program {
public:
  explicit Program(std::string text, bool verify = true)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) { messages.push_back(diagnostic.str()); }) {
    mlir::DialectRegistry registry;
    registerDialect(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<WeftDialect>();
    text = std::regex_replace(text, std::regex("T<([^<>]*)>"), "tensor<$1, #cpu>");
    mlir::ParserConfig config(&context, verify);
    module = mlir::parseSourceString<mlir::ModuleOp>("#cpu = #weft.device<cpu>\n" + text, config);
    EXPECT_TRUE(module) << text << "\n" << said();
  }

  FuncOp function(llvm::StringRef name = "f") { return module->lookupSymbol<FuncOp>(name); }

  /// The results of @f, or none if it failed.
  llvm::SmallVector<Literal> run(llvm::ArrayRef<Literal> arguments = {}) {
    auto results = interpretFunction(function(), arguments, options);
    return mlir::succeeded(results) ? std::move(*results) : llvm::SmallVector<Literal>();
  }

  std::string said() const { return llvm::join(messages, "\n"); }

  mlir::MLIRContext context;
  std::vector<std::string> messages;
  mlir::ScopedDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  InterpreterOptions options;
};

/// The text of a function of one op, whose operands are %a, %b, .. in the order of `arguments`.
inline std::string functionOf(const std::string &op, const std::vector<std::string> &results,
                              llvm::ArrayRef<Literal> arguments) {
  std::string parameters, values, types = llvm::join(results, ", ");
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    parameters += (i ? ", %" : "%") + std::string(1, static_cast<char>('a' + i)) + ": T<";
    for (int64_t size : argument.shape)
      parameters += std::to_string(size) + "x";
    parameters += std::string(name(argument.dtype)) + ">";
  }
  for (size_t i = 0; i < results.size(); ++i)
    values += (i ? ", %r#" : "%r#") + std::to_string(i);
  return "weft.func @f(" + parameters + ") -> (" + types + ") {\n  %r:" + std::to_string(results.size()) +
         " = " + op + "\n  weft.return " + values + " : " + types + "\n}\n";
}

/// The results of one op.
inline llvm::SmallVector<Literal> evaluate(const std::string &op, const std::vector<std::string> &results,
                                           llvm::ArrayRef<Literal> arguments) {
  Program program(functionOf(op, results, arguments));
  auto values = program.run(arguments);
  EXPECT_EQ(values.size(), results.size()) << op << "\n" << program.said();
  values.resize(results.size());
  return values;
}
inline Literal evaluate(const std::string &op, const std::string &result, llvm::ArrayRef<Literal> arguments) {
  return evaluate(op, std::vector{result}, arguments)[0];
}

/// The diagnostics of an op with these operands.
inline std::string errorOf(const std::string &op, const std::vector<std::string> &results,
                           llvm::ArrayRef<Literal> arguments) {
  Program program(functionOf(op, results, arguments));
  EXPECT_TRUE(program.run(arguments).empty());
  return program.said();
}

/// Whether two numbers are equal. NaN equals NaN, and zeros of different sign are different.
inline bool sameReal(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}
inline void expectReals(const Literal &literal, const std::vector<double> &expected) {
  ASSERT_EQ(literal.real.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(sameReal(literal.real[i], expected[i]))
        << "element " << i << " is " << literal.real[i] << ", expected " << expected[i];
}
inline void expectNear(const Literal &literal, const std::vector<double> &expected, double tolerance) {
  ASSERT_EQ(literal.real.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(literal.real[i], expected[i], tolerance) << "element " << i;
}
inline void expectWholes(const Literal &literal, const std::vector<int64_t> &expected) {
  EXPECT_EQ(literal.whole, expected);
}

} // namespace weft::ir::test

#endif // WEFT_TEST_UNIT_IR_SUPPORT_H
