//===- Fusion.cpp - weft.fusion -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"
#include "ir/ops/Common.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
namespace weft::ir {

ParseResult FusionOp::parse(OpAsmParser &parser, OperationState &state) {
  // kind (%a, %b) {attrs} : (A, B) -> (R) { ^bb0(...): ... }
  StringRef kind;
  auto loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&kind))
    return failure();
  auto symbol = symbolizeFusionKind(kind);
  if (!symbol)
    return parser.emitError(loc) << "unknown kind of fusion '" << kind << "', expected " << fusionKindNames();
  state.addAttribute("kind", FusionKindAttr::get(parser.getContext(), *symbol));
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  auto operandLoc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type))
    return failure();
  // The region is parsed before operands are resolved: an operand defined inside of it would refer to a value
  // that no longer exists.
  if (parser.parseRegion(*state.addRegion()) ||
      parser.resolveOperands(operands, type.getInputs(), operandLoc, state.operands))
    return failure();
  state.addTypes(type.getResults());
  return success();
}

void FusionOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyFusionKind(getKind()) << " (" << getInputs() << ")";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"kind"});
  printer << " : ";
  printer.printFunctionalType(*this);
  printer << ' ';
  printer.printRegion(getBody());
}

SmallVector<Size> FusionOp::getDomain() {
  if (getKind() == FusionKind::multi_tensor)
    return {};
  if (Operation *update = updateIn(*this))
    return llvm::to_vector(updateShape(update));
  for (Operation &op : getBody().front())
    if (isReductionOp(&op) || isScanOp(&op))
      return llvm::to_vector(sizesOf(cast<RankedTensorType>(op.getOperand(0).getType())));
  return llvm::to_vector(sizesOf(cast<RankedTensorType>(getResult(0).getType())));
}

unsigned FusionOp::getNumReducedDims() {
  for (Operation &op : getBody().front())
    if (isReductionOp(&op))
      return static_cast<unsigned>(reducedDims(&op).size());
  return 0;
}

/// Verifies that there is one scan, and that the results have its shape.
static LogicalResult verifyScan(FusionOp fusion) {
  Operation *scan = nullptr;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    if (!isScanOp(&op))
      continue;
    if (scan)
      return op.emitOpError() << "is the second scan of its fusion, which holds one";
    scan = &op;
  }
  if (!scan)
    return fusion.emitOpError() << "of kind scan has no scan";
  SmallVector<Size> domain = fusion.getDomain();
  for (auto [i, type] : llvm::enumerate(fusion.getResultTypes()))
    if (sizesOf(cast<RankedTensorType>(type)) != ArrayRef(domain))
      return fusion.emitOpError() << "has result " << i << " of shape ["
                                  << sizesText(sizesOf(cast<RankedTensorType>(type)))
                                  << "], expected the domain [" << sizesText(domain) << "]";
  return success();
}

/// Verifies that no step reads another one, and that every result of a step is a result of the fusion.
static LogicalResult verifySteps(FusionOp fusion) {
  Block &block = fusion.getBody().front();
  llvm::SmallPtrSet<Value, 8> yielded;
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
    if (!yielded.insert(value).second || isa<BlockArgument>(value))
      return fusion.emitOpError()
             << "has result " << i
             << ", which is not a result of one of its steps, or is another result already";
  for (Operation &step : block.without_terminator()) {
    for (Value operand : step.getOperands())
      if (!isa<BlockArgument>(operand))
        return step.emitOpError() << "reads a result of another step of its fusion";
    for (Value result : step.getResults())
      if (!yielded.contains(result))
        return step.emitOpError() << "has a result that its fusion does not yield";
  }
  return success();
}

static LogicalResult verifySpilled(FusionOp fusion) {
  auto spilled = fusion.getSpilled();
  if (!spilled)
    return success();
  DeviceAttr device = deviceOf(fusion.getResultTypes().front());
  if (!device || device.isCpu())
    return fusion.emitOpError() << "has registers of kernels that spilled, but it does not run on a GPU";
  if (spilled->empty() || llvm::any_of(*spilled, [](int64_t registers) { return registers < 1; }))
    return fusion.emitOpError() << "has spilled = [" << *spilled
                                << "], expected the registers of at least one kernel, each at least 1";
  return success();
}

/// The dimensions that all reductions of a row or column fusion must remove, by its kind and its first
/// reduction.
static SmallVector<int64_t> dimsOfReductions(FusionOp fusion) {
  SmallVector<Size> domain = fusion.getDomain();
  const auto rank = static_cast<int64_t>(domain.size()),
             reduced = static_cast<int64_t>(fusion.getNumReducedDims());
  int64_t first = rank - reduced;
  if (fusion.getKind() == FusionKind::column) {
    // A column reduction over the last dimensions must begin at dimension 0; otherwise it is one along rows.
    first = columnShape(fusion).dim;
    if (first + reduced >= rank)
      first = 0;
  } else if (fusion.getKind() == FusionKind::row) {
    const RowShape shape = rowShape(fusion);
    if (areRowPieces(domain, shape.reduced))
      return llvm::to_vector<6>(ArrayRef(shape.reduced));
  }
  return llvm::to_vector(llvm::seq<int64_t>(first, first + reduced));
}

