//===- PlanWriter.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/PlanWriter.h"

#include "codegen/LaunchAmounts.h"
#include "codegen/PlanConstants.h"
#include "codegen/PlanLaunches.h"
#include "codegen/PlanTables.h"

#include "codegen/emit/StepGroups.h"
#include "ir/Attention.h"
#include "ir/Contraction.h"
#include "ir/Decisions.h"
#include "ir/ImplicitGemm.h"
#include "ir/LaunchAttributes.h"
#include "ir/Loops.h"
#include "ir/RawKernel.h"
#include "ir/RecordedLocation.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"
#include "ir/ValuesOnly.h"
#include "passes/launch/LaunchList.h"
#include "passes/launch/LaunchStorage.h"
#include "runtime/package/Kernel.h"
#include "runtime/plan/FailureKey.h"
#include "runtime/plan/KernelSignature.h"
#include "runtime/plan/LoopPlan.h"
#include "runtime/plan/PlanSegments.h"
#include "runtime/plan/plan_generated.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::codegen {

namespace rt = weft::fb;

SmallVector<GatherOp> checksOf(FusionOp fusion) {
  SmallVector<GatherOp> checks;
  for (auto gather : fusion.getBody().front().getOps<GatherOp>())
    if (checksIndex(gather))
      checks.push_back(gather);
  return checks;
}

namespace {

/// "64x3x3 to 64 at 32x32" of a convolution: channels and window, outputs, places.
static std::string convolutionText(ImplicitGemmOp op) {
  auto joined = [](ArrayRef<int64_t> numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "" : "x") + std::to_string(number);
    return text;
  };
  ArrayRef<Size> shape = op.getShape();
  std::string steps;
  for (const StepOperand &each : epilogueOf(op))
    steps += " + " + convolutionStepNames[static_cast<size_t>(each.step)].str();
  return sizeText(shape[2]) + "x" + joined(op.getWindow()) + " to " + sizeText(shape[3]) + " at " +
         joined(op.getPlaces()) + (op.getWinograd() ? " by Winograd's method" : "") + steps;
}

class Writer : PlanTables {
public:
  Writer(FuncOp function, const DenseMap<Operation *, std::string> &symbols, const OwnKernels &own)
      : PlanTables(function), symbols(symbols), own(own) {}

  Expected<PlanBytes> run(const std::string &target, runtime::KernelSigner &signer) {
    plan.function = function.getName().str();
    plan.target = target;
    plan.kernel_abi = runtime::kernelAbi;
    plan.image = "image." + target;
    if (Status status = fillTables(); !status)
      return status;
    for (Operation &op : function.getBody().front()) {
      Status status;
      if (auto constant = dyn_cast<ConstantOp>(op))
        status = appendConstant(constant, constants);
      else if (auto fusion = dyn_cast<FusionOp>(op))
        status = addKernel(fusion);
      else if (auto dot = dyn_cast<DotGeneralOp>(op))
        status = addContraction(dot);
      else if (auto attention = dyn_cast<AttentionOp>(op))
        status = addAttention(attention);
      else if (auto convolution = dyn_cast<ImplicitGemmOp>(op))
        status = addConvolution(convolution);
      else if (auto sort = dyn_cast<SortOp>(op))
        status = addSort(sort);
      else if (isa<FactorizeOp, TriangularSolveOp>(op))
        status = addMatrices(&op);
      else if (auto fourier = dyn_cast<FftOp>(op))
        status = addFourier(fourier);
      else if (auto scan = dyn_cast<ScanOp>(op))
        status = addLoop(scan);
      else if (auto cond = dyn_cast<CondOp>(op))
        status = addBranch(cond);
      else if (auto loop = dyn_cast<WhileOp>(op))
        status = addWhile(loop);
      else if (auto raw = dyn_cast<RawKernelOp>(op))
        status = addRaw(raw);
      else if (isa<ToHostScalarOp, TransferOp>(op))
        status = addCopy(&op);
      else if (auto print = dyn_cast<PrintOp>(op))
        status = addHost(print, rt::HostAction::print, print.getA(), print.getLabel());
      else if (auto require = dyn_cast<AssertOp>(op))
        status = addHost(require, rt::HostAction::require, require.getCondition(), require.getMessage());
      // A plan needs no ops of order, because a call issues its launches in the order of the list, on one
      // stream per device. The runtime orders a copy after earlier work on its two devices and, if it reads
      // or writes memory of the host, after such copies of other devices.
      else if (!isa<ReturnOp, UndefOp>(op) && !isStorageView(&op) && !isOrder(&op))
        status = problem(&op, "is not part of a launch list; run the whole pipeline first");
      if (!status)
        return status;
    }
    if (lacksSize())
      return Status::error(
          "the plan of '" + plan.function +
          "' has a size that cannot be expressed; give its tensors fewer symbols, or smaller "
          "sizes");
    if (Status status = addFailureKey(); !status)
      return status;
    signer.sign(plan);
    addSegments();
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(rt::Plan::Pack(builder, &plan), rt::PlanIdentifier());
    const auto *data = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
    const bool launchesKernels = llvm::any_of(plan.launches, [](const auto &launch) {
      return launch->op.type == rt::LaunchOp::KernelLaunch || !launch->own.empty();
    });
    return PlanBytes{{data, data + builder.GetSize()}, std::move(constants), launchesKernels};
  }

private:
  /// The type of an operand or result on the device that carries out a launch. Of a copy between the host and
  /// another device, that is the other device.
  static Type carrierOf(Operation *op) {
    if (op->getNumResults() && !deviceOf(op->getResult(0).getType()).isCpu())
      return op->getResult(0).getType();
    return op->getNumOperands() ? op->getOperand(0).getType() : op->getResult(0).getType();
  }

