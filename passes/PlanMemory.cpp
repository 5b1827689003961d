//===- PlanMemory.cpp - Storage for every value of the launch list --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass first inserts the copies that correctness needs: a result that cannot be computed in its storage
// is copied there at the end. Then it assigns storage. Each copy follows from a rule below and has a reason
// code.
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/DeviceArenas.h"
#include "ir/FunctionAttributes.h"
#include "ir/Loops.h"
#include "ir/RawKernel.h"
#include "ir/Target.h"
#include "passes/Passes.h"
#include "passes/fusion/FusionCost.h"
#include "passes/launch/ArenaPacking.h"
#include "passes/launch/LaunchList.h"
#include "passes/launch/LaunchStorage.h"
#include "passes/launch/MemoryPlanVerifier.h"

#include "ir/Updates.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

namespace {

/// Temporaries that are packed together. Buffers of copies between devices have a lane of their own: if they
/// shared bytes with values that are computed during the copy, the copy would wait for them.
struct Lane {
  DeviceAttr device;
  bool copied = false;
  std::vector<DynamicBuffer> buffers;
};

class PlanMemory : public impl::PlanMemoryBase<PlanMemory> {
public:
  using PlanMemoryBase::PlanMemoryBase;
  void runOnOperation() override;

private:
  /// A buffer, by its lane and its number there.
  struct Held {
    unsigned lane, buffer;
  };
  using Buffers = llvm::MapVector<Value, Held>;
  LogicalResult checkLaunchList();
  void number();
  void noteStridedCopies();
  void noteRawCopies();
  void placeUpdates();
  std::string whyNotUpdated(FusionOp update, StringRef &code);
  bool mayUpdateArgument(FusionOp update, unsigned argument);
  /// A result that is a copy of a value.
  struct ResultCopy {
    unsigned result;
    int64_t argument; ///< written, or -1
  };
  void placeResults();
  void copyResults(ArrayRef<ResultCopy> copies);
  void placeAliases();
  bool sharesStorage(unsigned result, Value root);
  std::string whyNotInPlace(Value root, unsigned argument, StringRef &code);
  Value copy(Value value);
  Value copy(Value value, OpBuilder &builder);
  LogicalResult assignArena();
  std::optional<Held> dyingOperand(OpResult result, const Buffers &held, ArrayRef<Lane> lanes);
  LogicalResult packLanes(ArrayRef<Lane> lanes, const Buffers &held);
  LogicalResult assignConstants();
  void writeSlices();
  int64_t copyTime(Value value) const;
  SliceAttr slice(StorageKind storage, Size position, Value value) {
    return SliceAttr::get(&getContext(), storage, position, bytesOf(value.getType()));
  }

  FuncOp func;
  std::optional<Target> machine;
  llvm::DenseMap<Operation *, unsigned> position;
  llvm::DenseMap<Value, unsigned> lastRead;     ///< by root: the position of the last launch that reads it
  llvm::DenseMap<Value, SliceAttr> storage;     ///< by head
  llvm::DenseMap<int64_t, unsigned> tiedResult; ///< by number of the argument
  unsigned lastFailing = 0;                     ///< 1 + the position of the last launch that may fail, or 0
  Size arenaBytes = 0, arenaLowerBound = 0;
  SmallVector<DeviceArena> arenas; ///< the part of each device, in the order of their first temporaries
  std::vector<Decision> decisions;
};

} // namespace

/// The time of a copy of the value by the cost model, in picoseconds.
int64_t PlanMemory::copyTime(Value value) const {
  int64_t bytes = rangesOf(func).largest(bytesOf(value.getType()));
  constexpr int64_t readAndWritten = 2 * psPerUs;
  // A text may be of another target's devices, which is refused when a package is made.
  const TargetDescription *device = machine->find(deviceOf(value.getType()));
  return device ? device->launchPs + scale(bytes, readAndWritten, device->dramBytesPerUs) : 0;
}

LogicalResult PlanMemory::checkLaunchList() {
  for (Operation &op : func.getBody().front())
    if (isa<CallOp>(op))
      return op.emitOpError()
             << "is still there after inlining: a function that calls itself has no end to be "
                "planned; write its loop out";
    else if (!isLaunch(&op) && !isa<ConstantOp, UndefOp, ReturnOp>(op) && !isStorageView(&op))
      return op.emitOpError()
             << "is no launch: a memory plan is made for kernels, contractions, copies, host "
                "effects, weft.reshape, weft.bitcast, weft.constant, weft.undef and weft.return; run "
                "--weft-fuse and --weft-assign-queues first";
  return success();
}

