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
$COUNTED  // How far an element of an image is from the first one, and where it is along each extent.
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
$PART$STEP    return step;
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

/// The type of what is divided.
std::string countedText(const ContractionSchedule &s) {
  return std::string("  typedef unsigned ") + (s.wideIndex ? "long long" : "int") + " counted;\n";
}

/// Whether every tile of b has columns of the result alone.
bool hasWholeColumns(const CudaContraction &c, const ContractionSchedule &s) {
  return !c.n.isParameter && c.n.value % s.blockN == 0;
}

/// The extents that a column counts through: images, and places along each extent.
std::vector<int64_t> placesOf(const CudaWindows &w) {
  std::vector<int64_t> places{1};
  for (const CudaWindows::Dim &dim : w.dims)
    places.push_back(dim.places);
  return places;
}

std::string placeFunctions(const CudaContraction &c, const ContractionSchedule &s) {
  const CudaWindows &w = *c.windows;
  std::vector<int64_t> windows{1};
  const std::vector<int64_t> places = placesOf(w);
  for (const CudaWindows::Dim &dim : w.dims)
    windows.push_back(dim.window);
  const Counter ofPlace("column", places), ofStep("p", windows);
  Words words;
  const std::string wide = s.wideIndex ? "(index)" : "";
  words["COUNTED"] = w.hasZeros() ? "" : countedText(s);
  words["OUTSIDE"] = hasWholeColumns(c, s) ? "" : outsideText;
  std::string from = times("(index)(" + ofPlace.at(0) + ")", w.imageStride),
              to = times(w.hasZeros() ? "(index)of.channel" : "(index)(" + ofStep.at(0) + ")",
                         w.channelStride);
  words["PART"] = w.hasZeros() ? "    const weft_step of = partOf(p);\n" : "";
  for (const auto &[i, dim] : llvm::enumerate(w.dims)) {
    const std::string e = "e" + std::to_string(i);
    words["MEMBERS"] += (i ? ", " : "") + e;
    const std::string ofWindow =
        w.hasZeros() ? "of.e" + std::to_string(i) : "(int)(" + ofStep.at(i + 1) + ")";
    const std::string first = w.hasZeros() ? " + begin" + std::to_string(i)
                              : dim.low    ? " - (" + std::to_string(dim.low) + ")"
                                           : "";
    words["PLACE"] +=
        "    place." + e + " = " + times("(int)(" + ofPlace.at(i + 1) + ")", dim.stride) + first + ";\n";
    words["STEP"] += "    step." + e + " = " + times(ofWindow, dim.dilation) + ";\n";
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

//===----------------------------------------------------------------------===//
// Zeros between the elements of images
//===----------------------------------------------------------------------===//

constexpr const char *partsText = R"(
$COUNTED  // Zeros lie between the elements of images. The block has places of one remainder, of which each meets a part of the window.
$REMAINDERS  // Its first element in the weights, its length, and where it begins in an image.
$NUMBERS  const index k = $STEPS;
  struct weft_step {
    counted channel;
    int $MEMBERS;
  };
  // Step p as a channel and elements of the part.
  auto partOf = [&](index p) {
    weft_step of;
    const counted step = (counted)p;
$CASES    return of;
  };
)";

/// The number that each remainder has.
template <typename Number> std::vector<int64_t> ofParts(const CudaWindows::Dim &dim, Number number) {
  std::vector<int64_t> numbers;
  for (const CudaWindows::Part &part : dim.parts)
    numbers.push_back(number(part));
  return numbers;
}

/// The number that `remainder` has.
std::string chosenText(const std::string &remainder, llvm::ArrayRef<int64_t> numbers) {
  if (llvm::all_equal(numbers))
    return std::to_string(numbers.front());
  std::string text;
  for (const auto &[i, number] : llvm::enumerate(numbers.drop_back()))
    text += remainder + " == " + std::to_string(i) + " ? " + std::to_string(number) + " : ";
  return text + std::to_string(numbers.back());
}

/// How a step is divided, for each of the lengths that parts have: quotients are by numbers. Parts without
/// elements have no steps.
std::string divisionsText(const CudaWindows &w) {
  std::vector<std::vector<int64_t>> cases{{1}};
  for (const CudaWindows::Dim &dim : w.dims) {
    std::vector<int64_t> lengths = ofParts(dim, [](const auto &part) { return part.count; });
    llvm::sort(lengths);
    lengths.erase(llvm::unique(lengths), lengths.end());
    std::vector<std::vector<int64_t>> more;
    for (const std::vector<int64_t> &each : cases)
      for (const int64_t length : lengths)
        if (length != 0) {
          more.push_back(each);
          more.back().push_back(length);
        }
    cases = std::move(more);
  }
  std::string text;
  for (const auto &[number, lengths] : llvm::enumerate(cases)) {
    std::string condition, divided;
    const Counter ofStep("step", lengths);
    for (size_t i = 0; i < w.dims.size(); ++i) {
      const std::string index = std::to_string(i);
      condition += (i ? " && length" : "length") + index + " == " + std::to_string(lengths[i + 1]);
      divided += "      of.e" + index + " = (int)(" + ofStep.at(i + 1) + ");\n";
    }
    text += (number ? " else " : "    ");
    if (number + 1 < cases.size())
      text += "if (" + condition + ") ";
    text += "{\n      of.channel = " + ofStep.at(0) + ";\n" + divided + "    }";
  }
  return text + "\n";
}

/// What places and steps depend on where zeros lie between elements.
std::string partFunctions(const CudaContraction &c, const ContractionSchedule &s) {
  const CudaWindows &w = *c.windows;
  Words words;
  words["COUNTED"] = countedText(s);
  words["STEPS"] = std::to_string(c.k.value / w.windowSize());
  words["CASES"] = divisionsText(w);
  std::string firstOfA;
  int64_t inner = w.remainders();
  for (const auto &[i, dim] : llvm::enumerate(w.dims)) {
    const std::string number = std::to_string(i), remainder = "remainder" + number;
    const auto count = static_cast<int64_t>(dim.parts.size());
    inner /= count;
    words["MEMBERS"] += (i ? ", e" : "e") + number;
    words["REMAINDERS"] += "  const int " + remainder + " = (int)(blockIdx.x / " + std::to_string(inner) +
                           "u % " + std::to_string(count) + "u);\n";
    const auto add = [&](const std::string &name, const std::vector<int64_t> &numbers) {
      words["NUMBERS"] += "  const int " + name + number + " = " + chosenText(remainder, numbers) + ";\n";
    };
    add("first", ofParts(dim, [](const auto &part) { return part.first; }));
    add("length", ofParts(dim, [](const auto &part) { return part.count; }));
    add("begin", ofParts(dim, [](const auto &part) { return part.begin; }));
    words["STEPS"] += " * length" + number;
  }
  return fill(partsText, words);
}

/// Where step p is in the weights, and a column in the result; and whether a column is a place.
std::string placesOfParts(const CudaContraction &c) {
  const CudaWindows &w = *c.windows;
  const std::vector<int64_t> places = placesOf(w);
  const Counter ofColumn("column", places);
  std::string ofA = times("(index)of.channel", w.channelWeights), ofC = offsetText("column", w.columns),
              isPlace;
  for (const auto &[i, dim] : llvm::enumerate(w.dims)) {
    const std::string number = std::to_string(i), remainder = "remainder" + number;
    const auto spread = static_cast<int64_t>(dim.parts.size());
    ofA +=
        " + " + times("(index)(first" + number + " + " + times("of.e" + number, dim.step) + ")", dim.weights);
    if (spread > 1)
      ofC += " + " + times("(index)" + remainder, dim.result);
    if (dim.allPlaces % spread != 0)
      isPlace += (isPlace.empty() ? "" : " && ") + times("(int)(" + ofColumn.at(i + 1) + ")", spread) +
                 " + " + remainder + " < " + std::to_string(dim.allPlaces);
  }
  std::string text = "  // Step p in the weights of an output, and a column in the result.\n"
                     "  auto stepOfA = [&](index p) {\n    const weft_step of = partOf(p);\n    return " +
                     ofA + ";\n  };\n  auto columnOfC = [&](index column) { return " + ofC + "; };\n";
  if (!isPlace.empty())
    text += "  // Some remainders have fewer places than others.\n"
            "  auto isPlace = [&](index column) { return " +
            isPlace + "; };\n";
  return text;
}

} // namespace