  std::unique_ptr<rt::LaunchT> launch(Operation *op, std::string name) {
    auto made = std::make_unique<rt::LaunchT>();
    made->name = std::move(name);
    made->location = ir::locationText(op->getLoc());
    made->recorded = static_cast<int32_t>(ir::recordedNumber(op->getLoc()));
    made->place = placeOf(op->getLoc());
    made->device = deviceNumber(carrierOf(op));
    llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
    const UpdatedBytes updated = updatedBytes(op);
    Size bytesRead = updated.read, bytesWritten = updated.written;
    for (Value value : read)
      if (value != updated.base)
        bytesRead += bytesOf(value.getType());
    for (Value value : op->getResults())
      if (!updated.base)
        bytesWritten += bytesOf(value.getType());
    made->bytes_read = amount(bytesRead);
    made->bytes_written = amount(bytesWritten);
    return made;
  }

  void addLaunch(Operation *op, std::unique_ptr<rt::LaunchT> made) {
    if (isa<PrintOp>(op) || passes::writesArgument(op))
      made->predicate = rt::Predicate::failure;
    if (auto region = op->getAttrOfType<IntegerAttr>(attr::capture))
      made->region = static_cast<int32_t>(region.getInt());
    if (auto found = own.find(op); found != own.end())
      for (const OwnKernel &kernel : found->second) {
        auto &packed = made->own.emplace_back(std::make_unique<rt::OwnKernelT>());
        packed->symbol = kernel.symbol;
        packed->operands = kernel.operands;
      }
    plan.launches.push_back(std::move(made));
  }

  void addSegments() {
    if (plan.devices.empty()) // the host alone, whose plan has none
      return;
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(rt::Plan::Pack(builder, &plan), rt::PlanIdentifier());
    for (const runtime::PlanSegment &segment :
         runtime::divide_into_segments(*rt::GetPlan(builder.GetBufferPointer()))) {
      auto made = std::make_unique<rt::SegmentT>();
      made->device = segment.device;
      made->launches = segment.launches;
      made->waits = segment.waits;
      plan.segments.push_back(std::move(made));
    }
    cutRegions();
  }

  /// Ends each region with its segment: a graph is issued to one device, at once. The parts are numbered
  /// anew.
  void cutRegions() {
    size_t next = 0;
    int32_t parts = 0;
    for (const auto &segment : plan.segments) {
      int32_t before = -1;
      for (size_t last = next + segment->launches; next < last; ++next) {
        int32_t &region = plan.launches[next]->region;
        const bool begins = region >= 0 && region != before;
        before = region;
        parts += begins;
        if (region >= 0)
          region = parts - 1;
      }
    }
  }