LogicalResult FusionOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "has operands (" << getInputs().getTypes() << ") but block arguments ("
                         << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError() << "needs a weft.yield of its results (" << getResultTypes() << ")";
  if (getNumResults() == 0)
    return emitOpError() << "has no results";
  if (auto slices = getSlices(); slices && slices->size() != getNumResults())
    return emitOpError() << "has " << getNumResults() << " results but " << slices->size() << " slices";
  if (failed(verifySpilled(*this)))
    return failure();
  FusionKind kind = getKind();
  for (Operation &op : block.without_terminator()) {
    bool step = isa<AdamStepOp, SgdStepOp>(op);
    if (step != (kind == FusionKind::multi_tensor))
      return op.emitOpError() << "cannot be in a fusion of kind " << stringifyFusionKind(kind);
    if (isa<FusionOp, GradientOp, CallOp, TransferOp, RngStateLoadOp, RngStateStoreOp, DotGeneralOp,
            AttentionOp, ImplicitGemmOp, RawKernelOp>(op) ||
        isa<DecomposableOp>(op))
      return op.emitOpError() << "cannot be in a fusion";
    if (isUpdateOp(&op) != (kind == FusionKind::update && &op == updateIn(*this)))
      return op.emitOpError() << "cannot be in a fusion of kind " << stringifyFusionKind(kind)
                              << ": an update is the one result of a fusion of its own";
    if ((kind == FusionKind::loop || kind == FusionKind::scan || kind == FusionKind::update) &&
        isReductionOp(&op))
      return op.emitOpError() << "cannot be in a fusion of kind " << stringifyFusionKind(kind)
                              << ", which has no reductions";
    if (kind != FusionKind::scan && isScanOp(&op))
      return op.emitOpError() << "cannot be in a fusion of kind " << stringifyFusionKind(kind)
                              << ", which has no scans";
  }
  if (kind == FusionKind::multi_tensor)
    return verifySteps(*this);
  if (kind == FusionKind::scan)
    return verifyScan(*this);
  if (kind == FusionKind::update) {
    Operation *update = getNumResults() == 1 ? updateIn(*this) : nullptr;
    if (!update || !isUpdateOp(update))
      return emitOpError() << "of kind update needs one result, made by weft.scatter, weft.index_update or "
                              "weft.dynamic_update_slice";
    if (getNumOperands() == 0 || update->getOperand(0) != block.getArgument(0) ||
        !block.getArgument(0).hasOneUse() || checksIndex(update))
      return emitOpError()
             << "of kind update needs its operand 0 as the base of the update and nowhere else, "
                "and an index that was checked before";
    return success();
  }

  SmallVector<Size> domain = getDomain();
  if (kind != FusionKind::loop && getNumReducedDims() == 0)
    return emitOpError() << "of kind " << stringifyFusionKind(kind) << " has no reduction";
  SmallVector<int64_t> dims = dimsOfReductions(*this);
  for (Operation &op : block.without_terminator()) {
    if (!isReductionOp(&op))
      continue;
    auto shape = sizesOf(cast<RankedTensorType>(op.getOperand(0).getType()));
    if (shape != ArrayRef(domain) || reducedDims(&op) != dims)
      return op.emitOpError() << "reduces dimensions [" << reducedDims(&op) << "] of [" << sizesText(shape)
                              << "], but this fusion's reductions reduce [" << dims << "] of ["
                              << sizesText(domain) << "]";
  }
  SmallVector<Size> kept = withoutDims(domain, kind == FusionKind::loop ? SmallVector<int64_t>() : dims);
  for (auto [i, type] : llvm::enumerate(getResultTypes())) {
    auto shape = sizesOf(cast<RankedTensorType>(type));
    if (shape != ArrayRef(domain) && shape != ArrayRef(kept))
      return emitOpError() << "has result " << i << " of shape [" << sizesText(shape)
                           << "], expected the domain [" << sizesText(domain) << "]"
                           << (kind == FusionKind::loop ? "" : " or what its reductions leave");
  }
  return success();
}

LogicalResult FusionOp::verifyRegions() {
  ScheduleAttr schedule = getScheduleAttr();
  return schedule ? verifySchedule(*this, schedule) : success();
}

bool FusionOp::mayFail() {
  return llvm::any_of(getBody().front(), [](Operation &inner) { return ir::mayFail(&inner); });
}

} // namespace weft::ir
