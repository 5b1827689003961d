//===- ExecuteHarness.cpp -------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "codegen/KernelTargets.h"
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/StepGroups.h"
#include "ir/Schedule.h"
#include "ir/interp/Interpreter.h"
#include "runtime/plan/StepTable.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <chrono>
#include <cmath>
#include <random>

using namespace mlir;
namespace weft::testing {

static MLIRContext &weftContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    ir::registerDialect(registry);
    codegen::registerKernelDialects(registry);
    registry.insert<gpu::GPUDialect>();
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

FusedProgram::FusedProgram(const std::string &text, ir::FusionKind kind) {
  module = parseSourceString<ModuleOp>("#cpu = #weft.device<cpu>\n" + text, &weftContext());
  if (!module) {
    ADD_FAILURE() << "cannot parse\n" << text;
    return;
  }
  function = *module->getOps<ir::FuncOp>().begin();
  Block &block = function.getBody().front();
  Operation *end = block.getTerminator();
  OpBuilder b(end);
  auto made = b.create<ir::FusionOp>(function.getLoc(), end->getOperandTypes(), block.getArguments(), kind,
                                     ir::ScheduleAttr(), ArrayAttr(), DenseI64ArrayAttr());
  Block *body = b.createBlock(&made.getBody(), {}, block.getArgumentTypes(),
                              SmallVector<Location>(block.getNumArguments(), function.getLoc()));
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (&op != made)
      op.moveBefore(body, body->end());
  b.setInsertionPointToEnd(body);
  b.create<ir::YieldOp>(function.getLoc(), end->getOperands());
  for (auto [outer, inner] : llvm::zip(block.getArguments(), body->getArguments()))
    outer.replaceUsesWithIf(inner, [&](OpOperand &use) { return use.getOwner()->getBlock() == body; });
  end->setOperands(made.getResults());
  made.setScheduleAttr(ir::chooseSchedule(made, ir::cpuDescription()));
  if (failed(verify(*module))) {
    ADD_FAILURE() << "not valid as one fusion:\n" << text;
    return;
  }
  fusion = made;
}

std::vector<ir::Literal> FusedProgram::interpret(const std::vector<ir::Literal> &arguments) {
  auto results = ir::interpretFunction(function, arguments);
  if (failed(results)) {
    ADD_FAILURE() << "the interpreter refuses the program";
    return {};
  }
  return {std::make_move_iterator(results->begin()), std::make_move_iterator(results->end())};
}

FusedProgram::Loaded FusedProgram::build(codegen::CpuTarget target, const codegen::KernelTarget &kernels) {
  Loaded loaded;
  auto kernel = codegen::emitKernel(fusion, "kernel", kernels);
  if (!kernel) {
    ADD_FAILURE() << kernel.status().message();
    return loaded;
  }
  kernelText.clear();
  llvm::raw_string_ostream os(kernelText);
  (*kernel)->print(os);
  if (&kernels != &codegen::cpuKernels())
    if (Status status = lowerBlocks(**kernel); !status) {
      ADD_FAILURE() << status.message() << "\n" << kernelText;
      return loaded;
    }
  auto object = codegen::compileKernelToObject(**kernel, target);
  if (!object) {
    ADD_FAILURE() << object.status().message() << "\n" << kernelText;
    return loaded;
  }
  auto image =
      codegen::linkImage({{"kernel", std::make_shared<const std::vector<char>>(std::move(*object))}});
  if (!image) {
    ADD_FAILURE() << image.status().message();
    return loaded;
  }
  loaded.image = std::make_unique<LoadedImage>(*image);
  loaded.fn = loaded.image->function("kernel");
  return loaded;
}

namespace {
/// Memory of one tensor, aligned, with a margin that must not be touched.
struct Memory {
  explicit Memory(size_t bytes) : bytes(bytes), storage(bytes + 2 * margin + 64, std::byte{0xA5}) {
    auto at = reinterpret_cast<uintptr_t>(storage.data()) + margin;
    data = reinterpret_cast<std::byte *>((at + 63) / 64 * 64);
  }
  bool intact() const {
    for (const std::byte *p = storage.data(); p < data; ++p)
      if (*p != std::byte{0xA5})
        return false;
    for (const std::byte *p = data + bytes; p < storage.data() + storage.size(); ++p)
      if (*p != std::byte{0xA5})
        return false;
    return true;
  }
  static constexpr size_t margin = 128;
  size_t bytes;
  std::vector<std::byte> storage;
  std::byte *data;
};
} // namespace

namespace {
/// The arguments of a kernel besides scratch: pointers to its operands and results, given in the order of the
/// fusion, and its sizes.
struct LaunchArguments {
  std::vector<void *> buffers;
  std::vector<int64_t> sizes;

