//===- WindowsText.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/contractions/WindowsText.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

namespace weft::codegen {

using ir::ConvolutionStep;

namespace {

/// Dimensions that an index counts through, as text: each of them is a quotient and a remainder.
class Counter {
public:
  Counter(std::string index, llvm::ArrayRef<int64_t> extents) : index(std::move(index)), extents(extents) {}
  /// The index in dimension `dim`. The first one has no remainder, and the last one no quotient.
  std::string at(size_t dim) const {
    int64_t inner = 1;
    for (const int64_t extent : extents.drop_front(dim + 1))
      inner *= extent;
    std::string text = "(counted)" + index;
    if (inner != 1)
      text += " / " + std::to_string(inner) + "u";
    if (dim > 0)
      text += " % " + std::to_string(extents[dim]) + "u";
    return text;
  }

private:
  const std::string index;
  const llvm::ArrayRef<int64_t> extents;
};

std::string times(const std::string &text, int64_t by) {
  return by == 1 ? text : text + " * " + (by < 0 ? "(" + std::to_string(by) + ")" : std::to_string(by));
}

/// How far an index is from the first element, in what it counts through.
std::string offsetText(const std::string &index, llvm::ArrayRef<CountedDim> dims) {
  std::vector<int64_t> extents;
  for (const CountedDim &dim : dims)
    extents.push_back(dim.extent);
  const Counter counter(index, extents);
  std::string text;
  for (const auto &[i, dim] : llvm::enumerate(dims))
    if (dim.stride != 0)
      text += (text.empty() ? "" : " + ") + times("(index)(" + counter.at(i) + ")", dim.stride);
  return text.empty() ? "0" : text;
}

constexpr const char *placesText = R"(
  typedef unsigned $COUNTED counted;
  // How far an element of an image is from the first one, and where it is along each extent.
  struct weft_place {
    index at;
    int $MEMBERS;
  };
  // The first element of the window of a column.
  auto placeOf = [&](index column) {
    weft_place place;
$PLACE$OUTSIDE    return place;
  };
  // How far step p of a window is from the first one.
  auto stepOf = [&](index p) {
    weft_place step;
$STEP    return step;
  };
  auto isInside = [&](const weft_place &place, const weft_place &step) { return $INSIDE; };
)";

/// A place so far away has no element of its window in any image (weft/limits.hpp).
constexpr const char *outsideText = R"(    if (column >= n)
      place.e0 = -(1 << 30);
)";

constexpr const char *tableText = R"(  // The places of the block's columns, behind the tiles.
  weft_place *const places = (weft_place *)(tilesB + stages * tileB);
  for (int i = thread; i < blockN; i += threads)
    places[i] = placeOf(n0 + i);
  __syncthreads();
)";

/// Whether every tile of b has columns of the result alone.
bool hasWholeColumns(const CudaContraction &c, const ContractionSchedule &s) {
  return !c.n.isParameter && c.n.value % s.blockN == 0;
}

std::string placeFunctions(const CudaContraction &c, const ContractionSchedule &s) {
  const CudaWindows &w = *c.windows;
  std::vector<int64_t> windows{1}, places{1};
  for (const CudaWindows::Dim &dim : w.dims) {
    windows.push_back(dim.window);
    places.push_back(dim.places);
  }
  const Counter ofPlace("column", places), ofStep("p", windows);
  Words words;
  const std::string wide = s.wideIndex ? "(index)" : "";
  words["COUNTED"] = s.wideIndex ? "long long" : "int";
  words["OUTSIDE"] = hasWholeColumns(c, s) ? "" : outsideText;
  std::string from = times("(index)(" + ofPlace.at(0) + ")", w.imageStride),
              to = times("(index)(" + ofStep.at(0) + ")", w.channelStride);
  for (const auto &[i, dim] : llvm::enumerate(w.dims)) {
    const std::string e = "e" + std::to_string(i);
    words["MEMBERS"] += (i ? ", " : "") + e;
    words["PLACE"] += "    place." + e + " = " + times("(int)(" + ofPlace.at(i + 1) + ")", dim.stride) +
                      (dim.low ? " - (" + std::to_string(dim.low) + ")" : "") + ";\n";
    words["STEP"] += "    step." + e + " = " + times("(int)(" + ofStep.at(i + 1) + ")", dim.dilation) + ";\n";
    from += " + " + times(wide + "place." + e, dim.elements);
    to += " + " + times(wide + "step." + e, dim.elements);
    if (!dim.isInside() || (i == 0 && !hasWholeColumns(c, s)))
      words["INSIDE"] += (words["INSIDE"].empty() ? "" : " && ") + std::string("(unsigned)(place.") + e +
                         " + step." + e + ") < " + std::to_string(dim.extent) + "u";
  }
  if (words["INSIDE"].empty())
    words["INSIDE"] = "true";
  words["PLACE"] += "    place.at = " + from + ";\n";
  words["STEP"] += "    step.at = " + to + ";\n";
  return fill(placesText, words);
}

} // namespace