  /// How failures are numbered, in a plan in which something may fail.
  Status addFailureKey() {
    uint64_t fallible = 0;
    uint32_t most = 0;
    for (const auto &launch : plan.launches) {
      fallible += launch->may_fail;
      most = std::max(most, launch->check_count);
    }
    if (fallible == 0)
      return {};
    Expected<runtime::FailureKey> key = runtime::choose_failure_key(fallible, most);
    if (!key)
      return key.status().context("the plan of '" + plan.function + "': ");
    plan.failure_key = std::make_unique<rt::FailureKeyT>();
    plan.failure_key->position_bits = static_cast<uint8_t>(key->position_bits);
    plan.failure_key->check_bits = static_cast<uint8_t>(key->check_bits);
    return {};
  }

  static std::unique_ptr<rt::StepGroupT> stepGroup(const StepGroup &group) {
    auto made = std::make_unique<rt::StepGroupT>();
    made->steps = static_cast<uint32_t>(group.steps.size());
    for (Type number : group.numbers().getTypes())
      made->number_bytes.push_back(bytesOf(number).asNumber());
    made->reads = group.reads;
    made->writes = group.writes;
    made->item = static_cast<uint32_t>(itemsize(dtypeOf(group.first()->getOperand(0).getType())));
    return made;
  }

  Status addKernel(FusionOp fusion) {
    auto schedule = fusion.getSchedule();
    if (!schedule)
      return problem(fusion, "has no schedule; run --weft-choose-schedules first");
    auto made = launch(fusion, symbols.lookup(fusion));
    rt::KernelLaunchT kernel;
    kernel.symbol = symbols.lookup(fusion);
    StepBuffers order;
    if (fusion.getKind() == FusionKind::multi_tensor) {
      SmallVector<StepGroup> groups = stepGroups(fusion);
      order = stepBuffers(fusion, groups);
      kernel.chunk = schedule->number(ScheduleField::chunk);
      kernel.sizes = sizes(stepElements(groups));
      for (const StepGroup &group : groups)
        kernel.groups.push_back(stepGroup(group));
    } else {
      llvm::append_range(order.operands, llvm::seq(0u, fusion.getNumOperands()));
      llvm::append_range(order.results, llvm::seq(0u, fusion.getNumResults()));
      for (const std::string &symbol : symbolsOf(fusion))
        kernel.sizes.push_back(size(Size::symbol(symbol)));
    }
    kernel.first_result = static_cast<uint32_t>(order.operands.size());
    SmallVector<Value> values;
    for (unsigned i : order.operands)
      values.push_back(fusion.getOperand(i));
    for (unsigned i : order.results)
      values.push_back(fusion.getResult(i));
    for (Value value : values) {
      auto index = bufferOf(value);
      if (!index)
        return index.status();
      kernel.buffers.push_back(*index);
    }
    kernel.tasks = size(schedule->getTasks());
    kernel.grain = schedule->getGrain();
    kernel.scratch_bytes = static_cast<uint64_t>(schedule->getScratch());
    // The estimate of a call's cost counts one operation for each element of each elementwise op.
    Size flops;
    for (Operation &op : fusion.getBody().front())
      if (isa<ElementwiseOp>(op))
        flops += elementsOf(op.getResult(0).getType());
    made->flops = amount(flops);
    for (GatherOp gather : checksOf(fusion)) {
      made->may_fail = true;
      ++made->check_count;
      addCheck(gather);
    }
    made->op.Set(std::move(kernel));
    addLaunch(fusion, std::move(made));
    return {};
  }

  /// The first source line of a location; null if it has none.
  static std::unique_ptr<rt::PlaceT> placeOf(Location loc) {
    auto line = ir::firstLine(loc);
    if (!line)
      return nullptr;
    auto place = std::make_unique<rt::PlaceT>();
    place->file = line.getFilename().str();
    place->line = line.getLine();
    place->column = line.getColumn();
    return place;
  }

