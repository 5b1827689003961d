//===- PlanWriter.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/PlanWriter.h"

#include "codegen/PlanConstants.h"

#include "codegen/emit/StepGroups.h"
#include "ir/Attention.h"
#include "ir/Contraction.h"
#include "ir/Decisions.h"
#include "ir/DeviceArenas.h"
#include "ir/FunctionAttributes.h"
#include "ir/LaunchAttributes.h"
#include "ir/RecordedLocation.h"
#include "ir/Schedule.h"
#include "ir/StridedLayout.h"
#include "ir/Updates.h"
#include "runtime/package/Kernel.h"
#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/FailureKey.h"
#include "runtime/plan/KernelSignature.h"
#include "runtime/plan/PlanSegments.h"
#include "runtime/plan/plan_generated.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <map>

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

class Writer {
public:
  Writer(FuncOp function, const DenseMap<Operation *, std::string> &symbols)
      : function(function), symbols(symbols) {}

  Expected<PlanBytes> run(const std::string &target, runtime::KernelSigner &signer) {
    plan.function = function.getName().str();
    plan.target = target;
    plan.kernel_abi = runtime::kernelAbi;
    plan.image = "image." + target;
    addSymbols();
    if (auto bytes = sizeOfAttr(function->getAttr(attr::arenaBytes)))
      plan.arena_bytes = unsignedSize(*bytes);
    if (auto bytes = sizeOfAttr(function->getAttr(attr::arenaLowerBound)))
      plan.arena_lower_bound_bytes = unsignedSize(*bytes);
    if (Status status = addDevices(); !status)
      return status;
    addSignature();
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
    if (lacksSize)
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
    const bool launchesKernels = llvm::any_of(
        plan.launches, [](const auto &launch) { return launch->op.type == rt::LaunchOp::KernelLaunch; });
    return PlanBytes{{data, data + builder.GetSize()}, std::move(constants), launchesKernels};
  }

private:
  static Status problem(Operation *op, const std::string &what) {
    return Status::error("'" + op->getName().getStringRef().str() + "' at " + ir::locationText(op->getLoc()) +
                         " " + what);
  }

  //===--------------------------------------------------------------------===//
  // Sizes
  //===--------------------------------------------------------------------===//

  void addSymbols() {
    auto declared = function->getAttrOfType<ArrayAttr>(attr::symbols);
    if (!declared)
      return;
    for (auto symbol : declared.getAsRange<SymbolAttr>()) {
      auto made = std::make_unique<rt::SymbolT>();
      made->name = symbol.getName().str();
      made->min = symbol.getMin();
      made->max = symbol.getMax();
      symbolNumbers[made->name] = static_cast<uint32_t>(plan.symbols.size());
      plan.symbols.push_back(std::move(made));
    }
  }

