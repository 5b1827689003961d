//===- ContractionLibrary.h - What a library multiplies --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one question that passes have for a library of matrix products: what does it take of this contraction,
// on this target? Which algorithm it runs is chosen where a package is loaded, and no pass asks for it. The
// answer by default is a table, from the target's file in ir/devices. A library that is there can be asked
// instead: compile() passes one to the pipeline. `--weft-query-libraries` asks once for each contraction and
// records the answer in the text, so that what other passes do follows from their input alone.
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

/// What can be done to a result before it is stored, in this order.
enum class Epilogue : uint8_t { bias, residual, relu };
inline constexpr std::array<std::string_view, 3> epilogueNames = {"bias", "residual", "relu"};

/// The position of a word in one of the lists of names; nothing for a word that is not in it.
template <size_t N>
std::optional<size_t> findName(const std::array<std::string_view, N> &names, std::string_view word) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == word)
      return i;
  return std::nullopt;
}

/// A contraction as a batch of matrix products, at its largest where sizes are dynamic.
struct ContractionSignature {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  std::array<int64_t, 3> aStrides{}; ///< batch, m, k, in elements
  std::array<int64_t, 3> bStrides{}; ///< batch, k, n
  bool dynamic = false;              ///< some extent is known at run time only

  /// Nothing where neither dimension of a matrix is contiguous.
  std::optional<MatrixLayout> layout() const;
  double flops() const;
};

/// What is taken of a contraction, and by whom.
struct ContractionAnswer {
  std::string library; ///< empty: none takes it, and Weft's own kernel does it all
  std::string refusal; ///< then why, as it follows "onednn takes "
  std::vector<Epilogue> epilogues;
  int64_t leastFlops = 0;     ///< below it Weft's own kernel is used
  int64_t workspaceBytes = 0; ///< what it may get at most
};

class ContractionLibrary {
public:
  virtual ~ContractionLibrary();
  /// May be called from several threads at once, and answers the same question alike.
  virtual ContractionAnswer ask(const ContractionSignature &signature) const = 0;
};

/// The library that a target's file describes.
class TableLibrary final : public ContractionLibrary {
public:
  explicit TableLibrary(const TargetDescription &target) : target(target) {}
  ContractionAnswer ask(const ContractionSignature &signature) const override;

private:
  const TargetDescription &target;
};

/// The answer of Weft's own kernel, which takes every layout and every epilogue.
ContractionAnswer ownAnswer(std::string refusal);

} // namespace weft::ir

#endif // WEFT_IR_CONTRACTIONLIBRARY_H
