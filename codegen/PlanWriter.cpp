//===- PlanWriter.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/PlanWriter.h"

#include "ir/Contraction.h"
#include "ir/Updates.h"
#include "passes/Decisions.h"
#include "runtime/Kernel.h"
#include "runtime/plan_generated.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"

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

  Expected<PlanBytes> run() {
    plan.function = function.getName().str();
    plan.target = "cpu";
    plan.kernel_abi = runtime::kernelAbi;
    plan.image = "image.cpu";
    if (auto bytes = function->getAttrOfType<IntegerAttr>(attr::arenaBytes))
      plan.arena_bytes = static_cast<uint64_t>(bytes.getInt());
    if (auto bytes = function->getAttrOfType<IntegerAttr>(attr::arenaLowerBound))
      plan.arena_lower_bound_bytes = static_cast<uint64_t>(bytes.getInt());
    addSignature();
    for (Operation &op : function.getBody().front()) {
      Status status;
      if (auto constant = dyn_cast<ConstantOp>(op))
        status = addConstant(constant);
      else if (auto fusion = dyn_cast<FusionOp>(op))
        status = addKernel(fusion);
      else if (auto dot = dyn_cast<DotGeneralOp>(op))
        status = addContraction(dot);
      else if (!isa<ReturnOp, UndefOp>(op) && !isStorageView(&op))
        status = problem(&op, "is not part of a launch list; run the whole pipeline first");
      if (!status)
        return status;
    }
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(rt::Plan::Pack(builder, &plan), rt::PlanIdentifier());
    const auto *data = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
    return PlanBytes{{data, data + builder.GetSize()}, std::move(constants)};
  }

