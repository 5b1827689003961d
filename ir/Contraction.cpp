//===- Contraction.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Contraction.h"

#include "ir/ops/Common.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace weft::ir {

SmallVector<int64_t> getFreeDims(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(batch, i) && !llvm::is_contained(contract, i))
      dims.push_back(i);
  return dims;
}

std::optional<MergedDim> mergeDims(ArrayRef<Size> shape, ArrayRef<int64_t> dims) {
  SmallVector<Size> strides(shape.size());
  Size stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  MergedDim merged;
  // From the innermost dimension outwards: the stride of a dimension must be the extent of those inside it.
  for (int64_t dim : llvm::reverse(dims)) {
    if (shape[dim] == 1)
      continue;
    if (merged.extent == 1)
      merged.stride = strides[dim];
    else if (strides[dim] != merged.stride * merged.extent)
      return std::nullopt;
    merged.extent *= shape[dim];
  }
  return merged;
}

bool isContractible(ArrayRef<Size> shape, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  if (llvm::is_contained(shape, 0))
    return true;
  SmallVector<int64_t> free = getFreeDims(static_cast<int64_t>(shape.size()), batch, contract);
  return mergeDims(shape, batch) && mergeDims(shape, free) && mergeDims(shape, contract);
}

/// Sets the strides of the dimensions of size 1 of a matrix.
static void completeStrides(MergedDim &rows, MergedDim &columns) {
  if (columns.extent == 1)
    columns.stride = rows.extent != 1 && rows.stride == 1 ? rows.extent : 1;
  if (rows.extent == 1)
    rows.stride = columns.stride == 1 ? columns.extent : 1;
}

std::optional<ContractionShape> getContractionShape(DotGeneralOp op) {
  ArrayRef<Size> a = sizesOf(op.getA().getType()), b = sizesOf(op.getB().getType());
  SmallVector<int64_t> aFree = getFreeDims(static_cast<int64_t>(a.size()), op.getBatchA(), op.getContractA());
  SmallVector<int64_t> bFree = getFreeDims(static_cast<int64_t>(b.size()), op.getBatchB(), op.getContractB());
  ContractionShape shape;
  shape.batch = countOver(a, op.getBatchA());
  shape.m = countOver(a, aFree);
  shape.n = countOver(b, bFree);
  shape.k = countOver(a, op.getContractA());
  shape.cStrides = {shape.m * shape.n, shape.n, 1};
  // A tensor without elements has no storage to describe.
  if (llvm::is_contained(a, 0) || llvm::is_contained(b, 0)) {
    shape.aStrides = {shape.m * shape.k, shape.k, 1};
    shape.bStrides = {shape.k * shape.n, shape.n, 1};
    return shape;
  }
  auto aBatch = mergeDims(a, op.getBatchA()), aRows = mergeDims(a, aFree),
       aColumns = mergeDims(a, op.getContractA());
  auto bBatch = mergeDims(b, op.getBatchB()), bRows = mergeDims(b, op.getContractB()),
       bColumns = mergeDims(b, bFree);
  if (!aBatch || !aRows || !aColumns || !bBatch || !bRows || !bColumns)
    return std::nullopt;
  completeStrides(*aRows, *aColumns);
  completeStrides(*bRows, *bColumns);
  if (shape.batch == 1) {
    aBatch->stride = shape.m * shape.k;
    bBatch->stride = shape.k * shape.n;
  }
  shape.aStrides = {aBatch->stride, aRows->stride, aColumns->stride};
  shape.bStrides = {bBatch->stride, bRows->stride, bColumns->stride};
  return shape;
}

bool takesBias(DotGeneralOp op) {
  ArrayRef<Size> result = sizesOf(op.getType());
  auto shape = getContractionShape(op);
  return shape && !result.empty() && shape->n == result.back();
}

Value repeatedVector(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  if (!broadcast)
    return {};
  auto from = broadcast.getA().getType();
  auto last = static_cast<int64_t>(broadcast.getShape().size()) - 1;
  if (from.getRank() != 1 || broadcast.getDims()[0] != last || sizesOf(from)[0] != broadcast.getShape()[last])
    return {};
  return broadcast.getA();
}

//===----------------------------------------------------------------------===//
// Questions and answers
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral ownName = "weft";

std::optional<ContractionSignature> getSignature(DotGeneralOp op, const SymbolRanges &ranges) {
  auto shape = getContractionShape(op);
  if (!shape)
    return std::nullopt;
  ContractionSignature signature;
  signature.dtype = dtypeOf(op.getType());
  for (auto [size, into] : {std::pair(shape->batch, &signature.batch), std::pair(shape->m, &signature.m),
                            std::pair(shape->n, &signature.n), std::pair(shape->k, &signature.k)}) {
    signature.dynamic |= size.isSymbolic();
    *into = ranges.largest(size);
  }
  for (size_t i = 0; i < 3; ++i) {
    signature.aStrides[i] = ranges.largest(shape->aStrides[i]);
    signature.bStrides[i] = ranges.largest(shape->bStrides[i]);
  }
  return signature;
}

LibraryAttr recordAnswer(MLIRContext *context, const ContractionAnswer &answer) {
  Builder b(context);
  SmallVector<Attribute> epilogues;
  for (Epilogue epilogue : answer.epilogues)
    epilogues.push_back(b.getStringAttr(StringRef(epilogueNames[static_cast<size_t>(epilogue)])));
  return LibraryAttr::get(context, answer.library.empty() ? StringRef(ownName) : StringRef(answer.library),
                          b.getArrayAttr(epilogues), answer.leastFlops, answer.workspaceBytes);
}

ContractionAnswer readAnswer(LibraryAttr attr) {
  ContractionAnswer answer;
  if (attr.getName() != ownName)
    answer.library = attr.getName().str();
  for (auto word : attr.getEpilogues().getAsRange<StringAttr>())
    answer.epilogues.push_back(static_cast<Epilogue>(*findName(epilogueNames, word.getValue())));
  answer.leastFlops = attr.getLeastFlops();
  answer.workspaceBytes = attr.getWorkspace();
  return answer;
}

LogicalResult LibraryAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                  ArrayAttr epilogues, int64_t leastFlops, int64_t workspace) {
  if (name.empty())
    return emitError() << "needs the name of a library, or '" << ownName << "'";
  for (Attribute entry : epilogues) {
    auto word = llvm::dyn_cast<StringAttr>(entry);
    if (!word || !llvm::is_contained(epilogueNames, std::string_view(word.getValue())))
      return emitError() << "has the epilogue " << entry << ", expected one of "
                         << llvm::join(SmallVector<StringRef>(epilogueNames.begin(), epilogueNames.end()),
                                       ", ");
  }
  if (leastFlops < 0 || workspace < 0)
    return emitError() << "needs least_flops and workspace of at least 0, found " << leastFlops << " and "
                       << workspace;
  return success();
}

} // namespace weft::ir
