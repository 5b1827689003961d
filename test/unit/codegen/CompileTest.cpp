//===- CompileTest.cpp - From a module to a package that runs --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/Compile.h"

#include "ExecuteHarness.h"
#include "ir/interp/Interpreter.h"
#include "runtime/execution/Executable.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;

namespace weft::testing {
namespace {

class CompiledProgram {
public:
  explicit CompiledProgram(const std::string &text) {
    DialectRegistry registry;
    ir::registerDialect(registry);
    context.appendDialectRegistry(registry);
    reference = parseSourceString<ModuleOp>("#cpu = #weft.device<cpu>\n" + text, &context);
    module = parseSourceString<ModuleOp>("#cpu = #weft.device<cpu>\n" + text, &context);
    if (!module) {
      ADD_FAILURE() << "cannot parse\n" << text;
      return;
    }
    auto compiled = codegen::compileModule(*module);
    if (!compiled) {
      ADD_FAILURE() << compiled.status().message();
      return;
    }
    report = compiled->report;
    auto package = runtime::Package::from_memory(std::move(compiled->package));
    if (!package) {
      ADD_FAILURE() << package.status().message();
      return;
    }
    auto loaded = runtime::Executable::load(*package, "main");
    if (!loaded)
      ADD_FAILURE() << loaded.status().message();
    else
      executable = *loaded;
  }

  ir::FuncOp function() { return *reference->getOps<ir::FuncOp>().begin(); }

  std::vector<ir::Literal> randomArguments(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> real(-1, 1);
    std::vector<ir::Literal> arguments;
    for (Type type : function().getArgumentTypes()) {
      ir::Literal literal(cast<RankedTensorType>(type));
      for (int64_t i = 0, e = literal.count(); i < e; ++i)
        if (literal.isReal())
          literal.setReal(i, real(random));
        else
          literal.setWhole(i, static_cast<int64_t>(random() % 8));
      arguments.push_back(std::move(literal));
    }
    return arguments;
  }

  Expected<std::vector<ir::Literal>> run(const std::vector<ir::Literal> &arguments) {
    std::vector<std::shared_ptr<runtime::Buffer>> in, out(executable->signature().results.size());
    for (const ir::Literal &argument : arguments) {
      auto buffer =
          runtime::Buffer::allocate(static_cast<size_t>(argument.count()) * itemsize(argument.dtype));
      if (!buffer)
        return buffer.status();
      argument.toBytes((*buffer)->data());
      in.push_back(*buffer);
    }
    runtime::RunOptions options;
    options.mode = runtime::QueueMode::inlined;
    if (Status status = executable->run(in, out, options); !status)
      return status;
    std::vector<ir::Literal> results;
    for (auto [i, buffer] : llvm::enumerate(out)) {
      if (Status status = buffer->wait(); !status)
        return status;
      const auto &type = executable->signature().results[i].type;
      results.push_back(ir::Literal::fromBytes(type.dtype, type.shape, buffer->data()));
    }
    return results;
  }

