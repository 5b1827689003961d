//===- SelfTest.cpp - That wrong kernels are found ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusions of every kind run on the engine, in race mode, and agree with the CPU; and what is wrong with a
// launch is found: a bit, a bound, an element that nothing writes, an order of blocks that matters, a write
// to what is only read.
//
//===----------------------------------------------------------------------===//
#include "CheckKernels.h"
#include "CompileTogether.h"
#include "EngineDevice.h"
#include "MachineCode.h"

#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/Nvrtc.h"
#include "ir/Parse.h"
#include "test/random/Generator.h"
#include "test/unit/codegen/FusionCases.h"

#include "gtest/gtest.h"

#include <regex>

using namespace mlir;
namespace weft::cudasim {
namespace {

const std::string aliases = "#cpu = #weft.device<cpu>\n#n = #weft.device<cpu, [n]>\n";

class AllKernels : public ::testing::Test {
protected:
  AllKernels() : context(dialects(), MLIRContext::Threading::DISABLED) {}
  void SetUp() override {
    if (auto nvrtc = codegen::Nvrtc::get(); !nvrtc)
      GTEST_SKIP() << nvrtc.status().message();
  }
  static DialectRegistry dialects() {
    DialectRegistry registry;
    ir::registerDialect(registry);
    return registry;
  }
  OwningOpRef<ModuleOp> parse(const std::string &text, bool special = false) {
    auto module = ir::parseModule(context, aliases + text, "case");
    EXPECT_TRUE(module) << module.status().message();
    if (!module)
      return {};
    nameArguments(**module, special);
    return std::move(*module);
  }

  MLIRContext context;
};

class Kernels : public AllKernels, public ::testing::WithParamInterface<testing::FusionCase> {};

std::string textOf(const std::optional<randomtest::Failure> &failure) {
  return failure ? failure->stage + ": " + failure->message : std::string();
}

} // namespace

TEST_P(Kernels, AgreeWithTheCpu) {
  for (bool special : {false, true}) {
    OwningOpRef<ModuleOp> module = parse(GetParam().text, special);
    ASSERT_TRUE(module);
    CheckOptions options;
    options.raceEvery = 1;
    KernelChecker checker(options);
    EXPECT_EQ(textOf(checker.check(*module, 3 + special)), "");
    EXPECT_EQ(checker.counts().calls, 1u);
    EXPECT_EQ(checker.counts().failing, 0u);
  }
}

// The numbers of instructions are documented nowhere.
TEST(KernelReports, LocalMemoryIsWhatNvdisasmShows) {
  auto nvrtc = codegen::Nvrtc::get();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.status().message();
  // Arrays at places that are data are in local memory, of every width.
  const std::string local = R"(extern "C" __global__ void k(float *x, int n) {
  float a[37]; char c[50]; double d[9];
  for (int i = 0; i < n; ++i) a[i * 7 % 37] = x[i], c[i * 3 % 50] = (char)i, d[i % 9] = x[i] * 2;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i * n % 37] + c[i * n % 50] + (float)d[i * n % 9];
  x[0] = sum;
})";
  const std::string none = R"(extern "C" __global__ void k(float *x, int n) {
  __shared__ float a[64];
  a[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = a[n & 63] + atomicAdd(x + 64, a[1]);
})";
  for (const char *target : {"sm_80", "sm_90", "sm_100"})
    for (const std::string &text : {local, none}) {
      if (text == none && target != std::string("sm_90"))
        continue;
      SCOPED_TRACE(target);
      auto binary = (*nvrtc)->compile(text, "k", {std::string("--gpu-architecture=") + target});
      ASSERT_TRUE(binary) << binary.status().message();
      auto shown = codegen::disassemble(binary->cubin);
      ASSERT_TRUE(shown) << shown.status().message();
      const StringRef sass = *shown;
      const size_t expected = sass.count(" LDL") + sass.count(" STL");
      EXPECT_EQ(expected > 10, text == local) << *shown;
      auto found = countLocalAccesses(binary->cubin);
      ASSERT_TRUE(found) << found.status().message();
      EXPECT_EQ(*found, expected);
    }
  EXPECT_FALSE(countLocalAccesses("no CUBIN"));
}

TEST(KernelReports, SpilledRegistersAreAnError) {
  DeviceKernel kernel;
  kernel.symbol = "main.row.3";
  EXPECT_TRUE(checkSpills(kernel, "cuda:sm_80").ok());
  kernel.resources.spillLoadBytes = 12;
  EXPECT_EQ(checkSpills(kernel, "cuda:sm_80").message(),
            "kernel 'main.row.3' stores 0 and loads 12 bytes of spilled registers on cuda:sm_80");
  kernel.resources = {};
  kernel.resources.spillStoreBytes = 4;
  EXPECT_FALSE(checkSpills(kernel, "cuda:sm_80").ok());
}

/// The statements of PTX, without what differs with the text that a kernel comes from: lines, and the numbers
/// of functions and the lengths of names in names.
static std::vector<std::string> statementsOf(StringRef ptx) {
  static const std::regex comment("//.*"), label(R"(\$L__BB\d+_)"),
      space(R"(_ZN\d+_INTERNAL_[0-9a-f]+_9_kernel_cu_[0-9a-f]+(\d+w\d+)?)"), length(R"(_ZZ\d+weft_kernel)");
  std::vector<std::string> statements;
  SmallVector<StringRef> lines;
  ptx.split(lines, '\n');
  for (StringRef line : lines) {
    std::string text = std::regex_replace(line.str(), comment, "");
    text = std::regex_replace(std::regex_replace(text, label, "$L__BB_"), space, "");
    text = std::regex_replace(text, length, "_ZZweft_kernel");
    const StringRef trimmed = StringRef(text).trim();
    if (trimmed.starts_with(".section"))
      break; // names for a debugger, at the end
    if (!trimmed.empty() && !trimmed.starts_with(".loc") && !trimmed.starts_with(".file"))
      statements.push_back(trimmed.str());
  }
  return statements;
}