  LaunchArguments(ir::FusionOp fusion, std::vector<void *> given) : buffers(std::move(given)) {
    if (fusion.getKind() != ir::FusionKind::multi_tensor)
      return;
    const SmallVector<codegen::StepGroup> groups = codegen::stepGroups(fusion);
    const codegen::StepBuffers order = codegen::stepBuffers(fusion, groups);
    std::vector<void *> ordered;
    for (unsigned operand : order.operands)
      ordered.push_back(buffers[operand]);
    for (unsigned result : order.results)
      ordered.push_back(buffers[fusion.getNumOperands() + result]);
    buffers = std::move(ordered);
    std::vector<runtime::StepGroupCounts> counts;
    std::vector<int64_t> elements;
    for (const codegen::StepGroup &group : groups)
      counts.push_back({group.steps.size(), group.numbers().size(), group.reads, group.writes});
    for (ir::Size count : codegen::stepElements(groups))
      elements.push_back(count.asNumber());
    sizes = runtime::step_table(counts, elements, fusion.getSchedule()->number(ir::ScheduleField::chunk));
  }
  runtime::KernelFrame frame(std::byte *scratch, runtime::CheckRecord &check) const {
    return {buffers.data(), sizes.data(), importTable(), scratch, &check};
  }
};
} // namespace

std::vector<ir::Literal> FusedProgram::launch(const std::vector<ir::Literal> &arguments,
                                              const std::vector<int> &inPlace, int64_t ownScratch,
                                              Launch run) {
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<void *> buffers;
  for (const ir::Literal &argument : arguments) {
    memory.push_back(
        std::make_unique<Memory>(static_cast<size_t>(argument.count()) * itemsize(argument.dtype)));
    argument.toBytes(memory.back()->data);
    buffers.push_back(memory.back()->data);
  }
  for (auto [i, type] : llvm::enumerate(fusion.getResultTypes())) {
    if (i < inPlace.size() && inPlace[i] >= 0) {
      buffers.push_back(buffers[static_cast<size_t>(inPlace[i])]);
      continue;
    }
    memory.push_back(std::make_unique<Memory>(static_cast<size_t>(ir::bytesOf(type).asNumber())));
    buffers.push_back(memory.back()->data);
  }
  ir::ScheduleAttr schedule = *fusion.getSchedule();
  Memory scratch(static_cast<size_t>(schedule.getScratch() + ownScratch));
  check = {};
  const LaunchArguments given(fusion, buffers);
  const runtime::KernelFrame frame = given.frame(scratch.data, check);
  run(frame, given.sizes.size(), schedule.getTasks().asNumber());
  for (auto &one : memory)
    EXPECT_TRUE(one->intact()) << "the kernel writes beside a buffer\n" << kernelText;
  EXPECT_TRUE(scratch.intact()) << "the kernel writes beside its scratch\n" << kernelText;
  std::vector<ir::Literal> results;
  for (auto [i, type] : llvm::enumerate(fusion.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    results.push_back(
        ir::Literal::fromBytes(ir::dtypeOf(type), tensor.getShape(), buffers[arguments.size() + i]));
  }
  return results;
}

std::vector<ir::Literal> FusedProgram::run(const std::vector<ir::Literal> &arguments,
                                           codegen::CpuTarget target, std::vector<int> inPlace) {
  Loaded loaded = build(target);
  if (!loaded.fn)
    return {};
  auto results = launch(arguments, inPlace, 0, [&](const runtime::KernelFrame &frame, size_t, int64_t tasks) {
    // In three runs, the last first: tasks are independent of each other.
    int64_t a = tasks / 3, b = tasks - tasks / 4;
    loaded.fn(&frame, b, tasks);
    loaded.fn(&frame, 0, a);
    loaded.fn(&frame, a, b);
  });
  if (testLevel() == "ci" || testLevel() == "full")
    expectSameInBlocks(arguments, results, inPlace);
  return results;
}

/// Every kernel of a shared skeleton, where there is time for it.
void FusedProgram::expectSameInBlocks(const std::vector<ir::Literal> &arguments,
                                      const std::vector<ir::Literal> &expected,
                                      const std::vector<int> &inPlace) {
  static const BlockTarget blocks(32);
  if (!blocks.blocks.skeletons[static_cast<size_t>(codegen::kernelForm(fusion))])
    return;
  const runtime::CheckRecord record = check;
  const std::string text = kernelText;
  const auto found = runInBlocks(arguments, blocks, ThreadOrder::descending, inPlace);
  EXPECT_EQ(bytesOf(found), bytesOf(expected)) << kernelText;
  EXPECT_EQ(check.position, record.position);
  check = record;
  kernelText = text;
}

std::vector<std::vector<std::byte>> bytesOf(const std::vector<ir::Literal> &results) {
  std::vector<std::vector<std::byte>> bytes;
  for (const ir::Literal &result : results) {
    auto &own = bytes.emplace_back(static_cast<size_t>(result.count()) * itemsize(result.dtype));
    result.toBytes(own.data());
  }
  return bytes;
}

std::vector<ir::Literal> FusedProgram::runInBlocks(const std::vector<ir::Literal> &arguments,
                                                   const BlockTarget &blocks, ThreadOrder order,
                                                   std::vector<int> inPlace) {
  Loaded loaded = build(runnableTargets().front(), blocks.blocks);
  if (!loaded.fn)
    return {};
  const bool isOneThread = ir::isFallback(fusion.getSchedule()->toSchedule());
  const int64_t ownScratch = isOneThread ? 0 : BlockMapping(blocks.threads).ownScratch();
  return launch(arguments, inPlace, ownScratch,
                [&](const runtime::KernelFrame &frame, size_t sizes, int64_t tasks) {
                  runBlocks(loaded.fn, frame, sizes, tasks, blocks.threads, isOneThread, order);
                });
}

double FusedProgram::time(const std::vector<ir::Literal> &arguments, codegen::CpuTarget target, int repeats) {
  Loaded loaded = build(target);
  if (!loaded.fn)
    return 0;
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<void *> buffers;
  for (const ir::Literal &argument : arguments) {
    memory.push_back(
        std::make_unique<Memory>(static_cast<size_t>(argument.count()) * itemsize(argument.dtype)));
    argument.toBytes(memory.back()->data);
    buffers.push_back(memory.back()->data);
  }
  for (Type type : fusion.getResultTypes()) {
    memory.push_back(std::make_unique<Memory>(static_cast<size_t>(ir::bytesOf(type).asNumber())));
    buffers.push_back(memory.back()->data);
  }
  Memory scratch(static_cast<size_t>(fusion.getSchedule()->getScratch()));
  runtime::CheckRecord record;
  const LaunchArguments launch(fusion, buffers);
  const runtime::KernelFrame frame = launch.frame(scratch.data, record);
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    auto start = std::chrono::steady_clock::now();
    loaded.fn(&frame, 0, fusion.getSchedule()->getTasks().asNumber());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

std::vector<ir::Literal> FusedProgram::randomArguments(uint64_t seed, double low, double high) {
  std::mt19937_64 random(seed);
  std::vector<ir::Literal> arguments;
  for (Type type : function.getArgumentTypes()) {
    ir::Literal literal(cast<RankedTensorType>(type));
    std::uniform_real_distribution<double> real(low, high);
    for (int64_t i = 0, e = literal.count(); i < e; ++i) {
      if (literal.isReal())
        literal.setReal(i, real(random));
      else
        literal.setWhole(i, static_cast<int64_t>(random() % 8));
    }
    arguments.push_back(std::move(literal));
  }
  return arguments;
}

std::string replaced(std::string text, ArrayRef<std::pair<StringRef, std::string>> replacements) {
  for (const auto &[what, by] : replacements)
    for (size_t at = 0; (at = text.find(what.str(), at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
  return text;
}

double distance(const ir::Literal &expected, const ir::Literal &found, double floor) {
  double worst = 0;
  int digits = 0;
  switch (expected.dtype) {
  case DType::f16:
    digits = 11;
    break;
  case DType::bf16:
    digits = 8;
    break;
  case DType::f32:
    digits = 24;
    break;
  default:
    digits = 53;
    break;
  }
  for (int64_t i = 0, e = expected.count(); i < e; ++i) {
    if (!expected.isReal()) {
      worst = std::max(
          worst, std::fabs(static_cast<double>(expected.whole[i]) - static_cast<double>(found.whole[i])));
      continue;
    }
    double a = expected.real[i], b = found.real[i];
    if (std::isnan(a) && std::isnan(b))
      continue;
    if (a == b)
      continue;
    if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b))
      return std::numeric_limits<double>::infinity();
    double unit = std::ldexp(1.0, std::ilogb(std::max(std::fabs(a), floor)) - digits + 1);
    worst = std::max(worst, std::fabs(a - b) / unit);
  }
  return worst;
}

} // namespace weft::testing