bool leavesPlacesOut(const CudaWindows &windows) {
  return llvm::any_of(windows.dims, [](const CudaWindows::Dim &dim) {
    return !dim.parts.empty() && dim.allPlaces % static_cast<int64_t>(dim.parts.size()) != 0;
  });
}

std::string windowFunctions(const CudaContraction &c, const ContractionSchedule &s) {
  const CudaWindows &w = *c.windows;
  std::string text;
  for (auto [operand, offset] : {std::pair("a", w.offsetA), std::pair("b", w.offsetB)})
    if (offset != 0)
      text += std::string("  ") + operand + " += " + std::to_string(offset) + "ll;\n";
  if (w.hasZeros())
    text += partFunctions(c, s);
  text += placeFunctions(c, s);
  if (w.hasZeros()) {
    text += placesOfParts(c);
  } else {
    text += "  // Step p in the weights of an output, and a column in the result.\n";
    text += "  auto stepOfA = [&](index p) { return " + offsetText("p", w.steps) + "; };\n";
    text += "  auto columnOfC = [&](index column) { return " + offsetText("column", w.columns) + "; };\n";
  }
  return text + (s.tabled ? tableText : "  const weft_place place = placeOf(n0 + thread % blockN);\n");
}

void describeWindowCopy(const CudaContraction &c, const ContractionSchedule &s, const std::string &operand,
                        Words &words) {
  const bool wholeK = c.hasWholeSteps(s.blockK);
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
    if (step == ConvolutionStep::wide)
      continue; // the type of the result says it
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
