//===- CudaImage.cpp - The kernels of a GPU in a package ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/CudaImage.h"

#include "codegen/PlanLaunches.h"
#include "codegen/PlanTables.h"
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/attention/EmitAttention.h"
#include "codegen/cuda/contractions/EmitContractions.h"
#include "codegen/cuda/contractions/EmitConvolutions.h"
#include "codegen/cuda/raw/EmitRaw.h"
#include "codegen/cuda/sorts/EmitSorts.h"
#include "codegen/kernel/KernelIR.h"
#include "ir/CudaSchedule.h"
#include "ir/Schedule.h"
#include "runtime/plan/plan_generated.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace weft::codegen {

CudaImage::CudaImage() = default;
CudaImage::~CudaImage() = default;
CudaImage::CudaImage(CudaImage &&) noexcept = default;

namespace {

std::unique_ptr<fb::DeviceKernelT> pack(const std::string &symbol, CudaKernel compiled) {
  auto kernel = std::make_unique<fb::DeviceKernelT>();
  kernel->symbol = symbol;
  kernel->cubin.assign(compiled.cubin.begin(), compiled.cubin.end());
  kernel->ptx = std::move(compiled.ptx);
  kernel->threads = compiled.threads;
  kernel->shared_bytes = compiled.dynamicShared;
  kernel->takes_table = compiled.usesTable;
  kernel->takes_checks = compiled.usesChecks;
  kernel->takes_predicate = compiled.usesPredicate;
  // Symbols are named by the number of the kernel's size.
  for (const ir::Size &divisor : compiled.divisors)
    kernel->divisors.push_back(packedSize(divisor, [](StringRef symbol) {
      uint32_t number = 0;
      symbol.drop_front().getAsInteger(10, number);
      return number;
    }));
  const CudaResources &used = compiled.resources;
  kernel->registers = used.registers;
  kernel->static_shared_bytes = used.sharedBytes;
  kernel->local_bytes = used.stackBytes;
  kernel->spill_bytes = used.spillStoreBytes + used.spillLoadBytes;
  return kernel;
}

void setPointers(fb::DeviceKernelT &kernel, size_t count) {
  llvm::append_range(kernel.pointers, llvm::seq<uint32_t>(0, static_cast<uint32_t>(count)));
}

/// What the kernel of a fusion knows of the addresses of its buffers, or of those in its table.
void setAlignments(fb::DeviceKernelT &kernel, ModuleOp module, func::FuncOp function) {
  const auto add = [&](Attribute given) {
    if (auto bytes = dyn_cast_or_null<IntegerAttr>(given))
      kernel.alignments.push_back(static_cast<uint32_t>(bytes.getInt()));
  };
  for (unsigned i = 0; i < kernel.pointers.size(); ++i)
    add(function.getArgAttr(i, alignmentAttribute));
  if (kernel.takes_table)
    for (auto each : module.getOps<func::FuncOp>())
      if (kernel.alignments.empty() && each.getNumResults() == 1)
        add(each.getResultAttr(0, alignmentAttribute));
}

/// The bytes of one access of each pointer: a, b, what the epilogue reads, and the result.
void setAlignments(fb::DeviceKernelT &kernel, const CudaContraction &contraction,
                   const ContractionSchedule &schedule) {
  const auto item = static_cast<int64_t>(itemsize(contraction.dtype));
  const auto add = [&](int64_t elements) {
    kernel.alignments.push_back(static_cast<uint32_t>(elements * item));
  };
  add(schedule.a.vector);
  add(schedule.b.vector);
  if (contraction.bias)
    add(1);
  if (contraction.residual)
    add(schedule.vectorC);
  if (contraction.windows)
    for (const ir::ConvolutionStep step : contraction.windows->epilogue)
      if (ir::readsOperand(step))
        add(step == ir::ConvolutionStep::residual ? schedule.vectorC : 1);
  kernel.alignments.push_back(
      static_cast<uint32_t>(schedule.vectorC * static_cast<int64_t>(itemsize(contraction.resultType()))));
}

/// The operands of a launch (runtime/plan/LaunchAccesses.h) are a, b, c, bias, residual, and a and b of each
/// further product. The pointers of a kernel are a, b, bias, residual and c, and the result so far is the
/// residual of a further product.
OwnKernel useOf(const EmittedContraction &emitted, const ContractionUse &use) {
  constexpr uint32_t c = 2;
  ir::DotGeneralOp op = use.op;
  const uint32_t bias = c + 1, residual = bias + (op.getBias() ? 1 : 0),
                 more = residual + (op.getResidual() ? 1 : 0);
  if (use.product > 0) {
    const uint32_t a = more + 2 * (use.product - 1);
    return {emitted.symbol, {a, a + 1, c, c}};
  }
  OwnKernel made{emitted.symbol, {0, 1}};
  if (emitted.contraction.bias)
    made.operands.push_back(bias);
  if (emitted.contraction.residual)
    made.operands.push_back(residual);
  made.operands.push_back(c);
  return made;
}

std::unique_ptr<fb::ProductKernelT> productOf(const EmittedContraction &emitted) {
  constexpr int64_t parameter = -1;
  const CudaContraction &contraction = emitted.contraction;
  auto product = std::make_unique<fb::ProductKernelT>();
  product->dtype = static_cast<uint8_t>(contraction.dtype);
  for (const Extent *extent : contraction.sizes())
    product->numbers.push_back(extent->isParameter ? parameter : extent->value);
  product->bias = contraction.bias;
  product->residual = contraction.residual;
  product->relu = contraction.relu;
  product->tile_m = static_cast<uint32_t>(emitted.schedule.blockM);
  product->tile_n = static_cast<uint32_t>(emitted.schedule.blockN);
  return product;
}

} // namespace

