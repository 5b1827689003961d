//===- Testing.h - Programs as text, run by the interpreter ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_PASSES_TESTING_H
#define WEFT_TEST_UNIT_PASSES_TESTING_H

#include "ir/Dialect.h"
#include "ir/Parse.h"
#include "ir/interp/Interpreter.h"
#include "passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <vector>

namespace weft::testing {

/// Replaces `@2x3@` by `tensor<2x3xf64, #cpu>`, and `@@` by `tensor<f64, #cpu>`.
inline std::string expandTypes(const std::string &text) {
  std::string out;
  size_t position = 0;
  while (true) {
    size_t open = text.find('@', position);
    // In a symbol such as `@f(`, the `@` stays.
    size_t close = open == std::string::npos ? open : text.find_first_not_of("0123456789x", open + 1);
    if (open == std::string::npos) {
      out += text.substr(position);
      return out;
    }
    out += text.substr(position, open - position);
    if (close == std::string::npos || text[close] != '@') {
      out += '@';
      position = open + 1;
      continue;
    }
    std::string shape = text.substr(open + 1, close - open - 1);
    out += "tensor<" + shape + (shape.empty() ? "" : "x") + "f64, #cpu>";
    position = close + 1;
  }
}

/// A shape in the form that `expandTypes` replaces, for example "@2x3@".
inline std::string typeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "@";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "x" : "") + std::to_string(shape[i]);
  return text + "@";
}

/// Dimensions as an attribute, for example "[0, 2]".
inline std::string listText(llvm::ArrayRef<int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

inline std::string prelude() { return "#cpu = #weft.device<cpu>\n#cuda0 = #weft.device<cuda:0>\n"; }

/// A module and its context. `messages` collects the diagnostics.
class Program {
public:
  explicit Program(const std::string &text) : context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    ir::registerDialect(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    auto parsed = ir::parseModule(context, expandTypes(prelude() + text), "test.mlir");
    if (parsed)
      module = std::move(*parsed);
    else
      messages = parsed.status().message();
  }

  bool run(std::unique_ptr<mlir::Pass> pass) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return mlir::success();
    });
    mlir::PassManager passes(&context);
    if (pass->getOpName() == mlir::ModuleOp::getOperationName())
      passes.addPass(std::move(pass));
    else
      passes.nest<ir::FuncOp>().addPass(std::move(pass));
    return mlir::succeeded(passes.run(*module));
  }

  ir::FuncOp function(llvm::StringRef name) { return module->lookupSymbol<ir::FuncOp>(name); }

  std::vector<ir::Literal> call(llvm::StringRef name, llvm::ArrayRef<ir::Literal> arguments) {
    auto results = ir::interpretFunction(function(name), arguments);
    if (mlir::failed(results))
      return {};
    return {results->begin(), results->end()};
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string messages;
};

inline ir::Literal literal(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values) {
  ir::Literal result(DType::f64, shape);
  for (size_t i = 0; i < values.size(); ++i)
    result.setReal(static_cast<int64_t>(i), values[i]);
  return result;
}

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_PASSES_TESTING_H