  void addCheck(GatherOp gather) {
    auto check = std::make_unique<rt::CheckT>();
    check->kind = rt::CheckKind::index;
    check->dimension = static_cast<int32_t>(ir::reportedDim(gather));
    check->size = size(ir::indexedSize(gather));
    check->subject = ir::indexNameOf(gather).str();
    check->place = placeOf(gather.getLoc());
    check->location = ir::locationText(gather.getLoc());
    check->recorded = static_cast<int32_t>(ir::recordedNumber(gather.getLoc()));
    plan.checks.push_back(std::move(check));
  }

  Status addContraction(DotGeneralOp dot) {
    auto shape = getContractionShape(dot);
    if (!shape)
      return problem(dot,
                     "has operands that need a transposition; run --weft-canonicalize-contractions first");
    const size_t products = 1 + dot.getMore().size() / 2;
    std::string name = "matmul " + sizeText(shape->m) + "x" + sizeText(shape->k) + "x" + sizeText(shape->n);
    auto made = launch(dot, name + (dot.getBias() ? " + bias" : "") +
                                (dot.getResidual() ? " + residual" : "") + (dot.getRelu() ? " + relu" : "") +
                                (products > 1 ? ", sum of " + std::to_string(products) : ""));
    rt::ContractionLaunchT contraction;
    contraction.dtype = static_cast<uint8_t>(dtypeOf(dot.getType()));
    contraction.batch = size(shape->batch);
    contraction.m = size(shape->m);
    contraction.n = size(shape->n);
    contraction.k = size(shape->k);
    auto a = bufferOf(dot.getA()), b = bufferOf(dot.getB()), c = bufferOf(dot.getResult());
    for (auto *index : {&a, &b, &c})
      if (!*index)
        return index->status();
    contraction.a = *a;
    contraction.b = *b;
    contraction.c = *c;
    if (Value bias = dot.getBias()) {
      auto index = bufferOf(bias);
      if (!index)
        return index.status();
      contraction.bias = static_cast<int32_t>(*index);
    }
    if (Value residual = dot.getResidual()) {
      auto index = bufferOf(residual);
      if (!index)
        return index.status();
      contraction.residual = static_cast<int32_t>(*index);
    }
    for (Value operand : dot.getMore()) {
      auto index = bufferOf(operand);
      if (!index)
        return index.status();
      contraction.more.push_back(*index);
    }
    // Who multiplies was asked by --weft-query-libraries. Without an answer the runtime's own rule stands.
    if (LibraryAttr library = dot.getLibraryAttr()) {
      ContractionAnswer answer = readAnswer(library);
      contraction.library_flops = answer.library.empty() ? INT64_MAX : answer.leastFlops;
      contraction.workspace_bytes = static_cast<uint64_t>(answer.workspaceBytes);
      contraction.library = library.getName().str();
    }
    contraction.a_strides = sizes(shape->aStrides);
    contraction.b_strides = sizes(shape->bStrides);
    contraction.c_strides = sizes(shape->cStrides);
    contraction.relu = dot.getRelu();
    made->flops = amount(2 * shape->batch * shape->m * shape->n * shape->k * static_cast<int64_t>(products));
    made->op.Set(std::move(contraction));
    addLaunch(dot, std::move(made));
    return {};
  }

  Status addAttention(AttentionOp op) {
    const AttentionExtents extents(op.getShape());
    const bool backward = static_cast<bool>(op.getGrad());
    auto made = launch(op, std::string(backward ? "attention backward " : "attention ") +
                               std::to_string(extents.rows) + "x" + std::to_string(extents.keys) + "x" +
                               std::to_string(extents.features));
    rt::AttentionLaunchT attention = attentionLaunch(op);
    for (const auto &[part, place] : llvm::zip_equal(partsOf(op), attention.places)) {
      auto index = bufferOf(part.value);
      if (!index)
        return index.status();
      place->buffer = *index;
    }
    // The forward op has two products, the backward op five. The keys that a causal row leaves out are
    // counted too.
    const int64_t columns =
        backward ? 3 * extents.features + 2 * extents.values : extents.features + extents.values;
    made->flops = amount(Size(2) * extents.batchCount() * extents.rows * extents.keys * columns);
    made->op.Set(std::move(attention));
    addLaunch(op, std::move(made));
    return {};
  }