  void expectClose(double units, double floor) {
    ASSERT_TRUE(executable);
    auto arguments = randomArguments(4);
    auto expected = ir::interpretFunction(function(), arguments);
    ASSERT_TRUE(succeeded(expected));
    auto found = run(arguments);
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found->size(), expected->size());
    for (size_t i = 0; i < found->size(); ++i)
      EXPECT_LE(distance((*expected)[i], (*found)[i], floor), units) << "result " << i << "\n"
                                                                     << report.str();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> reference, module;
  codegen::CompileReport report;
  std::shared_ptr<runtime::Executable> executable;
};

TEST(Compile, SoftmaxOfAnAffineMap) {
  CompiledProgram program(
      R"(weft.func @main(%x: tensor<40x30xf32, #cpu>, %w: tensor<30x50xf32, #cpu>, %b: tensor<50xf32, #cpu>)
      -> tensor<40x50xf32, #cpu> {
    %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<40x30xf32, #cpu>, tensor<30x50xf32, #cpu>
    %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<50xf32, #cpu> -> tensor<40x50xf32, #cpu>
    %2 = weft.add %0, %1 : tensor<40x50xf32, #cpu>
    %3 = weft.softmax %2, dim = 1 : tensor<40x50xf32, #cpu>
    weft.return %3 : tensor<40x50xf32, #cpu>
  })");
  program.expectClose(64, 0.02);
  EXPECT_EQ(program.executable->launch_count(), 2u) << program.report.str();
}

TEST(Compile, EqualKernelsAreMadeOnce) {
  CompiledProgram program(R"(weft.func @main(%x: tensor<20x20xf32, #cpu>) -> tensor<20x20xf32, #cpu> {
    %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<20x20xf32, #cpu>, tensor<20x20xf32, #cpu>
    %1 = weft.tanh %0 : tensor<20x20xf32, #cpu>
    %2 = weft.dot_general %1, %x, contract = [1] x [0] : tensor<20x20xf32, #cpu>, tensor<20x20xf32, #cpu>
    %3 = weft.tanh %2 : tensor<20x20xf32, #cpu>
    weft.return %3 : tensor<20x20xf32, #cpu>
  })");
  program.expectClose(256, 0.1);
  ASSERT_EQ(program.report.kernels.size(), 1u) << program.report.str();
  EXPECT_EQ(program.report.kernels[0].launches, 2u);
}

/// Adam over this many tensors of different sizes; all but the gradients are updated in place.
std::string adamOver(int tensors, const std::string &name) {
  std::string arguments, types, steps, values;
  for (int i = 0; i < tensors; ++i) {
    const std::string n = std::to_string(i),
                      type = "tensor<" + std::to_string(1 + 37 * i % 101) + "xf32, #cpu>";
    for (const char *tensor : {"p", "m", "v"})
      arguments += "%" + (tensor + n) + ": " + type + " {weft.donated}, ";
    arguments += "%g" + n + ": " + type + ", ";
    for (int part = 0; part < 3; ++part) {
      values += (values.empty() ? "%r" : ", %r") + n + "#" + std::to_string(part);
      types += (types.empty() ? "" : ", ") + type;
    }
    steps += "%r" + n + ":3 = weft.adam_step(%p" + n + ", %g" + n + ", m %m" + n + ", v %v" + n +
             ", step %t, lr %l, betas %b, %c, eps %e, decay %d) : " + type + ", " + type + ", " + type +
             ", " + type + ", tensor<i64, #cpu>, tensor<f64, #cpu>\n";
  }
  std::string tied;
  for (int i = 0; i < 3 * tensors; ++i) {
    const std::string type = "tensor<" + std::to_string(1 + 37 * (i / 3) % 101) + "xf32, #cpu>";
    tied += (tied.empty() ? "" : ", ") + type + " {weft.tied = " + std::to_string(i / 3 * 4 + i % 3) + "}";
  }
  return "weft.func @" + name + "(" + arguments +
         "%t: tensor<i64, #cpu>, %l: tensor<f64, #cpu>, %b: tensor<f64, #cpu>, %c: tensor<f64, #cpu>, "
         "%e: tensor<f64, #cpu>, %d: tensor<f64, #cpu>) -> (" +
         tied + ") {\n" + steps + "weft.return " + values + " : " + types + "\n}\n";
}

TEST(Compile, StepsOverAnyNumberOfTensorsAreOneKernel) {
  CompiledProgram program(adamOver(3, "main") + adamOver(300, "many"));
  ASSERT_TRUE(program.executable);
  auto arguments = program.randomArguments(4);
  for (ir::Literal &argument : arguments)
    for (double &value : argument.real)
      value = std::fabs(value);
  const double numbers[] = {0.01, 0.9, 0.999, 1e-8, 0.1};
  for (size_t i = 0; i < std::size(numbers); ++i)
    arguments[arguments.size() - std::size(numbers) + i].setReal(0, numbers[i]);
  auto expected = ir::interpretFunction(program.function(), arguments);
  ASSERT_TRUE(succeeded(expected));
  auto found = program.run(arguments);
  ASSERT_TRUE(found.ok()) << found.status().message();
  for (size_t i = 0; i < found->size(); ++i)
    EXPECT_LE(distance((*expected)[i], (*found)[i], 0.1), 4) << "result " << i;
  EXPECT_EQ(program.executable->launch_count(), 1u) << program.report.str();
  ASSERT_EQ(program.report.kernels.size(), 1u) << program.report.str();
  EXPECT_EQ(program.report.kernels[0].launches, 2u);
  // So that a model with other layers compiles no kernel for its steps.
  const CompiledProgram other(adamOver(77, "main"));
  EXPECT_EQ(other.report.kernelsCompiled, 0u) << other.report.str();
}

