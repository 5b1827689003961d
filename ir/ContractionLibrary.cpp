//===- ContractionLibrary.cpp - Contractions that libraries support -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ContractionLibrary.h"
#include "ir/TargetDescription.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace weft::ir {

ContractionLibrary::~ContractionLibrary() = default;

ConvolutionAnswer ContractionLibrary::askConvolution(const ConvolutionSignature &) const {
  return {"the library has no convolutions"};
}

/// Whether a matrix is row-major (n) or column-major (t); a dimension of extent 1 fits any stride.
static std::optional<bool> isTransposed(int64_t rows, int64_t columns, int64_t rowStride,
                                        int64_t columnStride) {
  if ((columns == 1 || columnStride == 1) && (rows == 1 || rowStride >= columns))
    return false;
  if ((rows == 1 || rowStride == 1) && (columns == 1 || columnStride >= rows))
    return true;
  return std::nullopt;
}

std::optional<MatrixLayout> ContractionSignature::layout() const {
  auto a = isTransposed(m, k, aStrides[1], aStrides[2]), b = isTransposed(k, n, bStrides[1], bStrides[2]);
  if (!a || !b)
    return std::nullopt;
  return static_cast<MatrixLayout>(2 * *a + *b);
}

double ContractionSignature::flops() const {
  return 2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

ContractionAnswer ownAnswer(std::string refusal) {
  using enum Epilogue;
  return {{}, std::move(refusal), {bias, residual, relu}, 0, 0};
}

static SmallVector<StringRef> words(StringRef list) {
  SmallVector<StringRef> found;
  list.split(found, ' ', -1, /*KeepEmpty=*/false);
  return found;
}

ContractionAnswer TableLibrary::ask(const ContractionSignature &signature) const {
  ContractionAnswer answer;
  answer.library = target.library.str();
  const bool takesEpilogues =
      is_contained(words(target.libraryEpilogueTypes), StringRef(name(signature.dtype)));
  for (StringRef word : words(takesEpilogues ? target.libraryEpilogues : ""))
    if (auto epilogue = findName(epilogueNames, word))
      answer.epilogues.push_back(static_cast<Epilogue>(*epilogue));
  answer.leastFlops = target.libraryLeastFlops;
  answer.workspaceBytes = target.libraryWorkspaceBytes;

  if (!is_contained(words(target.libraryTypes), StringRef(name(signature.dtype))))
    return ownAnswer("does not multiply " + std::string(name(signature.dtype)));
  // For a dynamic contraction, each call decides for its sizes.
  if (signature.dynamic)
    return answer;
  for (int64_t extent : {signature.batch, signature.m, signature.n, signature.k})
    if (extent == 0)
      return ownAnswer("does not multiply matrices with an extent of 0");
  if (signature.flops() < static_cast<double>(answer.leastFlops))
    return ownAnswer("takes longer to be called than so few operations take");
  std::optional<MatrixLayout> layout = signature.layout();
  if (!layout ||
      !is_contained(words(target.libraryLayouts), StringRef(matrixLayoutNames[static_cast<size_t>(*layout)])))
    return ownAnswer("cannot read operands with such strides");
  return answer;
}

ConvolutionAnswer TableLibrary::askConvolution(const ConvolutionSignature &signature) const {
  if (!is_contained(words(target.convolutionTypes), StringRef(name(signature.dtype))))
    return {"no launch of " + target.name.str() + " computes a convolution of " +
            std::string(name(signature.dtype))};
  if (signature.dynamic)
    return {"a launch has sizes that are numbers, but for a batch, and these are known at run time only"};
  if (signature.outputs == 1)
    return {"groups of one output are sums over windows where they lie"};
  for (auto [stride, dilation] : zip_equal(signature.stride, signature.baseDilation))
    if (stride > 1 && dilation > 1)
      return {"a launch has no stride over an extent with a base dilation"};
  return {};
}

} // namespace weft::ir