  /// A size as a plan encodes it. Sets `lacksSize` if it cannot be expressed.
  int64_t size(Size value) {
    if (!value.isSymbolic()) {
      lacksSize |= !value.isExpressible();
      return value.number().value_or(0);
    }
    auto [it, inserted] = sizeNumbers.try_emplace(value.raw(), static_cast<int64_t>(plan.sizes.size()));
    if (inserted) {
      auto made = std::make_unique<rt::SizeExpressionT>();
      DimExpr expr = value.expr();
      made->divisor = expr.divisor;
      for (const DimTerm &term : expr.terms) {
        auto part = std::make_unique<rt::SizeTermT>();
        part->coefficient = term.coefficient;
        for (const std::string &symbol : term.symbols)
          part->symbols.push_back(symbolNumbers.at(symbol));
        made->terms.push_back(std::move(part));
      }
      plan.sizes.push_back(std::move(made));
    }
    return runtime::firstExpression + it->second;
  }
  uint64_t unsignedSize(Size value) { return static_cast<uint64_t>(size(value)); }
  /// An amount for reports and estimates. If it cannot be expressed, it is the largest integer.
  uint64_t amount(Size value) { return unsignedSize(value.isExpressible() ? value : INT64_MAX); }
  std::vector<int64_t> sizes(ArrayRef<Size> values) {
    std::vector<int64_t> result;
    for (Size value : values)
      result.push_back(size(value));
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Devices
  //===--------------------------------------------------------------------===//

  uint32_t deviceNumber(DeviceAttr device) {
    auto [it, inserted] =
        deviceNumbers.try_emplace(device.withoutSizes(), static_cast<uint32_t>(devices.size()));
    if (inserted)
      devices.push_back(device.withoutSizes());
    return it->second;
  }
  uint32_t deviceNumber(Type type) { return deviceNumber(deviceOf(type)); }

  /// Lists the devices of all values: first those with a part of the arena, in the arena's order. A plan that
  /// uses only the host has no list.
  Status addDevices() {
    SmallVector<DeviceArena> arenas{{DeviceAttr(), 0, 0}};
    if (function->hasAttr(attr::arenaBytes)) {
      auto found = deviceArenasOf(function);
      if (failed(found))
        return problem(function, "divides its arena in a way that is not sound");
      arenas = *found;
    }
    if (arenas.front().device)
      for (const DeviceArena &arena : arenas)
        deviceNumber(arena.device);
    else if (Type type = firstTemporary())
      deviceNumber(type);
    for (Type type : function.getArgumentTypes())
      deviceNumber(type);
    for (Type type : function.getResultTypes())
      deviceNumber(type);
    for (Operation &op : function.getBody().front())
      for (Value result : op.getResults())
        if (isa<RankedTensorType>(result.getType()))
          deviceNumber(result.getType());
    if (llvm::all_of(devices, [](DeviceAttr device) { return device.isCpu(); }))
      return {};
    Size end = 0;
    for (DeviceAttr device : devices) {
      auto part = std::make_unique<rt::DevicePartT>();
      part->name = device.str();
      const size_t number = plan.devices.size();
      Size begin = end;
      if (number < arenas.size())
        end = arenas[number].end;
      part->arena_begin = unsignedSize(begin);
      part->arena_bytes = unsignedSize(end - begin);
      plan.devices.push_back(std::move(part));
    }
    return {};
  }

  /// The type of some value in the arena; null if the arena has none.
  Type firstTemporary() {
    for (Operation &op : function.getBody().front())
      if (auto slices = op.getAttrOfType<ArrayAttr>(attr::slices))
        for (auto [slice, result] : llvm::zip(slices, op.getResults()))
          if (auto found = dyn_cast<SliceAttr>(slice); found && found.getStorage() == StorageKind::arena)
            return result.getType();
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Signature
  //===--------------------------------------------------------------------===//

  static rt::Role planRole(ArgumentRole role) {
    switch (role) {
    case ArgumentRole::argument:
      return rt::Role::argument;
    case ArgumentRole::state:
      return rt::Role::state;
    case ArgumentRole::scalar:
      return rt::Role::scalar;
    case ArgumentRole::random:
      return rt::Role::random;
    }
    llvm_unreachable("every role is above");
  }

  std::unique_ptr<rt::TensorTypeT> typeOf(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    auto made = std::make_unique<rt::TensorTypeT>();
    made->dtype = static_cast<uint8_t>(dtypeOf(type));
    made->shape = sizes(sizesOf(tensor));
    made->device = deviceOf(type).str();
    return made;
  }

  void addSignature() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto argument = std::make_unique<rt::ArgumentT>();
      if (auto name = function.getArgAttrOfType<StringAttr>(i, attr::name))
        argument->name = name.str();
      argument->type = typeOf(function.getArgumentTypes()[i]);
      argument->role = planRole(roleOf(function, i).value_or(ArgumentRole::argument));
      argument->donated = function.isDonated(i);
      Value value = function.getArgument(i);
      Size bytes = bytesOf(value.getType());
      // The memory of a strided argument ends after its last element, which may be within a row.
      auto strides = function.getArgAttrOfType<DenseI64ArrayAttr>(i, attr::strides);
      auto shape = function.getArgAttrOfType<DenseI64ArrayAttr>(i, attr::callerShape);
      if (strides && shape) {
        argument->strides = strides.asArrayRef().vec();
        argument->type->shape = shape.asArrayRef().vec();
        bytes = stridedReach(shape.asArrayRef(), strides.asArrayRef()) *
                static_cast<int64_t>(itemsize(dtypeOf(value.getType())));
      }
      plan.arguments.push_back(std::move(argument));
      if (!addScalar(i))
        buffers[value] = bufferIndex(value.getType(), rt::Storage::argument, i, 0, bytes);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto result = std::make_unique<rt::ResultT>();
      if (auto name = function.getResultAttrOfType<StringAttr>(i, attr::name))
        result->name = name.str();
      result->type = typeOf(function.getResultTypes()[i]);
      result->tied_to = static_cast<int32_t>(function.getTiedArgument(i));
      auto aliasOf = [&](StringRef name) {
        auto of = function.getResultAttrOfType<IntegerAttr>(i, name);
        return of && result->tied_to < 0 ? static_cast<int32_t>(of.getInt()) : -1;
      };
      result->alias_argument = aliasOf(attr::aliasArgument);
      result->alias_result = aliasOf(attr::aliasResult);
      plan.results.push_back(std::move(result));
    }
  }

