//===- DeviceProgram.h - Programs whose devices stay apart ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_DEVICEPROGRAM_H
#define WEFT_TEST_UNIT_CODEGEN_DEVICEPROGRAM_H

#include "codegen/Compile.h"

#include "SeparateDevice.h"
#include "ir/Specialize.h"
#include "ir/interp/Interpreter.h"
#include "runtime/execution/Executable.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

namespace weft::testing {

inline const std::string aliases =
    "#cpu = #weft.device<cpu>\n#gpu = #weft.device<cuda:0>\n#next = #weft.device<cuda:1>\n";

/// A program whose devices stay apart, with kernels of the host for each.
class DeviceProgram {
public:
  explicit DeviceProgram(const std::string &text) {
    mlir::DialectRegistry registry;
    ir::registerDialect(registry);
    context.appendDialectRegistry(registry);
    reference = mlir::parseSourceString<mlir::ModuleOp>(aliases + text, &context);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(aliases + text, &context);
    if (!module) {
      ADD_FAILURE() << "cannot parse\n" << text;
      return;
    }
    ir::CompilerOptions options;
    options.target = "cpu+host";
    auto compiled = codegen::compileModule(*module, options);
    // The same program with every device on the host.
    auto again = mlir::parseSourceString<mlir::ModuleOp>(aliases + text, &context);
    auto together = codegen::compileModule(*again);
    if (!compiled || !together) {
      ADD_FAILURE() << compiled.status().message() << together.status().message();
      return;
    }
    package = runtime::Package::from_memory(std::move(compiled->package)).value_or_throw();
    hostPackage = runtime::Package::from_memory(std::move(together->package)).value_or_throw();
  }

  ir::FuncOp function() { return *reference->getOps<ir::FuncOp>().begin(); }
  runtime::DeviceMap map() { return {{"cuda:0", &device}, {"cuda:1", &next}}; }
  std::shared_ptr<runtime::Executable> load() {
    auto loaded = runtime::Executable::load(package, "main", nullptr, map());
    EXPECT_TRUE(loaded) << loaded.status().message();
    return loaded ? *loaded : nullptr;
  }

  runtime::Device &deviceOf(const runtime::TensorInfo &type) {
    if (type.device == "cuda:0")
      return device;
    if (type.device == "cuda:1")
      return next;
    return runtime::host_device();
  }

  std::vector<ir::Literal> randomArguments(uint64_t seed, llvm::ArrayRef<std::vector<int64_t>> shapes = {}) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> real(-1, 1);
    std::vector<ir::Literal> arguments;
    for (auto [i, type] : llvm::enumerate(function().getArgumentTypes())) {
      ir::Literal made(ir::dtypeOf(type), shapes.empty() ? llvm::cast<mlir::RankedTensorType>(type).getShape()
                                                         : llvm::ArrayRef<int64_t>(shapes[i]));
      for (int64_t j = 0; j < made.count(); ++j)
        if (made.isReal())
          made.setReal(j, real(random));
        else
          made.setWhole(j, static_cast<int64_t>(random() % 4));
      arguments.push_back(std::move(made));
    }
    return arguments;
  }

  std::shared_ptr<runtime::Buffer> upload(const ir::Literal &value, runtime::Device &to) {
    std::vector<std::byte> bytes(static_cast<size_t>(value.count()) * itemsize(value.dtype));
    value.toBytes(bytes.data());
    auto buffer = runtime::Buffer::allocate(bytes.size(), 0, to).value_or_throw();
    EXPECT_TRUE(buffer->write(0, bytes).ok());
    return buffer;
  }

  static ir::Literal download(const runtime::Buffer &buffer, DType dtype, llvm::ArrayRef<int64_t> shape) {
    std::vector<std::byte> bytes(buffer.bytes());
    EXPECT_TRUE(buffer.read(0, bytes).ok());
    return ir::Literal::fromBytes(dtype, shape, bytes.data());
  }

  /// The arguments as buffers on their devices, kept in `buffers`.
  Status run(runtime::Executable &executable, const std::vector<ir::Literal> &arguments,
             runtime::QueueMode mode = runtime::QueueMode::inlined) {
    buffers.clear();
    for (size_t i = 0; i < arguments.size(); ++i)
      buffers.push_back(upload(arguments[i], deviceOf(executable.signature().arguments[i].type)));
    results.assign(executable.signature().results.size(), nullptr);
    if (Status status = executable.run(buffers, results, {nullptr, mode}); !status)
      return status;
    for (const auto &result : results)
      if (Status status = result->wait(); !status)
        return status;
    return {};
  }

  /// Expects the bits of the program on the host alone, and values close to those of the interpreter.
  void expectAsOnTheHost(const std::vector<ir::Literal> &arguments, runtime::QueueMode mode,
                         llvm::ArrayRef<int64_t> sizes = {}) {
    auto host = runtime::Executable::load(hostPackage, "main").value_or_throw()->at(sizes).value_or_throw();
    auto apart = load()->at(sizes).value_or_throw();
    std::vector<std::shared_ptr<runtime::Buffer>> taken, expected(host->signature().results.size());
    for (const ir::Literal &argument : arguments)
      taken.push_back(upload(argument, runtime::host_device()));
    ASSERT_TRUE(host->run(taken, expected, {nullptr, runtime::QueueMode::inlined}).ok());
    Status status = run(*apart, arguments, mode);
    ASSERT_TRUE(status.ok()) << status.message();
    mlir::OwningOpRef<mlir::ModuleOp> fixed = reference->clone();
    if (!sizes.empty())
      ASSERT_TRUE(mlir::succeeded(ir::specialize(*fixed, {{"n", sizes[0]}})));
    auto interpreted = ir::interpretFunction(*fixed->getOps<ir::FuncOp>().begin(), arguments);
    ASSERT_TRUE(mlir::succeeded(interpreted));
    for (size_t i = 0; i < expected.size(); ++i) {
      const runtime::TensorInfo &type = apart->signature().results[i].type;
      EXPECT_EQ(&results[i]->device(), &deviceOf(type));
      std::vector<std::byte> found(results[i]->bytes()), wanted(expected[i]->bytes());
      ASSERT_TRUE(results[i]->read(0, found).ok() && expected[i]->read(0, wanted).ok());
      EXPECT_EQ(found, wanted) << "result " << i;
      const ir::Literal &real = (*interpreted)[i];
      for (int64_t j = 0; j < real.count() && real.isReal(); ++j) {
        const auto at = static_cast<size_t>(j);
        EXPECT_NEAR(download(*results[i], real.dtype, real.shape).real[at], real.real[at],
                    1e-3 * (1 + std::abs(real.real[at])));
      }
    }
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> reference;
  std::shared_ptr<const runtime::Package> package, hostPackage;
  SeparateDevice &device = SeparateDevice::get(0), &next = SeparateDevice::get(1);
  std::vector<std::shared_ptr<runtime::Buffer>> buffers, results;
};

inline constexpr runtime::QueueMode modes[] = {runtime::QueueMode::inlined, runtime::QueueMode::async};

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_DEVICEPROGRAM_H