Status CudaImage::addFusion(const EmittedKernel &emitted, const KernelObject &object) {
  Expected<CudaKernel> compiled = CudaKernel::deserialize(*object);
  if (!compiled)
    return compiled.status();
  auto kernel = pack(emitted.symbol, std::move(*compiled));
  ModuleOp module = *emitted.module;
  auto function = module.lookupSymbol<func::FuncOp>(*kernelSymbol(module));
  for (int64_t buffer : function->getAttrOfType<DenseI64ArrayAttr>("weft.buffers").asArrayRef())
    kernel->pointers.push_back(static_cast<uint32_t>(buffer));
  setAlignments(*kernel, module, function);
  constexpr unsigned ownArguments = 4; // scratch, checks, begin, end
  kernel->sizes = function.getNumArguments() - static_cast<unsigned>(kernel->pointers.size()) - ownArguments;
  const ir::Schedule schedule = cast<ir::FusionOp>(emitted.fusions.front()).getSchedule()->toSchedule();
  kernel->block_tasks = ir::isFallback(schedule) ? ir::fallbackThreads : 1;
  kernels.emplace(emitted.symbol, std::move(kernel));
  return {};
}

template <typename Emitted, typename Fill>
Status CudaImage::addTexts(Expected<std::vector<Emitted>> emitted, const ir::Target &target, unsigned threads,
                           Fill &&fill) {
  if (!emitted)
    return emitted.status();
  auto compiled = compileCudaTexts(textsOf(*emitted), target.getCuda()->name, threads);
  if (!compiled)
    return compiled.status();
  for (auto [each, code] : llvm::zip_equal(*emitted, *compiled)) {
    auto kernel = pack(each.symbol, std::move(code));
    texts += each.symbol + "\n" + each.text + "\n";
    fill(each, *kernel);
    kernels.emplace(each.symbol, std::move(kernel));
  }
  return {};
}

Status CudaImage::addContractions(ModuleOp module, const ir::Target &target, unsigned threads) {
  return addTexts(emitContractions(module, target), target, threads,
                  [&](const EmittedContraction &each, fb::DeviceKernelT &kernel) {
                    setPointers(kernel, 3 + each.contraction.bias + each.contraction.residual);
                    setAlignments(kernel, each.contraction, each.schedule);
                    kernel.product = productOf(each);
                    kernel.sizes = static_cast<uint32_t>(llvm::count(kernel.product->numbers, -1));
                    for (const ContractionUse &use : each.uses) {
                      std::vector<OwnKernel> &ofLaunch = ownKernels[use.op];
                      ofLaunch.resize(std::max<size_t>(ofLaunch.size(), use.product + 1));
                      ofLaunch[use.product] = useOf(each, use);
                    }
                  });
}

Status CudaImage::addAttention(ModuleOp module, const ir::Target &target, unsigned threads) {
  return addTexts(
      emitAttention(module, target), target, threads,
      [&](const EmittedAttention &each, fb::DeviceKernelT &kernel) {
        setPointers(kernel, each.attention.operands.size());
        for (const auto &[operand, access] : llvm::zip_equal(each.attention.operands, each.schedule.accesses))
          kernel.alignments.push_back(
              static_cast<uint32_t>(access.vector * static_cast<int64_t>(itemsize(operand.dtype))));
        kernel.attention = std::make_unique<fb::AttentionLaunchT>(attentionLaunch(each.uses.front()));
        kernel.blocks = attentionBlocks(each.schedule, each.attention);
        OwnKernel own{each.symbol, {}};
        llvm::append_range(own.operands, kernel.pointers);
        for (ir::AttentionOp op : each.uses)
          ownKernels[op] = {own};
      });
}

