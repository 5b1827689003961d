//===- Fusion.cpp - Regions that become kernels ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

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
    return parser.emitError(loc) << "unknown kind of fusion '" << kind
                                 << "', expected loop, row, column or multi_tensor";
  state.addAttribute("kind", FusionKindAttr::get(parser.getContext(), *symbol));
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  auto operandLoc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), operandLoc, state.operands) ||
      parser.parseRegion(*state.addRegion()))
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

static bool isReduction(Operation &op) { return isa<SumOp, RmaxOp, RminOp, ArgmaxOp>(op); }

static SmallVector<int64_t> reducedDims(Operation &op) {
  if (auto argmax = dyn_cast<ArgmaxOp>(op))
    return {static_cast<int64_t>(argmax.getDim())};
  return llvm::to_vector(op.getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef());
}

SmallVector<int64_t> FusionOp::getDomain() {
  if (getKind() == FusionKind::multi_tensor)
    return {};
  for (Operation &op : getBody().front())
    if (isReduction(op))
      return llvm::to_vector(sizesOf(cast<RankedTensorType>(op.getOperand(0).getType())));
  return llvm::to_vector(sizesOf(cast<RankedTensorType>(getResult(0).getType())));
}

unsigned FusionOp::getNumReducedDims() {
  for (Operation &op : getBody().front())
    if (isReduction(op))
      return static_cast<unsigned>(reducedDims(op).size());
  return 0;
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
  FusionKind kind = getKind();
  for (Operation &op : block.without_terminator()) {
    bool step = isa<AdamStepOp, SgdStepOp>(op);
    if (step != (kind == FusionKind::multi_tensor))
      return op.emitOpError() << "cannot stand in a fusion of kind " << stringifyFusionKind(kind);
    if (isa<FusionOp, GradientOp, CallOp, TransferOp, RngStateLoadOp, RngStateStoreOp, DotGeneralOp>(op) ||
        isa<DecomposableOp>(op))
      return op.emitOpError() << "cannot stand in a fusion";
    if (kind == FusionKind::loop && isReduction(op))
      return op.emitOpError() << "cannot stand in a fusion of kind loop, which has no reductions";
  }
  if (kind == FusionKind::multi_tensor)
    return success();

  SmallVector<int64_t> domain = getDomain();
  auto rank = static_cast<int64_t>(domain.size()), reduced = static_cast<int64_t>(getNumReducedDims());
  SmallVector<int64_t> dims = kind == FusionKind::column
                                  ? allDims(reduced)
                                  : llvm::to_vector(llvm::seq<int64_t>(rank - reduced, rank));
  if (kind != FusionKind::loop && reduced == 0)
    return emitOpError() << "of kind " << stringifyFusionKind(kind) << " has no reduction";
  for (Operation &op : block.without_terminator()) {
    if (!isReduction(op))
      continue;
    auto shape = sizesOf(cast<RankedTensorType>(op.getOperand(0).getType()));
    if (shape != ArrayRef(domain) || reducedDims(op) != dims)
      return op.emitOpError() << "reduces dimensions [" << reducedDims(op) << "] of [" << sizesText(shape)
                              << "], but this fusion's reductions reduce [" << dims << "] of ["
                              << sizesText(domain) << "]";
  }
  SmallVector<int64_t> kept = withoutDims(domain, kind == FusionKind::loop ? SmallVector<int64_t>() : dims);
  for (auto [i, type] : llvm::enumerate(getResultTypes())) {
    auto shape = sizesOf(cast<RankedTensorType>(type));
    if (shape != ArrayRef(domain) && shape != ArrayRef(kept))
      return emitOpError() << "has result " << i << " of shape [" << sizesText(shape)
                           << "], expected the domain [" << sizesText(domain) << "]"
                           << (kind == FusionKind::loop ? "" : " or what its reductions leave");
  }
  return success();
}

} // namespace weft::ir
