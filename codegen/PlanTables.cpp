//===- PlanTables.cpp - What the launches of a plan refer to ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/PlanTables.h"

#include "ir/Alignment.h"
#include "ir/Decisions.h"
#include "ir/DeviceArenas.h"
#include "ir/FunctionAttributes.h"
#include "ir/LaunchAttributes.h"
#include "ir/StridedLayout.h"
#include "ir/Updates.h"
#include "runtime/plan/DeviceImage.h"
#include "runtime/plan/DynamicPlan.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::codegen {

namespace rt = weft::fb;

std::unique_ptr<rt::SizeExpressionT> packedSize(Size size, llvm::function_ref<uint32_t(StringRef)> numberOf) {
  auto made = std::make_unique<rt::SizeExpressionT>();
  const DimExpr expr = size.expr();
  made->divisor = expr.divisor;
  for (const DimTerm &term : expr.terms) {
    auto part = std::make_unique<rt::SizeTermT>();
    part->coefficient = term.coefficient;
    for (const std::string &symbol : term.symbols)
      part->symbols.push_back(numberOf(symbol));
    made->terms.push_back(std::move(part));
  }
  return made;
}

Status PlanTables::problem(Operation *op, const std::string &what) {
  return Status::error("'" + op->getName().getStringRef().str() + "' at " + ir::locationText(op->getLoc()) +
                       " " + what);
}

Status PlanTables::fillTables() {
  addSymbols();
  if (auto bytes = sizeOfAttr(function->getAttr(attr::arenaBytes)))
    plan.arena_bytes = unsignedSize(*bytes);
  if (auto bytes = sizeOfAttr(function->getAttr(attr::arenaLowerBound)))
    plan.arena_lower_bound_bytes = unsignedSize(*bytes);
  if (Status status = addDevices(); !status)
    return status;
  addArguments();
  addResults();
  return {};
}

void PlanTables::addSymbols() {
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

int64_t PlanTables::size(Size value) {
  if (!value.isSymbolic()) {
    inexpressible |= !value.isExpressible();
    return value.number().value_or(0);
  }
  auto [it, inserted] = sizeNumbers.try_emplace(value.raw(), static_cast<int64_t>(plan.sizes.size()));
  if (inserted) {
    plan.sizes.push_back(packedSize(value, [&](StringRef symbol) { return symbolNumbers.at(symbol.str()); }));
  }
  return runtime::firstExpression + it->second;
}

uint64_t PlanTables::amount(Size value) { return unsignedSize(value.isExpressible() ? value : INT64_MAX); }

std::vector<int64_t> PlanTables::sizes(ArrayRef<Size> values) {
  std::vector<int64_t> result;
  for (Size value : values)
    result.push_back(size(value));
  return result;
}

uint32_t PlanTables::deviceNumber(DeviceAttr device) {
  auto [it, inserted] =
      deviceNumbers.try_emplace(device.withoutSizes(), static_cast<uint32_t>(devices.size()));
  if (inserted)
    devices.push_back(device.withoutSizes());
  return it->second;
}

uint32_t PlanTables::deviceNumber(Type type) { return deviceNumber(deviceOf(type)); }

/// Lists the devices of all values: first those with a part of the arena, in the arena's order. A plan that
/// uses only the host has no list.
Status PlanTables::addDevices() {
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
Type PlanTables::firstTemporary() {
  for (Operation &op : function.getBody().front())
    if (auto slices = op.getAttrOfType<ArrayAttr>(attr::slices))
      for (auto [slice, result] : llvm::zip(slices, op.getResults()))
        if (auto found = dyn_cast<SliceAttr>(slice); found && found.getStorage() == StorageKind::arena)
          return result.getType();
  return {};
}

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

std::unique_ptr<rt::TensorTypeT> PlanTables::typeOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto made = std::make_unique<rt::TensorTypeT>();
  made->dtype = static_cast<uint8_t>(dtypeOf(type));
  made->shape = sizes(sizesOf(tensor));
  made->device = deviceOf(type).str();
  return made;
}

void PlanTables::addArguments() {
  const Alignments alignments(function);
  static_assert(ir::widestAccess == runtime::widestAccess);
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
    if (!deviceOf(value.getType()).isCpu())
      argument->alignment = static_cast<uint32_t>(alignments.of(value));
    plan.arguments.push_back(std::move(argument));
    if (!addScalar(i))
      buffers[value] = bufferIndex(value.getType(), rt::Storage::argument, i, 0, bytes);
  }
}

void PlanTables::addResults() {
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
    if (const int64_t alignment = alignmentOfResult(function, i); alignment < ir::widestAccess)
      result->alignment = static_cast<uint32_t>(alignment);
    plan.results.push_back(std::move(result));
  }
}

/// Gives a number on the host that calls only read a place in the block of scalars; false for others.
bool PlanTables::addScalar(unsigned i) {
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
uint32_t PlanTables::scalarBuffer(Type type, uint32_t number) {
  return bufferIndex(type, rt::Storage::scalar, number, 0, bytesOf(type));
}

uint32_t PlanTables::bufferIndex(Type type, rt::Storage storage, uint32_t index, Size offset, Size bytes) {
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

Expected<uint32_t> PlanTables::bufferOf(Value value) {
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

bool PlanTables::readsScalarBlock(Operation *op) {
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

} // namespace weft::codegen
