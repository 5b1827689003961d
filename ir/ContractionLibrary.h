//===- ContractionLibrary.h - What libraries support ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface through which passes ask a library of matrix products which part of a contraction it supports
// on a target. By default a table from the target's file in ir/devices answers; compile() passes an actual
// library to the pipeline instead. `--weft-query-libraries` asks once for each contraction and records the
// answer in the IR, so that other passes depend on their input alone. The library's algorithm is chosen when
// a package is loaded; no pass depends on it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_CONTRACTIONLIBRARY_H
#define WEFT_IR_CONTRACTIONLIBRARY_H

#include "weft/dtype.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::ir {

struct TargetDescription;

/// The storage of the two matrices: row-major (n), or column-major (t).
enum class MatrixLayout : uint8_t { nn, nt, tn, tt };
inline constexpr std::array<std::string_view, 4> matrixLayoutNames = {"nn", "nt", "tn", "tt"};

/// The operations on a result before it is stored, in the order in which a library applies them.
enum class Epilogue : uint8_t { bias, residual, relu };
inline constexpr std::array<std::string_view, 3> epilogueNames = {"bias", "residual", "relu"};

/// The position of a word in one of the lists of names; empty for other words.
template <size_t N>
std::optional<size_t> findName(const std::array<std::string_view, N> &names, std::string_view word) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == word)
      return i;
  return std::nullopt;
}

/// A contraction as a batch of matrix products; dynamic sizes have their largest values.
struct ContractionSignature {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  std::array<int64_t, 3> aStrides{}; ///< batch, m, k, in elements
  std::array<int64_t, 3> bStrides{}; ///< batch, k, n
  bool dynamic = false;              ///< some extent is known at run time only

  /// Empty if a matrix has no contiguous dimension.
  std::optional<MatrixLayout> layout() const;
  double flops() const;
};

/// The part of a contraction that a library supports.
struct ContractionAnswer {
  std::string library; ///< empty: no library supports it, and Weft's own kernel computes it
  std::string refusal; ///< the reason in that case, as text after "onednn "
  std::vector<Epilogue> epilogues;
  int64_t leastFlops = 0;     ///< below it Weft's own kernel is used
  int64_t workspaceBytes = 0; ///< the most workspace that the library may get
};

/// A convolution; dynamic sizes have their largest values. Lists have a number for each extent.
struct ConvolutionSignature {
  DType dtype = DType::f32;
  int64_t batch = 1, groups = 1, channels = 1, outputs = 1; ///< channels and outputs of a group
  std::vector<int64_t> window, places, stride, baseDilation;
  bool dynamic = false; ///< some size other than the batch, or the channels, is known at run time only
};

/// How a convolution is computed.
struct ConvolutionAnswer {
  std::string refusal; ///< why one launch does not compute it, as a clause; empty: it does
};

class ContractionLibrary {
public:
  virtual ~ContractionLibrary();
  /// May be called from several threads at once. Equal questions must have equal answers.
  virtual ContractionAnswer ask(const ContractionSignature &signature) const = 0;
  /// The same of a convolution. A library that has none leaves the matrix of windows to be multiplied.
  virtual ConvolutionAnswer askConvolution(const ConvolutionSignature &signature) const;
};

/// The library that a target's file describes.
class TableLibrary final : public ContractionLibrary {
public:
  explicit TableLibrary(const TargetDescription &target) : target(target) {}
  ContractionAnswer ask(const ContractionSignature &signature) const override;
  ConvolutionAnswer askConvolution(const ConvolutionSignature &signature) const override;

private:
  const TargetDescription &target;
};

/// The answer for Weft's own kernel, which supports every layout and every epilogue.
ContractionAnswer ownAnswer(std::string refusal);

} // namespace weft::ir

#endif // WEFT_IR_CONTRACTIONLIBRARY_H