/// Computes the positions of ops and the last reads of roots from the current text.
void PlanMemory::number() {
  position.clear();
  lastRead.clear();
  lastFailing = 0;
  unsigned next = 0;
  for (Operation &op : func.getBody().front()) {
    position[&op] = next++;
    if (mayFail(&op))
      lastFailing = next;
    if (!isStorageView(&op))
      for (Value operand : op.getOperands())
        lastRead[storageRoot(operand)] = position[&op];
  }
}

/// The argument with strides that a kernel copies to row-major memory without computing anything, or null.
static BlockArgument stridedSource(Value value) {
  auto fusion = value.getDefiningOp<FusionOp>();
  if (!fusion)
    return {};
  Value inner = fusion.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  while (Operation *op = inner.getDefiningOp()) {
    if (!isa<SliceOp, TransposeOp, BroadcastInDimOp, ReshapeOp>(op))
      return {};
    inner = op->getOperand(0);
  }
  auto argument =
      dyn_cast<BlockArgument>(storageRoot(fusion.getOperand(cast<BlockArgument>(inner).getArgNumber())));
  auto func = argument ? dyn_cast<FuncOp>(argument.getOwner()->getParentOp()) : FuncOp();
  return func && func.getArgAttr(argument.getArgNumber(), attr::callerShape) ? argument : BlockArgument();
}

/// Records the arguments that are copied to row-major memory for a contraction, because the library does not
/// support their strides. One copy serves all readers.
void PlanMemory::noteStridedCopies() {
  llvm::SetVector<Value> copied;
  for (auto dot : func.getBody().front().getOps<DotGeneralOp>())
    for (Value operand : dot.getOperands())
      if (Value root = storageRoot(operand); stridedSource(root) && copied.insert(root))
        decisions.push_back({"WEFT-D014", locationText(dot.getLoc()),
                             "argument " + std::to_string(stridedSource(root).getArgNumber()),
                             "weft.dot_general", copyTime(root),
                             "a contraction does not support these strides; " +
                                 sizeText(bytesOf(root.getType())) + " bytes are copied"});
}

/// Whether an update may write its base, which is an argument: the updated value must be returned as the
/// argument's new value, and no launch that may fail may come after.
bool PlanMemory::mayUpdateArgument(FusionOp update, unsigned argument) {
  if (!func.isDonated(argument) || lastFailing > position.lookup(update))
    return false;
  // Find the last update of the chain of updates in place.
  Value last = update.getResult(0);
  auto baseOf = [](Operation *op) { return updateIn(op) ? storageRoot(op->getOperand(0)) : Value(); };
  for (bool further = true; further;) {
    further = false;
    SmallVector<Value> views{last};
    while (!views.empty() && !further)
      for (Operation *user : views.pop_back_val().getUsers()) {
        if (isStorageView(user))
          views.push_back(user->getResult(0));
        else if (baseOf(user) == last && lastRead.lookup(last) == position.lookup(user)) {
          last = user->getResult(0);
          further = true;
          break;
        }
      }
  }
  int64_t found = 0;
  bool tied = false;
  for (OpOperand &operand : func.getBody().front().getTerminator()->getOpOperands()) {
    if (storageRoot(operand.get()) != last)
      continue;
    ++found;
    tied = func.getTiedArgument(operand.getOperandNumber()) == argument;
  }
  return tied && found == 1;
}

/// Why an update cannot write its base; empty if it can.
std::string PlanMemory::whyNotUpdated(FusionOp update, StringRef &code) {
  Value base = storageRoot(update.getOperand(0));
  code = "WEFT-D012";
  if (base.getDefiningOp<ConstantOp>())
    return "the base is a constant";
  if (!readsOnlyInPlace(update, base, 0))
    return "the update reads its base at other indices than it writes";
  if (lastRead.lookup(base) > position.lookup(update))
    return "the value before the update is still needed";
  auto argument = dyn_cast<BlockArgument>(base);
  if (argument && !mayUpdateArgument(update, argument.getArgNumber()))
    return "the base is an argument that the function does not replace by the result, or not at this point";
  return {};
}

