//===- LibraryKernels.cpp - Kernels of our own for libraries' launches ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LibraryKernels.h"

#include "codegen/cuda/attention/EmitAttention.h"
#include "codegen/cuda/contractions/EmitContractions.h"
#include "codegen/kernel/KernelCache.h"
#include "runtime/plan/plan_generated.h"

#include <algorithm>

using namespace mlir;
namespace weft::cudasim {

using codegen::ContractionUse;
using codegen::CudaContraction;
using codegen::EmittedAttention;
using codegen::EmittedContraction;

namespace {

/// The extents and strides of a launch, in the order of CudaContraction::sizes().
std::array<int64_t, 12> sizesOf(const fb::ContractionLaunch &launch) {
  std::array<int64_t, 12> sizes = {launch.m(), launch.n(), launch.k()};
  for (uint32_t i = 0; i < 3; ++i) {
    sizes[3 + i] = launch.a_strides()->Get(i);
    sizes[6 + i] = launch.b_strides()->Get(i);
    sizes[9 + i] = launch.c_strides()->Get(i);
  }
  return sizes;
}

Expected<LibraryGrid> gridOf(const CudaContraction &contraction, const codegen::ContractionSchedule &schedule,
                             const fb::Launch &launch) {
  const fb::ContractionLaunch &product = *launch.op_as_ContractionLaunch();
  Expected<int64_t> blocks = codegen::contractionBlocks(schedule, product.batch(), product.m(), product.n());
  if (!blocks)
    return blocks.status();
  LibraryGrid grid;
  grid.blocks = *blocks;
  for (auto [extent, value] : llvm::zip_equal(contraction.sizes(), sizesOf(product)))
    if (extent->isParameter)
      grid.sizes.push_back(value);
  const int64_t steps = (product.k() + schedule.blockK - 1) / schedule.blockK;
  grid.multiplyAdds =
      static_cast<uint64_t>(*blocks * schedule.blockM * schedule.blockN * steps * schedule.blockK);
  return grid;
}

/// A launch has the operands a, b, c, bias, residual, and a and b of each further product. The result so far
/// is the residual of a further product.
std::vector<LibraryOperand> operandsOf(const ContractionUse &use, const CudaContraction &contraction) {
  constexpr uint32_t c = 2;
  ir::DotGeneralOp op = use.op;
  const uint32_t bias = c + 1, residual = bias + (op.getBias() ? 1 : 0),
                 more = residual + (op.getResidual() ? 1 : 0);
  if (use.product > 0) {
    const uint32_t a = more + 2 * (use.product - 1);
    return {{a}, {a + 1}, {c}, {c, true}};
  }
  std::vector<LibraryOperand> operands = {{0}, {1}};
  if (contraction.bias)
    operands.push_back({bias});
  if (contraction.residual)
    operands.push_back({residual});
  operands.push_back({c, true});
  return operands;
}

/// The launches of one kind in their order, which is that of their ops.
std::vector<size_t> launchesOf(const fb::Plan &plan, fb::LaunchOp kind) {
  std::vector<size_t> numbers;
  for (uint32_t i = 0; plan.launches() && i < plan.launches()->size(); ++i)
    if (plan.launches()->Get(i)->op_type() == kind)
      numbers.push_back(i);
  return numbers;
}

/// A kernel with so many pointers and parameters that are sizes.
template <typename Emitted>
Expected<DeviceKernel> compile(const Emitted &emitted, size_t pointers, size_t sizes,
                               const codegen::CudaTextCompiler &compiler) {
  auto object = codegen::KernelCache::global().get(emitted.text, emitted.symbol, compiler);
  if (!object)
    return object.status();
  Expected<DeviceKernel> kernel = readKernel(emitted.symbol, **object);
  if (!kernel)
    return kernel.status();
  if (Status status = checkSpills(*kernel, compiler.target()); !status)
    return status;
  kernel->text = emitted.text;
  kernel->dynamicShared = static_cast<uint32_t>(emitted.sharedBytes);
  for (size_t i = 0; i < pointers; ++i)
    kernel->slots.push_back(static_cast<int64_t>(i));
  kernel->sizeCount = static_cast<uint32_t>(sizes);
  return kernel;
}

Status addContractions(LibraryKernels &library, ModuleOp module, ir::FuncOp function, const fb::Plan &plan,
                       const ir::Target &target, const codegen::CudaTextCompiler &compiler) {
  auto emitted = codegen::emitContractions(module, target);
  if (!emitted)
    return emitted.status();
  llvm::DenseMap<Operation *, size_t> numbers;
  for (auto [op, number] : llvm::zip_equal(function.getOps<ir::DotGeneralOp>(),
                                           launchesOf(plan, fb::LaunchOp::ContractionLaunch)))
    numbers[op] = number;
  for (const EmittedContraction &each : *emitted) {
    const auto sizes =
        llvm::count_if(each.contraction.sizes(), [](const auto *extent) { return extent->isParameter; });
    Expected<DeviceKernel> kernel = compile(each, 3 + each.contraction.bias + each.contraction.residual,
                                            static_cast<size_t>(sizes), compiler);
    if (!kernel)
      return kernel.status();
    library.kernels.emplace(each.symbol, std::move(*kernel));
    const auto grid = [contraction = each.contraction, schedule = each.schedule](const fb::Launch &numbers) {
      return gridOf(contraction, schedule, numbers);
    };
    for (const ContractionUse &use : each.uses) {
      const auto found = numbers.find(use.op);
      if (found == numbers.end()) // of another function
        continue;
      std::vector<LibraryKernel> &launch = library.launches[found->second];
      launch.resize(std::max<size_t>(launch.size(), use.product + 1));
      launch[use.product] = {each.symbol, operandsOf(use, each.contraction), grid};
    }
  }
  return {};
}

/// Products of a launch of attention with their tiles; those of a derivative compute scores twice.
uint64_t multiplyAddsOf(const EmittedAttention &each) {
  const ir::AttentionExtents &e = each.attention.extents;
  const codegen::AttentionSchedule &s = each.schedule;
  auto whole = [](int64_t extent, int64_t tile) { return (extent + tile - 1) / tile * tile; };
  const int64_t features = s.padded(e.features), values = s.padded(e.values);
  int64_t products = whole(e.rows, s.own()) * whole(e.keys, s.others) *
                     (each.attention.backward ? 2 * features + values : features + values);
  if (each.attention.backward)
    products += whole(e.keys, s.own()) * whole(e.rows, s.others) * 2 * (features + values);
  return static_cast<uint64_t>(products * e.batchCount());
}

Status addAttention(LibraryKernels &library, ModuleOp module, ir::FuncOp function, const fb::Plan &plan,
                    const ir::Target &target, const codegen::CudaTextCompiler &compiler) {
  auto emitted = codegen::emitAttention(module, target);
  if (!emitted)
    return emitted.status();
  llvm::DenseMap<Operation *, size_t> numbers;
  for (auto [op, number] :
       llvm::zip_equal(function.getOps<ir::AttentionOp>(), launchesOf(plan, fb::LaunchOp::AttentionLaunch)))
    numbers[op] = number;
  for (const EmittedAttention &each : *emitted) {
    Expected<DeviceKernel> kernel = compile(each, each.attention.operands.size(), 0, compiler);
    if (!kernel)
      return kernel.status();
    library.kernels.emplace(each.symbol, std::move(*kernel));
    LibraryKernel launch;
    launch.symbol = each.symbol;
    for (const codegen::AttentionOperand &operand : each.attention.operands)
      launch.operands.push_back({static_cast<uint32_t>(launch.operands.size()), operand.isWritten});
    launch.grid = [grid = LibraryGrid{codegen::attentionBlocks(each.schedule, each.attention),
                                      {},
                                      multiplyAddsOf(each)}](const fb::Launch &) -> Expected<LibraryGrid> {
      return grid;
    };
    for (ir::AttentionOp op : each.uses)
      if (const auto found = numbers.find(op); found != numbers.end())
        library.launches[found->second] = {launch};
  }
  return {};
}

} // namespace

Expected<LibraryKernels> compileLibraryKernels(ModuleOp module, StringRef function, const fb::Plan &plan,
                                               const ir::Target &target) {
  LibraryKernels library;
  const auto before = codegen::KernelCache::global().counters().compiled;
  auto found = module.lookupSymbol<ir::FuncOp>(function);
  auto compiler = codegen::CudaTextCompiler::make(target.getCuda()->name);
  if (!compiler)
    return compiler.status();
  if (Status status = addContractions(library, module, found, plan, target, *compiler); !status)
    return status;
  if (Status status = addAttention(library, module, found, plan, target, *compiler); !status)
    return status;
  library.compiled = static_cast<unsigned>(codegen::KernelCache::global().counters().compiled - before);
  return library;
}

} // namespace weft::cudasim
