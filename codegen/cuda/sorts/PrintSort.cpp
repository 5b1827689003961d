//===- PrintSort.cpp ------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/sorts/PrintSort.h"

#include "codegen/cuda/contractions/DeviceText.h"
#include "codegen/cuda/sorts/SortText.h"

namespace weft::codegen {

using namespace sorts;

std::string CudaSort::str() const {
  const ir::BlockSort &s = block;
  std::string text = std::to_string(s.extent) + " of " + std::string(name(dtype)) +
                     (descending ? ", descending" : "") + ", " + std::to_string(count) + " kept, " +
                     std::to_string(s.rows) + (s.rows == 1 ? " row" : " rows") + " of a block, teams of " +
                     std::to_string(s.team) + " threads with " + std::to_string(s.items) +
                     (s.items == 1 ? " element" : " elements");
  return text + (s.staged ? ", " + std::to_string(s.staged) + " staged" : "");
}

/// The type of an element's bits, and so of its key.
static const char *keyType(DType dtype) {
  switch (itemsize(dtype)) {
  case 1:
    return "unsigned char";
  case 2:
    return "unsigned short";
  case 4:
    return "unsigned";
  default:
    return "unsigned long long";
  }
}

/// The bits of infinity.
static const char *infinityOf(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return "0x7c00";
  case DType::bf16:
    return "0x7f80";
  case DType::f32:
    return "0x7f800000";
  default:
    return "0x7ff0000000000000";
  }
}

/// The function that makes the key of an element. Descending keys are those of ascending ones, inverted.
static std::string keyFunction(const CudaSort &sort, Words words) {
  const size_t bits = 8 * itemsize(sort.dtype);
  words["LAST_BIT"] = std::to_string(bits - 1);
  if (is_floating_point(sort.dtype)) {
    words["INFINITY"] = infinityOf(sort.dtype);
    words["NAN_KEY"] = sort.descending ? "0" : fill("~($K)0", words);
    words["OF_KEY"] = sort.descending ? "~key" : "key";
    return fill(realKeyText, words);
  }
  const bool isUnsigned = sort.dtype == DType::i1 || sort.dtype == DType::ui8;
  const std::string ordered = isUnsigned ? "bits" : fill("bits ^ ($K)1 << $LAST_BIT", words);
  words["ORDERED"] = sort.descending ? "~(" + ordered + ")" : ordered;
  return fill(wholeKeyText, words);
}

std::string printSort(const CudaSort &sort) {
  const ir::BlockSort &s = sort.block;
  constexpr int64_t warp = 32;
  const bool isWide = itemsize(sort.dtype) == 8, stages = s.staged > 0;
  Words words = {{"K", keyType(sort.dtype)},
                 {"W", itemsize(sort.dtype) == 4 ? "unsigned long long" : "unsigned"},
                 {"PLACE_BITS", itemsize(sort.dtype) == 4 ? "32" : "16"},
                 {"EXTENT", std::to_string(s.extent)},
                 {"COUNT", std::to_string(sort.count)},
                 {"PADDED", std::to_string(s.padded)},
                 {"TEAM", std::to_string(s.team)},
                 {"ITEMS", std::to_string(s.items)},
                 {"ROWS", std::to_string(s.rows)},
                 {"THREADS", std::to_string(s.threads())},
                 {"LANES", std::to_string(std::min(s.team, warp))}};
  std::string text = fill(numbersText, words);
  if (stages)
    text += "constexpr int staged = " + std::to_string(s.staged) + ";\n";
  text += keyFunction(sort, words) + fill(isWide ? wideWordText : wordText, words);
  if (stages)
    text += fill(isWide ? stagedWideText : stagedWordText, words);
  words["SHARED"] = stages ? "  __shared__ weft_stage stage;\n" : "";
  words["OWN"] = s.items > 1 ? ownText : "";
  words["STAGED"] = stages ? stagedText : "";
  words["WARP"] = s.team > 1 ? fill(warpText, words) : "";
  return text + fill(kernelText, words);
}

} // namespace weft::codegen