TEST(Compile, AnIndexOutOfRangeIsAnErrorOfTheCall) {
  CompiledProgram program(
      R"(weft.func @main(%t: tensor<8x16xf32, #cpu>, %i: tensor<5xi64, #cpu>) -> tensor<5x16xf32, #cpu> {
    %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8x16xf32, #cpu>, tensor<5xi64, #cpu>
    weft.return %0 : tensor<5x16xf32, #cpu>
  })");
  program.expectClose(0, 1e-30);
  auto arguments = program.randomArguments(1);
  arguments[1].setWhole(3, 12);
  auto found = program.run(arguments);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("index 12 is out of bounds for dimension 0 with size 8"),
            std::string::npos)
      << found.status().message();
  EXPECT_NE(found.status().message().find("position 3"), std::string::npos) << found.status().message();
}

TEST(Compile, AnUnknownProcessorIsAnError) {
  MLIRContext context;
  DialectRegistry registry;
  ir::registerDialect(registry);
  context.appendDialectRegistry(registry);
  auto module = parseSourceString<ModuleOp>("weft.func @main() { weft.return }", &context);
  ir::CompilerOptions options;
  options.levels = {"x86-64-v3", "x86-64-v5"};
  auto compiled = codegen::compileModule(*module, options);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.status().message(), "kernels are made for x86-64-v3 and x86-64-v4, found 'x86-64-v5'");
}

TEST(Compile, AnErrorOfAPassHasItsCode) {
  MLIRContext context;
  DialectRegistry registry;
  ir::registerDialect(registry);
  context.appendDialectRegistry(registry);
  auto module = parseSourceString<ModuleOp>(
      R"(weft.func @main(%x: tensor<1xf64, #weft.device<cpu>> {weft.role = "scalar"}) { weft.return })",
      &context);
  const Status status = codegen::runPipeline(*module);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), "WEFT-P003") << status.message();
}

TEST(Compile, CrossEntropyAndItsGradient) {
  CompiledProgram program(R"(weft.func @main(%x: tensor<33x10xf32, #cpu>, %t: tensor<33xi64, #cpu>)
      -> (tensor<f32, #cpu>, tensor<33x10xf32, #cpu>) {
    %loss, %lse = weft.cross_entropy %x, %t, reduction = mean : tensor<33x10xf32, #cpu>, tensor<33xi64, #cpu>
    %g = weft.gradient %loss wrt %x : tensor<f32, #cpu>, tensor<33x10xf32, #cpu>
    weft.return %loss, %g : tensor<f32, #cpu>, tensor<33x10xf32, #cpu>
  })");
  ASSERT_TRUE(program.executable);
  auto arguments = program.randomArguments(6);
  auto found = program.run(arguments);
  ASSERT_TRUE(found.ok()) << found.status().message();
  // The gradient of each row sums to zero; the loss is the mean of lse - logit.
  double loss = 0;
  for (int64_t r = 0; r < 33; ++r) {
    double total = 0, sum = 0;
    for (int64_t c = 0; c < 10; ++c) {
      total += std::exp(arguments[0].real[r * 10 + c]);
      sum += (*found)[1].real[r * 10 + c];
    }
    EXPECT_NEAR(sum, 0, 1e-6);
    loss += (std::log(total) - arguments[0].real[r * 10 + arguments[1].whole[r]]) / 33;
  }
  EXPECT_NEAR((*found)[0].real[0], loss, 1e-5);
}

} // namespace
} // namespace weft::testing
