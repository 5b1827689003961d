//===- CudaEngineTest.cpp - Kernels of blocks on the PTX engine -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusions without reductions, compiled by NVRTC, whose PTX is run by test/cudasim in every order of warps and
// blocks, with and without race mode: each run gives the bits of the CPU's kernel.
//
//===----------------------------------------------------------------------===//
#include "CudaHarness.h"
#include "FusionCases.h"

#include "codegen/emit/StepGroups.h"
#include "ir/CudaSchedule.h"
#include "ir/Schedule.h"
#include "runtime/execution/FailureRecord.h"

#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
namespace weft::testing {

namespace {

/// The bytes of each buffer of a launch.
SmallVector<size_t> bufferBytes(ir::FusionOp fusion) {
  SmallVector<size_t> bytes;
  auto add = [&](Type type) { bytes.push_back(static_cast<size_t>(ir::bytesOf(type).asNumber())); };
  if (fusion.getKind() != ir::FusionKind::multi_tensor) {
    llvm::for_each(fusion.getOperandTypes(), add);
    llvm::for_each(fusion.getResultTypes(), add);
    return bytes;
  }
  const codegen::StepBuffers order = codegen::stepBuffers(fusion, codegen::stepGroups(fusion));
  for (unsigned operand : order.operands)
    add(fusion.getOperand(operand).getType());
  for (unsigned result : order.results)
    add(fusion.getResult(result).getType());
  return bytes;
}

/// Runs the blocks with the buffers of `frame`, which get the results.
void runBlocks(ir::FusionOp fusion, const EngineKernel &made, const runtime::KernelFrame &frame, size_t sizes,
               int64_t blocks, const EngineMode &mode) {
  cudasim::Memory memory(uint64_t(1) << 30);
  std::map<const void *, uint64_t> known; // a result may be in the storage of an operand
  std::vector<uint64_t> addresses;
  const SmallVector<size_t> bytes = bufferBytes(fusion);
  auto upload = [&](const void *from, size_t size) {
    const uint64_t address = memory.allocate(std::max<size_t>(size, 1));
    if (size > 0)
      std::memcpy(memory.host(address, size), from, size);
    return address;
  };
  for (auto [i, size] : llvm::enumerate(bytes)) {
    uint64_t &address = known[frame.buffers[i]];
    if (address == 0)
      address = upload(frame.buffers[i], size);
    addresses.push_back(address);
  }
  runtime::FailureRecord record;
  record.reset();
  KernelParameters parameters;
  for (int64_t slot : made.slots)
    parameters.add(addresses[static_cast<size_t>(slot)]);
  if (made.kernel.usesTable) {
    parameters.add(upload(addresses.data(), addresses.size() * 8));
    parameters.add(upload(frame.sizes, sizes * 8));
  }
  uint64_t failures = 0;
  if (made.kernel.usesChecks) {
    failures = upload(&record, sizeof record);
    for (uint64_t word : {failures, uint64_t(0), uint64_t(1), uint64_t(8)})
      parameters.add(word);
  }
  const cudasim::LaunchResult result = launchBlocks(made, memory, blocks, mode, parameters);
  EXPECT_TRUE(result.ok()) << result.fault->str() << "\n" << made.kernel.ptx;
  if (made.kernel.usesChecks) {
    std::memcpy(static_cast<void *>(&record), memory.host(failures, sizeof record), sizeof record);
    EXPECT_FALSE(record.failed());
  }
  for (auto [i, size] : llvm::enumerate(bytes))
    if (size > 0)
      std::memcpy(frame.buffers[i], memory.host(addresses[i], size), size);
}

SmallVector<FusionCase> elementCases() {
  using enum ir::FusionKind;
  SmallVector<FusionCase> found;
  for (const FusionCase &each : fusionCases())
    if (each.kind == loop || each.kind == update || each.kind == multi_tensor)
      found.push_back(each);
  return found;
}

std::string toText(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

/// The verifier holds the schedule for the same fusion on a GPU.
void expectVerified(const FusionCase &each, ir::ScheduleAttr schedule) {
  std::string text = each.text;
  const std::string host = "#cpu", device = "#weft.device<cuda:0>";
  for (size_t at = text.find(host); at != std::string::npos; at = text.find(host, at + device.size()))
    text.replace(at, host.size(), device);
  FusedProgram onDevice(text, each.kind);
  ASSERT_TRUE(onDevice.valid());
  onDevice.fusion.setScheduleAttr(
      cast<ir::ScheduleAttr>(parseAttribute(toText(schedule), onDevice.module->getContext())));
  EXPECT_TRUE(succeeded(ir::verifySchedule(onDevice.fusion, *onDevice.fusion.getSchedule())));
}

class CudaBlocks : public ::testing::TestWithParam<FusionCase> {};

} // namespace

TEST_P(CudaBlocks, GiveTheBitsOfTheCpuInEveryOrder) {
  if (const std::string why = whyNoEngine(); !why.empty())
    GTEST_SKIP() << why;
  const FusionCase &each = GetParam();
  FusedProgram program(each.text, each.kind);
  ASSERT_TRUE(program.valid());
  const auto arguments = program.randomArguments(12, 0.1, 1.5);
  const auto expected = bytesOf(program.run(arguments, runnableTargets().front(), each.inPlace));
  program.fusion.setScheduleAttr(ir::chooseCudaSchedule(program.fusion, hopper()));
  expectVerified(each, *program.fusion.getSchedule());
  if (ir::isFallback(program.fusion.getSchedule()->toSchedule()))
    GTEST_SKIP() << "few elements share an index: it has the fallback";
  std::optional<EngineKernel> kernel = compileForEngine(program.fusion);
  ASSERT_TRUE(kernel);
  for (const EngineMode &mode : everyEngineMode()) {
    const auto found = program.launch(arguments, each.inPlace, 0,
                                      [&](const runtime::KernelFrame &frame, size_t sizes, int64_t tasks) {
                                        runBlocks(program.fusion, *kernel, frame, sizes, tasks, mode);
                                      });
    EXPECT_EQ(bytesOf(found), expected) << mode.str();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaBlocks, ::testing::ValuesIn(elementCases()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace weft::testing