/// Gives each update that cannot write its base a copy of it.
void PlanMemory::placeUpdates() {
  struct Copy {
    FusionOp update;
    StringRef code;
    std::string why;
  };
  SmallVector<Copy> copies;
  for (auto fusion : func.getBody().front().getOps<FusionOp>())
    if (updateIn(fusion)) {
      Copy made{fusion, {}, {}};
      made.why = whyNotUpdated(fusion, made.code);
      if (!made.why.empty())
        copies.push_back(std::move(made));
    }
  for (Copy &made : copies) {
    OpBuilder builder(made.update);
    Value base = made.update.getOperand(0);
    made.update.setOperand(0, copy(base, builder));
    if (report)
      decisions.push_back({made.code.str(), locationText(made.update.getLoc()), "base of an update", "", 0,
                           made.why + "; " + sizeText(bytesOf(base.getType())) + " bytes are copied"});
  }
  number();
}

/// Why result `root` of a launch cannot be written to the storage of an argument; empty if it can.
std::string PlanMemory::whyNotInPlace(Value root, unsigned argument, StringRef &code) {
  Value old = func.getBody().getArgument(argument);
  Operation *writer = root.getDefiningOp();
  unsigned at = position.lookup(writer);
  code = "WEFT-D001";
  if (auto read = lastRead.find(old); read != lastRead.end() && read->second > at)
    return "a later launch, or the result of the function, still reads the argument";
  code = "WEFT-D002";
  if (!readsOnlyInPlace(writer, old, cast<OpResult>(root).getResultNumber()))
    return "the launch that computes the result reads the argument at other indices than it writes";
  code = "WEFT-D003";
  if (lastFailing > at)
    return "the launch, or a later one, may fail, and a call that fails changes nothing";
  code = "WEFT-D015";
  if (!canBePredicated(writer))
    return std::string(isa<RawKernelOp>(writer)       ? "a kernel of the user"
                       : isa<ScanOp, WhileOp>(writer) ? "a launch of a loop"
                       : isa<CondOp>(writer)          ? "a launch of a branch"
                                                      : "the library") +
           " does not see on a device that a call has failed, and would write the argument";
  return {};
}

/// Adds a kernel that copies `value` at the end of the function.
Value PlanMemory::copy(Value value) {
  OpBuilder builder(func.getBody().front().getTerminator());
  return copy(value, builder);
}

Value PlanMemory::copy(Value value, OpBuilder &builder) {
  auto fusion = builder.create<FusionOp>(value.getLoc(), TypeRange{value.getType()}, ValueRange{value},
                                         FusionKind::loop, ScheduleAttr(), ArrayAttr(), DenseI64ArrayAttr());
  Block &block = fusion.getBody().emplaceBlock();
  Value argument = block.addArgument(value.getType(), value.getLoc());
  OpBuilder::atBlockEnd(&block).create<YieldOp>(value.getLoc(), argument);
  if (unsigned queue = computeQueueOf(func, deviceOf(value.getType())))
    fusion->setAttr(attr::queue, builder.getI64IntegerAttr(queue));
  return fusion.getResult(0);
}

/// Whether a result needs no storage of its own because the program made it an alias. If another result
/// replaces the argument of an alias, the alias is copied.
bool PlanMemory::sharesStorage(unsigned result, Value root) {
  if (auto of = func.getResultAttrOfType<IntegerAttr>(result, attr::aliasArgument)) {
    auto argument = dyn_cast<BlockArgument>(root);
    auto other = tiedResult.find(of.getInt());
    bool replaced = other != tiedResult.end() &&
                    storageRoot(func.getBody().front().getTerminator()->getOperand(other->second)) != root;
    if (argument && argument.getArgNumber() == of.getInt() && !replaced)
      return true;
    func.removeResultAttr(result, StringAttr::get(&getContext(), attr::aliasArgument));
    if (report)
      decisions.push_back({"WEFT-D009", locationText(root.getLoc()), "result " + std::to_string(result),
                           "argument " + std::to_string(of.getInt()), copyTime(root),
                           "the result is an alias of an argument that another result replaces; " +
                               sizeText(bytesOf(root.getType())) + " bytes are copied"});
    return false;
  }
  if (auto of = func.getResultAttrOfType<IntegerAttr>(result, attr::aliasResult)) {
    if (of.getInt() >= 0 && of.getInt() < result &&
        storageRoot(func.getBody().front().getTerminator()->getOperand(of.getInt())) == root &&
        !func.getResultAttr(of.getInt(), attr::aliasArgument))
      return true;
    func.removeResultAttr(result, StringAttr::get(&getContext(), attr::aliasResult));
  }
  return false;
}