  Status addConvolution(ImplicitGemmOp op) {
    auto made = launch(op, "convolution " + convolutionText(op));
    rt::ConvolutionLaunchT convolution = convolutionLaunch(op);
    ArrayRef<Size> shape = op.getShape();
    convolution.batch = size(shape[0]);
    convolution.channels = size(shape[2]);
    for (auto [place, value] :
         {std::pair(convolution.a.get(), Value(op.getA())), std::pair(convolution.w.get(), Value(op.getW())),
          std::pair(convolution.y.get(), Value(op.getResult()))}) {
      auto index = bufferOf(value);
      if (!index)
        return index.status();
      place->buffer = *index;
    }
    for (const auto &[step, operand] : epilogueOf(op)) {
      if (!operand)
        continue;
      auto index = bufferOf(operand);
      if (!index)
        return index.status();
      convolution.beside.push_back(*index);
    }
    made->flops = amount(2 * workOf(op));
    made->op.Set(std::move(convolution));
    addLaunch(op, std::move(made));
    return {};
  }

  Status addSort(SortOp op) {
    ArrayRef<Size> shape = sizesOf(op.getA().getType());
    auto made = launch(op, op.getDescending() ? "sort descending" : "sort");
    rt::SortLaunchT sort;
    sort.dtype = static_cast<uint8_t>(dtypeOf(op.getA().getType()));
    sort.rows = amount(productOf(shape.drop_back()));
    sort.extent = amount(shape.back());
    sort.count = amount(op.getCount());
    sort.descending = op.getDescending();
    auto source = bufferOf(op.getA()), values = bufferOf(op.getValues()), indices = bufferOf(op.getIndices());
    for (auto *index : {&source, &values, &indices})
      if (!*index)
        return index->status();
    sort.source = *source;
    sort.values = *values;
    sort.indices = *indices;
    // About as much work as a pass of a sort by digits for each byte of a key.
    made->flops = amount(elementsOf(op.getA().getType()) * 16);
    made->op.Set(std::move(sort));
    addLaunch(op, std::move(made));
    return {};
  }

  /// The numbers in runtime/linalg/MatrixRoutine.h of what the host computes with matrices.
  static uint8_t matrixKind(Operation *op) {
    constexpr uint8_t solve = 5, eigenvalues = 6, singularValues = 7;
    auto factorize = dyn_cast<FactorizeOp>(op);
    if (factorize && onlyValuesOf(factorize))
      return factorize.getKind() == Factorization::eigh ? eigenvalues : singularValues;
    return factorize ? static_cast<uint8_t>(factorize.getKind()) : solve;
  }

  /// Appends the buffers of the operands, and then those of these results.
  Status addBuffers(Operation *op, ValueRange results, std::vector<uint32_t> &buffers) {
    for (ValueRange values : {ValueRange(op->getOperands()), results})
      for (Value value : values) {
        auto index = bufferOf(value);
        if (!index)
          return index.status();
        buffers.push_back(*index);
      }
    return {};
  }

  Status addMatrices(Operation *op) {
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    if (!deviceOf(type).isCpu())
      return problem(op, "is a launch on a CPU only; run --weft-decompose-composites first");
    auto factorize = dyn_cast<FactorizeOp>(op);
    auto solve = dyn_cast<TriangularSolveOp>(op);
    const std::optional<unsigned> values = factorize ? onlyValuesOf(factorize) : std::nullopt;
    auto made = launch(op, factorize ? stringifyFactorization(factorize.getKind()).str() +
                                           (values ? " of values" : "")
                                     : "triangular solve");
    rt::MatrixLaunchT matrices;
    ArrayRef<Size> shape = sizesOf(type);
    matrices.kind = matrixKind(op);
    matrices.dtype = static_cast<uint8_t>(dtypeOf(type));
    matrices.batch = amount(productOf(shape.drop_back(2)));
    matrices.rows = shape[shape.size() - 2].asNumber();
    matrices.columns = shape.back().asNumber();
    matrices.full = factorize && factorize.getFull();
    matrices.upper = solve && solve.getUpper();
    matrices.unit = solve && solve.getUnit();
    if (solve)
      matrices.sides = sizesOf(solve.getB().getType()).back().asNumber();
    const ValueRange results = op->getResults();
    if (Status status = addBuffers(op, values ? results.slice(*values, 1) : results, matrices.buffers);
        !status)
      return status;
    made->flops = amount(elementsOf(type) * Size(2 * std::min(matrices.rows, matrices.columns)));
    made->op.Set(std::move(matrices));
    addLaunch(op, std::move(made));
    return {};
  }