/// The operands of a launch are a, w, y and what its steps read; the pointers of a kernel are w, a, what the
/// steps read, and y.
Status CudaImage::addConvolutions(ModuleOp module, const ir::Target &target, unsigned threads) {
  return addTexts(emitConvolutions(module, target), target, threads,
                  [&](const EmittedConvolution &each, fb::DeviceKernelT &kernel) {
                    const CudaContraction &contraction = each.contraction;
                    const size_t beside = contraction.windows->besideCount();
                    setPointers(kernel, 3 + beside);
                    setAlignments(kernel, contraction, each.schedule);
                    kernel.convolution = std::make_unique<fb::ConvolutionKernelT>();
                    kernel.convolution->launch =
                        std::make_unique<fb::ConvolutionLaunchT>(convolutionLaunch(each.uses.front()));
                    kernel.convolution->tile_m = static_cast<uint32_t>(each.schedule.blockM);
                    kernel.convolution->tile_n = static_cast<uint32_t>(each.schedule.blockN);
                    kernel.sizes = uint32_t(contraction.n.isParameter) + uint32_t(contraction.k.isParameter);
                    OwnKernel own{each.symbol, {1, 0}};
                    for (uint32_t i = 0; i < beside; ++i)
                      own.operands.push_back(3 + i);
                    own.operands.push_back(2);
                    for (ir::ImplicitGemmOp op : each.uses)
                      ownKernels[op] = {own};
                  });
}

/// The operands of a launch and the pointers of a kernel are source, values and indices.
Status CudaImage::addSorts(ModuleOp module, const ir::Target &target, unsigned threads) {
  return addTexts(emitSorts(module, target), target, threads,
                  [&](const EmittedSort &each, fb::DeviceKernelT &kernel) {
                    setPointers(kernel, 3);
                    kernel.sizes = 1; // the rows
                    kernel.sort = std::make_unique<fb::SortKernelT>();
                    kernel.sort->dtype = static_cast<uint8_t>(each.schedule.dtype);
                    kernel.sort->extent = each.schedule.block.extent;
                    kernel.sort->count = each.schedule.count;
                    kernel.sort->descending = each.schedule.descending;
                    kernel.sort->block_rows = static_cast<uint32_t>(each.schedule.block.rows);
                    for (ir::SortOp op : each.uses)
                      ownKernels[op] = {OwnKernel{each.symbol, {0, 1, 2}}};
                  });
}

Status CudaImage::addRawKernels(ModuleOp module, const ir::Target &target) {
  for (const EmittedRaw &each : emitRawKernels(module, target)) {
    Expected<RawCode> code = compileRaw(each, *target.getCuda());
    if (!code)
      return code.status();
    texts += each.symbol + " " + each.entry + "\n" + each.text + "\n";
    auto kernel = pack(each.symbol, std::move(code->kernel));
    kernel->raw = std::make_unique<fb::RawKernelT>();
    kernel->raw->entry = each.entry;
    kernel->raw->parameters = std::move(code->parameters);
    kernels.emplace(each.symbol, std::move(kernel));
    for (ir::RawKernelOp op : each.uses)
      ownKernels[op] = {OwnKernel{each.symbol, {}}};
  }
  return {};
}

Status CudaImage::add(ModuleOp module, const ir::Target &target, const CudaKernels &fusions,
                      unsigned threads) {
  for (auto [kernel, object] : llvm::zip_equal(fusions.kernels, fusions.objects))
    if (object)
      if (Status status = addFusion(kernel, object); !status)
        return status;
  if (Status status = addContractions(module, target, threads); !status)
    return status;
  if (Status status = addAttention(module, target, threads); !status)
    return status;
  if (Status status = addConvolutions(module, target, threads); !status)
    return status;
  if (Status status = addSorts(module, target, threads); !status)
    return status;
  return addRawKernels(module, target);
}

std::vector<std::byte> CudaImage::bytes(const ir::Target &target, ArrayRef<std::byte> signatures,
                                        uint64_t binding) const {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::DeviceKernel>> packed;
  for (const auto &[symbol, kernel] : kernels)
    packed.push_back(fb::DeviceKernel::Pack(builder, kernel.get()));
  const auto list = builder.CreateVector(packed);
  const auto signatureBytes =
      builder.CreateVector(reinterpret_cast<const uint8_t *>(signatures.data()), signatures.size());
  const auto architecture = builder.CreateString(target.getCuda()->name.str());
  builder.Finish(fb::CreateDeviceImage(builder, architecture, list, signatureBytes, binding));
  const auto *data = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  return {data, data + builder.GetSize()};
}

} // namespace weft::codegen
