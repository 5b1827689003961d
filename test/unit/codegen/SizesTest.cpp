//===- SizesTest.cpp - Kernels and plans of sizes that cannot be expressed --===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "codegen/KernelTargets.h"
#include "codegen/PlanWriter.h"
#include "codegen/emit/EmitKernel.h"
#include "runtime/plan/KernelSignature.h"

#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace weft;
using weft::testing::FusedProgram;

namespace {
constexpr const char *addsASize = R"(
  weft.func @main(%x: tensor<8xi64, #cpu>) -> tensor<8xi64, #cpu> {
    %n = weft.dim 3 : tensor<i64, #cpu>
    %f = weft.full %n, shape = [8] : tensor<i64, #cpu>
    %s = weft.add %x, %f : tensor<8xi64, #cpu>
    weft.return %s : tensor<8xi64, #cpu>
  })";
} // namespace

// No pass makes such an op, and its verifier refuses it; without the verifier, the later stages must report
// an error too.
TEST(Inexpressible, IsNoNumberOfAKernel) {
  FusedProgram program(addsASize, ir::FusionKind::loop);
  ASSERT_TRUE(program.valid());
  EXPECT_TRUE(codegen::emitKernel(program.fusion, "kernel", codegen::cpuKernels()).ok());
  program.fusion.walk([](ir::DimOp dim) { dim.setSize(ir::Size::inexpressible()); });
  auto kernel = codegen::emitKernel(program.fusion, "kernel", codegen::cpuKernels());
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.status().message().find("computes with a product of sizes that cannot be expressed"),
            std::string::npos)
      << kernel.status().message();
}

TEST(Inexpressible, IsNoSizeOfAPlan) {
  FusedProgram program(addsASize, ir::FusionKind::loop);
  ASSERT_TRUE(program.valid());
  // An integer of the range that expressions are represented in.
  program.function->setAttr(ir::attr::arenaBytes,
                            Builder(program.function.getContext()).getI64IntegerAttr(-(int64_t(1) << 62)));
  program.function.getBody().front().getTerminator()->setOperands(program.function.getArguments());
  program.fusion.erase();
  runtime::KernelSigner signer;
  auto plan = codegen::writePlan(program.function, "cpu", llvm::DenseMap<Operation *, std::string>(), signer,
                                 codegen::OwnKernels());
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.status().message().find("the plan of 'main' has a size that cannot be expressed"),
            std::string::npos)
      << plan.status().message();
}