  Status addFourier(FftOp op) {
    auto type = cast<RankedTensorType>(op.getA().getType());
    if (!deviceOf(type).isCpu())
      return problem(op, "is a launch on a CPU only; run --weft-decompose-composites first");
    auto made = launch(op, "fourier transform " + stringifyFourierKind(op.getKind()).str());
    rt::FourierLaunchT fourier;
    const bool isReal = op.getKind() == FourierKind::r2c;
    ArrayRef<Size> shape = isReal ? sizesOf(type) : sizesOf(type).drop_back();
    const auto dim = static_cast<size_t>(op.getDim());
    fourier.kind = static_cast<uint8_t>(op.getKind());
    fourier.dtype = static_cast<uint8_t>(dtypeOf(type));
    fourier.inverse = op.getInverse();
    fourier.adjoint = op.getAdjoint();
    fourier.length = static_cast<int64_t>(op.getLength());
    fourier.outer = amount(productOf(shape.take_front(dim)));
    fourier.inner = amount(productOf(shape.drop_front(dim + 1)));
    fourier.scale = op.getScale().convertToDouble();
    auto source = bufferOf(op.getA()), result = bufferOf(op.getResult());
    for (auto *index : {&source, &result})
      if (!*index)
        return index->status();
    fourier.source = *source;
    fourier.result = *result;
    // 5 n log2 n for each complex line, as is usual.
    const auto steps = static_cast<int64_t>(llvm::Log2_64_Ceil(op.getLength()));
    made->flops = amount(elementsOf(type) * Size(5 * std::max<int64_t>(steps, 1) / (isReal ? 1 : 2)));
    made->op.Set(std::move(fourier));
    addLaunch(op, std::move(made));
    return {};
  }

  /// An error if the function has too many launches with those of a loop or a branch on a GPU.
  Status checkLaunches(Operation *op) {
    if (deviceOf(carrierOf(op)).isCpu())
      return {};
    const LaunchAmount amount = amounts.of(function);
    for (const auto &[count, most, what] :
         {std::tuple(amount.launches, runtime::mostLaunches, "launches"),
          std::tuple(amount.operands, runtime::mostOperands, "operands of launches")})
      if (count > most)
        return problem(op, "makes '" + function.getName().str() + "' " + std::to_string(count) + " " + what +
                               " with the trips of its loops and its branches, and on " +
                               deviceOf(carrierOf(op)).str() + " it may have " + std::to_string(most) +
                               " (WEFT-T005): have fewer trips, or call a compiled body for each");
    return {};
  }

  Status addLoop(ScanOp op) {
    if (Status status = checkLaunches(op); !status)
      return status;
    auto made = launch(op, "loop of " + std::to_string(op.getLength()) + " trips");
    rt::LoopLaunchT loop;
    loop.body = op.getBody().str();
    loop.trips = static_cast<int64_t>(op.getLength());
    loop.reverse = op.getReverse();
    if (Status status = addBuffers(op, op->getResults(), loop.buffers); !status)
      return status;
    loop.first_result = op->getNumOperands();
    loop.carries = static_cast<uint32_t>(op.getCarries().size());
    loop.xs = static_cast<uint32_t>(op.getXs().size());
    made->op.Set(std::move(loop));
    addLaunch(op, std::move(made));
    return {};
  }