  /// Gives a number on the host that calls only read a place in the block of scalars; false for others.
  bool addScalar(unsigned i) {
    BlockArgument value = function.getArgument(i);
    const rt::ArgumentT &argument = *plan.arguments[i];
    if (argument.role != rt::Role::scalar || argument.donated || !deviceOf(value.getType()).isCpu() ||
        !argument.type->shape.empty())
      return false;
    auto place = std::make_unique<rt::ScalarPlaceT>();
    const uint64_t bytes = itemsize(dtypeOf(value.getType()));
    place->argument = i;
    place->dtype = argument.type->dtype;
    place->offset = llvm::alignTo(plan.scalar_bytes, bytes);
    plan.scalar_bytes = place->offset + bytes;
    buffers[value] = scalarBuffer(value.getType(), static_cast<uint32_t>(plan.scalars.size()));
    plan.scalars.push_back(std::move(place));
    return true;
  }

  /// A scalar in the block of the device of `type`.
  uint32_t scalarBuffer(Type type, uint32_t number) {
    return bufferIndex(type, rt::Storage::scalar, number, 0, bytesOf(type));
  }

  //===--------------------------------------------------------------------===//
  // Buffers
  //===--------------------------------------------------------------------===//

  uint32_t bufferIndex(Type type, rt::Storage storage, uint32_t index, Size offset, Size bytes) {
    const uint32_t device = deviceNumber(type);
    auto key = std::tuple(device, storage, index, offset.raw(), bytes.raw());
    auto [it, inserted] = known.try_emplace(key, static_cast<uint32_t>(plan.buffers.size()));
    if (inserted) {
      auto buffer = std::make_unique<rt::BufferT>();
      buffer->device = device;
      buffer->storage = storage;
      buffer->index = index;
      buffer->offset = unsignedSize(offset);
      buffer->bytes = unsignedSize(bytes);
      plan.buffers.push_back(std::move(buffer));
    }
    return it->second;
  }