/// Copies these results to their storage.
void PlanMemory::copyResults(ArrayRef<ResultCopy> copies) {
  Operation *terminator = func.getBody().front().getTerminator();
  llvm::DenseSet<unsigned> written; // arguments
  // Copies to arguments come last, after all reads of arguments. A result that reads an argument which
  // another copy replaces is saved before.
  for (const ResultCopy &c : copies)
    if (c.argument >= 0)
      written.insert(static_cast<unsigned>(c.argument));
  for (const ResultCopy &c : copies)
    if (c.argument < 0) {
      Value made = copy(terminator->getOperand(c.result));
      storage[made] = slice(StorageKind::result, c.result, made);
      terminator->setOperand(c.result, made);
    }
  for (const ResultCopy &c : copies) {
    auto from = dyn_cast<BlockArgument>(storageRoot(terminator->getOperand(c.result)));
    if (c.argument >= 0 && from && written.contains(from.getArgNumber()))
      terminator->setOperand(c.result, copy(terminator->getOperand(c.result)));
  }
  for (const ResultCopy &c : copies)
    if (c.argument >= 0) {
      Value made = copy(terminator->getOperand(c.result));
      storage[made] = slice(StorageKind::argument, c.argument, made);
      terminator->setOperand(c.result, made);
    }
}

/// An alias of a result that became a copy becomes an alias of the copy.
void PlanMemory::placeAliases() {
  Operation *terminator = func.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  for (unsigned result = 0; result < func.getNumResults(); ++result) {
    auto of = func.getResultAttrOfType<IntegerAttr>(result, attr::aliasResult);
    if (!of || func.getTiedArgument(result) >= 0)
      continue;
    Value own = terminator->getOperand(result), shared = terminator->getOperand(of.getInt());
    if (storageRoot(own) == storageRoot(shared))
      continue;
    auto type = cast<RankedTensorType>(own.getType());
    terminator->setOperand(result, shared.getType() == type
                                       ? shared
                                       : builder.create<ReshapeOp>(own.getLoc(), shared, sizesOf(type)));
  }
}

void PlanMemory::placeResults() {
  Operation *terminator = func.getBody().front().getTerminator();
  SmallVector<ResultCopy> copies;
  tiedResult.clear();
  for (unsigned result = 0; result < func.getNumResults(); ++result)
    if (int64_t tied = func.getTiedArgument(result); tied >= 0)
      tiedResult[tied] = result;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    int64_t tied = func.getTiedArgument(number);
    Value root = storageRoot(operand.get()), head = storageHead(root);
    auto argument = dyn_cast<BlockArgument>(root);
    if (tied >= 0 && argument && argument.getArgNumber() == tied)
      continue; // unchanged
    if (sharesStorage(number, root))
      continue;
    if (isa<BlockArgument>(head) && !argument)
      continue; // updated in place
    StringRef code;
    std::string why;
    if (argument || root.getDefiningOp<ConstantOp>()) {
      code = "WEFT-D004";
      why = argument ? "the result is an argument" : "the result is a constant";
    } else if (storage.count(head)) {
      code = "WEFT-D005";
      why = "the result is returned twice";
    } else if (tied >= 0) {
      why = whyNotInPlace(head, static_cast<unsigned>(tied), code);
    }
    if (why.empty()) {
      storage[head] =
          tied >= 0 ? slice(StorageKind::argument, tied, root) : slice(StorageKind::result, number, root);
      continue;
    }
    copies.push_back({number, tied});
    if (report)
      decisions.push_back({code.str(), locationText(operand.get().getLoc()),
                           "result " + std::to_string(number),
                           tied >= 0 ? "argument " + std::to_string(tied) : "", copyTime(root),
                           why + "; " + sizeText(bytesOf(root.getType())) + " bytes are copied"});
  }
  copyResults(copies);
  placeAliases();
}

/// Whether a copy to another device reads the value.
static bool isCopied(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return isa<TransferOp>(user); });
}

