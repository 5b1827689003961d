//===- LibraryKernels.cpp - Kernels of our own for libraries' launches ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LibraryKernels.h"

#include "codegen/cuda/contractions/EmitContractions.h"
#include "codegen/kernel/KernelCache.h"
#include "runtime/plan/plan_generated.h"

#include <algorithm>

using namespace mlir;
namespace weft::cudasim {

using codegen::ContractionUse;
using codegen::CudaContraction;
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

/// The launches of products in their order, which is that of their ops.
std::vector<size_t> productLaunches(const fb::Plan &plan) {
  std::vector<size_t> numbers;
  for (uint32_t i = 0; plan.launches() && i < plan.launches()->size(); ++i)
    if (plan.launches()->Get(i)->op_as_ContractionLaunch())
      numbers.push_back(i);
  return numbers;
}

Expected<DeviceKernel> compile(const EmittedContraction &emitted, const codegen::CudaTextCompiler &compiler) {
  auto object = codegen::KernelCache::global().get(emitted.text, emitted.symbol, compiler);
  if (!object)
    return object.status();
  Expected<DeviceKernel> kernel = readKernel(emitted.symbol, **object);
  if (!kernel)
    return kernel.status();
  kernel->text = emitted.text;
  kernel->dynamicShared = static_cast<uint32_t>(emitted.sharedBytes);
  const size_t pointers = 3 + emitted.contraction.bias + emitted.contraction.residual;
  for (size_t i = 0; i < pointers; ++i)
    kernel->slots.push_back(static_cast<int64_t>(i));
  kernel->sizeCount = static_cast<uint32_t>(
      llvm::count_if(emitted.contraction.sizes(), [](const auto *extent) { return extent->isParameter; }));
  return kernel;
}

Status addContractions(LibraryKernels &library, ModuleOp module, ir::FuncOp function, const fb::Plan &plan,
                       const ir::Target &target) {
  auto emitted = codegen::emitContractions(module, target);
  if (!emitted)
    return emitted.status();
  auto compiler = codegen::CudaTextCompiler::make(target.getCuda()->name);
  if (!compiler)
    return compiler.status();
  llvm::DenseMap<Operation *, size_t> numbers;
  for (auto [op, number] : llvm::zip_equal(function.getOps<ir::DotGeneralOp>(), productLaunches(plan)))
    numbers[op] = number;
  for (const EmittedContraction &each : *emitted) {
    Expected<DeviceKernel> kernel = compile(each, *compiler);
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

} // namespace

Expected<LibraryKernels> compileLibraryKernels(ModuleOp module, StringRef function, const fb::Plan &plan,
                                               const ir::Target &target) {
  LibraryKernels library;
  const auto before = codegen::KernelCache::global().counters().compiled;
  auto found = module.lookupSymbol<ir::FuncOp>(function);
  if (Status status = addContractions(library, module, found, plan, target); !status)
    return status;
  library.compiled = static_cast<unsigned>(codegen::KernelCache::global().counters().compiled - before);
  return library;
}

} // namespace weft::cudasim