/// Kernels of many programs in one text have the registers, and the PTX, that each has by itself.
TEST_F(AllKernels, TogetherAreTheSame) {
  CudaOptions options;
  options.target = "cuda:sm_80";
  options.texts = true;
  Expected<CompiledTogether> together = CompiledTogether::make(options);
  ASSERT_TRUE(together) << together.status().message();
  std::vector<std::unique_ptr<CudaProgram>> alone;
  for (auto [number, each] : llvm::enumerate(testing::fusionCases())) {
    OwningOpRef<ModuleOp> module = parse(each.text), again = module->clone();
    auto program = compileForCuda(*module, options);
    ASSERT_TRUE(program) << each.name << ": " << program.status().message();
    alone.push_back(std::move(*program));
    ASSERT_TRUE(together->add(*again, number)) << each.name;
  }
  const Status compiled = together->compile();
  ASSERT_TRUE(compiled) << compiled.message();
  size_t kernels = 0;
  for (auto [number, program] : llvm::enumerate(alone)) {
    EXPECT_TRUE(together->of(number)) << together->of(number).message();
    EXPECT_EQ(together->kernelsOf(number), program->kernels.size());
    for (const auto &[symbol, kernel] : program->kernels) {
      const codegen::CudaResources &same = together->resources(kernel.text);
      EXPECT_EQ(same.registers, kernel.resources.registers) << symbol;
      EXPECT_EQ(same.sharedBytes, kernel.resources.sharedBytes) << symbol;
      EXPECT_EQ(same.stackBytes, kernel.resources.stackBytes) << symbol;
      const auto found = statementsOf(together->ptx(kernel.text)), expected = statementsOf(kernel.ptx);
      ASSERT_EQ(found.size(), expected.size()) << symbol;
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], expected[i]) << symbol;
      ++kernels;
    }
  }
  EXPECT_GE(kernels, testing::fusionCases().size());
}

TEST(KernelReports, TooManyRegistersForTheScheduleAreAnError) {
  const ir::TargetDescription device = *ir::findDescription("cuda:sm_80");
  DeviceKernel kernel;
  kernel.symbol = "main.row.3";
  kernel.threads = 512;
  kernel.resources.registers = 64;
  EXPECT_TRUE(checkRegisters(kernel, 2, device));
  EXPECT_EQ(checkRegisters(kernel, 3, device).message(),
            "kernel 'main.row.3' has 64 registers a thread, with which 2 blocks are resident on a "
            "multiprocessor of cuda:sm_80, and its schedule says 3");
  kernel.resources.spillStoreBytes = 4;
  EXPECT_FALSE(checkRegisters(kernel, 1, device));
}

TEST_P(Kernels, SpoiltLaunchesAreFound) {
  for (Spoil spoil : {Spoil::bit, Spoil::bound}) {
    OwningOpRef<ModuleOp> module = parse(GetParam().text);
    ASSERT_TRUE(module);
    CheckOptions options;
    options.raceEvery = 0;
    options.spoil = spoil;
    KernelChecker checker(options);
    const std::string found = textOf(checker.check(*module, 3));
    EXPECT_NE(found, "") << (spoil == Spoil::bit ? "bit" : "bound");
    if (spoil == Spoil::bound)
      EXPECT_NE(found.find("out of bounds"), std::string::npos) << found;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Kernels,
                         ::testing::ValuesIn(testing::fusionCases().begin(), testing::fusionCases().end()),
                         [](const auto &info) { return std::string(info.param.name); });

namespace {
class KernelPrograms : public Kernels {};
} // namespace

TEST_F(KernelPrograms, FailuresAreThoseOfTheCpu) {
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%x: tensor<300x7xf32, #cpu>, %i: tensor<900xi64, #cpu> {weft.name = "outside:1:300"}) -> tensor<900x7xf32, #cpu> {
      %0 = weft.gather %x, %i, dim = 0, kind = points : tensor<300x7xf32, #cpu>, tensor<900xi64, #cpu>
      weft.return %0 : tensor<900x7xf32, #cpu>
    })");
  ASSERT_TRUE(module);
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(checker.counts().failing, 1u);
}

TEST_F(KernelPrograms, WritesOfFewElementsHaveTheOrderOfTheCpu) {
  // Indices repeat, and sums of floats depend on their order.
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%x: tensor<100x24xf32, #cpu>, %rows: tensor<?x24xf32, #n>, %which: tensor<?xi64, #n> {weft.name = "index:1:100"},
                    %z: tensor<1000xf32, #cpu>, %where: tensor<400xi64, #cpu> {weft.name = "index:2:30"}, %what: tensor<400xf32, #cpu>,
                    %g: tensor<?x10xf32, #n>, %label: tensor<?x1xi64, #n> {weft.name = "index:3:10"}, %one: tensor<?x1xf32, #n>,
                    %h: tensor<5x40x3xf16, #cpu>, %few: tensor<77xi64, #cpu> {weft.name = "index:4:40"}, %v: tensor<5x77x3xf16, #cpu>)
        -> (tensor<100x24xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<?x10xf32, #n>, tensor<5x40x3xf16, #cpu>)
        attributes {weft.symbols = [#weft.symbol<"n", 0, 100000>]} {
      %0 = weft.index_update %x, %rows, %which, dim = 0 accumulate : tensor<100x24xf32, #cpu>, tensor<?x24xf32, #n>, tensor<?xi64, #n>
      %1 = weft.scatter %z, %where, %what, dim = 0, kind = add : tensor<1000xf32, #cpu>, tensor<400xi64, #cpu>, tensor<400xf32, #cpu>
      %2 = weft.scatter %g, %label, %one, dim = 1, kind = add : tensor<?x10xf32, #n>, tensor<?x1xi64, #n>, tensor<?x1xf32, #n>
      %3 = weft.index_update %h, %v, %few, dim = 1 accumulate : tensor<5x40x3xf16, #cpu>, tensor<5x77x3xf16, #cpu>, tensor<77xi64, #cpu>
      weft.return %0, %1, %2, %3 : tensor<100x24xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<?x10xf32, #n>, tensor<5x40x3xf16, #cpu>
    })");
  ASSERT_TRUE(module);
  CheckOptions options;
  options.raceEvery = 1;
  KernelChecker checker(options);
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(checker.counts().fallbacks, 0u);
  EXPECT_EQ(checker.counts().boundedResults, 0u);
}

TEST_F(KernelPrograms, SizesOfTheCallAreTried) {
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%x: tensor<?x5xf32, #n>) -> tensor<?x5xf32, #n>
        attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
      %0 = weft.neg %x : tensor<?x5xf32, #n>
      weft.return %0 : tensor<?x5xf32, #n>
    })");
  ASSERT_TRUE(module);
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(checker.counts().calls, 14u)
      << "by numbers and by symbols, twice for each of four sizes, but once for size 1";
}

