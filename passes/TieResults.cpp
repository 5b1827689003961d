//===- TieResults.cpp - Ties results to arguments that they update --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values have no storage before the memory plan. This pass replaces `weft.copy_into` and `weft.alias` by
// their operands, and records the storage in attributes of the results. The kernel that computes a value can
// then write it to that storage, without a copy.
//
//===----------------------------------------------------------------------===//
#include "ir/LaunchAttributes.h"
#include "passes/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_TIERESULTS
#include "passes/Passes.h.inc"

namespace {

struct TieResults : impl::TieResultsBase<TieResults> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Block &body = func.getBody().front();
    Operation *terminator = body.getTerminator();
    readResults(func);
    // Find ties first: they depend on the returned values, which may be returned through aliases.
    for (auto write : body.getOps<CopyIntoOp>())
      if (failed(tieWrite(func, write)))
        return signalPassFailure();
    for (OpOperand &operand : terminator->getOpOperands())
      noteAlias(operand);
    writeResults(func);
    for (Operation &op : llvm::make_early_inc_range(body)) {
      Value value;
      if (auto write = dyn_cast<CopyIntoOp>(op))
        value = write.getSrc();
      else if (auto alias = dyn_cast<AliasOp>(op))
        value = alias.getA();
      else
        continue;
      op.getResult(0).replaceAllUsesWith(isAskedFor(op.getResult(0)) ? sameValue(value, op) : value);
      op.erase();
    }
  }

  /// Reads the returned values and the attributes of the results. All result attributes are one attribute,
  /// which is written once at the end: an optimiser's step has thousands of results, and each change would
  /// copy all.
  void readResults(FuncOp func) {
    facts.clear();
    resultsOf.clear();
    for (OpOperand &operand : func.getBody().front().getTerminator()->getOpOperands()) {
      unsigned result = operand.getOperandNumber();
      facts.emplace_back(func.getResultAttrDict(result));
      resultsOf[unview(operand.get())].push_back(result);
    }
  }
  void writeResults(FuncOp func) {
    SmallVector<Attribute> all;
    for (NamedAttrList &attributes : facts)
      all.push_back(attributes.getDictionary(&getContext()));
    function_interface_impl::setAllResultAttrDicts(func, all);
  }
  int64_t tiedArgument(unsigned result) {
    auto tied = dyn_cast_or_null<IntegerAttr>(facts[result].get(attr::tied));
    return tied ? tied.getInt() : -1;
  }
  void note(unsigned result, StringRef name, unsigned number) {
    facts[result].set(name, Builder(&getContext()).getI64IntegerAttr(number));
  }

  /// Whether the program needs a gradient with respect to the value. It differs from the gradient with
  /// respect to the written or aliased value, so the two values must stay distinct until differentiation.
  static bool isAskedFor(Value value) {
    return llvm::any_of(value.getUses(), [](OpOperand &use) {
      return isa<GradientOp>(use.getOwner()) && use.getOperandNumber() > 0;
    });
  }

  /// A new value with the same elements, which the clean-up after differentiation folds.
  static Value sameValue(Value value, Operation &before) {
    OpBuilder builder(&before);
    return builder.create<ReshapeOp>(before.getLoc(), value.getType(), value, sizesOf(value.getType()));
  }

  /// The value behind the views of `value`.
  static Value unview(Value value) {
    for (;;) {
      if (auto alias = value.getDefiningOp<AliasOp>())
        value = alias.getA();
      else if (auto reshape = value.getDefiningOp<ReshapeOp>())
        value = reshape.getA();
      else
        return value;
    }
  }

  /// The argument or other value whose storage `value` shares by views and writes.
  static Value storageOf(Value value) {
    for (;;) {
      value = unview(value);
      auto write = value.getDefiningOp<CopyIntoOp>();
      if (!write)
        return value;
      value = write.getDst();
    }
  }

  LogicalResult tieWrite(FuncOp func, CopyIntoOp write) {
    // A reader of the old value after the write would read the new one.
    for (OpOperand &use : write.getDst().getUses()) {
      Operation *reader = use.getOwner();
      if (reader == write || reader->isBeforeInBlock(write))
        continue;
      auto diag = write.emitOpError() << "overwrites a value that is read afterwards (" << "WEFT-D006" << ")";
      diag.attachNote(reader->getLoc()) << "it is read here";
      diag.attachNote(write.getLoc()) << "to fix, read the result of the write, or write to a copy";
      return diag;
    }
    auto argument = dyn_cast<BlockArgument>(storageOf(write.getDst()));
    if (!argument)
      return success(); // storage of the function's own is not visible outside
    unsigned number = argument.getArgNumber();
    if (!func.isDonated(number))
      return write.emitOpError() << "writes argument " << number << ", which is not donated (" << "WEFT-D007"
                                 << "); mark it {weft.donated}";
    // Only the last write of a chain is returned.
    Value value = write.getResult();
    for (Operation *user : value.getUsers())
      if (auto next = dyn_cast<CopyIntoOp>(user); next && next.getDst() == value)
        return success();
    Operation *terminator = func.getBody().front().getTerminator();
    for (unsigned result : resultsOf.lookup(value)) {
      if (terminator->getOperand(result).getType() != argument.getType())
        continue;
      if (int64_t tied = tiedArgument(result); tied >= 0 && tied != number)
        continue;
      note(result, attr::tied, number);
      return success();
    }
    return write.emitOpError() << "writes argument " << number << ", but what it wrote is not returned ("
                               << "WEFT-D008"
                               << "); return it, so that the "
                                  "result is tied to the argument";
  }

  /// A result that is an alias of an argument, or of an earlier result, shares its storage.
  void noteAlias(OpOperand &operand) {
    unsigned result = operand.getOperandNumber();
    if (!operand.get().getDefiningOp<AliasOp>() || tiedArgument(result) >= 0)
      return;
    Value value = unview(operand.get());
    if (auto argument = dyn_cast<BlockArgument>(value))
      note(result, attr::aliasArgument, argument.getArgNumber());
    else if (unsigned first = resultsOf.find(value)->second.front(); first != result)
      note(result, attr::aliasResult, first);
  }

  SmallVector<NamedAttrList> facts; ///< the attributes of each result
  llvm::DenseMap<Value, SmallVector<unsigned, 1>>
      resultsOf; ///< numbers of the results that return a value, also through views
};

} // namespace
} // namespace weft::passes