private:
  static Status problem(Operation *op, const std::string &what) {
    return Status::error("'" + op->getName().getStringRef().str() + "' at " +
                         passes::locationText(op->getLoc()) + " " + what);
  }

  //===--------------------------------------------------------------------===//
  // Signature
  //===--------------------------------------------------------------------===//

  static std::unique_ptr<rt::TensorTypeT> typeOf(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    auto made = std::make_unique<rt::TensorTypeT>();
    made->dtype = static_cast<uint8_t>(dtypeOf(type));
    made->shape = tensor.getShape().vec();
    made->device = deviceOf(type).str();
    return made;
  }

  void addSignature() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto argument = std::make_unique<rt::ArgumentT>();
      if (auto name = function.getArgAttrOfType<StringAttr>(i, attr::name))
        argument->name = name.str();
      argument->type = typeOf(function.getArgumentTypes()[i]);
      if (auto role = function.getArgAttrOfType<StringAttr>(i, attr::role))
        argument->role = llvm::StringSwitch<rt::Role>(role.getValue())
                             .Case("state", rt::Role::state)
                             .Case("scalar", rt::Role::scalar)
                             .Case("random", rt::Role::random)
                             .Default(rt::Role::argument);
      argument->donated = function.isDonated(i);
      plan.arguments.push_back(std::move(argument));
      Value value = function.getArgument(i);
      buffers[value] =
          bufferIndex(rt::Storage::argument, i, 0, static_cast<uint64_t>(bytesOf(value.getType())));
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto result = std::make_unique<rt::ResultT>();
      if (auto name = function.getResultAttrOfType<StringAttr>(i, attr::name))
        result->name = name.str();
      result->type = typeOf(function.getResultTypes()[i]);
      result->tied_to = static_cast<int32_t>(function.getTiedArgument(i));
      plan.results.push_back(std::move(result));
    }
  }

  //===--------------------------------------------------------------------===//
  // Buffers
  //===--------------------------------------------------------------------===//

  uint32_t bufferIndex(rt::Storage storage, uint32_t index, uint64_t offset, uint64_t bytes) {
    auto key = std::tuple(storage, index, offset, bytes);
    auto [it, inserted] = known.try_emplace(key, static_cast<uint32_t>(plan.buffers.size()));
    if (inserted) {
      auto buffer = std::make_unique<rt::BufferT>();
      buffer->storage = storage;
      buffer->index = index;
      buffer->offset = offset;
      buffer->bytes = bytes;
      plan.buffers.push_back(std::move(buffer));
    }
    return it->second;
  }

  /// The plan's buffer of a value: its own slice, or its operand's where it is a view.
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
    auto position = static_cast<uint64_t>(slice.getPosition());
    uint64_t bytes = static_cast<uint64_t>(bytesOf(value.getType()));
    uint32_t index = 0;
    switch (slice.getStorage()) {
    case StorageKind::argument:
      index = bufferIndex(rt::Storage::argument, static_cast<uint32_t>(position), 0, bytes);
      break;
    case StorageKind::result:
      index = bufferIndex(rt::Storage::result, static_cast<uint32_t>(position), 0, bytes);
      break;
    case StorageKind::arena:
      index = bufferIndex(rt::Storage::arena, 0, position, bytes);
      break;
    case StorageKind::constant:
      index = bufferIndex(rt::Storage::constant, 0, position, bytes);
      break;
    }
    buffers[value] = index;
    return index;
  }

  Status addConstant(ConstantOp constant) {
    auto slices = constant->getAttrOfType<ArrayAttr>(attr::slices);
    if (!slices)
      return {}; // a splat that only fusions read holds no storage
    auto slice = cast<SliceAttr>(slices[0]);
    size_t begin = static_cast<size_t>(slice.getPosition()),
           bytes = static_cast<size_t>(bytesOf(constant.getType()));
    if (constants.size() < begin + bytes)
      constants.resize(begin + bytes);
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue())) {
      ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
      std::memcpy(constants.data() + begin, data.data(), bytes);
      return {};
    }
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense)
      return problem(constant, "holds a kind of constant that has no bytes");
    Literal literal(constant.getType());
    int64_t i = 0;
    if (literal.isReal())
      for (const APFloat &value : dense.getValues<APFloat>()) {
        APFloat wide = value;
        bool lost = false;
        wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
        literal.setReal(i++, wide.convertToDouble());
      }
    else
      for (const APInt &value : dense.getValues<APInt>())
        literal.setWhole(i++, value.getBitWidth() == 1 ? static_cast<int64_t>(value.getZExtValue())
                                                       : value.getSExtValue());
    literal.toBytes(constants.data() + begin);
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Launches
  //===--------------------------------------------------------------------===//

  std::unique_ptr<rt::LaunchT> launch(Operation *op, std::string name) {
    auto made = std::make_unique<rt::LaunchT>();
    made->name = std::move(name);
    made->location = passes::locationText(op->getLoc());
    llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
    for (Value value : read)
      made->bytes_read += static_cast<uint64_t>(bytesOf(value.getType()));
    for (Value value : op->getResults())
      made->bytes_written += static_cast<uint64_t>(bytesOf(value.getType()));
    return made;
  }

  Status addKernel(FusionOp fusion) {
    auto schedule = fusion.getSchedule();
    if (!schedule)
      return problem(fusion, "has no schedule; run --weft-schedule first");
    auto made = launch(fusion, symbols.lookup(fusion));
    rt::KernelLaunchT kernel;
    kernel.symbol = symbols.lookup(fusion);
    for (Value operand : fusion.getInputs()) {
      auto index = bufferOf(operand);
      if (!index)
        return index.status();
      kernel.buffers.push_back(*index);
    }
    kernel.first_result = static_cast<uint32_t>(kernel.buffers.size());
    for (Value result : fusion.getOutputs()) {
      auto index = bufferOf(result);
      if (!index)
        return index.status();
      kernel.buffers.push_back(*index);
    }
    kernel.tasks = schedule->getTasks();
    kernel.grain = schedule->getGrain();
    kernel.scratch_bytes = static_cast<uint64_t>(schedule->getScratch());
    // One operation an element of each elementwise op is what the cost of a call is estimated from.
    for (Operation &op : fusion.getBody().front())
      if (isa<ElementwiseOp>(op))
        made->flops +=
            static_cast<uint64_t>(cast<RankedTensorType>(op.getResult(0).getType()).getNumElements());
    for (GatherOp gather : checksOf(fusion)) {
      made->may_fail = true;
      addCheck(gather);
    }
    made->op.Set(std::move(kernel));
    plan.launches.push_back(std::move(made));
    return {};
  }

  void addCheck(GatherOp gather) {
    auto check = std::make_unique<rt::CheckT>();
    auto dim = static_cast<int64_t>(gather.getDim());
    std::string size = std::to_string(gather.getA().getType().getDimSize(dim));
    if (auto what = gather->getAttrOfType<StringAttr>(attr::indexName))
      check->message = what.str() + " {value} is out of bounds: expected a number in [0, " + size +
                       ") (at position {position})";
    else
      check->message = "index {value} is out of bounds for dimension " + std::to_string(dim) + " with size " +
                       size + " (at position {position})";
    check->location = passes::locationText(gather.getLoc());
    plan.checks.push_back(std::move(check));
  }

  Status addContraction(DotGeneralOp dot) {
    auto shape = getContractionShape(dot);
    if (!shape)
      return problem(dot,
                     "has operands that need a transposition; run --weft-canonicalize-contractions first");
    std::string name = "matmul " + std::to_string(shape->m) + "x" + std::to_string(shape->k) + "x" +
                       std::to_string(shape->n);
    auto made = launch(dot, name + (dot.getBias() ? " + bias" : "") + (dot.getRelu() ? " + relu" : ""));
    rt::ContractionLaunchT contraction;
    contraction.dtype = static_cast<uint8_t>(dtypeOf(dot.getType()));
    contraction.batch = shape->batch;
    contraction.m = shape->m;
    contraction.n = shape->n;
    contraction.k = shape->k;
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
    contraction.a_strides.assign(shape->aStrides.begin(), shape->aStrides.end());
    contraction.b_strides.assign(shape->bStrides.begin(), shape->bStrides.end());
    contraction.c_strides.assign(shape->cStrides.begin(), shape->cStrides.end());
    contraction.relu = dot.getRelu();
    made->flops = 2 * static_cast<uint64_t>(shape->batch * shape->m * shape->n * shape->k);
    made->op.Set(std::move(contraction));
    plan.launches.push_back(std::move(made));
    return {};
  }

  FuncOp function;
  const DenseMap<Operation *, std::string> &symbols;
  rt::PlanT plan;
  std::vector<std::byte> constants;
  DenseMap<Value, uint32_t> buffers;
  std::map<std::tuple<rt::Storage, uint32_t, uint64_t, uint64_t>, uint32_t> known;
};

} // namespace

Expected<PlanBytes> writePlan(FuncOp function, const DenseMap<Operation *, std::string> &symbols) {
  return Writer(function, symbols).run();
}

} // namespace weft::codegen