// The tasks of a plane of dynamic width are more than its tiles: those behind the last row have no elements.
TEST_F(KernelPrograms, TasksOfDynamicPlanesEndWithTheirRows) {
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%a: tensor<?x12xf32, #n>, %b: tensor<12x?xf32, #n>, %c: tensor<?x32xf32, #weft.device<cpu, [4 * n]>>,
                    %d: tensor<32xf32, #cpu>)
        -> (tensor<12x?xf32, #n>, tensor<?x32xf32, #weft.device<cpu, [4 * n]>>)
        attributes {weft.symbols = [#weft.symbol<"n", 0, 64>]} {
      %0 = weft.transpose %a, perm = [1, 0] : tensor<?x12xf32, #n>
      %1 = weft.mul %0, %b : tensor<12x?xf32, #n>
      %2 = weft.broadcast_in_dim %d, dims = [1] : tensor<32xf32, #cpu> -> tensor<?x32xf32, #weft.device<cpu, [4 * n]>>
      %3 = weft.add %c, %2 : tensor<?x32xf32, #weft.device<cpu, [4 * n]>>
      weft.return %1, %3 : tensor<12x?xf32, #n>, tensor<?x32xf32, #weft.device<cpu, [4 * n]>>
    })");
  ASSERT_TRUE(module);
  CheckOptions options;
  options.raceEvery = 1;
  KernelChecker checker(options);
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(checker.counts().calls, 18u);
}

// The same for tiles that a block transposes: of dynamic height, width, both, and in a dynamic batch.
TEST_F(KernelPrograms, TasksOfDynamicTranspositionsEndWithTheirTiles) {
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%a: tensor<?x40xf32, #n>, %b: tensor<40x?xf16, #n>, %c: tensor<?x?xi8, #weft.device<cpu, [n, 2 * n]>>,
                    %d: tensor<?x36x20xf16, #n>)
        -> (tensor<40x?xf32, #n>, tensor<?x40xf16, #n>, tensor<?x?xi8, #weft.device<cpu, [2 * n, n]>>, tensor<?x20x36xf16, #n>)
        attributes {weft.symbols = [#weft.symbol<"n", 0, 70>]} {
      %0 = weft.transpose %a, perm = [1, 0] : tensor<?x40xf32, #n>
      %1 = weft.neg %0 : tensor<40x?xf32, #n>
      %2 = weft.transpose %b, perm = [1, 0] : tensor<40x?xf16, #n>
      %3 = weft.neg %2 : tensor<?x40xf16, #n>
      %4 = weft.transpose %c, perm = [1, 0] : tensor<?x?xi8, #weft.device<cpu, [n, 2 * n]>>
      %5 = weft.neg %4 : tensor<?x?xi8, #weft.device<cpu, [2 * n, n]>>
      %6 = weft.transpose %d, perm = [0, 2, 1] : tensor<?x36x20xf16, #n>
      %7 = weft.neg %6 : tensor<?x20x36xf16, #n>
      weft.return %1, %3, %5, %7 : tensor<40x?xf32, #n>, tensor<?x40xf16, #n>, tensor<?x?xi8, #weft.device<cpu, [2 * n, n]>>, tensor<?x20x36xf16, #n>
    })");
  ASSERT_TRUE(module);
  CheckOptions options;
  options.raceEvery = 1;
  KernelChecker checker(options);
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_GE(checker.counts().calls, 14u);
}

//===----------------------------------------------------------------------===//
// Launches for which a plan names a library
//===----------------------------------------------------------------------===//

namespace {

/// Products with what a kernel has at its end: a bias, a residual, further products. (Relu would hide a bit
/// of a negative sum.)
constexpr const char *productText = R"(
    weft.func @main(%x: tensor<70x45xf32, #cpu>, %w: tensor<45x30xf32, #cpu>, %bias: tensor<30xf32, #cpu>,
                    %h: tensor<2x40x36xf16, #cpu>, %g: tensor<2x36x24xf16, #cpu>,
                    %i: tensor<33x50xi8, #cpu>, %j: tensor<20x50xi8, #cpu>,
                    %a: tensor<30x19xf32, #cpu>, %b: tensor<30x17xf32, #cpu>, %c: tensor<30x19xf32, #cpu>,
                    %d: tensor<30x17xf32, #cpu>, %e: tensor<19x17xf32, #cpu>)
        -> (tensor<70x30xf32, #cpu>, tensor<2x40x24xf16, #cpu>, tensor<33x20xi8, #cpu>, tensor<19x17xf32, #cpu>) {
      %3 = weft.dot_general %x, %w, bias %bias, contract = [1] x [0] : tensor<70x45xf32, #cpu>, tensor<45x30xf32, #cpu>, tensor<30xf32, #cpu>
      %4 = weft.dot_general %h, %g, batch = [0] x [0], contract = [2] x [1] : tensor<2x40x36xf16, #cpu>, tensor<2x36x24xf16, #cpu>
      %5 = weft.dot_general %i, %j, contract = [1] x [1] : tensor<33x50xi8, #cpu>, tensor<20x50xi8, #cpu>
      %6 = weft.dot_general %a, %b, residual %e, plus (%c, %d), contract = [0] x [0] : tensor<30x19xf32, #cpu>, tensor<30x17xf32, #cpu>, tensor<19x17xf32, #cpu>, tensor<30x19xf32, #cpu>, tensor<30x17xf32, #cpu>
      weft.return %3, %4, %5, %6 : tensor<70x30xf32, #cpu>, tensor<2x40x24xf16, #cpu>, tensor<33x20xi8, #cpu>, tensor<19x17xf32, #cpu>
    })";

/// What the device has done since this was made.
class Since {
public:
  LibraryCounts products() const { return since(EngineDevice::get().counts().products, before.products); }
  LibraryCounts attentions() const {
    return since(EngineDevice::get().counts().attentions, before.attentions);
  }
  LibraryCounts convolutions() const {
    return since(EngineDevice::get().counts().convolutions, before.convolutions);
  }
  LibraryCounts sorts() const { return since(EngineDevice::get().counts().sorts, before.sorts); }
  uint64_t launches() const { return EngineDevice::get().counts().kernelLaunches - before.kernelLaunches; }

private:
  static LibraryCounts since(const LibraryCounts &now, const LibraryCounts &then) {
    return {now.engine - then.engine, now.host - then.host};
  }
  DeviceCounts before = EngineDevice::get().counts();
};

} // namespace

TEST_F(KernelPrograms, ProductsRunOnTheEngine) {
  OwningOpRef<ModuleOp> module = parse(productText);
  ASSERT_TRUE(module);
  const Since since;
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(since.products().engine, 4u);
  EXPECT_EQ(since.products().host, 0u);
  EXPECT_EQ(since.launches(), 5u) << "the sum of two products is two launches";
  EXPECT_EQ(checker.counts().exactResults, 1u) << "that of integers";
}

TEST_F(KernelPrograms, LargeProductsAreTheHosts) {
  OwningOpRef<ModuleOp> module = parse(productText);
  ASSERT_TRUE(module);
  const Since since;
  CheckOptions options;
  options.mostMultiplyAdds = 0;
  KernelChecker checker(options);
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(since.products().engine, 0u);
  EXPECT_EQ(since.products().host, 4u);
  EXPECT_EQ(since.launches(), 0u);
}

// The launches are of products: of f32, f16, i8, and both of a sum.
TEST_F(KernelPrograms, SpoiltProductsAreFound) {
  for (uint64_t launch = 0; launch < 5; ++launch)
    for (Spoil spoil : {Spoil::bit, Spoil::bound}) {
      OwningOpRef<ModuleOp> module = parse(productText);
      ASSERT_TRUE(module);
      CheckOptions options;
      options.spoil = spoil;
      options.spoilt = launch;
      KernelChecker checker(options);
      const std::string found = textOf(checker.check(*module, 1));
      EXPECT_NE(found, "") << launch << (spoil == Spoil::bit ? ", bit" : ", bound");
      if (spoil == Spoil::bound)
        EXPECT_NE(found.find("out of bounds"), std::string::npos) << found;
    }
}

TEST_F(KernelPrograms, ProductsTakeSizesOfTheCall) {
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%x: tensor<?x20xf32, #n>, %w: tensor<20x?xf32, #n>, %i: tensor<9x?xi32, #n>, %j: tensor<?x8xi32, #n>)
        -> (tensor<?x?xf32, #weft.device<cpu, [n, n]>>, tensor<9x8xi32, #cpu>)
        attributes {weft.symbols = [#weft.symbol<"n", 0, 100>]} {
      %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<?x20xf32, #n>, tensor<20x?xf32, #n>
      %1 = weft.dot_general %i, %j, contract = [1] x [0] : tensor<9x?xi32, #n>, tensor<?x8xi32, #n>
      weft.return %0, %1 : tensor<?x?xf32, #weft.device<cpu, [n, n]>>, tensor<9x8xi32, #cpu>
    })");
  ASSERT_TRUE(module);
  const Since since;
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(since.products().engine, 2 * checker.counts().calls);
  EXPECT_GE(checker.counts().calls, 14u);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Groups with a stride and what follows them; halves; and channels that are divided into pieces, of which
/// windows are read in vectors along k.
static constexpr const char *convolutionText = R"(
    weft.func @main(%x: tensor<3x6x9x10xf32, #cpu>, %w: tensor<10x3x3x3xf32, #cpu>, %v: tensor<10xf32, #cpu>, %r: tensor<3x10x5x5xf32, #cpu>,
                    %h: tensor<2x5x20xbf16, #cpu>, %g: tensor<7x5x3xbf16, #cpu>,
                    %a: tensor<3x8x11x11xf32, #cpu>, %b: tensor<5x8x9x9xf32, #cpu>)
        -> (tensor<3x10x5x5xf32, #cpu>, tensor<2x7x20xbf16, #cpu>, tensor<3x5x3x3xf32, #cpu>) {
      %0 = weft.convolution %x, %w, stride = [2, 2], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 2 : tensor<3x6x9x10xf32, #cpu>, tensor<10x3x3x3xf32, #cpu>
      %1 = weft.broadcast_in_dim %v, dims = [1] : tensor<10xf32, #cpu> -> tensor<3x10x5x5xf32, #cpu>
      %2 = weft.add %0, %1 : tensor<3x10x5x5xf32, #cpu>
      %3 = weft.add %2, %r : tensor<3x10x5x5xf32, #cpu>
      %4 = weft.convolution %h, %g, stride = [1], low = [2], high = [2], base_dilation = [1], window_dilation = [2], groups = 1 : tensor<2x5x20xbf16, #cpu>, tensor<7x5x3xbf16, #cpu>
      %5 = weft.convolution %a, %b, stride = [1, 1], low = [0, 0], high = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1 : tensor<3x8x11x11xf32, #cpu>, tensor<5x8x9x9xf32, #cpu>
      weft.return %3, %4, %5 : tensor<3x10x5x5xf32, #cpu>, tensor<2x7x20xbf16, #cpu>, tensor<3x5x3x3xf32, #cpu>
    })";

TEST_F(KernelPrograms, ConvolutionsRunOnTheEngine) {
  OwningOpRef<ModuleOp> module = parse(convolutionText);
  ASSERT_TRUE(module);
  const Since since;
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(since.convolutions().engine, 3u);
  EXPECT_EQ(since.launches(), 5u) << "the pieces are added, and then turned";
  CheckOptions options;
  options.mostMultiplyAdds = 0;
  KernelChecker onHost(options);
  EXPECT_EQ(textOf(onHost.check(*module, 1)), "");
  EXPECT_EQ(since.convolutions().host, 2u) << "the host has no launch of halves";
}

TEST_F(KernelPrograms, SpoiltConvolutionsAreFound) {
  for (uint64_t launch = 0; launch < 3; ++launch)
    for (Spoil spoil : {Spoil::bit, Spoil::bound}) {
      OwningOpRef<ModuleOp> module = parse(convolutionText);
      ASSERT_TRUE(module);
      CheckOptions options;
      options.spoil = spoil;
      options.spoilt = launch;
      KernelChecker checker(options);
      EXPECT_NE(textOf(checker.check(*module, 1)), "")
          << launch << (spoil == Spoil::bit ? ", bit" : ", bound");
    }
}

/// Operands with zeros between their elements: a derivative of a convolution with a stride and groups, over a
/// batch of the call; a transposed convolution of halves, and what moves its products; and the derivative of
/// one with respect to its weights, where operand and weights have each other's role.
TEST_F(KernelPrograms, ConvolutionsOfSpreadOperandsRunOnTheEngine) {
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%x: tensor<?x6x7x8xf32, #n>, %w: tensor<10x3x3x4xf32, #cpu>, %h: tensor<2x5x9xbf16, #cpu>, %g: tensor<7x5x4xbf16, #cpu>,
                    %t: tensor<7x5x2xbf16, #cpu>, %a: tensor<3x4x5x6xf32, #cpu>, %b: tensor<6x4x3x2xf32, #cpu>)
        -> (tensor<?x6x7x8xf32, #n>, tensor<2x7x27xbf16, #cpu>, tensor<2x7x18xbf16, #cpu>, tensor<6x4x3x2xf32, #cpu>)
        attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
      %0 = weft.convolution %x, %w, stride = [2, 3], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [2, 1], groups = 2 : tensor<?x6x7x8xf32, #n>, tensor<10x3x3x4xf32, #cpu>
      %1 = weft.mul %0, %0 : tensor<?x10x3x3xf32, #n>
      %2 = weft.gradient %1 wrt %x : tensor<?x10x3x3xf32, #n>, tensor<?x6x7x8xf32, #n>
      %3 = weft.convolution %h, %g, stride = [1], low = [2], high = [3], base_dilation = [3], window_dilation = [1], groups = 1 : tensor<2x5x9xbf16, #cpu>, tensor<7x5x4xbf16, #cpu>
      %4 = weft.convolution %h, %t, stride = [1], low = [1], high = [1], base_dilation = [2], window_dilation = [1], groups = 1 : tensor<2x5x9xbf16, #cpu>, tensor<7x5x2xbf16, #cpu>
      %5 = weft.convolution %a, %b, stride = [1, 1], low = [1, 0], high = [1, 0], base_dilation = [2, 1], window_dilation = [1, 1], groups = 1 : tensor<3x4x5x6xf32, #cpu>, tensor<6x4x3x2xf32, #cpu>
      %6 = weft.mul %5, %5 : tensor<3x6x9x5xf32, #cpu>
      %7 = weft.gradient %6 wrt %b : tensor<3x6x9x5xf32, #cpu>, tensor<6x4x3x2xf32, #cpu>
      weft.return %2, %3, %4, %7 : tensor<?x6x7x8xf32, #n>, tensor<2x7x27xbf16, #cpu>, tensor<2x7x18xbf16, #cpu>, tensor<6x4x3x2xf32, #cpu>
    })");
  ASSERT_TRUE(module);
  const Since since;
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(since.convolutions().engine, 5 * checker.counts().calls);
}

/// Columns, or steps of the derivative with respect to weights, that a call determines.
TEST_F(KernelPrograms, ConvolutionsTakeABatchOfTheCall) {
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%x: tensor<?x3x9xf32, #n>, %w: tensor<40x3x3xf32, #cpu>) -> (tensor<?x40x9xf32, #n>, tensor<40x3x3xf32, #cpu>)
        attributes {weft.symbols = [#weft.symbol<"n", 1, 9>]} {
      %0 = weft.convolution %x, %w, stride = [1], low = [1], high = [1], base_dilation = [1], window_dilation = [1], groups = 1 : tensor<?x3x9xf32, #n>, tensor<40x3x3xf32, #cpu>
      %1 = weft.mul %0, %0 : tensor<?x40x9xf32, #n>
      %2 = weft.gradient %1 wrt %w : tensor<?x40x9xf32, #n>, tensor<40x3x3xf32, #cpu>
      weft.return %0, %2 : tensor<?x40x9xf32, #n>, tensor<40x3x3xf32, #cpu>
    })");
  ASSERT_TRUE(module);
  const Since since;
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(since.convolutions().engine, 2 * checker.counts().calls);
}

//===----------------------------------------------------------------------===//
// Gathers from windows
//===----------------------------------------------------------------------===//

/// The derivative of a gather that says from which windows it reads is a sum, with the bits of the scatter
/// that it is elsewhere: of windows that overlap.
TEST_F(KernelPrograms, GathersFromWindowsHaveDerivativesWithoutScatters) {
  for (const std::string type : {"f32", "bf16"}) {
    const std::string text = R"(
    weft.func @main(%x: tensor<5x9xTYPE, #cpu>, %g: tensor<5x4xTYPE, #cpu>) -> (tensor<5x9xTYPE, #cpu>, tensor<5x9xTYPE, #cpu>) {
      %0 = weft.windows %x, size = [3], stride = [2], dilation = [1] : tensor<5x9xTYPE, #cpu>
      %1 = weft.argmax %0, dim = 1 : tensor<5x3x4xTYPE, #cpu>
      %2 = weft.iota dim = 1 : tensor<5x4xi64, #cpu>
      %3 = weft.add %2, %2 : tensor<5x4xi64, #cpu>
      %4 = weft.add %1, %3 : tensor<5x4xi64, #cpu>
      %5 = weft.gather %x, %4, dim = 1, kind = along mode = assume {weft.pooled = array<i64: 9, 3, 2, 0, 1, 4>} : tensor<5x9xTYPE, #cpu>, tensor<5x4xi64, #cpu>
      %6 = weft.mul %5, %g : tensor<5x4xTYPE, #cpu>
      %7 = weft.gradient %6 wrt %x : tensor<5x4xTYPE, #cpu>, tensor<5x9xTYPE, #cpu>
      %8 = weft.gather %x, %4, dim = 1, kind = along mode = assume : tensor<5x9xTYPE, #cpu>, tensor<5x4xi64, #cpu>
      %9 = weft.mul %8, %g : tensor<5x4xTYPE, #cpu>
      %10 = weft.gradient %9 wrt %x : tensor<5x4xTYPE, #cpu>, tensor<5x9xTYPE, #cpu>
      %11 = weft.sub %7, %10 : tensor<5x9xTYPE, #cpu>
      weft.return %7, %11 : tensor<5x9xTYPE, #cpu>, tensor<5x9xTYPE, #cpu>
    })";
    OwningOpRef<ModuleOp> module = parse(std::regex_replace(text, std::regex("TYPE"), type));
    ASSERT_TRUE(module);
    const Since since;
    KernelChecker checker({});
    EXPECT_EQ(textOf(checker.check(*module, 1)), "") << type;
    EXPECT_GT(checker.counts().calls, 0u);
    EXPECT_GE(since.launches(), 3 * checker.counts().calls)
        << "of windows, a scatter, and a sum with its difference";
  }
}

/// The same of two extents with padding and a dilation. Nine windows choose the element in the middle:
/// rounding shows in which order they are added, and of cotangents that are -0 the sum is 0.
TEST_F(KernelPrograms, WindowsOfPlanesAreAddedInTheOrderOfAScatter) {
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%x: tensor<3x49xf32, #cpu>, %g: tensor<3x25xf32, #cpu>) -> (tensor<3x49xf32, #cpu>, tensor<3x49xf32, #cpu>, tensor<3x49xf32, #cpu>) {
      %peak = weft.constant dense<[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 99.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<49xf32, #cpu>
      %peaks = weft.broadcast_in_dim %peak, dims = [1] : tensor<49xf32, #cpu> -> tensor<3x49xf32, #cpu>
      %y = weft.add %x, %peaks : tensor<3x49xf32, #cpu>
      %low = weft.constant dense<-1.0e+04> : tensor<f32, #cpu>
      %0 = weft.reshape %y : tensor<3x49xf32, #cpu> -> tensor<3x7x7xf32, #cpu>
      %1 = weft.pad %0 value %low, low = [0, 1, 1], high = [0, 1, 1], interior = [0, 0, 0] : tensor<3x7x7xf32, #cpu>, tensor<f32, #cpu>
      %2 = weft.windows %1, size = [3, 3], stride = [1, 1], dilation = [2, 2] : tensor<3x9x9xf32, #cpu>
      %3 = weft.reshape %2 : tensor<3x3x3x5x5xf32, #cpu> -> tensor<3x9x25xf32, #cpu>
      %4 = weft.argmax %3, dim = 1 : tensor<3x9x25xf32, #cpu>
      %far = weft.constant dense<[0, 2, 4, 14, 16, 18, 28, 30, 32]> : tensor<9xi64, #cpu>
      %begin = weft.constant dense<[-8, -7, -6, -5, -4, -1, 0, 1, 2, 3, 6, 7, 8, 9, 10, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24]> : tensor<25xi64, #cpu>
      %5 = weft.gather %far, %4, dim = 0, kind = points : tensor<9xi64, #cpu>, tensor<3x25xi64, #cpu>
      %6 = weft.broadcast_in_dim %begin, dims = [1] : tensor<25xi64, #cpu> -> tensor<3x25xi64, #cpu>
      %7 = weft.add %5, %6 : tensor<3x25xi64, #cpu>
      %8 = weft.gather %y, %7, dim = 1, kind = along mode = assume {weft.pooled = array<i64: 7, 3, 1, 1, 2, 5, 7, 3, 1, 1, 2, 5>} : tensor<3x49xf32, #cpu>, tensor<3x25xi64, #cpu>
      %9 = weft.gather %y, %7, dim = 1, kind = along mode = assume : tensor<3x49xf32, #cpu>, tensor<3x25xi64, #cpu>
      %10 = weft.mul %8, %g : tensor<3x25xf32, #cpu>
      %11 = weft.mul %9, %g : tensor<3x25xf32, #cpu>
      %12 = weft.gradient %10 wrt %x : tensor<3x25xf32, #cpu>, tensor<3x49xf32, #cpu>
      %13 = weft.gradient %11 wrt %x : tensor<3x25xf32, #cpu>, tensor<3x49xf32, #cpu>
      %14 = weft.sub %12, %13 : tensor<3x49xf32, #cpu>
      %none = weft.constant dense<-0.0> : tensor<3x25xf32, #cpu>
      %15 = weft.mul %8, %none : tensor<3x25xf32, #cpu>
      %16 = weft.gradient %15 wrt %x : tensor<3x25xf32, #cpu>, tensor<3x49xf32, #cpu>
      weft.return %12, %14, %16 : tensor<3x49xf32, #cpu>, tensor<3x49xf32, #cpu>, tensor<3x49xf32, #cpu>
    })");
  ASSERT_TRUE(module);
  const Since since;
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_GE(since.launches(), 3 * checker.counts().calls);
}

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

/// A sort of what another kernel computes, and one that replaces an argument: that is copied from what the
/// sort writes, unless the call has failed. Rows of any length are merged by loops.
TEST_F(KernelPrograms, SortsRunOnTheEngine) {
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.func @main(%x: tensor<?x70xf32, #n>, %y: tensor<3x300xf16, #cpu> {weft.donated}, %z: tensor<2x?xf32, #n>)
        -> (tensor<?x8xf32, #n>, tensor<?x8xi64, #n>, tensor<3x300xf16, #cpu> {weft.tied = 1 : i64}, tensor<2x?xi64, #n>)
        attributes {weft.symbols = [#weft.symbol<"n", 1, 9>]} {
      %0 = weft.neg %x : tensor<?x70xf32, #n>
      %1, %2 = weft.sort %0, count = 8 descending : tensor<?x70xf32, #n>
      %3, %4 = weft.sort %y, count = 300 : tensor<3x300xf16, #cpu>
      %5, %6 = weft.sort %z, count = n : tensor<2x?xf32, #n>
      weft.return %1, %2, %3, %6 : tensor<?x8xf32, #n>, tensor<?x8xi64, #n>, tensor<3x300xf16, #cpu>, tensor<2x?xi64, #n>
    })");
  ASSERT_TRUE(module);
  const Since since;
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  // The twin of a call, whose sizes are numbers, has a kernel for the third, too.
  EXPECT_EQ(2 * since.sorts().engine, 5 * checker.counts().calls);
  CheckOptions options;
  options.mostMultiplyAdds = 0;
  KernelChecker onHost(options);
  EXPECT_EQ(textOf(onHost.check(*module, 1)), "");
  EXPECT_GE(since.sorts().host, 2u);
}

TEST_F(KernelPrograms, SpoiltSortsAreFound) {
  for (uint64_t launch = 0; launch < 2; ++launch)
    for (Spoil spoil : {Spoil::bit, Spoil::bound}) {
      OwningOpRef<ModuleOp> module = parse(R"(
        weft.func @main(%x: tensor<5x70xf32, #cpu>, %y: tensor<3x300xf16, #cpu>) -> (tensor<5x8xi64, #cpu>, tensor<3x300xf16, #cpu>) {
          %1, %2 = weft.sort %x, count = 8 descending : tensor<5x70xf32, #cpu>
          %3, %4 = weft.sort %y, count = 300 : tensor<3x300xf16, #cpu>
          weft.return %2, %3 : tensor<5x8xi64, #cpu>, tensor<3x300xf16, #cpu>
        })");
      ASSERT_TRUE(module);
      CheckOptions options;
      options.spoil = spoil;
      options.spoilt = launch;
      KernelChecker checker(options);
      EXPECT_NE(textOf(checker.check(*module, 1)), "")
          << launch << (spoil == Spoil::bit ? ", bit" : ", bound");
    }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Heads in the result of a projection; and the derivative, with a mask.
static constexpr const char *attentionText = R"(
    weft.func @main(%qkv: tensor<2x40x48xf32, #cpu>, %g: tensor<3x20x12xf16, #cpu>, %k: tensor<3x35x12xf16, #cpu>,
                    %m: tensor<1x20x35xf32, #cpu>)
        -> (tensor<2x2x40x8xf32, #cpu>, tensor<3x20x12xf16, #cpu>, tensor<3x35x12xf16, #cpu>, tensor<3x35x12xf16, #cpu>) {
      %0 = weft.reshape %qkv : tensor<2x40x48xf32, #cpu> -> tensor<2x40x6x8xf32, #cpu>
      %1 = weft.transpose %0, perm = [0, 2, 1, 3] : tensor<2x40x6x8xf32, #cpu>
      %q1 = weft.slice %1, start = [0, 0, 0, 0], limit = [2, 2, 40, 8], step = [1, 1, 1, 1] : tensor<2x6x40x8xf32, #cpu>
      %k1 = weft.slice %1, start = [0, 2, 0, 0], limit = [2, 4, 40, 8], step = [1, 1, 1, 1] : tensor<2x6x40x8xf32, #cpu>
      %v1 = weft.slice %1, start = [0, 4, 0, 0], limit = [2, 6, 40, 8], step = [1, 1, 1, 1] : tensor<2x6x40x8xf32, #cpu>
      %o1, %l1 = weft.sdpa %q1, %k1, %v1, scale = 0.5 causal : tensor<2x2x40x8xf32, #cpu>, tensor<2x2x40x8xf32, #cpu>, tensor<2x2x40x8xf32, #cpu>
      %o2, %l2 = weft.sdpa %g, %k, %k mask %m, scale = 0.25 : tensor<3x20x12xf16, #cpu>, tensor<3x35x12xf16, #cpu>, tensor<3x35x12xf16, #cpu> mask tensor<1x20x35xf32, #cpu>
      %dq, %dk, %dv = weft.sdpa_backward %g, %k, %k, %o2, %l2, %g mask %m, scale = 0.25 : tensor<3x20x12xf16, #cpu>, tensor<3x35x12xf16, #cpu>, tensor<3x35x12xf16, #cpu>, tensor<3x20x12xf16, #cpu>, tensor<3x20xf32, #cpu>, tensor<3x20x12xf16, #cpu> mask tensor<1x20x35xf32, #cpu>
      weft.return %o1, %dq, %dk, %dv : tensor<2x2x40x8xf32, #cpu>, tensor<3x20x12xf16, #cpu>, tensor<3x35x12xf16, #cpu>, tensor<3x35x12xf16, #cpu>
    })";

TEST_F(KernelPrograms, AttentionRunsOnTheEngine) {
  OwningOpRef<ModuleOp> module = parse(attentionText);
  ASSERT_TRUE(module);
  const Since since;
  KernelChecker checker({});
  EXPECT_EQ(textOf(checker.check(*module, 1)), "");
  EXPECT_EQ(since.attentions().engine, 3u);
  EXPECT_EQ(since.attentions().host, 0u);
  EXPECT_EQ(since.launches(), 4u) << "what is around them is views, but one result is turned";
  CheckOptions options;
  options.mostMultiplyAdds = 0;
  KernelChecker onHost(options);
  EXPECT_EQ(textOf(onHost.check(*module, 1)), "");
  EXPECT_EQ(since.attentions().host, 3u);
}

TEST_F(KernelPrograms, SpoiltAttentionIsFound) {
  for (uint64_t launch = 0; launch < 3; ++launch) {
    OwningOpRef<ModuleOp> module = parse(attentionText);
    ASSERT_TRUE(module);
    CheckOptions options;
    options.spoil = Spoil::bound;
    options.spoilt = launch;
    KernelChecker checker(options);
    EXPECT_NE(textOf(checker.check(*module, 1)).find("out of bounds"), std::string::npos) << launch;
  }
}

//===----------------------------------------------------------------------===//
// Single launches of kernels that are wrong
//===----------------------------------------------------------------------===//

namespace {

/// A kernel `k(.u64 in, .u64 out)` of 4 blocks of 32 threads over 100 words; %a is in, %b is out, and %r3 the
/// thread's number.
Status runText(const std::string &body, LaunchNotes &notes, bool race = false) {
  DeviceKernel kernel;
  kernel.symbol = "k";
  ParseResult parsed = Module::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n"
      ".reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %q<16>;\n.reg .b64 %a;\n.reg .b64 %b;\n"
      "ld.param.u64 %a, [p];\nld.param.u64 %b, [q];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
      "mad.lo.u32 %r3, %r1, 32, %r2;\nmul.wide.u32 %q1, %r3, 4;\nadd.u64 %q2, %a, %q1;\nadd.u64 %q3, %b, "
      "%q1;\n" +
      body + "\nret;\n}\n");
  EXPECT_TRUE(bool(parsed)) << parsed.error.str();
  if (!parsed)
    return Status::error("no module");
  kernel.module = std::move(parsed.module);
  kernel.slots = {0, 1};
  kernel.threads = kernel.blockTasks = 32;
  alignas(256) uint32_t in[100] = {}, out[100] = {};
  KernelCall call;
  call.operands = {{reinterpret_cast<std::byte *>(in), sizeof in, false},
                   {reinterpret_cast<std::byte *>(out), sizeof out, true}};
  call.tasks = 100;
  RunStyle style;
  style.race = race;
  return runKernel(kernel, call, style, notes);
}

constexpr const char *guard = "setp.ge.u32 %p1, %r3, 100;\n@%p1 exit;\n";

} // namespace

TEST(KernelLaunches, RightOnesPass) {
  LaunchNotes notes;
  const Status status =
      runText(guard + std::string("ld.global.u32 %r4, [%q2];\nst.global.u32 [%q3], %r4;"), notes);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(KernelLaunches, WrongOnesAreFound) {
  const std::pair<std::string, const char *> wrong[] = {
      {"st.global.u32 [%q3], %r3;",
       "out of bounds: global write (0 bytes behind an allocation of 400 bytes)"},
      {std::string(guard) + "setp.eq.u32 %p2, %r3, 41;\n@%p2 exit;\nst.global.u32 [%q3], %r3;",
       "differ in byte 164 of operand 1 (400 bytes), or nothing writes it"},
      {std::string(guard) + "st.global.u32 [%q3], %r3;\nst.global.u32 [%b], %r1;",
       "differ in byte 0 of operand 1"},
      {std::string(guard) + "st.global.u32 [%q3], %r3;\nst.global.u32 [%q2], %r3;",
       "it changes byte 4 of operand 0 (400 bytes), which it only reads"},
  };
  for (const auto &[body, message] : wrong) {
    LaunchNotes notes;
    const Status status = runText(body, notes);
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message() << "\n" << body;
  }
}

// A thread reads what its neighbour writes: it gets ones, and the notes say so.
TEST(KernelLaunches, RacyReadsAreNoted) {
  LaunchNotes notes;
  const std::string body = std::string(guard) +
                           "st.global.u32 [%q3], %r3;\nxor.b32 %r4, %r2, 1;\nmad.lo.u32 %r5, %r1, 32, %r4;\n"
                           "mul.wide.u32 %q4, %r5, 4;\nadd.u64 %q4, %b, %q4;\nld.global.u32 %r6, [%q4];\n";
  EXPECT_TRUE(runText(body, notes, /*race=*/true).ok()) << "nobody uses the value";
  EXPECT_GT(notes.steps, 0u);
  EXPECT_NE(notes.racyRead.find(
                "kernel 'k': race in global memory: read of global memory that thread (1,0,0) wrote"),
            std::string::npos)
      << notes.racyRead;
}

} // namespace weft::cudasim