  /// The plan's buffer of a value: that of its slice, or of its operand's slice if the value is a view.
  Expected<uint32_t> bufferOf(Value value) {
    while (value.getDefiningOp() && isStorageView(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    if (auto it = buffers.find(value); it != buffers.end())
      return it->second;
    Operation *op = value.getDefiningOp();
    auto slices = op->getAttrOfType<ArrayAttr>(attr::slices);
    unsigned number = cast<OpResult>(value).getResultNumber();
    auto slice = slices && number < slices.size() ? dyn_cast<SliceAttr>(slices[number]) : SliceAttr();
    if (!slice)
      return problem(op, "has no storage; run --weft-plan-memory first");
    Size position = slice.getPosition(), bytes = bytesOf(value.getType());
    // The verifier of the memory plan has checked that this is the number of an argument or a result.
    auto number32 = static_cast<uint32_t>(position.number().value_or(0));
    uint32_t index = 0;
    switch (slice.getStorage()) {
    case StorageKind::argument:
      index = bufferIndex(value.getType(), rt::Storage::argument, number32, 0, bytes);
      break;
    case StorageKind::result:
      index = bufferIndex(value.getType(), rt::Storage::result, number32, 0, bytes);
      break;
    case StorageKind::arena:
      index = bufferIndex(value.getType(), rt::Storage::arena, 0, position, bytes);
      break;
    case StorageKind::constant:
      index = bufferIndex(value.getType(), rt::Storage::constant, 0, position, bytes);
      break;
    }
    buffers[value] = index;
    return index;
  }

  //===--------------------------------------------------------------------===//
  // Launches
  //===--------------------------------------------------------------------===//

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
    Size bytesRead, bytesWritten;
    for (Value value : read)
      bytesRead += bytesOf(value.getType());
    for (Value value : op->getResults())
      bytesWritten += bytesOf(value.getType());
    made->bytes_read = amount(bytesRead);
    made->bytes_written = amount(bytesWritten);
    return made;
  }

  /// Whether a value is an argument's storage, which a failed call must not change.
  bool isInArgument(Value value) {
    Expected<uint32_t> index = bufferOf(value);
    if (!index)
      return false;
    const rt::BufferT &buffer = *plan.buffers[*index];
    return buffer.storage == rt::Storage::argument ||
           (buffer.storage == rt::Storage::result && plan.results[buffer.index]->tied_to >= 0);
  }

  void addLaunch(Operation *op, std::unique_ptr<rt::LaunchT> made) {
    if (isa<PrintOp>(op) || llvm::any_of(op->getResults(), [&](Value value) { return isInArgument(value); }))
      made->predicate = rt::Predicate::failure;
    if (auto region = op->getAttrOfType<IntegerAttr>(attr::capture))
      made->region = static_cast<int32_t>(region.getInt());
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
    rt::AttentionLaunchT attention;
    attention.dtype = static_cast<uint8_t>(dtypeOf(op.getQ().getType()));
    attention.batch.assign(extents.batch.begin(), extents.batch.end());
    attention.rows = extents.rows;
    attention.keys = extents.keys;
    attention.features = extents.features;
    attention.values = extents.values;
    attention.backward = backward;
    attention.causal = op.getCausal();
    attention.scale = op.getScale().convertToDouble();
    Status status;
    auto add = [&](Value value, const AttentionView &view) {
      auto place = std::make_unique<rt::MatrixPlaceT>();
      auto index = bufferOf(value);
      if (!index) {
        status = index.status();
        return;
      }
      place->buffer = *index;
      place->offset = view.offset;
      place->strides.assign(view.strides.begin(), view.strides.end());
      attention.places.push_back(std::move(place));
    };
    auto result = [&](unsigned i, int64_t rows, int64_t columns) {
      add(op.getResult(i), orderedView(extents.matrix(rows, columns), op.getOrder()));
    };
    const SmallVector<int64_t> statistics = extents.matrix(extents.rows, 1);
    const AttentionView rowMajor =
        orderedView(statistics, llvm::to_vector(llvm::seq<int64_t>(0, statistics.size())));
    add(op.getQ(), AttentionView::read(op.getQView()));
    add(op.getK(), AttentionView::read(op.getKView()));
    add(op.getV(), AttentionView::read(op.getVView()));
    if (backward) {
      add(op.getOut(), AttentionView::read(*op.getOutView()));
      add(op.getLse(), rowMajor);
      add(op.getGrad(), AttentionView::read(*op.getGradView()));
      result(0, extents.rows, extents.features);
      result(1, extents.keys, extents.features);
      result(2, extents.keys, extents.values);
    } else {
      result(0, extents.rows, extents.values);
      add(op.getResult(1), rowMajor);
    }
    if (Value mask = op.getMask()) {
      attention.masked = true;
      attention.mask_dtype = static_cast<uint8_t>(dtypeOf(mask.getType()));
      add(mask, AttentionView::read(*op.getMaskView()));
    }
    if (!status)
      return status;
    // The forward op has two products, the backward op five. The keys that a causal row leaves out are
    // counted too.
    const int64_t columns =
        backward ? 3 * extents.features + 2 * extents.values : extents.features + extents.values;
    made->flops = amount(Size(2) * extents.batchCount() * extents.rows * extents.keys * columns);
    made->op.Set(std::move(attention));
    addLaunch(op, std::move(made));
    return {};
  }

  /// Whether a copy moves a scalar to a device for what is computed there. It has one in its block of
  /// scalars.
  bool readsScalarBlock(Operation *op) {
    auto source = bufferOf(op->getOperand(0));
    if (!source || plan.buffers[*source]->storage != rt::Storage::scalar)
      return false;
    auto slices = op->getAttrOfType<ArrayAttr>(attr::slices);
    auto slice = slices ? dyn_cast<SliceAttr>(slices[0]) : SliceAttr();
    if (!slice || slice.getStorage() != StorageKind::arena)
      return false;
    Value result = op->getResult(0);
    buffers[result] = scalarBuffer(result.getType(), plan.buffers[*source]->index);
    return true;
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

  FuncOp function;
  const DenseMap<Operation *, std::string> &symbols;
  rt::PlanT plan;
  std::vector<std::byte> constants;
  DenseMap<Value, uint32_t> buffers;
  std::map<std::tuple<uint32_t, rt::Storage, uint32_t, int64_t, int64_t>, uint32_t> known;
  SmallVector<DeviceAttr> devices; ///< in the order of the plan's list
  DenseMap<DeviceAttr, uint32_t> deviceNumbers;
  std::map<std::string, uint32_t> symbolNumbers;
  std::map<int64_t, int64_t> sizeNumbers;
  bool lacksSize = false; ///< a size of the plan cannot be expressed
};

} // namespace

Expected<PlanBytes> writePlan(FuncOp function, const std::string &target,
                              const DenseMap<Operation *, std::string> &symbols,
                              runtime::KernelSigner &signer) {
  return Writer(function, symbols).run(target, signer);
}

} // namespace weft::codegen
