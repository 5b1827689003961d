//===- CudaSpillsTest.cpp - Other schedules for kernels that spill --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiler that says of each kernel what the test wants takes the place of NVRTC, so that every way through
// the loop is taken whatever ptxas allocates.
//
//===----------------------------------------------------------------------===//
#include "codegen/CompileCudaKernels.h"
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/contractions/EmitContractions.h"
#include "ir/CudaReductions.h"
#include "ir/CudaSchedule.h"
#include "ir/Decisions.h"
#include "ir/SpilledKernels.h"
#include "ir/Spills.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <functional>

using namespace mlir;

namespace weft::testing {
namespace {

class FakeCompiler : public codegen::KernelCompiler {
public:
  using Report = std::function<codegen::CudaResources(llvm::StringRef text)>;
  explicit FakeCompiler(Report report) : report(std::move(report)) {}
  std::string identity() const override { return "a test"; }
  std::string target() const override { return "sm_90"; }
  Expected<std::vector<char>> compile(llvm::StringRef text, llvm::StringRef,
                                      codegen::CompileStats *) const override {
    codegen::CudaKernel kernel;
    kernel.resources = report(text);
    return kernel.serialize();
  }

private:
  Report report;
};

codegen::CudaResources spilling(uint32_t registers) {
  codegen::CudaResources used;
  used.registers = registers;
  used.stackBytes = 8;
  used.spillStoreBytes = 4;
  used.spillLoadBytes = 12;
  return used;
}

codegen::CudaResources fitting() {
  codegen::CudaResources used;
  used.registers = 80;
  used.stackBytes = 40; // an array, which is no spill
  return used;
}

bool hasResident(llvm::StringRef text) { return text.contains("weft.resident"); }

/// The exponentials of two tensors of one size, whose kernels are one, and the sine of another.
constexpr const char *threeLoops = R"(
#gpu = #weft.device<cuda:0>
weft.func @main(%x: tensor<65536xf32, #gpu>, %y: tensor<65536xf32, #gpu>, %z: tensor<65536xf32, #gpu>)
    -> (tensor<65536xf32, #gpu>, tensor<65536xf32, #gpu>, tensor<65536xf32, #gpu>) {
  %0 = weft.fusion loop (%x) : (tensor<65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  ^bb0(%a: tensor<65536xf32, #gpu>):
    %3 = weft.exp %a : tensor<65536xf32, #gpu>
    weft.yield %3 : tensor<65536xf32, #gpu>
  }
  %1 = weft.fusion loop (%y) : (tensor<65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  ^bb0(%a: tensor<65536xf32, #gpu>):
    %3 = weft.exp %a : tensor<65536xf32, #gpu>
    weft.yield %3 : tensor<65536xf32, #gpu>
  }
  %2 = weft.fusion loop (%z) : (tensor<65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  ^bb0(%a: tensor<65536xf32, #gpu>):
    %3 = weft.neg %a : tensor<65536xf32, #gpu>
    weft.yield %3 : tensor<65536xf32, #gpu>
  }
  weft.return %0, %1, %2 : tensor<65536xf32, #gpu>, tensor<65536xf32, #gpu>, tensor<65536xf32, #gpu>
})";

class CudaSpills : public ::testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    ir::registerDialect(registry);
    context.appendDialectRegistry(registry);
    module = parseSourceString<ModuleOp>(threeLoops, &context);
    ASSERT_TRUE(module);
    function = *module->getOps<ir::FuncOp>().begin();
    for (ir::FusionOp fusion : function.getOps<ir::FusionOp>()) {
      fusion.setScheduleAttr(ir::chooseCudaSchedule(fusion, *target.getCuda()));
      fusions.push_back(fusion);
      first.push_back(fusion.getScheduleAttr());
    }
    ASSERT_EQ(fusions.size(), 3u);
  }

  /// The kernels by a compiler that reports so.
  Expected<codegen::CudaKernels> compile(FakeCompiler::Report report) {
    codegen::KernelCache cache({.directory = ""}); // in memory: what is reported differs from test to test
    const FakeCompiler compiler(std::move(report));
    return codegen::compileCudaKernels(*module, target, compiler, compiler, cache, 1);
  }

  std::vector<std::string> messages() {
    std::vector<std::string> found;
    for (const ir::Decision &decision : ir::readDecisions(function)) {
      EXPECT_EQ(decision.code, "WEFT-F012");
      EXPECT_EQ(decision.producer, "weft.fusion loop");
      found.push_back(decision.message);
    }
    return found;
  }

  MLIRContext context;
  std::string problem;
  ir::Target target = *ir::Target::parse("cuda:sm_90", problem);
  OwningOpRef<ModuleOp> module;
  ir::FuncOp function;
  std::vector<ir::FusionOp> fusions;
  std::vector<ir::ScheduleAttr> first;
};

TEST_F(CudaSpills, NothingChangesIfNothingSpills) {
  auto made = compile([](llvm::StringRef) { return fitting(); });
  ASSERT_TRUE(made) << made.status().message();
  EXPECT_EQ(made->kernels.size(), 2u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(fusions[i].getScheduleAttr(), first[i]);
    EXPECT_FALSE(fusions[i].getSpilled());
  }
  EXPECT_TRUE(messages().empty());
  EXPECT_TRUE(made->spills.empty());
}

TEST_F(CudaSpills, FusionsOfOneKernelChangeTogether) {
  auto made = compile([](llvm::StringRef text) {
    return text.contains("arith.negf") || hasResident(text) ? fitting() : spilling(64);
  });
  ASSERT_TRUE(made) << made.status().message();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(fusions[i].getSpilled(), ArrayRef<int64_t>({64}));
    EXPECT_EQ(fusions[i].getSchedule()->toSchedule()[ir::ScheduleField::resident], 8);
  }
  EXPECT_EQ(fusions[2].getScheduleAttr(), first[2]);
  EXPECT_FALSE(fusions[2].getSpilled());
  // The kernels are those of the new schedules.
  ASSERT_EQ(made->kernels.size(), 2u);
  EXPECT_EQ(made->kernels[0].launches, 2u);
  auto kernel = codegen::CudaKernel::deserialize(*made->objects[0]);
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->resources.registers, 80u);
  std::string schedule;
  llvm::raw_string_ostream(schedule) << fusions[0].getScheduleAttr();
  const std::string expected =
      "stores 4 and loads 12 bytes of registers in local memory, with 64 registers a "
      "thread, on cuda:sm_90; used instead: " +
      schedule;
  EXPECT_EQ(messages(), std::vector<std::string>({expected, expected}));
  EXPECT_EQ(made->spills.lookup(fusions[1]), expected);
}

TEST_F(CudaSpills, TheFirstKernelIsUsedIfAllSpill) {
  auto made = compile([](llvm::StringRef text) {
    return text.contains("arith.negf") ? fitting() : spilling(hasResident(text) ? 100 : 64);
  });
  ASSERT_TRUE(made) << made.status().message();
  const auto others =
      ir::schedulesAfterSpill(*target.getCuda(), 64, [&](const ir::TargetDescription &device) {
        return ir::chooseCudaSchedule(fusions[0], device, {}).toSchedule();
      });
  ASSERT_GT(others.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(fusions[i].getScheduleAttr(), first[i]);
    ASSERT_TRUE(fusions[i].getSpilled());
    EXPECT_EQ(fusions[i].getSpilled()->size(), others.size() + 1);
    EXPECT_EQ(fusions[i].getSpilled()->front(), 64);
  }
  ASSERT_EQ(messages().size(), 2u);
  EXPECT_NE(messages()[0].find("; every one of " + std::to_string(others.size()) +
                               " other schedules spills too, so the first is used"),
            std::string::npos)
      << messages()[0];
  // What was found out is in the text, so that the choice made from it is the same.
  for (ir::FusionOp fusion : fusions)
    EXPECT_EQ(ir::chooseCudaSchedule(fusion, *target.getCuda()), fusion.getScheduleAttr());
}

/// Of a short row that threads hold, the passes keep what they compute of the elements. The last schedules
/// compute it again in each pass, at last for one element at a time with all registers that a thread may
/// have.
TEST_F(CudaSpills, RowsThatAreHeldAreReadAgainAtTheEnd) {
  auto row = parseSourceString<ModuleOp>(R"(
    #gpu = #weft.device<cuda:0>
    weft.func @main(%x: tensor<3x6xf64, #gpu>) -> tensor<3x6xf64, #gpu> {
      %0 = weft.fusion row (%x) : (tensor<3x6xf64, #gpu>) -> tensor<3x6xf64, #gpu> {
      ^bb0(%a: tensor<3x6xf64, #gpu>):
        %1 = weft.exp %a : tensor<3x6xf64, #gpu>
        %2 = weft.sum %1, dims = [1] : tensor<3x6xf64, #gpu>
        %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<3xf64, #gpu> -> tensor<3x6xf64, #gpu>
        %4 = weft.div %1, %3 : tensor<3x6xf64, #gpu>
        weft.yield %4 : tensor<3x6xf64, #gpu>
      }
      weft.return %0 : tensor<3x6xf64, #gpu>
    })",
                                         &context);
  ASSERT_TRUE(row);
  ir::FusionOp fusion = *(*row->getOps<ir::FuncOp>().begin()).getOps<ir::FusionOp>().begin();
  const auto choose = [&](const ir::TargetDescription &device) {
    return ir::chooseCudaSchedule(fusion, device, {}).toSchedule();
  };
  const ir::TargetDescription &device = *target.getCuda();
  EXPECT_TRUE(choose(device).has(ir::ScheduleField::chunk));
  for (const int64_t registers : {device.threadRegisters, int64_t(168)}) {
    const auto others = ir::schedulesAfterSpill(device, registers, choose);
    ASSERT_GE(others.size(), 2u);
    const ir::Schedule &last = others.back();
    EXPECT_FALSE(last.has(ir::ScheduleField::chunk));
    EXPECT_EQ(last[ir::ScheduleField::vector], 1);
    EXPECT_TRUE(llvm::any_of(others, [](const ir::Schedule &each) {
      return !each.has(ir::ScheduleField::chunk) && each[ir::ScheduleField::vector] == ir::teamVector;
    }));
    EXPECT_EQ(ir::registersFor(device, last[ir::ScheduleField::resident] * last[ir::ScheduleField::threads]),
              device.threadRegisters);
    for (const ir::Schedule &each : others) {
      fusion.setScheduleAttr(ir::ScheduleAttr::get(&context, each));
      EXPECT_TRUE(succeeded(mlir::verify(fusion)));
    }
  }
}

TEST_F(CudaSpills, ASpillOfLoadsAloneCounts) {
  auto made = compile([](llvm::StringRef text) {
    codegen::CudaResources used = fitting();
    used.spillLoadBytes = hasResident(text) ? 0 : 4;
    return used;
  });
  ASSERT_TRUE(made) << made.status().message();
  for (ir::FusionOp fusion : fusions)
    EXPECT_EQ(fusion.getSpilled(), ArrayRef<int64_t>({80}));
}

TEST_F(CudaSpills, AScheduleThatWasWrittenByHandStays) {
  ir::Schedule own = first[0].toSchedule();
  own[ir::ScheduleField::resident] = 2;
  fusions[0].setScheduleAttr(ir::ScheduleAttr::get(&context, own));
  const ir::ScheduleAttr written = fusions[0].getScheduleAttr();
  auto made =
      compile([](llvm::StringRef text) { return text.contains("arith.negf") ? fitting() : spilling(64); });
  ASSERT_TRUE(made) << made.status().message();
  EXPECT_EQ(fusions[0].getScheduleAttr(), written);
  EXPECT_FALSE(fusions[0].getSpilled());
  EXPECT_TRUE(fusions[1].getSpilled());
  EXPECT_EQ(messages().size(), 1u);
}

/// Two equal products, whose kernels are one, and a sum of two products, which has two kernels.
constexpr const char *products = R"(
#gpu = #weft.device<cuda:0>
weft.func @main(%a: tensor<2048x512xf32, #gpu>, %b: tensor<512x2048xf32, #gpu>, %c: tensor<512x64xf32, #gpu>,
                %d: tensor<64x512xf32, #gpu>)
    -> (tensor<2048x2048xf32, #gpu>, tensor<2048x2048xf32, #gpu>, tensor<512x512xf32, #gpu>) {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<2048x512xf32, #gpu>, tensor<512x2048xf32, #gpu>
  %1 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<2048x512xf32, #gpu>, tensor<512x2048xf32, #gpu>
  %2 = weft.dot_general %c, %d, plus (%c, %d), contract = [1] x [0]
      : tensor<512x64xf32, #gpu>, tensor<64x512xf32, #gpu>, tensor<512x64xf32, #gpu>, tensor<64x512xf32, #gpu>
  weft.return %0, %1, %2 : tensor<2048x2048xf32, #gpu>, tensor<2048x2048xf32, #gpu>, tensor<512x512xf32, #gpu>
})";

class CudaProductSpills : public CudaSpills {
protected:
  void SetUp() override {
    DialectRegistry registry;
    ir::registerDialect(registry);
    context.appendDialectRegistry(registry);
    module = parseSourceString<ModuleOp>(products, &context);
    ASSERT_TRUE(module);
    function = *module->getOps<ir::FuncOp>().begin();
    llvm::append_range(ops, function.getOps<ir::DotGeneralOp>());
    ASSERT_EQ(ops.size(), 3u);
    ASSERT_EQ(kernels().size(), 3u);
  }
  std::vector<codegen::EmittedContraction> kernels() {
    auto emitted = codegen::emitContractions(*module, target);
    EXPECT_TRUE(emitted) << emitted.status().message();
    return emitted ? std::move(*emitted) : std::vector<codegen::EmittedContraction>();
  }
  std::vector<ir::DotGeneralOp> ops;
};

TEST_F(CudaProductSpills, EachProductGetsTheNextScheduleOfItsList) {
  const auto before = kernels();
  const auto others =
      codegen::contractionSchedulesAfterSpill(before[0].schedule, before[0].contraction, *target.getCuda());
  ASSERT_GT(others.size(), 2u);
  EXPECT_EQ(others[0].resident, before[0].schedule.resident - 1); // the same tile, with more registers
  EXPECT_EQ(others[0].blockM, before[0].schedule.blockM);
  EXPECT_LT(others[1].warpM * others[1].warpN, others[0].warpM * others[0].warpN);
  // Blocks of 256 threads spill, and the second product of the sum, which alone has a residual.
  const std::string residual = before[2].text;
  auto made = compile([&](llvm::StringRef text) {
    return text.contains("__launch_bounds__(256") || text == residual ? spilling(128) : fitting();
  });
  ASSERT_TRUE(made) << made.status().message();
  const auto after = kernels();
  ASSERT_EQ(after.size(), 3u);
  EXPECT_EQ(after[0].schedule.str(), others[1].str());
  EXPECT_EQ(after[0].uses.size(), 2u);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(ir::spilledKernels(ops[i]), ArrayRef<int64_t>({128, 128}));
  EXPECT_TRUE(ir::spilledKernels(ops[2], 0).empty());
  EXPECT_EQ(ir::spilledKernels(ops[2], 1), ArrayRef<int64_t>({128}));
  EXPECT_TRUE(after[1].text == before[1].text);
  EXPECT_TRUE(after[2].text != residual);
  // Each use has a decision, and each kernel that is used what `weft kernels` says of it.
  const std::vector<ir::Decision> decisions = ir::readDecisions(function);
  ASSERT_EQ(decisions.size(), 3u);
  for (const ir::Decision &decision : decisions) {
    EXPECT_EQ(decision.code, "WEFT-F012");
    EXPECT_EQ(decision.producer, "weft.dot_general");
  }
  EXPECT_EQ(decisions[0].message, "stores 4 and loads 12 bytes of registers in local memory, with 128 "
                                  "registers a thread, on cuda:sm_90; used instead: " +
                                      others[1].str());
  EXPECT_EQ(made->textSpills.lookup(after[0].symbol), decisions[0].message);
  EXPECT_EQ(made->textSpills.count(after[1].symbol), 0u);
  EXPECT_EQ(made->textSpills.count(after[2].symbol), 1u);
}

TEST_F(CudaProductSpills, TheFirstKernelIsUsedIfAllSpill) {
  const auto before = kernels();
  auto made = compile([](llvm::StringRef) { return spilling(64); });
  ASSERT_TRUE(made) << made.status().message();
  const auto after = kernels();
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_TRUE(after[i].text == before[i].text);
    EXPECT_NE(made->textSpills.lookup(after[i].symbol).find("so the first is used"), std::string::npos)
        << made->textSpills.lookup(after[i].symbol);
  }
  // What compiles the module once more, as a package does after `weft kernels`, comes to the same.
  ASSERT_TRUE(compile([](llvm::StringRef) { return spilling(64); }));
  EXPECT_TRUE(kernels()[0].text == before[0].text);
}

TEST_F(CudaSpills, AProgramOfTheHostHasNoTargetOfItsOwn) {
  auto made = codegen::compileCudaKernels(*module, ir::Target(), 1);
  ASSERT_FALSE(made);
  EXPECT_NE(made.status().message().find("'cpu' is no target with a GPU"), std::string::npos);
}

} // namespace
} // namespace weft::testing