std::string windowFunctions(const CudaContraction &c, const ContractionSchedule &s) {
  const CudaWindows &w = *c.windows;
  std::string text;
  for (auto [operand, offset] : {std::pair("a", w.offsetA), std::pair("b", w.offsetB)})
    if (offset != 0)
      text += std::string("  ") + operand + " += " + std::to_string(offset) + "ll;\n";
  text += placeFunctions(c, s);
  text += "  // Step p in the weights of an output, and a column in the result.\n";
  text += "  auto stepOfA = [&](index p) { return " + offsetText("p", w.steps) + "; };\n";
  text += "  auto columnOfC = [&](index column) { return " + offsetText("column", w.columns) + "; };\n";
  return text + (s.tabled ? tableText : "  const weft_place place = placeOf(n0 + thread % blockN);\n");
}

void describeWindowCopy(const CudaContraction &c, const ContractionSchedule &s, const std::string &operand,
                        Words &words) {
  const bool wholeK = !c.k.isParameter && c.k.value % s.blockK == 0;
  if (operand == "A") {
    const bool alongK = s.a.alongK != s.a.turned;
    const std::string at = "const index at = stepOfA(k0 + ";
    words["BEFORE"] = alongK ? "    " + at + "thread % (blockK / vectorA) * vectorA);\n" : "";
    words["WHERE"] = alongK ? "" : "      " + at + "outer);\n";
    words["FROM"] = std::string("a + (m0 + ") + (alongK ? "outer" : "inner") + ") * aM + at";
    return; // what is valid is as in a product
  }
  words["BEFORE"] = s.b.alongK ? "    const weft_place step = stepOf(k0 + thread % blockK);\n" : "";
  words["WHERE"] = s.b.alongK ? "      const weft_place place = places[outer];\n"
                              : "      const weft_place step = stepOf(k0 + outer);\n";
  words["FROM"] = "b + (place.at + step.at)";
  const std::string inK = std::string("k0 + ") + (s.b.alongK ? "inner" : "outer") + " < k && ";
  words["VALID"] = (wholeK ? "" : inK) + "isInside(place, step) ? 1 : 0";
}

EpilogueText epilogueText(const CudaContraction &c) {
  EpilogueText text;
  // A sum of halves is rounded once, and then in each step.
  const std::string rounded = itemsize(c.dtype) == 2 ? "      value = weft_widen(weft_narrow(value));\n" : "";
  size_t next = 0;
  for (const ConvolutionStep step : c.windows->epilogue) {
    text.epilogue += rounded;
    if (step == ConvolutionStep::relu) {
      text.epilogue += "      value = value > 0 || value != value ? value : 0; // the larger, or a NaN\n";
      continue;
    }
    const std::string beside = "beside" + std::to_string(next), by = "by" + std::to_string(next);
    ++next;
    const bool residual = step == ConvolutionStep::residual;
    text.matrix += "  " + beside + " += matrix * " + (residual ? "cBatch" : "m") + ";\n";
    text.read +=
        residual ? "    const auto " + by + " = *(const weft_vector<$T, vectorC> *)(" + beside + " + at);\n"
                 : "    const $S " + by + " = weft_widen(" + beside + "[row]);\n";
    const char *const sign = step == ConvolutionStep::sub ? "-" : step == ConvolutionStep::mul ? "*" : "+";
    text.epilogue +=
        std::string("      value ") + sign + "= " + (residual ? "weft_widen(" + by + ".at[l])" : by) + ";\n";
  }
  return text;
}

} // namespace weft::codegen
