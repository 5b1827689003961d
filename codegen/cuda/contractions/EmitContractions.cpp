//===- EmitContractions.cpp -----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/contractions/EmitContractions.h"

#include "codegen/cuda/contractions/PrintContraction.h"
#include "ir/Contraction.h"
#include "ir/SpilledKernels.h"

using namespace mlir;

namespace weft::codegen {

/// A size that is known when the program is compiled is a number in the kernel.
static Extent extentOf(ir::Size size, const ir::SymbolRanges &ranges) {
  if (const std::optional<int64_t> number = size.number())
    return Extent::number(*number);
  return Extent::parameter(ranges.largest(size), std::max<int64_t>(ir::contentOf(size), 1));
}

Expected<std::vector<CudaContraction>> describeContraction(ir::DotGeneralOp op,
                                                           const ir::Alignments &alignments) {
  const std::optional<ir::ContractionShape> shape = ir::getContractionShape(op);
  if (!shape)
    return Status::error("an operand must be transposed before it can be multiplied; run "
                         "--weft-canonicalize-contractions");
  const ir::SymbolRanges ranges = ir::rangesOf(op);
  CudaContraction product;
  product.dtype = ir::dtypeOf(op.getType());
  product.batch = extentOf(shape->batch, ranges);
  product.m = extentOf(shape->m, ranges);
  product.n = extentOf(shape->n, ranges);
  product.k = extentOf(shape->k, ranges);
  for (size_t i = 0; i < 3; ++i) {
    product.aStrides[i] = extentOf(shape->aStrides[i], ranges);
    product.bStrides[i] = extentOf(shape->bStrides[i], ranges);
    product.cStrides[i] = extentOf(shape->cStrides[i], ranges);
  }
  product.aAlignment = alignments.of(op.getA());
  product.bAlignment = alignments.of(op.getB());
  product.cAlignment = alignments.of(op.getResult());
  if (op.getResidual())
    product.cAlignment = std::min(product.cAlignment, alignments.of(op.getResidual()));
  product.bias = op.getBias() != nullptr;
  product.residual = op.getResidual() != nullptr;
  product.relu = op.getRelu();
  std::vector<CudaContraction> products = {product};
  product.bias = product.relu = false;
  product.residual = true;
  for (size_t i = 0; i + 1 < op.getMore().size(); i += 2) {
    product.aAlignment = alignments.of(op.getMore()[i]);
    product.bAlignment = alignments.of(op.getMore()[i + 1]);
    products.push_back(product);
  }
  return products;
}

Expected<std::vector<EmittedContraction>> emitContractions(ModuleOp module, const ir::Target &target) {
  TextKernels<ir::DotGeneralOp, EmittedContraction> kernels("contraction");
  return kernels.emitAll(module, target,
                         [&](ir::DotGeneralOp op, const ir::Alignments &alignments,
                             const ir::TargetDescription &device) -> Status {
                           Expected<std::vector<CudaContraction>> products =
                               describeContraction(op, alignments);
                           if (!products)
                             return products.status();
                           for (const auto &[i, product] : llvm::enumerate(*products)) {
                             const auto ofProduct = static_cast<unsigned>(i);
                             Expected<ContractionSchedule> schedule = chooseContractionSchedule(
                                 product, device, ir::spilledKernels(op, ofProduct).size());
                             if (!schedule)
                               return schedule.status();
                             Expected<std::string> text = printContraction(product, *schedule, device);
                             if (!text)
                               return text.status();
                             kernels
                                 .add(*std::move(text), schedule->sharedBytes(product.dtype),
                                      EmittedContraction{{}, product, *schedule, {}})
                                 .uses.push_back({op, ofProduct});
                           }
                           return {};
                         });
}

} // namespace weft::codegen