  Status addBranch(CondOp op) {
    if (Status status = checkLaunches(op); !status)
      return status;
    auto made = launch(op, "branch");
    rt::BranchLaunchT branch;
    branch.then_body = op.getThenBody().str();
    branch.else_body = op.getElseBody().str();
    if (Status status = addBuffers(op, op->getResults(), branch.buffers); !status)
      return status;
    branch.first_result = op->getNumOperands();
    made->op.Set(std::move(branch));
    addLaunch(op, std::move(made));
    return {};
  }

  Status addWhile(WhileOp op) {
    if (Status status = checkLaunches(op); !status)
      return status;
    auto made = launch(op, "while loop");
    rt::WhileLaunchT loop;
    loop.condition = op.getCondition().str();
    loop.body = op.getBody().str();
    if (Status status = addBuffers(op, op->getResults(), loop.buffers); !status)
      return status;
    loop.first_result = op->getNumOperands();
    made->op.Set(std::move(loop));
    addLaunch(op, std::move(made));
    return {};
  }

  Status addRaw(RawKernelOp op) {
    if (!own.contains(op))
      return problem(op,
                     "'" + op.getEntry().str() +
                         "' is CUDA C++, and this target has no GPU (WEFT-K004): compile for one that has, "
                         "as cuda:sm_90");
    auto made = launch(op, "raw kernel " + op.getEntry().str());
    rt::RawLaunchT raw;
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op.getOperands()), llvm::to_vector(op->getResults()))) {
      auto index = bufferOf(value);
      if (!index)
        return index.status();
      raw.buffers.push_back(*index);
    }
    raw.first_result = op.getNumOperands();
    for (const RawParameter &parameter : rawParameters(op)) {
      auto &argument = raw.arguments.emplace_back(std::make_unique<rt::RawArgumentT>());
      if (parameter.isNumber()) {
        argument->bytes = parameter.bytes;
        argument->bits = parameter.size ? 0 : parameter.bits;
        argument->size = parameter.size ? size(*parameter.size) : -1;
      }
      if (parameter.operand)
        argument->operand = static_cast<int32_t>(*parameter.operand);
      if (parameter.result)
        argument->result = static_cast<int32_t>(raw.first_result + *parameter.result);
      if (parameter.operand && parameter.result)
        argument->bytes = plan.buffers[raw.buffers[*parameter.operand]]->bytes;
    }
    raw.grid = sizes(op.getGrid());
    llvm::append_range(raw.block, op.getBlock());
    raw.shared_bytes = static_cast<uint32_t>(op.getShared());
    made->op.Set(std::move(raw));
    addLaunch(op, std::move(made));
    return {};
  }

  Status addCopy(Operation *op) {
    if (readsScalarBlock(op))
      return {};
    auto made = launch(op, "copy");
    rt::CopyLaunchT copy;
    auto source = bufferOf(op->getOperand(0)), destination = bufferOf(op->getResult(0));
    for (auto *index : {&source, &destination})
      if (!*index)
        return index->status();
    copy.source = *source;
    copy.destination = *destination;
    made->op.Set(copy);
    addLaunch(op, std::move(made));
    return {};
  }

  Status addHost(Operation *op, rt::HostAction action, Value value, StringRef text) {
    auto made = launch(op, action == rt::HostAction::print ? "print" : "assert");
    made->may_fail = action == rt::HostAction::require;
    rt::HostLaunchT host;
    host.action = action;
    auto buffer = bufferOf(value);
    if (!buffer)
      return buffer.status();
    host.buffer = *buffer;
    host.dtype = static_cast<uint8_t>(dtypeOf(value.getType()));
    host.shape = sizes(sizesOf(value.getType()));
    host.text = text.str();
    made->op.Set(std::move(host));
    addLaunch(op, std::move(made));
    return {};
  }

  const DenseMap<Operation *, std::string> &symbols;
  const OwnKernels &own;
  std::vector<std::byte> constants;
  LaunchAmounts amounts;
};

} // namespace

Expected<PlanBytes> writePlan(FuncOp function, const std::string &target,
                              const DenseMap<Operation *, std::string> &symbols,
                              runtime::KernelSigner &signer, const OwnKernels &own) {
  return Writer(function, symbols, own).run(target, signer);
}

} // namespace weft::codegen
