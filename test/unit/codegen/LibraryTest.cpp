//===- LibraryTest.cpp - A library of contractions that is asked ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/Compile.h"
#include "codegen/HostLibrary.h"

#include "ir/Contraction.h"
#include "ir/ImplicitGemm.h"
#include "ir/TargetDescription.h"
#include "runtime/execution/Executable.h"
#include "runtime/gemm/Contraction.h"
#include "runtime/gemm/ConvolutionTask.h"
#include "runtime/plan/plan_generated.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <mutex>

using namespace mlir;

namespace weft::testing {
namespace {

constexpr const char *residualBlock = R"(#cpu = #weft.device<cpu>
weft.func @main(%x: tensor<64x96xf32, #cpu>, %w: tensor<96x128xf32, #cpu>, %b: tensor<128xf32, #cpu>,
                %r: tensor<64x128xf32, #cpu>) -> tensor<64x128xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<64x128xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<64x96xf32, #cpu>, tensor<96x128xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<128xf32, #cpu> -> tensor<64x128xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<64x128xf32, #cpu>
  %3 = weft.add %2, %r : tensor<64x128xf32, #cpu>
  %4 = weft.max %3, %z : tensor<64x128xf32, #cpu>
  weft.return %4 : tensor<64x128xf32, #cpu>
})";

/// A library whose answers are set by the test, and which records the questions.
class FakeLibrary final : public ir::ContractionLibrary {
public:
  explicit FakeLibrary(ir::ContractionAnswer answer) : answer(std::move(answer)) {}
  ir::ContractionAnswer ask(const ir::ContractionSignature &signature) const override {
    const std::lock_guard lock(mutex);
    questions.push_back(signature);
    return answer;
  }
  ir::ContractionAnswer answer;
  mutable std::mutex mutex;
  mutable std::vector<ir::ContractionSignature> questions;
};

struct Compiled {
  std::string text;
  std::vector<std::byte> package;
  fb::ContractionLaunchT contraction;
  size_t launches = 0;
  std::vector<float> result;
};

Compiled compile(const ir::ContractionLibrary *library) {
  Compiled made;
  MLIRContext context;
  DialectRegistry registry;
  ir::registerDialect(registry);
  context.appendDialectRegistry(registry);
  auto module = parseSourceString<ModuleOp>(residualBlock, &context);
  ir::CompilerOptions options;
  options.library = library;
  auto compiled = codegen::compileModule(*module, options);
  if (!compiled) {
    ADD_FAILURE() << compiled.status().message();
    return made;
  }
  llvm::raw_string_ostream(made.text) << *module;
  made.package = compiled->package;
  auto package = runtime::Package::from_memory(std::move(compiled->package)).value_or_throw();
  auto section = package->section("plan.main.cpu").value_or_throw();
  fb::PlanT plan;
  fb::GetPlan(section.data())->UnPackTo(&plan);
  made.launches = plan.launches.size();
  for (auto &launch : plan.launches)
    if (auto *product = launch->op.AsContractionLaunch())
      made.contraction = *product;
  auto executable = runtime::Executable::load(package, "main").value_or_throw();
  std::vector<std::shared_ptr<runtime::Buffer>> in, out(1);
  uint32_t state = 1;
  for (size_t count : {64 * 96, 96 * 128, 128, 64 * 128}) {
    in.push_back(runtime::Buffer::allocate(count * sizeof(float)).value_or_throw());
    for (size_t i = 0; i < count; ++i) {
      state = state * 1664525 + 1013904223;
      reinterpret_cast<float *>(in.back()->data())[i] =
          static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
    }
  }
  runtime::RunOptions run;
  run.mode = runtime::QueueMode::inlined;
  EXPECT_TRUE(executable->run(in, out, run).ok());
  EXPECT_TRUE(out[0]->wait().ok());
  const auto *values = reinterpret_cast<const float *>(out[0]->data());
  made.result.assign(values, values + 64 * 128);
  return made;
}

bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

TEST(Library, TheTableAndTheHostTakeTheWholeEpilogue) {
  ir::TableLibrary table(ir::cpuDescription());
  Compiled byTable = compile(&table), byHost = compile(nullptr);
  EXPECT_TRUE(contains(byTable.text, "bias %arg2, residual %arg3, relu")) << byTable.text;
  EXPECT_TRUE(contains(byHost.text, "bias %arg2, residual %arg3, relu")) << byHost.text;
  EXPECT_EQ(byTable.launches, 1u);
  EXPECT_EQ(byTable.contraction.library_flops, ir::cpuDescription().libraryLeastFlops);
  EXPECT_EQ(byTable.contraction.workspace_bytes,
            static_cast<uint64_t>(ir::cpuDescription().libraryWorkspaceBytes));
  // A plan leaves out the threshold if it is the default.
  EXPECT_EQ(runtime::ContractionChoice().library_flops, ir::cpuDescription().libraryLeastFlops);
  EXPECT_GE(byTable.contraction.residual, 0);
  EXPECT_EQ(byTable.result, byHost.result);
}

// An epilogue that the library refuses is a separate kernel, and the bits are the same.
TEST(Library, ARefusedEpilogueIsAKernel) {
  using enum ir::Epilogue;
  Compiled whole = compile(nullptr);
  ir::TableLibrary table(ir::cpuDescription());
  ir::ContractionAnswer answer = table.ask({DType::f32, 1, 64, 128, 96, {0, 96, 1}, {0, 128, 1}, false});
  for (const std::vector<ir::Epilogue> &taken :
       std::vector<std::vector<ir::Epilogue>>{{}, {bias}, {bias, residual}}) {
    answer.epilogues = taken;
    FakeLibrary fake(answer);
    Compiled parts = compile(&fake);
    ASSERT_EQ(fake.questions.size(), 1u);
    EXPECT_EQ(fake.questions[0].k, 96);
    EXPECT_EQ(fake.questions[0].layout(), ir::MatrixLayout::nn);
    EXPECT_EQ(parts.launches, 2u) << parts.text;
    EXPECT_TRUE(contains(parts.text, "WEFT-N003"));
    EXPECT_EQ(contains(parts.text, "bias %arg2"), !taken.empty());
    EXPECT_EQ(parts.contraction.bias >= 0, !taken.empty());
    EXPECT_EQ(parts.contraction.residual >= 0, taken.size() == 2);
    EXPECT_FALSE(parts.contraction.relu);
    EXPECT_EQ(parts.result, whole.result);
  }
}

// The granted epilogue and workspace are in the text and in the plan, and the runtime uses no more.
TEST(Library, AWorkspaceIsReserved) {
  FakeLibrary fake({"onednn", "", {}, 1000, 4096});
  Compiled made = compile(&fake);
  EXPECT_TRUE(
      contains(made.text, R"(#weft.library<"onednn", epilogues = [], least_flops = 1000, workspace = 4096>)"))
      << made.text;
  EXPECT_EQ(made.contraction.workspace_bytes, 4096u);
  EXPECT_EQ(made.contraction.library_flops, 1000);
  EXPECT_EQ(made.contraction.library, "onednn");
  FakeLibrary none(ir::ownAnswer("supports nothing"));
  Compiled own = compile(&none);
  EXPECT_TRUE(contains(own.text, "onednn supports nothing; a kernel of Weft computes it")) << own.text;
  EXPECT_EQ(own.contraction.library_flops, INT64_MAX);
  EXPECT_EQ(own.contraction.library, "weft");
  EXPECT_EQ(own.launches, 1u);
}

TEST(Library, TheSameQuestionsGiveTheSameBytes) {
  Compiled first = compile(nullptr), second = compile(nullptr);
  EXPECT_EQ(first.text, second.text);
  EXPECT_EQ(first.package, second.package);
}

constexpr const char *dynamicProduct = R"(#cpu = #weft.device<cpu>
#rows = #weft.device<cpu, [batch]>
weft.func @main(%x: tensor<?x96xf32, #rows>, %w: tensor<96x128xf32, #cpu>) -> tensor<?x128xf32, #rows>
    attributes {weft.symbols = [#weft.symbol<"batch", 1, 64>]} {
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<?x96xf32, #rows>, tensor<96x128xf32, #cpu>
  weft.return %0 : tensor<?x128xf32, #rows>
})";

// The plan has the answers of the library of another target or build, and loading finds the difference.
TEST(Library, APackageForALibraryThatIsNotHereIsRefused) {
  for (const char *program : {residualBlock, dynamicProduct})
    for (const char *library : {"other", "onednn"}) {
      MLIRContext context;
      DialectRegistry registry;
      ir::registerDialect(registry);
      context.appendDialectRegistry(registry);
      auto module = parseSourceString<ModuleOp>(program, &context);
      FakeLibrary fake({library, "", {}, 1000, 4096});
      ir::CompilerOptions options;
      options.library = &fake;
      auto compiled = codegen::compileModule(*module, options);
      ASSERT_TRUE(compiled.ok()) << compiled.status().message();
      auto package = runtime::Package::from_memory(std::move(compiled->package)).value_or_throw();
      auto executable = runtime::Executable::load(package, "main");
      EXPECT_EQ(executable.ok(), library == std::string("onednn"));
      if (executable)
        continue;
      EXPECT_EQ(executable.status().code(), "WEFT-L015");
      EXPECT_TRUE(contains(executable.status().message(), "launch 0 'matmul "))
          << executable.status().message();
      EXPECT_TRUE(contains(executable.status().message(), "is for the library 'other', and this runtime has "
                                                          "'onednn', and 'weft', a kernel of its own"))
          << executable.status().message();
    }
}

// The process's library answers within the table, and refuses by the table's rules too.
TEST(Library, TheHostAnswers) {
  const ir::ContractionLibrary &host = codegen::hostLibrary(ir::cpuDescription());
  ir::ContractionAnswer taken = host.ask({DType::f32, 1, 64, 128, 96, {0, 96, 1}, {0, 128, 1}, false});
  EXPECT_EQ(taken.library, "onednn");
  EXPECT_TRUE(taken.refusal.empty());
  EXPECT_TRUE(host.ask({DType::f64, 1, 64, 128, 96, {0, 96, 1}, {0, 128, 1}, false}).library.empty());
  EXPECT_TRUE(host.ask({DType::f32, 1, 2, 2, 2, {0, 2, 1}, {0, 2, 1}, false}).library.empty());
}

constexpr const char *convolutionProgram = R"(#cpu = #weft.device<cpu>
weft.func @main(%x: tensor<2x3x8x8xf32, #cpu>, %w: tensor<4x3x3x3xf32, #cpu>) -> tensor<2x4x8x8xf32, #cpu> {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<2x3x8x8xf32, #cpu>, tensor<4x3x3x3xf32, #cpu>
  weft.return %y : tensor<2x4x8x8xf32, #cpu>
})";

// A convolution is one launch where the library has it, and else a product of its windows, which says why.
/// Plans have the numbers of steps.
TEST(Library, StepsOfConvolutionsHaveTheNumbersOfTheRuntime) {
  EXPECT_EQ(std::ssize(ir::convolutionStepNames), runtime::convolutionSteps);
  const std::pair<ir::ConvolutionStep, runtime::ConvolutionStep> pairs[] = {
      {ir::ConvolutionStep::add, runtime::ConvolutionStep::add},
      {ir::ConvolutionStep::sub, runtime::ConvolutionStep::sub},
      {ir::ConvolutionStep::mul, runtime::ConvolutionStep::mul},
      {ir::ConvolutionStep::residual, runtime::ConvolutionStep::residual},
      {ir::ConvolutionStep::relu, runtime::ConvolutionStep::relu},
      {ir::ConvolutionStep::wide, runtime::ConvolutionStep::wide}};
  for (const auto &[written, read] : pairs)
    EXPECT_EQ(static_cast<int>(written), static_cast<int>(read));
}

TEST(Library, ConvolutionsAreAskedFor) {
  ir::TableLibrary table(ir::cpuDescription());
  FakeLibrary none(table.ask({DType::f32, 1, 64, 128, 96, {0, 96, 1}, {0, 128, 1}, false}));
  for (const ir::ContractionLibrary *library : {static_cast<const ir::ContractionLibrary *>(nullptr),
                                                static_cast<const ir::ContractionLibrary *>(&table),
                                                static_cast<const ir::ContractionLibrary *>(&none)}) {
    MLIRContext context;
    DialectRegistry registry;
    ir::registerDialect(registry);
    context.appendDialectRegistry(registry);
    auto module = parseSourceString<ModuleOp>(convolutionProgram, &context);
    ir::CompilerOptions options;
    options.library = library;
    options.report = true;
    auto compiled = codegen::compileModule(*module, options);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    EXPECT_EQ(contains(text, "weft.implicit_gemm"), library != &none) << text;
    EXPECT_EQ(contains(text, "weft.dot_general"), library == &none) << text;
    EXPECT_EQ(contains(text, "the library has no convolutions; it is several kernels"), library == &none)
        << text;
  }
  ir::ConvolutionSignature signature;
  signature.outputs = 4;
  EXPECT_TRUE(table.askConvolution(signature).refusal.empty());
  signature.dtype = DType::bf16;
  EXPECT_EQ(table.askConvolution(signature).refusal, "no launch of cpu computes a convolution of bf16");
}

} // namespace
} // namespace weft::testing