/// The number of the lane for a device's buffers, copied ones or others. Adds the lane if it does not exist.
static unsigned laneOf(SmallVectorImpl<Lane> &lanes, DeviceAttr device, bool copied) {
  for (auto [i, lane] : llvm::enumerate(lanes))
    if (lane.device == device && lane.copied == copied)
      return static_cast<unsigned>(i);
  lanes.push_back({device, copied, {}});
  return static_cast<unsigned>(lanes.size() - 1);
}

/// The buffer of an operand whose live range ends at the op of `result`, and which the op reads element by
/// element before it writes `result`, on the same device and with as many bytes. None if there is no such
/// operand.
std::optional<PlanMemory::Held> PlanMemory::dyingOperand(OpResult result, const Buffers &held,
                                                         ArrayRef<Lane> lanes) {
  Operation *op = result.getOwner();
  unsigned at = position.lookup(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Value root = storageRoot(operand.get());
    auto found = held.find(root);
    if (found == held.end() || lastRead.lookup(root) != at ||
        bytesOf(root.getType()) != bytesOf(result.getType()))
      continue;
    const Lane &lane = lanes[found->second.lane];
    if (lane.buffers[found->second.buffer].end != at || lane.copied ||
        lane.device != deviceOf(result.getType()).withoutSizes())
      continue;
    if (readsOnlyInPlace(op, root, result.getResultNumber()))
      return found->second;
  }
  return std::nullopt;
}

LogicalResult PlanMemory::assignArena() {
  SmallVector<Lane> lanes;
  Buffers held;
  StorageHeads heads;
  for (Operation &op : func.getBody().front()) {
    if (!isLaunch(&op) && !isa<UndefOp>(op))
      continue;
    unsigned at = position.lookup(&op);
    for (OpResult result : op.getResults()) {
      Value head = heads.of(result);
      if (isa<BlockArgument>(head) || storage.count(head))
        continue;
      auto read = lastRead.find(result);
      unsigned end = read == lastRead.end() ? at : read->second;
      if (head != result) {
        Held of = held.lookup(storageRoot(op.getOperand(0)));
        unsigned &last = lanes[of.lane].buffers[of.buffer].end;
        last = std::max(last, end);
        held[result] = of;
        continue;
      }
      std::optional<Held> inherited = dyingOperand(result, held, lanes);
      if (inherited && end > at) {
        lanes[inherited->lane].buffers[inherited->buffer].end = end;
      } else {
        bool copied = isa<TransferOp>(op) || (queueCount(func) > 1 && isCopied(result));
        unsigned lane = laneOf(lanes, deviceOf(result.getType()).withoutSizes(), copied);
        inherited = Held{lane, static_cast<unsigned>(lanes[lane].buffers.size())};
        lanes[lane].buffers.push_back({bytesOf(result.getType()), at, end});
      }
      held[result] = *inherited;
    }
  }
  return packLanes(lanes, held);
}

/// Gives every lane a part of the arena. The lanes of a device are adjacent, that of copied buffers second.
LogicalResult PlanMemory::packLanes(ArrayRef<Lane> lanes, const Buffers &held) {
  SymbolRanges ranges = rangesOf(func);
  std::vector<DynamicArenaPlan> plans(lanes.size());
  std::vector<Size> bases(lanes.size());
  arenas.clear();
  arenaBytes = arenaLowerBound = 0;
  for (const Lane &of : lanes) {
    if (arenaOf(arenas, of.device))
      continue;
    arenas.push_back({of.device, arenaBytes, 0});
    for (bool copied : {false, true})
      for (auto [i, lane] : llvm::enumerate(lanes)) {
        if (lane.device != of.device || lane.copied != copied)
          continue;
        plans[i] = packDynamicArena(lane.buffers, ranges);
        bases[i] = arenaBytes;
        arenaBytes += plans[i].bytes;
        arenaLowerBound += plans[i].lowerBound;
      }
    arenas.back().end = arenaBytes;
  }
  // If the size of the arena can be expressed, so can all offsets, because an offset is a sum of some of its
  // terms. With dynamic sizes the largest size of the arena must be known too, and below 2^62 bytes.
  bool isDynamic = llvm::any_of(held, [](auto of) { return ir::isDynamic(of.first.getType()); });
  bool isVast = isDynamic && ranges.largest(arenaBytes) >= int64_t(1) << 62;
  if (!arenaBytes.isExpressible() || isVast)
    return func.emitError(
        isDynamic ? "has temporaries whose bytes in all cannot be expressed, or are more than 2^62 "
                    "where its symbols are largest; use smaller tensors, or fewer symbols"
                  : "has temporaries of more than 2^63 bytes in all: no memory holds them, use "
                    "smaller tensors");
  for (auto [value, of] : held)
    storage[value] = slice(StorageKind::arena, bases[of.lane] + plans[of.lane].offsets[of.buffer], value);
  return success();
}

/// Records the tensors that kernels of the user change and that are copied first, because something else
/// needs the old value or its storage.
void PlanMemory::noteRawCopies() {
  for (auto raw : func.getBody().front().getOps<RawKernelOp>())
    for (const RawParameter &parameter : rawParameters(raw)) {
      if (!parameter.operand || !parameter.result)
        continue;
      const Value base = storageRoot(raw.getInputs()[*parameter.operand]);
      const SliceAttr held = sliceOf(base), made = sliceOf(raw.getResult(*parameter.result));
      if (held == made)
        continue;
      const bool isArgument = held.getStorage() == StorageKind::argument;
      decisions.push_back({"WEFT-D012", locationText(raw.getLoc()), "in-out tensor of a raw kernel",
                           raw.getEntry().str(), copyTime(base),
                           std::string(isArgument ? "it is an argument, which only kernels of Weft write"
                                                  : "the value before, or its storage, is still needed") +
                               "; " + sizeText(bytesOf(base.getType())) + " bytes are copied"});
    }
}

LogicalResult PlanMemory::assignConstants() {
  llvm::DenseMap<Attribute, int64_t> placed;
  int64_t next = 0;
  for (auto constant : func.getBody().front().getOps<ConstantOp>()) {
    std::optional<int64_t> bytes = bytesOf(constant.getType()).number();
    if (!bytes)
      return constant.emitOpError()
             << "has dynamic dimensions, and the constant section has a size that is a "
                "number; run --weft-fuse first, which fills it in a kernel";
    auto [it, inserted] = placed.try_emplace(constant.getValueAttr(), next);
    if (inserted)
      next += llvm::alignTo(*bytes, arenaAlignment);
    storage[constant.getResult()] = slice(StorageKind::constant, it->second, constant.getResult());
  }
  return success();
}

void PlanMemory::writeSlices() {
  Builder b(&getContext());
  StorageHeads heads;
  for (Operation &op : func.getBody().front().without_terminator()) {
    SmallVector<Attribute> slices;
    for (Value result : op.getResults()) {
      Value head = heads.of(result);
      auto argument = dyn_cast<BlockArgument>(head);
      slices.push_back(argument ? slice(StorageKind::argument, argument.getArgNumber(), head)
                                : storage.lookup(head));
    }
    if (!slices.empty())
      op.setAttr(attr::slices, b.getArrayAttr(slices));
  }
  func->setAttr(attr::arenaBytes, sizeAttr(&getContext(), arenaBytes));
  func->setAttr(attr::arenaLowerBound, sizeAttr(&getContext(), arenaLowerBound));
  // Remove the devices of an earlier plan.
  func->removeAttr(attr::arenaDevices);
  func->removeAttr(attr::arenaBegins);
  if (arenas.size() < 2)
    return;
  SmallVector<Attribute> devices;
  SmallVector<Size> begins;
  for (const DeviceArena &arena : arenas) {
    devices.push_back(arena.device);
    begins.push_back(arena.begin);
  }
  func->setAttr(attr::arenaDevices, b.getArrayAttr(devices));
  func->setAttr(attr::arenaBegins, SizesAttr::get(&getContext(), begins));
}

void PlanMemory::runOnOperation() {
  func = getOperation();
  if (func.isExternal())
    return;
  machine = parseTarget(func, target);
  if (!machine || failed(describesAll(func, *machine)))
    return signalPassFailure();
  if (failed(checkLaunchList()))
    return signalPassFailure();
  decisions.clear();
  storage.clear();
  number();
  if (report)
    noteStridedCopies();
  placeUpdates();
  placeResults();
  number();
  if (failed(assignArena()) || failed(assignConstants()))
    return signalPassFailure();
  writeSlices();
  if (report)
    noteRawCopies();
  recordDecisions(func, decisions);
  if (failed(verifyMemoryPlan(func))) {
    func.emitError() << "has a memory plan that does not verify; this is an error of Weft: please report the "
                        "program";
    signalPassFailure();
  }
}

} // namespace weft::passes
